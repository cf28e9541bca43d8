"""A string of a terabyte.

Deserves: refused
Named: STEPS
"""

STEPS = "a" * 10**12
