"""Two threads and one element of global memory, in one block or in two."""

import numpy as np
from hazard_cases.table import clean, draw, floats, ints, ramp, random, wrong
from numpy import float32, int32, uint32

from gpukit import cuda


@wrong(1, 64, lambda: (ints(1),), "race_global")
def update_by_a_block(out):
    out[0] += 1


@wrong(2, 1, lambda: (ints(1),), "race_global_interblock")
def update_by_two_blocks(out):
    out[0] += 1


@clean(4, 64, lambda: (ints(1),), result=lambda *_: {0: [256]})
def update_by_atomics(out):
    cuda.atomic.add(out, 0, 1)


@wrong(4, 64, lambda: (ints(1),), "race_global_interblock", "race_global")
def last_writer_wins(out):
    out[0] = cuda.grid(1)


@clean(4, 64, lambda: (ints(1),))
def all_write_one(out):
    out[0] = 1


@wrong(4, 32, lambda: (ints(128), ints(4)), "race_global_interblock")
def read_the_next_block(x, out):
    i = cuda.grid(1)
    x[i] = i
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = x[(i + 32) % 128]


@clean(4, 32, lambda: (ints(128), ints(4)), result=lambda *_: {1: [32, 64, 96, 0]})
def read_the_next_block_after_grid_sync(x, out):
    g = cuda.cg.this_grid()
    i = cuda.grid(1)
    x[i] = i
    g.sync()
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = x[(i + 32) % 128]


@wrong(
    8,
    64,
    lambda: (np.ones(512, float32), np.zeros(8, float32), np.zeros(1, int32), np.zeros(1, float32)),
    "race_global_interblock",
)
def last_block_without_fence(x, part, cnt, out):
    t = cuda.threadIdx.x
    if t == 0:
        part[cuda.blockIdx.x] = x[cuda.blockIdx.x]
        if cuda.atomic.add(cnt, 0, 1) == cuda.gridDim.x - 1:
            a = float32(0)
            for i in range(cuda.gridDim.x):
                a += part[i]
            out[0] = a


@wrong(8, 64, lambda: (random(512), floats(512), ints(1), floats(1)), "race_global_interblock")
def last_block_fence_before_barrier(x, part, cnt, out):
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    part[cuda.grid(1)] = 2 * x[cuda.grid(1)]
    if t == 0:
        cuda.threadfence()
        last[0] = cuda.atomic.add(cnt, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and t == 0:
        a = float32(0)
        for i in range(part.size):
            a += part[i]
        out[0] = a


@clean(
    8,
    64,
    lambda: (random(512), floats(512), np.zeros(1, uint32), floats(1)),
    result=lambda x, p, c, o: {3: [2 * x.sum()]},
)
def last_block(x, part, cnt, out):
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    s = cuda.shared.array(64, float32)
    part[cuda.grid(1)] = 2 * x[cuda.grid(1)]
    cuda.syncthreads()
    if t == 0:
        cuda.threadfence()
        last[0] = cuda.atomic.inc(cnt, 0, cuda.gridDim.x - 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1:
        a = float32(0)
        for i in range(t, part.size, 64):
            a += part[i]
        s[t] = a
        cuda.syncthreads()
        k = 32
        while k > 0:
            if t < k:
                s[t] += s[t + k]
            cuda.syncthreads()
            k //= 2
        if t == 0:
            out[0] = s[0]


@clean(4, 64, lambda: (ints(1), ints(1)), result=lambda *_: {1: [256]})
def spinlock(lock, c):
    done = False
    while not done:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            c[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            done = True


@clean(2, 32, lambda: (floats(32), ints(1), floats(32)), result=lambda d, f, o: {2: np.arange(32) + 1})
def flag_handover(data, flag, out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        data[t] = t + 1
        cuda.threadfence()
        cuda.syncthreads()
        if t == 0:
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.cas(flag, 0, 1, 1) == 0:
                pass
        cuda.syncthreads()
        out[t] = data[t]


@wrong(1, 64, lambda: (random(64),), "race_global")
def smooth_in_place(x):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        x[i] = (x[i - 1] + x[i + 1]) / 2


@wrong(2, 64, lambda: (random(128),), "race_global_interblock")
def smooth_in_place_between_barriers(x):
    i = cuda.grid(1)
    v = float32(0)
    if 0 < i < x.size - 1:
        v = x[i - 1] + x[i + 1]
    cuda.syncthreads()
    if 0 < i < x.size - 1:
        x[i] = v


@clean(2, 64, lambda: (random(128), floats(128)))
def smooth(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = (x[i - 1] + x[i + 1]) / 2 if 0 < i < x.size - 1 else x[i]


@wrong(1, 64, lambda: (np.repeat(ramp(16), 4), draw(16, 64), random(64), random(16), floats(16)), "race_global")
def coo_spmv_plain(r, c, v, x, y):
    i = cuda.grid(1)
    if i < r.size:
        y[r[i]] += v[i] * x[c[i]]


@clean(
    2,
    32,
    lambda: (np.repeat(ramp(16), 4), draw(16, 64), random(64), random(16), floats(16)),
    result=lambda r, c, v, x, y: {4: np.bincount(r, v * x[c])},
)
def coo_spmv(r, c, v, x, y):
    i = cuda.grid(1)
    if i < r.size:
        cuda.atomic.add(y, r[i], v[i] * x[c[i]])


@wrong((2, 2), (8, 8), lambda: (random(16, 16),), "race_global", "race_global_interblock")
def swap_all_pairs(a):
    i, j = cuda.grid(2)
    t = a[i, j]
    a[i, j] = a[j, i]
    a[j, i] = t


@clean((2, 2), (8, 8), lambda: (random(16, 16),), result=lambda a: {0: a.T})
def swap_upper_pairs(a):
    i, j = cuda.grid(2)
    if i < j:
        t = a[i, j]
        a[i, j] = a[j, i]
        a[j, i] = t


@wrong(4, 64, lambda: (random(256), floats(1)), "race_global_interblock", also=("race_global",))
def maximum_plain(x, o):
    i = cuda.grid(1)
    if x[i] > o[0]:
        o[0] = x[i]


@clean(4, 64, lambda: (random(256), floats(1)), result=lambda x, o: {1: [x.max()]})
def maximum(x, o):
    cuda.atomic.max(o, 0, x[cuda.grid(1)])


def gradient_sums(idx, g, w):
    w = w.copy()
    np.add.at(w, idx, g)
    return {2: w}


@wrong((1, 8), (32, 4), lambda: (draw(10, 32), random(32, 16), floats(10, 16)), "race_global_interblock", "race_global")
def embedding_gradient_plain(idx, g, w):
    k = cuda.threadIdx.x
    b = cuda.blockIdx.y * 4 + cuda.threadIdx.y
    if k < 16:
        w[idx[b], k] -= g[b, k]


@clean((1, 8), (16, 4), lambda: (draw(10, 32), random(32, 16), floats(10, 16)), result=gradient_sums)
def embedding_gradient(idx, g, w):
    k = cuda.threadIdx.x
    b = cuda.blockIdx.y * 4 + cuda.threadIdx.y
    cuda.atomic.add(w, (idx[b], k), g[b, k])


@wrong(4, 32, lambda: (random(100), floats(100)), "race_global_interblock")
def chunks_that_overlap(x, y):
    if cuda.threadIdx.x == 0:
        per = x.size // 4
        b = cuda.blockIdx.x
        for i in range(b * per, min((b + 1) * per + 1, x.size)):
            y[i] = x[i] + b


@clean(4, 32, lambda: (random(100), floats(100)))
def chunks(x, y):
    if cuda.threadIdx.x == 0:
        per = x.size // 4
        b = cuda.blockIdx.x
        for i in range(b * per, min((b + 1) * per, x.size)):
            y[i] = x[i] + b


@wrong(2, 64, lambda: (ints(1), ints(2)), "race_global_interblock", also=("race_global",))
def count_read_at_once(c, o):
    cuda.atomic.add(c, 0, 1)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        o[cuda.blockIdx.x] = c[0]


@wrong(1, 64, lambda: (draw(1000, 128),), "race_global")
def odd_even_sort_one_barrier(x):
    t = cuda.threadIdx.x
    for _k in range(64):
        i = 2 * t
        if x[i] > x[i + 1]:
            x[i], x[i + 1] = x[i + 1], x[i]
        i = 2 * t + 1
        if i + 1 < x.size and x[i] > x[i + 1]:
            x[i], x[i + 1] = x[i + 1], x[i]
        cuda.syncthreads()


@clean(1, 64, lambda: (draw(1000, 128),), result=lambda x: {0: np.sort(x)})
def odd_even_sort(x):
    t = cuda.threadIdx.x
    changed = True
    while changed:
        c = False
        i = 2 * t
        if x[i] > x[i + 1]:
            x[i], x[i + 1] = x[i + 1], x[i]
            c = True
        cuda.syncthreads()
        i = 2 * t + 1
        if i + 1 < x.size and x[i] > x[i + 1]:
            x[i], x[i + 1] = x[i + 1], x[i]
            c = True
        changed = cuda.syncthreads_or(int(c))


@wrong(4, 64, lambda: (random(256), floats(256), ints(1)), "race_global_interblock")
def chained_sum_plain(x, o, flag):
    # chained scan with plain flag
    b = cuda.blockIdx.x
    t = cuda.threadIdx.x
    if t == 0:
        s = float32(0)
        for k in range(64):
            s += x[b * 64 + k]
        o[b] = s
        if b > 0:
            o[b] += o[b - 1]


@clean(4, 64, lambda: (random(256), floats(4), ints(4)), result=lambda x, o, f: {1: np.cumsum(x.reshape(4, 64).sum(1))})
def chained_sum(x, o, flag):
    b = cuda.blockIdx.x
    t = cuda.threadIdx.x
    if t == 0:
        s = float32(0)
        for k in range(64):
            s += x[b * 64 + k]
        if b > 0:
            while cuda.atomic.add(flag, b - 1, 0) == 0:
                pass
            cuda.threadfence()
            s += o[b - 1]
        o[b] = s
        cuda.threadfence()
        cuda.atomic.exch(flag, b, 1)
