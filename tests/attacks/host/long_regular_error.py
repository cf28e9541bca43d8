"""An error with a text of a hundred megabytes.

Deserves: 0 points
Named: ValueError
"""


def blocks_for(n, threads):
    raise ValueError("x" * 10**8)
