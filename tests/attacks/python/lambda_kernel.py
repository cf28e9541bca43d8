"""A kernel made by a call.

Deserves: refused
Named: dot
"""

from numba import cuda

dot = cuda.jit(lambda a, b, partial: None)
