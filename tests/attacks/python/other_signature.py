"""A kernel that takes anything.

Deserves: 0 points
Named: `**` parameters are not available in a kernel
"""

from numba import cuda


@cuda.jit
def dot(*args, **kwargs):
    pass
