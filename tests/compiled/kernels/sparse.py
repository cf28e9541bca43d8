"""Sparse products and segmented sums."""

import numpy as np
from compiled.kernels.table import Near, floats, fma, halving, i32, integers, launched, sum_bound, zeros

ROWS = 130


def matrix() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """starts, columns, values of a matrix with rows of very different length, some empty, one of 100."""
    lengths = integers(ROWS, high=12, seed=3)
    lengths[::7] = 0
    lengths[17] = 100
    starts = np.concatenate(([0], lengths.cumsum())).astype(np.int32)
    return starts, integers(starts[-1], high=ROWS), floats(starts[-1], low=-1)


def arguments() -> tuple:
    """A matrix, a vector, room for their product."""
    return *matrix(), floats(ROWS, seed=2), zeros(ROWS), i32(ROWS)


def by_lanes(lanes: int):
    """The product with `lanes` lanes a row, in the order of the additions."""

    def reference(starts, columns, values, x, y, rows) -> dict:
        result = np.zeros(ROWS, np.float32)
        for row in range(ROWS):
            total = np.zeros(lanes, np.float32)
            for k in range(starts[row], starts[row + 1]):
                lane = (k - starts[row]) % lanes
                total[lane] = fma(values[k], x[columns[k]], total[lane])
            result[row] = halving(total)
        return {4: result}

    return reference


launched("sparse", "csr_scalar", 3, 48, arguments, by_lanes(1))
launched("sparse", "csr_vector", 44, 96, arguments, by_lanes(32))
launched("sparse", "csr_subwarp", 9, 128, arguments, by_lanes(8))


def uneven_arguments() -> tuple:
    """The 20,000 x 20,000 matrix with Pareto row lengths whose numba kernels are among the first H200 readings."""
    rows = 20_000
    rng = np.random.default_rng(0)
    lengths = np.minimum((rng.pareto(1.2, rows) * 3).astype(int), 2000)
    starts = np.concatenate(([0], lengths.cumsum())).astype(np.int32)
    columns = np.concatenate([np.sort(rng.choice(rows, n, replace=False)) for n in lengths]).astype(np.int32)
    values, x = rng.random(columns.size, dtype=np.float32), rng.random(rows, dtype=np.float32)
    return starts, columns, values, x, zeros(rows), i32(rows)


def uneven_product(starts, columns, values, x, y, rows) -> dict:
    """In float64: the longest row has 2,000 products."""
    row = np.repeat(np.arange(rows), np.diff(starts))
    exact = np.bincount(row, values.astype(np.float64) * x[columns], rows)
    return {4: Near(exact, 2000 * 2.0**-24 * exact)}


launched("sparse", "csr_scalar", 79, 256, uneven_arguments, uneven_product, name="csr_scalar, uneven rows")
launched("sparse", "csr_vector", 2500, 256, uneven_arguments, uneven_product, name="csr_vector, uneven rows")


def ell_arguments() -> tuple:
    """A matrix of rows of at most 6 entries, the rest marked with -1 and not a number."""
    columns = integers(6, ROWS, low=-40, high=ROWS)
    columns[columns < 0] = -1
    values = np.where(columns < 0, np.nan, floats(6, ROWS, dtype=np.float64))
    return columns, values, floats(ROWS, seed=2, dtype=np.float64), zeros(ROWS, dtype=np.float64), i32(ROWS), i32(6)


def ell(columns, values, x, y, rows, width) -> dict:
    """Each row from top to bottom, fused."""
    terms = np.where(columns < 0, 0, np.nan_to_num(values) * x[columns])
    return {3: Near(terms.sum(0), sum_bound(terms, 0, np.float64))}


launched("sparse", "ell", 3, 48, ell_arguments, ell)


def coo(rows, columns, values, x, y, n) -> dict:
    """Whole numbers, in any order."""
    result = np.zeros_like(y)
    np.add.at(result, rows, values * x[columns])
    return {4: result}


launched(
    "sparse",
    "coo",
    4,
    100,
    lambda: (
        integers(390, high=40),
        integers(390, high=40, seed=2),
        integers(390, low=-9, seed=3),
        integers(40, seed=4),
        zeros(40, dtype=np.int32),
        i32(390),
    ),
    coo,
)
launched(
    "sparse",
    "segmented_sum",
    4,
    64,
    lambda: (np.sort(integers(230, high=20)), integers(230, low=-50, seed=2), zeros(20, dtype=np.int32), i32(230)),
    lambda keys, values, sums, n: {2: np.bincount(keys, values, 20).astype(np.int32)},
)
