"""What a GPU allows: the roofline, the time below which nothing can come, and Amdahl's law. Arithmetic, no measuring.

A kernel that does `intensity` FLOP for each byte it moves runs at most at min(peak FLOP/s, intensity x bandwidth). Left
of the ridge memory is the limit, right of it arithmetic. GPUs are those of `gpukit.gpus`, by name.

>>> round(ridge("H200"), 2)  # FLOP per byte: 67e12 / 4.8e12
13.96
>>> intensity(flops=1 << 28, bytes_moved=4 << 28)  # a float32 sum: one addition for four bytes
0.25
>>> round(floor_seconds(bytes_moved=4 << 28, flops=1 << 28, gpu="T4") * 1e3, 2)  # ms; memory is the limit
3.36
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gpukit.errors import GpukitError
from gpukit.gpus import DEFAULT_GPU, Gpu, find_gpu
from gpukit.machine.hazards.findings import ridge_intensity

# --- the roofline ----------------------------------------------------------------------------------------------------


def intensity(flops: float, bytes_moved: float) -> float:
    """Arithmetic intensity: FLOP per byte moved to or from memory; infinite where no byte is moved.

    Raises GpukitError for negative numbers, or where there is nothing of either.
    """
    _not_negative(flops=flops, bytes_moved=bytes_moved)
    if not flops and not bytes_moved:
        raise GpukitError("No FLOP and no byte have no arithmetic intensity; count what the kernel does.")
    return flops / bytes_moved if bytes_moved else math.inf


def ridge(gpu: str | Gpu = DEFAULT_GPU) -> float:
    """FLOP per byte from which on arithmetic limits a kernel on this GPU, and not memory (float32, data sheet)."""
    peak, bandwidth = _peaks(gpu)
    return ridge_intensity(peak, bandwidth)


def floor_seconds(bytes_moved: float, flops: float = 0, gpu: str | Gpu = DEFAULT_GPU) -> float:
    """The speed of light: seconds below which the GPU cannot come, whatever the kernel.

    The longer of two times, since they can overlap: the bytes at the data sheet's bandwidth, and the float32
    operations at its peak. Raises GpukitError for negative numbers and for a GPU whose figures are not known.
    """
    _not_negative(flops=flops, bytes_moved=bytes_moved)
    peak, bandwidth = _peaks(gpu)
    return max(bytes_moved / (bandwidth * 1e9), flops / (peak * 1e12))


@dataclass(frozen=True)
class Fraction:
    """How much of what is possible was reached, 1.0 for all of it.

    of_peak: floor over measured seconds, by the data sheet. of_ceiling: the same with a measured bandwidth in place of
    the data sheet's; None without one. limit: "memory" or "arithmetic", whichever makes the floor. A fraction of a
    *copy* can pass 1 for a kernel that only reads (see `gpukit.timing.copy_ceiling`); one of the peak cannot.
    """

    of_peak: float
    of_ceiling: float | None
    limit: str


def fraction(
    seconds: float,
    bytes_moved: float,
    flops: float = 0,
    gpu: str | Gpu = DEFAULT_GPU,
    ceiling_gb_s: float | None = None,
) -> Fraction:
    """How much of the GPU's peak a kernel of these seconds reached, and of a measured ceiling (1e9 bytes per second).

    >>> fraction(0.5e-3, bytes_moved=1.2e9, gpu="H200", ceiling_gb_s=3000)
    Fraction(of_peak=0.5, of_ceiling=0.8, limit='memory')

    Raises GpukitError for times and ceilings that are not above 0, and as `floor_seconds` does.
    """
    if not seconds > 0:
        raise GpukitError(f"A kernel cannot take {seconds} s; measure it with gpukit.benchmark.")
    if ceiling_gb_s is not None and not ceiling_gb_s > 0:
        raise GpukitError(f"A ceiling of {ceiling_gb_s} GB/s is none; measure it with gpukit.timing.copy_ceiling.")
    peak, bandwidth = _peaks(gpu)
    arithmetic = flops / (peak * 1e12)
    floor = floor_seconds(bytes_moved, flops, gpu)
    measured = None if ceiling_gb_s is None else max(bytes_moved / (ceiling_gb_s * 1e9), arithmetic) / seconds
    limit = "memory" if bytes_moved / (bandwidth * 1e9) >= arithmetic else "arithmetic"
    return Fraction(floor / seconds, measured, limit)


@dataclass(frozen=True)
class Roof:
    """The roofline of a GPU, ready to be drawn. FLOP/s in 1e12, bytes per second in 1e9, ridge in FLOP per byte.

    `ceiling_gb_s` is a measured bandwidth, a second and lower slope; None where none was measured.
    """

    gpu: str
    fp32_tflops: float
    bandwidth_gb_s: float
    ridge: float
    ceiling_gb_s: float | None = None

    def tflops(self, flops_per_byte: float) -> float:
        """The most that this intensity allows, in 1e12 FLOP/s, by the data sheet."""
        return min(self.fp32_tflops, flops_per_byte * self.bandwidth_gb_s / 1000)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Point:
    """A measured kernel under a roof: where it stands, and the height of the roof above it (1e12 FLOP/s)."""

    name: str
    flops_per_byte: float
    tflops: float
    bandwidth_gb_s: float
    roof_tflops: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def roof(gpu: str | Gpu = DEFAULT_GPU, ceiling_gb_s: float | None = None) -> Roof:
    """The roofline of a GPU; `ceiling_gb_s` as in `Roof`."""
    peak, bandwidth = _peaks(gpu)
    return Roof(_found(gpu).name, peak, bandwidth, ridge(gpu), ceiling_gb_s)


def point(name: str, seconds: float, bytes_moved: float, flops: float, under: Roof) -> Point:
    """A kernel of these seconds, bytes and FLOP as a point under a roof. Raises GpukitError for seconds or bytes that
    are not above 0: a roofline has no place for them."""
    if not seconds > 0 or not bytes_moved > 0:
        raise GpukitError(f"{name} has no place in a roofline: it needs seconds and bytes above 0.")
    at = intensity(flops, bytes_moved)
    return Point(name, at, flops / seconds / 1e12, bytes_moved / seconds / 1e9, under.tflops(at))


def _found(gpu: str | Gpu) -> Gpu:
    return find_gpu(gpu) if isinstance(gpu, str) else gpu


def _peaks(gpu: str | Gpu) -> tuple[float, float]:
    """(fp32_tflops, bandwidth_gb_s) of a GPU that has both."""
    found = _found(gpu)
    if found.fp32_tflops is None or found.bandwidth_gb_s is None:
        raise GpukitError(f"The peaks of {found.name} are not known, so it has no roofline; choose another GPU.")
    return found.fp32_tflops, found.bandwidth_gb_s


def _not_negative(**numbers: float) -> None:
    for name, number in numbers.items():
        if not number >= 0:
            raise GpukitError(f"{name} cannot be {number}; use 0 or more.")


# --- Amdahl's law ----------------------------------------------------------------------------------------------------

PARALLEL, SPEEDUPS = (0.50, 0.90, 0.99), (10.0, 40.0, math.inf)


def amdahl(parallel_fraction: float, speedup: float) -> float:
    """How much faster the whole becomes when this part of its time is made `speedup` times faster (math.inf allowed).

    >>> round(amdahl(0.9, 10), 2), round(amdahl(0.9, math.inf), 2)
    (5.26, 10.0)

    Raises GpukitError for a part outside 0 to 1 and a speed-up that is not above 0.
    """
    if not 0 <= parallel_fraction <= 1:
        raise GpukitError(f"The parallel part is a fraction of the time, 0 to 1, not {parallel_fraction}.")
    if not speedup > 0:
        raise GpukitError(f"A speed-up of {speedup} is none; use more than 0.")
    left = (1 - parallel_fraction) + parallel_fraction / speedup
    return 1 / left if left > 0 else math.inf


def amdahl_table(fractions: Sequence[float] = PARALLEL, speedups: Sequence[float] = SPEEDUPS) -> list[dict[str, float]]:
    """One row for each part and speed-up: parallel_fraction, speedup of that part, overall."""
    return [{"parallel_fraction": p, "speedup": s, "overall": amdahl(p, s)} for p in fractions for s in speedups]


@dataclass(frozen=True)
class Overall:
    """A program of which one part became faster. Seconds before and after, and the speed-up of the whole."""

    before_seconds: float
    after_seconds: float
    speedup: float


def part_made_faster(part_seconds: float, rest_seconds: float, speedup: float) -> Overall:
    """What becomes of the whole when the part gets `speedup` times faster and the rest stays.

    The 40x trap: 80 s of filter and 20 s of reading and writing, the filter made 40 times faster, are 22 s. That is
    4.5 times, and no faster filter makes it 5.

    >>> part_made_faster(80, 20, 40)
    Overall(before_seconds=100, after_seconds=22.0, speedup=4.545454545454546)

    Raises GpukitError for negative times, for no time at all, and as `amdahl` does.
    """
    _not_negative(part_seconds=part_seconds, rest_seconds=rest_seconds)
    before = part_seconds + rest_seconds
    if not before:
        raise GpukitError("A program of 0 s cannot get faster; measure its parts.")
    if not speedup > 0:
        raise GpukitError(f"A speed-up of {speedup} is none; use more than 0.")
    after = rest_seconds + part_seconds / speedup
    return Overall(before, after, before / after if after else math.inf)
