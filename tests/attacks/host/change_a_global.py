"""Replace another function while the tests run.

Deserves: refused
Named: global
"""


def blocks_for(n, threads):
    global blocks_for
    blocks_for = 1
    return 1
