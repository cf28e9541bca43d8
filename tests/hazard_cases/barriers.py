"""Barriers that not every thread of the block, or not every block of the grid, reaches."""

import numpy as np
from hazard_cases.table import clean, draw, floats, ints, random, wrong
from numpy import float32, int32

from gpukit import cuda


@wrong(1, 32, lambda: (ints(32),), "barrier_divergence")
def barrier_in_if(out):
    t = cuda.threadIdx.x
    if t < 16:
        cuda.syncthreads()
    out[t] = t


@wrong(1, 64, lambda: (ints(64),), "barrier_divergence")
def barrier_on_both_sides(out):
    t = cuda.threadIdx.x
    if t < 32:
        out[t] = 1
        cuda.syncthreads()
    else:
        out[t] = 2
        cuda.syncthreads()


@wrong(1, 64, lambda: (ints(64),), "barrier_divergence")
def barrier_more_often_for_some(out):
    t = cuda.threadIdx.x
    for _i in range(t // 32 + 1):
        cuda.syncthreads()
    out[t] = t


@clean(4, 64, lambda: (ints(256),))
def barrier_in_some_blocks(out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x % 2 == 0:
        cuda.syncthreads()
    for _i in range(cuda.blockIdx.x):
        cuda.syncthreads()
    out[cuda.grid(1)] = t


@wrong(1, 64, lambda: (draw(5, 64), ints(64)), "barrier_divergence")
def barrier_in_a_loop_of_own_length(x, o):
    t = cuda.grid(1)
    k = x[t]
    while k > 0:
        k -= 1
        cuda.syncthreads()
    o[t] = k


@wrong(1, 64, lambda: (random(64), floats(64)), "barrier_divergence", also=("barrier_with_exited_threads",))
def break_before_barrier(x, o):
    t = cuda.grid(1)
    v = x[t]
    for _k in range(10):
        if v > 0.5:
            break
        cuda.syncthreads()
        v += float32(0.1)
    o[t] = v


@wrong(1, 64, lambda: (random(64), floats(64)), "barrier_divergence")
def continue_past_barrier(x, o):
    t = cuda.grid(1)
    v = x[t]
    for k in range(4):
        if (t + k) % 2:
            continue
        v += 1
        cuda.syncthreads()
    o[t] = v


@wrong(1, 64, lambda: (draw(9, 64), ints(64)), "barrier_divergence")
def continue_past_barrier_in_while(x, o):
    t = cuda.grid(1)
    k = 0
    while k < 5:
        k += 1
        if (t + k) % 2:
            continue
        cuda.syncthreads()
        o[t] += 1


@clean(1, 64, lambda: (draw(9, 64), ints(64)))
def continue_after_barrier(x, o):
    s = cuda.shared.array(64, int32)
    t = cuda.grid(1)
    k = 0
    while k < 5:
        k += 1
        cuda.syncthreads()
        s[t] = k
        cuda.syncthreads()
        if t % 2:
            continue
        if t % 3 == 0:
            o[t] += s[(t + 7) % 64]
            continue
        o[t] += 1


@cuda.jit(device=True)
def publish(s, t, v):
    s[t] = v
    cuda.syncthreads()
    return s[0]


@wrong(1, 64, lambda: (random(64), floats(64)), "barrier_divergence")
def barrier_in_a_helper_in_if(x, o):
    s = cuda.shared.array(64, float32)
    t = cuda.grid(1)
    a = float32(0)
    if x[t] > 0.5:
        a = publish(s, t, x[t])
    o[t] = a


@wrong(1, 64, lambda: (random(64), ints(64)), "barrier_divergence")
def count_in_if(x, o):
    t = cuda.grid(1)
    if t % 2 == 0:
        o[t] = cuda.syncthreads_count(int(x[t] > 0.5))
    else:
        o[t] = -1


@clean(1, 64, lambda: (random(64), ints(64)), result=lambda x, o: {1: np.full(64, (x > 0.5).sum())})
def count(x, o):
    t = cuda.grid(1)
    o[t] = cuda.syncthreads_count(int(x[t] > 0.5))


@wrong(1, 64, lambda: (random(50), floats(50)), "barrier_with_exited_threads")
def all_inside_the_guard(x, o):
    s = cuda.shared.array(64, float32)
    t = cuda.grid(1)
    if t < x.size:
        s[t] = x[t]
        cuda.syncthreads()
        o[t] = s[x.size - 1 - t]


@wrong(2, 64, lambda: (ints(100),), "barrier_with_exited_threads")
def return_inside_the_loop(out):
    i = cuda.grid(1)
    for _k in range(3):
        if i >= out.size:
            return
        cuda.syncthreads()
    out[i] = i


@wrong(2, 64, lambda: (ints(128), ints(128)), "barrier_with_exited_threads")
def return_inside_the_loop_after_some_work(out, seen):
    i = cuda.grid(1)
    for k in range(3):
        if i % 8 == 5 and k == 1:
            if out[i] > 0:
                seen[i] = 1
            return
        out[i] += 1
        cuda.syncthreads()
    seen[i] = 2


@wrong(
    (2, 2),
    (16, 16),
    lambda: (random(20, 25), random(25, 30), floats(20, 30)),
    "barrier_with_exited_threads",
    also=("uninit_shared_read", "unwritten_output"),
)
def matmul_early_return(A, B, C):
    sA = cuda.shared.array((16, 16), float32)
    sB = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    if y >= C.shape[0] or x >= C.shape[1]:
        return
    tmp = float32(0)
    for i in range((A.shape[1] + 15) // 16):
        k = i * 16 + tx
        sA[ty, tx] = A[y, k] if k < A.shape[1] else 0
        k = i * 16 + ty
        sB[ty, tx] = B[k, x] if k < B.shape[0] else 0
        cuda.syncthreads()
        for j in range(16):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    C[y, x] = tmp


@wrong(2, 64, lambda: (random(60), floats(60)), "barrier_with_exited_threads", "uninit_shared_read")
def return_before_barrier(x, y):
    i = cuda.grid(1)
    if i >= x.size:
        return
    s = cuda.shared.array(64, float32)
    s[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    y[i] = s[63 - cuda.threadIdx.x]


@clean(2, 64, lambda: (random(100), floats(100)), result=lambda x, y: {1: x + x[[0] * 64 + [64] * 36]})
def return_after_barrier(x, y):
    s = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if i >= x.size:
        return
    y[i] = s[t] + s[0]


@wrong(
    3,
    32,
    lambda: (random(96), floats(96)),
    "barrier_divergence",
    also=("barrier_with_exited_threads",),
)
def grid_sync_of_some_blocks(x, o):
    g = cuda.cg.this_grid()
    i = cuda.grid(1)
    if cuda.blockIdx.x < 2:
        g.sync()
    o[i] = x[i]
