"""The same walk by a name that is put together.

Deserves: refused
Named: getattr
"""


def blocks_for(n, threads):
    return len(getattr(blocks_for, "__glo" + "bals__"))
