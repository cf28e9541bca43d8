"""A function instead of its result.

Deserves: 0 points
Named: it returned a value of type function
"""


def blocks_for(n, threads):
    return lambda: -(-n // threads)
