"""One wrong number in each of the other tasks.

Fails:
    test_42_1_copy: another number was counted than predicted
    test_42_3_bytes: bytes_moved(1)
"""

REQUESTS = 8
SECTORS = 256


def bytes_moved(n):
    return 4 * n
