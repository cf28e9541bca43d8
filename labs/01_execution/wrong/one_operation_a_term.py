"""A multiplication and an addition counted as one, and elements of 8 bytes.

Fails:
    test_1_7_work: (bytes, operations)
"""


def polynomial_work(n, degree):
    return 2 * 8 * n, degree * n
