"""A kernel that takes anything.

Deserves: refused
Named: *args
"""

from numba import cuda


@cuda.jit
def dot(*args, **kwargs):
    pass
