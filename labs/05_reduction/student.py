"""Lab 5: Reduction. n elements become one answer, by a tree, and by other operators than the sum.

A block has T = cuda.blockDim.x threads, at most BLOCK. The answer does not depend on the number of blocks.
"""

import math

import numpy as np
from numba import cuda

BLOCK = 256  # the largest block there is here: what shared memory must have room for
FULL = 0xFFFFFFFF  # the mask of a whole warp

# --- 5.1: answer on paper, for one block of 128 threads and 256 elements in `naive_maximum` of given.py --------------

# The steps of the tree.
STEPS = ...  # TODO 5.1: predict what a tree of 256 elements costs

# The comparisons of two elements, all steps together.
COMPARISONS = ...  # TODO 5.1: predict what a tree of 256 elements costs

# How many of the 128 threads have nothing to compare in the fourth step.
IDLE_THREADS = ...  # TODO 5.1: predict what a tree of 256 elements costs

# How often a warp meets an `if` that some of its lanes enter and others do not, the last `if` of the kernel included.
DIVERGENT_BRANCHES = ...  # TODO 5.1: predict what a tree of 256 elements costs

# The load requests: each time a warp, with one active lane or 32, loads an element each from global memory.
LOAD_REQUESTS = ...  # TODO 5.1: predict what a tree of 256 elements costs


# --- 5.2: the largest element of each block, and where it is ---------------------------------------------------------


@cuda.jit(device=True)
def beats(value, index, other_value, other_index):
    """Whether (value, index) is a better answer than the other pair.

    The larger value is; of equal values the one with the smaller index.
    """
    raise NotImplementedError("TODO 5.2: find the first of the largest elements by a tree, for any number of threads")


@cuda.jit(device=True)
def fold(best, where):
    """The tree: leaves the best of the block's T pairs (best[t], where[t]) in slot 0, for every thread to read.

    All threads of the block call it, when all slots are filled (after a barrier). T need not be a power of two: 100
    pairs become 50, 25, 13, 7, 4, 2, 1. Neighbouring threads use neighbouring slots.

    Args:
        best: float32 in shared memory, changed.
        where: int32 in shared memory, changed.
    """
    raise NotImplementedError("TODO 5.2: find the first of the largest elements by a tree, for any number of threads")


@cuda.jit
def block_argmax(x, value, index):
    """The largest of each block's T elements and its index; of equal ones the first.

    One element a thread: block b has x[b * T] and the T - 1 behind it; the last block may have fewer, and at least one.
    Elements may be negative, even -inf.

    Args:
        x: float32 (n,), not changed.
        value: float32 (blocks,), set to the largest element of each block.
        index: int32 (blocks,), set to its index in x.

    Cost: x is read once. No bank conflicts, and a barrier a step: use `fold`.
    """
    raise NotImplementedError("TODO 5.2: find the first of the largest elements by a tree, for any number of threads")


# --- 5.3: a fixed grid -----------------------------------------------------------------------------------------------


@cuda.jit
def dot(a, b, partial):
    """The dot product of a and b, a part of it from each block: partial adds up to the sum of all a[i] * b[i].

    The grid has as many blocks as it likes, not as many as the data: each thread first adds up its own products, every
    gridsize-th, in a variable. Then the block folds T sums, once. T is a power of two.

    Args:
        a, b: float32 (n,), not changed.
        partial: float32 (blocks,), set.

    Cost: a and b are read once, 32 neighbours a request; the barriers do not grow with n.
    """
    raise NotImplementedError("TODO 5.3: add up products thread by thread, then fold once a block")


# --- 5.4: the last warp ----------------------------------------------------------------------------------------------


@cuda.jit
def largest_magnitude(x, partial):
    """The largest |x[i]| of each block's T elements; T is a power of two, 64 or more.

    The tree is there, down to 64 values in sizes[0] to sizes[63]. What is missing is the end: warp 0 alone makes one of
    them and stores it. One warp needs no barrier of the block for that, but its lanes do not move in step either: say
    who waits for whom (cuda.syncwarp), or hand values over by shuffles.

    Args:
        x: float32 (n,), not changed.
        partial: float32 (blocks,), set.

    Cost: no barrier beyond those that are there.
    """
    sizes = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    sizes[t] = abs(x[i]) if i < x.size else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 32:
        if t < stride:
            sizes[t] = max(sizes[t], sizes[t + stride])
        cuda.syncthreads()
        stride //= 2
    raise NotImplementedError("TODO 5.4: finish the last 64 values inside one warp")


# --- 5.5: mean and variance in one pass ------------------------------------------------------------------------------


@cuda.jit(device=True)
def merge(count, mean, m2, other_count, other_mean, other_m2):
    """(count, mean, m2) of two sets of numbers together, from those of each; either set may be empty (0, 0, 0).

    m2 is the sum of the squared distances from the mean; m2 / count is the variance. A single number v is (1, v, 0).
    With d the distance of the two means, the mean moves towards the other by its share of the count, and m2 is the sum
    of both and of d * d * count * other_count / (count + other_count).
    """
    raise NotImplementedError("TODO 5.5: merge counts, means and squared distances, number by number and then pair by pair")


@cuda.jit
def moments(x, out):
    """The count, mean and m2 (see `merge`) of what each block has seen of x; the triples of all blocks cover x.

    A fixed grid, as in 5.3. T is a power of two. x may be time stamps: 1.7e9 seconds, and what matters is the
    microseconds. Sums of squares are then about 3e18 each, where float64 has steps of 512.

    Args:
        x: float64 (n,), not changed.
        out: float64 (blocks, 3), set. A block without elements sets (0, 0, 0).

    Cost: x is read once (what is needed twice is kept in a variable); the barriers do not grow with n.
    """
    raise NotImplementedError("TODO 5.5: merge counts, means and squared distances, number by number and then pair by pair")


# --- 5.6: four elements a turn, and one number at the end ------------------------------------------------------------


@cuda.jit
def checksum(x, total):
    """total[0] ^= x[0] ^ x[1] ^ ... ^ x[n - 1]: exclusive or, bit by bit, of what was there and all elements.

    A fixed grid, as in 5.3, but each turn of a thread's loop takes four elements with one test of the loop's end; what
    n % 4 leaves is taken one by one. In Python the four are n // 4 apart: each of a warp's four loads reads 32
    neighbours. (In CUDA C++ they are one load of 16 bytes.) T is a power of two.

    Args:
        x: int32 (n,), not changed.
        total: int32 (1,), 0 before the launch. Blocks add to it with cuda.atomic.xor.

    Cost: a quarter of the turns; one atomic a block.
    """
    raise NotImplementedError("TODO 5.6: take four elements a turn, fold, and finish with one atomic a block")


# --- 5.7: one launch for everything ----------------------------------------------------------------------------------


@cuda.jit
def argmax(x, found, best, done):
    """best[0] is the index of the largest element of x, of equal ones the first. One launch, any number of blocks.

    No atomic knows pairs. So each block stores the index of its own best element in found, makes that visible to all
    blocks (cuda.threadfence) and counts itself in done[0]. The block that counts last compares what all have found.
    A fixed grid, as in 5.3; a block may have no element at all: it stores n.

    Args:
        x: float32 (n,), n at least 1, not changed.
        found: int32 (blocks,), set.
        best: int32 (1,), set.
        done: uint32 (1,), 0 before the launch and 0 again after it, for the next one.

    Cost: one atomic a block; use `fold` twice.
    """
    raise NotImplementedError("TODO 5.7: let the block that is done last compare what all blocks have found")
