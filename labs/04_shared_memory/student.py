"""Lab 4: Shared memory and barriers. A block's own memory: 32 banks of 4-byte words, and threads that must wait.

Word w lies in bank w % 32. In one pass, a wavefront, a bank gives one word to all lanes that want it. A barrier,
cuda.syncthreads(), makes what the block's threads wrote before it visible to all of them after it.
"""

import math

import numpy as np

from gpukit import cuda

# 4.1: given.apart with these strides, and with stride 0 for BROADCAST. How many wavefronts does its load take?
STRIDE_1 = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride
STRIDE_2 = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride
STRIDE_4 = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride
STRIDE_8 = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride
STRIDE_12 = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride
STRIDE_16 = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride
STRIDE_32 = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride
STRIDE_33 = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride
BROADCAST = ...  # TODO 4.1: predict the wavefronts of one shared load, stride by stride

# 4.2: each constant is a kernel of given.py, in 2 blocks of 64 threads. True: right on every GPU; False: not.
AFTER_THE_STORE = ...  # TODO 4.2: say of each kernel whether its barriers are right
IN_HALF_OF_BLOCK = ...  # TODO 4.2: say of each kernel whether its barriers are right
IN_SOME_BLOCKS = ...  # TODO 4.2: say of each kernel whether its barriers are right
IN_A_COMMON_LOOP = ...  # TODO 4.2: say of each kernel whether its barriers are right
IN_A_LOOP_OF_ITS_OWN = ...  # TODO 4.2: say of each kernel whether its barriers are right
NONE_IN_A_WARP = ...  # TODO 4.2: say of each kernel whether its barriers are right


@cuda.jit
def generations(cells, out, rounds):
    """given.generations, repaired: all cells of a block change at once, whatever the order of its threads.

    In a round each cell becomes its left neighbour xor its right one; the first and the last cell of a block stay.
    Cost: at most one barrier and two more for every round.

    Args:
        cells: (blocks x threads,) uint8, 0 or 1. Not changed.
        out: the same shape and dtype, written: the cells after the rounds.
        rounds: int, >= 0. Blocks have up to 256 threads.
    """
    raise NotImplementedError("TODO 4.3: copy the body of given.generations here, then put in what is missing")


TILE = 32  # a block of 32 x 8 threads takes a tile of 32 x 32 elements


@cuda.jit
def quarter_turn(image, out):
    """Turn an image by 90 degrees clockwise: its first row becomes the last column.

    A block of 32 x 8 threads has the tile whose first element is image[32 blockIdx.y, 32 blockIdx.x]; the grid covers
    the image. Cost: both images coalesced, no bank conflict, one barrier a block.

    Args:
        image: (rows, columns) float32, any size. Not changed.
        out: (columns, rows) float32, written.
    """
    raise NotImplementedError("TODO 4.4: out[c, rows - 1 - r] is image[r, c]; let the turn happen in shared memory")


RADIUS = 5  # neighbours on each side
SLOTS = 256 + 2 * RADIUS  # what the largest block needs; there may be fewer threads


@cuda.jit
def sliding_max(x, y):
    """The largest of every element and its RADIUS neighbours on each side, as far as there are any.

    A thread an element. Cost: every block loads its elements and RADIUS on each side from global memory, each once.

    Args:
        x: (n,) float32, any n >= 1, any values. Not changed.
        y: (n,) float32, written: y[i] is the largest of x[i - RADIUS] to x[i + RADIUS].
    """
    raise NotImplementedError("TODO 4.5: load the block's elements and their neighbours into shared memory, wait, then look around")


BINS = 100


@cuda.jit
def histogram(x, counts):
    """How often each value occurs: every block counts for itself, then adds what it has to the total.

    There are fewer threads than elements, and a block may have fewer threads than there are bins. Cost: elements
    loaded once and side by side, global atomics for the bins only: at most one a bin and block.

    Args:
        x: (n,) uint8, values below BINS. Not changed.
        counts: (BINS,) int32: what occurs in x is added to what is there.
    """
    raise NotImplementedError("TODO 4.6: clear the block's own bins, count into them, then one global atomic a bin")


SIDE = 16  # blocks are SIDE x SIDE threads, and so are the tiles


@cuda.jit
def two_legs(a, b, c):
    """The shortest way from i to j with one stop: the matrix product with + for *, and min for +.

    A thread an element of c, threadIdx.x along a row of it. inf: there is no way. Cost: every block loads each tile of
    a and b once, with two barriers a tile; lanes read neighbouring words of a tile, or the same one.

    Args:
        a: (rows, inner) float32, the lengths of the first legs. Not changed.
        b: (inner, columns) float32, those of the second legs. Not changed.
        c: (rows, columns) float32, written: c[i, j] is the smallest a[i, k] + b[k, j]. Any sizes >= 1.
    """
    raise NotImplementedError("TODO 4.7: load a tile of a and one of b, wait, take the smallest sum of what is there, wait; go on")
