"""Whole blocks only: the right and the lower edge of the image have no thread.

Fails:
    test_1_4_blocks: blocks_for_image(20, 100)
"""


def blocks_for_image(rows, columns):
    return max(1, columns // 16), max(1, rows // 16)
