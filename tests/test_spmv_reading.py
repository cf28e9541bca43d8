"""A user's own matrix: what a Matrix Market or .npz file says comes out; what is wrong with one is said, and where."""

import bz2
import gzip
import importlib
import io
import os
import re
import tarfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from gpukit import plugins
from gpukit.errors import GpukitError
from gpukit.resources import data_file

plugins.load("spmv")
errors, formats, compressed, matrices, reading = (
    importlib.import_module(f"gpukit_labs.spmv.{name}")
    for name in ("errors", "formats", "formats.csr", "matrices", "matrices.reading")
)
MatrixError = errors.MatrixError
REAL = "%%MatrixMarket matrix coordinate real general\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="a.mtx"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def parts(csr):
    csr.checked()
    return csr.shape, csr.indptr.tolist(), csr.indices.tolist(), csr.data.tolist()


# --- what is read ----------------------------------------------------------------------------------------------------


def test_entries_come_out_in_their_order_within_each_row_with_duplicates_and_zeros(write):
    found = reading.read(write(REAL + "% a comment\n\n2 3 5\n2 3 1.5\n1 2 0\n2 1 -2e3\n2 3 4\n1 1 .5\n"))
    assert parts(found) == ((2, 3), [0, 2, 5], [1, 0, 2, 0, 2], [0, 0.5, 1.5, -2000, 4])
    assert (found.dtype, found.indptr.dtype) == (np.float32, np.int32)
    wide = reading.read(write(REAL + "1 1 1\n1 1 0.1\n"), np.float64, np.int64)
    assert (wide.data.tolist(), wide.dtype, wide.indptr.dtype) == ([0.1], np.float64, np.int64)


@pytest.mark.parametrize(
    "header, body, dense",
    [
        ("real symmetric", "3 3 3\n1 1 5\n2 1 6\n3 2 7\n", [[5, 6, 0], [6, 0, 7], [0, 7, 0]]),
        ("real symmetric", "2 2 1\n1 2 6\n", [[0, 6], [6, 0]]),
        ("real skew-symmetric", "2 2 2\n2 1 6\n2 2 0\n", [[0, -6], [6, 0]]),
        ("integer general", "2 2 2\n2 1 -6\n1 2 +3\n", [[0, 3], [-6, 0]]),
        ("integer symmetric", "2 2 1\n2 1 6\n", [[0, 6], [6, 0]]),
        ("pattern general", "2 3 2\n2 1\n1 3\n", [[0, 0, 1], [1, 0, 0]]),
        ("pattern symmetric", "2 2 2\n2 1\n2 2\n", [[0, 1], [1, 1]]),
        ("double general", "1 1 1\n1 1 2\n", [[2]]),
        ("real general", "2 2 0\n", [[0, 0], [0, 0]]),
    ],
)
def test_every_kind_of_file_is_read(write, header, body, dense):
    found = reading.read(write(f"%%MatrixMarket matrix coordinate {header}\n{body}"))
    found.checked()
    assert (
        scipy.sparse.csr_array((found.data, found.indices, found.indptr), shape=found.shape).toarray().tolist() == dense
    )


@pytest.mark.parametrize("rows, columns", [(0, 0), (0, 3), (3, 0)])
def test_a_matrix_without_rows_or_columns_is_one(write, rows, columns):
    assert parts(reading.read(write(f"{REAL}{rows} {columns} 0\n"))) == ((rows, columns), [0] * (rows + 1), [], [])


@pytest.mark.parametrize(
    "text",
    [
        "1 1 2.5\n2 2 1\n",
        "1 1 2.5\n2 2 1",
        "1\t1\t2.5\r\n2 2 1\r\n",
        "  1 1 2.5  \n\n \n  2   2 1\n\n",
        "1 1 2.5D+00\n2 2 1d0\n",
        "+1 1 +2.5\n002 2 1.\n",
    ],
    ids=["plain", "no newline", "tabs and CR", "blanks", "Fortran", "signs"],
)
def test_spelling_does_not_matter(write, text):
    assert parts(reading.read(write(f"{REAL}2 2 2\n{text}"))) == ((2, 2), [0, 1, 2], [0, 1], [2.5, 1])


def test_nan_and_infinity_are_values(write):
    found = reading.read(write(REAL + "1 5 5\n1 1 nan\n1 2 inf\n1 3 -Infinity\n1 4 NaN\n1 5 INF\n"))
    assert str(found.data.tolist()) == "[nan, inf, -inf, nan, inf]"


@pytest.mark.parametrize("pack, name", [(gzip.compress, "a.mtx.gz"), (bz2.compress, "a.mtx.bz2"), (gzip.compress, "a")])
def test_compressed_files_are_known_by_their_content(write, pack, name):
    text = (REAL + "2 2 2\n1 1 1\n2 2 2\n").encode()
    assert parts(reading.read(write(pack(text), name))) == parts(reading.read(write(text)))


@pytest.mark.parametrize("block", [1, 2, 7, 64])
def test_blocks_may_end_anywhere(write, monkeypatch, block):
    text = REAL + "% c\n 3 3 4\n1 1 1\n\n2 3 25\n3 1 -3\n\n\n1 3 4e1"
    whole = parts(reading.read(write(text)))
    monkeypatch.setattr(reading, "BLOCK", block)
    assert parts(reading.read(write(text))) == whole
    with pytest.raises(MatrixError, match=r"a\.mtx:10: row 9 "):
        reading.read(write(text.replace("1 3 4e1", "9 3 4e1")))


@given(st.data())
def test_what_scipy_writes_is_read(tmp_path_factory, data):
    rows, columns, nnz = (data.draw(st.integers(1, most)) for most in (6, 6, 20))
    row = data.draw(st.lists(st.integers(0, rows - 1), min_size=nnz, max_size=nnz))
    column = data.draw(st.lists(st.integers(0, columns - 1), min_size=nnz, max_size=nnz))
    value = data.draw(st.lists(st.floats(allow_nan=False), min_size=nnz, max_size=nnz))
    path = tmp_path_factory.mktemp("written") / "a.mtx"
    matrix = scipy.sparse.coo_array((value, (row, column)), shape=(rows, columns))
    with path.open("wb") as file:  # a name would be written with a header of its own choice of symmetry
        scipy.io.mmwrite(file, matrix, symmetry="general", precision=17)
    found = reading.read(path, np.float64)
    expected = formats.csr_from_scipy(matrix, np.float64)
    assert parts(found) == parts(expected)


def test_a_large_file_is_read_as_scipy_reads_it(write):
    matrix = matrices.small("webbase-1M")
    written = io.BytesIO()
    scipy.io.mmwrite(written, scipy.sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape))
    assert parts(reading.read(write(written.getvalue()))) == parts(matrix)


# --- what is refused, with its line ----------------------------------------------------------------------------------


def tar():
    """As SuiteSparse hands a matrix out: in a folder of an archive."""
    made, text = io.BytesIO(), (REAL + "1 1 1\n1 1 3\n").encode()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo("m/m.mtx")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return made.getvalue()


WRONG = [
    # name, content, line, what the sentence says
    ("empty", "", None, "this file is empty"),
    ("no header", "2 2 1\n1 1 1\n", 1, "the first line is no header"),
    ("a word of the header missing", "%%MatrixMarket matrix coordinate real\n1 1 0\n", 1, "3 words behind"),
    ("another object", "%%MatrixMarket vector coordinate real general\n", 1, "object is 'vector'; it must be matrix"),
    ("another format", "%%MatrixMarket matrix coordinates real general\n", 1, "format is 'coordinates'"),
    ("another field", "%%MatrixMarket matrix coordinate reel general\n", 1, "'reel'; it must be real or integer or"),
    ("another symmetry", "%%MatrixMarket matrix coordinate real symmetrical\n", 1, "symmetry is 'symmetrical'"),
    ("complex", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 2\n", 1, "this matrix is complex"),
    ("hermitian", "%%MatrixMarket matrix coordinate complex hermitian\n1 1 0\n", 1, "this matrix is complex"),
    ("dense", "%%MatrixMarket matrix array real general\n1 1\n1\n", 1, "this is a dense matrix (array)"),
    ("skew pattern", "%%MatrixMarket matrix coordinate pattern skew-symmetric\n", 1, "cannot be skew-symmetric"),
    ("no sizes", REAL + "% nothing\n\n", None, "the sizes are missing"),
    ("two sizes", REAL + "2 2\n1 1 1\n", 2, "'2 2'"),
    ("a size that is no number", REAL + "% c\n2 x 1\n1 1 1\n", 3, "'2 x 1'"),
    ("a negative size", REAL + "-2 2 1\n1 1 1\n", 2, "'-2 2 1'"),
    ("a symmetric rectangle", "%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", 2, "2 x 3 cannot be symm"),
    ("a size of 30 digits", REAL + f"2 2 {10**29}\n1 1 1\n", 2, "30 digits"),
    ("rows beyond int32", REAL + "3000000000 2 1\n1 1 1\n", 2, "more than int32 indices reach"),
    ("entries beyond int32", REAL + "2 2 3000000000\n1 1 1\n", 2, "more than an int32 row pointer counts"),
    (
        "entries beyond the file",
        REAL + "2 2 2000000000\n1 1 1\n",
        2,
        "11,999,999,999 bytes or more, and 6 bytes follow",
    ),
    ("an entry too few", REAL + "2 2 2\n1 1 1.25000\n", None, "of 2 entries promised there are 1"),
    ("an entry too many", REAL + "2 2 1\n1 1 1\n\n2 2 2\n", 5, "here is one entry more than the 1 promised"),
    ("row 0", REAL + "2 2 2\n1 1 1\n0 1 1\n", 4, "row 0 is outside the matrix: its rows are counted from 1 to 2"),
    ("a row too far", REAL + "2 2 1\n3 1 1\n", 3, "row 3 is outside the matrix"),
    ("a column too far", REAL + "2 2 1\n1 5 1\n", 3, "column 5 is outside the matrix"),
    ("a negative column", REAL + "2 2 1\n1 -1 1\n", 3, "column -1 is outside the matrix"),
    ("a row of 30 digits", REAL + f"2 2 1\n{10**29} 1 1\n", 3, "is too large"),
    ("an entry where there are no rows", REAL + "0 2 1\n1 1 1\n", 3, "row 1 is outside the matrix"),
    ("half a row", REAL + "2 2 1\n1.5 1 1\n", 3, "a row is a whole number, and here is '1.5'"),
    ("a word for a column", REAL + "2 2 2\n1 1 1\n1 two 1\n", 4, "a column is a whole number, and here is 'two'"),
    ("a word for a value", REAL + "2 2 1\n1 1 abc\n", 3, "a value is a number, and here is 'abc'"),
    ("a number and more", REAL + "2 2 1\n1 1 2.5abc\n", 3, "here is '2.5abc'"),
    ("two points", REAL + "2 2 1\n1 1 2..5\n", 3, "here is '2..5'"),
    ("hexadecimal", REAL + "2 2 1\n1 1 0x10\n", 3, "here is '0x10'"),
    ("an underscore", REAL + "2 2 1\n1 1 1_0\n", 3, "here is '1_0'"),
    ("a zero byte", REAL + "2 2 2\n1 1 1\0\n2 2 1\n", 3, "a value is a number"),
    ("commas", REAL + "2 2 1\n1,1,1    \n", 3, "and here are 1: '1,1,1'"),
    ("no value", REAL + "2 2 2\n1 1    \n2 2 1\n", 3, "is 3 words, row, column and value, and here are 2"),
    ("a word too many", REAL + "2 2 2\n1 1 1\n2 2 1 junk\n", 4, "and here are 4: '2 2 1 junk'"),
    ("two entries on a line", REAL + "2 2 2\n1 1 1 2 2 1\n", 3, "and here are 6"),
    ("an entry on two lines", REAL + "2 2 2\n1 1\n1\n2 2 2\n", 3, "and here are 2"),
    ("a comment among entries", REAL + "2 2 2\n1 1 1\n%c\n2 2 1\n", 4, "comments stand before the sizes"),
    (
        "values of a pattern",
        "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2 7\n",
        4,
        "an entry of a pattern matrix is 2 words, row and column, and here are 3",
    ),
    (
        "a fraction among integers",
        "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 1\n2 2 1.5\n",
        4,
        "'1.5' is no integer",
    ),
    (
        "a skew diagonal",
        "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 1\n2 2 1.5\n",
        4,
        "diagonal of a skew-symmetric matrix must be 0",
    ),
    (
        "both halves",
        "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 1\n3 1 2\n1 3 2\n",
        None,
        "the entries (1, 3) and (3, 1) are both stored, and a symmetric file stores one of them",
    ),
    (
        "beyond float32",
        REAL + "2 2 2\n1 1 1\n2 2 -1e39\n",
        4,
        "'-1e39' is beyond the range of float32: read the matrix",
    ),
    ("beyond float64", REAL + "2 2 2\n1 1 1\n2 2 1e999\n", 4, "'1e999' is beyond the range of float64"),
    ("binary", b"\x7fELF\x02\x01\x01\0\0\0\n\xff\xfe", None, "something binary"),
    ("binary without a zero", bytes(range(128, 256)) * 40, None, "the first line is no header"),
    ("escapes for a terminal", b"\x1b[2J\x1b]0;title\x07\n", None, "the first line is no header"),
    ("a tar archive", tar(), None, "unpack it (tar -xf), and name the .mtx file in it"),
    ("a tar archive in gz", gzip.compress(tar()), None, "unpack it (tar -xf), and name the .mtx file in it"),
    ("an endless line", REAL + "2 2 1\n1 1 " + "1" * (3 << 20), 3, "this line is longer than"),
    ("an endless first line", b"%" * (3 << 20), None, "something binary"),
    ("gz cut off", gzip.compress((REAL + "2 2 2\n1 1 1\n2 2 2\n").encode())[:-12], None, "the file is cut off"),
    ("gz of nothing", gzip.compress(b""), None, "this file is empty"),
    ("gz damaged", gzip.compress(REAL.encode())[:10] + b"\xff" * 40, None, "the compressed data are damaged"),
    ("gz with a wrong sum", gzip.compress((REAL + "0 0 0\n").encode())[:-8] + b"12345678", None, "data are damaged"),
    ("bz2 cut off", bz2.compress((REAL + "2 2 1\n1 1 1\n").encode())[:-9], None, "the file is cut off"),
    ("bz2 damaged", b"BZh9" + b"\xff" * 40, None, "the compressed data are damaged"),
]


@pytest.mark.parametrize("content, line, said", [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_malformed_file_is_one_sentence_with_its_line(write, content, line, said):
    path = write(content)
    with pytest.raises(GpukitError) as caught:
        reading.read(path)
    assert isinstance(caught.value, MatrixError)
    sentence = str(caught.value)
    assert said in sentence
    assert sentence.startswith(f"{path}:{line}: " if line else f"{path}: "), sentence
    assert "\n" not in sentence and len(sentence) < len(str(path)) + 250


def test_a_mark_before_the_header_is_none_of_it(write):
    assert reading.read(write("\ufeff" + REAL + "1 1 1\n1 1 3\n")).data.tolist() == [3]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mtx")
    with pytest.raises(MatrixError, match="no file, but a pipe or a device"):
        reading.read(tmp_path / "pipe.mtx")


def test_an_entry_beyond_float32_fits_float64(write):
    assert reading.read(write(REAL + "1 1 1\n1 1 1e39\n"), np.float64).data.tolist() == [1e39]


def test_sizes_that_no_memory_holds_are_refused_before_it_is_taken(write, monkeypatch):
    monkeypatch.setattr(reading, "memory_bytes", lambda: 1_000_000_000)
    monkeypatch.setattr(reading, "csr_from_entries", lambda *_: pytest.fail("memory was taken"))
    with pytest.raises(
        MatrixError, match=r"a\.mtx:2: 2,000,000,000 rows and 1 entries take 24 GB, and this machine has 1"
    ):
        reading.read(write(REAL + "2000000000 2 1\n1 1 1\n"))
    packed = gzip.compress((REAL + "2 2 2000000000\n1 1 1\n").encode())
    with pytest.raises(MatrixError, match=r"2,000,000,000 entries take 16 GB"):
        reading.read(write(packed))


def test_a_compressed_file_that_promises_too_much_takes_no_memory_for_it(write):
    packed = gzip.compress((REAL + "2 2 300000000\n1 1 1\n").encode())
    with pytest.raises(MatrixError, match="of 300,000,000 entries promised there are 1:"):
        reading.read(write(packed))


def test_both_halves_of_a_symmetric_matrix_count_for_the_row_pointer(write, monkeypatch):
    monkeypatch.setattr(compressed, "LARGEST_INT32", 3)
    with pytest.raises(MatrixError, match=r"a\.mtx: 4 entries are more than an int32 row pointer counts"):
        reading.read(write("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1\n3 1 1\n"))


def test_a_name_that_is_no_file(write, tmp_path):
    write("", "webbase.mtx")
    for path, said in (
        (tmp_path / "webase.mtx", "there is no such file; did you mean webbase.mtx"),
        (tmp_path / "zzz", "there is no such file"),
        (tmp_path / "no" / "folder.mtx", "there is no such file"),
        (tmp_path / "webbase.mtx" / "a.mtx", "this file cannot be read: Not a directory"),
        (tmp_path, "this is a folder; name the file"),
    ):
        with pytest.raises(MatrixError, match=re.escape(f"{path}: {said}")):
            reading.read(path)


@given(st.binary(max_size=60), st.integers(0, 200))
def test_rubbish_in_a_file_is_an_error_or_a_matrix(tmp_path_factory, rubbish, at):
    """Whatever bytes stand anywhere, there is no other exception."""
    whole = (REAL + "% c\n3 3 3\n1 1 1.5\n2 3 2\n3 1 -3e2\n").encode()
    path = tmp_path_factory.mktemp("rubbish") / "a.mtx"
    path.write_bytes(whole[:at] + rubbish + whole[at + len(rubbish) :])
    try:
        reading.read(path).checked()
    except MatrixError as error:
        assert str(error).startswith(str(path))


# --- .npz ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz_files_of_scipy_are_read(tmp_path, format):
    matrix = scipy.sparse.random_array((20, 30), density=0.2, rng=np.random.default_rng(1)).asformat(format)
    path = tmp_path / "a.npz"
    scipy.sparse.save_npz(path, matrix)
    found = reading.read(path)
    found.checked()
    assert np.array_equal(
        scipy.sparse.csr_array((found.data, found.indices, found.indptr), shape=found.shape).toarray(),
        matrix.toarray().astype(np.float32),
    )


def test_npz_keeps_duplicates_and_zeros(tmp_path):
    path = tmp_path / "a.npz"
    scipy.sparse.save_npz(path, scipy.sparse.coo_array(([1.0, 0, 2], ([1, 0, 1], [1, 0, 1])), shape=(2, 2)))
    assert parts(reading.read(path)) == ((2, 2), [0, 1, 3], [0, 1, 1], [0, 1, 2])


def arrays(**changes):
    whole = {
        "format": b"csr",
        "shape": np.array([2, 2]),
        "data": np.array([1.0, 2.0]),
        "indices": np.array([0, 1], np.int32),
        "indptr": np.array([0, 1, 2], np.int32),
    } | changes
    packed = io.BytesIO()
    np.savez(packed, **{key: value for key, value in whole.items() if value is not None})
    return packed.getvalue()


@pytest.mark.parametrize(
    "content, said",
    [
        (lambda: arrays(indices=np.array([0, 7], np.int32)), "row 1 has an entry in column 7 (entry 1)"),
        (lambda: arrays(indices=np.array([0, -1], np.int32)), "row 1 has an entry in column -1 (entry 1)"),
        (lambda: arrays(indptr=np.array([0, 2, 1], np.int32)), "the row pointer falls from 2 to 1 at row 1"),
        (lambda: arrays(indptr=np.array([0, 1, 9], np.int32)), "writes it (Last value of index pointer"),
        (lambda: arrays(format=b"csc", indices=np.array([0, 7], np.int32)), "writes it (indices must be < 2)"),
        (lambda: arrays(format=b"xyz"), "holds no sparse matrix as scipy.sparse.save_npz writes it"),
        (lambda: arrays(data=None), "holds no sparse matrix as scipy.sparse.save_npz writes it"),
        (lambda: arrays(shape=np.array([2])), "holds no sparse matrix"),
        (lambda: arrays(data=np.array(["a", "b"])), "the values are <U1, which are no numbers"),
        (lambda: arrays(data=np.array([None, 1])), "holds no sparse matrix"),
        (lambda: arrays(data=np.array([1j, 1])), "this matrix is complex"),
        (lambda: arrays(data=np.array([1, 1e39])), "entry 1 is 1e+39, beyond the range of float32"),
        (lambda: arrays()[:-40], "this .npz file is damaged"),
        (lambda: b"PK\x03\x04" + b"\0" * 60, "this .npz file is damaged"),
    ],
)
def test_a_malformed_npz_is_one_sentence(write, content, said):
    path = write(content(), "a.npz")
    with pytest.raises(MatrixError) as caught:
        reading.read(path)
    assert said in str(caught.value) and str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_another_npz_is_no_sparse_matrix():
    with pytest.raises(MatrixError, match="holds no sparse matrix"):
        reading.read(data_file("matrices/moby_words.npz"))
