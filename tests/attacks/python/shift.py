"""A number of a terabit.

Deserves: refused
Named: STEPS
"""

STEPS = 1 << 10**12
