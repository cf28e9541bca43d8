"""Rows of 32 are taken to share sectors once they are sorted: a warp has one row at a time.

Fails:
    test_8_4_repeats: ROW_SECTORS_SORTED = 128
"""

ROW_SECTORS_SORTED = 128
