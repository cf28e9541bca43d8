"""A row of 16 bytes is taken for half a sector, which memory cannot move.

Fails:
    test_8_1_rows: SECTORS_OF_4 = 0.5
"""

SECTORS_OF_4 = 0.5
