"""How a sparse matrix is stored: plain arrays, NumPy's on the host or CuPy's on a GPU.

Every format is made from a `Csr`, on the device where its arrays lie, and converted by array operations alone.
Duplicate entries add up, columns need no order, and stored zeros stay: a kernel multiplies what is stored. Padding
has the column PADDING and the value 0, and a kernel skips it: 0 * inf would be NaN.

Source: CSR and ELL are Bell and Garland's, "Implementing sparse matrix-vector multiplication on throughput-oriented
processors" (SC 2009); sliced ELL with sorting windows is Kreutzer et al., "A unified sparse matrix data format for
efficient general sparse matrix-vector multiplication on modern processors with wide SIMD units" (SIAM J. Sci. Comput.
36, 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from .errors import MatrixError

Array = Any  # numpy.ndarray on the host, cupy.ndarray on a GPU
PADDING = -1  # the column of a slot that holds no entry
VALUES = (np.dtype(np.float32), np.dtype(np.float64))
POINTERS = (np.dtype(np.int32), np.dtype(np.int64))
LARGEST_INT32 = 2**31 - 1


def xp_of(array: Array) -> ModuleType:
    """The module that made an array: numpy or cupy."""
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


# --- CSR -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Csr:
    """Compressed sparse rows: row i holds the entries indptr[i] up to indptr[i + 1].

    indptr: (rows + 1,) int32 or int64, the row pointer. indices: (nnz,) int32, columns. data: (nnz,) float32 or
    float64. All three are contiguous. Nothing is checked until `checked` is called.
    """

    shape: tuple[int, int]
    indptr: Array
    indices: Array
    data: Array

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def columns(self) -> int:
        return self.shape[1]

    @property
    def nnz(self) -> int:
        """Stored entries: duplicates and stored zeros count."""
        return int(self.indices.size)

    @property
    def lengths(self) -> Array:
        """(rows,) entries of each row."""
        return self.indptr[1:] - self.indptr[:-1]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.data.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of the matrix as it is stored."""
        return int(self.indptr.nbytes + self.indices.nbytes + self.data.nbytes)

    def on(self, xp: ModuleType) -> Csr:
        """The same matrix with arrays of `xp`."""
        if xp is np and not isinstance(self.data, np.ndarray):
            return Csr(self.shape, *(array.get() for array in (self.indptr, self.indices, self.data)))
        return Csr(self.shape, *(xp.asarray(array) for array in (self.indptr, self.indices, self.data)))

    def astype(self, dtype: Any = None, pointer: Any = None) -> Csr:
        """The same matrix with values of `dtype` and a row pointer of `pointer`. Raises MatrixError where nnz is more
        than an int32 row pointer reaches, or a value more than float32 holds."""
        wide = np.dtype(pointer or self.indptr.dtype)
        refuse_too_many(self.nnz, wide)
        data = _values_as(self.data, np.dtype(dtype or self.dtype))
        return Csr(self.shape, self.indptr.astype(wide, copy=False), self.indices, data)

    def checked(self) -> Csr:
        """Itself. Raises MatrixError, which says what is wrong and where, for arrays that are no CSR matrix."""
        check_csr(self)
        return self


def csr_from_scipy(matrix: Any, dtype: Any = np.float32, pointer: Any = np.int32) -> Csr:
    """A SciPy sparse array or matrix of any format as it is stored: nothing is sorted, merged or dropped, and the
    matrix stays as it is, and shares what arrays of it fit. Of BSR all of each block is stored, of DIA each diagonal.

    Raises MatrixError for values that are no real numbers or more than `dtype` holds, for an index that does not fit
    int32, for more entries than `pointer` counts, and for arrays that are no matrix.
    """
    import scipy.sparse

    values, counts = np.dtype(dtype), np.dtype(pointer)
    if values not in VALUES or counts not in POINTERS:
        raise MatrixError(f"kernels take float32 or float64 with int32 or int64, not {values} with {counts}")
    if not scipy.sparse.issparse(matrix):
        raise MatrixError(
            f"this is a {type(matrix).__name__}, not a sparse matrix of SciPy: make one with scipy.sparse.csr_array"
        )
    if matrix.ndim != 2:
        raise MatrixError(f"a matrix has two dimensions, and this has {matrix.ndim}: reshape it to one row or column")
    if np.dtype(matrix.dtype).kind == "c":
        raise MatrixError(
            "this matrix is complex, and the kernels are for real numbers: multiply its real and its imaginary part "
            "one by one"
        )
    if np.dtype(matrix.dtype).kind not in "biuf":
        raise MatrixError(f"the values are {matrix.dtype}, which are no numbers: convert them with astype")
    shape = int(matrix.shape[0]), int(matrix.shape[1])
    _refuse_size(*shape)
    indptr, indices, data = _rows_of(matrix, shape, counts)
    indptr, indices = _as_integers("the row pointer", indptr, counts), _as_integers("the columns", indices, np.int32)
    return Csr(shape, indptr, indices, np.ascontiguousarray(_values_as(data, values))).checked()


def _rows_of(matrix: Any, shape: tuple[int, int], counts: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row pointer, columns, values) of a SciPy matrix, entries of a row in the order in which they are stored."""
    try:
        nnz = max(int(matrix.nnz), 0)
    except (IndexError, ValueError, TypeError):
        nnz = 0  # a pointer so malformed that SciPy cannot read it, which is told below
    refuse_too_many(nnz, counts)
    if matrix.format == "csr":  # the arrays may be longer than the matrix; what lies past the last row belongs to none
        return matrix.indptr, matrix.indices[:nnz], np.asarray(matrix.data)[:nnz]
    rows, columns, data = _coordinates(matrix)
    rows = _as_integers("the rows", rows, np.int32)
    _refuse_outside("row", rows, shape[0])
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    return indptr, columns[order], data[order]


def _coordinates(matrix: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(rows, columns, values) of all stored entries of a SciPy matrix that is not CSR, duplicates apart."""
    if matrix.format in ("csc", "bsr"):
        # Both are CSR of something, and must be sound before SciPy, which does not look, or we walk through them.
        high, wide = getattr(matrix, "blocksize", (1, 1))
        shape = matrix.shape[0] // high, matrix.shape[1] // wide
        outer = _as_integers("the pointer", matrix.indptr, np.int64)
        inner = _as_integers("the indices", matrix.indices, np.int32)
        inner = inner[: outer[-1]] if outer.size and outer[-1] >= 0 else inner
        try:
            check_csr(Csr(shape[::-1] if matrix.format == "csc" else shape, outer, inner, np.zeros(inner.size)))
        except MatrixError as error:
            read = "by columns for rows" if matrix.format == "csc" else "by blocks for entries"
            raise MatrixError(f"this {matrix.format.upper()} matrix, read {read}: {error}") from error
        major = np.repeat(np.arange(outer.size - 1), np.diff(outer))
        if matrix.format == "csc":
            return inner, major, matrix.data[: inner.size]
        down, across = np.divmod(np.arange(high * wide), wide)
        rows, columns = (
            (major[:, None] * high + down).ravel(),
            (inner[:, None].astype(np.int64) * wide + across).ravel(),
        )
        return rows, columns, np.ascontiguousarray(matrix.data[: inner.size]).ravel()
    if matrix.format == "dia":  # SciPy's own conversion drops the zeros of a diagonal
        if matrix.data.ndim != 2 or matrix.offsets.shape != matrix.data.shape[:1]:
            raise MatrixError(f"{matrix.offsets.size:,} diagonals have values of the shape {matrix.data.shape}")
        columns = np.tile(np.arange(matrix.data.shape[1]), len(matrix.offsets))
        rows = columns - np.repeat(matrix.offsets.astype(np.int64), matrix.data.shape[1])
        inside = (rows >= 0) & (rows < matrix.shape[0]) & (columns < matrix.shape[1])
        return rows[inside], columns[inside], matrix.data.ravel()[inside]
    try:
        coo = matrix.tocoo(copy=False)
    except (ValueError, IndexError, TypeError) as error:
        raise MatrixError(f"SciPy cannot read this {matrix.format.upper()} matrix: {error}") from error
    if not coo.row.shape == coo.col.shape == coo.data.shape:
        raise MatrixError(f"there are {coo.row.size:,} rows, {coo.col.size:,} columns and {coo.data.size:,} values")
    return coo.row, coo.col, coo.data


def _as_integers(what: str, numbers: np.ndarray, kind: Any) -> np.ndarray:
    """Contiguous integers of `kind`. Raises MatrixError for one that it does not hold, where a cast would wrap."""
    numbers = np.asarray(numbers)
    if numbers.dtype.kind not in "iu":
        raise MatrixError(f"{what} must be integers, and are {numbers.dtype}")
    limits = np.iinfo(kind)
    if numbers.size and not limits.min <= int(numbers.min()) <= int(numbers.max()) <= limits.max:
        at = int(np.argmax((numbers < limits.min) | (numbers > limits.max)))
        raise MatrixError(f"place {at:,} of {what} is {int(numbers[at]):,}, which no {np.dtype(kind)} holds")
    return np.ascontiguousarray(numbers, dtype=kind)


def _values_as(data: Array, kind: np.dtype) -> Array:
    """Values of `kind`. Raises MatrixError for one so large that it would become Inf."""
    with np.errstate(over="ignore"):
        found = data.astype(kind, copy=False)
    if data.dtype.kind == "f" and data.dtype.itemsize > kind.itemsize:
        lost = ~xp_of(found).isfinite(found)
        lost &= xp_of(found).isfinite(data)
        if bool(lost.any()):
            at = int(lost.argmax())
            raise MatrixError(f"entry {at:,} is {float(data[at]):g}, and {kind} ends at {np.finfo(kind).max:g}")
    return found


def _refuse_size(rows: int, columns: int) -> None:
    if max(rows, columns) > LARGEST_INT32:
        raise MatrixError(f"{rows:,} x {columns:,} is more than int32 indices reach ({LARGEST_INT32:,})")


def _refuse_outside(what: str, numbers: np.ndarray, size: int) -> None:
    outside = (numbers < 0) | (numbers >= size)
    if outside.any():
        at = int(outside.argmax())
        raise MatrixError(f"entry {at:,} has the {what} {int(numbers[at]):,}, and there are {size:,}, counted from 0")


def refuse_too_many(nnz: int, pointer: np.dtype) -> None:
    """Raises MatrixError where a row pointer of this type cannot count the entries."""
    if pointer == np.dtype(np.int32) and nnz > LARGEST_INT32:
        raise MatrixError(
            f"{nnz:,} entries are more than an int32 row pointer counts ({LARGEST_INT32:,}): use int64, "
            "pointer=np.int64"
        )


def check_csr(csr: Csr) -> None:
    """Raises MatrixError, saying what is wrong and where, for arrays that are no CSR matrix."""
    rows, columns = csr.shape
    if rows < 0 or columns < 0:
        raise MatrixError(f"a matrix of {rows} x {columns} has a negative size")
    _refuse_size(rows, columns)
    if np.dtype(csr.indptr.dtype) not in POINTERS:
        raise MatrixError(f"the row pointer is {csr.indptr.dtype}; it must be int32 or int64")
    if np.dtype(csr.indices.dtype) != np.dtype(np.int32):
        raise MatrixError(f"the columns are {csr.indices.dtype}; they must be int32")
    if csr.dtype not in VALUES:
        raise MatrixError(f"the values are {csr.dtype}; they must be float32 or float64")
    if csr.indptr.shape != (rows + 1,):
        raise MatrixError(
            f"{rows:,} rows need a row pointer of {rows + 1:,} numbers; this one has the shape {csr.indptr.shape}"
        )
    if csr.indices.shape != csr.data.shape or csr.indices.ndim != 1:
        raise MatrixError(f"there are {csr.indices.size:,} columns and {csr.data.size:,} values; they belong in pairs")
    for name, array in (("row pointer", csr.indptr), ("columns", csr.indices), ("values", csr.data)):
        if not array.flags.c_contiguous:
            raise MatrixError(f"the {name} have gaps in memory, which kernels do not step over: pass a copy")
    if int(csr.indptr[0]) != 0:
        raise MatrixError(f"the row pointer begins with {int(csr.indptr[0]):,}; it must begin with 0")
    falls = csr.indptr[1:] < csr.indptr[:-1]  # their difference might wrap
    if bool(falls.any()):
        row = int(falls.argmax())
        before, after = int(csr.indptr[row]), int(csr.indptr[row + 1])
        raise MatrixError(f"the row pointer falls from {before:,} to {after:,} at row {row:,}; it must never decrease")
    if int(csr.indptr[-1]) != csr.nnz:
        raise MatrixError(f"the row pointer ends at {int(csr.indptr[-1]):,}, and there are {csr.nnz:,} entries")
    outside = (csr.indices < 0) | (csr.indices >= columns)
    if bool(outside.any()):
        at = int(outside.argmax())
        row = int((csr.indptr[1:] <= at).sum())
        raise MatrixError(
            f"row {row:,} has an entry in column {int(csr.indices[at]):,} (entry {at:,}), and there are {columns:,} "
            "columns, counted from 0"
        )


# --- ELL -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ell:
    """Every row padded to the longest: slot k of row i lies at [k, i], so that neighbouring rows are neighbours.

    columns: (width, rows) int32, PADDING where a row has ended. values: (width, rows).
    """

    shape: tuple[int, int]
    columns: Array
    values: Array
    nnz: int

    @classmethod
    def from_csr(cls, csr: Csr, most_bytes: int | None = None) -> Ell:
        """Raises MatrixError where the padded matrix would take more than `most_bytes`."""
        xp = xp_of(csr.data)
        width = int(csr.lengths.max()) if csr.rows else 0
        slots = width * csr.rows
        needed = slots * (4 + csr.dtype.itemsize)
        if most_bytes is not None and needed > most_bytes:
            raise MatrixError(
                f"ELL would pad {csr.nnz:,} entries to {slots:,} slots, {needed / 1e9:,.1f} GB, since the longest of "
                f"{csr.rows:,} rows has {width:,}: use a sliced format"
            )
        columns = xp.full((width, csr.rows), PADDING, np.int32)
        values = xp.zeros((width, csr.rows), csr.dtype)
        row, place = rows_and_places(csr)
        columns[place, row], values[place, row] = csr.indices, csr.data
        return cls(csr.shape, columns, values, csr.nnz)

    @property
    def slots(self) -> int:
        return int(self.columns.size)

    @property
    def nbytes(self) -> int:
        return int(self.columns.nbytes + self.values.nbytes)


def rows_and_places(csr: Csr) -> tuple[Array, Array]:
    """(row, place in its row) of every entry: (nnz,) int32 and (nnz,) of the row pointer's type."""
    xp = xp_of(csr.data)
    entry = xp.arange(csr.nnz, dtype=csr.indptr.dtype)
    if xp is np:
        row = np.repeat(np.arange(csr.rows, dtype=np.int32), csr.lengths)
    else:  # CuPy repeats by numbers of the host only
        row = (xp.searchsorted(csr.indptr, entry, side="right") - 1).astype(np.int32)
    return row, entry - csr.indptr[:-1][row]


# --- sliced ELL ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SlicedEll:
    """Slices of `height` rows, each as wide as its longest row, after sorting by length within windows of `sigma` rows.

    offsets: (slices + 1,) int64, where each slice begins, in slots: slot k of place p of a slice lies at
    offsets[slice] + k * height + p. The last slice has as many places as the others; those past the rows are padding.
    permutation: (rows,) int32: place -> row, the identity for sigma = 1. columns, values: (slots,).
    """

    shape: tuple[int, int]
    height: int
    sigma: int
    offsets: Array
    columns: Array
    values: Array
    permutation: Array
    nnz: int

    @classmethod
    def from_csr(cls, csr: Csr, height: int = 32, sigma: int = 1) -> SlicedEll:
        """`sigma` rows are sorted together, longest first, ties in their order: 1 sorts nothing, `rows` everything; it
        need not divide the rows nor be a multiple of the height. Raises MatrixError for a height or sigma below 1."""
        if height < 1 or sigma < 1:
            raise MatrixError(f"a height of {height} and a sigma of {sigma} make no slices; both must be 1 or more")
        xp = xp_of(csr.data)
        permutation = order_within_windows(csr.lengths, sigma)
        slices = -(-csr.rows // height)
        lengths = xp.zeros(slices * height, np.int64)
        lengths[: csr.rows] = csr.lengths[permutation]
        widths = lengths.reshape(slices, height).max(axis=1) if slices else lengths
        offsets = xp.zeros(slices + 1, np.int64)
        offsets[1:] = xp.cumsum(widths * height)
        slots = int(offsets[-1])
        columns, values = xp.full(slots, PADDING, np.int32), xp.zeros(slots, csr.dtype)
        row, k = rows_and_places(csr)
        place = xp.empty(csr.rows, np.int64)
        place[permutation] = xp.arange(csr.rows)
        place = place[row]
        slot = offsets[place // height] + k.astype(np.int64) * height + place % height
        columns[slot], values[slot] = csr.indices, csr.data
        return cls(csr.shape, height, sigma, offsets, columns, values, permutation, csr.nnz)

    @property
    def slots(self) -> int:
        return int(self.columns.size)

    @property
    def nbytes(self) -> int:
        arrays = self.offsets, self.columns, self.values, self.permutation
        return int(sum(array.nbytes for array in arrays))


def order_within_windows(lengths: Array, sigma: int) -> Array:
    """(rows,) int32, place -> row: the rows of each window of `sigma`, longest first, ties in their order."""
    xp = xp_of(lengths)
    if sigma == 1 or lengths.size == 0:
        return xp.arange(lengths.size, dtype=np.int32)
    window = xp.arange(lengths.size, dtype=np.int64) // min(sigma, lengths.size)
    key = (window + 1) * (int(lengths.max()) + 1) - 1 - lengths.astype(np.int64)
    return stable_order(key).astype(np.int32)


def stable_order(key: Array) -> Array:
    """The places of a 1-D array in ascending order, equal ones in the order they have."""
    return key.argsort(kind="stable") if isinstance(key, np.ndarray) else key.argsort()  # CuPy's is always stable
