"""Which thread wrote an element last? Asked only when it is wrong, by running the launch again with a recording."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit.errors import GpukitError
from gpukit.launching import prepare
from gpukit.machine.program import GLOBAL
from gpukit.machine.trace import record

MOST_BLOCKS = 256
MOST_STEPS = 100_000
WARP = 32


def writer(
    kernel: Any, grid: Any, block: Any, args: dict[str, Any], extra: tuple, shared_bytes: int, name: str, flat: int
) -> str:
    """Who wrote element `flat` (in C order) of the array argument `name` last, as words; "" where it cannot be told.

    `args` are as they were before the launch, and are copied; `extra` follow them.
    """
    grid3, block3 = _three(grid), _three(block)
    blocks = grid3[0] * grid3[1] * grid3[2]
    if blocks > MOST_BLOCKS or not args[name].flags.c_contiguous:
        return ""
    copies = [arg.copy(order="K") if isinstance(arg, np.ndarray) else arg for arg in args.values()]
    try:
        launch = prepare(kernel, grid3, block3, (*copies, *extra), shared_bytes)
        trace = record(launch, range(blocks), MOST_STEPS)
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
    thread, of_block = _index(request.warp * WARP + lane, block3), _index(request.block, grid3)
    return f"last written by thread {thread} of block {of_block}, in line {line.number}: {line.text.strip()}"


def _lanes(mask: int) -> list[int]:
    return [lane for lane in range(WARP) if mask >> lane & 1]


def _three(shape: Any) -> tuple[int, int, int]:
    sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
    return x, y, z


def _index(flat: int, shape: tuple[int, int, int]) -> str:
    """A linear thread or block as one number, or as (x, y, z) where the shape has more than one axis."""
    if shape[1] == shape[2] == 1:
        return str(flat)
    x, y = flat % shape[0], flat // shape[0] % shape[1]
    z = flat // (shape[0] * shape[1])
    return f"({x}, {y})" if shape[2] == 1 else f"({x}, {y}, {z})"
