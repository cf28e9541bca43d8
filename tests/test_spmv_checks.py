"""The gates for y = alpha A x + beta y: right products pass them all, and each wrong one is stopped by the gate meant
for it."""

import importlib
import tempfile
from dataclasses import replace

import numpy as np
import pytest

from gpukit import plugins

plugins.load("spmv")
checks = importlib.import_module("gpukit_labs.spmv.checks")
edges = importlib.import_module("gpukit_labs.spmv.matrices.edges")
formats = importlib.import_module("gpukit_labs.spmv.formats")
MatrixError = importlib.import_module("gpukit_labs.spmv.errors").MatrixError

FACTORS = 0, 1, -1, 2.5


def csr_of(lengths, columns, seed=0, dtype=np.float32, pointer=np.int32):
    """Rows of these lengths, distinct columns in any order, values between -1 and 1."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(pointer)
    places = [rng.choice(columns, length, replace=False) for length in lengths]
    indices = np.concatenate([np.zeros(0, int), *places]).astype(np.int32)
    data = rng.uniform(-1, 1, indices.size).astype(dtype)
    return formats.Csr((len(lengths), columns), indptr, indices, data).checked()


def ragged(dtype=np.float32):
    return csr_of([3, 0, 5, 1, 40, 2, 0], 50, dtype=dtype)


def row_sum(data, indices, x):
    total = data.dtype.type(0)
    for value, column in zip(data, indices, strict=True):
        total += value * x[column]
    return total


def blend(y, sums, alpha, beta):
    y[:] = alpha * sums if beta == 0 else alpha * sums + beta * y


def sums(csr, x, take=slice(None)):
    """(rows,) sums of the entries that `take` leaves in each row, in the values' type."""
    found = np.zeros(csr.rows, csr.dtype)
    for row, (first, last) in enumerate(zip(csr.indptr, csr.indptr[1:], strict=False)):
        found[row] = row_sum(csr.data[first:last][take], csr.indices[first:last][take], x)
    return found


def right(csr, x, y, alpha, beta):
    with np.errstate(invalid="ignore"):
        blend(y, sums(csr, x), y.dtype.type(alpha), y.dtype.type(beta))


# --- what is right ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", FACTORS)
@pytest.mark.parametrize("beta", FACTORS)
def test_a_right_product_passes(alpha, beta):
    for dtype in (np.float32, np.float64):
        assert checks.faults_of(right, ragged(dtype), alpha, beta) == []


@pytest.mark.parametrize("name", edges.EDGES)
def test_a_right_product_passes_on_every_edge(name):
    csr = edges.EDGES[name]()
    assert checks.faults_of(right, csr, 2.5, -1) == []
    assert checks.faults_of(right, csr, 1, 0) == []


def test_any_order_of_summation_is_within_the_bound():
    """Backwards, sorted by size, and by a tree: the first two are as bad as it gets."""
    csr = csr_of([2, 64, 1000, 5000], 6000)
    trial = checks.as_stored(csr)
    products = [csr.data[a:b] * trial.x[csr.indices[a:b]] for a, b in zip(csr.indptr, csr.indptr[1:], strict=False)]
    orders = [
        [np.add.accumulate(p[::-1])[-1] for p in products],
        [np.add.accumulate(np.sort(p))[-1] for p in products],
        [p.sum() for p in products],
    ]
    for order in orders:
        assert checks.faults(csr, trial.x, np.array(order, np.float32)) == []


def test_the_reference_is_in_higher_precision():
    csr = formats.Csr((1, 3), np.int32([0, 3]), np.int32([0, 1, 2]), np.float32([1, 2**-30, -1]))
    assert checks.reference(csr, np.ones(3, np.float32)) == [2**-30]
    csr = formats.Csr((1, 3), np.int32([0, 3]), np.int32([0, 1, 2]), np.float64([1, 2**-60, -1]))
    if np.finfo(np.longdouble).nmant > 60:
        assert checks.reference(csr, np.ones(3)) == [2**-60]
    assert checks.reference(csr, np.ones(3)).dtype == np.longdouble


def test_the_reference_agrees_with_scipy():
    csr, trial = ragged(), checks.as_stored(ragged(), 2.5, -1)
    matrix = scipy_of(csr).astype(np.float64)
    expected = 2.5 * (matrix @ trial.x.astype(np.float64)) - trial.y
    np.testing.assert_allclose(checks.reference(csr, trial.x, 2.5, -1, trial.y), expected, rtol=1e-14)


def scipy_of(csr):
    import scipy.sparse

    return scipy.sparse.csr_array((csr.data, csr.indices, csr.indptr), csr.shape)


def test_the_bound_by_hand():
    csr = formats.Csr((2, 2), np.int32([0, 2, 3]), np.int32([0, 1, 1]), np.float32([3, -4, 5]))
    u = 2.0**-24
    gammas = np.array([4 * u / (1 - 4 * u), 3 * u / (1 - 3 * u)])
    sizes = np.array([2 * 11.0 + 6, 2 * 10.0 + 9])  # |alpha| |A| |x| + |beta| |y0|
    found = checks.bound(csr, np.float32([1, -2]), 2, -3, np.float32([-2, 3]))
    np.testing.assert_allclose(found, gammas * sizes, rtol=1e-6)


def test_sums_that_underflow_are_within_the_bound():
    csr = formats.Csr((1, 4), np.int32([0, 4]), np.arange(4, dtype=np.int32), np.full(4, 1e-30, np.float32))
    x = np.full(4, 1e-15, np.float32)  # each product is 1e-45, the smallest number there is, or 0 with -ftz=true
    assert checks.faults(csr, x, np.float32([0])) == []
    assert checks.faults(csr, x, np.float32([1e-36])) != []


def test_sums_that_may_overflow_have_no_bound():
    csr = formats.Csr((1, 3), np.int32([0, 3]), np.arange(3, dtype=np.int32), np.float32([3e38, 3e38, -3e38]))
    x = np.ones(3, np.float32)
    assert checks.bound(csr, x).tolist() == [np.inf]
    assert checks.faults(csr, x, np.float32([np.inf])) == []  # 3e38 + 3e38 first
    assert checks.faults(csr, x, np.float32([3e38])) == []


def test_whole_numbers_are_exact_up_to_the_limit_and_no_further():
    """2^24 - 1 is judged to the bit, 2^24 + 1, which float32 lacks, by the bound."""
    csr = formats.Csr((1, 2), np.int32([0, 2]), np.int32([0, 1]), np.float32([1, 1]))
    below, past = np.float32([2**24 - 2, 1]), np.float32([2**24, 1])
    assert checks.faults(csr, below, np.float32([2**24 - 1])) == []
    assert checks.EXACT in only(checks.faults(csr, below, np.float32([2**24 - 2])))
    assert checks.faults(csr, past, np.float32([2**24])) == []


def only(found):
    (fault,) = found
    return fault


# --- whole numbers for a trial ---------------------------------------------------------------------------------------


def long_row(length, dtype=np.float32):
    indptr, indices = np.array([0, length], np.int32), np.arange(length, dtype=np.int32)
    return formats.Csr((1, length), indptr, indices, np.ones(length, dtype))


def test_integers_are_threes_where_those_are_exact_and_ones_where_not():
    most = (2**24 - 1) // 9
    assert set(checks.integers(long_row(most)).csr.data.tolist()) == {1, 2, 3}
    assert set(checks.integers(long_row(most + 1)).csr.data.tolist()) == {-1, 1}
    assert set(checks.integers(long_row(most + 1, np.float64)).csr.data.tolist()) == {1, 2, 3}
    assert set(checks.integers(long_row(most), 2.5, 0).csr.data.tolist()) == {-1, 1}  # 2.5 costs one bit


def test_integers_keep_stored_zeros():
    csr = formats.Csr((1, 3), np.int32([0, 3]), np.arange(3, dtype=np.int32), np.float32([0, 0.5, np.inf]))
    data = checks.integers(csr).csr.data
    assert data[0] == 0 and set(data[1:].tolist()) <= {1, 2, 3}


def test_integers_refuse_what_is_not_exact():
    with pytest.raises(MatrixError, match=r"alpha = 0\.1 .* no sums that are exact in float32"):
        checks.integers(ragged(), alpha=0.1)
    with pytest.raises(MatrixError, match=r"below 16,777,216"):
        checks.integers(long_row(100), alpha=1e6)


def test_every_row_of_the_integers_is_judged_to_the_bit():
    for name, make in edges.EDGES.items():
        trial = checks.integers(make(), 2.5, -1)
        wrong = checks.reference(trial.csr, trial.x, 2.5, -1, trial.y).astype(np.float32)
        wrong = np.nextafter(wrong, np.float32(np.inf))
        found = checks.faults(trial.csr, trial.x, wrong, 2.5, -1, trial.y, most=wrong.size)
        assert len(found) == wrong.size, name
        assert all(fault.endswith((f"[{checks.EXACT}]", f"[{checks.EMPTY}]")) for fault in found), name


# --- wrong products --------------------------------------------------------------------------------------------------


def no_last_entry(csr, x, y, alpha, beta):
    blend(y, sums(csr, x, slice(-1)), alpha, beta)


def padded_with_first_column(csr, x, y, alpha, beta):
    """ELL whose padding multiplies: column 0, value 0."""
    padded(csr, x, y, alpha, beta, 0)


def padded_with_last_column(csr, x, y, alpha, beta):
    """ELL whose padding multiplies: column -1, which wraps to the last in Python, value 0."""
    padded(csr, x, y, alpha, beta, -1)


def padded(csr, x, y, alpha, beta, padding):
    ell = formats.Ell.from_csr(csr)
    with np.errstate(invalid="ignore"):
        terms = ell.values * x[np.where(ell.columns < 0, padding, ell.columns)]
        blend(y, terms.sum(axis=0, dtype=y.dtype), alpha, beta)


def empty_rows_skipped(csr, x, y, alpha, beta):
    before = y.copy()
    right(csr, x, y, alpha, beta)
    y[csr.lengths == 0] = before[csr.lengths == 0]


def empty_rows_zeroed(csr, x, y, alpha, beta):
    right(csr, x, y, alpha, beta)
    y[csr.lengths == 0] = 0


def beta_times_nan(csr, x, y, alpha, beta):
    y[:] = alpha * sums(csr, x) + beta * y


def beta_forgotten(csr, x, y, alpha, beta):
    right(csr, x, y, alpha, 0)


def alpha_forgotten(csr, x, y, alpha, beta):
    right(csr, x, y, 1, beta)


def beta_for_alpha(csr, x, y, alpha, beta):
    blend(y, sums(csr, x) + y if beta else sums(csr, x), alpha, 0)


def transposed(csr, x, y, alpha, beta):
    rows = np.repeat(np.arange(csr.rows), csr.lengths)
    found = np.zeros(max(csr.shape), csr.dtype)
    np.add.at(found, csr.indices, csr.data * x[np.minimum(rows, csr.columns - 1)])
    blend(y, found[: csr.rows], alpha, beta)


def shifted_by_one(csr, x, y, alpha, beta):
    right(csr, x, y, alpha, beta)
    y[:] = np.roll(y, 1)


def past_the_end(csr, x, y, alpha, beta):
    right(csr, x, y, alpha, beta)
    y.base[checks.GUARD + y.size] = y[-1]


def before_the_start(csr, x, y, alpha, beta):
    right(csr, x, y, alpha, beta)
    y.base[checks.GUARD - 2] = 0


def x_overwritten(csr, x, y, alpha, beta):
    right(csr, x, y, alpha, beta)
    x[1] = 0


def columns_sorted_in_place(csr, x, y, alpha, beta):
    right(csr, x, y, alpha, beta)
    csr.indices[:3] = np.sort(csr.indices[:3])


def nothing(csr, x, y, alpha, beta):
    pass


def repeated_columns_kept_once(csr, x, y, alpha, beta):
    """The last of them wins, as in a table by column."""
    found = np.zeros(csr.rows, csr.dtype)
    for row, (first, last) in enumerate(zip(csr.indptr, csr.indptr[1:], strict=False)):
        kept = dict(zip(csr.indices[first:last].tolist(), csr.data[first:last], strict=True))
        found[row] = sum(value * x[column] for column, value in kept.items())
    blend(y, found, alpha, beta)


def stored_zeros_dropped(csr, x, y, alpha, beta):
    with np.errstate(invalid="ignore"):
        terms = np.where(csr.data == 0, csr.dtype.type(0), csr.data * x[csr.indices])
        rows = np.repeat(np.arange(csr.rows), csr.lengths)
        found = np.zeros(csr.rows, csr.dtype)
        np.add.at(found, rows, terms)
        blend(y, found, alpha, beta)


def dense(csr, x, y, alpha, beta):
    """What a dense product makes of Inf: NaN in rows that have nothing there."""
    full = np.zeros(csr.shape, csr.dtype)
    np.add.at(full, (np.repeat(np.arange(csr.rows), csr.lengths), csr.indices), csr.data)
    with np.errstate(invalid="ignore"):
        blend(y, full @ x, alpha, beta)


WRONG = {  # product, matrix, alpha, beta; the gate that stops it; the trial in which it does
    "the last entry of each row dropped": (no_last_entry, ragged, 1, 0, checks.EXACT, checks.integers),
    "the last entry dropped, by the bound": (no_last_entry, ragged, 1, 0, checks.BOUND, checks.as_stored),
    "padding of column 0": (padded_with_first_column, edges.unused_columns, 1, 0, checks.MASK, checks.not_finite),
    "padding of column -1": (padded_with_last_column, edges.unused_columns, 1, 0, checks.MASK, checks.not_finite),
    "padding of column 0 anywhere": (padded_with_first_column, ragged, 1, 0, checks.EMPTY, checks.not_finite),
    "a dense product": (dense, ragged, 1, 0, checks.MASK, checks.not_finite),
    "empty rows skipped": (empty_rows_skipped, ragged, 1, 0, checks.EMPTY, checks.integers),
    "empty rows skipped, old y": (empty_rows_skipped, ragged, 1, 2.5, checks.EMPTY, checks.as_stored),
    "empty rows zeroed": (empty_rows_zeroed, ragged, 1, -1, checks.EMPTY, checks.as_stored),
    "0 * NaN": (beta_times_nan, ragged, 1, 0, checks.MASK, checks.integers),
    "no beta": (beta_forgotten, ragged, 1, -1, checks.EXACT, checks.integers),
    "no alpha": (alpha_forgotten, ragged, -1, 0, checks.EXACT, checks.integers),
    "alpha (A x + y)": (beta_for_alpha, ragged, 2.5, 1, checks.EXACT, checks.integers),
    "transposed": (transposed, edges.dense_square, 1, 0, checks.EXACT, checks.integers),
    "transposed, not square": (transposed, edges.wide, 1, 0, checks.EXACT, checks.integers),
    "y shifted by one": (shifted_by_one, ragged, 1, 0, checks.EXACT, checks.integers),
    "past the end": (past_the_end, ragged, 1, 0, checks.GUARDS, checks.integers),
    "before the start": (before_the_start, ragged, 1, 0, checks.GUARDS, checks.integers),
    "x overwritten": (x_overwritten, ragged, 1, 0, checks.INPUTS, checks.as_stored),
    "columns sorted in place": (columns_sorted_in_place, ragged, 1, 0, checks.INPUTS, checks.as_stored),
    "nothing done": (nothing, ragged, 1, 0, checks.MASK, checks.integers),
    "nothing done, old y": (nothing, ragged, 1, 1, checks.EXACT, checks.integers),
    "repeated columns": (repeated_columns_kept_once, edges.unsorted_and_repeated, 1, 0, checks.EXACT, checks.integers),
    "stored zeros dropped": (stored_zeros_dropped, edges.stored_zeros_meet_inf, 1, 0, checks.MASK, checks.not_finite),
}


@pytest.mark.parametrize(("multiply", "matrix", "alpha", "beta", "gate", "trial"), WRONG.values(), ids=WRONG)
def test_a_wrong_product_is_stopped_by_its_gate(multiply, matrix, alpha, beta, gate, trial):
    found = checks.faults_in(trial(matrix(), alpha, beta), multiply)
    assert any(fault.endswith(f"[{gate}]") for fault in found), found
    assert checks.faults_of(multiply, matrix(), alpha, beta)


def test_one_lost_entry_of_50_000_is_stopped_by_whole_numbers_where_the_bound_is_blind():
    csr = csr_of([50_000, 5], 50_000)

    def loses_one(csr, x, y, alpha, beta):
        with np.errstate(invalid="ignore"):
            terms = csr.data.astype(np.float64) * x[csr.indices]
            y[:] = [terms[1:50_000].sum(), terms[50_000:].sum()]

    assert checks.faults_in(checks.as_stored(csr), loses_one) == []
    assert only(checks.faults_in(checks.integers(csr), loses_one)).startswith("row 0 (50,000 entries) is ")

    at_five = replace(csr, indptr=np.int32([0, 49_995, 50_000]), indices=csr.indices[:50_000], data=csr.data[:50_000])

    def loses_one_of_five(csr, x, y, alpha, beta):
        terms = csr.data.astype(np.float64) * x[csr.indices]
        y[:] = [terms[:49_995].sum(), terms[49_996:].sum()]

    assert checks.BOUND in only(checks.faults_in(checks.as_stored(at_five), loses_one_of_five))


def test_the_bound_loses_sight_of_the_last_entry_as_rows_grow():
    """The share of rows in which it notices that the last entry is missing; whole numbers notice all of them."""
    seen = {}
    for length in (4, 32, 1_000, 50_000):
        csr = csr_of([length] * 10, max(2 * length, 64), seed=length)
        trial = checks.as_stored(csr)
        shorter = replace(csr, data=csr.data.copy())
        shorter.data[csr.indptr[1:] - 1] = 0
        got = checks.reference(shorter, trial.x).astype(np.float32)
        seen[length] = sum(f"[{checks.BOUND}]" in fault for fault in checks.faults(csr, trial.x, got, most=10)) / 10
        whole = checks.integers(csr)
        shorter.data[:] = whole.csr.data
        shorter.data[csr.indptr[1:] - 1] = 0
        got = checks.reference(shorter, whole.x).astype(np.float32)
        assert len(checks.faults(whole.csr, whole.x, got, most=10)) == 10
    assert seen[4] == seen[32] == 1
    assert 0.5 < seen[1_000] < 1
    assert seen[50_000] == 0


def test_a_row_pointer_wrapped_to_32_bits_is_stopped():
    """More than 2^31 entries, as files that are all holes: row 0 has nearly all of them, and row 1 begins past 2^31.
    The gate judges row 1 alone, on a matrix of its entries."""
    start, entries = 2**31 + 3, 5
    with tempfile.TemporaryDirectory() as folder:
        indices = np.memmap(f"{folder}/indices", np.int32, "w+", shape=(start + entries,))
        data = np.memmap(f"{folder}/data", np.float32, "w+", shape=(start + entries,))
        indices[start:], data[start:] = [4, 0, 2, 2, 1], [1, 2, 3, 1, 2]
        indptr = np.array([start, start + entries], np.int64)
        row = formats.Csr((1, 5), np.int32([0, entries]), np.array(indices[start:]), np.array(data[start:]))

        def product(pointer, indices=indices, data=data):
            def multiply(_, x, y, alpha, beta):
                places = [place % data.size for place in range(*pointer.tolist())]
                y[0] = alpha * sum(data[place] * x[indices[place]] for place in places)

            return multiply

        trial = checks.Trial(row, np.float32([1, 2, 3, 1, 2]), np.float32([np.nan]), 1, 0)
        assert checks.faults_in(trial, product(indptr)) == []
        assert checks.EXACT in only(checks.faults_in(trial, product(indptr.astype(np.int32))))
        del indices, data


# --- what is said ----------------------------------------------------------------------------------------------------


def test_a_fault_names_the_row_what_it_is_what_it_must_be_and_the_gate():
    csr = formats.Csr((3, 2), np.int32([0, 2, 2, 3]), np.int32([0, 1, 0]), np.float32([1, 2, 0.5]))
    x = np.float32([1, 0.25])
    assert checks.faults(csr, x, np.float32([2.5, np.nan, 0.5])) == [
        "row 0 (2 entries) is 2.5 and must be 1.5 to within 3.58e-07: it is off by 1 [rounding bound]",
        "row 1 (no entries) is nan and must be 0, to the bit; it was not written, or NaN was read: the old y, padding, "
        "or past the end of x [empty row]",
    ]
    x = np.float32([2, np.inf])
    assert checks.faults(csr, x, np.float32([2.5, 0, 1])) == [
        "row 0 (2 entries) is 2.5 and must be inf [NaN and Inf mask]"
    ]
    assert checks.faults(csr, np.float32([2, 3]), np.float32([7, 0, 1])) == [
        "row 0 (2 entries) is 7 and must be 8 to within 1.91e-06: it is off by 1 [rounding bound]"
    ]


def test_whole_numbers_are_said_to_be_exact():
    csr = formats.Csr((1, 1), np.int32([0, 1]), np.int32([0]), np.float32([2]))
    assert checks.faults(csr, np.float32([2]), np.float32([5])) == [
        "row 0 (1 entry) is 5 and must be 4, to the bit [exact integers]"
    ]


def test_only_some_faults_are_told_one_by_one():
    csr = long_rows(20)
    found = checks.faults(csr, np.ones(4, np.float32), np.zeros(20, np.float32), most=2)
    assert len(found) == 3 and found[-1] == "18 other rows of 20 are wrong"


def long_rows(rows):
    indices = np.tile(np.arange(4, dtype=np.int32), rows)
    return formats.Csr((rows, 4), np.arange(0, 4 * rows + 1, 4, dtype=np.int32), indices, np.ones(4 * rows, np.float32))


def test_a_y_of_the_wrong_sort_is_said_to_be_so():
    csr, x = long_rows(3), np.ones(4, np.float32)
    assert only(checks.faults(csr, x, np.full(4, 4, np.float32))) == (
        "y is float32 of the shape (4,); it must be float32 of the shape (3,)"
    )
    assert "float64" in only(checks.faults(csr, x, np.full(3, 4.0)))


def test_an_x_or_y0_of_another_length_is_refused():
    csr = long_rows(3)
    with pytest.raises(MatrixError, match=r"x has the shape \(5,\), and the matrix has 4 columns"):
        checks.faults(csr, np.ones(5, np.float32), np.ones(3, np.float32))
    with pytest.raises(MatrixError, match=r"y0 has the shape \(4,\)"):
        checks.faults(csr, np.ones(4, np.float32), np.ones(3, np.float32), 1, 1, np.ones(4, np.float32))
    with pytest.raises(MatrixError, match="no y0"):
        checks.reference(csr, np.ones(4, np.float32), 1, 1)


def test_the_place_beside_y_is_told():
    before = only(checks.faults_in(checks.integers(ragged()), before_the_start))
    past = only(checks.faults_in(checks.integers(ragged()), past_the_end))
    assert before == "y has 7 places, and 2 before the first is written 0 [guard bands]"
    assert past.startswith("y has 7 places, and 1 past the last is written ")


def test_an_input_that_changed_is_told():
    found = only(checks.faults_in(checks.as_stored(ragged()), x_overwritten))
    assert found.startswith("x is an input, and place 1 of it was ") and found.endswith("and is 0.0 [inputs]")


def test_answers_may_lie_on_a_gpu():
    class OnGpu:
        """What CuPy's arrays need to come to the host."""

        def __init__(self, array):
            self.array, self.dtype, self.size = array, array.dtype, array.size

        def get(self):
            return self.array.copy()

    csr, trial = ragged(), checks.integers(ragged())
    y = checks.reference(trial.csr, trial.x).astype(np.float32)
    on_gpu = formats.Csr(csr.shape, *map(OnGpu, (csr.indptr, csr.indices, trial.csr.data)))
    assert checks.faults(on_gpu, OnGpu(trial.x), OnGpu(y)) == []
    y[2] += 1
    assert only(checks.faults(on_gpu, OnGpu(trial.x), OnGpu(y))).startswith("row 2 ")
