"""Leave by the exception that ends Python.

Deserves: refused
Named: SystemExit
"""


def blocks_for(n, threads):
    raise SystemExit(0)
