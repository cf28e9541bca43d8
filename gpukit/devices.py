"""Where a plan runs: the CPU machine, on NumPy arrays, or a GPU, on CuPy arrays.

A device gives the array module, launches kernels and waits for them; everything else about it is data.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from gpukit.errors import LaunchError
from gpukit.gpus import DEFAULT_GPU, find_gpu
from gpukit.registry import Launch, Plan


class Device(Protocol):
    """name: "cpu" or "gpu". xp: the module that makes its arrays. sms: multiprocessors (the CPU machine counts as an
    H200's). memory_bytes: what arrays can still take, None where there is no telling."""

    name: str
    xp: ModuleType
    sms: int

    @property
    def memory_bytes(self) -> int | None: ...

    def launch(self, launch: Launch) -> None:
        """Start one launch; on a GPU it runs on by itself."""

    def synchronize(self) -> None:
        """Wait for what was started."""

    def to_host(self, array: Any) -> np.ndarray:
        """The array as a NumPy array."""


class CpuMachine:
    """The CPU machine as a device."""

    def __init__(self) -> None:
        self.name = "cpu"
        self.xp: ModuleType = np
        self.sms = find_gpu(DEFAULT_GPU).sms or 1

    @property
    def memory_bytes(self) -> int | None:
        """What this computer could give to a program."""
        with suppress(OSError, ValueError, IndexError):
            for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        with suppress(AttributeError, OSError, ValueError):
            return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return None

    def launch(self, launch: Launch) -> None:
        import gpukit

        gpukit.launch(
            launch.kernel, launch.grid, launch.block, *launch.args, shared_bytes=launch.shared_bytes, machine="cpu"
        )

    def synchronize(self) -> None:
        pass

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return np.array(array)


def device(machine: str) -> Device:
    """The device called "cpu", "gpu", or "auto" for a GPU where there is one.

    Raises LaunchError when it is not known, or there is no GPU that can be used.
    """
    if machine == "cpu":
        return CpuMachine()
    if machine in ("gpu", "auto"):
        from gpukit import gpu

        if machine == "gpu" or not gpu.missing():
            return gpu.Gpu()
        return CpuMachine()
    raise LaunchError(f'machine={machine!r} is not known; use "auto", "cpu" or "gpu"')


def restore(plan: Plan) -> None:
    """Set what a run of the plan destroys, or needs set."""
    for array, original in plan.restores:
        array[...] = original


def poison(plan: Plan) -> None:
    """Fill the outputs with what no right answer is made of: NaN, or a number far from 0."""
    for array in plan.outputs:
        fill_with_poison(array)


def fill_with_poison(array: Any) -> None:
    """NaN everywhere, or, in integers, a number far from 0."""
    array[...] = np.nan if array.dtype.kind in "fc" else array.dtype.type(-0x55555555 & _largest(array.dtype))


def run(plan: Plan, device: Device) -> None:
    """Run a plan once, without waiting for it."""
    if plan.call is not None:
        plan.call()
    for launch in plan.launches:
        device.launch(launch)


def _largest(dtype: np.dtype) -> int:
    return 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)
