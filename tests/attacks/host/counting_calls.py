"""Answer by the number of the call, which a list as default value counts.

Deserves: 0 points
Named: wrong answer
"""


def bandwidth_gb_s(bytes_moved, seconds, calls=[0]):
    calls[0] += 1
    return [8.0, 16.777216, 0.0, 1.0, 1.0, 1.0][calls[0] - 1]
