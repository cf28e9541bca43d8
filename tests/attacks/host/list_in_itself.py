"""A list that contains itself.

Deserves: 0 points
Named: nested
"""


def blocks_for_image(rows, columns):
    made = []
    made.append(made)
    return made
