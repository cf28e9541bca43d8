"""Use the instructor's function.

Deserves: refused
Named: solution
"""

from solution import blocks_for
