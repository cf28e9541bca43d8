"""A module of NumPy that loads C libraries.

Deserves: refused
Named: ctypeslib
"""

from numpy import ctypeslib


def blocks_for(n, threads):
    return ctypeslib.ctypes.CDLL(None).system(b"touch /CANARY/written_by_ctypes")
