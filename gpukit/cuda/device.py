"""The one device there is, its context, streams and events.

Work is done at once on the CPU machine, so streams and synchronisation have nothing to wait for; events hold the
host's clock. The attributes are those of the GPU generation the machine's rules follow (compute capability 9.0).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

from gpukit.cuda.errors import LaunchError, RefusedError

MemoryInfo = namedtuple("MemoryInfo", "free,total")

# What get_memory_info reports: arrays live in the host's memory, so there is no device size to ask for.
NOMINAL_MEMORY_BYTES = 16 << 30

ATTRIBUTES = {
    "COMPUTE_CAPABILITY_MAJOR": 9,
    "COMPUTE_CAPABILITY_MINOR": 0,
    "WARP_SIZE": 32,
    "MAX_THREADS_PER_BLOCK": 1024,
    "MAX_BLOCK_DIM_X": 1024,
    "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64,
    "MAX_GRID_DIM_X": 2**31 - 1,
    "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535,
    "MAX_SHARED_MEMORY_PER_BLOCK": 48 << 10,
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 << 10,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 228 << 10,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_THREADS_PER_MULTI_PROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32,
    "MULTIPROCESSOR_COUNT": 132,
    "TOTAL_CONSTANT_MEMORY": 64 << 10,
    "L2_CACHE_SIZE": 50 << 20,
    "CLOCK_RATE": 1_980_000,
    "ASYNC_ENGINE_COUNT": 1,
    "CONCURRENT_KERNELS": 1,
    "COOPERATIVE_LAUNCH": 1,
    "MANAGED_MEMORY": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "UNIFIED_ADDRESSING": 1,
    "CAN_MAP_HOST_MEMORY": 1,
    "INTEGRATED": 0,
    "KERNEL_EXEC_TIMEOUT": 0,
    "TCC_DRIVER": 0,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    "PCI_BUS_ID": 0,
    "PCI_DEVICE_ID": 0,
    "PCI_DOMAIN_ID": 0,
}


class Device:
    """The CPU machine, as a device. Limits are attributes (`MAX_THREADS_PER_BLOCK`, ...), units as in CUDA."""

    id = 0
    name = "gpukit CPU machine"
    uuid = "GPU-00000000-0000-0000-0000-000000000000"
    compute_capability = (9, 0)
    supports_float16 = True
    supports_bfloat16 = False
    supports_fp8 = False

    def __getattr__(self, name: str) -> int:
        try:
            return ATTRIBUTES[name]
        except KeyError:
            raise AttributeError(f"the CPU machine has no device attribute {name!r}") from None

    def __repr__(self) -> str:
        return f"<CUDA device 0 '{self.name}'>"

    def __enter__(self) -> Context:
        return CONTEXT

    def __exit__(self, *exc_info: object) -> None:
        return None

    def get_primary_context(self) -> Context:
        return CONTEXT

    def reset(self) -> None:
        """Nothing to reset."""


class Gpus:
    """`cuda.gpus`: the list of devices. Each is a context manager, as in `with cuda.gpus[0]:`."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Device:
        if index not in (0, -1):
            raise IndexError(f"there is one device, number 0; not number {index}")
        return DEVICE

    def __iter__(self) -> Iterator[Device]:
        return iter((DEVICE,))

    def __repr__(self) -> str:
        return "<Managed Device 0>"

    @property
    def lst(self) -> list[Device]:
        return [DEVICE]

    @property
    def current(self) -> Device:
        return DEVICE


class Context:
    """The device's context."""

    device: Device

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *exc_info: object) -> None:
        return None

    def synchronize(self) -> None:
        """Returns at once: launches have ended when they return."""

    def push(self) -> None:
        """Nothing to make current."""

    pop = reset = push

    def get_memory_info(self) -> MemoryInfo:
        """(free, total) in bytes: a nominal size, the arrays live in the host's memory."""
        from gpukit.cuda.devicearray import allocated_bytes

        return MemoryInfo(max(0, NOMINAL_MEMORY_BYTES - allocated_bytes()), NOMINAL_MEMORY_BYTES)

    def create_stream(self) -> Stream:
        return Stream()

    def create_event(self, timing: bool = True) -> Event:
        return Event(timing)

    def create_external_stream(self, ptr: int) -> Stream:
        raise RefusedError("external_stream wraps a stream of a real GPU; use cuda.stream() on this machine")

    def get_default_stream(self) -> Stream:
        return DEFAULT_STREAM

    def get_legacy_default_stream(self) -> Stream:
        return LEGACY_DEFAULT_STREAM

    def get_per_thread_default_stream(self) -> Stream:
        return PER_THREAD_DEFAULT_STREAM

    @contextlib.contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        yield

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the CPU machine's context has no {name!r}; raw memory and modules need a GPU's driver")


class Stream:
    """A queue of work. Everything put into it has already been done."""

    _next = 3  # 0, 1 and 2 are the handles of the default streams

    def __init__(self, handle: int | None = None):
        if handle is None:
            handle, Stream._next = Stream._next, Stream._next + 1
        self.handle = handle
        self.external = False

    def __int__(self) -> int:
        return self.handle

    __index__ = __int__

    def __repr__(self) -> str:
        names = {0: "default", 1: "legacy default", 2: "per-thread default"}
        return f"<CUDA {names.get(self.handle, '') + ' ' if self.handle in names else ''}stream {self.handle}>"

    def synchronize(self) -> None:
        """Returns at once."""

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        yield self

    def add_callback(self, callback: Callable[[Stream, int, Any], None], arg: Any = None) -> None:
        """Call `callback(stream, status, arg)`, now: all earlier work has ended."""
        callback(self, 0, arg)

    def async_done(self) -> asyncio.Future:
        """An awaitable that is already done."""
        future = asyncio.get_running_loop().create_future()
        future.set_result(self)
        return future


class Event:
    """A point in a stream, with the host's time of recording."""

    def __init__(self, timing: bool = True):
        self.timing = timing
        self._seconds: float | None = None

    def record(self, stream: Any = 0) -> None:
        self._seconds = time.perf_counter()

    def query(self) -> bool:
        """Whether the work before it has ended: always."""
        return True

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Any = 0) -> None:
        """Returns at once."""

    def elapsed_time(self, evtend: Event) -> float:
        """Milliseconds of host time from this event to `evtend`: how long the CPU machine took, not a GPU."""
        return event_elapsed_time(self, evtend)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two recorded events. Raises LaunchError if one was never recorded or has no timing."""
    for which, event in (("first", evtstart), ("second", evtend)):
        if event._seconds is None:
            raise LaunchError(f"the {which} event was never recorded; call event.record() before elapsed_time")
        if not event.timing:
            raise LaunchError(f"the {which} event was made with timing=False; it has no time")
    return (evtend._seconds - evtstart._seconds) * 1e3  # type: ignore[operator]  # both checked above


DEVICE = Device()
CONTEXT = Context()
CONTEXT.device = DEVICE
gpus = Gpus()
DEFAULT_STREAM, LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM = Stream(0), Stream(1), Stream(2)


def stream() -> Stream:
    return Stream()


def default_stream() -> Stream:
    return DEFAULT_STREAM


def legacy_default_stream() -> Stream:
    return LEGACY_DEFAULT_STREAM


def per_thread_default_stream() -> Stream:
    return PER_THREAD_DEFAULT_STREAM


def external_stream(ptr: int) -> Stream:
    return CONTEXT.create_external_stream(ptr)


def event(timing: bool = True) -> Event:
    return Event(timing)


def synchronize() -> None:
    """Wait for all work; it has ended already."""


def close() -> None:
    """Nothing to close."""


def current_context(devnum: int | None = None) -> Context:
    return CONTEXT


def select_device(device_id: int = 0) -> Device:
    if device_id != 0:
        raise LaunchError(f"there is one device, number 0; cuda.select_device({device_id}) asks for another")
    return DEVICE


def get_current_device() -> Device:
    return DEVICE


def list_devices() -> Gpus:
    return gpus


def is_available() -> bool:
    """True: the CPU machine is always there."""
    return True


def is_supported_version() -> bool:
    return True


def cuda_error() -> None:
    """No error: there is no driver to fail."""


def is_float16_supported() -> bool:
    return True


def is_bfloat16_supported() -> bool:
    return False


def is_fp8_supported() -> bool:
    return False


def detect() -> bool:
    """Print the devices; returns whether there is a usable one."""
    major, minor = DEVICE.compute_capability
    print("Found 1 CUDA devices")
    print(f"id 0    {DEVICE.name:>20} {'[SUPPORTED]':>40}")
    print(f"{'Compute Capability':>40}: {major}.{minor}")
    print("Summary:\n\t1/1 devices are supported")
    return True


def require_context(function: Callable) -> Callable:
    """`function` itself: the context is always there."""
    return function


def profile_start() -> None:
    """Nothing: `gpukit profile script.py` profiles every launch."""


def profile_stop() -> None:
    """Nothing, see profile_start."""


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    yield


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """Nothing is freed late here."""
    yield


def open_ipc_array(handle, shape, dtype, strides=None, offset=0):
    raise RefusedError("open_ipc_array shares GPU memory between processes; the CPU machine has none to share")
