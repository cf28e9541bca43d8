"""Launching any kernel on the GPU: which library launches it, and errors as sentences."""

from __future__ import annotations

from typing import Any

from gpukit.errors import LaunchError
from gpukit.gpu import availability
from gpukit.levels import is_compiled, name_of
from gpukit.standin import real_numba_cuda

Dim3 = tuple[int, int, int]


def takes(kernel: object) -> bool:
    """Whether a kernel can be launched on a GPU: a kernel in Python or in CUDA C++, but not the PTX that was made of a
    Python kernel for the CPU machine."""
    from gpukit.raw import RawKernel

    return isinstance(kernel, RawKernel) or not is_compiled(kernel)


def launch(kernel: Any, grid: Dim3, block: Dim3, args: tuple[Any, ...], shared_bytes: int = 0) -> None:
    """Launch a kernel on CuPy's current stream. Returns before it has run, unless NumPy arrays are among `args`: they
    are copied to the GPU, and back when it has run, so that results appear in place as on the CPU machine.

    Args:
        kernel: a kernel in Python (numba.cuda's, gpukit.cuda's, one from `gpukit.load`) or a `gpukit.RawKernel`.
        grid, block: blocks in the grid and threads in a block, (x, y, z).
        args: CuPy arrays (or others in GPU memory), NumPy arrays, numbers; tuples of them for a kernel in Python.
        shared_bytes: dynamic shared memory of a block, in bytes; more than 49,152 are asked for as CUDA wants it.

    Raises:
        LaunchError: no GPU can be used, or it refuses the launch.
        GpuError: out of memory, or a kernel failed.
        GpukitError: whatever the compiler finds wrong with the kernel.
    """
    why = availability.missing()
    if why:
        raise LaunchError(why)
    if not takes(kernel):
        raise LaunchError(
            f"`{name_of(kernel)}` is PTX that was made for the CPU machine: launch the kernel it was made of"
        )
    from gpukit.gpu import cpp_kernels, numba_kernels  # the compilers are an extra that other machines do without

    with real_numba_cuda():
        where = cpp_kernels if is_compiled(kernel) else numba_kernels
        where.launch(kernel, grid, block, args, shared_bytes)
