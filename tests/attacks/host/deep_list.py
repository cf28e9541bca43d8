"""Lists nested a ten thousand deep.

Deserves: 0 points
Named: nested
"""


def blocks_for_image(rows, columns):
    made = 1
    for _ in range(10_000):
        made = [made]
    return made
