"""An import inside a kernel.

Deserves: refused
Named: an import inside a function
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial):
    from gpukit.kernels.reduction import naive

    naive(a, partial)
