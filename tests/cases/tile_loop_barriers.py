"""A tile that is filled again before everyone has read it.

https://github.com/srush/GPU-Puzzles/issues/14
https://github.com/csarofeen/pytorch/issues/380
"""

import numpy as np

from gpukit import cuda

THREADS = 96


def one_barrier(x, out):
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    best = 0
    for first in range(0, x.size, THREADS):
        tile[t] = x[first + t]
        cuda.syncthreads()
        best = max(best, tile[(t + 40) % THREADS])
    out[t] = best


def two_barriers(x, out):
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    best = 0
    for first in range(0, x.size, THREADS):
        tile[t] = x[first + t]
        cuda.syncthreads()
        best = max(best, tile[(t + 40) % THREADS])
        cuda.syncthreads()
    out[t] = best


def values():
    return np.random.default_rng(5).integers(0, 1000, 3 * THREADS).astype(np.int32)


def args():
    return [values(), np.zeros(THREADS, np.int32)]


BEST = np.roll(values().reshape(3, THREADS).max(0), -40)

CASES = {
    "one barrier": {
        "kernel": one_barrier,
        "args": args,
        "grid": 1,
        "block": THREADS,
        "out": 1,
        "detect": ["race_shared"],
        "correct": BEST,
    },
    "two barriers": {
        "kernel": two_barriers,
        "args": args,
        "grid": 1,
        "block": THREADS,
        "out": 1,
        "detect": [],
        "result": BEST,
        "correct": BEST,
    },
}
