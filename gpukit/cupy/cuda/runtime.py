"""cupy.cuda.runtime on the CPU machine: the calls programs make to ask for the device and to wait for it."""

from __future__ import annotations

from typing import Any

from gpukit.cuda import device as machine
from gpukit.errors import LaunchError

_VERSION = 13000
is_hip = False


class CUDARuntimeError(RuntimeError):
    """Never raised here; programs name it."""


def getDeviceCount() -> int:
    return 1


def getDevice() -> int:
    return 0


def setDevice(device: int) -> None:
    if device != 0:
        raise LaunchError(f"there is one device, number 0; setDevice({device}) asks for another")


def deviceSynchronize() -> None:
    """Returns at once: launches have ended when they return."""


def streamSynchronize(stream: int) -> None:
    """Returns at once."""


def runtimeGetVersion() -> int:
    return _VERSION


driverGetVersion = runtimeGetVersion


def memGetInfo() -> tuple[int, int]:
    """(free, total) bytes, a nominal size."""
    return machine.NOMINAL_MEMORY_BYTES, machine.NOMINAL_MEMORY_BYTES


def device_attributes() -> dict[str, int]:
    """The device's limits by CUDA's names: "MaxThreadsPerBlock"."""
    limits = machine.ATTRIBUTES.items()
    return {"".join(word.capitalize() for word in name.split("_")): value for name, value in limits}


def getDeviceProperties(device: int = 0) -> dict[str, Any]:
    """What programs look up: name, limits and sizes, by the names of cudaDeviceProp."""
    gpu = machine.DEVICE
    major, minor = gpu.compute_capability
    return {
        "name": gpu.name.encode(),
        "major": major,
        "minor": minor,
        "totalGlobalMem": machine.NOMINAL_MEMORY_BYTES,
        "totalConstMem": gpu.TOTAL_CONSTANT_MEMORY,
        "sharedMemPerBlock": gpu.MAX_SHARED_MEMORY_PER_BLOCK,
        "sharedMemPerBlockOptin": gpu.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        "sharedMemPerMultiprocessor": gpu.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        "regsPerBlock": gpu.MAX_REGISTERS_PER_BLOCK,
        "regsPerMultiprocessor": gpu.MAX_REGISTERS_PER_MULTIPROCESSOR,
        "warpSize": gpu.WARP_SIZE,
        "maxThreadsPerBlock": gpu.MAX_THREADS_PER_BLOCK,
        "maxThreadsPerMultiProcessor": gpu.MAX_THREADS_PER_MULTI_PROCESSOR,
        "maxThreadsDim": (gpu.MAX_BLOCK_DIM_X, gpu.MAX_BLOCK_DIM_Y, gpu.MAX_BLOCK_DIM_Z),
        "maxGridSize": (gpu.MAX_GRID_DIM_X, gpu.MAX_GRID_DIM_Y, gpu.MAX_GRID_DIM_Z),
        "multiProcessorCount": gpu.MULTIPROCESSOR_COUNT,
        "l2CacheSize": gpu.L2_CACHE_SIZE,
        "clockRate": gpu.CLOCK_RATE,
        "concurrentKernels": gpu.CONCURRENT_KERNELS,
        "cooperativeLaunch": gpu.COOPERATIVE_LAUNCH,
        "managedMemory": gpu.MANAGED_MEMORY,
    }
