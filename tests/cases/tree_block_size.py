"""A halving tree started with a block that is no power of two: an odd width leaves one partial sum behind.

https://numba.discourse.group/t/shared-memory-reduction-example-assuming-1-block/1795
https://github.com/srush/GPU-Puzzles/issues/26
"""

import numpy as np

from gpukit import cuda

THREADS = 160  # 160, 80, 40, 20, 10, 5, 2, 1: the fifth of five is never added


def halving(x, out):
    part = cuda.shared.array(THREADS, np.int64)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    width = cuda.blockDim.x // 2
    while width >= 1:
        if t < width:
            part[t] += part[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def halving_up(x, out):
    part = cuda.shared.array(THREADS, np.int64)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    live = cuda.blockDim.x
    while live > 1:
        half = live - live // 2
        if t < live // 2:
            part[t] += part[t + half]
        cuda.syncthreads()
        live = half
    if t == 0:
        out[cuda.blockIdx.x] = part[0]


def args():
    return [np.arange(2 * THREADS, dtype=np.int64), np.zeros(2, np.int64)]


SUMS = np.arange(2 * THREADS).reshape(2, -1).sum(1)
# Slot 4 of five holds every element whose number leaves 4 when divided by 5.
LOST = np.arange(2 * THREADS).reshape(2, -1, 5)[:, :, 4].sum(1)

CASES = {
    "odd width": {
        "kernel": halving,
        "args": args,
        "grid": 2,
        "block": THREADS,
        "out": 1,
        "detect": ["wrong_result"],
        "result": SUMS - LOST,
        "correct": SUMS,
    },
    "rounded up": {
        "kernel": halving_up,
        "args": args,
        "grid": 2,
        "block": THREADS,
        "out": 1,
        "detect": [],
        "result": SUMS,
        "correct": SUMS,
    },
}
