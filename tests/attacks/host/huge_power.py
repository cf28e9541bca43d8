"""A number that takes all memory.

Deserves: 0 points
Named: blocks_for_image
"""


def blocks_for_image(rows, columns):
    return 10 ** 10 ** 10, 1
