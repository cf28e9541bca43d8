"""Lab 3: Coalescing. The 32 lanes of a warp load together: what it costs depends on where their addresses lie.

A load or store of a warp is one request. Memory answers it in sectors, 32 bytes each and aligned to 32 bytes.
Arrays begin where a sector does. Matrices lie row by row.
"""

import numpy as np

from gpukit import cuda

# 3.1: each constant is a kernel of given.py. How many sectors does one load request of a full warp touch there?
# a_row_each gets a matrix of 64 x 40, a_column_each one of 40 x 64.
CONTIGUOUS = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel
EVERY_SECOND = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel
EVERY_32ND = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel
BEHIND_ONE = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel
EIGHT_BYTES = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel
ONE_ADDRESS = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel
A_ROW_EACH = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel
A_COLUMN_EACH = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel
ONE_FIELD = ...  # TODO 3.1: predict the sectors of one load request, kernel by kernel


@cuda.jit
def half_turn(image, out):
    """Turn an image by 180 degrees: its first pixel becomes the last.

    The grid has two dimensions, blocks of 32 x 8, and covers max(rows, columns) along x and along y: either
    index may be x. Cost: 4 sectors a request for both images where rows begin with a sector.

    Args:
        image: (rows, columns) float32. Not changed.
        out: (rows, columns) float32, written.
    """
    raise NotImplementedError("TODO 3.2: out[r, c] is the pixel that lies opposite (r, c) in the image")


@cuda.jit
def column_range(x, out):
    """The range of every column: its largest element less its smallest.

    There may be fewer threads than columns, so a thread may have several columns. A column belongs to one thread.
    Cost: 4 sectors a load request, and no element is needed by two threads.

    Args:
        x: (rows, columns) float32, rows >= 1. Not changed.
        out: (columns,) float32, written.
    """
    raise NotImplementedError("TODO 3.3: out[c] is max - min of column c; share the columns out among the threads of the grid")


@cuda.jit
def negative(words, rest, out_words, out_rest):
    """The negative of a picture of n pixels, 1 byte each: 255 - pixel, four pixels at a time.

    A lane that loads 1 byte needs a request like any other. So the pixels come as n // 4 words of four, and the
    n % 4 pixels that are left come one by one. There are at least n // 4 threads, and never fewer than 4.
    What is 255 - p in binary? Cost: a quarter of the requests that a thread a pixel would take.

    Args:
        words: (n // 4,) uint32, four pixels each. Not changed.
        rest: (n % 4,) uint8. Not changed.
        out_words: (n // 4,) uint32, written.
        out_rest: (n % 4,) uint8, written.
    """
    raise NotImplementedError("TODO 3.4: turn every pixel p into 255 - p, a word of four at a time, then the rest")


@cuda.jit
def split(records, fields):
    """An array of structures becomes a structure of arrays: all x, then all y, and so on.

    A particle is a record of 8 fields of 4 bytes: x, y, z, vx, vy, vz, mass, charge. There are at least 8 n threads;
    you need not use them all. Cost: 4 sectors a load request and at most 8 a store request. Shared memory is not
    needed.

    Args:
        records: (n, 8) float32, one particle after the other. Not changed.
        fields: (8, n) float32, written.
    """
    raise NotImplementedError("TODO 3.5: fields[f, i] is field f of particle i; let neighbouring lanes load neighbouring numbers")


def arrange(item, amount):
    """Bring orders into an order in which given.revenue touches few sectors. Runs on the host, before the launch.

    An order is a pair item[k], amount[k]. All of them must still be there, each with its own amount; nobody needs the
    old order. Cost: the load sectors of given.revenue on what you return, within 5 % of the least.

    Args:
        item: (n,) int32, any item any number of times.
        amount: (n,) float32.

    Returns:
        The arranged items and the arranged amounts, two arrays of the same dtypes.
    """
    raise NotImplementedError("TODO 3.6: put orders next to each other whose prices lie next to each other")
