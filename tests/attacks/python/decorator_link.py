"""numba's own way to another file: link it.

Deserves: refused
Named: link
"""

from numba import cuda


@cuda.jit(link=["labs/05_reduction/solution.cu"])
def dot(a, b, partial):
    pass
