"""numba's own way to another file: link it.

Deserves: refused
Named: the option `link` of @cuda.jit
"""

from numba import cuda


@cuda.jit(link=["labs/05_reduction/solution.cu"])
def dot(a, b, partial):
    pass
