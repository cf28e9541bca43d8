"""Memory taken for the limit of everything.

Fails:
    test_1_7_limit: degree 64, on a H200
"""


def limit(bytes_moved, flops, gb_s, tflops):
    return "memory"
