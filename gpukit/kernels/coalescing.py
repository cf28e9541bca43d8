"""The same number of loads, at addresses that lie closer together or further apart."""

from gpukit import cuda


@cuda.jit
def strided(x, y, stride):
    """y[i] = x[i * stride], wrapping around; the lanes of a warp are `stride` elements apart."""
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i * stride % x.size]


@cuda.jit
def gather(x, index, y):
    """y[i] = x[index[i]]; where the lanes of a warp read is up to the data."""
    i = cuda.grid(1)
    if i < y.size:
        k = index[i]
        y[i] = x[k]
