"""Use the instructor's kernel.

Deserves: refused
Named: an import of solution
"""

from solution import dot, block_argmax, beats, fold
