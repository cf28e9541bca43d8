"""Integers that do not fit, sums that stop growing, NaN and Inf."""

import math

import numpy as np
from hazard_cases.table import clean, floats, ints, ramp, random, wrong
from numpy import float32, int16, int32, int64, uint8, uint32

from gpukit import cuda


@wrong(1, 32, lambda: (ints(32), ramp(32)), "division_by_zero")
def divide_by_data(out, x):
    t = cuda.threadIdx.x
    out[t] = 100 // x[t]


@wrong(1, 64, lambda: (np.full(64, 200, uint8), np.zeros(64, uint8)), "int_overflow")
def brighten_wraps(x, y):
    i = cuda.grid(1)
    y[i] = x[i] + 100


@clean(1, 64, lambda: (np.full(64, 200, uint8), np.zeros(64, uint8)), result=lambda *_: {1: np.full(64, 255)})
def brighten_clamps(x, y):
    i = cuda.grid(1)
    y[i] = min(x[i] + 100, 255)


@wrong(1, 64, lambda: (np.full(64, 1000, int16), np.zeros(64, int16)), "int_overflow")
def square_in_int16(x, y):
    i = cuda.grid(1)
    y[i] = x[i] * x[i]


@wrong(1, 32, lambda: (np.array([2**31 - 5], int32),), "int_overflow")
def counter_full(out):
    cuda.atomic.add(out, 0, 1)


@wrong(1, 64, lambda: (np.full(64, 100000, int32), np.zeros(1, int32)), "int_overflow")
def sum_of_squares_int32(x, y):
    i = cuda.grid(1)
    cuda.atomic.add(y, 0, x[i] * x[i])


@clean(1, 64, lambda: (np.full(64, 100000, int32), np.zeros(1, int64)), result=lambda *_: {1: [64 * 10**10]})
def sum_of_squares_int64(x, y):
    i = cuda.grid(1)
    cuda.atomic.add(y, 0, x[i] * x[i])


@clean(1, 64, lambda: (ramp(64, uint32), np.zeros(64, uint32)))
def hash_wraps_on_purpose(x, y):
    i = cuda.grid(1)
    h = uint32(x[i])
    h = uint32((h ^ (h >> uint32(16))) * uint32(0x45D9F3B))
    h = uint32((h ^ (h >> uint32(16))) * uint32(0x45D9F3B))
    y[i] = h ^ (h >> uint32(16))


@wrong(1, 64, lambda: (np.zeros(64, uint8),), "int_overflow")
def negative_in_uint8(y):
    i = cuda.grid(1)
    y[i] = i - 5


@wrong(1, 32, lambda: (np.ones(1, np.float16), np.zeros(1, np.float16)), "precision_loss")
def sum_in_float16(x, o):
    if cuda.grid(1) == 0:
        s = np.float16(0)
        for _k in range(4000):
            s += x[0]
        o[0] = s


@wrong(8, 256, lambda: (np.full(2048, 0.5, float32), np.full(1, 2.0**24, float32)), "precision_loss")
def atomic_sum_stops_growing(x, o):
    cuda.atomic.add(o, 0, x[cuda.grid(1)])


@clean(1, 32, lambda: (floats(32),))
def newton_converges(o):
    i = cuda.grid(1)
    a = float32(i + 1)
    x = a
    for _k in range(30):
        x = x - (x * x - a) / (2 * x)
    o[i] = x


@clean(1, 32, lambda: (floats(32),))
def series_converges(o):
    i = cuda.grid(1)
    x = float32(i / 32.0)
    term = float32(1)
    s = float32(1)
    for k in range(1, 25):
        term *= x / k
        s += term
    o[i] = s


@wrong(1, 32, lambda: (ramp(32, float32), floats(32)), "nan_propagation")
def log_of_zero(x, y):
    i = cuda.grid(1)
    y[i] = math.log(x[i])


@clean(1, 32, lambda: (ramp(32, float32), floats(32)), result=lambda x, y: {1: np.log1p(x)})
def log_of_one_more(x, y):
    i = cuda.grid(1)
    y[i] = math.log(x[i] + 1)


@wrong(1, 32, lambda: (np.r_[random(31), np.nan].astype(float32), np.zeros(32, float32), floats(32)), "nan_propagation")
def mask_by_product(x, m, y):
    i = cuda.grid(1)
    y[i] = x[i] * m[i]


@clean(
    1,
    32,
    lambda: (np.r_[random(31), np.nan].astype(float32), np.zeros(32, float32), floats(32)),
    result=lambda *_: {2: np.zeros(32)},
)
def mask_by_test(x, m, y):
    i = cuda.grid(1)
    y[i] = x[i] * m[i] if m[i] != 0 else float32(0)


@wrong(1, 32, lambda: (random(32) * 200, floats(32)), "nan_propagation")
def sigmoid_overflows(x, y):
    i = cuda.grid(1)
    y[i] = math.exp(x[i]) / (1 + math.exp(x[i]))


@clean(1, 32, lambda: (random(32) * 200, floats(32)))
def sigmoid(x, y):
    i = cuda.grid(1)
    y[i] = 1 / (1 + math.exp(-x[i]))


@clean(
    4,
    32,
    lambda: (random(4, 32), floats(4, 32)),
    result=lambda x, y: {1: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)},
    fast=True,
)
def layer_norm(x, y):
    t = cuda.threadIdx.x
    r = cuda.blockIdx.x
    v = x[r, t]
    s = v
    for k in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(0xFFFFFFFF, s, k)
    d = v - s / 32
    q = d * d
    for k in (16, 8, 4, 2, 1):
        q += cuda.shfl_xor_sync(0xFFFFFFFF, q, k)
    y[r, t] = d / math.sqrt(q / 32 + 1e-5)
