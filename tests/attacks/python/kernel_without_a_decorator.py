"""The kernel's name on what is none.

Deserves: refused
Named: dot
"""


def dot(a, b, partial):
    partial[:] = a @ b
