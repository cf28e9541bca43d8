"""A string of a terabyte.

Deserves: refused
Named: it may grow too large
"""

STEPS = "a" * 10**12
