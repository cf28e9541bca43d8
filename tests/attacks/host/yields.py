"""A generator function: it answers only when it is asked again.

Deserves: 0 points
Named: it returned a value of type generator
"""


def blocks_for(n, threads):
    yield -(-n // threads)
