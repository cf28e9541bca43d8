"""Bytes are forgotten: an element that lies apart counts as half a sector, an offset as nothing, a row as one place.

Fails:
    test_3_1_lines: EVERY_SECOND
    test_3_1_matrices: A_ROW_EACH
"""

EVERY_SECOND = 16
BEHIND_ONE = 4
A_ROW_EACH = 4
A_COLUMN_EACH = 32
