"""A number of more digits than Python prints.

Deserves: 0 points
Named: a number of 100,001 bits
"""


def blocks_for(n, threads):
    return 1 << 100_000


def blocks_for_image(rows, columns):
    return 1 << 20_000, -(1 << 20_000)


def median_and_spread(seconds, warmup):
    return [1 << 20_000, 2]


def limit(bytes_moved, flops, gb_s, tflops):
    return 1 << 20_000
