"""The sectors of one request, not of all.

Fails:
    test_8_4_repeats: SECTORS_SORTED = 4
"""

SECTORS_SORTED = 4
