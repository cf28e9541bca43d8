"""Transposing a device array through a tile of shared memory, so that loads and stores are both coalesced."""

from __future__ import annotations

from typing import Any

from gpukit.cuda import stubs
from gpukit.cuda.devicearray import DeviceNDArray, auto_device, device_array
from gpukit.cuda.dispatcher import jit
from gpukit.cuda.errors import ArrayLayoutError
from gpukit.cuda.types import from_dtype

TILE = 32
PADDED = TILE + 1

shared, syncthreads = stubs.NAMES["shared"], stubs.NAMES["syncthreads"]
threadIdx, blockIdx = stubs.NAMES["threadIdx"], stubs.NAMES["blockIdx"]


def transpose(a: Any, b: DeviceNDArray | None = None) -> DeviceNDArray:
    """The transpose of a 2-D host or device array `a`, stored into `b` if given; returns the device array."""
    if a.ndim != 2:
        raise ArrayLayoutError(f"transpose needs an array of 2 axes, not {a.ndim}")
    device, _ = auto_device(a)
    rows, columns = device.shape
    if b is None:
        b = device_array((columns, rows), device.dtype, stream=device.stream)
    element = from_dtype(device.dtype)

    @jit
    def tiled(source, target):
        # One column more than the tile is wide: its rows then start in different banks.
        tile = shared.array((TILE, PADDED), element)
        x = blockIdx.x * TILE + threadIdx.x
        y = blockIdx.y * TILE + threadIdx.y
        if y < source.shape[0] and x < source.shape[1]:
            tile[threadIdx.y, threadIdx.x] = source[y, x]
        syncthreads()
        x = blockIdx.y * TILE + threadIdx.x
        y = blockIdx.x * TILE + threadIdx.y
        if y < target.shape[0] and x < target.shape[1]:
            target[y, x] = tile[threadIdx.x, threadIdx.y]

    if device.size:
        tiled[(-(-columns // TILE), -(-rows // TILE)), (TILE, TILE)](device, b)
    return b
