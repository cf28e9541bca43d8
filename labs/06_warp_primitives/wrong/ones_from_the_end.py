"""The 1s are put from the end of the block backwards: the right places, in the wrong order.

Fails:
    test_6_5_right: wrong answer
    test_6_5_edges: wrong answer
    test_6_5_cost: wrong answer
"""

import numpy as np
from numba import cuda


@cuda.jit
def split(x, bit, y):
    of_warp = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    warp = t // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.int32(0)
    is_zero = i < x.size and (value >> bit) & 1 == 0
    votes = cuda.ballot_sync(FULL, is_zero)
    if t % 32 == 0:
        of_warp[warp] = cuda.popc(votes)
    cuda.syncthreads()
    zeros_before = cuda.popc(votes & cuda.lanemask_lt())
    zeros = 0
    for w in range(cuda.blockDim.x // 32):
        many = of_warp[w]
        zeros += many
        if w < warp:
            zeros_before += many
    place = zeros_before if is_zero else zeros + t - zeros_before
    there = min(cuda.blockDim.x, x.size - cuda.blockIdx.x * cuda.blockDim.x)
    if not is_zero:
        place = there - 1 - (t - zeros_before)
    if i < x.size:
        y[cuda.blockIdx.x * cuda.blockDim.x + place] = value
