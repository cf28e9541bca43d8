"""Finished kernels that the quiz and task 1.7 are about. Read them; `gpukit profile` shows what they do."""

from gpukit import cuda


@cuda.jit
def mark(out):
    """One element per thread; threads past the end do nothing. out: (n,) int32, written."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1


@cuda.jit
def polynomial(x, y, degree):
    """y = 1 + x + x^2 + ... + x^degree, by Horner's rule. x, y: (n,) float32, y written. degree: int32, at least 1."""
    i = cuda.grid(1)
    if i < x.size:
        at = x[i]
        v = x.dtype.type(1)
        for _ in range(degree):
            v = v * at + x.dtype.type(1)
        y[i] = v
