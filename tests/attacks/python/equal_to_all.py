"""Not a number as the answer, and a tuple, and a truth.

Deserves: 0 points
Named: another number was counted than predicted
"""

STEPS = (8, 255, 112)
DIVERGENT_BRANCHES = True
