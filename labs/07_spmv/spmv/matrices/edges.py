"""Matrices at the edges, small ones, each of which some library or kernel has got wrong; `EDGES` has them by name.

Source: the scenarios of Ginkgo's tests (https://github.com/ginkgo-project/ginkgo, test/matrix/matrix.cpp), and the
reports of ../bugs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..formats import Csr

EDGES: dict[str, Callable[[], Csr]] = {}  # name -> a function that makes the matrix, float32 with an int32 row pointer


def edge(make: Callable[[], Csr]) -> Callable[[], Csr]:
    EDGES[make.__name__] = make
    return make


def of_lengths(lengths: Iterable[int], columns: int, seed: int = 0) -> Csr:
    """Rows of these lengths, at most `columns`: distinct columns in order, values of both signs, none near 0."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(columns, length, replace=False)) for length in lengths]
    return of_rows(rows, columns, seed)


def of_rows(rows: Iterable[Iterable[int]], columns: int, seed: int = 0) -> Csr:
    """These columns in each row, in this order; values as `of_lengths` gives them."""
    found = [np.fromiter(row, np.int32) for row in rows]
    indptr = np.zeros(len(found) + 1, np.int32)
    np.cumsum([row.size for row in found], out=indptr[1:])
    rng = np.random.default_rng(seed)
    data = rng.uniform(0.5, 1, indptr[-1]) * rng.choice([-1, 1], indptr[-1])
    indices = np.concatenate([np.zeros(0, np.int32), *found])
    return Csr((len(found), columns), indptr, indices, data.astype(np.float32)).checked()


# --- sizes -----------------------------------------------------------------------------------------------------------


@edge
def no_rows_and_no_columns() -> Csr:
    return of_lengths([], 0)


@edge
def no_rows() -> Csr:
    return of_lengths([], 2)


@edge
def no_columns() -> Csr:
    return of_lengths([0, 0], 0)


@edge
def no_entries() -> Csr:
    return of_lengths([0] * 200, 100)


@edge
def one_entry() -> Csr:
    return of_lengths([1], 1)


@edge
def one_row() -> Csr:
    return of_lengths([150], 300)


@edge
def one_column() -> Csr:
    return of_lengths([int(i % 3 != 1) for i in range(150)], 1)


@edge
def wide() -> Csr:
    return of_lengths([40, 0, 1, 90, 7], 5000)


@edge
def tall() -> Csr:
    return of_lengths([i % 6 for i in range(500)], 5)


@edge
def few_entries() -> Csr:
    """20 entries in 1,000 rows: less than one entry a row on average."""
    return of_lengths([int(i % 50 == 7) for i in range(1000)], 1000)


# --- lengths of rows -------------------------------------------------------------------------------------------------


@edge
def ragged() -> Csr:
    return of_lengths([1, 5, 2, 4, 3, 3, 1, 2, 5, 4], 10)


@edge
def dense_square() -> Csr:
    return of_lengths([10] * 10, 10)


@edge
def dense() -> Csr:
    return of_lengths([40] * 70, 40)


@edge
def up_to_fifty() -> Csr:
    return of_lengths(np.random.default_rng(1).integers(0, 51, 200).tolist(), 100)


@edge
def fifty_each() -> Csr:
    """Longer than a warp, and no multiple of one."""
    return of_lengths([50] * 70, 100)


@edge
def more_than_64_each() -> Csr:
    return of_lengths(range(65, 100), 130)


@edge
def imbalanced() -> Csr:
    """Most rows short, a few of them long, as a Poisson distribution's tail to the power of four."""
    lengths = np.random.default_rng(2).poisson(1.5, 300) ** 4
    return of_lengths(np.minimum(lengths, 400).tolist(), 400)


@edge
def around_the_sizes_of_groups() -> Csr:
    """One more and one less than a warp, a block, and several blocks have threads, among short rows."""
    long = 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025
    return of_lengths([*long, 3072, 0, 3073, 2], 3100)


@edge
def one_row_has_every_column() -> Csr:
    return of_lengths([2] * 100 + [700] + [2] * 100, 700)


@edge
def arrow() -> Csr:
    """A full first row, a full first column, and the diagonal."""
    return of_rows([range(130), *((0, i) for i in range(1, 130))], 130)


@edge
def long_and_short_by_turns() -> Csr:
    """One long row in each group of four: the lanes of the short ones wait."""
    return of_lengths([60 if i % 4 == 0 else 1 for i in range(132)], 64)


@edge
def empty_rows_first() -> Csr:
    return of_lengths([0] * 70 + [3] * 30, 50)


@edge
def empty_rows_last() -> Csr:
    return of_lengths([3] * 30 + [0] * 70, 50)


@edge
def empty_rows_between() -> Csr:
    """A whole warp of them, and single ones."""
    return of_lengths([4] * 20 + [0] * 45 + [4, 0] * 20, 50)


@edge
def one_row_past_a_slice() -> Csr:
    """97 = 3 * 32 + 1 rows, which no height of a slice, and no window but one, divides."""
    return of_lengths([(7 * i) % 11 for i in range(97)], 40)


@edge
def slices_of_every_width() -> Csr:
    """Slices of 32 rows with widths of 1, 0, 9, 2 and 5, so that an offset must be the sum of those before."""
    widths = 1, 0, 9, 2, 5
    return of_lengths([width if i % 3 == 0 else width // 2 for width in widths for i in range(32)][:-5], 20)


# --- columns and values ----------------------------------------------------------------------------------------------


@edge
def unsorted_and_repeated() -> Csr:
    """Columns fall, and some come twice or three times: they add up."""
    rows = [[2, 0, 2], [1], [2, 0, 0], [], [5, 4, 3, 2, 1, 0, 5, 5], [6] * 40, *([i % 7, 0, i % 7] for i in range(60))]
    return of_rows(rows, 7)


@edge
def unused_columns() -> Csr:
    """No row uses the first column, the last, or any even one."""
    columns = np.arange(1, 60, 2)
    rows = [np.random.default_rng(i).choice(columns, (5 * i) % 13, replace=False) for i in range(70)]
    return of_rows(rows, 61)


@edge
def last_column_alone() -> Csr:
    return of_rows([[99] * (i % 3) for i in range(70)], 100)


@edge
def stored_zeros() -> Csr:
    """A quarter of the entries is 0, and all of one row."""
    csr = of_lengths([i % 9 for i in range(100)], 60)
    csr.data[::4] = 0
    csr.data[csr.indptr[8] : csr.indptr[9]] = 0
    return csr


@edge
def stored_zeros_meet_inf() -> Csr:
    """Zeros stored in the first column and in the last, where trials have Inf and NaN: 0 * inf is NaN."""
    csr = of_rows([[0, 5, 9], [0, 5], [5, 9], [5], []] * 9, 10)
    csr.data[csr.indices != 5] = 0
    return csr


@edge
def infinite_values() -> Csr:
    """Entries of Inf, -Inf and NaN: the matrix of a network had weights of Inf."""
    csr = of_lengths([i % 6 for i in range(60)], 40)
    csr.data[[3, 20, 41, 42]] = np.inf, -np.inf, np.nan, np.inf
    return csr


@edge
def cancelling() -> Csr:
    """Rows that sum up to little: large entries in pairs of opposite sign, and small ones; no relative error fits."""
    rows = [[*range(2 * (i % 20)), 40] for i in range(60)]
    csr = of_rows(rows, 41)
    for first, last in zip(csr.indptr, csr.indptr[1:], strict=False):
        pairs = (last - first) // 2
        csr.data[first : first + 2 * pairs] = np.tile([1e6, -1e6], pairs)
    return csr


@edge
def tiny_and_huge() -> Csr:
    """Values whose products underflow, and values near the largest there is."""
    csr = of_lengths([i % 7 for i in range(50)], 30)
    csr.data[::3] *= np.float32(1e-38)
    csr.data[1::3] *= np.float32(1e37)
    return csr
