"""Two threads of a block and one element of shared memory."""

import math

import numpy as np
from hazard_cases.table import clean, draw, floats, ints, ramp, random, wrong
from numpy import float32, int16, int32, uint8

from gpukit import cuda


@wrong(1, 128, lambda: (ints(128),), "race_shared")
def reverse_without_barrier(out):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    s[t] = t
    out[t] = s[127 - t]


@wrong(1, 32, lambda: (ints(32),), "race_shared")
def reverse_in_a_warp(out):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    s[t] = t
    out[t] = s[31 - t]


@clean(1, 32, lambda: (ints(32),), result=lambda *_: {0: list(range(31, -1, -1))})
def reverse_in_a_warp_with_syncwarp(out):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncwarp()
    out[t] = s[31 - t]


@wrong(1, 64, lambda: (ints(64),), "race_shared")
def syncwarp_for_a_block(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncwarp()
    out[t] = s[63 - t]


@wrong(1, 32, lambda: (ints(32),), "race_shared")
def syncwarp_of_halves(out):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    s[t] = t
    if t < 16:
        cuda.syncwarp(0xFFFF)
    else:
        cuda.syncwarp(0xFFFF0000)
    out[t] = s[31 - t]


@clean(1, 32, lambda: (ints(32),))
def syncwarp_of_halves_used_in_halves(out):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    s[t] = t
    if t < 16:
        cuda.syncwarp(0xFFFF)
    else:
        cuda.syncwarp(0xFFFF0000)
    out[t] = s[t ^ 15]


@wrong(1, 64, lambda: (np.ones(64, float32), np.zeros(1, float32)), "race_shared")
def warp_tail(x, out):
    s = cuda.shared.array(64, float32)
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


@wrong(1, 64, lambda: (np.ones(64, float32), np.zeros(1, float32)), "race_shared")
def warp_tail_syncwarp_after_writes_only(x, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
        cuda.syncwarp()
        s[t] += s[t + 16]
        cuda.syncwarp()
    if t == 0:
        out[0] = s[0]


@clean(1, 64, lambda: (np.ones(64, float32), np.zeros(1, float32)), result=lambda *_: {1: [64]})
def warp_tail_syncwarp(x, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        v = s[t] + s[t + 32]
        cuda.syncwarp()
        s[t] = v
        cuda.syncwarp()
        v = v + s[t + 16]
        cuda.syncwarp()
        s[t] = v
        cuda.syncwarp()
        v = v + s[t + 8]
        cuda.syncwarp()
        s[t] = v
        cuda.syncwarp()
        v = v + s[t + 4]
        cuda.syncwarp()
        s[t] = v
        cuda.syncwarp()
        v = v + s[t + 2]
        cuda.syncwarp()
        s[t] = v
        cuda.syncwarp()
        v = v + s[t + 1]
        cuda.syncwarp()
        s[t] = v
        cuda.syncwarp()
    if t == 0:
        out[0] = s[0]


@clean(1, 64, lambda: (np.ones(64, float32), np.zeros(1, float32)), result=lambda *_: {1: [64]})
def warp_tail_shuffles(x, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        v = s[t] + s[t + 32]
        o = 16
        while o > 0:
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, o)
            o >>= 1
        if t == 0:
            out[0] = v


def blur(a):
    p = np.pad(a, 1)
    return p[1:-1, :-2] + p[1:-1, 2:] + p[:-2, 1:-1] + p[2:, 1:-1]


@wrong(1, (16, 16), lambda: (random(16, 16), np.zeros((16, 16), float32)), "race_shared")
def stencil_in_place(a, out):
    s = cuda.shared.array((18, 18), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    for k in range(ty * 16 + tx, 18 * 18, 256):
        s[k // 18, k % 18] = 0
    cuda.syncthreads()
    s[ty + 1, tx + 1] = a[ty, tx]
    cuda.syncthreads()
    s[ty + 1, tx + 1] = s[ty, tx + 1] + s[ty + 2, tx + 1] + s[ty + 1, tx] + s[ty + 1, tx + 2]
    out[ty, tx] = s[ty + 1, tx + 1]


@clean(1, (16, 16), lambda: (random(16, 16), np.zeros((16, 16), float32)), result=lambda a, o: {1: blur(a)})
def stencil_through_registers(a, out):
    s = cuda.shared.array((18, 18), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    for k in range(ty * 16 + tx, 18 * 18, 256):
        s[k // 18, k % 18] = 0
    cuda.syncthreads()
    s[ty + 1, tx + 1] = a[ty, tx]
    cuda.syncthreads()
    v = s[ty, tx + 1] + s[ty + 2, tx + 1] + s[ty + 1, tx] + s[ty + 1, tx + 2]
    cuda.syncthreads()
    s[ty + 1, tx + 1] = v
    out[ty, tx] = s[ty + 1, tx + 1]


def bitonic_sort(sync):
    def bitonic(x):
        s = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads()
        k = 2
        while k <= 128:
            j = k // 2
            while j > 0:
                p = t ^ j
                if p > t:
                    if (t & k) == 0:
                        if s[t] > s[p]:
                            s[t], s[p] = s[p], s[t]
                    else:
                        if s[t] < s[p]:
                            s[t], s[p] = s[p], s[t]
                if sync:
                    cuda.syncthreads()
                j //= 2
            cuda.syncthreads()
            k *= 2
        x[t] = s[t]

    return bitonic


clean(1, 128, lambda: (random(128),), result=lambda x: {0: np.sort(x)})(bitonic_sort(True))
wrong(1, 128, lambda: (random(128),), "race_shared")(bitonic_sort(False))


@wrong((3, 2), (32, 8), lambda: (random(50, 90), floats(90, 50)), "race_shared")
def transpose_without_barrier(a, b):
    t = cuda.shared.array((32, 33), float32)
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for k in range(0, 32, 8):
        if x < a.shape[1] and y + k < a.shape[0]:
            t[cuda.threadIdx.y + k, cuda.threadIdx.x] = a[y + k, x]
    x = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.x * 32 + cuda.threadIdx.y
    for k in range(0, 32, 8):
        if x < b.shape[1] and y + k < b.shape[0]:
            b[y + k, x] = t[cuda.threadIdx.x, cuda.threadIdx.y + k]


@clean((3, 2), (32, 8), lambda: (random(50, 90), floats(90, 50)), result=lambda a, b: {1: a.T}, fast=True)
def transpose_padded(a, b):
    t = cuda.shared.array((32, 33), float32)
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for k in range(0, 32, 8):
        if x < a.shape[1] and y + k < a.shape[0]:
            t[cuda.threadIdx.y + k, cuda.threadIdx.x] = a[y + k, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.x * 32 + cuda.threadIdx.y
    for k in range(0, 32, 8):
        if x < b.shape[1] and y + k < b.shape[0]:
            b[y + k, x] = t[cuda.threadIdx.x, cuda.threadIdx.y + k]


@cuda.jit(device=True)
def tree_bad(s, t, n):
    while n > 1:
        n //= 2
        if t < n:
            s[t] += s[t + n]


@cuda.jit(device=True)
def tree_good(s, t, n):
    while n > 1:
        n //= 2
        if t < n:
            s[t] += s[t + n]
        cuda.syncthreads()


@wrong(4, 128, lambda: (random(512), floats(4)), "race_shared")
def sum_by_helper_without_barrier(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    tree_bad(s, t, 128)
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@clean(4, 128, lambda: (random(512), floats(4)), result=lambda x, o: {1: x.reshape(4, 128).sum(1)}, fast=True)
def sum_by_helper(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    tree_good(s, t, 128)
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@wrong(1, 64, lambda: (random(64), floats(64)), "race_shared", shared_bytes=4 * 128)
def slices_that_overlap(x, out):
    sh = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    a = sh[:64]
    b = sh[63:127]
    a[t] = x[t]
    b[t] = x[t] * 2
    cuda.syncthreads()
    out[t] = a[63 - t] + b[t]


@clean(1, 64, lambda: (random(64), floats(64)), result=lambda x, o: {1: x[::-1] + 2 * x}, shared_bytes=4 * 128)
def slices_side_by_side(x, out):
    sh = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    a = sh[:64]
    b = sh[64:128]
    a[t] = x[t]
    b[t] = x[t] * 2
    cuda.syncthreads()
    out[t] = a[63 - t] + b[t]


pair = np.dtype([("a", int32), ("b", int32)])


@wrong(1, 64, lambda: (ints(64),), "race_shared")
def records_without_barrier(out):
    s = cuda.shared.array(64, pair)
    t = cuda.threadIdx.x
    s[t].a = t
    s[t].b = 2 * t
    out[t] = s[63 - t].b


@clean(1, 64, lambda: (ints(64),))
def fields_of_one_record(out):
    s = cuda.shared.array(65, pair)
    t = cuda.threadIdx.x
    s[t].a = t
    s[t + 1].b = t  # another thread's record, other field
    cuda.syncthreads()
    out[t] = s[t].a


@wrong(1, 128, lambda: (np.zeros(128, int16),), "race_shared")
def two_threads_one_element(out):
    s = cuda.shared.array(64, int16)
    t = cuda.threadIdx.x
    s[t // 2] = t
    cuda.syncthreads()
    out[t] = s[t // 2]


@clean(1, 128, lambda: (np.zeros(128, uint8),))
def neighbouring_bytes(out):
    s = cuda.shared.array(128, uint8)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncthreads()
    out[t] = s[127 - t]


@wrong(1, 128, lambda: (random(128), floats(128)), "race_shared")
def pingpong_into_the_same(x, out):
    b = cuda.shared.array((2, 128), float32)
    t = cuda.threadIdx.x
    b[0, t] = x[t]
    b[1, t] = 0
    cuda.syncthreads()
    cur = 0
    for _it in range(4):
        left = b[cur, t - 1] if t > 0 else float32(0)
        b[cur, t] = left + b[cur, t]  # writes the buffer it reads
        cuda.syncthreads()
        cur = 1 - cur
    out[t] = b[cur, t]


def shifted_sums(x):
    for _ in range(4):
        x = x + np.concatenate(([0], x[:-1]))
    return x


@clean(1, 128, lambda: (random(128), floats(128)), result=lambda x, o: {1: shifted_sums(x)})
def pingpong(x, out):
    b = cuda.shared.array((2, 128), float32)
    t = cuda.threadIdx.x
    b[0, t] = x[t]
    cuda.syncthreads()
    cur = 0
    for _it in range(4):
        left = b[cur, t - 1] if t > 0 else float32(0)
        b[1 - cur, t] = left + b[cur, t]
        cuda.syncthreads()
        cur = 1 - cur
    out[t] = b[cur, t]


@wrong(1, (32, 4), lambda: (random(4, 32), floats(4, 32)), "race_shared")
def row_view(x, out):
    s = cuda.shared.array((4, 32), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = s[ty]
    row[tx] = x[ty, tx]
    out[ty, tx] = row[(tx + 1) % 32]


@clean(1, (32, 4), lambda: (random(4, 32), floats(4, 32)), result=lambda x, o: {1: np.roll(x, -1, 1)})
def row_view_with_syncwarp(x, out):
    s = cuda.shared.array((4, 32), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = s[ty]
    row[tx] = x[ty, tx]
    cuda.syncwarp()
    out[ty, tx] = row[(tx + 1) % 32]


@wrong(2, 128, lambda: (draw(16, 1000), ints(16)), "race_shared")
def histogram_plain(x, h):
    s = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        s[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        s[x[i]] += 1
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(h, t, s[t])


@wrong(2, 128, lambda: (ramp(1000) % 50, ints(50)), "race_shared", also=("race_global_interblock",))
def histogram_zeroed_too_late(x, h):
    s = cuda.shared.array(50, int32)
    t = cuda.threadIdx.x
    if t < 50:
        s[t] = 0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(s, x[i], 1)
    cuda.syncthreads()
    if t < 50:
        cuda.atomic.add(h, t, s[t])


@clean(2, 128, lambda: (ramp(1000) % 50, ints(50)))
def histogram(x, h):
    s = cuda.shared.array(50, int32)
    t = cuda.threadIdx.x
    if t < 50:
        s[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(s, x[i], 1)
    cuda.syncthreads()
    if t < 50:
        cuda.atomic.add(h, t, s[t])


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def make_softmax(safe):
    def block_softmax(x, y):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        r = cuda.blockIdx.x
        n = x.shape[1]
        m = float32(-math.inf)
        for j in range(t, n, 64):
            m = max(m, x[r, j])
        s[t] = m
        cuda.syncthreads()
        k = 32
        while k > 0:
            if t < k:
                s[t] = max(s[t], s[t + k])
            cuda.syncthreads()
            k //= 2
        m = s[0]
        if safe:
            cuda.syncthreads()
        acc = float32(0)
        for j in range(t, n, 64):
            acc += math.exp(x[r, j] - m)
        s[t] = acc
        cuda.syncthreads()
        k = 32
        while k > 0:
            if t < k:
                s[t] += s[t + k]
            cuda.syncthreads()
            k //= 2
        for j in range(t, n, 64):
            y[r, j] = math.exp(x[r, j] - m) / s[0]

    return block_softmax


clean(5, 64, lambda: (random(5, 150), floats(5, 150)), result=lambda x, y: {1: softmax(x)}, fast=True)(
    make_softmax(True)
)
wrong(5, 64, lambda: (random(5, 150), floats(5, 150)), "race_shared")(make_softmax(False))


@wrong(1, 256, lambda: (draw(100, 256), ints(256), ints(1)), "race_shared")
def compaction_counter_too_early(x, out, n):
    c = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        c[0] = 0
    cuda.syncthreads()
    if x[t] < 50:
        p = cuda.atomic.add(c, 0, 1)
        out[p] = x[t]
    if t == 0:
        n[0] = c[0]


@clean(1, 256, lambda: (draw(100, 256), ints(256), ints(1)), result=lambda x, o, n: {2: [(x < 50).sum()]})
def compaction(x, out, n):
    c = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        c[0] = 0
    cuda.syncthreads()
    if x[t] < 50:
        p = cuda.atomic.add(c, 0, 1)
        out[p] = x[t]
    cuda.syncthreads()
    if t == 0:
        n[0] = c[0]


@wrong(1, 128, lambda: (random(512), floats(128)), "race_shared")
def tile_loop_one_barrier(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for k in range(4):
        cuda.syncthreads()
        s[t] = x[k * 128 + t]
        acc += s[(t + 64) % 128]
    out[t] = acc


@clean(1, 128, lambda: (random(512), floats(128)), result=lambda x, o: {1: np.roll(x.reshape(4, 128), 64, 1).sum(0)})
def tile_loop_two_barriers(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    acc = float32(0)
    for k in range(4):
        cuda.syncthreads()
        s[t] = x[k * 128 + t]
        cuda.syncthreads()
        acc += s[(t + 64) % 128]
    out[t] = acc


@wrong(1, 256, lambda: (np.ones(256, int32), ints(256)), "race_shared")
def scan_in_place(x, out):
    s = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    o = 1
    while o < 256:
        if t >= o:
            s[t] += s[t - o]
        cuda.syncthreads()
        o *= 2
    out[t] = s[t]


@clean(1, 256, lambda: (np.ones(256, int32), ints(256)))
def scan_double_buffered(x, out):
    s = cuda.shared.array((2, 256), int32)
    t = cuda.threadIdx.x
    p = 0
    s[0, t] = x[t]
    cuda.syncthreads()
    o = 1
    while o < 256:
        if t >= o:
            s[1 - p, t] = s[p, t] + s[p, t - o]
        else:
            s[1 - p, t] = s[p, t]
        cuda.syncthreads()
        p = 1 - p
        o *= 2
    out[t] = s[p, t]


@wrong(1, 256, lambda: (draw(9, 256), ints(256)), "race_shared")
def scan_by_warps_without_barrier(x, o):
    ws = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    lane = t & 31
    v = x[t]
    d = 1
    while d < 32:
        u = cuda.shfl_up_sync(0xFFFFFFFF, v, d)
        if lane >= d:
            v += u
        d <<= 1
    if lane == 31:
        ws[t // 32] = v
    cuda.syncthreads()
    if t < 8:
        s = ws[t]
        d = 1
        while d < 8:
            u = cuda.shfl_up_sync(0xFF, s, d)
            if t >= d:
                s += u
            d <<= 1
        ws[t] = s
    if t >= 32:
        v += ws[t // 32 - 1]
    o[t] = v


@clean(1, 256, lambda: (draw(9, 256), ints(256)), result=lambda x, o: {1: np.cumsum(x)})
def scan_by_warps(x, o):
    ws = cuda.shared.array(8, int32)
    t = cuda.threadIdx.x
    lane = t & 31
    v = x[t]
    d = 1
    while d < 32:
        u = cuda.shfl_up_sync(0xFFFFFFFF, v, d)
        if lane >= d:
            v += u
        d <<= 1
    if lane == 31:
        ws[t // 32] = v
    cuda.syncthreads()
    if t < 8:
        s = ws[t]
        d = 1
        while d < 8:
            u = cuda.shfl_up_sync(0xFF, s, d)
            if t >= d:
                s += u
            d <<= 1
        ws[t] = s
    cuda.syncthreads()
    if t >= 32:
        v += ws[t // 32 - 1]
    o[t] = v


@wrong(1, 64, lambda: (random(128), floats(128)), "race_shared")
def producer_consumer_one_buffer(x, o):
    b = cuda.shared.array((1, 32), float32)
    t = cuda.threadIdx.x
    lane = t % 32
    if t < 32:
        b[0, lane] = x[lane]
    cuda.syncthreads()
    for k in range(4):
        if t < 32:
            if k + 1 < 4:
                b[0, lane] = x[(k + 1) * 32 + lane]
        else:
            o[k * 32 + lane] = 2 * b[0, lane]
        cuda.syncthreads()


@clean(1, 64, lambda: (random(128), floats(128)), result=lambda x, o: {1: x * 2})
def producer_consumer(x, o):
    b = cuda.shared.array((2, 32), float32)
    t = cuda.threadIdx.x
    lane = t % 32
    if t < 32:
        b[0, lane] = x[lane]
    cuda.syncthreads()
    for k in range(4):
        if t < 32:
            if k + 1 < 4:
                b[(k + 1) % 2, lane] = x[(k + 1) * 32 + lane]
        else:
            o[k * 32 + lane] = 2 * b[k % 2, lane]
        cuda.syncthreads()
