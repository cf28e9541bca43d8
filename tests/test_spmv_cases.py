"""The mistakes with sparse matrices in cases/sparse_products.py are not made here: every way, in both languages, is
right on matrices of that sort, and nothing is left over that the machine would report.

What the cases themselves must report is in test_cases.py.
"""

import importlib

import numpy as np
import pytest

import gpukit
from gpukit import plugins
from gpukit.registry import CPP, NUMBA

plugins.load("spmv")
formats = importlib.import_module("gpukit_labs.spmv.formats")
products = importlib.import_module("gpukit_labs.spmv.products")

INF, NAN = np.inf, np.nan

every_way = pytest.mark.parametrize("way", products.WAYS)
both_languages = pytest.mark.parametrize("language", [NUMBA, CPP])


def csr_of(rows, columns):
    """Rows of (column, value), as they are given."""
    lengths = [len(row) for row in rows]
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    entries = [entry for row in rows for entry in row]
    indices, data = np.int32([c for c, _ in entries]), np.float32([v for _, v in entries])
    return formats.Csr((len(rows), columns), indptr, indices, data).checked()


def multiply(way, language, csr, x, y, beta=0, **options):
    """(y, kinds of what the machine reports) after y = A x + beta y."""
    x, y, kinds = np.float32(x), np.full(csr.rows, y, np.float32), set()
    for launch in products.product(way, csr, x, y, 1, beta, language=language, **options).launches:
        shared = launch.shared_bytes
        report = gpukit.profile(launch.kernel, launch.grid, launch.block, *launch.args, shared_bytes=shared)
        kinds |= {hazard.kind for hazard in report.hazards}
    return y.tolist(), kinds


WITH_EMPTY_ROWS = csr_of([[(0, 1), (3, 2)], [], [(1, 3)], [], [(2, 4), (3, 5)]], 4)


@every_way
@both_languages
@pytest.mark.parametrize("before", [7, NAN])
def test_every_row_is_written(way, language, before):
    """Rows without entries too, and beta = 0 does not read what was there."""
    assert multiply(way, language, WITH_EMPTY_ROWS, [1, 10, 100, 1000], before) == ([2001, 0, 30, 0, 5400], set())


@every_way
@both_languages
def test_beta_keeps_what_is_in_rows_without_entries(way, language):
    y, kinds = multiply(way, language, WITH_EMPTY_ROWS, [1, 10, 100, 1000], 7, beta=-2)
    assert (y, kinds) == ([1987, -14, 16, -14, 5386], set())


@every_way
@both_languages
@pytest.mark.parametrize("columns", [0, 4])
def test_a_matrix_without_entries_gives_zeros(way, language, columns):
    """The grid has a block, and no entry nnz - 1 is read."""
    assert multiply(way, language, csr_of([[]] * 3, columns), [1] * columns, NAN) == ([0, 0, 0], set())


REPEATED = csr_of([[(2, 1), (0, 5), (2, 10)], [(1, 3)], [(2, 4), (0, 6), (0, 7)]], 3)


@every_way
@both_languages
def test_repeated_columns_add_up_in_every_format(way, language):
    assert multiply(way, language, REPEATED, [1, 10, 100], NAN) == ([1105, 30, 413], set())


@pytest.mark.parametrize("convert", [formats.Ell.from_csr, formats.SlicedEll.from_csr], ids=["ell", "sliced ell"])
def test_a_conversion_keeps_the_sum_of_each_row(convert):
    form = convert(REPEATED)
    assert (form.columns != formats.PADDING).sum() == REPEATED.nnz == 7
    assert form.values.sum() == REPEATED.data.sum()


@every_way
@both_languages
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([INF, 10, 100, 1000], [INF, 30, 1110, 0]),  # padding of column 0 would read Inf
        ([5, 10, 100, NAN], [10, 30, NAN, 0]),  # padding of column -1 would read NaN
        ([-INF, 10, INF, 1], [-INF, 30, INF, 0]),
    ],
)
def test_padding_multiplies_nothing(way, language, x, y):
    csr = csr_of([[(0, 2)], [(1, 3)], [(1, 1), (2, 1), (3, 1)], []], 4)
    got, kinds = multiply(way, language, csr, x, NAN)
    np.testing.assert_array_equal(got, y)
    assert kinds == set()


LENGTHS = 1, 1, 0, 1, 3, 2, 1, 0, 2, 1  # in slices of 4, 4 and 2 rows
SLICED = csr_of([[((r + 3 * k) % 12, r + 1 + 10 * k) for k in range(n)] for r, n in enumerate(LENGTHS)], 12)


def test_offsets_of_slices_are_running_sums():
    """Widths of 1, 3 and 2 times a height of 4: not where the slice before ends by its own length."""
    form = formats.SlicedEll.from_csr(SLICED, 4)
    assert form.offsets.tolist() == [0, 4, 16, 24]
    assert form.offsets[-1] == form.values.size


@both_languages
@pytest.mark.parametrize("sigma", [1, 4, 7, 10])
@pytest.mark.parametrize("height", [1, 2, 3, 4, 5, 10, 32])
def test_a_last_slice_that_is_not_full(language, sigma, height):
    got, kinds = multiply("sliced_ell", language, SLICED, range(1, 13), NAN, height=height, sigma=sigma)
    assert (got, kinds) == ([1, 4, 0, 16, 420, 180, 49, 0, 309, 100], set())
