"""Kernels whose counters were read on a GPU: what the CPU machine counts is compared with data/results.

On a machine with an NVIDIA GPU, numba-cuda and Nsight Compute:

    python data/probes/numba_kernels.py --command      # prints the command that makes the readings; run it
    python data/probes/numba_kernels.py --collect kernels.csv > data/results/h200_numba_kernels.json

The kernels are written so that a compiler has nothing to change, except where a name begins with what it does there:
"merged" (accesses of one element become one), "unrolled" (lanes with different numbers of rounds do different rounds at
a time), "split" (a field that may lie at any byte is read byte by byte). Sizes are odd on purpose: blocks that are no
multiple of a warp, guards that cut a warp.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import complex64, complex128, cuda, float32, float64, int8, int16, int32

# A copy of a part of gpukit/gpu/metrics.py: this file must run where nothing else of gpukit is.
METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_load_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}

POINT = np.dtype([("x", np.float32), ("y", np.float32), ("z", np.float32)], align=True)
PACKED_POINT = np.dtype(POINT.descr)
CHARGE = np.dtype([("kind", np.int8), ("amount", np.float64), ("at", np.complex64)], align=True)


@dataclass
class Launch:
    """One launch; `args()` makes fresh arguments. `shared_bytes` is dynamic shared memory."""

    kernel: Any
    grid: Any
    block: Any
    args: Callable[[], tuple]
    shared_bytes: int = 0


LAUNCHES: dict[str, Launch] = {}


def launched(name: str, grid: Any, block: Any, args: Callable[[], tuple], shared_bytes: int = 0) -> Callable:
    """Record a launch of the decorated kernel."""

    def record(kernel: Any) -> Any:
        assert name not in LAUNCHES
        LAUNCHES[name] = Launch(kernel, grid, block, args, shared_bytes)
        return kernel

    return record


def ramp(n: Any, dtype: Any = np.float32) -> Any:
    """An array on the device: 0, 1, 2, ... (modulo 100), in the shape n."""
    return cuda.to_device((np.arange(np.prod(n)) % 100).astype(dtype).reshape(n))


def zeros(n: Any, dtype: Any = np.float32) -> Any:
    """An array of zeros on the device."""
    return cuda.to_device(np.zeros(n, dtype))


def in_and_out(n: Any, dtype: Any, *more: int) -> tuple:
    """Arguments of a kernel from one array to another of the same shape and type, and further numbers."""
    return ramp(n, dtype), zeros(n, dtype), *more


def shuffled(n: int, below: int, seed: int = 7) -> Any:
    """n random int32 indices under `below`, on the device."""
    return cuda.to_device(np.random.default_rng(seed).integers(0, below, n).astype(np.int32))


def permuted(n: int) -> Any:
    """The int32 numbers 0 to n - 1 in random order, on the device."""
    return cuda.to_device(np.random.default_rng(8).permutation(n).astype(np.int32))


# --- global memory: one element a thread ---------------------------------------------------------------------------


@launched("copy int8, block 48", 7, 48, lambda: (ramp(300, np.int8), zeros(300, np.int8)))
@launched("copy int16, block 100", 4, 100, lambda: (ramp(390, np.int16), zeros(390, np.int16)))
@launched("copy float16, block 72", 5, 72, lambda: (ramp(350, np.float16), zeros(350, np.float16)))
@launched("copy float32, block 48", 7, 48, lambda: (ramp(300), zeros(300)))
@launched("copy float32, block 1000", 3, 1000, lambda: (ramp(2500), zeros(2500)))
@launched("copy float64, block 100", 4, 100, lambda: (ramp(390, np.float64), zeros(390, np.float64)))
@launched("copy int8 to float64", 4, 100, lambda: (ramp(390, np.int8), zeros(390, np.float64)))
@launched("copy complex64", 4, 100, lambda: (ramp(390, np.complex64), zeros(390, np.complex64)))
@launched("copy complex128", 4, 100, lambda: (ramp(390, np.complex128), zeros(390, np.complex128)))
@launched("copy float32, both ends misaligned", 7, 48, lambda: (ramp(310)[1:301], zeros(310)[3:303]))
@launched("copy float64, source misaligned", 7, 48, lambda: (ramp(310, np.float64)[1:301], zeros(300, np.float64)))
@launched("copy int8, both ends misaligned", 7, 48, lambda: (ramp(333, np.int8)[5:305], zeros(333, np.int8)[31:331]))
@launched("copy backwards through a view", 7, 48, lambda: (ramp(300)[::-1], zeros(300)))
@launched("copy every third through a view", 7, 48, lambda: (ramp(900)[::3], zeros(300)))
@launched("copy, one thread a block", 40, 1, lambda: (ramp(40), zeros(40)))
@cuda.jit
def copy(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@launched("reversed", 4, 100, lambda: (ramp(390), zeros(390)))
@launched("reversed, float64", 4, 100, lambda: (ramp(390, np.float64), zeros(390, np.float64)))
@cuda.jit
def reverse(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[-1 - i]


@launched("stride 2", 4, 100, lambda: (ramp(800), zeros(390), 2))
@launched("stride 3, int16", 4, 100, lambda: (ramp(1200, np.int16), zeros(390, np.int16), 3))
@launched("stride 7, float64", 4, 100, lambda: (ramp(2800, np.float64), zeros(390, np.float64), 7))
@launched("stride 33", 4, 100, lambda: (ramp(13_200), zeros(390), 33))
@launched("stride 0", 4, 100, lambda: (ramp(8), zeros(390), 0))
@cuda.jit
def strided(x, out, step):
    i = cuda.grid(1)
    if i >= out.size:
        return
    out[i] = x[i * step]


@launched("gather, random", 10, 100, lambda: (ramp(3000), shuffled(990, 3000), zeros(990)))
@launched("gather, random, int8", 10, 100, lambda: (ramp(900, np.int8), shuffled(990, 900), zeros(990, np.int8)))
@cuda.jit
def gather(x, index, out):
    i = cuda.grid(1)
    if i < index.size:
        out[i] = x[index[i]]


@launched("scatter, random", 10, 100, lambda: (ramp(990), permuted(990), zeros(990)))
@cuda.jit
def scatter(x, index, out):
    i = cuda.grid(1)
    if i < index.size:
        out[index[i]] = x[i]


@launched("three loads that overlap", 4, 100, lambda: (ramp(390), zeros(390)))
@cuda.jit
def blur(x, out):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        out[i] = x[i - 1] + x[i] + x[i + 1]


@launched("fields of records", 4, 100, lambda: (cuda.to_device(np.ones(390, POINT)), zeros(390)))
@launched("split: fields of packed records", 4, 100, lambda: (cuda.to_device(np.ones(390, PACKED_POINT)), zeros(390)))
@cuda.jit
def records(points, out):
    i = cuda.grid(1)
    if i < points.size:
        out[i] = points[i].x + points[i].z


@launched("merged: the two parts of a complex field", 4, 100, lambda: (cuda.to_device(np.ones(390, CHARGE)),))
@cuda.jit
def charges(all_of):
    i = cuda.grid(1)
    if i < all_of.size:
        all_of[i].amount = all_of[389 - i].kind
        all_of[i].at = 1j


@launched("lanes leave one by one", 3, 100, lambda: (ramp(300), zeros((300, 7))))
@cuda.jit
def leave(x, out):
    i = cuda.grid(1)
    k = i % 7
    while k > 0:
        out[i, k] = x[(i + k * 13) % 300]
        k -= 1


@launched("few lanes of every warp", 3, 100, lambda: (ramp(300), zeros(300)))
@cuda.jit
def few(x, out):
    i = cuda.grid(1)
    if cuda.threadIdx.x % 32 < 5 and cuda.threadIdx.x % 2 == 0:
        out[i] = x[299 - i]


@launched("two ways with a loop in each", 3, 100, lambda: (ramp(600), zeros(300)))
@cuda.jit
def two_ways(x, out):
    i = cuda.grid(1)
    total = float32(0)
    if i % 3 == 0:
        for k in range(i % 5):
            total += x[i + k]
    else:
        for k in range(i % 4):
            total -= x[599 - i * k % 300]
    out[i] = total


@launched("grid-stride loop", 3, 48, lambda: (ramp(1008), zeros(1008)))
@launched("unrolled: grid-stride loop, last round partly filled", 3, 48, lambda: (ramp(1001), zeros(1001)))
@cuda.jit
def grid_stride(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        out[i] = 2 * x[i]


@launched("early exit in a while loop", 3, 48, lambda: (shuffled(4000, 40), zeros(144, np.int32)))
@cuda.jit
def search(x, out):
    i = cuda.grid(1)
    k = i
    while k < x.size:
        if x[k] == i % 40:
            out[i] = k
            return
        k += 50


@launched("early exits before a barrier in a loop", 3, 100, lambda: (ramp(300), zeros(300)))
@cuda.jit
def leave_barriers(x, out):
    i = cuda.grid(1)
    for k in range(5):
        if i % 7 == k:
            out[i] = x[i] + k
            return
        cuda.syncthreads()
    out[i] = x[299 - i]


@launched("early exits before a barrier, the number of rounds an argument", 3, 100, lambda: (ramp(300), zeros(300), 5))
@cuda.jit
def leave_some_barriers(x, out, rounds):
    i = cuda.grid(1)
    for k in range(rounds):
        if i % 7 == k:
            out[i] = x[i] + k
            return
        cuda.syncthreads()
    out[i] = x[299 - i]


@launched("merged: loads that an outer loop repeats", 3, 100, lambda: (shuffled(300, 9), zeros(300), zeros(300)))
@cuda.jit
def leave_two_loops(x, out, rest):
    i = cuda.grid(1)
    for j in range(4):
        k = 0
        while k < 9:
            if x[(i + 7 * k) % 300] == j:
                out[i] = k
                return
            k += 1
    rest[i] = 1


@cuda.jit(device=True)
def first_of(x, i, wanted):
    k = 0
    while k < 20:
        if x[(i + k) % 300] == wanted:
            return k
        k += 1
    return -1


@launched("a function that returns from a loop", 3, 100, lambda: (shuffled(300, 9), zeros(300), zeros(300)))
@cuda.jit
def search_twice(x, out, done):
    i = cuda.grid(1)
    out[i] = first_of(x, i, 4)
    done[299 - i] = first_of(x, 2 * i, 3)


@launched("a shuffle before the exits of a loop", 3, 96, lambda: (shuffled(288, 9), zeros(288)))
@cuda.jit
def leave_shuffles(x, out):
    i = cuda.grid(1)
    k = 0
    while True:
        value = x[(i + k) % 288]
        found = cuda.ballot_sync(cuda.activemask(), value == 4)
        if value == 4 or k > 20:
            out[i] = found
            return
        k += 1


@launched("break out of a loop", 3, 100, lambda: (shuffled(300, 9), zeros(300), zeros(300)))
@cuda.jit
def break_out(x, out, done):
    i = cuda.grid(1)
    k = 0
    while True:
        if x[(i + k) % 300] == 4 or k > 20:
            out[i] = k
            break
        k += 1
    done[299 - i] = 1


# --- global memory: shapes of blocks and arrays --------------------------------------------------------------------


@launched("3-D block (10, 7, 3)", (2, 2, 2), (10, 7, 3), lambda: (ramp((5, 13, 19)), zeros((5, 13, 19))))
@launched(
    "3-D block (3, 5, 20), float64",
    (7, 3, 1),
    (3, 5, 20),
    lambda: (ramp((20, 13, 19), np.float64), zeros((20, 13, 19), np.float64)),
)
@cuda.jit
def cube(x, out):
    i, j, k = cuda.grid(3)
    if k < x.shape[0] and j < x.shape[1] and i < x.shape[2]:
        out[k, j, i] = x[k, j, i]


@launched("2-D block (33, 3)", (2, 4), (33, 3), lambda: (ramp((11, 57)), zeros((57, 11))))
@launched("2-D block (1, 64)", (57, 1), (1, 64), lambda: (ramp((11, 57)), zeros((57, 11))))
@launched("2-D block (8, 12), Fortran order", (8, 1), (8, 12), lambda: (fortran(11, 57), zeros((57, 11))))
@cuda.jit
def transpose(x, out):
    j, i = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[j, i] = x[i, j]


def fortran(rows: int, columns: int) -> Any:
    """A float32 array on the device whose columns are contiguous."""
    return cuda.to_device(np.asfortranarray(np.ones((rows, columns), np.float32)))


@launched("a row a thread", 2, 48, lambda: (ramp((77, 13)), zeros(77)))
@cuda.jit
def row_sums(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j]
        out[i] = total


@launched("a row of a view", 2, 48, lambda: (ramp((77, 13)), zeros(77)))
@cuda.jit
def inner_view(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        row = a[i, 2:11:2]
        total = float32(0)
        for value in row:
            total += value
        out[i] = total


@launched("unrolled: sparse matrix, a row a thread", 3, 48, lambda: sparse(130))
@cuda.jit
def csr(starts, columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = float32(0)
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


def sparse(n: int) -> tuple:
    """A random n x n matrix in CSR form, a vector, and room for their product."""
    rng = np.random.default_rng(3)
    starts = np.concatenate(([0], np.cumsum(rng.integers(0, 12, n)))).astype(np.int32)
    return cuda.to_device(starts), shuffled(int(starts[-1]), n), ramp(int(starts[-1])), ramp(n), zeros(n)


@launched("tree in global memory, widths halve", 3, 96, lambda: (ramp(600, np.int32),))
@cuda.jit
def global_tree(data):
    t = cuda.threadIdx.x
    start = 2 * cuda.blockIdx.x * cuda.blockDim.x
    width = cuda.blockDim.x
    while width > 0:
        if t < width:
            data[start + t] += data[start + t + width]
        cuda.syncthreads()
        width //= 2


@launched("tree in global memory, every stride-th thread", 3, 100, lambda: (ramp(600, np.int32),))
@cuda.jit
def global_tree_divergent(data):
    t = cuda.threadIdx.x
    start = 2 * cuda.blockIdx.x * cuda.blockDim.x
    stride = 1
    while stride <= cuda.blockDim.x:
        if t % stride == 0 and 2 * t + stride < 2 * cuda.blockDim.x:
            data[start + 2 * t] += data[start + 2 * t + stride]
        cuda.syncthreads()
        stride *= 2


# --- shared memory -------------------------------------------------------------------------------------------------


def make_shared(dtype: Any, size: int) -> Any:
    """A kernel that stores in shared memory at t * write and loads from t * read + shift, modulo its size."""

    @cuda.jit
    def through_shared(x, out, write, read, shift):
        s = cuda.shared.array(size, dtype)
        t = cuda.threadIdx.x
        for k in range(t, size, cuda.blockDim.x):
            s[k * write % size] = x[k % x.size]
        cuda.syncthreads()
        out[cuda.grid(1)] = s[(t * read + shift) % size]

    return through_shared


@launched("unrolled: stores to shared memory, lane 0 one round more", 3, 100, lambda: (ramp(301), zeros(300)))
@cuda.jit
def one_more(x, out):
    s = cuda.shared.array(301, float32)
    t = cuda.threadIdx.x
    for k in range(t, 301, cuda.blockDim.x):
        s[k] = x[k]
    cuda.syncthreads()
    out[cuda.grid(1)] = s[300 - t]


for made, kind in (
    (make_shared(int8, 300), np.int8),
    (make_shared(int16, 300), np.int16),
    (make_shared(float32, 300), np.float32),
    (make_shared(float64, 300), np.float64),
    (make_shared(complex64, 300), np.complex64),
    (make_shared(complex128, 300), np.complex128),
):
    for steps in ((1, 1, 0), (1, 2, 3), (7, 32, 0), (299, 299, 1), (77, 8, 5), (1, 0, 5)):
        name = f"shared {kind.__name__}, strides {steps[0]} and {steps[1]}, from {steps[2]}"
        launched(name, 3, 100, partial(in_and_out, 300, kind, *steps))(made)


def make_tile(dtype: Any, columns: int) -> Any:
    """A kernel that transposes through a shared tile of 32 rows and so many columns."""

    @cuda.jit
    def tile_transpose(x, out):
        tile = cuda.shared.array((32, columns), dtype)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        for row in range(ty, 32, cuda.blockDim.y):
            tile[row, tx] = x[row, tx]
        cuda.syncthreads()
        for row in range(ty, 32, cuda.blockDim.y):
            out[row, tx] = tile[tx, row]

    return tile_transpose


for dtype, kind in ((int8, np.int8), (float32, np.float32), (float64, np.float64)):
    for columns in (32, 33):
        of = partial(in_and_out, (32, 32), kind)
        launched(f"tile of 32 x {columns}, {kind.__name__}", 1, (32, 5), of)(make_tile(dtype, columns))


@launched("shared, random", 3, 100, lambda: (ramp(300), shuffled(300, 100), zeros(300)))
@cuda.jit
def shared_random(x, index, out):
    s = cuda.shared.array(100, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    out[i] = s[index[i]]


@launched(
    "shared, random, float64", 3, 100, lambda: (ramp(300, np.float64), shuffled(300, 100), zeros(300, np.float64))
)
@cuda.jit
def shared_random_double(x, index, out):
    s = cuda.shared.array(100, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    out[i] = s[index[i]]


@launched("tree in shared memory, block 100", 3, 100, lambda: (ramp(300), zeros(3)))
@launched("tree in shared memory, block 256", 2, 256, lambda: (ramp(512), zeros(2)))
@cuda.jit
def shared_tree(x, out):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    width = cuda.blockDim.x
    while width > 1:
        half = (width + 1) // 2
        if t + half < width:
            s[t] += s[t + half]
        cuda.syncthreads()
        width = half
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@launched("tree in shared memory, strided slots", 2, 128, lambda: (ramp(256), zeros(2)))
@cuda.jit
def conflicting_tree(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    stride = 1
    while stride < cuda.blockDim.x:
        slot = 2 * stride * t
        if slot < cuda.blockDim.x:
            s[slot] += s[slot + stride]
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


@launched("scan in two buffers", 2, 100, lambda: (ramp(200, np.int32), zeros(200, np.int32)))
@cuda.jit
def scan(x, out):
    s = cuda.shared.array((2, 100), int32)
    t = cuda.threadIdx.x
    now = 0
    s[0, t] = x[cuda.grid(1)]
    cuda.syncthreads()
    reach = 1
    while reach < 100:
        value = s[now, t]
        if t >= reach:
            value += s[now, t - reach]
        s[1 - now, t] = value
        cuda.syncthreads()
        now = 1 - now
        reach *= 2
    out[cuda.grid(1)] = s[now, t]


@launched("product by tiles of 12 x 10", (2, 3), (10, 12), lambda: (ramp((31, 23)), ramp((23, 17)), zeros((31, 17))))
@cuda.jit
def product(a, b, c):
    tile_a = cuda.shared.array((12, 10), float32)
    tile_b = cuda.shared.array((10, 10), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = float32(0)
    for first in range(0, a.shape[1], 10):
        inside = row < a.shape[0] and first + tx < a.shape[1]
        tile_a[ty, tx] = a[row, first + tx] if inside else float32(0)
        if ty < 10:
            inside = column < b.shape[1] and first + ty < b.shape[0]
            tile_b[ty, tx] = b[first + ty, column] if inside else float32(0)
        cuda.syncthreads()
        for k in range(min(10, a.shape[1] - first)):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@launched("dynamic shared memory in slices", 3, 100, lambda: (ramp(300), zeros(300)), 1200)
@cuda.jit
def dynamic(x, out):
    whole = cuda.shared.array(0, float32)
    first, second = whole[:100], whole[100:]
    t, i = cuda.threadIdx.x, cuda.grid(1)
    first[t] = x[i]
    second[2 * t] = x[299 - i]
    cuda.syncthreads()
    out[i] = first[99 - t] + second[t // 4 * 2]


@launched(
    "dynamic shared memory, complex128", 3, 100, lambda: (ramp(300, np.complex128), zeros(300, np.complex128)), 1600
)
@cuda.jit
def dynamic_complex(x, out):
    s = cuda.shared.array(0, complex128)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    out[i] = s[99 - t] + s[t * 3 % 100]


@launched("half a block in shared memory", 3, 100, lambda: (ramp(300), zeros(300)))
@cuda.jit
def half_block(x, out):
    s = cuda.shared.array(50, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t >= 50:
        s[t - 50] = x[i]
    cuda.syncthreads()
    if t < 50:
        out[i] = s[49 - t]


@launched("histogram in shared memory", 2, 100, lambda: (shuffled(800, 50), zeros(50, np.int32)))
@cuda.jit
def histogram(x, counts):
    s = cuda.shared.array(50, int32)
    t = cuda.threadIdx.x
    for k in range(t, 50, cuda.blockDim.x):
        s[k] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(s, x[i], 1)
    cuda.syncthreads()
    for k in range(t, 50, cuda.blockDim.x):
        cuda.atomic.add(counts, k, s[k])


# --- what a compiler changes ---------------------------------------------------------------------------------------


@launched("merged: one element read twice", 3, 48, lambda: (ramp(144), zeros(144)))
@cuda.jit
def read_twice(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * x[i]


@launched("merged: a sum kept in memory", 3, 48, lambda: (ramp(144), zeros(144)))
@cuda.jit
def sum_in_memory(x, out):
    i = cuda.grid(1)
    for k in range(8):
        out[i] += x[(i + k) % 144]


# --- running and collecting ----------------------------------------------------------------------------------------


def run() -> None:
    """Launch everything once, in order."""
    for launch in LAUNCHES.values():
        launch.kernel[launch.grid, launch.block, 0, launch.shared_bytes](*launch.args())
    cuda.synchronize()


def command() -> str:
    """The command that makes the readings."""
    metrics = ",".join(METRICS.values())
    return f"ncu --clock-control none --csv --metrics {metrics} python data/probes/numba_kernels.py > kernels.csv"


def collect(path: Path) -> dict:
    """The readings of a CSV file of Nsight Compute, by launch; launches appear in the order of LAUNCHES."""
    rows = csv.DictReader(line for line in path.read_text().splitlines() if line.startswith('"'))
    names = {metric: name for name, metric in METRICS.items()}
    readings: dict[int, dict[str, int]] = defaultdict(dict)
    for row in rows:
        readings[int(row["ID"])][names[row["Metric Name"]]] = int(row["Metric Value"].replace(",", ""))
    launches = {}
    for (name, launch), number in zip(LAUNCHES.items(), sorted(readings), strict=True):
        found = {counter: readings[number][counter] for counter in METRICS if readings[number][counter]}
        launches[name] = {"grid": launch.grid, "block": launch.block, "counters": found}
    return launches


def machine() -> dict[str, str]:
    """Where the readings are made: GPU, driver, versions, date."""
    import llvmlite
    import numba
    import numba_cuda

    def said(*words: str) -> str:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    gpu, capability, driver = said(
        "nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"
    ).split(", ")
    return {
        "gpu": gpu,
        "compute_capability": capability,
        "driver": driver,
        "cuda": ".".join(map(str, cuda.runtime.get_version())),
        "ncu": said("ncu", "--version").splitlines()[-1].split()[1],
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "numba": numba.__version__,
        "numba-cuda": numba_cuda.__version__,
        "llvmlite": llvmlite.__version__,
        "date": date.today().isoformat(),
    }


def main() -> None:
    """Run the launches, or print the command that reads them, or collect what it wrote."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", action="store_true", help="print the command that makes the readings")
    parser.add_argument("--collect", type=Path, metavar="CSV", help="print its readings as JSON")
    args = parser.parse_args()
    if args.command:
        print(command())
    elif args.collect:
        launches = ",\n".join(f"{json.dumps(name)}: {json.dumps(it)}" for name, it in collect(args.collect).items())
        print(f'{{"machine": {json.dumps(machine())},\n"command": {json.dumps(command())},')
        print(f'"launches": {{\n{launches}\n}}}}')
    else:
        run()


if __name__ == "__main__":
    main()
