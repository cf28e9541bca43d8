"""The variance from the sums of x and of x * x: two large numbers, whose difference is all rounding.

Fails:
    test_5_5_right: wrong answer
    test_5_5_empty: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def moments(x, out):
    sums = cuda.shared.array(BLOCK, np.float64)
    squares = cuda.shared.array(BLOCK, np.float64)
    t = cuda.threadIdx.x
    count, total, square = 0.0, 0.0, 0.0
    i = cuda.grid(1)
    while i < x.size:
        value = x[i]
        total += value
        square += value * value
        i += cuda.gridsize(1)
    sums[t] = total
    squares[t] = square
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            sums[t] += sums[t + stride]
            squares[t] += squares[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        start = cuda.blockIdx.x * cuda.blockDim.x
        while start < x.size:
            count += min(cuda.blockDim.x, x.size - start)
            start += cuda.gridsize(1)
        out[cuda.blockIdx.x, 0] = count
        out[cuda.blockIdx.x, 1] = sums[0] / count if count > 0 else 0.0
        out[cuda.blockIdx.x, 2] = squares[0] - sums[0] * sums[0] / count if count > 0 else 0.0
