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
# BEGIN SOLUTION 6.1: predict what votes, masks and shuffles give
BALLOT = 0x08080808
# END SOLUTION

# What lane 20 gets when it counts the lanes below itself that have said yes.
# BEGIN SOLUTION 6.1: predict what votes, masks and shuffles give
PLACE = 3
# END SOLUTION

# What lane 30 gets from shfl_down_sync by 4, when every lane brings its own number.
# BEGIN SOLUTION 6.1: predict what votes, masks and shuffles give
DOWN = 30
# END SOLUTION

# What lane 12 gets from shfl_xor_sync with 5, when every lane brings its own number.
# BEGIN SOLUTION 6.1: predict what votes, masks and shuffles give
EXCHANGED = 9
# END SOLUTION

# The mask of the lanes that there are in warp 2.
# BEGIN SOLUTION 6.1: predict what votes, masks and shuffles give
MEMBERS = 0xFFFF
# END SOLUTION


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
    # BEGIN SOLUTION 6.2: hand (value, index) pairs down to lane 0
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(-math.inf)
    index = np.int32(i)
    for offset in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(FULL, value, offset)
        other_index = cuda.shfl_down_sync(FULL, index, offset)
        if other > value or (other == value and other_index < index):
            value, index = other, other_index
    if cuda.laneid == 0 and i < x.size:
        where[i // 32] = index
    # END SOLUTION


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
    # BEGIN SOLUTION 6.3: repair the butterfly, so that every lane that its mask names takes part
    i = cuda.grid(1)
    mine = x[i] if i < x.size else np.float32(-math.inf)
    largest = mine
    for offset in (16, 8, 4, 2, 1):
        largest = max(largest, cuda.shfl_xor_sync(FULL, largest, offset))
    if i < x.size:
        y[i] = mine - largest
    # END SOLUTION


# --- 6.4: a block ----------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def warp_max(value, lanes):
    """The largest `value` of lanes 0 to lanes - 1 of a warp, for lane 0; the other lanes do not exist, or stay away.

    A lane may not be read if it does not take part. But a maximum does not mind if a value comes twice.
    """
    # BEGIN SOLUTION 6.4: find a block's maximum with one slot of shared memory a warp, for any number of threads
    for offset in (16, 8, 4, 2, 1):
        source = min(cuda.laneid + offset, lanes - 1)
        value = max(value, cuda.shfl_sync(FULL >> (32 - lanes), value, source))
    return value
    # END SOLUTION


@cuda.jit
def block_max(x, out):
    """The largest element of each block's T = blockDim.x, for any T up to 1024: 80 threads are 2 warps and a half.

    Block b has x[b * T] and the T - 1 behind it, of those that there are, and at least one. Elements may be negative.

    Args:
        x: float32 (n,), not changed.
        out: float32 (blocks,), set.

    Cost: one slot of shared memory a warp, one barrier.
    """
    # BEGIN SOLUTION 6.4: find a block's maximum with one slot of shared memory a warp, for any number of threads
    of_warp = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    threads = cuda.blockDim.x
    i = cuda.grid(1)
    warps = (threads + 31) // 32
    value = x[i] if i < x.size else np.float32(-math.inf)
    value = warp_max(value, min(32, threads - t // 32 * 32))
    if t % 32 == 0:
        of_warp[t // 32] = value
    cuda.syncthreads()
    if t < warps:
        value = warp_max(of_warp[t], warps)
        if t == 0:
            out[cuda.blockIdx.x] = value
    # END SOLUTION


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
    # BEGIN SOLUTION 6.5: give every element its place by ballots and population counts
    of_warp = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    warp = t // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.int32(0)
    is_zero = i < x.size and (value >> bit) & 1 == 0
    votes = cuda.ballot_sync(FULL, is_zero)
    if t % 32 == 0:
        of_warp[warp] = cuda.popc(votes)
    cuda.syncthreads()
    zeros_before = cuda.popc(votes & cuda.lanemask_lt())
    zeros = 0
    for w in range(cuda.blockDim.x // 32):
        many = of_warp[w]
        zeros += many
        if w < warp:
            zeros_before += many
    place = zeros_before if is_zero else zeros + t - zeros_before
    if i < x.size:
        y[cuda.blockIdx.x * cuda.blockDim.x + place] = value
    # END SOLUTION


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
    # BEGIN SOLUTION 6.6: scan each warp by shuffles up, then the warps' maxima
    of_warp = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    warp = t // 32
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(-math.inf)
    for offset in (1, 2, 4, 8, 16):
        value = max(value, cuda.shfl_up_sync(FULL, value, offset))
    if t % 32 == 31:
        of_warp[warp] = value
    cuda.syncthreads()
    if warp == 0:
        largest = of_warp[t] if t < cuda.blockDim.x // 32 else np.float32(-math.inf)
        for offset in (1, 2, 4, 8, 16):
            largest = max(largest, cuda.shfl_up_sync(FULL, largest, offset))
        of_warp[t] = largest
    cuda.syncthreads()
    if warp > 0:
        value = max(value, of_warp[warp - 1])
    if i < x.size:
        y[i] = value
    # END SOLUTION


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
    # BEGIN SOLUTION 6.7: let one lane of each group of equal keys do the atomic for all
    i = cuda.grid(1)
    mine = key[i] if i < key.size else np.int32(-1)
    same = cuda.match_any_sync(FULL, mine)
    if mine >= 0 and cuda.popc(same & cuda.lanemask_lt()) == 0:
        cuda.atomic.add(counts, mine, cuda.popc(same))
    # END SOLUTION
