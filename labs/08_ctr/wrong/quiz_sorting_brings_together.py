"""Sorted ids are taken for neighbours, though they are as far apart as before.

Fails:
    test_8_4_order: SECTORS_FAR_APART_SORTED = 4
"""

SECTORS_FAR_APART_SORTED = 4
