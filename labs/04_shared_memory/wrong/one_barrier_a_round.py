"""A barrier after the write alone: a fast thread writes its cell before its neighbour has read the old one.

Fails:
    test_4_3_right: race_shared
    test_4_3_cost: race_shared
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
            tile[t] = tile[t - 1] ^ tile[t + 1]
        cuda.syncthreads()
    out[i] = tile[t]
