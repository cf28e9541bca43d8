"""GiB for GB.

Fails:
    test_1_6_bandwidth: wrong answer
"""


def bandwidth_gb_s(bytes_moved, seconds):
    return bytes_moved / seconds / 2**30
