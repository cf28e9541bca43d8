"""The kernel's name on what is none.

Deserves: refused
Named: the function `dot` without a decorator
"""


def dot(a, b, partial):
    partial[:] = a @ b
