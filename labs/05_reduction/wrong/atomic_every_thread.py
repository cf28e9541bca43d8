"""Every thread brings its own part to the total: right, with an atomic a warp and 32 lanes in a queue.

Fails:
    test_5_6_cost: global_atomics
"""

from numba import cuda


@cuda.jit
def checksum(x, total):
    quarter = x.size // 4
    mine = 0
    i = cuda.grid(1)
    while i < quarter:
        mine ^= x[i] ^ x[i + quarter] ^ x[i + 2 * quarter] ^ x[i + 3 * quarter]
        i += cuda.gridsize(1)
    rest = 4 * quarter + cuda.grid(1)
    if rest < x.size:
        mine ^= x[rest]
    cuda.atomic.xor(total, 0, mine)
