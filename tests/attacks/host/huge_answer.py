"""An answer as large as may be, each time.

Deserves: 0 points
Named: `limit` returned more than 4,194,304 bytes
"""


def limit(bytes_moved, flops, gb_s, tflops):
    return "memory" * 650_000
