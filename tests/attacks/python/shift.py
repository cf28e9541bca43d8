"""A number of a terabit.

Deserves: refused
Named: the constant `1 << 10 ** 12`: it may grow too large
"""

STEPS = 1 << 10**12
