"""A ballot and a population count in every round, masks that are multiplied, and a quotient with its remainder.

The solution counts in every lane and adds up at the end; it chooses with min and max.
"""

from gpukit import cuda


@cuda.jit
def curves(values, out):
    warp = cuda.blockIdx.x * (cuda.blockDim.x // 32) + cuda.threadIdx.x // 32
    triple, colour = divmod(warp, 3)
    i = triple * 96 + (cuda.threadIdx.x & 31) * 3 + colour
    if i < values.size:
        if i % 3 == 0:
            out[i] = red(values[i])
        if i % 3 == 1:
            out[i] = green(values[i])
        if i % 3 == 2:
            out[i] = blue(values[i])


@cuda.jit
def shrink(x, t, y):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        y[i] = (v > t) * (v - t) + (v < -t) * (v + t)


@cuda.jit
def dear_purchases(first, count, cents, limit, out):
    customer = cuda.grid(1) // 32
    lane = cuda.laneid
    if customer < out.size:
        dear = 0
        start = first[customer]
        n = count[customer]
        for base in range(0, n, 32):
            k = base + lane
            dear += cuda.popc(cuda.ballot_sync(0xFFFFFFFF, k < n and cents[start + k] >= limit))
        if lane == 0:
            out[customer] = dear
