"""Sum a vector: each block folds its part in shared memory, one thread adds the block's sum to the result."""

import numpy as np
from numba import cuda, int64

BLOCK = 128


@cuda.jit
def block_sum(values, result):
    part = cuda.shared.array(BLOCK, int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = values[i] if i < values.size else 0
    cuda.syncthreads()
    width = BLOCK // 2
    while width > 0:
        if t < width:
            part[t] += part[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        cuda.atomic.add(result, 0, part[0])


values = np.random.default_rng(2).integers(0, 1000, 5_003)
result = np.zeros(1, np.int64)
block_sum[(values.size + BLOCK - 1) // BLOCK, BLOCK](values, result)
assert result[0] == values.sum(), (result, values.sum())

add = cuda.reduce(lambda a, b: a + b)
assert add(values) == values.sum()


@cuda.reduce
def largest(a, b):
    return max(a, b)


assert largest(values, init=0) == values.max()
print("ok", int(result[0]))
