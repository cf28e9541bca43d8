"""The same walk by a format text.

Deserves: refused
Named: the attribute `.format`
"""


def blocks_for(n, threads):
    return len("{0.__globals__}".format(blocks_for))
