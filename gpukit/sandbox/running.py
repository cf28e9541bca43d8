"""Run a program in a child process behind walls and get back its bytes."""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gpukit.sandbox.bootstrap import OUT_OF_MEMORY

_BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
_PACKAGE = Path(__file__).parents[1]
ERROR_BYTES = 1 << 16
# What the interpreter or the loader of libraries may need to start at all; where CUDA is.
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT", "CUDA_HOME", "CUDA_PATH")
_ENVIRONMENT = {
    "PATH": os.defpath,
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    # One thread each: the same sums in every run, and little address space.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Whatever a child computes, it computes on the CPU, and imports nothing that another package plugs into PyTorch.
    "CUDA_VISIBLE_DEVICES": "",
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use: wall clock, CPU time, memory, and bytes it may answer. CPU time begins with the walls.

    Nothing is ever written, and no process started; there is no number for those.
    """

    seconds: float = 10.0
    cpu_seconds: int = 10
    memory_bytes: int = 1 << 30
    output_bytes: int = 1 << 22


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a child ended.

    status: "ok"; "failed" (exit status not 0); "timeout"; "memory"; "output" (it answered more than it may);
        "killed" (by a signal that is not the time limit's).
    code: exit status; minus the number of the signal that ended it.
    output: what it wrote to stdout, at most `output_bytes`.
    errors: what it wrote to stderr, as text, at most 64 KiB.
    """

    status: str
    code: int
    output: bytes
    errors: str


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    input: bytes = b"",
    folder: Path | None = None,
    limits: Limits | None = None,
    readable: Sequence[Path] = (),
    site: bool = False,
    packages: Sequence[str] = ("numpy",),
) -> Outcome:
    """Run a Python file of ours in a child process that limits itself before it reads its input.

    Args:
        argv: the file, then arguments. Its top level and its `prepare(arguments)` run before the walls stand,
            `main(arguments)` behind them.
        input: what it reads from stdin.
        folder: its working directory; an empty temporary one if None.
        readable: files and folders it may open, to read. Without any it can open nothing.
        site: whether Python looks for installed packages as usual, which some of them need to find their libraries.
            Otherwise only gpukit and `packages` are found, and it starts sooner.
        packages: what the child imports besides gpukit.
    """
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="gpukit-") as empty:
        places = _import_paths(tuple(packages))
        return _run([os.fspath(part) for part in argv], input, str(folder or empty), limits, readable, places, site)


def installed(package: str) -> bool:
    """Whether there is a package of that name. It is not imported."""
    return bool(_places(package))


@functools.cache
def _import_paths(packages: Sequence[str]) -> str:
    """Where a child finds gpukit and the packages, one folder a line: no other part of this process's path
    is given on, so that no file beside the submissions is imported."""
    folders = [_PACKAGE.parent, *(Path(place).parent for package in packages for place in _places(package))]
    return "\n".join(dict.fromkeys(str(folder.resolve()) for folder in folders))


def _places(package: str) -> Sequence[str]:
    spec = importlib.util.find_spec(package)
    return (spec.submodule_search_locations or ()) if spec is not None and spec.has_location else ()


def _run(
    argv: list[str],
    input: bytes,
    folder: str,
    limits: Limits,
    readable: Sequence[Path],
    places: str,
    site: bool,
) -> Outcome:
    settings = [
        str(limits.memory_bytes),
        str(limits.cpu_seconds),
        "\n".join(str(path.resolve()) for path in readable),
        places,
    ]
    # As -I, but for -E: the environment is ours, and holds the seed of hashes.
    flags = ["-P", "-B"] if site else ["-P", "-B", "-s", "-S"]
    command = [sys.executable, *flags, str(_BOOTSTRAP), *settings, *argv]
    environment = {**_ENVIRONMENT, **{name: os.environ[name] for name in _KEPT if name in os.environ}}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    assert process.stdin and process.stdout and process.stderr
    output = _Reader(process.stdout, limits.output_bytes, process)
    errors = _Reader(process.stderr, ERROR_BYTES, process)
    writer = threading.Thread(target=_write, args=(process.stdin, input), daemon=True)
    threads = (output, errors, writer)
    for thread in threads:
        thread.start()
    late = False
    try:
        process.wait(limits.seconds)
    except subprocess.TimeoutExpired:
        late = True
    finally:
        _kill(process)
        code = process.wait()
    for thread in threads:
        thread.join(1.0)  # where nothing stops a child from having children, one may hold the pipe open
    return Outcome(_status(code, late, output.full or errors.full), code, output.taken(), errors.text())


def _status(code: int, late: bool, full: bool) -> str:
    if full:
        return "output"
    if late or (sys.platform != "win32" and code == -signal.SIGXCPU):
        return "timeout"
    if code == OUT_OF_MEMORY:
        return "memory"
    return "ok" if code == 0 else "killed" if code < 0 else "failed"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the child and, where it could start any, its children: they are one session."""
    try:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass  # it has ended


def _write(stream: IO[bytes], data: bytes) -> None:
    try:
        with stream:
            stream.write(data)
    except OSError:
        pass  # it ended without reading all


class _Reader(threading.Thread):
    """Takes what a child writes, up to a limit; ends the child when it writes more."""

    def __init__(self, stream: IO[bytes], most: int, process: subprocess.Popen[bytes]):
        super().__init__(daemon=True)
        self._stream, self._most, self._process = stream, most, process
        self._pieces: list[bytes] = []
        self.full = False

    def run(self) -> None:
        left = self._most
        with self._stream:
            while piece := os.read(self._stream.fileno(), 1 << 16):
                self._pieces.append(piece[:left])
                left -= len(piece)
                if left < 0:
                    self.full = True
                    _kill(self._process)
                    return

    def taken(self) -> bytes:
        return b"".join(self._pieces)

    def text(self) -> str:
        return self.taken().decode("utf-8", errors="replace")
