"""The report of one launch as plain data. How it is shown is in `terminal` and `html`; what it means in `answers`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.gpus import DEFAULT_GPU
from gpukit.occupancy import Occupancy, occupancy

if TYPE_CHECKING:
    from gpukit.machine.hazards import Hazard

Number = int | float


@dataclass(slots=True)
class LineReport:
    """One line of the kernel's source.

    `counters` has the names of `Report.counters`, without the ones that are zero or mean nothing for a line;
    `active_lanes` is the mean number of lanes (0 to 32) at work in the line's warp instructions, None when it ran none.
    """

    file: str
    number: int
    text: str
    counters: dict[str, Number] = field(default_factory=dict)
    active_lanes: float | None = None
    hazards: list[Hazard] = field(default_factory=list)

    def to_dict(self) -> dict:
        return {
            "file": self.file,
            "number": self.number,
            "text": self.text,
            "counters": _plain(self.counters),
            "active_lanes": _plain(self.active_lanes),
            "hazards": [hazard.to_dict() for hazard in self.hazards],
        }


@dataclass(slots=True, repr=False)
class Report:
    """What one launch did.

    `grid` and `block` are (x, y, z); `threads` and `warps` count the whole grid; `shared_bytes` is static plus dynamic
    shared memory of a block; `level` is "source" or "compiled"; `seconds` is how long the run took here (it says
    nothing about a GPU). `lines` are the kernel and its device functions; `folded` is what lines elsewhere cost, one
    entry per file with `number` 0. `output` is what the kernel printed, piece by piece. `hazards` holds errors and
    warnings, `findings` notes. `hazards_checked` is False when the launch ran without the hazard checks, so that an
    empty list is not mistaken for a clean kernel. `imbalance` is the work (warp instructions) of the busiest block over
    that of the average block, where it is known.
    """

    kernel: str
    file: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    threads: int
    warps: int
    shared_bytes: int = 0
    level: str = "source"
    arguments: list[dict] = field(default_factory=list)
    counters: dict[str, Number] = field(default_factory=dict)
    lines: list[LineReport] = field(default_factory=list)
    folded: list[LineReport] = field(default_factory=list)
    hazards: list[Hazard] = field(default_factory=list)
    findings: list[Hazard] = field(default_factory=list)
    seconds: float = 0.0
    output: list[str] = field(default_factory=list)
    hazards_checked: bool = True
    imbalance: float | None = None

    @property
    def errors(self) -> list[Hazard]:
        """Hazards that make the kernel wrong, in the order they were found."""
        return [hazard for hazard in self.hazards if hazard.severity == "error"]

    @property
    def warnings(self) -> list[Hazard]:
        """Hazards that usually mean a bug."""
        return [hazard for hazard in self.hazards if hazard.severity == "warning"]

    @property
    def notes(self) -> list[Hazard]:
        """Everything that explains and never fails a check: notes among the hazards, then the findings."""
        return [hazard for hazard in self.hazards if hazard.severity == "note"] + list(self.findings)

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_block(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def identity(self) -> tuple:
        """What two launches must share to be shown as one: kernel, shape, counters, hazards."""
        return (
            *(self.kernel, self.file, self.grid, self.block, self.shared_bytes, self.level),
            tuple(sorted(self.counters.items())),
            tuple((hazard.kind, hazard.line, hazard.count) for hazard in self.hazards + self.findings),
        )

    def occupancy(self, gpu: str = DEFAULT_GPU) -> Occupancy:
        """What an SM of a named GPU holds of this launch at a time (registers are not known at source level)."""
        return occupancy(self.threads_per_block, self.shared_bytes, gpu=gpu)

    def to_dict(self, gpu: str = DEFAULT_GPU) -> dict:
        """The whole report as dicts, lists, strings and numbers, ready for `json.dump`."""
        return {
            "kernel": self.kernel,
            "file": self.file,
            "grid": list(self.grid),
            "block": list(self.block),
            "threads": self.threads,
            "warps": self.warps,
            "shared_bytes": self.shared_bytes,
            "level": self.level,
            "occupancy": self.occupancy(gpu).to_dict(),
            "arguments": _plain(self.arguments),
            "counters": _plain(self.counters),
            "imbalance": _plain(self.imbalance),
            "lines": [line.to_dict() for line in self.lines],
            "folded": [line.to_dict() for line in self.folded],
            "hazards_checked": self.hazards_checked,
            "hazards": [hazard.to_dict() for hazard in self.hazards],
            "findings": [finding.to_dict() for finding in self.findings],
            "seconds": self.seconds,
            "output": list(self.output),
        }

    def __str__(self) -> str:
        from gpukit.report.terminal import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"<Report of {self.kernel}, grid {self.grid}, block {self.block}: print it, or .to_dict()>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows at a prompt; a notebook takes the HTML."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from gpukit.report.html import fragment

        return fragment(self)


def _plain(value: Any) -> Any:
    """NumPy scalars, dtypes and tuples as what JSON knows."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
