"""Launching: checks the shape, binds the kernel, runs it, and has the report made."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gpukit import levels
from gpukit.errors import GpukitError, InternalError, KernelHazard, LaunchError, at_the_call
from gpukit.machine import executor
from gpukit.machine.memory import GlobalMemory
from gpukit.machine.program import GridSync, Launch
from gpukit.report import Report
from gpukit.report.layout import message
from gpukit.report.making import report_of

# CUDA's limits for every GPU of compute capability 7.0 and up.
MAX_BLOCK = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_SHARED_BYTES = 232_448  # what a block may ask for on the largest parts (compute capability 9.0); 49,152 elsewhere
MAX_RESIDENT_BLOCKS = 132 * 32  # a cooperative grid must be resident at once (H200: 132 SMs, 32 blocks each)

Shape = int | Sequence[int]
Dim3 = tuple[int, int, int]
Progress = Callable[[int, int], None]
P = ParamSpec("P")
R = TypeVar("R")


def errors_at_the_call(function: Callable[P, R]) -> Callable[P, R]:
    """An error of a launch points at the call, not at gpukit's inside."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except GpukitError as error:
            raise at_the_call(error) from None
        except MemoryError:
            raise LaunchError("this computer has not enough memory for the launch: use smaller arrays") from None
        except Exception as error:
            if os.environ.get("GPUKIT_TRACEBACK"):
                raise
            what = f"{type(error).__name__}: {error}"
            raise InternalError(
                f"a bug in gpukit ({what}); please report it with what GPUKIT_TRACEBACK=1 prints"
            ) from None

    return wrapped


@errors_at_the_call
def profile(
    kernel: Any,
    grid: Shape,
    block: Shape,
    *args: Any,
    shared_bytes: int = 0,
    hazards: bool = True,
    gpu: str | None = None,
    level: str | None = None,
    progress: Progress | None = None,
    max_steps: int | None = None,
) -> Report:
    """Run a kernel on the CPU machine and report what it did.

    Args:
        kernel: a numba.cuda kernel (decorated or a plain function), one from `gpukit.cuda` or `gpukit.load`, or a
            `gpukit.RawKernel`.
        grid, block: blocks in the grid and threads in a block, an int or up to three ints (x, y, z).
        *args: the kernel's arguments; arrays are updated in place.
        shared_bytes: dynamic shared memory of a block, in bytes.
        hazards: whether to look for races, bad indices and the like (two to four times slower).
        gpu: name of a GPU ("H200", "T4"): adds a finding that says which side of its ridge the kernel is on.
        level: "source" counts what the source says, "compiled" what the compiler made of it, as the hardware does.
            Python kernels have both (and "source" by default), CUDA C++ and PTX the compiled level only.
        progress: called with (blocks done, blocks in all) while it runs.
        max_steps: bound on the work of one wave of blocks, in the machine's steps, past which a kernel counts as one
            that does not end (default: the environment variable GPUKIT_MAX_STEPS, or 2,097,152).

    Raises:
        KernelSyntaxError, UnsupportedFeature, KernelTypeError: the kernel cannot be compiled.
        LaunchError: the shape or the arguments are wrong.
        KernelDeadlock: the kernel does not end.
    """
    launch = prepare(kernel, grid, block, args, shared_bytes, level)
    started = time.perf_counter()
    result = executor.run(launch, hazards=hazards, progress=progress, max_steps=max_steps)
    return report_of(launch, result, hazards, gpu, time.perf_counter() - started)


@errors_at_the_call
def check(
    kernel: Any,
    grid: Shape,
    block: Shape,
    *args: Any,
    shared_bytes: int = 0,
    raise_: bool = True,
    level: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run a kernel on the CPU machine for its hazards. Arguments as for `profile`.

    Raises:
        KernelHazard: there is a hazard of severity error (not with raise_=False); `.report` has all of them.
    """
    report = profile(kernel, grid, block, *args, shared_bytes=shared_bytes, level=level, progress=progress)
    if raise_ and report.errors:
        first = report.errors[0]
        more = f" ({len(report.errors) - 1} more error(s) in .report)" if len(report.errors) > 1 else ""
        where = f"{first.file}:{first.line}: " if first.file and first.line else ""
        raise KernelHazard(f"{where}{first.kind}: {message(first)}{more}", report)
    return report


@errors_at_the_call
def launch(
    kernel: Any,
    grid: Shape,
    block: Shape,
    *args: Any,
    shared_bytes: int = 0,
    machine: str = "auto",
    output: Callable[[str], None] | None = None,
    level: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Run a kernel for its results alone, without counters' report or hazards.

    Args:
        machine: "cpu" for the CPU machine, "gpu" for an NVIDIA GPU, "auto" for the GPU if there is one that can be
            used. `output`, `level` and `progress` are the CPU machine's: with one of them "auto" means it.
        *args: as for `profile`; on a GPU CuPy arrays too. With those alone the launch runs on by itself, on CuPy's
            current stream; NumPy arrays are copied there and back, so that they are updated in place on both machines.
        output: gets what the kernel prints, piece by piece; standard output by default.
        kernel, grid, block, shared_bytes, level, progress: as for `profile`.

    Raises:
        LaunchError: the shape or the arguments are wrong, or machine="gpu" and no GPU can be used.
        GpukitError: as for `profile`; on a GPU `gpukit.gpu.GpuError` if its memory is full or a kernel failed.
    """
    if machine not in ("auto", "cpu", "gpu"):
        raise LaunchError(f'machine={machine!r} is not known; use "auto", "cpu" or "gpu"')
    if machine != "cpu" and _is_for_gpu(kernel, machine, output=output, level=level, progress=progress):
        grid3, block3 = _checked(grid, block, shared_bytes)
        from gpukit import gpu

        gpu.launch(kernel, grid3, block3, args, int(shared_bytes))
        return
    made = prepare(kernel, grid, block, args, shared_bytes, level)
    executor.run(made, hazards=False, progress=progress, output=output or _to_stdout)


def _is_for_gpu(kernel: Any, machine: str, **of_cpu_machine: Any) -> bool:
    """Whether a launch goes to the GPU. Raises LaunchError where it should and cannot."""
    given = [name for name, value in of_cpu_machine.items() if value is not None]
    if given and machine == "gpu":
        raise LaunchError(f'{given[0]}= is the CPU machine\'s: leave it out, or use machine="cpu"')
    if given:
        return False
    from gpukit import gpu

    return machine == "gpu" or (not gpu.missing() and gpu.takes(kernel))


def _to_stdout(text: str) -> None:
    print(text, end="")


def prepare(
    kernel: Any, grid: Shape, block: Shape, args: Sequence[Any], shared_bytes: int, level: str | None = None
) -> Launch:
    """Check the shape, compile the kernel for its arguments and bind them."""
    grid3, block3 = _checked(grid, block, shared_bytes)
    made = levels.bind(kernel, level, grid3, block3, args, int(shared_bytes), GlobalMemory())
    total = made.program.static_shared_bytes + made.shared_bytes
    if total > MAX_SHARED_BYTES:
        raise LaunchError(
            f"launch_config: the kernel `{made.program.kernel_name}` asks for {total:,} bytes of shared memory a "
            f"block; the largest GPUs have {MAX_SHARED_BYTES:,} (49,152 without opting in): use a smaller tile",
            file=made.program.file,
        )
    n_blocks = grid3[0] * grid3[1] * grid3[2]
    cooperative = made.program.cooperative or any(isinstance(b.end, GridSync) for b in made.program.blocks)
    if cooperative and n_blocks > MAX_RESIDENT_BLOCKS:
        raise LaunchError(
            f"launch_config: a grid-wide barrier needs all {n_blocks:,} blocks on the GPU at once; an H200 holds at "
            f"most {MAX_RESIDENT_BLOCKS:,}: launch fewer blocks and loop over the data"
        )
    return made


def _checked(grid: Shape, block: Shape, shared_bytes: int) -> tuple[Dim3, Dim3]:
    """(grid, block) with all three axes. Raises LaunchError for what no GPU launches."""
    grid3, block3 = _shape(grid, "grid"), _shape(block, "block")
    _check_shape(grid3, block3)
    if isinstance(shared_bytes, bool) or not isinstance(shared_bytes, int | np.integer) or shared_bytes < 0:
        raise LaunchError(f"dynamic shared memory must be a number of bytes, 0 or more; got {shared_bytes!r}")
    return grid3, block3


def _shape(value: Shape, what: str) -> tuple[int, int, int]:
    items = (value,) if isinstance(value, int | np.integer) else value
    if isinstance(items, str | bytes) or not isinstance(items, Sequence) or not 1 <= len(items) <= 3:
        raise LaunchError(f"the {what} must be an int or up to three ints (x, y, z); got {value!r}")
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int | np.integer):
            raise LaunchError(f"the {what} must be made of ints; got {value!r}" + _hint(item))
    x, y, z = (*(int(i) for i in items), 1, 1)[:3]
    return x, y, z


def _hint(item: object) -> str:
    return " (use // for a whole number of blocks)" if isinstance(item, float) else ""


def _check_shape(grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    threads = block[0] * block[1] * block[2]
    if min(block) < 1:
        raise LaunchError(f"launch_config: the block {block} has no threads; every dimension must be at least 1")
    if threads > MAX_THREADS:
        raise LaunchError(
            f"launch_config: the block {block} has {threads:,} threads; a block holds at most {MAX_THREADS:,}: launch "
            "more blocks of fewer threads"
        )
    if min(grid) < 1:
        raise LaunchError(
            f"launch_config: the grid {grid} has no blocks, which a GPU refuses; for an empty input launch at least "
            "one block and guard it, e.g. max(1, (n + block - 1) // block)"
        )
    for name, shape, limit in (("block", block, MAX_BLOCK), ("grid", grid, MAX_GRID)):
        for axis, size, most in zip("xyz", shape, limit, strict=True):
            if size > most:
                raise LaunchError(f"launch_config: the {name} {shape} is too large in {axis}: at most {most:,}")
