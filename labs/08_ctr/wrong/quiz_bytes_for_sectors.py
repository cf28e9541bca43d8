"""The bytes of a row, not its sectors.

Fails:
    test_8_1_rows: SECTORS_OF_8 = 32
"""

SECTORS_OF_8 = 32
