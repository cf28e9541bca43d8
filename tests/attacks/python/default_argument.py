"""Code in a default value runs when the function is made.

Deserves: refused
Named: a default is a number or name
"""

from numba import cuda


@cuda.jit
def dot(a, b, partial, out=open("/CANARY/written_by_a_default", "w")):
    pass
