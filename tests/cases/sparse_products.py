"""Sparse matrix times vector: output left as it was, an empty matrix, repeated columns, padding that poisons.

https://github.com/weifengliu-ssslab/Benchmark_SpMV_using_CSR5/pull/4
https://github.com/hypre-space/hypre/pull/300
https://github.com/kokkos/kokkos-kernels/issues/2166
https://github.com/NVIDIA/cub/pull/659
https://github.com/ROCm/rocSPARSE/issues/246
https://github.com/hypre-space/hypre/pull/246
https://github.com/pydata/sparse/issues/602
https://github.com/cupy/cupy/issues/7713
https://github.com/pytorch/pytorch/issues/60277
https://github.com/ginkgo-project/ginkgo/issues/1018
https://github.com/ginkgo-project/ginkgo/pull/1027
https://github.com/scipy/scipy/issues/7532
https://github.com/NVIDIA/CUDALibrarySamples/issues/80
https://github.com/ginkgo-project/ginkgo/pull/215
https://github.com/ginkgo-project/ginkgo/pull/69
"""

import numpy as np

from gpukit import cuda

NAN, INF = float("nan"), float("inf")

# --- rows without an entry, and what beta = 0 means ----------------------------------------------------------------


def rows_with_entries_only(indptr, indices, data, x, y, beta):
    row = cuda.grid(1)
    if row < y.size and indptr[row] < indptr[row + 1]:
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += x[indices[k]] * data[k]
        y[row] = total


def zero_times_old(indptr, indices, data, x, y, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += x[indices[k]] * data[k]
        y[row] = total + beta * y[row]


def overwrite_for_zero(indptr, indices, data, x, y, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += x[indices[k]] * data[k]
        if beta != 0.0:
            total += beta * y[row]
        y[row] = total


def empty_rows(fill):
    indptr = np.array([0, 0, 3, 3, 3, 4], np.int32)
    indices = np.array([0, 1, 2, 2], np.int32)
    return [indptr, indices, np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 10.0, 100.0]), np.full(5, fill), 0.0]


PRODUCT = [0.0, 321.0, 0.0, 0.0, 400.0]

# --- no entries at all ---------------------------------------------------------------------------------------------


def clamped(rows, columns, data, x, y):
    k = cuda.grid(1)
    safe = min(k, data.size - 1)
    value = data[safe] * x[columns[safe]]
    if k < data.size:
        cuda.atomic.add(y, rows[k], value)


def guarded(rows, columns, data, x, y):
    k = cuda.grid(1)
    if k < data.size:
        cuda.atomic.add(y, rows[k], data[k] * x[columns[k]])


def no_entries():
    return [np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), np.ones(2), np.zeros(4)]


# --- ELL: columns by (slot, row), padding ---------------------------------------------------------------------------


def ell_unguarded(columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for slot in range(columns.shape[0]):
            total += values[slot, row] * x[columns[slot, row]]
        y[row] = total


def ell_guarded(columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for slot in range(columns.shape[0]):
            column = columns[slot, row]
            if column >= 0:
                total += values[slot, row] * x[column]
        y[row] = total


def ell(rows, padding, x):
    """Arguments for `rows`, each a list of (column, value)."""
    width = max(len(row) for row in rows)
    columns = np.full((width, len(rows)), padding, np.int32)
    values = np.zeros((width, len(rows)))
    for r, row in enumerate(rows):
        for slot, (column, value) in enumerate(row):
            columns[slot, r], values[slot, r] = column, value
    return [columns, values, np.array(x), np.zeros(len(rows))]


UNEVEN = [[(1, 1.0), (2, 1.0)], [(1, 5.0)], []]
REPEATED = [(0, 2.0), (1, 1.0), (0, 30.0)]


def ell_of_repeated(add):
    """One row with column 0 stored twice, converted with or without adding up."""
    merged: dict[int, float] = {}
    for column, value in REPEATED:
        merged[column] = merged.get(column, 0.0) + value if add else value
    return ell([list(merged.items())], -1, [1.0, 100.0])


# --- slices of ELL -------------------------------------------------------------------------------------------------

SLICE = 2


def sliced_ell(offsets, widths, columns, values, x, y):
    row = cuda.grid(1)
    if row < y.size:
        which = row // SLICE
        total = 0.0
        for k in range(widths[which]):
            place = offsets[which] + k * SLICE + row % SLICE
            if columns[place] >= 0:
                total += values[place] * x[columns[place]]
        y[row] = total


def slices(running_sum):
    """Five rows of 1, 3, 1, 2, 1 entries in slices of two, of widths 3, 2 and 1."""
    widths = np.array([3, 2, 1], np.int32)
    columns = np.array([0, 0, -1, 1, -1, 2, 1, 0, -1, 3, 2, -1], np.int32)
    values = np.arange(1.0, 13.0)
    starts = np.array([0, 6, 10], np.int32) if running_sum else np.array([0, 6, 4], np.int32)
    return [starts, widths, columns, values, np.array([1.0, 10.0, 100.0, 1000.0]), np.zeros(5)]


SLICED = [1.0, 2.0 + 40.0 + 600.0, 70.0, 8.0 + 10000.0, 1100.0]

CASES = {
    "empty rows skipped": {
        "kernel": rows_with_entries_only,
        "args": lambda: empty_rows(9.0),
        "grid": 1,
        "block": 32,
        "out": 4,
        "detect": ["unwritten_output"],
        "result": [9.0, 321.0, 9.0, 9.0, 400.0],
        "correct": PRODUCT,
        "counts": {"unwritten_output": 3},
    },
    "zero times NaN": {
        "kernel": zero_times_old,
        "args": lambda: empty_rows(NAN),
        "grid": 1,
        "block": 32,
        "out": 4,
        "detect": ["nan_propagation"],
        "result": [NAN] * 5,
        "correct": PRODUCT,
    },
    "overwritten": {
        "kernel": overwrite_for_zero,
        "args": lambda: empty_rows(NAN),
        "grid": 1,
        "block": 32,
        "out": 4,
        "detect": [],
        "result": PRODUCT,
        "correct": PRODUCT,
    },
    "no entries, clamped": {
        "kernel": clamped,
        "args": no_entries,
        "grid": 1,
        "block": 32,
        "out": 4,
        "detect": ["negative_index", "oob_global_read"],
        "correct": [0.0] * 4,
    },
    "no entries, guarded": {
        "kernel": guarded,
        "args": no_entries,
        "grid": 1,
        "block": 32,
        "out": 4,
        "detect": [],
        "result": [0.0] * 4,
        "correct": [0.0] * 4,
    },
    "repeated column, last wins": {
        "kernel": ell_guarded,
        "args": lambda: ell_of_repeated(add=False),
        "grid": 1,
        "block": 32,
        "out": 3,
        "detect": ["wrong_result"],
        "result": [130.0],
        "correct": [132.0],
    },
    "repeated column, added up": {
        "kernel": ell_guarded,
        "args": lambda: ell_of_repeated(add=True),
        "grid": 1,
        "block": 32,
        "out": 3,
        "detect": [],
        "result": [132.0],
        "correct": [132.0],
    },
    "padding reads x[0]": {
        "kernel": ell_unguarded,
        "args": lambda: ell(UNEVEN, 0, [INF, 10.0, 100.0]),
        "grid": 1,
        "block": 32,
        "out": 3,
        "detect": ["nan_propagation"],
        "result": [110.0, NAN, NAN],
        "correct": [110.0, 50.0, 0.0],
    },
    "padding reads x[-1]": {
        "kernel": ell_unguarded,
        "args": lambda: ell(UNEVEN, -1, [1.0, 10.0, 100.0, INF]),
        "grid": 1,
        "block": 32,
        "out": 3,
        "detect": ["negative_index", "nan_propagation"],
        "result": [110.0, NAN, NAN],
        "correct": [110.0, 50.0, 0.0],
        "counts": {"negative_index": 3},
    },
    "padding tested": {
        "kernel": ell_guarded,
        "args": lambda: ell(UNEVEN, -1, [1.0, 10.0, 100.0, INF]),
        "grid": 1,
        "block": 32,
        "out": 3,
        "detect": [],
        "result": [110.0, 50.0, 0.0],
        "correct": [110.0, 50.0, 0.0],
    },
    "slice starts not summed": {
        "kernel": sliced_ell,
        "args": lambda: slices(running_sum=False),
        "grid": 1,
        "block": 32,
        "out": 5,
        "detect": ["wrong_result"],
        "result": [*SLICED[:4], 0.0],
        "correct": SLICED,
    },
    "slice starts summed": {
        "kernel": sliced_ell,
        "args": lambda: slices(running_sum=True),
        "grid": 1,
        "block": 32,
        "out": 5,
        "detect": [],
        "result": SLICED,
        "correct": SLICED,
    },
}
