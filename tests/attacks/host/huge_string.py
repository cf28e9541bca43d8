"""A string of a terabyte.

Deserves: 0 points
Named: MemoryError: it asks for more memory
"""


def limit(bytes_moved, flops, gb_s, tflops):
    return "memory" * 10**12
