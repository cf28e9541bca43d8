"""cupy.cuda on the CPU machine: one device, streams that have nothing to wait for, events with the host's clock."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from gpukit.cuda import device as machine
from gpukit.cupy.arrays import MemoryPointer
from gpukit.cupy.cuda import nvtx, profiler, runtime
from gpukit.errors import LaunchError


class Device:
    """The CPU machine, as a device."""

    def __init__(self, device: int = 0):
        if int(device) not in (0, -1):
            raise LaunchError(f"there is one device, number 0; cupy.cuda.Device({device}) asks for another")
        self.id = 0

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exc_info: object) -> None:
        return None

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return hash((Device, self.id))

    def __repr__(self) -> str:
        return "<CUDA Device 0>"

    def use(self) -> None:
        """Nothing to switch to."""

    def synchronize(self) -> None:
        """Returns at once: launches have ended when they return."""

    @property
    def compute_capability(self) -> str:
        return "".join(str(part) for part in machine.DEVICE.compute_capability)

    @property
    def mem_info(self) -> tuple[int, int]:
        """(free, total) bytes: a nominal size, arrays live in the host's memory."""
        return machine.NOMINAL_MEMORY_BYTES, machine.NOMINAL_MEMORY_BYTES

    @property
    def attributes(self) -> dict[str, int]:
        """The limits of the GPU generation whose rules the machine follows, by CUDA's names ("WarpSize")."""
        return runtime.device_attributes()

    @property
    def pci_bus_id(self) -> str:
        return "0000:00:00.0"


class Stream:
    """A queue of work. Everything put into it has already been done. `Stream.null` is the default one."""

    null: ClassVar[Stream]
    ptds: ClassVar[Stream]

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None):
        self._stream = machine.default_stream() if null else machine.stream()
        self.null_stream = null
        self.priority = priority or 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc_info: object) -> None:
        return None

    @property
    def ptr(self) -> int:
        return self._stream.handle

    @property
    def done(self) -> bool:
        return True

    def use(self) -> Stream:
        return self

    def synchronize(self) -> None:
        """Returns at once."""

    def record(self, event: Event | None = None) -> Event:
        """An event (a new one if none is given) that happens now."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Returns at once."""

    def add_callback(self, callback: Callable[[Stream, int, Any], None], arg: Any) -> None:
        """Call `callback(stream, status, arg)`, now: all earlier work has ended."""
        callback(self, 0, arg)

    def launch_host_func(self, callback: Callable[[Any], None], arg: Any) -> None:
        callback(arg)


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)


def get_current_stream(device_id: int | None = None) -> Stream:
    return Stream.null


class Event:
    """A point in a stream, with the host's time of recording."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False):
        self._event = machine.event(timing=not disable_timing)

    def record(self, stream: Stream | None = None) -> None:
        self._event.record()

    def synchronize(self) -> None:
        """Returns at once."""

    @property
    def done(self) -> bool:
        return True


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds of host time between two events: how long the CPU machine took, not a GPU."""
    return machine.event_elapsed_time(start_event._event, end_event._event)


class MemoryPool:
    """A pool that holds nothing: memory is the host's."""

    def __init__(self, allocator: Any = None):
        self._limit = 0

    def malloc(self, size: int) -> MemoryPointer:
        return alloc(size)

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        self._limit = int(size if size is not None else (fraction or 0) * machine.NOMINAL_MEMORY_BYTES)

    def get_limit(self) -> int:
        return self._limit

    def _nothing(self, *args: Any) -> int:
        return 0

    used_bytes = free_bytes = total_bytes = n_free_blocks = free_all_blocks = free_all_free = _nothing


PinnedMemoryPool = MemoryPool


def alloc(size: int) -> MemoryPointer:
    """Uninitialised device memory of `size` bytes."""
    from gpukit.cupy.arrays import ndarray

    return MemoryPointer(ndarray((size,), "u1").__gpukit_array__)


def set_allocator(allocator: Any = None) -> None:
    """Nothing to set: memory is the host's."""


set_pinned_memory_allocator = set_allocator


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    yield


def is_available() -> bool:
    """True: the CPU machine is always there."""
    return True


def get_local_runtime_version() -> int:
    return runtime.runtimeGetVersion()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Nothing: `gpukit profile script.py` profiles every launch."""
    yield


__all__ = [
    "Device",
    "Event",
    "MemoryPointer",
    "MemoryPool",
    "PinnedMemoryPool",
    "Stream",
    "alloc",
    "get_current_stream",
    "get_elapsed_time",
    "get_local_runtime_version",
    "is_available",
    "nvtx",
    "profile",
    "profiler",
    "runtime",
    "set_allocator",
    "set_pinned_memory_allocator",
    "using_allocator",
]
