"""Repeated ids are taken for read once in all, as if warps shared what they read.

Fails:
    test_8_4_repeats: SECTORS_IN_TURN = 32
"""

SECTORS_IN_TURN = 32
