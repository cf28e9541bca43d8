"""A string of a terabyte.

Deserves: 0 points
Named: memory
"""


def limit(bytes_moved, flops, gb_s, tflops):
    return "memory" * 10**12
