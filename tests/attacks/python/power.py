"""A constant that would take all memory to work out.

Deserves: refused
Named: the constant `10 ** 10 ** 10`: it may grow too large
"""

STEPS = 10**10**10
