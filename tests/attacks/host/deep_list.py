"""Lists nested a million deep.

Deserves: 0 points
Named: nested
"""


def blocks_for_image(rows, columns):
    made = 1
    for _ in range(1_000_000):
        made = [made]
    return made
