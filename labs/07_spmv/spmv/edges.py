"""Matrices at the edges, small ones, each of which some library or kernel has got wrong; `EDGES` has them by name.

`BUGS` lists 35 mistakes that were made in public, and what keeps each one away from here.

Source: the scenarios of Ginkgo's tests (https://github.com/ginkgo-project/ginkgo, test/matrix/matrix.cpp), and the
reports that BUGS links to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from .formats import Csr

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


# --- 35 mistakes -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bug:
    """A mistake made in public. edges: matrices that would show it. tests: FILE.py::TEST in tests/ that would fail.
    not_ours: why it cannot be made here, where it cannot."""

    what: str
    where: str
    edges: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    not_ours: str = ""


_ON_EDGES = "test_spmv_edges.py::test_every_way_is_right_on_every_edge"
_FACTORS = "test_spmv_edges.py::test_alpha_and_beta"

BUGS: dict[int, Bug] = {
    1: Bug("no entries: y left unwritten", "ROCm/rocSPARSE#234", ("no_entries",), (_ON_EDGES,)),
    2: Bug("no columns: y left unwritten", "ROCm/rocSPARSE#246", ("no_columns",), (_ON_EDGES,)),
    3: Bug("no entries: the entry nnz - 1 is read", "NVIDIA/cub#659", ("no_entries",), (_ON_EDGES,)),
    4: Bug("no columns: a division by them", "ginkgo, csr_kernels", ("no_columns",), (_ON_EDGES,)),
    5: Bug(
        "no rows: a division by them", "CUSP, Kokkos-Kernels, CSR5", ("no_rows", "no_rows_and_no_columns"), (_ON_EDGES,)
    ),
    6: Bug("far fewer entries than rows: a grid of no blocks", "NVIDIA/cub#280", ("few_entries",), (_ON_EDGES,)),
    7: Bug(
        "many empty rows first or last",
        "hypre-space/hypre#300, rocSPARSE adaptive",
        ("empty_rows_first", "empty_rows_last"),
        (_ON_EDGES,),
    ),
    8: Bug(
        "rows without entries",
        "libxsmm/libxsmm#782",
        ("empty_rows_between", "no_entries"),
        (_ON_EDGES, "test_spmv_checks.py::test_a_wrong_product_is_stopped_by_its_gate"),
    ),
    9: Bug(
        "reads past the end of a row pointer that fills its allocation",
        "cupy/cupy#3822",
        tuple(EDGES),
        ("test_spmv_edges.py::test_every_way_is_right_on_every_edge",),
    ),
    10: Bug(
        "coordinates that are not sorted by row",
        "CUDALibrarySamples#170, cupy#3620",
        (),
        ("test_spmv_formats.py::test_coordinates_need_no_order",),
    ),
    11: Bug(
        "columns that repeat or fall",
        "cupy#7713, scipy#5807, pytorch#60277",
        ("unsorted_and_repeated",),
        (_ON_EDGES, "test_spmv_cases.py::test_repeated_columns_add_up_in_every_format"),
    ),
    12: Bug(
        "the first product sorts the matrix in place",
        "cupy#3430",
        ("unsorted_and_repeated",),
        (
            "test_spmv_formats.py::test_the_matrix_that_is_converted_stays_as_it_is",
            "test_spmv_checks.py::test_an_input_that_changed_is_told",
        ),
    ),
    13: Bug(
        "more than 2^31 entries wrapped to int32",
        "cupy#9490",
        (),
        (
            "test_spmv_formats.py::test_more_entries_than_an_int32_row_pointer_counts_are_refused",
            "test_spmv_checks.py::test_a_row_pointer_wrapped_to_32_bits_is_stopped",
            "test_spmv_edges.py::test_row_pointers_past_32_bits",
        ),
    ),
    14: Bug(
        "just below 2^31 entries: a size rounded up wraps",
        "CUDA.jl#2555",
        (),
        ("test_spmv_edges.py::test_row_pointers_past_32_bits",),
    ),
    15: Bug(
        "nnz that overflows",
        "pytorch#102520, scipy#12340",
        (),
        ("test_spmv_formats.py::test_more_entries_than_an_int32_row_pointer_counts_are_refused",),
    ),
    16: Bug(
        "the number of a thread wraps at 32 bits",
        "rocm-libraries#12313",
        (),
        ("test_spmv_edges.py::test_numbers_of_threads_are_64_bits_wide",),
    ),
    17: Bug(
        "rows on y of the grid, which ends at 65,535",
        "cupy#9850, ginkgo#432",
        (),
        ("test_spmv_edges.py::test_rows_are_on_x_of_the_grid",),
    ),
    18: Bug(
        "padding of column 0 and value 0: 0 * inf",
        "ginkgo#1018",
        ("unused_columns", "one_row_past_a_slice"),
        (_ON_EDGES, "test_spmv_checks.py::test_a_wrong_product_is_stopped_by_its_gate"),
    ),
    19: Bug(
        "padding read out of bounds",
        "NVPL Sparse 0.6.0, release notes",
        ("one_row_past_a_slice", "slices_of_every_width"),
        (_ON_EDGES,),
    ),
    20: Bug(
        "NaN and Inf where nothing is stored, and where a zero is",
        "scipy#7532",
        ("stored_zeros_meet_inf", "unused_columns", "infinite_values"),
        (_ON_EDGES,),
    ),
    21: Bug("beta = 0 times a NaN in y", "kokkos-kernels#2166, #2188", ("ragged",), (_ON_EDGES, _FACTORS)),
    22: Bug(
        "beta = 1 ignored, or one row or column, with CSR_ALG2",
        "NVIDIA/cuopt#1856",
        ("one_row", "one_column"),
        (_ON_EDGES, _FACTORS),
    ),
    23: Bug("beta = -1 as a case of its own", "kokkos-kernels#947", ("ragged",), (_FACTORS,)),
    24: Bug(
        "no entries: beta * y lost", "cupyx/cusparse.py, spmv", ("no_entries", "no_columns"), (_FACTORS, _ON_EDGES)
    ),
    25: Bug(
        "vectors that are not contiguous",
        "cupy#4666, ginkgo#1212",
        (),
        (
            "test_spmv_edges.py::test_vectors_with_gaps_are_refused_or_right",
            "test_spmv_formats.py::test_arrays_with_gaps_are_refused",
        ),
    ),
    26: Bug("y that is not aligned to 16 bytes", "kokkos-kernels#1889", tuple(EDGES), (_ON_EDGES,)),
    27: Bug(
        "one buffer for several matrices",
        "CUDALibrarySamples#212",
        (),
        ("test_spmv_edges.py::test_products_share_no_memory",),
    ),
    28: Bug(
        "a transposed or conjugated product that is not",
        "kokkos-kernels#650, #1048",
        not_ours="the products here have no such mode, and complex matrices are refused",
    ),
    29: Bug(
        "rows and columns exchanged",
        "ddemidov/vexcl#9",
        ("wide", "tall", "one_row", "one_column"),
        (_ON_EDGES, "test_spmv_checks.py::test_a_wrong_product_is_stopped_by_its_gate"),
    ),
    30: Bug(
        "rows longer than the lanes that share them",
        "rocSPARSE#32, #231",
        ("more_than_64_each", "around_the_sizes_of_groups", "imbalanced"),
        (_ON_EDGES,),
    ),
    31: Bug(
        "other last digits in every run",
        "CUDA.jl#2582, cupy#9323, ginkgo#983",
        ("imbalanced",),
        ("test_spmv_edges.py::test_a_product_has_the_same_bits_every_time",),
    ),
    32: Bug(
        "slices as wide as the mean of all",
        "kokkos-kernels#2911",
        ("slices_of_every_width", "imbalanced"),
        (_ON_EDGES, "test_spmv_cases.py::test_offsets_of_slices_are_running_sums"),
    ),
    33: Bug(
        "a barrier that not every thread reaches",
        "MAGMA, zgesellptmv2d",
        ("one_row_past_a_slice", "ragged"),
        (_ON_EDGES,),
    ),
    34: Bug("a shuffle without a mask", "CSR5, CUSP", ("ragged", "one_row_past_a_slice"), (_ON_EDGES,)),
    35: Bug(
        "a column out of range, and entries past the last row's",
        "CUDALibrarySamples#106",
        (),
        (
            "test_spmv_formats.py::test_malformed_arrays_are_refused",
            "test_spmv_formats.py::test_entries_past_the_last_row_are_left_out",
        ),
    ),
}
