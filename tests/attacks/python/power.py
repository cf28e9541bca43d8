"""A constant that would take all memory to work out.

Deserves: refused
Named: STEPS
"""

STEPS = 10**10**10
