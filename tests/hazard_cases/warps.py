"""Shuffles, votes and masks."""

import numpy as np
from hazard_cases.table import clean, draw, floats, ints, random, wrong
from numpy import int32

from gpukit import cuda


@wrong(1, 32, lambda: (ints(32),), "shuffle_mask_names_absent_lane", also=("shuffle_inactive_source",))
def shuffle_in_if(out):
    t = cuda.threadIdx.x
    v = t
    if t < 16:
        v = cuda.shfl_down_sync(0xFFFFFFFF, v, 1)
    out[t] = v


@wrong(1, 32, lambda: (ints(32),), "shuffle_inactive_source")
def shuffle_from_an_idle_lane(out):
    t = cuda.threadIdx.x
    v = t
    if t < 16:
        v = cuda.shfl_down_sync(0xFFFF, v, 1)
    out[t] = v


@clean(1, 32, lambda: (ints(32),))
def shuffle_of_half_a_warp(out):
    t = cuda.threadIdx.x
    v = t
    if t < 16:
        v = cuda.shfl_xor_sync(0xFFFF, v, 1)
    out[t] = v


@clean(1, 32, lambda: (ints(32),))
def shuffle_on_both_sides(out):
    t = cuda.threadIdx.x
    v = cuda.shfl_xor_sync(4294967295, t, 31) if t < 16 else cuda.shfl_xor_sync(4294967295, int32(t * 100), 31)
    out[t] = v


@wrong(1, 40, lambda: (random(40), floats(40)), "shuffle_mask_names_absent_lane", also=("shuffle_inactive_source",))
def shuffle_behind_the_guard(x, o):
    t = cuda.grid(1)
    if t < 33:
        v = x[t]
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, 1)
        o[t] = v


@wrong(1, 32, lambda: (random(32), floats(32)), "shuffle_inactive_source")
def shuffle_across_a_gap(x, o):
    t = cuda.grid(1)
    m = cuda.ballot_sync(0xFFFFFFFF, t % 3 != 0)
    v = x[t]
    if t % 3 != 0:
        v = cuda.shfl_up_sync(m, v, 1)
    o[t] = v


def segment_sums(k, v, o):
    return {2: np.bincount(k, v, minlength=8)}


@clean(1, 32, lambda: (np.sort(draw(8, 32)), random(32), floats(8)), result=segment_sums)
def segmented_sum(key, v, o):
    t = cuda.grid(1)
    lane = cuda.laneid
    k = key[t]
    a = v[t]
    d = 1
    while d < 32:
        u = cuda.shfl_down_sync(0xFFFFFFFF, a, d)
        ku = cuda.shfl_down_sync(0xFFFFFFFF, k, d)
        if lane + d < 32 and ku == k:
            a += u
        d *= 2
    kp = cuda.shfl_up_sync(0xFFFFFFFF, k, 1)
    if lane == 0 or kp != k:
        o[k] = a


@clean(2, 64, lambda: (draw(4, 128), ints(4)), result=lambda k, o: {1: np.bincount(k, minlength=4)})
def aggregated_atomics(key, o):
    k = key[cuda.grid(1)]
    m = cuda.match_any_sync(0xFFFFFFFF, k)
    if cuda.laneid == cuda.ffs(m) - 1:
        cuda.atomic.add(o, k, cuda.popc(m))


@wrong(1, 32, lambda: (ints(32),), "warp_mask_excludes_caller", also=("shuffle_inactive_source",))
def mask_of_the_others(out):
    t = cuda.threadIdx.x
    out[t] = cuda.ballot_sync(0xFFFF, t > 3)


@wrong(1, 32, lambda: (draw(4, 32), ints(32)), "warp_mask_excludes_caller", also=("shuffle_inactive_source",))
def ballot_as_mask(x, o):
    t = cuda.grid(1)
    m = cuda.ballot_sync(0xFFFFFFFF, x[t] > 0)
    o[t] = cuda.shfl_sync(m, t, 0)


@wrong(1, 32, lambda: (draw(4, 32), ints(32)), "warp_mask_excludes_caller", also=("shuffle_mask_names_absent_lane",))
def wrong_half(x, o):
    t = cuda.grid(1)
    if t % 2 == 0:
        cuda.syncwarp(0xAAAAAAAA)
    o[t] = x[t]


@wrong(1, 32, lambda: (ints(32),), "shuffle_mask_names_absent_lane")
def syncwarp_in_if(o):
    t = cuda.grid(1)
    if t < 16:
        cuda.syncwarp()
    o[t] = t


@wrong(1, 32, lambda: (ints(32),), "shuffle_mask_names_absent_lane", also=("shuffle_inactive_source",))
def shuffle_after_return(o):
    t = cuda.grid(1)
    if t >= 20:
        return
    o[t] = cuda.shfl_xor_sync(0xFFFFFFFF, t, 1)


@wrong(1, 32, lambda: (random(32), floats(32)), "shuffle_mask_names_absent_lane", also=("shuffle_inactive_source",))
def shuffle_in_a_loop_of_own_length(x, o):
    t = cuda.grid(1)
    v = x[t]
    for _k in range(t % 4):
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 1)
    o[t] = v


@clean(1, 32, lambda: (random(32), floats(32)))
def shuffle_in_a_common_loop(x, o):
    t = cuda.grid(1)
    v = x[t]
    for k in range(4):
        u = cuda.shfl_xor_sync(0xFFFFFFFF, v, 1)
        if k < t % 4:
            v += u
    o[t] = v
