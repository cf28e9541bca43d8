"""`+=` on one place from many threads: load, add and store are three steps, and updates get lost.

https://github.com/numba/numba/issues/4907
https://numba.discourse.group/t/why-numba-cuda-has-different-results-with-cpu-for-loop/2479
"""

import numpy as np

from gpukit import cuda


def shared_counter(x, out):
    small = cuda.shared.array(1, np.int32)
    t = cuda.threadIdx.x
    if t == 0:
        small[0] = 0
    cuda.syncthreads()
    if x[t] < 10:
        small[0] += 1
    cuda.syncthreads()
    if t == 0:
        out[0] = small[0]


def global_bins(x, out):
    i = cuda.grid(1)
    out[x[i] % out.size] += 1


def global_bins_atomic(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, x[i] % out.size, 1)


def shared_counter_atomic(x, out):
    small = cuda.shared.array(1, np.int32)
    t = cuda.threadIdx.x
    if t == 0:
        small[0] = 0
    cuda.syncthreads()
    if x[t] < 10:
        cuda.atomic.add(small, 0, 1)
    cuda.syncthreads()
    if t == 0:
        out[0] = small[0]


def shared_counter_votes(x, out):
    out[0] = cuda.syncthreads_count(int(x[cuda.threadIdx.x] < 10))


def one_count():
    return [np.arange(96, dtype=np.int32) % 16, np.zeros(1, np.int32)]


def four_bins():
    return [np.arange(96, dtype=np.int32), np.zeros(4, np.int32)]


CASES = {
    "shared counter": {
        "kernel": shared_counter,
        "args": one_count,
        "grid": 1,
        "block": 96,
        "out": 1,
        "detect": ["race_shared"],
        "correct": [60],
    },
    "bins of one block": {
        "kernel": global_bins,
        "args": four_bins,
        "grid": 1,
        "block": 96,
        "out": 1,
        "detect": ["race_global"],
        "correct": [24, 24, 24, 24],
    },
    "bins of three blocks": {
        "kernel": global_bins,
        "args": four_bins,
        "grid": 3,
        "block": 32,
        "out": 1,
        "detect": ["race_global_interblock"],
        "correct": [24, 24, 24, 24],
    },
    "bins with atomics": {
        "kernel": global_bins_atomic,
        "args": four_bins,
        "grid": 3,
        "block": 32,
        "out": 1,
        "detect": [],
        "result": [24, 24, 24, 24],
        "correct": [24, 24, 24, 24],
    },
    "shared counter with atomics": {
        "kernel": shared_counter_atomic,
        "args": one_count,
        "grid": 1,
        "block": 96,
        "out": 1,
        "detect": [],
        "result": [60],
        "correct": [60],
    },
    "shared counter by vote": {
        "kernel": shared_counter_votes,
        "args": one_count,
        "grid": 1,
        "block": 96,
        "out": 1,
        "detect": [],
        "result": [60],
        "correct": [60],
    },
}
