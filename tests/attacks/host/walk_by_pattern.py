"""The same walk without a dot: patterns read attributes, too.

Deserves: refused
Named: __globals__
"""


def blocks_for(n, threads):
    match blocks_for:
        case int(__globals__=found):
            return len(found)
    return 1
