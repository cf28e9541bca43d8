"""Use the instructor's function.

Deserves: refused
Named: an import of solution
"""

from solution import blocks_for
