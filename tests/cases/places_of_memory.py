"""Shared, local and global memory: beyond the end, before it is written, under two names, in no order.

https://github.com/numba/numba/issues/5073
https://github.com/numba/numba/issues/6055
https://github.com/numba/numba/issues/7769
"""

import numpy as np

from gpukit import cuda


def halo_too_small(x, out):
    tile = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[t] + tile[t + 1]


def halo(x, out):
    tile = cuda.shared.array(33, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    if t == 31:
        tile[32] = 0
    cuda.syncthreads()
    out[t] = tile[t] + tile[t + 1]


def window_too_small(x, out):
    recent = cuda.local.array(4, np.float32)
    t = cuda.threadIdx.x
    for k in range(5):
        recent[k] = x[(t + k) % x.size]
    out[t] = recent[0] + recent[3]


def window_not_filled(x, out):
    recent = cuda.local.array(4, np.float32)
    t = cuda.threadIdx.x
    for k in range(3):
        recent[k] = x[(t + k) % x.size]
    total = np.float32(0)
    for k in range(4):
        total += recent[k]
    out[t] = total


def window(x, out):
    recent = cuda.local.array(4, np.float32)
    t = cuda.threadIdx.x
    for k in range(4):
        recent[k] = x[(t + k) % x.size]
    total = np.float32(0)
    for k in range(4):
        total += recent[k]
    out[t] = total


def two_dynamic_arrays(x, out):
    values = cuda.shared.array(0, np.float32)
    sums = cuda.shared.array(0, np.float32)
    t = cuda.threadIdx.x
    values[t] = x[t]
    cuda.syncthreads()
    sums[t] = values[31 - t] + 1
    cuda.syncthreads()
    out[t] = sums[t] + values[t]


def one_dynamic_array_in_slices(x, out):
    both = cuda.shared.array(0, np.float32)
    values = both[:32]
    sums = both[32:]
    t = cuda.threadIdx.x
    values[t] = x[t]
    cuda.syncthreads()
    sums[t] = values[31 - t] + 1
    cuda.syncthreads()
    out[t] = sums[t] + values[t]


def previous_of_the_first(x, out):
    t = cuda.threadIdx.x
    out[t] = x[t] - x[t - 1]


def previous(x, out):
    t = cuda.threadIdx.x
    out[t] = x[t] - x[t - 1] if t > 0 else x[t]


def last_in_python_style(x, out):
    out[cuda.threadIdx.x] = x[x.size - 1]


def float_atomics(x, out):
    cuda.atomic.add(out, 0, x[cuda.threadIdx.x])


def neighbours_in_place(x, out):
    i = cuda.grid(1)
    if i + 1 < x.size:
        out[i] = out[i + 1] + x[i]


def neighbours(x, out):
    i = cuda.grid(1)
    if i + 1 < x.size:
        out[i] = x[i + 1] + x[i]
    elif i < x.size:
        out[i] = x[i]


def floats(n=32):
    return [np.arange(n, dtype=np.float32), np.zeros(n, np.float32)]


def one(kernel, detect, grid=1, block=32, shared_bytes=0, n=32, **more):
    launch = {"kernel": kernel, "args": lambda: floats(n), "grid": grid, "block": block, "out": 1, "detect": detect}
    return {**launch, "shared_bytes": shared_bytes, **more}


X = np.arange(32)
HALO = X + np.append(X[1:], 0)
WINDOW = sum(np.roll(X, -k) for k in range(4))
DIFFERENCE = np.append(0, np.diff(X))

CASES = {
    "halo too small": one(halo_too_small, ["oob_shared"], counts={"oob_shared": 1}),
    "halo": one(halo, [], result=HALO, correct=HALO),
    "window too small": one(window_too_small, ["oob_local"], counts={"oob_local": 32}),
    "window not filled": one(window_not_filled, ["uninit_local_read"], counts={"uninit_local_read": 32}),
    "window": one(window, [], result=WINDOW, correct=WINDOW),
    "two dynamic arrays": one(two_dynamic_arrays, ["alias_dynamic_shared"], shared_bytes=256),
    "one dynamic array": one(
        one_dynamic_array_in_slices, [], shared_bytes=256, result=X[::-1] + 1 + X, correct=32 + 0 * X
    ),
    "previous of the first": one(previous_of_the_first, ["negative_index"], counts={"negative_index": 1}),
    "previous": one(previous, [], result=DIFFERENCE, correct=DIFFERENCE),
    "last element": one(last_in_python_style, [], result=31 + 0 * X, correct=31 + 0 * X),
    "order of float atomics": {
        "kernel": float_atomics,
        "args": lambda: [np.arange(32, dtype=np.float32), np.zeros(1, np.float32)],
        "grid": 1,
        "block": 32,
        "out": 1,
        "detect": ["nonassociative_atomics"],
        "result": [496.0],
        "correct": [496.0],
    },
    "neighbours in place, one block": one(neighbours_in_place, ["race_global"]),
    "neighbours in place, two blocks": one(neighbours_in_place, ["race_global_interblock"], grid=2, n=64),
    "neighbours": one(neighbours, [], grid=2, block=16, result=HALO, correct=HALO),
}
