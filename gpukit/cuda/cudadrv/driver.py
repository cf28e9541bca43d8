"""`numba.cuda.cudadrv.driver`: the driver, of which only its presence can be asked."""

from __future__ import annotations

from typing import Any

from gpukit.cuda.device import DEVICE, Device, Event, MemoryInfo, Stream, event_elapsed_time
from gpukit.cuda.devicearray import is_cuda_ndarray
from gpukit.cuda.errors import CudaAPIError, CudaSupportError


class Driver:
    """The driver of the CPU machine."""

    is_available = True
    initialization_error = None

    def get_device(self, devnum: int = 0) -> Device:
        return DEVICE

    def get_device_count(self) -> int:
        return 1

    def get_version(self) -> tuple[int, int]:
        return (13, 0)


driver = Driver()


def is_device_memory(obj: Any) -> bool:
    """Whether it is a device array."""
    return is_cuda_ndarray(obj)


__all__ = [
    "CudaAPIError",
    "CudaSupportError",
    "Event",
    "MemoryInfo",
    "Stream",
    "driver",
    "event_elapsed_time",
    "is_device_memory",
]
