"""The last block is not full, and the threads beyond the data leave their shared slot as they found it.

https://github.com/srush/GPU-Puzzles/issues/20
https://github.com/numba/numba/issues/6076
https://github.com/dlsys-course/examples/issues/1
"""

import numpy as np

from gpukit import cuda

THREADS = 32


def slots_left_alone(x, out):
    tile = cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if t == 0:
        total = 0.0
        for k in range(THREADS):
            total += tile[k]
        out[cuda.blockIdx.x] = total


def neutral_element(x, out):
    tile = cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    if t == 0:
        total = 0.0
        for k in range(THREADS):
            total += tile[k]
        out[cuda.blockIdx.x] = total


def args():
    return [np.arange(1.0, 61.0), np.zeros(2)]


SUMS = np.array([np.arange(1.0, 33.0).sum(), np.arange(33.0, 61.0).sum()])

CASES = {
    "slots left alone": {
        "kernel": slots_left_alone,
        "args": args,
        "grid": 2,
        "block": THREADS,
        "out": 1,
        "detect": ["uninit_shared_read"],
        "correct": SUMS,
        "counts": {"uninit_shared_read": 4},
    },
    "neutral element": {
        "kernel": neutral_element,
        "args": args,
        "grid": 2,
        "block": THREADS,
        "out": 1,
        "detect": [],
        "result": SUMS,
        "correct": SUMS,
    },
}
