"""The barriers stand where the work is, inside the branch that the two ends of a block do not take.

Fails:
    test_4_3_right: barrier_divergence
    test_4_3_cost: barrier_divergence
"""

from gpukit import cuda


@cuda.jit
def generations(cells, out, rounds):
    tile = cuda.shared.array(256, cells.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = cells[i]
    cuda.syncthreads()
    for _ in range(rounds):
        if 0 < t < cuda.blockDim.x - 1:
            new = tile[t - 1] ^ tile[t + 1]
            cuda.syncthreads()
            tile[t] = new
            cuda.syncthreads()
    out[i] = tile[t]
