"""Indices put together by hand, an early return for the threads outside, `while` for `range`, branches for min and max.

The solution's guards enclose the work and its loop is a `range`. Host code is by math and sorted lists, not NumPy.
"""

import math

from gpukit import cuda


def blocks_for(n, threads):
    blocks, rest = divmod(n, threads)
    if rest or not blocks:
        blocks += 1
    return blocks


@cuda.jit
def clip(x, low, high, y):
    i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    if i >= y.shape[0]:
        return
    if x[i] < low:
        y[i] = low
    elif x[i] > high:
        y[i] = high
    else:
        y[i] = x[i]


@cuda.jit
def grey(image, out):
    c = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    r = cuda.threadIdx.y + cuda.blockDim.y * cuda.blockIdx.y
    rows, columns = out.shape
    if r >= rows or c >= columns:
        return
    red, green, blue = image[r, c, 0], image[r, c, 1], image[r, c, 2]
    out[r, c] = (red * 77 + green * 150 + blue * 29) >> 8


@cuda.jit
def differences(x, y):
    i = cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    stride = cuda.blockDim.x * cuda.gridDim.x
    while i < y.size:
        y[i] = x[i + 1] - x[i]
        i += stride


def median_and_spread(seconds, warmup):
    ordered = sorted(seconds[warmup:])
    found = []
    for part in (0.25, 0.5, 0.75):
        place = part * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (place - below) * (ordered[above] - ordered[below]))
    return found[1], (found[2] - found[0]) / found[1]


def whole_speedup(part_seconds, rest_seconds, speedup):
    part = part_seconds / (part_seconds + rest_seconds)
    return 1 / ((1 - part) + part / speedup)


def limit(bytes_moved, flops, gb_s, tflops):
    ridge = tflops * 1000 / gb_s
    return "memory" if flops <= ridge * bytes_moved else "arithmetic"
