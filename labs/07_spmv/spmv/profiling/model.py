"""What `gpukit spmv` finds out about a matrix, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from gpukit.bench.plain import plain
from gpukit.bench.running import NOT_RUN, WRONG

from ..choosing import Choice
from ..matrices.statistics import Statistics


@dataclass(frozen=True)
class Sample:
    """The rows that were counted: `blocks` of consecutive ones. longest: entries of the longest among them."""

    rows: int
    entries: int
    blocks: int
    longest: int


@dataclass
class Counted:
    """One way in one language.

    status: RIGHT, WRONG (`faults` say why), or NOT_RUN (`why` says why). counters: of the sample, in gpukit's names,
    empty where it was not run. slots: of the format per entry, nan without entries. nbytes: of the format; bytes_moved:
    those, x and y once. remarks: what the counters say against it. slots and bytes are those of the whole matrix.
    """

    way: str
    title: str
    language: str
    options: dict[str, Any]
    status: str = NOT_RUN
    why: str = ""
    faults: list[str] = field(default_factory=list)
    counters: dict[str, int | float] = field(default_factory=dict)
    seconds: float = 0.0
    slots: float = 1.0
    nbytes: int = 0
    bytes_moved: int = 0
    remarks: list[str] = field(default_factory=list)


@dataclass
class Timed:
    """One way, or a library (language ""), timed on a GPU. gb_s: the bytes of a product in CSR over the time."""

    way: str
    title: str
    language: str
    status: str = NOT_RUN
    why: str = ""
    faults: list[str] = field(default_factory=list)
    seconds: float | None = None
    gb_s: float | None = None
    conversion_seconds: float = 0.0
    remarks: list[str] = field(default_factory=list)


@dataclass
class Profile:
    """Everything that `gpukit spmv` shows. csr_bytes: what a product in CSR moves at least. peak_gb_s: of the GPU that
    times are bounded for. padding: slots per entry of ELL and of sliced ELL by sigma, for the figure."""

    name: str
    dtype: str
    pointer: str
    statistics: Statistics
    choice: Choice
    csr_bytes: int
    gpu: str
    peak_gb_s: float | None
    padding: dict[str, float]
    sample: Sample | None = None
    counted: list[Counted] = field(default_factory=list)
    timed: list[Timed] = field(default_factory=list)
    timed_on: str = ""

    @property
    def label(self) -> str:
        """Its name for a title: without what is said in brackets."""
        return self.name.partition(" (")[0]

    @property
    def wrong(self) -> list[Counted | Timed]:
        every: list[Counted | Timed] = [*self.counted, *self.timed]
        return [one for one in every if one.status == WRONG]

    def bound_seconds(self, moved: int) -> float | None:
        """What moving so many bytes takes at least; None for a GPU whose bandwidth is not known."""
        return moved / (self.peak_gb_s * 1e9) if self.peak_gb_s else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        made = asdict(self)
        made["statistics"]["sliced_fill"] = {
            f"{height},{sigma}": fill for (height, sigma), fill in self.statistics.sliced_fill.items()
        }
        made["statistics"] |= {"cv": self.statistics.cv}
        return {"what": "gpukit spmv", "format": 1, **plain(made)}


def sectors(counted: dict[str, int | float]) -> int:
    """Loaded and stored."""
    return int(counted.get("global_load_sectors", 0) + counted.get("global_store_sectors", 0))


def requests(counted: dict[str, int | float]) -> int:
    """Of loads and stores."""
    return int(counted.get("global_load_requests", 0) + counted.get("global_store_requests", 0))
