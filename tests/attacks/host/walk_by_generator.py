"""Frames through a generator.

Deserves: refused
Named: the attribute `.f_back`
"""


def blocks_for(n, threads):
    made = (i for i in range(n))
    return len(made.gi_frame.f_back.f_globals)
