"""One call that never comes back, in which Python gets no turn. The other function is honest.

Deserves: 1 points
Named: `blocks_for_image` did not end within
"""


def blocks_for_image(rows, columns):
    return max(range(10**18))


def bandwidth_gb_s(bytes_moved, seconds):
    return bytes_moved / seconds / 1e9
