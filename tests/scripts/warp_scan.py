"""A running sum inside each warp with shuffles, then across warps; imported from numba's successor."""

import numpy as np
from numba_cuda_mlir import cuda

WARPS = 4


@cuda.jit
def scan(values, out):
    sums = cuda.shared.array(WARPS, np.int64)
    t = cuda.threadIdx.x
    lane, warp = cuda.laneid, t // cuda.warpsize
    total = values[t]
    distance = 1
    while distance < 32:
        below = cuda.shfl_up_sync(0xFFFFFFFF, total, distance)
        if lane >= distance:
            total += below
        distance *= 2
    if lane == 31:
        sums[warp] = total
    cuda.syncthreads()
    for w in range(warp):
        total += sums[w]
    out[t] = total


values = np.random.default_rng(5).integers(0, 9, 32 * WARPS)
out = np.zeros_like(values)
scan[1, 32 * WARPS](values, out)
assert (out == np.cumsum(values)).all()
print("last", out[-1])
