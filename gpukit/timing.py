"""How long something takes, on a CPU or a GPU, with what a number needs to be believed: warm-up, repeats, spread, peak.

    timing = gpukit.benchmark(kernel_call, x, y, bytes_moved=x.nbytes)
    print(timing)                                  # median, spread, bandwidth, and remarks where something is doubtful
    timing.speedup_over(other), timing.differs_from(other)

`benchmark_in_turns` times what is to be compared one repeat of each after the other. `copy_ceiling` and `read_ceiling`
measure what the memory gives at best, in the same process and with the same clock: a bandwidth is held against them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.clocks import Clock, CpuClock, GpuClock
from gpukit.errors import GpukitError, InternalError

if TYPE_CHECKING:
    from gpukit.devices import Device

FEWEST, MOST = 11, 200  # repeats, where the caller names no number
WARMUP = 3
MAX_SECONDS = 5.0
# The standard error of the median that is aimed at, as a part of the median.
STANDARD_ERROR = 0.01
# A hold lasts as long as a few calls take on the host, within these bounds: a launch may take longer than the last one
# did, and a call that takes the host longer than the upper bound is not one that only queues work.
SHORTEST_HOLD_SECONDS, LONGEST_HOLD_SECONDS = 0.2e-3, 20e-3
HOST_CALLS_PER_HOLD = 4
# A call that keeps the host for most of a hold waits for its end: one that only queues work took a quarter of it.
MOST_OF_A_HOLD = 0.75
# A time of fewer units of the clock's resolution is more resolution than time.
UNITS = 10


# --- what is measured ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Timing:
    """Seconds of every repeat, and what follows from them.

    seconds: of every repeat, in the order they ran: on a GPU from the start to the end of the work on the GPU, on a CPU
        those of the call.
    machine: "cpu" or "gpu".
    host_seconds: median that the call itself kept the host; on a GPU a launch returns before its work is done.
    bytes_moved: bytes read and written by one call, None where they are not known.
    peak_gb_s: what the memory can move at most, in 1e9 bytes per second, None where it is not known.
    name: what was timed.
    remarks: sentences that say why a number is to be doubted; empty when nothing is wrong.
    """

    seconds: tuple[float, ...]
    machine: str
    host_seconds: float
    bytes_moved: int | None = None
    peak_gb_s: float | None = None
    name: str = ""
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.seconds:
            raise GpukitError("A timing needs at least one repeat.")

    @property
    def n(self) -> int:
        """Repeats."""
        return len(self.seconds)

    @property
    def median(self) -> float:
        """Seconds of the middle repeat."""
        return float(np.median(self.seconds))

    @property
    def minimum(self) -> float:
        """Seconds of the fastest repeat."""
        return min(self.seconds)

    @cached_property
    def quartiles(self) -> tuple[float, float]:
        """Seconds that a quarter and three quarters of the repeats stayed below."""
        low, high = np.percentile(self.seconds, (25, 75))
        return float(low), float(high)

    @property
    def spread(self) -> float:
        """Interquartile range over the median: the middle half of the repeats lies within this part of it."""
        low, high = self.quartiles
        return (high - low) / self.median if self.median > 0 else 0.0

    @property
    def bandwidth_gb_s(self) -> float | None:
        """Bytes moved over the median, in 1e9 bytes per second; None without bytes, or where no time was seen."""
        if self.bytes_moved is None or self.median <= 0:
            return None
        return self.bytes_moved / self.median / 1e9

    @property
    def above_peak(self) -> bool:
        """Whether the bandwidth is more than the memory can give, so that it is none: cached, or miscounted."""
        return bool(self.bandwidth_gb_s and self.peak_gb_s and self.bandwidth_gb_s > self.peak_gb_s)

    def speedup_over(self, other: Timing) -> float:
        """How many times faster this is than `other`, by their medians; infinite where no time was seen."""
        return other.median / self.median if self.median > 0 else math.inf

    def differs_from(self, other: Timing) -> bool:
        """Whether the two differ by more than their spread: their interquartile ranges do not overlap.

        With fewer than four repeats on either side there is no such range, and nothing shows that they differ.
        """
        if min(self.n, other.n) < 4:
            return False
        (low, high), (other_low, other_high) = self.quartiles, other.quartiles
        return high < other_low or other_high < low

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON; seconds, bytes and 1e9 bytes per second."""
        return {
            "name": self.name,
            "machine": self.machine,
            "n": self.n,
            "median_s": self.median,
            "spread": self.spread,
            "minimum_s": self.minimum,
            "host_s": self.host_seconds,
            "bytes_moved": self.bytes_moved,
            "bandwidth_gb_s": self.bandwidth_gb_s,
            "peak_gb_s": self.peak_gb_s,
            "above_peak": self.above_peak,
            "remarks": list(self.remarks),
            "seconds": list(self.seconds),
        }

    def __str__(self) -> str:
        times = "1 repeat" if self.n == 1 else f"{self.n} repeats, spread {self.spread:.1%}"
        text = f"{in_units(self.median)} on the {self.machine.upper()} ({times}, fastest {in_units(self.minimum)})"
        if self.machine == "gpu":
            text += f", {in_units(self.host_seconds)} on the host"
        if self.bandwidth_gb_s is not None:
            share = f", {self.bandwidth_gb_s / self.peak_gb_s:.1%} of {self.peak_gb_s:,.0f}" if self.peak_gb_s else ""
            text += f"; {self.bandwidth_gb_s:,.1f} GB/s{share}"
        head = f"{self.name}: {text}" if self.name else text
        return "\n".join([head, *(f"  {remark}" for remark in self.remarks)])


def in_units(seconds: float) -> str:
    """Seconds for people to read: "1.63 ms".

    >>> in_units(0.0016349), in_units(70e-6), in_units(43.76), in_units(0)
    ('1.63 ms', '70.0 us', '43.8 s', '0.00 ns')
    """
    unit, size = next((pair for pair in _UNITS if seconds >= pair[1]), _UNITS[-1])
    value = seconds / size
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {unit}"


_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def needed_repeats(seconds: Sequence[float], standard_error: float = STANDARD_ERROR) -> int | None:
    """How many repeats it takes for the median's standard error to be this part of the median.

    n >= (1.25 x sigma / median / standard_error)^2, where 1.25 x sigma / sqrt(n) is the standard error of the median of
    normally distributed times, and sigma is taken from the interquartile range (1.349 sigma wide), which a single
    disturbed repeat does not move. None where there are fewer than four repeats, which say nothing of their spread.

    >>> needed_repeats([0.96, 0.98, 1.0, 1.02, 1.04])  # an interquartile range of 4 %
    14
    """
    if len(seconds) < 4:
        return None
    low, middle, high = np.percentile(seconds, (25, 50, 75))
    if middle <= 0:
        return 1
    return max(1, math.ceil((1.25 * (high - low) / 1.349 / middle / standard_error) ** 2))


# --- measuring -------------------------------------------------------------------------------------------------------


def benchmark(
    fn: Callable[..., Any],
    *args: Any,
    machine: str = "auto",
    repeats: int | None = None,
    warmup: int = WARMUP,
    max_seconds: float = MAX_SECONDS,
    restore: Callable[[], Any] | None = None,
    flush_l2: bool = False,
    bytes_moved: int | None = None,
    peak_gb_s: float | None = None,
    name: str | None = None,
    clock: Clock | None = None,
) -> Timing:
    """Time `fn(*args)`.

    On a GPU the time is that between two events on CuPy's current stream, around the call; the GPU is kept busy before
    the first of them until the host has queued everything, so the host's time for a launch is not counted. On a CPU it
    is the time of the call.

    Args:
        fn: what is timed. A function of the host is timed with machine="cpu", also where there is a GPU.
        machine: "gpu", "cpu", or "auto" for a GPU where there is one.
        repeats: how many; None for as many, from 11 to 200, as bring the median's standard error to 1 % of it.
        warmup: calls before the first repeat; the first call of all compiles.
        max_seconds: for the repeats; no further one starts after that, whatever `repeats` says. A warm-up that has
            taken as long ends, too.
        restore: called before every call of `fn`, outside the timed part: sets what a call destroys.
        flush_l2: empty the L2 cache before every repeat by writing twice its size and then reading as much, so that no
            repeat finds what the last one left, nor has to write it back.
        bytes_moved: bytes that one call reads and writes, for the bandwidth.
        peak_gb_s: what the memory can move at most, in 1e9 bytes per second; on a GPU known by itself.
        name: what the timing is called; the name of `fn` by default.
        clock: what measures, in place of the machine's own.

    Raises:
        GpukitError: `fn` cannot be called, or a number makes no sense. What `fn` raises passes through unchanged.
    """
    _refuse(fn, repeats, warmup, max_seconds, restore, bytes_moved, peak_gb_s)
    clock = clock or _clock(machine)
    measured = _Measurement(clock, lambda: fn(*args), restore, flush_l2)
    measured.warm_up(warmup, max_seconds)
    measured.repeat(repeats, max_seconds)
    called = name if name is not None else str(getattr(fn, "__name__", type(fn).__name__))
    return measured.timing(called, bytes_moved, peak_gb_s, repeats, max_seconds)


def benchmark_in_turns(
    calls: Mapping[str, Callable[[], Any]],
    *,
    machine: str = "auto",
    repeats: int | None = None,
    warmup: int = WARMUP,
    max_seconds: float = MAX_SECONDS,
    restore: Callable[[], Any] | None = None,
    flush_l2: bool = False,
    bytes_moved: Mapping[str, int] | None = None,
    clock: Clock | None = None,
) -> dict[str, Timing]:
    """Time several calls by turns, a repeat of each after the other, so that a GPU whose clocks drift drifts for all.

    Args:
        calls: what is timed, by the name of its timing.
        max_seconds: for the repeats of each call.
        bytes_moved: of a run of each call, where it is known.
        The others as in `benchmark`.

    Returns a timing for each call, in their order. Raises what `benchmark` raises.
    """
    for name, call in calls.items():
        _refuse(call, repeats, warmup, max_seconds, restore, (bytes_moved or {}).get(name), None)
    clock = clock or _clock(machine)
    measured = {name: _Measurement(clock, call, restore, flush_l2) for name, call in calls.items()}
    for one in measured.values():
        one.warm_up(warmup, max_seconds)
    waiting, spent = dict(measured), dict.fromkeys(measured, 0.0)
    while waiting:
        for name, one in list(waiting.items()):
            began = clock.host_seconds()
            one.once()
            spent[name] += clock.host_seconds() - began
            if one.enough(repeats) or spent[name] >= max_seconds:
                del waiting[name]
    return {
        name: one.timing(name, (bytes_moved or {}).get(name), None, repeats, max_seconds)
        for name, one in measured.items()
    }


def _refuse(
    fn: Any,
    repeats: int | None,
    warmup: int,
    max_seconds: float,
    restore: Any,
    bytes_moved: int | None,
    peak_gb_s: float | None,
) -> None:
    if not callable(fn):
        raise GpukitError(f"benchmark times a function, and {_short(fn)} is none: pass the function and its arguments.")
    if restore is not None and not callable(restore):
        raise GpukitError(f"restore is a function that is called before every repeat, not {_short(restore)}.")
    if repeats is not None and repeats < 1:
        raise GpukitError(f"{repeats} repeats measure nothing; use 1 or more, or None to let the spread decide.")
    if warmup < 0:
        raise GpukitError(f"There cannot be {warmup} warm-up calls; use 0 or more.")
    if not max_seconds > 0:
        raise GpukitError(f"max_seconds={max_seconds} leaves no time to measure; use more than 0.")
    if bytes_moved is not None and bytes_moved < 0:
        raise GpukitError(f"A call cannot move {bytes_moved:,} bytes; count those it reads and those it writes.")
    if peak_gb_s is not None and not peak_gb_s > 0:
        raise GpukitError(f"A peak of {peak_gb_s} GB/s is none; use more than 0, or None where it is not known.")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@cache
def _gpu_clock() -> Clock:
    return GpuClock()  # once: its hold is compiled, and its buffer allocated, on first use


def _clock(machine: str) -> Clock:
    from gpukit import devices  # knows the kernels' registry, which a clock does without

    return _gpu_clock() if devices.device(machine).name == "gpu" else CpuClock()


class _Measurement:
    """The calls in their order: restore, flush, hold, mark, call, mark, wait."""

    def __init__(self, clock: Clock, call: Callable[[], Any], restore: Callable[[], Any] | None, flush: bool):
        self.clock = clock
        self.call = call
        self.restore = restore
        self.flush = flush
        self.seconds: list[float] = []
        self.host: list[float] = []
        self.warm = 0
        self.held: float | None = None  # seconds of a hold, None where there is none
        self.not_flushed = False
        self.hold_seconds = SHORTEST_HOLD_SECONDS

    def warm_up(self, calls: int, max_seconds: float) -> None:
        """Calls that are not counted; the last one, which compiles nothing, tells how long a hold must be."""
        began = self.clock.host_seconds()
        while self.warm < calls and (self.warm == 0 or self.clock.host_seconds() - began < max_seconds):
            if self.restore is not None:
                self.restore()
            self.clock.synchronize()
            before = self.clock.host_seconds()
            self.call()
            host = self.clock.host_seconds() - before
            self.clock.synchronize()
            self.warm += 1
            if self.warm > 1:
                bounded = min(HOST_CALLS_PER_HOLD * host, LONGEST_HOLD_SECONDS)
                self.hold_seconds = max(bounded, SHORTEST_HOLD_SECONDS)

    def repeat(self, repeats: int | None, max_seconds: float) -> None:
        """Repeats until there are enough: at least one, and none that starts after `max_seconds`."""
        began = self.clock.host_seconds()
        while not self.seconds or (not self.enough(repeats) and self.clock.host_seconds() - began < max_seconds):
            self.once()

    def enough(self, repeats: int | None) -> bool:
        """Whether there are as many repeats as were asked for, or as their spread asks for."""
        made = len(self.seconds)
        if repeats is not None:
            return made >= repeats
        return made >= MOST or (made >= FEWEST and made >= (needed_repeats(self.seconds) or MOST))

    def once(self) -> None:
        """One repeat."""
        if self.restore is not None:
            self.restore()
        if self.flush:
            self.not_flushed = not self.clock.flush()
        if self.clock.hold(self.hold_seconds):
            self.held = self.hold_seconds
        start = self.clock.record()
        before = self.clock.host_seconds()
        self.call()
        after = self.clock.host_seconds()
        stop = self.clock.record()
        self.clock.synchronize()
        self.seconds.append(self.clock.elapsed(start, stop))
        self.host.append(after - before)

    def timing(
        self, name: str, bytes_moved: int | None, peak_gb_s: float | None, repeats: int | None, max_seconds: float
    ) -> Timing:
        """What was measured, with all that is to be said of it."""
        timing = Timing(
            seconds=tuple(self.seconds),
            machine=self.clock.machine,
            host_seconds=float(np.median(self.host)),
            bytes_moved=None if bytes_moved is None else int(bytes_moved),
            peak_gb_s=peak_gb_s if peak_gb_s is not None else self.clock.peak_gb_s,
            name=name,
        )
        return replace(timing, remarks=(*self.remarks(repeats, max_seconds), *_doubts(timing, self.clock)))

    def remarks(self, repeats: int | None, max_seconds: float) -> list[str]:
        """What was not done as it should be."""
        found = []
        made = len(self.seconds)
        if self.warm == 0:
            found.append("There was no warm-up, so the first repeat may include compilation: use warmup=2 or more.")
        elif self.warm == 1 and self.held is not None:
            found.append(
                "One warm-up call does not tell how long the host takes when nothing is compiled, so the GPU may have "
                "waited for it: use warmup=2 or more."
            )
        wanted = FEWEST if repeats is None else repeats
        if made < wanted:
            found.append(f"{made} of {wanted} repeats fitted into max_seconds={max_seconds:g}.")
        if self.not_flushed:
            found.append("flush_l2 did nothing: it is for a GPU; on a CPU take arrays larger than its caches.")
        host = float(np.median(self.host))
        if self.held is not None and host > MOST_OF_A_HOLD * self.held:
            found.append(
                f"The call kept the host for {in_units(host)} while the GPU was kept busy for {in_units(self.held)}, so"
                " the GPU waits for the host within the time: the call copies to the host, synchronises, or computes"
                ' there (a function of the host is timed with machine="cpu").'
            )
        return found


def _doubts(timing: Timing, clock: Clock) -> list[str]:
    """What the numbers themselves say against being believed."""
    found = []
    needed = needed_repeats(timing.seconds)
    if needed is None:
        found.append(f"{timing.n} repeat{'s say' if timing.n > 1 else ' says'} nothing of the spread; use at least 4.")
    elif needed > timing.n:
        found.append(
            f"{timing.n} repeats are too few for a spread of {timing.spread:.1%}: the median is known to "
            f"{STANDARD_ERROR:.0%} after {needed:,}."
        )
    if timing.median < UNITS * clock.resolution_seconds:
        nothing = ", or nothing ran on the GPU" if clock.machine == "gpu" else ""
        found.append(
            f"{in_units(timing.median)} is close to what the clock can tell apart "
            f"({in_units(clock.resolution_seconds)}){nothing}: let one call do the work several times."
        )
    if timing.above_peak:
        assert timing.bandwidth_gb_s is not None and timing.bytes_moved is not None
        found.append(
            f"{timing.bandwidth_gb_s:,.0f} GB/s are more than the {timing.peak_gb_s:,.0f} GB/s of the memory: "
            f"the data was cached, or the {timing.bytes_moved:,} bytes are miscounted."
        )
    return found


# --- ceilings --------------------------------------------------------------------------------------------------------

GPU_SIZE_BYTES, CPU_SIZE_BYTES = 2 << 30, 256 << 20
READ_THREADS, LOADS = 256, 4
TILE_BYTES = READ_THREADS * LOADS * 16  # what one block reads in a round
BLOCKS_PER_SM = 8

# Four independent loads of 16 bytes are under way in every thread; the sum of each thread is kept, so that none of them
# can be left out, and says whether all of them were right.
READ_SOURCE = r"""
extern "C" __global__ void read_all(const float4 *x, long long tiles, float *sums) {
    float sum = 0.0f;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const float4 *mine = x + tile * 4 * blockDim.x + threadIdx.x;
        float4 a = mine[0], b = mine[blockDim.x], c = mine[2 * blockDim.x], d = mine[3 * blockDim.x];
        sum += (a.x + a.y + a.z + a.w) + (b.x + b.y + b.z + b.w) + (c.x + c.y + c.z + c.w) + (d.x + d.y + d.z + d.w);
    }
    sums[(long long)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def copy_ceiling(device: Device, size_bytes: int | None = None, **options: Any) -> Timing:
    """The bandwidth of a copy, bytes read plus bytes written: what a kernel that reads as much as it writes can reach.

    Measure it in the process and with the clock of what is held against it, not from a data sheet: an H200 copies at
    4,248 to 4,277 GB/s of its 4,800 (data/results/bench_h200_*.json). It is no ceiling for what only reads, such as a
    reduction: a copy writes half of its bytes, and memory that turns from reads to writes and back moves nothing
    meanwhile. So a good reduction passes 100 % of a copy; hold it against `read_ceiling`.

    Args:
        device: a GPU (CuPy copies), or the CPU machine (NumPy does, on all of the host's cores).
        size_bytes: of each of the two arrays; 2 GiB on a GPU and 256 MiB on a CPU by default, or what fits.
        options: as for `benchmark`.

    Raises:
        GpukitError: the arrays do not fit, or are smaller than 16 KiB.
    """
    size = _size(device, size_bytes, arrays=2)
    source, target = device.xp.ones(size // 4, np.float32), device.xp.empty(size // 4, np.float32)
    options = {"bytes_moved": 2 * size, "name": "copy", **options}
    if device.name == "gpu":
        return benchmark(lambda: device.xp.copyto(target, source), machine="gpu", **options)
    with ThreadPoolExecutor(_cores()) as pool:
        parts = list(zip(np.array_split(target, _cores()), np.array_split(source, _cores()), strict=True))
        return benchmark(lambda: list(pool.map(lambda part: np.copyto(*part), parts)), machine="cpu", **options)


def read_ceiling(device: Device, size_bytes: int | None = None, **options: Any) -> Timing:
    """The bandwidth of a sum that reads an array once and writes next to nothing: what a reduction can reach.

    It passes the copy's bandwidth because it does not write: an H200 reads at 4,512 to 4,629 GB/s this way and copies
    at 4,248 to 4,277. A fraction of `copy_ceiling` above 100 % is therefore no mistake for a reduction.

    Args:
        device: a GPU (a kernel with four 16-byte loads a thread and round), or the CPU machine (`np.sum`, on all of the
            host's cores).
        size_bytes: of the array; 2 GiB on a GPU and 256 MiB on a CPU by default, or what fits.
        options: as for `benchmark`.

    Raises:
        GpukitError: the array does not fit, or is smaller than 16 KiB.
    """
    size = _size(device, size_bytes, arrays=1)
    x = device.xp.ones(size // 4, np.float32)
    options = {"bytes_moved": size, "name": "read", **options}
    if device.name == "gpu":
        blocks = BLOCKS_PER_SM * device.sms
        kernel = device.xp.RawKernel(READ_SOURCE, "read_all")
        sums = device.xp.zeros(blocks * READ_THREADS, np.float32)
        arguments = (x, np.int64(size // TILE_BYTES), sums)
        timing = benchmark(lambda: kernel((blocks,), (READ_THREADS,), arguments), machine="gpu", **options)
        total = float(device.to_host(sums).sum(dtype=np.float64))
    else:
        found: list[float] = []

        def read() -> None:
            found[:] = pool.map(np.sum, parts)

        with ThreadPoolExecutor(_cores()) as pool:
            parts = np.array_split(x, _cores())
            timing = benchmark(read, machine="cpu", **options)
        total = float(np.sum(found, dtype=np.float64))
    if total != size // 4:
        raise InternalError(f"the kernel that measures reading summed {size // 4:,} ones to {total:,.0f}")
    return timing


def _size(device: Device, size_bytes: int | None, arrays: int) -> int:
    """Bytes of an array, whole tiles: as asked for, or the default as far as `arrays` of it fit."""
    free = device.memory_bytes
    default = GPU_SIZE_BYTES if device.name == "gpu" else CPU_SIZE_BYTES
    if size_bytes is None:
        size_bytes = default if free is None else min(default, free // (2 * arrays))
    elif free is not None and arrays * size_bytes > free:
        raise GpukitError(f"{arrays} x {size_bytes:,} bytes do not fit into the {free:,} that are free; ask for fewer.")
    if size_bytes < TILE_BYTES:
        raise GpukitError(f"{size_bytes:,} bytes are too few to measure memory with; use at least {TILE_BYTES:,}.")
    return size_bytes // TILE_BYTES * TILE_BYTES


def _cores() -> int:
    """Cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1
