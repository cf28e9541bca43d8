"""Formats of sparse matrices: what comes in from SciPy is what is stored, malformed input is refused in a sentence, and
conversions lose nothing."""

import importlib
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from gpukit import plugins

plugins.load("spmv")
edges = importlib.import_module("gpukit_labs.spmv.matrices.edges")
formats = importlib.import_module("gpukit_labs.spmv.formats")
arrays, compressed, ell_module = (
    importlib.import_module(f"gpukit_labs.spmv.formats.{name}") for name in ("arrays", "csr", "ell")
)
MatrixError = importlib.import_module("gpukit_labs.spmv.errors").MatrixError
Csr, Ell, SlicedEll, csr_from_scipy = formats.Csr, formats.Ell, formats.SlicedEll, formats.csr_from_scipy

SORTS = "csr", "csc", "coo", "bsr", "dia", "lil", "dok"


def example(dtype=np.float64):
    """4 x 6: row 1 is empty."""
    dense = np.array([[1, 0, 2, 0, 0, 0], [0] * 6, [0, 3, 0, 0, 0, 4], [5, 6, 7, 8, 9, 10]], dtype)
    return scipy.sparse.csr_array(dense)


def raw(indptr=(0, 2, 3), indices=(0, 2, 1), data=(1, 2, 3), shape=(2, 3)):
    """A SciPy matrix of arrays that SciPy has not looked at."""
    matrix = scipy.sparse.csr_array(shape)
    matrix.indptr, matrix.indices, matrix.data = np.array(indptr), np.array(indices), np.array(data, float)
    return matrix


def entries(csr):
    """[(row, column, value)] as stored."""
    row, _ = compressed.rows_and_places(csr)
    return list(zip(row.tolist(), csr.indices.tolist(), csr.data.tolist(), strict=True))


def sums(found):
    """(row, column) -> the sum of what is stored there."""
    total = {}
    for row, column, value in found:
        total[row, column] = total.get((row, column), 0) + value
    return total


# --- from SciPy ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pointer", [np.int32, np.int64])
def test_every_sort_of_scipys_matrices(sort, dtype, pointer):
    csr = csr_from_scipy(example().asformat(sort), dtype, pointer)
    assert (csr.dtype, csr.indptr.dtype, csr.indices.dtype) == (dtype, pointer, np.int32)
    stored = {place: value for place, value in sums(entries(csr)).items() if value}
    coo = example().tocoo()
    assert stored == dict(zip(zip(coo.row.tolist(), coo.col.tolist(), strict=True), coo.data.tolist(), strict=True))


@pytest.mark.parametrize("matrix", [scipy.sparse.csr_matrix, scipy.sparse.coo_matrix, scipy.sparse.csc_matrix])
def test_matrices_are_taken_as_well_as_arrays(matrix):
    assert csr_from_scipy(matrix(example())).nnz == 10


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.int64, np.float32, np.float64, np.longdouble])
def test_numbers_of_any_real_type(dtype):
    csr = csr_from_scipy(example().astype(dtype), np.float64)
    assert csr.data.tolist() == ([1] * 10 if dtype is np.bool_ else [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])


def test_halves():
    """SciPy has no products of float16, but stores them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = scipy.sparse.csr_array((np.float16([0.5, 2]), np.array([1, 0]), np.array([0, 1, 2])), (2, 2))
    assert csr_from_scipy(matrix).data.tolist() == [0.5, 2]


@pytest.mark.parametrize("sort", ["csr", "csc", "coo"])
def test_repeated_entries_stay_and_add_up(sort):
    coo = scipy.sparse.coo_array(([1, 10, 100, 5], ([0, 0, 0, 1], [2, 2, 2, 0])), (2, 3))
    if sort == "csr":
        matrix = scipy.sparse.csr_array((coo.data, coo.col, np.array([0, 3, 4])), (2, 3))
    elif sort == "csc":
        matrix = scipy.sparse.csc_array(([5, 1, 10, 100], [1, 0, 0, 0], [0, 1, 1, 4]), (2, 3))
    else:
        matrix = coo
    csr = csr_from_scipy(matrix)
    assert csr.nnz == 4
    assert sums(entries(csr)) == {(0, 2): 111, (1, 0): 5}


def test_coordinates_need_no_order():
    rows, columns = [3, 0, 2, 0, 3], [1, 2, 0, 0, 1]
    csr = csr_from_scipy(scipy.sparse.coo_array(([1, 2, 3, 4, 5], (rows, columns)), (4, 3)))
    assert csr.indptr.tolist() == [0, 2, 2, 3, 5]
    assert entries(csr) == [(0, 2, 2), (0, 0, 4), (2, 0, 3), (3, 1, 1), (3, 1, 5)]


def test_columns_stay_unsorted():
    assert csr_from_scipy(raw(indices=(2, 0, 1))).indices.tolist() == [2, 0, 1]


@pytest.mark.parametrize("sort", SORTS)
def test_stored_zeros_stay(sort):
    """Where the format stores them: SciPy's list of lists and dictionary do not."""
    matrix = raw(data=(0, 2, 0)).asformat(sort)
    if sort == "dia":
        matrix = scipy.sparse.dia_array((np.array([[0, 2, 0]]), [0]), (3, 3))
    csr = csr_from_scipy(matrix)
    assert csr.nnz == matrix.nnz
    assert (csr.data == 0).any() or sort in ("lil", "dok")


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_diagonals_are_where_scipy_has_them(rows, columns, seed):
    rng = np.random.default_rng(seed)
    offsets = rng.choice(np.arange(-rows, columns + 1), min(3, rows + columns), replace=False)
    data = rng.integers(1, 9, (offsets.size, columns + rng.integers(-1, 2))).astype(float)
    matrix = scipy.sparse.dia_array((data, offsets), (rows, columns))
    csr = csr_from_scipy(matrix)
    assert csr.nnz == matrix.nnz
    dense = np.zeros(csr.shape)
    for row, column, value in entries(csr):
        dense[row, column] = value
    np.testing.assert_array_equal(dense, matrix.toarray())


@pytest.mark.parametrize("blocks", [(1, 1), (2, 3), (4, 2), (4, 6)])
def test_blocks_come_whole(blocks):
    matrix = scipy.sparse.bsr_array(example(), blocksize=blocks)
    csr = csr_from_scipy(matrix)
    assert csr.nnz == matrix.nnz
    np.testing.assert_array_equal(
        scipy.sparse.csr_array((csr.data, csr.indices, csr.indptr), csr.shape).toarray(), example().toarray()
    )


@pytest.mark.parametrize("sort", SORTS)
def test_the_matrix_that_is_converted_stays_as_it_is(sort):
    matrix = raw(indices=(2, 0, 1)).asformat(sort)
    before = {name: np.array(array) for name, array in vars(matrix).items() if isinstance(array, np.ndarray)}
    csr = csr_from_scipy(matrix)
    SlicedEll.from_csr(csr, 2, 2), Ell.from_csr(csr)
    for name, array in before.items():
        np.testing.assert_array_equal(getattr(matrix, name), array)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 4)])
@pytest.mark.parametrize("sort", SORTS)
def test_matrices_without_entries(shape, sort):
    csr = csr_from_scipy(scipy.sparse.coo_array(shape).asformat(sort))
    assert csr.shape == shape
    assert csr.indptr.tolist() == [0] * (shape[0] + 1)
    assert csr.nnz == 0


def test_64_bit_indices_that_fit_are_taken():
    """SciPy chooses int64 as it sees fit, as after a concatenation of large matrices."""
    matrix = example()
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    csr = csr_from_scipy(matrix)
    assert csr.indptr.dtype == csr.indices.dtype == np.int32
    assert entries(csr) == entries(csr_from_scipy(example()))


def test_arrays_with_gaps_are_copied():
    matrix = raw()
    for name in ("indptr", "indices", "data"):
        setattr(matrix, name, np.repeat(getattr(matrix, name), 2)[::2])
    assert not matrix.indices.flags.c_contiguous
    csr = csr_from_scipy(matrix)
    assert csr.indptr.flags.c_contiguous and csr.indices.flags.c_contiguous and csr.data.flags.c_contiguous
    assert entries(csr) == [(0, 0, 1), (0, 2, 2), (1, 1, 3)]


def test_bytes_in_the_other_order_are_taken():
    matrix = raw()
    matrix.data = matrix.data.astype(">f8")
    assert csr_from_scipy(matrix).checked().data.tolist() == [1, 2, 3]


def test_entries_past_the_last_row_are_left_out():
    """SciPy's arrays may be longer than the matrix: what lies there belongs to no row, whatever it is."""
    csr = csr_from_scipy(raw(indices=(0, 2, 1, 77, -5), data=(1, 2, 3, np.nan, 4)))
    assert entries(csr) == [(0, 0, 1), (0, 2, 2), (1, 1, 3)]
    with pytest.raises(MatrixError, match=r"ends at 3, and there are 4 entries"):
        Csr((2, 3), np.int32([0, 2, 3]), np.int32([0, 2, 1, 0]), np.float32([1, 2, 3, 4])).checked()


# --- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        (np.eye(3), "this is a ndarray, not a sparse matrix of SciPy: make one with scipy.sparse.csr_array"),
        ([[1, 2]], "this is a list"),
        (None, "this is a NoneType"),
        (scipy.sparse.coo_array(np.array([1, 0, 2])), "a matrix has two dimensions, and this has 1"),
        (scipy.sparse.csr_array(np.array([1, 0, 2])), "a matrix has two dimensions, and this has 1"),
        (example(np.complex64), "this matrix is complex"),
        (example(np.complex128).tocoo(), "multiply its real and its imaginary part one by one"),
        (scipy.sparse.coo_array((3, 2**31)), "3 x 2,147,483,648 is more than int32 indices reach"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_real_sparse_matrix_is_refused(matrix, says):
    with pytest.raises(MatrixError, match=says):
        csr_from_scipy(matrix)


def test_values_that_are_no_numbers_are_refused():
    matrix = raw()
    matrix.data = np.array([1, "a", None], object)
    with pytest.raises(MatrixError, match="the values are object, which are no numbers"):
        csr_from_scipy(matrix)


@pytest.mark.parametrize(("dtype", "pointer"), [(np.int32, np.int32), (np.float16, np.int32), (np.float32, np.int16)])
def test_types_that_no_kernel_takes_are_refused(dtype, pointer):
    with pytest.raises(MatrixError, match="kernels take float32 or float64 with int32 or int64"):
        csr_from_scipy(example(), dtype, pointer)


MALFORMED = {
    "column too large": (raw(indices=(0, 3, 1)), r"row 0 has an entry in column 3 \(entry 1\), and there are 3"),
    "column negative": (raw(indices=(0, 2, -1)), r"row 1 has an entry in column -1 \(entry 2\)"),
    "column past 32 bits": (raw(indices=(0, 2**32, 1)), "place 1 of the columns is 4,294,967,296, which"),
    "column past 32 bits below": (raw(indices=(0, 1, -(2**63))), "columns is -9,223,372,036,854,775,808"),
    "columns are floats": (raw(indices=(0.0, 1.5, 1.0)), "the columns must be integers, and are float64"),
    "pointer falls": (raw(indptr=(0, 3, 1), indices=(0,), data=(1,)), "falls from 3 to 1 at row 1"),
    "pointer ends early": (raw(indptr=(0, 3, 2)), "falls from 3 to 2 at row 1"),
    "pointer starts late": (raw(indptr=(1, 2, 3)), "begins with 1; it must begin with 0"),
    "pointer negative": (raw(indptr=(0, -1, 3)), "falls from 0 to -1 at row 0"),
    "pointer ends below 0": (raw(indptr=(0, 0, -3)), "falls from 0 to -3 at row 1"),
    "pointer too short": (raw(indptr=(0, 3)), r"2 rows need a row pointer of 3 numbers; this one has the shape \(2,\)"),
    "pointer too long": (raw(indptr=(0, 1, 2, 3)), r"need a row pointer of 3 numbers; this one has the shape \(4,\)"),
    "pointer empty": (raw(indptr=()), "the row pointer must be integers"),
    "pointer of integers, empty": (raw(indptr=np.zeros(0, np.int32)), r"has the shape \(0,\)"),
    "pointer of floats": (raw(indptr=(0.0, 2.0, 3.0)), "the row pointer must be integers, and are float64"),
    "pointer wraps": (raw(indptr=(0, 2**32 + 2, 3)), "place 1 of the row pointer is 4,294,967,298, which no int32"),
    "too few entries": (raw(indices=(0, 2), data=(1, 2)), "ends at 3, and there are 2 entries"),
    "too few columns": (raw(indices=(0, 2)), "there are 2 columns and 3 values; they belong in pairs"),
    "too few values": (raw(data=(1, 2)), "there are 3 columns and 2 values"),
    "two dimensions": (raw(indices=[[0, 2, 1]] * 3, data=[[1, 2, 3]] * 3), "there are 9 columns and 9 values"),
}


@pytest.mark.parametrize(("matrix", "says"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_arrays_are_refused(matrix, says):
    with pytest.raises(MatrixError, match=says):
        csr_from_scipy(matrix)


@pytest.mark.parametrize("pointer", [(0, 3, 1, 3), (0, 1, 2), (1, 2, 3, 3), (0, -1, 3, 3), (0, 1, 2, 9)])
@pytest.mark.parametrize("sort", ["csc", "bsr"])
def test_malformed_pointers_of_other_sorts_are_refused_before_they_are_followed(pointer, sort):
    matrix = scipy.sparse.csc_array((4, 3)) if sort == "csc" else scipy.sparse.bsr_array((6, 4), blocksize=(2, 2))
    matrix.indptr, matrix.indices = np.array(pointer), np.array([0, 1, 1])
    matrix.data = np.ones(3) if sort == "csc" else np.ones((3, 2, 2))
    with pytest.raises(MatrixError, match=f"this {sort.upper()} matrix, read by"):
        csr_from_scipy(matrix)


def test_coordinates_out_of_range_are_refused():
    matrix = scipy.sparse.coo_array(([1.0, 2.0], ([0, 1], [0, 1])), (2, 2))
    for rows, columns, says in [
        ([0, 2], [0, 1], "entry 1 has the row 2, and there are 2"),
        ([-1, 1], [0, 1], "entry 0 has the row -1"),
        ([0, 1], [0, 5], "row 1 has an entry in column 5"),
        ([0, 1], [0], "there are 2 rows, 1 columns and 2 values"),
    ]:
        matrix.coords = np.array(rows), np.array(columns)
        with pytest.raises(MatrixError, match=says):
            csr_from_scipy(matrix)


def test_diagonals_without_their_values_are_refused():
    matrix = scipy.sparse.dia_array((np.ones((2, 3)), [0, 1]), (3, 3))
    matrix.offsets = np.array([0, 1, 2])
    with pytest.raises(MatrixError, match=r"3 diagonals have values of the shape \(2, 3\)"):
        csr_from_scipy(matrix)


@pytest.mark.parametrize("sort", ["csr", "coo", "bsr", "csc"])
def test_more_entries_than_an_int32_row_pointer_counts_are_refused(sort):
    """Only the count is large: nothing of that size is there."""
    many = type("Many", (type(example().asformat(sort)),), {"nnz": 2**31 + 5})
    matrix = example().asformat(sort)
    matrix.__class__ = many
    with pytest.raises(MatrixError, match=r"2,147,483,653 entries .* use int64, pointer=np.int64"):
        csr_from_scipy(matrix)
    if sort == "coo":
        assert csr_from_scipy(matrix, pointer=np.int64).nnz == 10  # what is there


def test_a_row_pointer_that_says_more_than_an_int32_counts_is_refused():
    matrix = raw(indptr=np.array([0, 2, 2**31 + 5]))
    with pytest.raises(MatrixError, match="use int64"):
        csr_from_scipy(matrix)
    with pytest.raises(MatrixError, match="ends at 2,147,483,653, and there are 3 entries"):
        csr_from_scipy(matrix, pointer=np.int64)


def test_a_narrower_pointer_is_refused_where_it_would_wrap():
    huge = np.broadcast_to(np.int32(0), (2**31 + 5,))  # one number, 2^31 + 5 times
    csr = Csr((1, 1), np.array([0, huge.size]), huge, huge)
    with pytest.raises(MatrixError, match="use int64"):
        csr.astype(pointer=np.int32)


def test_pointers_whose_differences_wrap_are_refused():
    """Three steps of about 2^32 / 3: as 32-bit numbers each difference is positive, and the last number is right."""
    third = 1431655765
    csr = Csr((3, 3), np.array([0, third, 2 * third - 2**32, 2], np.int32), np.int32([0, 1]), np.float32([1, 2]))
    with np.errstate(over="ignore"):
        assert (np.diff(csr.indptr) > 0).all()
    with pytest.raises(MatrixError, match="falls from 1,431,655,765 to -1,431,655,766 at row 1"):
        csr.checked()


GOOD = Csr((2, 3), np.int32([0, 2, 3]), np.int32([0, 2, 1]), np.float32([1, 2, 3]))


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"indptr": np.int16([0, 2, 3])}, "the row pointer is int16; it must be int32 or int64"),
        ({"indices": np.int64([0, 2, 1])}, "the columns are int64; they must be int32"),
        ({"data": np.int32([1, 2, 3])}, "the values are int32; they must be float32 or float64"),
        ({"data": np.complex64([1, 2, 3])}, "the values are complex64"),
        ({"data": np.array([1, 2, 3], ">f4")}, "the values are >f4"),
        ({"shape": (-1, 3)}, "-1 x 3 has a negative size"),
        ({"shape": (2, 2**31)}, "is more than int32 indices reach"),
        ({"shape": (2, 2)}, "row 0 has an entry in column 2"),
        ({"indptr": np.int32([[0, 2, 3]])}, r"this one has the shape \(1, 3\)"),
    ],
)
def test_arrays_that_are_no_csr_matrix_are_refused(part, says):
    assert GOOD.checked() is GOOD
    with pytest.raises(MatrixError, match=says):
        replace(GOOD, **part).checked()


def test_arrays_with_gaps_are_refused():
    """A kernel in C++ is given an address, and would read what lies between."""
    for name in ("indptr", "indices", "data"):
        gaps = np.repeat(getattr(GOOD, name), 2)[::2]
        with pytest.raises(MatrixError, match="have gaps in memory"):
            replace(GOOD, **{name: gaps}).checked()


def test_values_past_float32_are_refused_and_inf_is_not():
    matrix = raw(data=(1, np.inf, 3e38))
    assert csr_from_scipy(matrix).data[1] == np.inf
    matrix.data[2] = -1e39
    with pytest.raises(MatrixError, match=r"entry 2 is -1e\+39, and float32 ends at 3.40282e\+38"):
        csr_from_scipy(matrix)
    wide = csr_from_scipy(matrix, np.float64)
    assert wide.data[2] == -1e39
    with pytest.raises(MatrixError, match="entry 2 is"):
        wide.astype(np.float32)


def test_the_same_matrix_with_other_types():
    wide = GOOD.astype(np.float64, np.int64)
    assert (wide.dtype, wide.indptr.dtype) == (np.float64, np.int64)
    assert entries(wide) == entries(wide.astype(np.float32, np.int32)) == entries(GOOD)


# --- ELL and sliced ELL ----------------------------------------------------------------------------------------------


def entries_of_ell(ell):
    return [
        (row, int(ell.columns[k, row]), float(ell.values[k, row]))
        for row in range(ell.shape[0])
        for k in range(ell.columns.shape[0])
        if ell.columns[k, row] != formats.PADDING
    ]


def entries_of_slices(sliced):
    """Read as the docstring of SlicedEll says, row by row."""
    found = {}
    for place, row in enumerate(sliced.permutation.tolist()):
        first, last = sliced.offsets[place // sliced.height : place // sliced.height + 2].tolist()
        slots = range(first + place % sliced.height, last, sliced.height)
        found[row] = [
            (row, int(sliced.columns[slot]), float(sliced.values[slot]))
            for slot in slots
            if sliced.columns[slot] != formats.PADDING
        ]
    return [entry for row in sorted(found) for entry in found[row]]


@pytest.mark.parametrize("name", edges.EDGES)
def test_no_entry_is_lost_or_moved(name):
    csr = edges.EDGES[name]()
    csr = replace(csr, data=np.nan_to_num(csr.data, nan=7, posinf=8, neginf=9))  # NaN is not equal to itself
    ell = Ell.from_csr(csr)
    assert entries_of_ell(ell) == entries(csr)
    assert ell.nnz == csr.nnz
    for height, sigma in ((32, 1), (32, 64), (7, 10), (1, 1), (4, 5), (1000, 3), (8, 10**30)):
        sliced = SlicedEll.from_csr(csr, height, sigma)
        assert entries_of_slices(sliced) == entries(csr)
        assert sliced.nnz == csr.nnz


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 12), st.integers(1, 50), st.integers(0, 2**32))
@settings(deadline=None, max_examples=200)
def test_slices_are_made_as_they_are_described(lengths, height, sigma, seed):
    csr = edges.of_lengths(lengths, 9, seed)
    sliced = SlicedEll.from_csr(csr, height, sigma)
    rows, order = len(lengths), sliced.permutation
    assert sorted(order.tolist()) == list(range(rows))  # a permutation: going there and back is the identity
    assert [place // sigma for place in range(rows)] == [row // sigma for row in order.tolist()]
    for window in range(0, rows, sigma):
        rows_here = order[window : window + sigma].tolist()
        assert rows_here == sorted(rows_here, key=lambda row: (-lengths[row], row))
    widths = np.diff(sliced.offsets) // height
    tops = [max(lengths[row] for row in order[s : s + height].tolist()) for s in range(0, rows, height)]
    assert widths.tolist() == tops
    assert sliced.offsets[0] == 0 and sliced.offsets[-1] == sliced.slots == sum(tops) * height
    assert entries_of_slices(sliced) == entries(csr)


def test_sigma_1_keeps_the_order():
    assert SlicedEll.from_csr(GOOD, 1).permutation.tolist() == [0, 1]


def test_padding_is_zero_in_column_minus_one():
    csr = edges.unused_columns()
    for form in (Ell.from_csr(csr), SlicedEll.from_csr(csr, 32, 4)):
        assert (form.values[form.columns == formats.PADDING] == 0).all()
        assert (form.columns == formats.PADDING).sum() == form.slots - csr.nnz > 0
        assert form.columns.min() == formats.PADDING == -1


def test_offsets_and_slots_are_64_bits_wide():
    """A slice of 100,000 places for a row of 30,000 entries would take 3 billion slots: they are counted, not made."""
    csr = edges.of_lengths([30_000, 1], 30_000)
    counted = []

    class Counts:
        """NumPy, except that it is asked for no more than the number of slots."""

        def __getattr__(self, name):
            return getattr(np, name)

        def full(self, size, *rest):
            counted.append(size)
            raise MemoryError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ell_module, "xp_of", lambda array: Counts())
        with pytest.raises(MemoryError):
            SlicedEll.from_csr(csr, 100_000)
    assert counted == [3_000_000_000]


@pytest.mark.parametrize(("height", "sigma"), [(0, 1), (32, 0), (-1, 1), (32, -5)])
def test_slices_of_nothing_are_refused(height, sigma):
    with pytest.raises(MatrixError, match="both must be 1 or more"):
        SlicedEll.from_csr(GOOD, height, sigma)


def test_an_ell_that_does_not_fit_is_refused_before_it_is_made():
    arrow = edges.of_lengths([30_000] + [1] * 9_999, 30_000)
    with pytest.raises(MatrixError, match=r"39,999 entries to 300,000,000 slots, 2\.4 GB, since the longest"):
        Ell.from_csr(arrow, most_bytes=10**9)


# --- on a GPU --------------------------------------------------------------------------------------------------------


class GpuArray(np.ndarray):
    """An array of what stands for CuPy below: NumPy's, except where CuPy's differ in what the formats use."""

    def get(self):
        return np.array(self, copy=True).view(np.ndarray)

    def repeat(self, repeats, axis=None):
        assert isinstance(repeats, int), "CuPy repeats by numbers of the host alone"
        return super().repeat(repeats, axis)

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion of a CuPy array")


class FakeCupy:
    """Makes GpuArrays, and refuses what CuPy has not."""

    def asarray(self, array):
        return np.ndarray.view(np.array(array) if type(array) is np.ndarray else array, GpuArray)

    def repeat(self, *_):
        raise AssertionError("cupy.repeat by an array is refused")

    def argsort(self, array, axis=-1, kind=None):
        assert kind in (None, "stable")
        return np.argsort(array, axis, kind="stable").view(GpuArray)

    def cumsum(self, array, axis=None, dtype=None, out=None):
        return np.ndarray.cumsum(array, axis, dtype, out)

    def __getattr__(self, name):
        def made(*args, **kwargs):
            return self.asarray(getattr(np, name)(*args, **kwargs))

        assert name in ("full", "zeros", "empty", "arange", "searchsorted", "isfinite"), f"cupy.{name} is new here"
        return made


@pytest.mark.parametrize("name", edges.EDGES)
def test_conversions_are_the_same_with_cupys_arrays(name, monkeypatch):
    """The order of operations that CuPy takes, on a CuPy of ours that has only what the real one has."""
    cupy = FakeCupy()
    csr = edges.EDGES[name]()
    wanted = Ell.from_csr(csr), SlicedEll.from_csr(csr, 8, 20), SlicedEll.from_csr(csr, 5)
    for module in (arrays, compressed, ell_module):
        monkeypatch.setattr(module, "xp_of", lambda array: cupy if isinstance(array, GpuArray) else np)
    there = csr.on(cupy)
    assert isinstance(there.data, GpuArray)
    there.checked()
    got = Ell.from_csr(there), SlicedEll.from_csr(there, 8, 20), SlicedEll.from_csr(there, 5)
    for one, other in zip(wanted, got, strict=True):
        for field in vars(one):
            have = getattr(other, field)
            if isinstance(have, np.ndarray):
                assert isinstance(have, GpuArray), field
                have = have.view(np.ndarray)
            np.testing.assert_array_equal(getattr(one, field), have)
