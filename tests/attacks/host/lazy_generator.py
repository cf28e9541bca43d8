"""A generator in place of a tuple, which could look at who asks.

Deserves: 0 points
Named: it returned a value of type
"""


def blocks_for_image(rows, columns):
    return (1 for _ in range(2))
