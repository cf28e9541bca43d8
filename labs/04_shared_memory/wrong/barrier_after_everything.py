"""A barrier after every statement, to be safe: right, and more of them than there is to keep apart.

Fails:
    test_4_3_cost: barriers
"""

from gpukit import cuda


@cuda.jit
def generations(cells, out, rounds):
    tile = cuda.shared.array(256, cells.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = cells[i]
    cuda.syncthreads()
    for _ in range(rounds):
        new = tile[t]
        cuda.syncthreads()
        if 0 < t < cuda.blockDim.x - 1:
            new = tile[t - 1] ^ tile[t + 1]
        cuda.syncthreads()
        tile[t] = new
        cuda.syncthreads()
    out[i] = tile[t]
