"""Which thread wrote an element last? Asked only when it is wrong, by running the launch again with a recording."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit.errors import GpukitError
from gpukit.launching import prepare
from gpukit.machine.lanes import WARP_SIZE, Geometry
from gpukit.machine.program import GLOBAL
from gpukit.machine.trace import record

MOST_BLOCKS = 256
MOST_STEPS = 100_000


def writer(
    kernel: Any, grid: Any, block: Any, args: dict[str, Any], extra: tuple, shared_bytes: int, name: str, flat: int
) -> str:
    """Who wrote element `flat` (in C order) of the array argument `name` last, as words; "" where it cannot be told.

    `args` are as they were before the launch, and are copied; `extra` follow them.
    """
    if not args[name].flags.c_contiguous:
        return ""
    copies = [arg.copy(order="K") if isinstance(arg, np.ndarray) else arg for arg in args.values()]
    try:
        launch = prepare(kernel, grid, block, (*copies, *extra), shared_bytes)
        geometry = Geometry(launch.grid, launch.block)
        if geometry.n_blocks > MOST_BLOCKS:
            return ""
        trace = record(launch, range(geometry.n_blocks), MOST_STEPS)
    except GpukitError:
        return ""
    theirs = launch.arguments[list(args).index(name)]["name"]  # in CUDA C++ a parameter may have another name
    at = flat * args[name].itemsize
    last = None
    for request in trace.requests:
        array = trace.arrays[request.array]
        if array.space != GLOBAL or array.name != theirs or request.kind == "load":
            continue
        for lane, offset in zip(_lanes(request.mask), request.offsets, strict=True):
            if offset <= at < offset + request.width:
                last = request, lane
    if last is None:
        return "" if trace.truncated else "no thread wrote it"
    request, lane = last
    line = trace.lines[request.line]
    thread = _shown(geometry.thread_index(request.warp * WARP_SIZE + lane), launch.block)
    of_block = _shown(geometry.block_index(request.block), launch.grid)
    return f"last written by thread {thread} of block {of_block}, in line {line.number}: {line.text.strip()}"


def _lanes(mask: int) -> list[int]:
    return [lane for lane in range(WARP_SIZE) if mask >> lane & 1]


def _shown(index: tuple[int, int, int], shape: tuple[int, int, int]) -> str:
    """A thread or block as one number, or as (x, y, z) where the shape has more than one axis."""
    if shape[1] == shape[2] == 1:
        return str(index[0])
    return f"({', '.join(map(str, index[:2] if shape[2] == 1 else index))})"
