"""Code in an annotation runs when the function is made.

Deserves: refused
Named: an annotation is the name of a type
"""

from numba import cuda


@cuda.jit
def dot(a: open("/CANARY/written_by_an_annotation", "w"), b, partial):
    pass
