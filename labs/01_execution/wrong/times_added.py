"""Memory and arithmetic one after the other.

Fails:
    test_1_7_seconds: wrong answer
"""


def least_seconds(bytes_moved, flops, gb_s, tflops):
    return bytes_moved / (gb_s * 1e9) + flops / (tflops * 1e12)
