"""`cuda.reduce`: reduce a 1-D array with any associative and commutative function of two values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gpukit.cuda import stubs
from gpukit.cuda.devicearray import auto_device, device_array
from gpukit.cuda.dispatcher import Dispatcher, jit
from gpukit.cuda.errors import ArrayLayoutError
from gpukit.cuda.types import from_dtype

BLOCK = 128
MAX_BLOCKS = 64

shared, syncthreads, gridsize = stubs.NAMES["shared"], stubs.NAMES["syncthreads"], stubs.NAMES["gridsize"]
threadIdx, blockIdx = stubs.NAMES["threadIdx"], stubs.NAMES["blockIdx"]


def _reduction_kernel(function: Callable, dtype: np.dtype) -> Dispatcher:
    element = from_dtype(dtype)
    operation = jit(function, device=True)

    @jit
    def reduce_to_partials(values, n, partials, initial, use_initial):
        tile = shared.array(BLOCK, element)
        thread = threadIdx.x
        first = blockIdx.x * BLOCK
        if first + thread < n:
            total = values[first + thread]
            for i in range(first + thread + gridsize(1), n, gridsize(1)):
                total = operation(total, values[i])
            tile[thread] = total
        syncthreads()
        live = min(BLOCK, n - first)
        while live > 1:
            half = (live + 1) // 2
            if thread < live - half:
                tile[thread] = operation(tile[thread], tile[thread + half])
            syncthreads()
            live = half
        if thread == 0:
            if use_initial:
                tile[0] = operation(tile[0], initial)
            partials[blockIdx.x] = tile[0]

    return reduce_to_partials


class Reduce:
    """A reduction with a function of two values, such as `cuda.reduce(lambda a, b: a + b)`."""

    _kernels: ClassVar[dict[tuple[Callable, np.dtype], Dispatcher]] = {}

    def __init__(self, functor: Callable):
        self._functor = getattr(functor, "py_func", functor)

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        """Reduce a host or device array, or its first `size` elements, starting from `init`.

        Returns the result as a NumPy scalar, or stores it in res[0] and returns None.
        """
        if arr.ndim != 1:
            raise ArrayLayoutError("only support 1D array: ravel() it first")
        if size is not None:
            arr = arr[:size]
        init = arr.dtype.type(init)
        if arr.size < 1:
            return init
        key = (self._functor, arr.dtype)
        if key not in self._kernels:
            self._kernels[key] = _reduction_kernel(*key)
        kernel = self._kernels[key]
        values, _ = auto_device(arr, stream)
        blocks = min(-(-arr.size // BLOCK), MAX_BLOCKS)
        partials = device_array(blocks, arr.dtype)
        kernel[blocks, BLOCK, stream](values, arr.size, partials, init, blocks == 1)
        if blocks > 1:
            kernel[1, BLOCK, stream](partials, blocks, partials, init, True)
        if res is not None:
            res[:1].copy_to_device(partials[:1], stream=stream)
            return None
        return partials[0]
