"""Compressed sparse rows, from which every other format is made, and what makes arrays no matrix.

Source: Bell and Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented processors" (SC
2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import MatrixError
from .arrays import Array, xp_of

VALUES = (np.dtype(np.float32), np.dtype(np.float64))
POINTERS = (np.dtype(np.int32), np.dtype(np.int64))
LARGEST_INT32 = 2**31 - 1


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
        data = values_as(self.data, np.dtype(dtype or self.dtype))
        return Csr(self.shape, self.indptr.astype(wide, copy=False), self.indices, data)

    def checked(self) -> Csr:
        """Itself. Raises MatrixError, which says what is wrong and where, for arrays that are no CSR matrix."""
        check_csr(self)
        return self


def rows_and_places(csr: Csr) -> tuple[Array, Array]:
    """(row, place in its row) of every entry: (nnz,) int32 and (nnz,) of the row pointer's type."""
    xp = xp_of(csr.data)
    entry = xp.arange(csr.nnz, dtype=csr.indptr.dtype)
    if xp is np:
        row = np.repeat(np.arange(csr.rows, dtype=np.int32), csr.lengths)
    else:  # CuPy repeats by numbers of the host only
        row = (xp.searchsorted(csr.indptr, entry, side="right") - 1).astype(np.int32)
    return row, entry - csr.indptr[:-1][row]


# --- what is refused -------------------------------------------------------------------------------------------------


def check_csr(csr: Csr) -> None:
    """Raises MatrixError, saying what is wrong and where, for arrays that are no CSR matrix."""
    rows, columns = csr.shape
    if rows < 0 or columns < 0:
        raise MatrixError(f"a matrix of {rows} x {columns} has a negative size")
    refuse_size(rows, columns)
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


def refuse_size(rows: int, columns: int) -> None:
    if max(rows, columns) > LARGEST_INT32:
        raise MatrixError(f"{rows:,} x {columns:,} is more than int32 indices reach ({LARGEST_INT32:,})")


def refuse_too_many(nnz: int, pointer: np.dtype) -> None:
    """Raises MatrixError where a row pointer of this type cannot count the entries."""
    if pointer == np.dtype(np.int32) and nnz > LARGEST_INT32:
        raise MatrixError(
            f"{nnz:,} entries are more than an int32 row pointer counts ({LARGEST_INT32:,}): use int64, "
            "pointer=np.int64 (--pointer int64)"
        )


def values_as(data: Array, kind: np.dtype) -> Array:
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
