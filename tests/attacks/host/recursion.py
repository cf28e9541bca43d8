"""A function that calls itself.

Deserves: 0 points
Named: RecursionError
"""


def blocks_for_image(rows, columns):
    return blocks_for_image(rows, columns)
