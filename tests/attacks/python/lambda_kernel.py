"""A kernel made by a call.

Deserves: refused
Named: `lambda a, b, partial: None` in a constant
"""

from numba import cuda

dot = cuda.jit(lambda a, b, partial: None)
