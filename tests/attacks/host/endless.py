"""A loop without an end.

Deserves: 0 points
Named: did not end within
"""


def blocks_for_image(rows, columns):
    while True:
        pass
