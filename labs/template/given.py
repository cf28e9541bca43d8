"""Finished kernels of lab 42, to read and to profile. Quiz questions are about them."""

from gpukit import cuda


@cuda.jit
def copy(x, y):
    """y[i] = x[i]. x, y: (n,) float32."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]
