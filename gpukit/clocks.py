"""What measures time on a CPU and on a GPU, for `gpukit.timing`: a few operations each, so that a test can script them.

Between two events on a GPU's stream lies whatever the stream waited for, and that includes the host: launching a kernel
takes tens to hundreds of microseconds (data/results/h200_launch_cost.json), in which a GPU that has nothing else to do
stands idle. A *hold* keeps it busy before the first event, so that everything to be timed is queued by the time the GPU
gets there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from gpukit.gpus import gpu_called

# CUDA Runtime API, cudaEventElapsedTime: "resolution of approximately one half microsecond".
EVENT_RESOLUTION_SECONDS = 0.5e-6
# What two readings of the host's clock are apart, whatever finer unit it counts in.
HOST_RESOLUTION_SECONDS = 0.1e-6

# %globaltimer counts nanoseconds, and the hold reads nothing else, so it ends whatever else the GPU does.
HOLD_SOURCE = r"""
extern "C" __global__ void hold(unsigned long long nanoseconds) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}
"""

# Reads what fills the cache, so that what was written before goes to the memory now, and not within the time that is
# measured. Nothing is written; the compiler cannot know.
DRAIN_BLOCKS, DRAIN_THREADS = 1024, 256
DRAIN_SOURCE = r"""
extern "C" __global__ void drain(const int4 *x, long long count, int *never) {
    int any = 0;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        int4 value = x[i];
        any |= value.x | value.y | value.z | value.w;
    }
    if (any) *never = any;
}
"""


class Clock(Protocol):
    """What `gpukit.benchmark` measures with.

    machine: "cpu" or "gpu". resolution_seconds: differences below it mean nothing. peak_gb_s: what the memory can move
    at most, in 1e9 bytes per second; None where it is not known.
    """

    @property
    def machine(self) -> str: ...

    @property
    def resolution_seconds(self) -> float: ...

    @property
    def peak_gb_s(self) -> float | None: ...

    def flush(self) -> bool:
        """Replace what the L2 cache holds; False where that cannot be done."""

    def hold(self, seconds: float) -> bool:
        """Keep the device busy for so long, without waiting for it; False where the host runs the work itself."""

    def record(self) -> Any:
        """A mark after all that was started so far."""

    def synchronize(self) -> None:
        """Wait for all that was started."""

    def elapsed(self, start: Any, stop: Any) -> float:
        """Seconds between two marks, once what lies before them has run."""

    def host_seconds(self) -> float:
        """The host's clock."""


class CpuClock:
    """The host's clock, for work that the host does itself: what was started is done when the call returns."""

    machine = "cpu"
    peak_gb_s = None

    def __init__(self, clock: Callable[[], float] = time.perf_counter):
        self.host_seconds = clock
        self.resolution_seconds = max(time.get_clock_info("perf_counter").resolution, HOST_RESOLUTION_SECONDS)

    def flush(self) -> bool:
        return False

    def hold(self, seconds: float) -> bool:
        return False

    def record(self) -> float:
        return self.host_seconds()

    def synchronize(self) -> None:
        pass

    def elapsed(self, start: float, stop: float) -> float:
        return stop - start


class GpuClock:
    """CUDA events on CuPy's current stream. numba's and torch's default stream is the same one as CuPy's."""

    machine = "gpu"
    resolution_seconds = EVENT_RESOLUTION_SECONDS

    def __init__(self, clock: Callable[[], float] = time.perf_counter):
        import cupy

        self._cupy = cupy
        self.host_seconds = clock

    @cached_property
    def peak_gb_s(self) -> float | None:
        """The data sheet's bandwidth for this GPU, or its own memory clock times bus width, whichever is more: a
        measurement above both is not one of memory."""
        from gpukit.provenance import cuda_facts

        facts = cuda_facts()
        clock, bits = facts.get("memory_mhz_max"), facts.get("memory_bus_bits")
        own = 2 * clock * bits / 8 / 1000 if clock and bits else None
        known = gpu_called(str(facts.get("gpu", "")))
        if known is not None and known.sms not in (None, facts.get("sms")):
            known = None  # a variant of the same name, or a part of a GPU
        told = [peak for peak in (own, known.bandwidth_gb_s if known else None) if peak]
        return max(told, default=None)

    @cached_property
    def _hold(self) -> Any:
        return self._cupy.RawKernel(HOLD_SOURCE, "hold")

    @cached_property
    def _drain(self) -> Any:
        return self._cupy.RawKernel(DRAIN_SOURCE, "drain")

    @cached_property
    def _buffers(self) -> tuple[Any, Any]:
        """Two of twice the L2 cache, so that nothing else stays in it: one is written, the other read."""
        l2 = self._cupy.cuda.runtime.getDeviceProperties(self._cupy.cuda.Device().id)["l2CacheSize"]
        size = 2 * max(l2, 1 << 20)
        return self._cupy.empty(size, self._cupy.uint8), self._cupy.zeros(size, self._cupy.uint8)

    def flush(self) -> bool:
        written, read = self._buffers
        written.data.memset_async(0, written.nbytes, self._cupy.cuda.get_current_stream())
        self._drain((DRAIN_BLOCKS,), (DRAIN_THREADS,), (read, np.int64(read.nbytes // 16), written))
        return True

    def hold(self, seconds: float) -> bool:
        self._hold((1,), (1,), (np.uint64(round(seconds * 1e9)),))
        return True

    def record(self) -> Any:
        event = self._cupy.cuda.Event()
        event.record()
        return event

    def synchronize(self) -> None:
        self._cupy.cuda.get_current_stream().synchronize()

    def elapsed(self, start: Any, stop: Any) -> float:
        return self._cupy.cuda.get_elapsed_time(start, stop) / 1000
