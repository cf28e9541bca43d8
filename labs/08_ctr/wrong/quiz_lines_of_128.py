"""Counts lines of 128 bytes, not sectors of 32.

Fails:
    test_8_1_rows: SECTORS_OF_32 = 1
"""

SECTORS_OF_32 = 1
