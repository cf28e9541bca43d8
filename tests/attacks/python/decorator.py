"""Code in a decorator runs when the function is made.

Deserves: refused
Named: the only one is @cuda.jit
"""

from numba import cuda


@cuda.jit
@(lambda function: open("/CANARY/written_by_a_decorator", "w") and function)
def dot(a, b, partial):
    pass
