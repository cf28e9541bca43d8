"""The irregular matrix and the kernel of the H200's sparse readings (spmv in data/results)."""

import functools

import numpy as np

from gpukit import cuda


@cuda.jit
def row_per_warp_reading_the_end_in_every_test(indptr, indices, data, x, y):
    lane = cuda.threadIdx.x % 32
    row = cuda.grid(1) // 32
    if row < y.size:
        total = np.float32(0)
        k = indptr[row] + lane
        while k < indptr[row + 1]:
            total += data[k] * x[indices[k]]
            k += 32
        offset = 16
        while offset > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset)
            offset //= 2
        if lane == 0:
            y[row] = total


@functools.cache
def pareto_matrix():
    """The matrix of the H200 reading: 20,000 rows, 206,898 non-zeros, row lengths from a Pareto distribution."""
    rows = 20_000
    rng = np.random.default_rng(0)
    lengths = np.minimum((rng.pareto(1.2, rows) * 3).astype(int), 2000)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    indices = np.concatenate([np.sort(rng.choice(rows, length, replace=False)) for length in lengths]).astype(np.int32)
    assert indices.size == 206_898
    data, x = rng.random(indices.size, dtype=np.float32), rng.random(rows, dtype=np.float32)
    y = np.bincount(np.repeat(np.arange(rows), lengths), data.astype(np.float64) * x[indices], rows)
    return (indptr, indices, data, x), y
