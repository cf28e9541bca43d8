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
    float64.
    Raises MatrixError, on the host, for arrays that are no such matrix.
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
        than an int32 row pointer reaches."""
        wide = np.dtype(pointer or self.indptr.dtype)
        refuse_too_many(self.nnz, wide)
        data = self.data.astype(dtype or self.dtype, copy=False)
        return Csr(self.shape, self.indptr.astype(wide, copy=False), self.indices, data)

    def checked(self) -> Csr:
        """Itself. Raises MatrixError, which says what is wrong and where, for arrays that are no CSR matrix."""
        check_csr(self)
        return self


def csr_from_scipy(matrix: Any, dtype: Any = np.float32, pointer: Any = np.int32) -> Csr:
    """A SciPy sparse array or matrix of any format as it is stored: nothing is sorted, merged or dropped.

    Raises MatrixError for complex values, for an index that does not fit int32, and for arrays that are no matrix.
    """
    import scipy.sparse

    if not scipy.sparse.issparse(matrix):
        raise MatrixError(
            f"this is a {type(matrix).__name__}, not a sparse matrix: make one with scipy.sparse.csr_array"
        )
    if matrix.ndim != 2:
        raise MatrixError(f"a matrix has two dimensions, and this has {matrix.ndim}")
    if np.dtype(matrix.dtype).kind == "c":
        raise MatrixError(
            "this matrix is complex, and the kernels are for real numbers: multiply its real and its imaginary part "
            "one by one"
        )
    rows, columns = (int(size) for size in matrix.shape)
    if max(rows, columns) > LARGEST_INT32:
        raise MatrixError(f"{rows:,} x {columns:,} is more than int32 indices reach ({LARGEST_INT32:,})")
    refuse_too_many(int(matrix.nnz), np.dtype(pointer))
    if matrix.format != "csr":
        matrix = _to_csr(matrix.tocoo())
    found = Csr(
        (rows, columns),
        np.ascontiguousarray(matrix.indptr, dtype=pointer),
        _as_int32(np.asarray(matrix.indices)),
        np.ascontiguousarray(matrix.data, dtype=dtype),
    )
    return found.checked()


def _to_csr(coo: Any) -> Any:
    """COO as CSR without adding up duplicates, which `tocsr` would do."""
    order = np.argsort(coo.row, kind="stable")
    indptr = np.zeros(coo.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(coo.row, minlength=coo.shape[0]), out=indptr[1:])
    import types

    return types.SimpleNamespace(indptr=indptr, indices=coo.col[order], data=coo.data[order])


def _as_int32(indices: np.ndarray) -> np.ndarray:
    """Columns as int32; one that does not fit stays visible as an index that is out of range."""
    if indices.size and (indices.max() > LARGEST_INT32 or indices.min() < -LARGEST_INT32):
        at = int(np.argmax(np.abs(indices) > LARGEST_INT32))
        raise MatrixError(f"entry {at} has the column {int(indices[at]):,}, which no int32 holds")
    return np.ascontiguousarray(indices, dtype=np.int32)


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
    if np.dtype(csr.indptr.dtype) not in POINTERS:
        raise MatrixError(f"the row pointer is {csr.indptr.dtype}; it must be int32 or int64")
    if np.dtype(csr.indices.dtype) != np.dtype(np.int32):
        raise MatrixError(f"the columns are {csr.indices.dtype}; they must be int32")
    if csr.dtype not in VALUES:
        raise MatrixError(f"the values are {csr.dtype}; they must be float32 or float64")
    if csr.indptr.shape != (rows + 1,):
        raise MatrixError(f"{rows:,} rows need a row pointer of {rows + 1:,} numbers; this one has {csr.indptr.size:,}")
    if csr.indices.shape != csr.data.shape or csr.indices.ndim != 1:
        raise MatrixError(f"there are {csr.indices.size:,} columns and {csr.data.size:,} values; they belong in pairs")
    if int(csr.indptr[0]) != 0:
        raise MatrixError(f"the row pointer begins with {int(csr.indptr[0]):,}; it must begin with 0")
    falls = csr.lengths < 0
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
        xp.cumsum(widths * height, out=offsets[1:])
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
    window = xp.arange(lengths.size, dtype=np.int64) // sigma
    key = (window + 1) * (int(lengths.max()) + 1) - 1 - lengths.astype(np.int64)
    return stable_order(key).astype(np.int32)


def stable_order(key: Array) -> Array:
    """The places of a 1-D array in ascending order, equal ones in the order they have."""
    return key.argsort(kind="stable") if isinstance(key, np.ndarray) else key.argsort()  # CuPy's is always stable
