"""A name that is set inside an expression.

Deserves: refused
Named: in a constant: it is known only when the file runs
"""

STEPS = (COMPARISONS := 255) - 247
