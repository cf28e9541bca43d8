"""Warp and block primitives to call from kernels: device functions for sums, scans and places.

Each is called by whole warps, in uniform control flow: all 32 lanes take part. Where a grid does not fill its last
warp, guard the loads, not the call: a lane without data brings the identity (0 for a sum). Values are int32, int64,
float32 or float64; numba adds two int32 as int64, which a shuffle moves as two words.
"""

from __future__ import annotations

import numpy as np

from gpukit import cuda

FULL = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_sum(value):
    """The warp's sum, right in lane 0; 5 shuffles down. The other lanes hold sums of no use."""
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, offset)
    return value


@cuda.jit(device=True)
def warp_sum_everywhere(value):
    """The warp's sum in every lane; 5 butterfly exchanges, each lane with the one whose number differs in one bit."""
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, offset)
    return value


@cuda.jit(device=True)
def warp_scan(value):
    """The sum over lanes 0 to the caller's (inclusive); 5 shuffles up."""
    for offset in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(FULL, value, offset)
        if cuda.laneid >= offset:
            value += below
    return value


@cuda.jit(device=True)
def segment_start(head):
    """The lane where the caller's segment begins: the highest lane at or below it that has a head; lane 0 if none."""
    heads = cuda.ballot_sync(FULL, head)
    here_or_below = cuda.lanemask_lt() | (np.uint32(1) << np.uint32(cuda.laneid))
    mine = np.uint32(heads) & here_or_below
    return max(31 - np.int32(cuda.clz(np.int32(mine))), 0)


@cuda.jit(device=True)
def segmented_scan(value, head):
    """The sum over the lanes from the start of the caller's segment to the caller's; a ballot and 5 shuffles up."""
    start = segment_start(head)
    for offset in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(FULL, value, offset)
        if cuda.laneid - offset >= start:
            value += below
    return value


@cuda.jit(device=True)
def place_among(taking):
    """(this lane's place among those that take part, how many they are): one ballot, two population counts."""
    takers = np.uint32(cuda.ballot_sync(FULL, taking))
    return np.int32(cuda.popc(takers & cuda.lanemask_lt())), np.int32(cuda.popc(takers))
