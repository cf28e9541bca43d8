"""An answer as large as may be, each time.

Deserves: 0 points
Named: limit
"""


def limit(bytes_moved, flops, gb_s, tflops):
    return "memory" * 650_000
