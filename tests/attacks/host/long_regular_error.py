"""An error with a text of ten megabytes.

Deserves: 0 points
Named: ValueError
"""


def blocks_for(n, threads):
    raise ValueError("x" * 10**7)
