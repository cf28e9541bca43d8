"""Use the instructor's kernel.

Deserves: refused
Named: solution
"""

from solution import dot, block_argmax, beats, fold
