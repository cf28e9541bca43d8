"""A number that takes all memory.

Deserves: 0 points
Named: MemoryError: it asks for more memory
"""


def blocks_for_image(rows, columns):
    return 1 << (1 << 45), 1
