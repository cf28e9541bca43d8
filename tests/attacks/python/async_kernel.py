"""A coroutine with a kernel's name.

Deserves: refused
Named: an `async` function
"""

from numba import cuda


@cuda.jit
async def dot(a, b, partial):
    pass
