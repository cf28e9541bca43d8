"""A name that is set inside an expression.

Deserves: refused
Named: STEPS
"""

STEPS = (COMPARISONS := 255) - 247
