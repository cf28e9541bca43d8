"""Indices outside their array, and memory that is read before it is written."""

import numpy as np
from hazard_cases.table import clean, draw, floats, ints, random, wrong
from numpy import float32, int32, uint32

from gpukit import cuda


@wrong(2, 64, lambda: (random(100), floats(100)), "oob_global_read", "oob_global_write")
def no_guard(x, y):
    i = cuda.grid(1)
    y[i] = 2 * x[i]


@wrong(1, 32, lambda: (random(32), floats(32)), "oob_global_read")
def difference_one_too_far(x, y):
    i = cuda.grid(1)
    y[i] = x[i + 1] - x[i]


@clean(1, 32, lambda: (random(32), floats(31)), result=lambda x, y: {1: np.diff(x)})
def difference(x, y):
    i = cuda.grid(1)
    if i + 1 < x.size:
        y[i] = x[i + 1] - x[i]


@wrong(
    (2, 2),
    (16, 16),
    lambda: (random(20, 20), random(20, 20), floats(20, 20)),
    "oob_global_read",
    also=("oob_global_write",),
)
def matmul_no_guard(A, B, C):
    sA = cuda.shared.array((16, 16), float32)
    sB = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tmp = float32(0)
    for i in range((A.shape[1] + 15) // 16):
        sA[ty, tx] = A[y, i * 16 + tx]
        sB[ty, tx] = B[i * 16 + ty, x]
        cuda.syncthreads()
        for j in range(16):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    C[y, x] = tmp


@clean((2, 2), (16, 16), lambda: (random(20, 25), random(25, 30), floats(20, 30)), result=lambda a, b, c: {2: a @ b})
def matmul_any_size(A, B, C):
    sA = cuda.shared.array((16, 16), float32)
    sB = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tmp = float32(0)
    for i in range((A.shape[1] + 15) // 16):
        k = i * 16 + tx
        sA[ty, tx] = A[y, k] if y < A.shape[0] and k < A.shape[1] else 0
        k = i * 16 + ty
        sB[ty, tx] = B[k, x] if k < B.shape[0] and x < B.shape[1] else 0
        cuda.syncthreads()
        for j in range(16):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


@wrong(2, 64, lambda: (random(128), floats(128)), "oob_shared", also=("uninit_shared_read",))
def halo_past_the_tile(x, y):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    y[i] = s[t] + s[t + 1]


@wrong(2, 64, lambda: (random(128), floats(128)), "negative_index", also=("uninit_shared_read",))
def halo_before_the_tile(x, y):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    y[i] = s[t] - s[t - 1]


@wrong(1, 32, lambda: (random(32), floats(32)), "negative_index")
def share_of_the_last(x, y):
    i = cuda.grid(1)
    y[i] = x[i] / x[-1]


@wrong(2, 64, lambda: (random(128), floats(128)), "uninit_shared_read")
def halo_not_loaded(x, y):
    s = cuda.shared.array(66, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 1] = x[i]
    if t == 0 and i > 0:
        s[0] = x[i - 1]
    if t == 63 and i + 1 < x.size:
        s[65] = x[i + 1]
    cuda.syncthreads()
    y[i] = s[t] + s[t + 1] + s[t + 2]


@clean(2, 64, lambda: (random(128), floats(128)), result=lambda x, y: {1: np.convolve(x, [1, 1, 1], "same")}, fast=True)
def halo(x, y):
    s = cuda.shared.array(66, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 1] = x[i]
    if t == 0:
        s[0] = x[i - 1] if i > 0 else 0
    if t == 63:
        s[65] = x[i + 1] if i + 1 < x.size else 0
    cuda.syncthreads()
    y[i] = s[t] + s[t + 1] + s[t + 2]


@wrong(1, 64, lambda: (random(64), floats(64)), "oob_shared", shared_bytes=4 * 32, also=("uninit_shared_read",))
def dynamic_shared_too_small(x, y):
    s = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    y[t] = s[63 - t]


@wrong(1, 8, lambda: (np.zeros((8, 3), float32), ints(8)), "oob_global_write")
def row_too_short(a, o):
    row = a[cuda.threadIdx.x]
    for j in range(4):
        row[j] = j
    o[cuda.threadIdx.x] = 1


@wrong(
    1,
    4,
    lambda: (np.array([[0, 1], [2, -1], [1, -1], [3, 0]], int32), random(4, 2), random(4), floats(4)),
    "negative_index",
)
def ell_padding_as_index(cols, v, x, y):
    i = cuda.grid(1)
    a = float32(0)
    for k in range(cols.shape[1]):
        a += v[i, k] * x[cols[i, k]]
    y[i] = a


@clean(1, 4, lambda: (np.array([[0, 1], [2, -1], [1, -1], [3, 0]], int32), random(4, 2), random(4), floats(4)))
def ell_padding_tested(cols, v, x, y):
    i = cuda.grid(1)
    a = float32(0)
    for k in range(cols.shape[1]):
        c = cols[i, k]
        if c >= 0:
            a += v[i, k] * x[c]
    y[i] = a


@wrong(1, 32, lambda: (random(0), floats(1)), "oob_global_read")
def empty_input(x, o):
    if cuda.grid(1) == 0:
        o[0] = x[0]


@wrong(1, 32, lambda: (random(32), floats(32)), "oob_global_read")
def unsigned_minus_one(x, y):
    t = uint32(cuda.threadIdx.x)
    y[t] = x[uint32(t - uint32(1))]


rec = np.dtype([("pos", float32, (3,)), ("id", int32)])


@wrong(1, 8, lambda: (np.zeros(6, rec), floats(8)), "oob_global_read")
def record_no_guard(p, o):
    t = cuda.grid(1)
    o[t] = p[t]["id"]


@wrong(1, 32, lambda: (random(32, 8), floats(32, 3)), "oob_local")
def insertion_past_the_end(x, o):
    t = cuda.grid(1)
    best = cuda.local.array(3, float32)
    for k in range(3):
        best[k] = -1
    for j in range(8):
        v = x[t, j]
        k = 3
        while k > 0 and best[k - 1] < v:
            best[k] = best[k - 1]
            k -= 1
        best[k] = v
    for k in range(3):
        o[t, k] = best[k]


@clean(1, 32, lambda: (random(32, 8), floats(32, 3)), result=lambda x, o: {1: -np.sort(-x, 1)[:, :3]})
def best_three(x, o):
    t = cuda.grid(1)
    best = cuda.local.array(3, float32)
    for k in range(3):
        best[k] = -1
    for j in range(8):
        v = x[t, j]
        for k in range(3):
            if v > best[k]:
                best[k], v = v, best[k]
    for k in range(3):
        o[t, k] = best[k]


@wrong(2, 128, lambda: (random(256), floats(2)), "uninit_shared_read")
def sums_of_warps_that_are_not_there(x, o):
    w = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    v = x[cuda.grid(1)]
    for k in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, k)
    if t % 32 == 0:
        w[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = w[t]
        for k in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, k)
        if t == 0:
            o[cuda.blockIdx.x] = v


@clean(2, 128, lambda: (random(256), floats(2)), result=lambda x, o: {1: x.reshape(2, 128).sum(1)}, fast=True)
def sums_of_warps(x, o):
    w = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    v = x[cuda.grid(1)]
    for k in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, k)
    if t % 32 == 0:
        w[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = w[t] if t < cuda.blockDim.x // 32 else float32(0)
        for k in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, k)
        if t == 0:
            o[cuda.blockIdx.x] = v


@wrong(2, 128, lambda: (draw(8, 256), ints(8)), "uninit_shared_read")
def histogram_not_zeroed(x, h):
    s = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    cuda.atomic.add(s, x[cuda.grid(1)], 1)
    cuda.syncthreads()
    if t < 8:
        cuda.atomic.add(h, t, s[t])


@wrong(1, 32, lambda: (draw(8, 320).reshape(32, 10), ints(32)), "uninit_local_read")
def own_counts_not_zeroed(x, o):
    c = cuda.local.array(8, int32)
    t = cuda.grid(1)
    for j in range(10):
        c[x[t, j]] += 1
    o[t] = c[0]


@clean(1, 32, lambda: (draw(8, 320).reshape(32, 10), ints(32)), result=lambda x, o: {1: (x == 0).sum(1)})
def own_counts(x, o):
    c = cuda.local.array(8, int32)
    t = cuda.grid(1)
    for k in range(8):
        c[k] = 0
    for j in range(10):
        c[x[t, j]] += 1
    o[t] = c[0]


@wrong(1, 32, lambda: (ints(32),), "alias_dynamic_shared", shared_bytes=256, also=("race_shared",))
def two_dynamic_arrays(out):
    a = cuda.shared.array(0, int32)
    b = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    a[t] = t
    b[t] = float32(1)
    cuda.syncthreads()
    out[t] = a[t]


@clean(1, 32, lambda: (ints(32),), shared_bytes=256)
def two_slices_of_dynamic_memory(out):
    a = cuda.shared.array(0, int32)[:32]
    b = cuda.shared.array(0, float32)[32:64]
    t = cuda.threadIdx.x
    a[t] = t
    b[t] = float32(1)
    cuda.syncthreads()
    out[t] = a[t] + int(b[t])
