"""Which front end turns a kernel into a launch: Python source, or what a compiler made of it.

The *source level* explains a `numba.cuda` kernel line by line as it is written. The *compiled level* runs the PTX that
a compiler makes of it, so its counters are those the hardware would show. CUDA C++ and PTX have that level only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.errors import LaunchError
from gpukit.machine.frontends import python as python_frontend

if TYPE_CHECKING:
    from gpukit.machine.memory import GlobalMemory
    from gpukit.machine.program import Launch

SOURCE, COMPILED = "source", "compiled"
LEVELS = (SOURCE, COMPILED)
CPP_SUFFIXES = (".cu", ".cuh", ".ptx")
Dim3 = tuple[int, int, int]


def is_compiled(kernel: object) -> bool:
    """Whether a kernel binds itself to a launch: CUDA C++, PTX, or what a compiler made of a Python kernel."""
    return hasattr(kernel, "__gpukit_bind__")


def bind(
    kernel: Any,
    level: str | None,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Any],
    shared_bytes: int,
    memory: GlobalMemory,
) -> Launch:
    """A kernel with its arguments, ready for the executor.

    `level` is "source", "compiled" or None for the kernel's own: source for Python, compiled for CUDA C++ and PTX.

    Raises:
        LaunchError: there is no such level, or the kernel does not have it.
        GpukitError: whatever its front end or compiler finds wrong.
    """
    if level not in (None, *LEVELS):
        raise LaunchError(f'level={level!r} is not known; use "source" or "compiled"')
    if is_compiled(kernel):
        if level == SOURCE:
            raise LaunchError(
                f"`{name_of(kernel)}` is CUDA C++ or PTX, which has no source level: leave level out, or use "
                'level="compiled"'
            )
        return kernel.__gpukit_bind__(grid, block, tuple(args), shared_bytes, memory)
    if level == COMPILED:
        # The compilers are an extra that most launches do without.
        from gpukit.compilers import numba_ptx

        compiled = numba_ptx.compiled(kernel, tuple(args))
        return compiled.__gpukit_bind__(grid, block, tuple(args), shared_bytes, memory)
    return python_frontend.bind(kernel, grid, block, tuple(args), shared_bytes, memory)


def is_cpp_file(path: str | Path) -> bool:
    """Whether a file holds CUDA C++ or PTX, by its name."""
    return Path(path).suffix in CPP_SUFFIXES


def name_of(kernel: Any) -> str:
    """What a kernel is called, for messages and progress."""
    return str(getattr(kernel, "name", None) or getattr(kernel, "__name__", None) or type(kernel).__name__)


def load(path: str | Path) -> Any:
    """The kernels of a .py, .cu or .ptx file by name, without executing any of it.

    The result maps names to kernels for `profile`, `check` and `launch`, and has attributes of the same names. A
    template of a .cu file is found by its arguments: `load("sum.cu")["reduce<256>"]`. A .cu file is compiled when a
    kernel of it is first asked for.

    Raises:
        KernelSyntaxError: the file is not there or cannot be read.
    """
    if not is_cpp_file(path):
        return python_frontend.load(path)
    from gpukit import raw

    return raw.load(path)
