"""A class with attackers in it: what they hand in, what must not be touched, and what the grader made of it all."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
from attacks import folders

from gpukit.grading import names

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PORT, CANARY = "47591", "/CANARY"  # as attacks write them; replaced by those of this run
SEED = 7
# Of one submission. What a machine under load makes of the slowest attack, which the compiler's limit ends, must fit.
SECONDS = 100


@dataclass(frozen=True)
class Attack:
    """`deserves`: a status, or "N points" of a graded record. `says`: what the record must say."""

    name: str
    lab: str
    deserves: str
    says: str
    path: Path | None = None
    builder: Any = None


def _expected(text: str) -> tuple[str, str]:
    deserves = re.search(r"^\s*Deserves: (.+)$", text, re.MULTILINE)
    says = re.search(r"^\s*Named: (.+)$", text, re.MULTILINE)
    assert deserves and says, text[:200]
    return deserves[1].strip(), says[1].strip()


def attacks() -> list[Attack]:
    """All of them: a file each in the rooms beside this one, and the builders of `folders`."""
    found = []
    for room, suffix, lab in (("python", ".py", "05"), ("cpp", ".cu", "05"), ("host", ".py", "01")):
        for path in sorted((HERE / room).glob(f"*{suffix}")):
            found.append(Attack(f"{room}-{path.stem}", lab, *_expected(path.read_text(encoding="utf-8")), path))
    for builder in folders.BUILDERS:
        found.append(Attack(f"folder-{builder.__name__}", "05", *_expected(builder.__doc__ or ""), builder=builder))
    return found


@contextmanager
def listening() -> Iterator[tuple[int, Any]]:
    """A port of this computer, and a function that tells whether somebody has called it."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(16)
        server.setblocking(False)

        def called() -> bool:
            try:
                server.accept()
            except BlockingIOError:
                return False
            return True

        yield server.getsockname()[1], called


@contextmanager
def guardian() -> Iterator[None]:
    """Processes whose parents end become this one's children, as long as this lasts (prctl(2)), so none gets lost."""
    set_child_subreaper = 36
    libc = ctypes.CDLL(None)
    libc.prctl(set_child_subreaper, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(set_child_subreaper, 0, 0, 0, 0)


def left_running(before: set[int], patience: float = 2.0) -> list[str]:
    """Command lines of processes below this one that were not there before and do not end by themselves."""
    until = time.monotonic() + patience
    while True:
        found = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
        alive = [child for child in found if child.status() != psutil.STATUS_ZOMBIE]
        if not alive or time.monotonic() > until:
            return [" ".join(child.cmdline()) for child in alive]
        time.sleep(0.05)


def state(folder: Path) -> dict[str, tuple]:
    """Everything under a folder: kind and mode; of what is no folder size, time of change and a hash of its bytes."""
    found = {}
    for where, inner, files in os.walk(folder):
        inner[:] = [name for name in inner if name != "__pycache__" or "submissions" in where]
        for name in (*inner, *files):
            path = Path(where, name)
            seen = path.lstat()
            plain = path.is_file() and not path.is_symlink() and seen.st_size < 1 << 22
            if path.is_dir() and not path.is_symlink():
                found[str(path)] = (seen.st_mode,)
                continue
            data = hashlib.sha256(path.read_bytes()).hexdigest() if plain else ""
            found[str(path)] = (seen.st_mode, seen.st_size, seen.st_mtime_ns, data)
    return found


@dataclass
class Batch:
    """One run of `gpukit grade`: its outputs lie in `out`."""

    out: Path
    done: subprocess.CompletedProcess
    seconds: float

    @cached_property
    def records(self) -> dict[str, dict]:
        """Record by student."""
        made = [json.loads(path.read_text(encoding="utf-8")) for path in (self.out / "records").glob("*.json")]
        return {record["student"]: record for record in made}

    def bytes_of(self, student: str) -> bytes:
        return (self.out / "records" / f"{names.safe_name(student)}.json").read_bytes()


class World:
    """A folder with labs, submissions, a home, a place for temporary files and a canary."""

    def __init__(self, folder: Path, port: int):
        self.folder, self.port = folder, port
        self.labs = folder / "labs"
        shutil.copytree(ROOT / "labs", self.labs, ignore=shutil.ignore_patterns("__pycache__"))
        self.canary, self.home, self.temporary = folder / "canary", folder / "home", folder / "tmp"
        for place in (self.canary, self.home, self.temporary):
            place.mkdir()
        self.students: dict[str, str] = {}  # attack -> student

    def submissions(self, lab: str, hostile: bool) -> Path:
        """A folder of submissions: the honest ones, and those of all attackers of a lab."""
        root = self.folder / f"submissions-{lab}-{'hostile' if hostile else 'honest'}"
        root.mkdir()
        (lab_folder,) = self.labs.glob(f"{lab}_*")
        for source in sorted(lab_folder.glob("solution.*")):
            folders.submit(root, f"honest{source.suffix}", source.read_bytes(), f"student{source.suffix}")
        for attack in attacks() if hostile else ():
            if attack.lab == lab:
                self.students[attack.name] = names.student_name(self._handed_in(attack, root))
        return root

    def _handed_in(self, attack: Attack, root: Path) -> str:
        if attack.builder is not None:
            return attack.builder(root)
        assert attack.path is not None
        text = attack.path.read_text(encoding="utf-8").replace(PORT, str(self.port)).replace(CANARY, str(self.canary))
        return folders.submit(root, attack.name, text, f"student{attack.path.suffix}")

    def grade(self, submissions: Path, lab: str, *options: str, here: Path | None = None) -> Batch:
        """`here`: the folder in which the command is given."""
        out = self.folder / f"out-{submissions.name}"
        command = [sys.executable, "-m", "gpukit", "grade", str(submissions), "--lab", lab, "--out", str(out)]
        return self._run([*command, "--labs", str(self.labs), "--seed", str(SEED), *options], out, here)

    def grade_without_pages(self, submissions: Path, lab: str) -> Batch:
        """The records alone, as the command makes them."""
        out = self.folder / f"out-{submissions.name}"
        program = (
            "import pathlib, sys; from gpukit.grading import batch, collecting; from gpukit.labs import folders\n"
            f"lab = folders.find_lab(pathlib.Path({str(self.labs)!r}), {lab!r})\n"
            f"found = collecting.collect(pathlib.Path({str(submissions)!r}), lab.name)\n"
            f"batch.grade(lab, found, pathlib.Path({str(out)!r}), {SEED})\n"
        )
        return self._run([sys.executable, "-c", program], out, None)

    def _run(self, command: list[str], out: Path, here: Path | None) -> Batch:
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        environment = kept | {
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "MPLCONFIGDIR": str(self.folder / "matplotlib"),
            "SECRET_OF_THE_INSTRUCTOR": "1234",
        }
        begun = time.monotonic()
        done = subprocess.run(
            command, cwd=here or self.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        return Batch(out, done, time.monotonic() - begun)
