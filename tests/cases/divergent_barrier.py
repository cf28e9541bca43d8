"""A barrier that only some threads of the block come to.

https://github.com/numba/numba/issues/8874
https://stackoverflow.com/questions/6666382/can-i-use-syncthreads-after-having-dropped-threads
https://github.com/numba/numba/issues/2655
"""

import numpy as np

from gpukit import cuda

THREADS = 128


def barrier_in_branch(x, out):
    s = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    if t < x.size:
        s[t] = x[t]
        cuda.syncthreads()
        out[t] = s[x.size - 1 - t]
    else:
        s[t] = 0
        out[t] = -1
    cuda.syncthreads()


def barriers_of_two_branches(x, out):
    s = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    if t < x.size:
        s[t] = x[t]
        cuda.syncthreads()
    else:
        s[t] = -1
        cuda.syncthreads()
    out[t] = s[THREADS - 1 - t]


def early_return(x, out):
    s = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    if t >= x.size:
        return
    s[t] = x[t]
    cuda.syncthreads()
    out[t] = s[THREADS - 1 - t]


def barrier_for_all(x, out):
    s = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    s[t] = x[t] if t < x.size else -1
    cuda.syncthreads()
    out[t] = s[THREADS - 1 - t]


def args():
    return [np.arange(100, 190, dtype=np.int32), np.zeros(THREADS, np.int32)]


PADDED = np.concatenate((np.arange(100, 190), np.full(38, -1)))

CASES = {
    "barrier in a branch": {
        "kernel": barrier_in_branch,
        "args": args,
        "grid": 1,
        "block": THREADS,
        "out": 1,
        "detect": ["barrier_divergence"],
    },
    "one barrier in each branch": {
        "kernel": barriers_of_two_branches,
        "args": args,
        "grid": 1,
        "block": THREADS,
        "out": 1,
        "detect": ["barrier_divergence"],
    },
    "return before the barrier": {
        "kernel": early_return,
        "args": args,
        "grid": 1,
        "block": THREADS,
        "out": 1,
        "detect": ["barrier_with_exited_threads", "uninit_shared_read"],
    },
    "barrier for all": {
        "kernel": barrier_for_all,
        "args": args,
        "grid": 1,
        "block": THREADS,
        "out": 1,
        "detect": [],
        "result": PADDED[::-1],
        "correct": PADDED[::-1],
    },
}
