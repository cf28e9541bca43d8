"""Stop by an interruption that is no error.

Deserves: refused
Named: KeyboardInterrupt
"""


def blocks_for(n, threads):
    raise KeyboardInterrupt
