"""Masks, shuffles and the tail of a reduction inside one warp: lanes that are named and absent, or read and inactive.

https://docs.nvidia.com/cuda/cuda-c-programming-guide/ (warp shuffle functions)
https://github.com/numba/numba/pull/6127
https://github.com/numba/numba/issues/9770
"""

import numpy as np

from gpukit import cuda

FULL = 0xFFFFFFFF


def full_mask_in_a_branch(x, out):
    lane = cuda.threadIdx.x
    value = x[lane]
    if lane < 20:
        value += cuda.shfl_xor_sync(FULL, value, 1)
    out[lane] = value


def exact_mask_in_a_branch(x, out):
    lane = cuda.threadIdx.x
    value = x[lane]
    if lane < 20:
        value += cuda.shfl_xor_sync(0x000FFFFF, value, 1)
    out[lane] = value


def full_mask_in_a_partial_warp(x, out):
    t = cuda.threadIdx.x
    value = x[t]
    value += cuda.shfl_down_sync(FULL, value, 1)
    out[t] = value


def reads_a_lane_outside_the_mask(x, out):
    lane = cuda.threadIdx.x
    value = x[lane]
    if lane < 16:
        value = cuda.shfl_sync(0x0000FFFF, value, lane + 8)
    out[lane] = value


def caller_outside_its_mask(x, out):
    lane = cuda.threadIdx.x
    out[lane] = cuda.ballot_sync(0x0000FFFF, x[lane] > 0)


def two_branches_meet(x, out):
    lane = cuda.threadIdx.x
    value = x[lane]
    if lane % 2 == 0:  # noqa: SIM108
        value = cuda.shfl_xor_sync(FULL, value, 1)
    else:
        value = cuda.shfl_xor_sync(FULL, value, 1)
    out[lane] = value


def tail_in_lockstep(x, out):
    s = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
        s[t] += s[t + 16]
        s[t] += s[t + 8]
        s[t] += s[t + 4]
        s[t] += s[t + 2]
        s[t] += s[t + 1]
    if t == 0:
        out[0] = s[0]


def tail_with_syncwarp(x, out):
    s = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        value = s[t] + s[t + 32]
        width = 16
        while width > 0:
            cuda.syncwarp()
            s[t] = value
            cuda.syncwarp()
            value += s[(t + width) % 32]
            width //= 2
        if t == 0:
            out[0] = value


def tail_with_shuffles(x, out):
    s = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        value = s[t] + s[t + 32]
        width = 16
        while width > 0:
            value += cuda.shfl_down_sync(FULL, value, width)
            width //= 2
        if t == 0:
            out[0] = value


def scan_in_a_warp(x, out):
    lane = cuda.laneid
    value = x[lane]
    step = 1
    while step < 32:
        below = cuda.shfl_up_sync(FULL, value, step)
        if lane >= step:
            value += below
        step *= 2
    out[lane] = value


def compaction(x, out):
    lane = cuda.laneid
    keep = x[lane] % 3 == 0
    votes = cuda.ballot_sync(FULL, keep)
    if keep:
        out[cuda.popc(votes & cuda.lanemask_lt())] = x[lane]


def numbers(n=32):
    return [np.arange(n, dtype=np.int32), np.full(n, -1, np.int32)]


def paired():
    x = np.arange(32)
    return np.where(x < 20, x + (x ^ 1), x)


def multiples_of_three():
    return [np.arange(32, dtype=np.int32), np.full(11, -1, np.int32)]


def one(kernel, detect, n=32, **more):
    return {"kernel": kernel, "args": lambda: numbers(n), "grid": 1, "block": n, "out": 1, "detect": detect, **more}


def total(kernel, detect, **more):
    def args():
        return [np.arange(64, dtype=np.int32), np.zeros(1, np.int32)]

    return {"kernel": kernel, "args": args, "grid": 1, "block": 64, "out": 1, "detect": detect, **more}


CASES = {
    "full mask in a branch": one(full_mask_in_a_branch, ["shuffle_mask_names_absent_lane"]),
    "full mask in a partial warp": one(full_mask_in_a_partial_warp, ["shuffle_mask_names_absent_lane"], n=20),
    "lane outside the mask": one(reads_a_lane_outside_the_mask, ["shuffle_inactive_source"]),
    "caller outside its mask": one(caller_outside_its_mask, ["warp_mask_excludes_caller"]),
    "exact mask in a branch": one(exact_mask_in_a_branch, [], result=paired(), correct=paired()),
    "two branches meet": one(two_branches_meet, [], result=np.arange(32) ^ 1, correct=np.arange(32) ^ 1),
    "scan": one(scan_in_a_warp, [], result=np.arange(32).cumsum(), correct=np.arange(32).cumsum()),
    "compaction": {
        "kernel": compaction,
        "args": multiples_of_three,
        "grid": 1,
        "block": 32,
        "out": 1,
        "detect": [],
        "result": np.arange(0, 32, 3),
        "correct": np.arange(0, 32, 3),
    },
    "tail in lockstep": total(tail_in_lockstep, ["race_shared"]),
    "tail with syncwarp": total(tail_with_syncwarp, [], result=[2016], correct=[2016]),
    "tail with shuffles": total(tail_with_shuffles, [], result=[2016], correct=[2016]),
}
