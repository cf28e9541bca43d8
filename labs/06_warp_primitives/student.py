"""Lab 6: Warp primitives. Lanes of a warp hand values over without shared memory, and vote.

Write the exchanges with cuda's own functions: shfl_*_sync, ballot_sync, match_any_sync, popc, ffs, lanemask_lt. Only in
6.5 may you call gpukit.warp instead (it has sums and scans, which do not help elsewhere).
"""

import math

import numpy as np
from numba import cuda

FULL = 0xFFFFFFFF  # the mask of a whole warp

# --- 6.1: answer on paper, for `exchanges` of given.py in one block of 80 threads, where x[t] is t -------------------

# The ballot of warp 0, where lanes 3, 11, 19 and 27 say yes: a number with a bit per lane. 0x... is welcome.
BALLOT = ...  # TODO 6.1: predict what votes, masks and shuffles give

# What lane 20 gets when it counts the lanes below itself that have said yes.
PLACE = ...  # TODO 6.1: predict what votes, masks and shuffles give

# What lane 30 gets from shfl_down_sync by 4, when every lane brings its own number.
DOWN = ...  # TODO 6.1: predict what votes, masks and shuffles give

# What lane 12 gets from shfl_xor_sync with 5, when every lane brings its own number.
EXCHANGED = ...  # TODO 6.1: predict what votes, masks and shuffles give

# The mask of the lanes that there are in warp 2.
MEMBERS = ...  # TODO 6.1: predict what votes, masks and shuffles give


# --- 6.2: shuffles down ----------------------------------------------------------------------------------------------


@cuda.jit
def warp_argmax(x, where):
    """The index of the largest element of each warp's 32; of equal ones the first.

    Warp w of the grid has x[32 * w] and the 31 behind it, of those that there are, and at least one. Elements may be
    -inf. Blocks are whole warps.

    Args:
        x: float32 (n,), not changed.
        where: int32 (n / 32 rounded up,), set.

    Cost: no shared memory; 10 exchanges a warp, a few more at most.
    """
    raise NotImplementedError("TODO 6.2: hand (value, index) pairs down to lane 0")


# --- 6.3: the butterfly, and who must take part ----------------------------------------------------------------------


@cuda.jit
def below_maximum(x, y):
    """How far each element is below the largest one that its warp has: y[i] = x[i] - largest.

    given.py has this kernel with a mistake: the mask names 32 lanes, and in the last warp not all of them come. Every
    lane of a warp must reach the exchange, with an element or without. Elements may be negative. Blocks are whole
    warps.

    Args:
        x: float32 (n,), not changed.
        y: float32 (n,), set.

    Cost: no shared memory; every lane has the largest after 5 exchanges.
    """
    raise NotImplementedError("TODO 6.3: repair the butterfly, so that every lane that its mask names takes part")


# --- 6.4: a block ----------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def warp_max(value, lanes):
    """The largest `value` of lanes 0 to lanes - 1 of a warp, for lane 0; the other lanes do not exist, or stay away.

    A lane may not be read if it does not take part. But a maximum does not mind if a value comes twice.
    """
    raise NotImplementedError("TODO 6.4: find a block's maximum with one slot of shared memory a warp, for any number of threads")


@cuda.jit
def block_max(x, out):
    """The largest element of each block's T = blockDim.x, for any T up to 1024: 80 threads are 2 warps and a half.

    Block b has x[b * T] and the T - 1 behind it, of those that there are, and at least one. Elements may be negative.

    Args:
        x: float32 (n,), not changed.
        out: float32 (blocks,), set.

    Cost: one slot of shared memory a warp, one barrier.
    """
    raise NotImplementedError("TODO 6.4: find a block's maximum with one slot of shared memory a warp, for any number of threads")


# --- 6.5: a stable split ---------------------------------------------------------------------------------------------


@cuda.jit
def split(x, bit, y):
    """One step of a radix sort, block by block: first the elements whose bit is 0, then those whose bit is 1.

    Both groups stay in the order in which they were. A block's elements stay in its part of y: block b has x[b * T] and
    the T - 1 behind it, of those that there are. T is a multiple of 32, at most 1024. gpukit.warp may help here.

    Args:
        x: int32 (n,), not negative, not changed.
        bit: int32, 0 to 30: which bit decides.
        y: int32 (n,), set.

    Cost: no atomics. One slot of shared memory a warp and one barrier will do; a few more of both are fine.
    """
    raise NotImplementedError("TODO 6.5: give every element its place by ballots and population counts")


# --- 6.6: a running maximum ------------------------------------------------------------------------------------------


@cuda.jit
def running_max(x, y):
    """The largest element so far: y[i] is the largest of its block's elements from the first one to x[i].

    Block b has x[b * T] and the T - 1 behind it, of those that there are. T is a multiple of 32, at most 1024. Elements
    may be negative.

    Args:
        x: float32 (n,), not changed.
        y: float32 (n,), set.

    Cost: one slot of shared memory a warp; two barriers, not two for each step.
    """
    raise NotImplementedError("TODO 6.6: scan each warp by shuffles up, then the warps' maxima")


# --- 6.7: equal lanes ------------------------------------------------------------------------------------------------


@cuda.jit
def histogram(key, counts):
    """counts[k] += how often k occurs in key. Lanes with the same key send one of them, with their number.

    Without that, a key that is everywhere has 32 lanes of each warp wait in a queue for one address. Blocks are whole
    warps.

    Args:
        key: int32 (n,), 0 to bins - 1, not changed.
        counts: int32 (bins,), added to.

    Cost: no two lanes of a warp do an atomic on the same address.
    """
    raise NotImplementedError("TODO 6.7: let one lane of each group of equal keys do the atomic for all")
