"""Which walls stand on this computer: found out by trying to break each of them, not by asking what should be there."""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpukit.sandbox import landlock
from gpukit.sandbox.running import Limits, run

_PROBE = Path(__file__).with_name("probe.py")
# Wall -> what a child can do where it does not stand.
WALLS = {
    "time": "run for ever",
    "output": "answer without end",
    "memory": "take all memory",
    "reads": "read files",
    "some reads": "read files besides the compiler's headers",
    "writes": "write files",
    "network": "use the network",
    "processes": "start processes",
    "programs": "start other programs",
    "signals": "end other processes",
}
# What a student could learn the answers with, or do harm. Memory is not among them: the time limit bounds the harm.
FOR_HOST_CODE = ("time", "output", "reads", "writes", "network", "processes", "programs", "signals")
# Text that passed `cpp.refusals` names no file. What is left is that it breaks the compiler.
FOR_CPP = ("time", "output", "memory", "writes", "network", "processes", "programs", "signals")


@dataclass(frozen=True, slots=True)
class Strength:
    """walls: name (`WALLS`) -> whether it held when a child tried.
    landlock: version of Landlock's interface in this kernel, 0 for none.
    sentence: for an instructor.
    """

    walls: Mapping[str, bool]
    landlock: int
    sentence: str

    def missing(self, needed: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the walls `needed` (`FOR_HOST_CODE`, `FOR_CPP`) that do not stand."""
        return tuple(name for name in needed if not self.walls[name])


@functools.cache
def strength() -> Strength:
    """Which walls stand here. Takes three short-lived children, once."""
    limits = Limits(seconds=10.0, memory_bytes=1 << 29)
    with tempfile.TemporaryDirectory(prefix="gpukit-") as name:
        folder = Path(name)
        held = _held(run([_PROBE, "deeds"], folder=folder, limits=limits).output)
        # Its own file may be read; the one beside it may not.
        reads = _held(run([_PROBE, "reads"], folder=folder, limits=limits, readable=[_PROBE]).output)
    started = run([_PROBE, "program"], limits=limits).output
    walls = {
        "time": True,  # the parent's own doing, as is the next
        "output": True,
        **{wall: held.get(wall, False) for wall in ("memory", "reads", "writes", "network", "processes", "signals")},
        "some reads": reads.get("some reads", False),
        "programs": b"programs held" in started,
    }
    walls = {wall: walls[wall] for wall in WALLS}
    return Strength(walls, landlock.abi(), _sentence(walls))


def _held(output: bytes) -> dict[str, bool]:
    held: dict[str, bool] = {}
    for line in output.decode().splitlines():
        wall, _, answer = line.rpartition(" ")
        held[wall] = held.get(wall, True) and answer == "held"  # some are tried in two ways
    return held


def _sentence(walls: Mapping[str, bool]) -> str:
    down = [WALLS[wall] for wall, stands in walls.items() if not stands]
    if not down:
        return "students' code runs in a child process that can open no file, use no network and start no process"
    return f"on this computer ({sys.platform}) students' code could {', '.join(down)}"
