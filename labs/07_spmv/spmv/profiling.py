"""What every way to multiply does with one matrix: counted on the CPU machine, timed on a GPU; as plain data.

The machine counts lane by lane. A matrix of more than so much work is counted on a sample of it: blocks of consecutive
rows, spread evenly, with their order and lengths. Statistics, padding, bytes and the recommendation are always those
of the whole matrix.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

import gpukit
from gpukit.bench import counting
from gpukit.devices import CpuMachine, Device
from gpukit.gpus import find_gpu
from gpukit.registry import CPP, NUMBA, Plan

from . import checks, choosing, products
from .choosing import Choice
from .formats import Csr
from .statistics import Statistics, ell_fill, sliced_fill, statistics

RIGHT, WRONG, NOT_RUN = "right", "WRONG", "not run"
LANGUAGES = {"python": (NUMBA,), "cpp": (CPP,), "both": (NUMBA, CPP)}
SLICE = 32  # rows
SIGMA = 256  # rows that sliced ELL sorts together, where nobody chose another number
SECTOR_BYTES, LANES = 32, 32

# --- what a machine can count in seconds -----------------------------------------------------------------------------
# Measured on two cores: 1e6 to 1e7 entries a second in even rows, and 50 to 100 us for each step that a single lane
# takes by itself, since all other warps have ended.
SAMPLED_WORK = 2_000_000  # rows + entries
SAMPLED_ROWS = 256  # of a block of the sample: whole slices, whole windows of SIGMA rows
MOST_STEPS = 60_000  # of one lane
MOST_BYTES = 256 << 20  # of a padded matrix that is counted


# --- plain data ------------------------------------------------------------------------------------------------------


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
        return {"what": "gpukit spmv", "format": 1, **_finite(made)}


def _finite(made: Any) -> Any:
    """JSON has no NaN: what no number can be given for is null."""
    if isinstance(made, dict):
        return {key: _finite(value) for key, value in made.items()}
    if isinstance(made, list | tuple):
        return [_finite(value) for value in made]
    if isinstance(made, np.generic):
        made = made.item()
    return None if isinstance(made, float) and not np.isfinite(made) else made


# --- measuring -------------------------------------------------------------------------------------------------------

Say = Callable[[str, int, int], None]


def nobody(what: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def profile(
    csr: Csr,
    name: str,
    *,
    languages: Sequence[str] = (NUMBA,),
    cpu: bool = True,
    device: Device | None = None,
    gpu: str = "H200",
    block: int = products.BLOCK,
    seed: int = 0,
    say: Say = nobody,
) -> Profile:
    """Every way there is on a matrix of the host, as `Profile`.

    languages: NUMBA, CPP. cpu: whether the CPU machine counts. device: the GPU to time on, if any. gpu: the one whose
    bandwidth bounds a time. seed: of x. Raises GpukitError for a block that is none, and without a compiler for CPP.
    """
    stats = statistics(csr)
    spec = find_gpu(gpu)
    choice = choosing.choose_format(csr)
    found = Profile(
        name=name,
        dtype=csr.dtype.name,
        pointer=np.dtype(csr.indptr.dtype).name,
        statistics=stats,
        choice=choice,
        csr_bytes=products.csr_bytes(csr),
        gpu=spec.name,
        peak_gb_s=spec.bandwidth_gb_s,
        padding=padding(csr),
    )
    runs = [(way, options, language) for way, options in variants(choice).items() for language in languages]
    total = len(runs) * (cpu + (device is not None))
    if cpu:
        counted, found.sample = sampled(csr)
        sizes: dict[str, dict[str, Any]] = {}
        for done, (way, options, language) in enumerate(runs):
            say(f"{way}, {language}", done, total)
            if way not in sizes:
                sizes[way] = size(csr, way, options)
            one = Counted(way, products.WAYS[way].title, language, options, **sizes[way])
            _count(one, counted, block, seed)
            found.counted.append(one)
        remark(found.counted, counted)
    if device is not None:
        found.timed_on = getattr(device, "card", "") or "a GPU"
        found.timed = list(_time(csr, device, runs, block, seed, say, total))
    return found


def variants(choice: Choice) -> dict[str, dict[str, Any]]:
    """Way -> options: as chosen, or else those that a way is most often used with."""
    usual: dict[str, dict[str, Any]] = {"sliced_ell": {"height": SLICE, "sigma": SIGMA}}
    return {way: choice.options if way == choice.way else usual.get(way, {}) for way in products.WAYS}


def padding(csr: Csr) -> dict[str, float]:
    """Slots per entry: "ELL", and sliced ELL by the rows sorted together, "1", "64", ... and "all"."""
    lengths = csr.lengths
    sigmas = [sigma for sigma in (1, 64, 256, 2048, 16384) if sigma < max(csr.rows, 2)]
    found = {str(sigma): sliced_fill(lengths, SLICE, sigma) for sigma in sigmas}
    return {"ELL": ell_fill(lengths), **found, "all": sliced_fill(lengths, SLICE, max(csr.rows, 1))}


def size(csr: Csr, way: str, options: dict[str, Any]) -> dict[str, Any]:
    """What is known of a matrix in a way's format: `nbytes`, `bytes_moved` and `slots` of `Counted`."""
    if way == "ell":  # seldom fits where it is worst
        nbytes = padded_bytes(csr)
        vectors = (csr.rows + csr.columns) * csr.dtype.itemsize
        return {"slots": ell_fill(csr.lengths), "nbytes": nbytes, "bytes_moved": nbytes + vectors}
    made = products.product(way, csr, *_vectors(csr, 0), **options)
    slots = getattr(made.form, "slots", csr.nnz) / csr.nnz if csr.nnz else float("nan")
    return {"slots": slots, "nbytes": made.form.nbytes, "bytes_moved": made.bytes_moved}


def padded_bytes(csr: Csr) -> int:
    """Bytes of the matrix in ELL."""
    return csr.rows * int(csr.lengths.max(initial=0)) * (4 + csr.dtype.itemsize)


# --- the sample ------------------------------------------------------------------------------------------------------


def sampled(csr: Csr, work: int = SAMPLED_WORK) -> tuple[Csr, Sample | None]:
    """The matrix itself, or blocks of its rows, spread evenly, of about `work` rows and entries, at least one block."""
    if csr.rows + csr.nnz <= work or csr.rows <= SAMPLED_ROWS:
        return csr, None
    starts = np.arange(0, csr.rows, SAMPLED_ROWS)
    ends = np.minimum(starts + SAMPLED_ROWS, csr.rows)
    cost = (csr.indptr[ends] - csr.indptr[starts]).astype(np.int64) + (ends - starts)
    count = int(min(starts.size, max(1, work * starts.size // int(cost.sum()))))
    taken = _spread(starts.size, count)
    while count > 1 and int(cost[taken].sum()) > 2 * work:  # a block of long rows is among them
        count //= 2
        taken = _spread(starts.size, count)
    rows = np.concatenate([np.arange(starts[block], ends[block]) for block in taken])
    lengths = csr.lengths[rows]
    indptr = np.zeros(rows.size + 1, csr.indptr.dtype)
    np.cumsum(lengths, out=indptr[1:])
    parts = [slice(int(csr.indptr[starts[block]]), int(csr.indptr[ends[block]])) for block in taken]
    indices, data = (np.concatenate([array[part] for part in parts]) for array in (csr.indices, csr.data))
    sample = Sample(int(rows.size), int(indices.size), int(taken.size), int(lengths.max()))
    return Csr((int(rows.size), csr.columns), indptr, indices, data), sample


def _spread(total: int, count: int) -> np.ndarray:
    """`count` of `total` places, in the middle of as many equal parts."""
    return ((2 * np.arange(count) + 1) * total) // (2 * count)


# --- on the CPU machine ----------------------------------------------------------------------------------------------


def _count(one: Counted, csr: Csr, block: int, seed: int) -> None:
    """Count a way on a matrix, and check its answer."""
    one.why = _too_long(csr, one.way, one.options)
    if one.why:
        return
    x, y = _vectors(csr, seed)
    cpu = CpuMachine()
    made = products.product(one.way, csr, x, y, language=one.language, device=cpu, block=block, **one.options)
    began = time.perf_counter()
    reports = counting.profile(Plan(lambda: y, made.launches, outputs=(y,)), hazards=False)
    one.seconds = time.perf_counter() - began
    one.counters = counting.together(reports) if reports else {}
    one.faults = checks.faults(csr, x, y)
    one.status = WRONG if one.faults else RIGHT


def _vectors(csr: Csr, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """x of both signs, and a y that nobody has written."""
    x = np.random.default_rng(seed).uniform(-1, 1, csr.columns).astype(csr.dtype)
    return x, np.full(csr.rows, np.nan, csr.dtype)


def longest_walk(csr: Csr, way: str, options: dict[str, Any]) -> int:
    """Steps of the lane that takes the most; 0 for ways that bound them by themselves."""
    longest = int(csr.lengths.max(initial=0))
    lanes = {"csr_thread": 1, "ell": 1, "sliced_ell": 1, "csr_warp": LANES}
    if way == "csr_subwarp":
        lanes[way] = options.get("lanes") or products.lanes_for(csr)
    return -(-longest // lanes[way]) if way in lanes else 0


def _too_long(csr: Csr, way: str, options: dict[str, Any]) -> str:
    """Why the machine does not count a way; "" where it does."""
    steps = longest_walk(csr, way, options)
    if steps > MOST_STEPS:
        return f"not counted here: one lane would walk {steps:,} entries by itself"
    if way == "ell" and padded_bytes(csr) > MOST_BYTES:
        return f"not counted here: {csr.rows:,} rows would be padded to {steps:,} entries each"
    return ""


# --- what the counters say -------------------------------------------------------------------------------------------

FEW_LANES = 0.6  # of a warp
MUCH_PADDING = 1.25  # slots per entry
MANY = 1.5  # times as many as the best


def remark(found: Sequence[Counted], csr: Csr) -> None:
    """Write what each way's counters say against it, beside the best of the same language."""
    for language in dict.fromkeys(one.language for one in found):
        own = [one for one in found if one.language == language and one.counters]
        for one in own:
            one.remarks = list(_remarks(one, own, csr))


def sectors(counted: dict[str, int | float]) -> int:
    """Loaded and stored."""
    return int(counted.get("global_load_sectors", 0) + counted.get("global_store_sectors", 0))


def requests(counted: dict[str, int | float]) -> int:
    """Of loads and stores."""
    return int(counted.get("global_load_requests", 0) + counted.get("global_store_requests", 0))


def _remarks(one: Counted, all_ways: Sequence[Counted], csr: Csr) -> Iterator[str]:
    active = one.counters["active_lanes_per_instruction"]
    if active < FEW_LANES * LANES:
        yield f"{active:.1f} of {LANES} lanes work"
    best = min(all_ways, key=lambda other: sectors(other.counters))
    times = sectors(one.counters) / max(sectors(best.counters), 1)
    if times > MANY:
        yield f"{times:.1f} times the sectors of {best.way}"
    best = min(all_ways, key=lambda other: other.counters["warp_instructions"])
    times = one.counters["warp_instructions"] / max(best.counters["warp_instructions"], 1)
    if times > MANY:
        yield f"{times:.1f} times the warp instructions of {best.way}"
    if one.slots > MUCH_PADDING:
        yield f"{one.slots:,.1f} slots for each entry"
    steps, mean = longest_walk(csr, one.way, one.options), csr.nnz / max(csr.rows, 1)
    if steps > 1024 and steps > 64 * mean:
        yield f"one lane takes {steps:,} steps, which no other work hides"


# --- on a GPU --------------------------------------------------------------------------------------------------------


def _time(
    csr: Csr,
    device: Device,
    runs: Sequence[tuple[str, dict[str, Any], str]],
    block: int,
    seed: int,
    say: Say,
    total: int,
) -> Iterator[Timed]:
    """Each way, then CuPy's own product, on the whole matrix; every answer is checked before its time is taken."""
    from . import references

    there = csr.on(device.xp)
    x, y = _vectors(csr, seed)
    x_there, y_there = device.xp.asarray(x), device.xp.asarray(y)
    moved = products.csr_bytes(csr)

    def timed(one: Timed, run: Callable[[], Any], answer: Callable[[], Any]) -> Timed:
        run()
        device.synchronize()
        one.faults = checks.faults(csr, x, device.to_host(answer()))
        one.status = WRONG if one.faults else RIGHT
        if not one.faults:
            timing = gpukit.benchmark(run, machine=device.name, flush_l2=True, bytes_moved=moved, name=one.way)
            one.seconds, one.gb_s, one.remarks = timing.median, timing.bandwidth_gb_s, list(timing.remarks)
        return one

    for done, (way, options, language) in enumerate(runs):
        say(f"{way}, {language}, on the GPU", total - len(runs) + done, total)
        one = Timed(way, products.WAYS[way].title, language)
        if way == "ell" and padded_bytes(csr) > (device.memory_bytes or 0) // 4:  # converting takes some more
            one.why = f"padding to the longest row makes {padded_bytes(csr) / 1e9:,.1f} GB"
            yield one
            continue
        y_there[...] = np.nan
        try:
            device.synchronize()
            began = time.perf_counter()
            made = products.product(
                way, there, x_there, y_there, language=language, device=device, block=block, **options
            )
            device.synchronize()
            one.conversion_seconds = time.perf_counter() - began
            yield timed(one, lambda made=made: made.run(device), lambda: y_there)  # type: ignore[misc]
        except Exception as error:
            if type(error).__name__ != "OutOfMemoryError":  # CuPy's
                raise
            one.why = "the GPU has not enough memory for this format"
            yield one
    for reference in references.REFERENCES.values():
        if reference.group != "cupyx":
            continue
        one = Timed(reference.name, reference.title, "", why=reference.why_not(device))
        if not one.why:
            prepared = reference.prepare(there, x_there, y_there)
            one = timed(one, prepared.run, prepared.answer)
        yield one
