"""All memory there is.

Deserves: 0 points
Named: MemoryError: it asks for more memory
"""


def blocks_for_image(rows, columns):
    kept = []
    while True:
        kept.append(bytes(1 << 24))
