"""Leave the child at once, with status 0.

Deserves: refused
Named: an import inside a function
"""


def blocks_for(n, threads):
    import os

    os._exit(0)
