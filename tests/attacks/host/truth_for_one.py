"""True instead of a number, and a text of digits.

Deserves: 0 points
Named: expected a number
"""


def blocks_for(n, threads):
    return True


def bandwidth_gb_s(bytes_moved, seconds):
    return str(bytes_moved / seconds / 1e9)
