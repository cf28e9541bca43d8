"""cupyx.profiler on the CPU machine: times are the host's."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# A benchmark asks for thousands of repetitions, which tell nothing about a GPU here.
_LONGEST_SECONDS = 0.2


class PerformanceResult:
    """Seconds of every repetition. `gpu_times` has one row per device; both are what the CPU machine took."""

    def __init__(self, name: str, seconds: list[float]):
        self.name = name
        self.cpu_times = np.array(seconds)
        self.gpu_times = self.cpu_times[None, :]

    def to_str(self, show_gpu: bool = False) -> str:
        micro = self.cpu_times * 1e6
        return (
            f"{self.name:<20s}: CPU machine: {micro.mean():9.3f} us   +/- {micro.std():6.3f} "
            f"(min: {micro.min():9.3f} / max: {micro.max():9.3f}) us, {micro.size} runs"
        )

    def __str__(self) -> str:
        return self.to_str()

    __repr__ = __str__


def benchmark(
    func: Callable[..., Any],
    args: tuple = (),
    kwargs: dict[str, Any] | None = None,
    n_repeat: int = 10_000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = float("inf"),
    devices: Any = None,
) -> PerformanceResult:
    """Call `func(*args, **kwargs)` up to `n_repeat` times, for at most 0.2 s after the first; there is no warm-up."""
    seconds: list[float] = []
    begin = time.perf_counter()
    while not seconds or (
        len(seconds) < n_repeat and time.perf_counter() - begin < min(max_duration, _LONGEST_SECONDS)
    ):
        before = time.perf_counter()
        func(*args, **(kwargs or {}))
        seconds.append(time.perf_counter() - before)
    return PerformanceResult(name or str(getattr(func, "__name__", "function")), seconds)


@contextlib.contextmanager
def time_range(message: str = "", *args: Any, **kwargs: Any) -> Iterator[None]:
    """Nothing: there is no timeline to mark."""
    yield


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Nothing: `gpukit profile script.py` profiles every launch."""
    yield
