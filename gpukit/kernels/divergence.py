"""A branch per lane against the same branch per warp."""

from gpukit import cuda


@cuda.jit
def by_lane(x, y):
    """y = 3x + 1 or x / 2, taken in turn by neighbouring lanes: every warp runs both sides, half empty."""
    i = cuda.grid(1)
    if i < x.size:
        if i % 2 == 0:
            y[i] = 3 * x[i] + 1
        else:
            y[i] = x[i] // 2


@cuda.jit
def by_warp(x, y):
    """The same two sides, taken in turn by whole warps: every warp runs one side, full."""
    i = cuda.grid(1)
    if i < x.size:
        if i // 32 % 2 == 0:
            y[i] = 3 * x[i] + 1
        else:
            y[i] = x[i] // 2
