"""Outputs that stay unwritten, and what makes a kernel slow."""

import math

import numpy as np
from hazard_cases.table import clean, draw, floats, ints, random, wrong
from numpy import float32, float64, int32

from gpukit import cuda


@wrong(3, 32, lambda: (random(100), floats(100)), "unwritten_output")
def grid_rounded_down(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


@wrong(4, 32, lambda: (random(100), floats(100)), "unwritten_output")
def last_one_forgotten(x, y):
    i = cuda.grid(1)
    if i < x.size - 1:
        y[i] = x[i]


@clean(4, 32, lambda: (random(128), ints(128), ints(1)))
def compaction_between_blocks(x, o, n):
    i = cuda.grid(1)
    if x[i] > 0.5:
        o[cuda.atomic.add(n, 0, 1)] = i


@wrong(16, 256, lambda: (random(32768), floats(4096)), "uncoalesced")
def every_eighth(x, y):
    i = cuda.grid(1)
    y[i] = x[8 * i]


@clean(4, 256, lambda: (random(4096), floats(4096)), fast=True)
def grid_stride(x, y):
    for k in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[k] = x[k]


@wrong((4, 4), (16, 16), lambda: (random(64, 64), floats(64, 64)), "uncoalesced")
def columns_by_threads(x, y):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = x[i, j]


@clean((4, 4), (16, 16), lambda: (random(64, 64), floats(64, 64)), fast=True)
def rows_by_threads(x, y):
    j, i = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = x[i, j]


particle = np.dtype([("x", float32), ("y", float32), ("z", float32), ("mass", float32)])


@wrong(8, 128, lambda: (np.zeros(1024, particle), floats(1024)), "uncoalesced")
def structures(p, o):
    i = cuda.grid(1)
    o[i] = p[i]["mass"] * 2


@clean(8, 128, lambda: (random(4, 1024), floats(1024)), fast=True)
def structure_of_arrays(p, o):
    i = cuda.grid(1)
    o[i] = p[0, i] + p[1, i] + p[2, i] + p[3, i]


@wrong((2, 2), (32, 32), lambda: (random(64, 64), floats(64, 64)), "bank_conflicts")
def transpose_not_padded(a, b):
    t = cuda.shared.array((32, 32), float32)
    j, i = cuda.grid(2)
    t[cuda.threadIdx.y, cuda.threadIdx.x] = a[i, j]
    cuda.syncthreads()
    b[cuda.blockIdx.x * 32 + cuda.threadIdx.y, cuda.blockIdx.y * 32 + cuda.threadIdx.x] = t[
        cuda.threadIdx.x, cuda.threadIdx.y
    ]


@clean(1, 128, lambda: (random(128).astype(float64), np.zeros(128)), fast=True)
def doubles_side_by_side(x, y):
    s = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    y[t] = s[127 - t]


@wrong(8, 128, lambda: (random(1024), floats(1024)), "divergence")
def odd_and_even_threads(x, y):
    i = cuda.grid(1)
    if i % 2 == 0:
        y[i] = math.sin(x[i]) * math.cos(x[i]) + math.exp(x[i]) * math.sqrt(x[i])
    else:
        y[i] = math.log(x[i] + 1) * math.tanh(x[i]) + math.pow(x[i], float32(3))


@clean(8, 128, lambda: (random(1024), floats(1024)), fast=True)
def odd_and_even_warps(x, y):
    i = cuda.grid(1)
    if (i // 32) % 2 == 0:
        y[i] = math.sin(x[i]) * math.cos(x[i]) + math.exp(x[i]) * math.sqrt(x[i])
    else:
        y[i] = math.log(x[i] + 1) * math.tanh(x[i]) + math.pow(x[i], float32(3))


@wrong(8, 128, lambda: (draw(100, 1024), ints(1024)), "low_lane_utilisation")
def loops_of_own_length(x, y):
    i = cuda.grid(1)
    n = x[i]
    k = 0
    while n > 0:
        n -= 1
        k += n
    y[i] = k


@wrong(
    8,
    128,
    lambda: (np.r_[[2000], [3] * 1023].astype(int32), ints(1024)),
    "load_imbalance",
    also=("low_lane_utilisation",),
)
def one_long_row(x, y):
    i = cuda.grid(1)
    k = 0
    for j in range(x[i]):
        k += j
    y[i] = k


@clean(8, 128, lambda: (np.zeros(1024, np.complex64), np.zeros(1024, np.complex64)), fast=True)
def complex_copy(x, y):
    i = cuda.grid(1)
    y[i] = 2 * x[i]


@wrong(64, 8, lambda: (random(512), floats(512)), "low_lane_utilisation")
def tiny_blocks(x, y):
    i = cuda.grid(1)
    y[i] = x[i]
