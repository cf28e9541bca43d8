"""GiB for GB.

Fails:
    test_1_6_bandwidth: the answer is wrong
"""


def bandwidth_gb_s(bytes_moved, seconds):
    return bytes_moved / seconds / 2**30
