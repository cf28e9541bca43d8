"""A matrix of SciPy as a `Csr`, with everything that it stores and nothing that it does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import MatrixError
from .csr import POINTERS, VALUES, Csr, check_csr, refuse_size, refuse_too_many, values_as


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
    refuse_size(*shape)
    indptr, indices, data = _rows_of(matrix, shape, counts)
    indptr, indices = _as_integers("the row pointer", indptr, counts), _as_integers("the columns", indices, np.int32)
    return Csr(shape, indptr, indices, np.ascontiguousarray(values_as(data, values))).checked()


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


def _refuse_outside(what: str, numbers: np.ndarray, size: int) -> None:
    outside = (numbers < 0) | (numbers >= size)
    if outside.any():
        at = int(outside.argmax())
        raise MatrixError(f"entry {at:,} has the {what} {int(numbers[at]):,}, and there are {size:,}, counted from 0")
