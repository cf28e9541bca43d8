"""What CUDA, CuPy and numba-cuda say when something fails on a GPU, as one sentence."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from gpukit.errors import GpukitError, LaunchError

_NAME = re.compile(r"\b(?:CUDA_ERROR_(?P<driver>[A-Z_0-9]+)|cudaError(?P<runtime>[A-Za-z0-9]+))\b")
_WANTED = re.compile(r"allocating ([\d,]+) bytes")
# The runtime has names of its own for these.
_DRIVERS_NAME = {
    "MEMORY_ALLOCATION": "OUT_OF_MEMORY",
    "LAUNCH_FAILURE": "LAUNCH_FAILED",
    "INVALID_CONFIGURATION": "INVALID_VALUE",
    "NO_KERNEL_IMAGE_FOR_DEVICE": "NO_BINARY_FOR_GPU",
}
_AGAIN = "no CUDA call works in this process any more, so start it again"
_FIND = "and find the place with `gpukit check`, which runs the kernel on the CPU machine"
# After these nothing runs in the process: the context is lost.
_LOST = {
    "ILLEGAL_ADDRESS": "a kernel used memory that is not its own",
    "MISALIGNED_ADDRESS": "a kernel used an address that is no multiple of what it reads or writes there",
    "INVALID_ADDRESS_SPACE": "a kernel used an address of another memory space",
    "ILLEGAL_INSTRUCTION": "a kernel ran into an instruction that the GPU does not have",
    "INVALID_PC": "a kernel jumped to where there is no code",
    "HARDWARE_STACK_ERROR": "a kernel's stack was overwritten",
    "LAUNCH_FAILED": "a kernel failed while it ran",
    "ASSERT": "an assert in a kernel fired",
    "LAUNCH_TIMEOUT": "a kernel ran longer than the display's driver allows",
}
_LAUNCH = {
    "LAUNCH_OUT_OF_RESOURCES": "a block of {block} threads needs more registers than a multiprocessor has: use smaller "
    "blocks, or say with launch bounds how large they are",
    "COOPERATIVE_LAUNCH_TOO_LARGE": "a grid-wide barrier needs all blocks on the GPU at once, and it does not hold "
    "{grid}: launch fewer and loop over the data",
    "INVALID_VALUE": "the GPU refuses the launch of {grid} blocks of {block} threads with {shared:,} bytes of dynamic "
    "shared memory: `gpukit check` says what is wrong with it where the CPU machine can tell",
}
_LOADING = {
    "UNSUPPORTED_PTX_VERSION": "the compiler that made the PTX is newer than the driver: update the driver, or compile "
    "with an older CUDA",
    "INVALID_PTX": "the driver does not take the PTX",
    "NO_BINARY_FOR_GPU": "the code was compiled for another GPU",
    "INVALID_IMAGE": "the driver does not take the code",
}


class GpuError(GpukitError):
    """Something failed on the GPU. `lost`: nothing works on it any more until the process is started again."""

    lost: bool = False


@contextlib.contextmanager
def explaining(
    what: str = "",
    *,
    grid: tuple[int, ...] = (),
    block: tuple[int, ...] = (),
    shared_bytes: int = 0,
    cupy: Any = None,
) -> Iterator[None]:
    """Errors of CUDA raised inside become one sentence; others pass.

    what: who failed ("the kernel `scale`"), where that is known. grid, block, shared_bytes: the launch, if any.

    Raises:
        LaunchError: the GPU refuses the launch.
        GpuError: out of memory, or a kernel failed.
    """
    try:
        yield
    except GpukitError:
        raise
    except Exception as error:
        found = explained(error, what, grid=grid, block=block, shared_bytes=shared_bytes, cupy=cupy)
        if found is None:
            raise
        raise found from None


def explained(
    error: Exception,
    what: str = "",
    *,
    grid: tuple[int, ...] = (),
    block: tuple[int, ...] = (),
    shared_bytes: int = 0,
    cupy: Any = None,
) -> GpukitError | None:
    """The sentence for an error of CUDA's; None for any other."""
    name = _name_of(error)
    if name is None:
        return None
    front = f"{what}: " if what else ""
    code = f"CUDA_ERROR_{name}"
    if name == "OUT_OF_MEMORY":
        return GpuError(front + _out_of_memory(error, cupy))
    if name in _LOST:
        if name == "LAUNCH_TIMEOUT":
            found = GpuError(f"{front}{_LOST[name]} ({code}); {_AGAIN}, with less work to a launch")
        else:
            found = GpuError(f"{front}{_LOST[name]} ({code}); {_AGAIN}, {_FIND}")
        found.lost = True
        return found
    if name in _LAUNCH and block:
        return refused(name, what, grid, block, shared_bytes)
    if name in _LOADING:
        return GpuError(f"{front}{_LOADING[name]} ({code})")
    return GpuError(f"{front}CUDA says {first_line(error)}")


def refused(name: str, what: str, grid: tuple[int, ...], block: tuple[int, ...], shared_bytes: int = 0) -> LaunchError:
    """The sentence for a launch that the GPU refuses, by the driver's name for the reason."""
    text = _LAUNCH[name].format(grid=_shape(grid), block=_shape(block), shared=shared_bytes)
    return LaunchError(f"launch_config: {what}: {text} (CUDA_ERROR_{name})")


def _name_of(error: Exception) -> str | None:
    """The driver's name of a CUDA error, "ILLEGAL_ADDRESS"; None for what is none."""
    if isinstance(error, MemoryError) and type(error).__module__.startswith("cupy"):
        return "OUT_OF_MEMORY"
    module = type(error).__module__
    if not module.startswith(("cupy", "numba", "cuda.")):
        return None
    found = _NAME.search(str(error))
    if found is None:
        return None
    if found["driver"]:
        return found["driver"].rstrip("_")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", found["runtime"]).upper()
    return _DRIVERS_NAME.get(name, name)


def _out_of_memory(error: Exception, cupy: Any) -> str:
    wanted = _WANTED.search(str(error))
    needed = f"{int(wanted[1].replace(',', '')):,} bytes more are needed" if wanted else "an array does not fit"
    free = f" and {free_bytes(cupy):,} are free" if cupy is not None else ""
    return (
        f"the GPU's memory is full: {needed}{free}; use smaller arrays, drop those that are not needed (del x) or see "
        "with nvidia-smi who else uses it"
    )


def free_bytes(cupy: Any) -> int:
    """Bytes that arrays can still take: the GPU's free memory, and what CuPy keeps for new arrays."""
    free, _ = cupy.cuda.runtime.memGetInfo()
    return int(free) + int(cupy.get_default_memory_pool().free_bytes())


def _shape(shape: tuple[int, ...]) -> str:
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    return " x ".join(f"{n:,}" for n in shape)


def first_line(error: BaseException) -> str:
    """The first line an exception says, its type's name if it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".:") if lines else type(error).__name__
