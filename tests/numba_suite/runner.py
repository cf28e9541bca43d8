"""Runs modules of numba-cuda's tests in fresh processes and collects the outcome of every test."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent
SECONDS_PER_TEST = 30
SECONDS_PER_PROCESS = 280

# Modules the simulator skips whole, though their kernels need no compiler to be looked into.
BEYOND = (
    "test_warp_ops",
    "test_localmem",
    "test_transpose",
    "test_array_reductions",
    "test_cache_hints",
    "test_minmax",
)

PASS, FAIL, SKIP, LOST = "pass", "fail", "skip", "lost"


@dataclass(frozen=True)
class Outcome:
    """What became of one test: status pass, fail, skip or lost (its process died), seconds, and why."""

    status: str
    seconds: float = 0.0
    reason: str = ""


NOT_RUN = Outcome(LOST, reason="it did not run")


def available() -> bool:
    """Whether numba-cuda with its tests is installed."""
    return importlib.util.find_spec("numba_cuda") is not None


def names(file: str) -> list[str]:
    """The test names of a list: one a line, a comment behind #."""
    lines = (line.split("#")[0].strip() for line in (HERE / file).read_text().splitlines())
    return [line for line in lines if line]


def expected_failures() -> dict[str, str]:
    """Test name -> why it does not pass."""
    expected = {}
    for line in (HERE / "expected_failures.txt").read_text().splitlines():
        name, _, reason = line.partition("#")
        if name.strip():
            expected[name.strip()] = reason.strip()
    return expected


def floors() -> dict[str, int]:
    """How many tests of each kind passed when last raised."""
    return json.loads((HERE / "floor.json").read_text())


def modules() -> list[str]:
    """All modules that are run, those with the most tests first."""
    counts = Counter(name.split(".")[0] for name in names("yardstick.txt"))
    return [module for module, _ in counts.most_common()] + list(BEYOND)


def run(wanted: Iterable[str] | None = None, processes: int = 2) -> dict[str, Outcome]:
    """Outcomes of all tests in the wanted modules, by name (`test_atomics.TestCudaAtomics.test_atomic_add`)."""
    queue = list(wanted or modules())
    outcomes: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory() as folder:
        running = [_Worker(queue[i::processes], Path(folder) / f"{i}.jsonl") for i in range(min(processes, len(queue)))]
        for worker in running:
            outcomes.update(worker.result())
    return outcomes


class _Worker:
    """One process with its share of the modules."""

    def __init__(self, queue: Sequence[str], file: Path):
        self._queue = list(queue)
        self._file = file
        self._process = self._start()

    def _start(self) -> subprocess.Popen:
        environment = {
            **os.environ,
            # `tests` itself is no name to import from: packages that are installed bring one, too.
            "PYTHONPATH": os.pathsep.join((str(HERE / "site"), str(REPOSITORY), str(REPOSITORY / "tests"))),
            "GPUKIT_NUMBA_SUITE": "1",
        }
        environment.pop("NUMBA_ENABLE_CUDASIM", None)
        return subprocess.Popen(
            [sys.executable, "-m", "numba_suite.worker", str(self._file), *self._queue],
            cwd=REPOSITORY,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def result(self) -> dict[str, Outcome]:
        try:
            _, errors = self._process.communicate(timeout=SECONDS_PER_PROCESS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, errors = self._process.communicate()
        outcomes, started = {}, None
        for line in self._file.read_text().splitlines() if self._file.exists() else ():
            entry = json.loads(line)
            started = entry["name"]
            if "status" in entry:
                outcomes[started] = Outcome(entry["status"], entry["seconds"], entry["reason"])
        if self._process.returncode != 0:
            last = errors.strip().splitlines()[-1] if errors.strip() else "no message"
            outcomes[started or self._queue[0]] = Outcome(LOST, reason=f"the process ended here: {last}")
        return outcomes


def raise_floor(outcomes: dict[str, Outcome]) -> None:
    """Take what passes now out of the expected failures, and lift the floor to the counts of this run."""
    passed = {name for name, outcome in outcomes.items() if outcome.status == PASS}
    file = HERE / "expected_failures.txt"
    lines = [line for line in file.read_text().splitlines() if line.partition("#")[0].strip() not in passed]
    file.write_text(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n")
    counted, before = summary(outcomes), floors()
    lifted = {kind: max(floor, counted[kind]) for kind, floor in before.items()}
    (HERE / "floor.json").write_text(json.dumps(lifted) + "\n")


def summary(outcomes: dict[str, Outcome]) -> dict[str, int]:
    """Passed, of the yardstick and beyond it."""
    yardstick = set(names("yardstick.txt"))
    passed = {name for name, outcome in outcomes.items() if outcome.status == PASS}
    return {
        "yardstick": len(passed & yardstick),
        "yardstick_total": len(yardstick),
        "beyond": len(passed - yardstick),
        "warp_ops": sum(name.startswith("test_warp_ops.") for name in passed),
    }
