"""A user's own matrix: Matrix Market files, plain or compressed by gzip or bzip2, and SciPy's .npz.

Nothing is lost on the way: duplicates and stored zeros are kept, in the order of the file within each row, and what a
Csr cannot hold is an error that names the line. The numbers are parsed here and not by `scipy.io.mmread`, which takes
2.5D+03 for 2.5 and 1.5 in an integer file for 1, drops the values of a file that calls itself a pattern, and words too
many on a line, and crashes the process at a zero byte behind a value (SciPy 1.17.1).

Source: Boisvert, Pozo and Remington, "The Matrix Market exchange formats: initial design" (NISTIR 5935, 1996).
"""

from __future__ import annotations

import bz2
import gzip
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gpukit.registry import nearest

from ..errors import MatrixError
from ..formats import Csr, csr_from_scipy
from ..formats.csr import LARGEST_INT32, refuse_too_many

BANNER = "%%MatrixMarket"
FIELDS = ("real", "integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
LONGEST_LINE = 1 << 20  # bytes
BLOCK = 1 << 18  # bytes parsed at a time
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257  # POSIX.1-1988, ustar interchange format
HOW_IT_BEGINS = f'a Matrix Market file begins with "{BANNER} matrix coordinate real general"'

_INTEGER = re.compile(rb"[+-]?\d+")
_NUMBER = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[ed][+-]?\d+)?|inf(?:inity)?|nan)", re.IGNORECASE)
_SPACE = np.zeros(256, bool)
_SPACE[list(b" \t\n\r\v\f")] = True
_FORTRAN = bytes.maketrans(b"Dd", b"Ee")  # Fortran writes the exponent of a double with D


def read(path: str | Path, dtype: Any = np.float32, pointer: Any = np.int32) -> Csr:
    """The matrix of a .mtx file (also .mtx.gz and .mtx.bz2) or of a .npz file that `scipy.sparse.save_npz` wrote.

    Matrix Market: coordinate format; real, integer or pattern (whose values are 1); general, symmetric or
    skew-symmetric, of which both halves are returned. dtype: float32 or float64; pointer: int32 or int64.
    Raises MatrixError, with the line where there is one, for anything else, and for a value beyond the range of dtype.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise MatrixError("this is a folder; name the file of a matrix in it", file=str(path))
        if path.exists() and not path.is_file():
            raise MatrixError(
                "this is no file, but a pipe or a device; write the matrix to a file first", file=str(path)
            )
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            if magic.startswith(b"PK"):
                return _read_npz(path, dtype, pointer)
            return _read_matrix_market(path, file, magic, np.dtype(dtype), np.dtype(pointer))
    except FileNotFoundError:
        folder = path.parent
        names = [entry.name for entry in folder.iterdir() if entry.is_file()] if folder.is_dir() else []
        raise MatrixError(f"there is no such file{nearest(path.name, names)}", file=str(path)) from None
    except OSError as error:
        raise MatrixError(f"this file cannot be read: {error.strerror or error}", file=str(path)) from None


# --- Matrix Market ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    field: str
    symmetry: str
    rows: int
    columns: int
    entries: int

    @property
    def words(self) -> int:
        """Words on the line of an entry."""
        return 2 if self.field == "pattern" else 3


class _Lines:
    """A file, line by line and then in blocks of whole lines; `line` is the number of the last line given out."""

    def __init__(self, path: Path, stream: BinaryIO, compressed: bool):
        self.path, self.stream, self.compressed = path, stream, compressed
        self.line = 0

    def error(self, message: str, line: int | None = None) -> MatrixError:
        return MatrixError(message, file=str(self.path), line=line)

    def _read(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except EOFError:
            raise self.error("the compressed data end too soon: the file is cut off, fetch it again") from None
        except (zlib.error, OSError) as error:
            if not self.compressed:
                raise
            raise self.error(f"the compressed data are damaged ({error}): fetch the file again") from None

    def next(self) -> str | None:
        """The next line as text; None at the end."""
        line = self._read(self.stream.readline, LONGEST_LINE)
        if not line:
            return None
        self.line += 1
        if line[TAR_MAGIC_AT:].startswith(TAR_MAGIC):
            raise self.error("this is a tar archive: unpack it (tar -xf), and name the .mtx file in it")
        if len(line) >= LONGEST_LINE or b"\0" in line:
            raise self.error(f"this is no text, but something binary: {HOW_IT_BEGINS}")
        return line.decode("utf-8", "replace")

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """(number of the first line, whole lines)."""
        rest = b""
        while True:
            read = self._read(self.stream.read, BLOCK)
            whole, newline, rest = (rest + read).rpartition(b"\n") if read else (rest, b"", b"")
            if len(rest) > LONGEST_LINE:
                raise self.error(f"this line is longer than {LONGEST_LINE:,} bytes", self.line + 1)
            if whole:
                yield self.line + 1, whole + newline
                self.line += whole.count(b"\n") + 1
            elif newline:
                self.line += 1
            if not read:
                return

    def bytes_left(self) -> int | None:
        """Bytes that follow; None where they are compressed, and not known."""
        return None if self.compressed else self.path.stat().st_size - self.stream.tell()


def _read_matrix_market(path: Path, file: BinaryIO, magic: bytes, dtype: np.dtype, pointer: np.dtype) -> Csr:
    stream: Any = file
    if magic.startswith(b"\x1f\x8b"):
        stream = gzip.GzipFile(fileobj=file)
    elif magic.startswith(b"BZh"):
        stream = bz2.BZ2File(file)
    lines = _Lines(path, stream, stream is not file)
    header = _header(lines)
    _refuse_too_large(lines, header, dtype, pointer)
    parts = zip(*_entries(lines, header, dtype), strict=True)
    rows, columns, values = (np.concatenate(arrays) for arrays in parts)
    if header.symmetry != "general":
        _refuse_both_halves(lines, header.symmetry, rows, columns)
        other = rows != columns
        sign = -1 if header.symmetry == "skew-symmetric" else 1
        rows, columns = np.concatenate([rows, columns[other]]), np.concatenate([columns, rows[other]])
        values = np.concatenate([values, sign * values[other]])
    try:
        return csr_from_entries((header.rows, header.columns), rows, columns, values, pointer)
    except MatrixError as error:
        raise lines.error(error.message) from None


def csr_from_entries(
    shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, values: np.ndarray, pointer: Any = np.int32
) -> Csr:
    """A Csr of (nnz,) rows, columns and values: in their order within each row, duplicates kept. Raises MatrixError for
    more entries than the row pointer counts."""
    refuse_too_many(values.size, np.dtype(pointer))
    indptr = np.zeros(shape[0] + 1, pointer)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    if rows.size and (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        columns, values = columns[order], values[order]
    return Csr(shape, indptr, columns.astype(np.int32, copy=False), values)


def _header(lines: _Lines) -> _Header:
    first = lines.next()
    if first is None:
        raise lines.error(f"this file is empty; {HOW_IT_BEGINS}")
    first = first.removeprefix("\ufeff")  # which editors on Windows write before the text
    if not first.lower().startswith(BANNER.lower()):
        line = (
            1 if first.strip().isprintable() and "\ufffd" not in first else None
        )  # what is binary had better not go to a terminal
        raise lines.error(f"the first line is no header: {HOW_IT_BEGINS}", line)
    words = first.lower().split()[1:]
    if len(words) != 4:
        raise lines.error(f"the header has {len(words)} words behind {BANNER} and must have four: {HOW_IT_BEGINS}", 1)
    kind, layout, field, symmetry = words
    if layout == "array":
        raise lines.error("this is a dense matrix (array); only sparse ones (coordinate) are read", 1)
    if field == "complex" or symmetry == "hermitian":
        raise lines.error("this matrix is complex, and the kernels are for real numbers", 1)
    field = "real" if field == "double" else field
    for word, known, what in (
        (kind, ("matrix",), "object"),
        (layout, ("coordinate",), "format"),
        (field, FIELDS, "field"),
        (symmetry, SYMMETRIES, "symmetry"),
    ):
        if word not in known:
            raise lines.error(f"the header's {what} is {word!r}; it must be {' or '.join(known)}", 1)
    if field == "pattern" and symmetry == "skew-symmetric":
        raise lines.error("a pattern has no signs, and cannot be skew-symmetric", 1)
    while (text := lines.next()) is not None:
        if text.strip() and not text.startswith("%"):
            return _sizes(lines, text, field, symmetry)
    raise lines.error('the sizes are missing: behind the comments comes a line "rows columns entries"')


def _sizes(lines: _Lines, text: str, field: str, symmetry: str) -> _Header:
    words = text.split()
    if len(words) != 3 or not all(word.isascii() and word.isdigit() for word in words):
        shown = text.strip()[:60]
        raise lines.error(f'the sizes are three numbers, "rows columns entries", and here is {shown!r}', lines.line)
    if max(map(len, words)) > 18:
        raise lines.error(f"a size of {max(map(len, words))} digits is more than any machine holds", lines.line)
    rows, columns, entries = map(int, words)
    if max(rows, columns) > LARGEST_INT32:
        raise lines.error(f"{rows:,} x {columns:,} is more than int32 indices reach ({LARGEST_INT32:,})", lines.line)
    if symmetry != "general" and rows != columns:
        raise lines.error(f"a matrix of {rows:,} x {columns:,} cannot be {symmetry}", lines.line)
    return _Header(field, symmetry, rows, columns, entries)


def _refuse_too_large(lines: _Lines, header: _Header, dtype: np.dtype, pointer: np.dtype) -> None:
    """Before anything is allocated: the sizes against the row pointer, the length of the file, and the memory."""
    try:
        refuse_too_many(header.entries, pointer)
    except MatrixError as error:
        raise lines.error(error.message, lines.line) from None
    left, least = lines.bytes_left(), 2 * header.words * header.entries - 1
    if left is not None and least > left:
        raise lines.error(
            f"{header.entries:,} entries are promised, which take {least:,} bytes or more, and {left:,} bytes follow: "
            "the file is cut off, or this line is wrong",
            lines.line,
        )
    memory = memory_bytes()
    counting = (header.rows + 1) * (pointer.itemsize + 8)  # the row pointer, and the lengths it is summed up from
    needed = counting + header.entries * (4 + dtype.itemsize)
    if memory is not None and needed > memory:
        raise lines.error(
            f"{header.rows:,} rows and {header.entries:,} entries take {needed / 1e9:,.0f} GB, and this machine has "
            f"{memory / 1e9:,.0f} GB",
            lines.line,
        )


def memory_bytes() -> int | None:
    """Bytes of this machine's memory; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


def _entries(lines: _Lines, header: _Header, dtype: np.dtype) -> Iterator[Entries]:
    """(rows, columns, values) of block after block; the first is empty. Raises MatrixError for too many or too few."""
    yield np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, dtype)
    found = 0
    for first, block in lines.blocks():
        where = _lines_of_entries(lines, header, first, block)
        if found + where.size > header.entries:
            raise lines.error(
                f"here is one entry more than the {header.entries:,} promised", int(where[header.entries - found])
            )
        found += where.size
        yield _parsed(lines, header, dtype, block, where)
    if found < header.entries:
        raise lines.error(
            f"of {header.entries:,} entries promised there are {found:,}: the file is cut off, or its sizes are wrong"
        )


def _lines_of_entries(lines: _Lines, header: _Header, first: int, block: bytes) -> np.ndarray:
    """(entries,) the number of each one's line. Raises MatrixError for a line with too many or too few words."""
    content = np.frombuffer(b"\n" + block + b"\n", np.uint8)
    word = ~_SPACE[content]
    begins = np.flatnonzero(word[1:] & ~word[:-1]) + 1
    words = np.diff(np.searchsorted(begins, np.flatnonzero(content == ord("\n"))))
    wrong = (words != 0) & (words != header.words)
    if wrong.any():
        line = int(wrong.argmax())
        what = "row and column" if header.words == 2 else "row, column and value"
        shown = block.split(b"\n")[line].strip()
        comment = "; comments stand before the sizes" if shown.startswith(b"%") else ""
        raise lines.error(
            f"an entry of a {header.field} matrix is {header.words} words, {what}, and here are {words[line]}: "
            f"{_quoted(shown)}{comment}",
            first + line,
        )
    return first + np.flatnonzero(words)


def _parsed(lines: _Lines, header: _Header, dtype: np.dtype, block: bytes, where: np.ndarray) -> Entries:
    words = block.translate(_FORTRAN).split()
    size, step = where.size, header.words
    try:
        if b"_" in block:  # Python takes it within numbers
            raise ValueError
        rows, columns = (np.fromiter(map(int, words[k::step]), np.int64, size) for k in (0, 1))
        values = np.ones(size) if step == 2 else np.fromiter(map(float, words[2::step]), np.float64, size)
    except (ValueError, OverflowError):
        raise _not_a_number(lines, block, step, where) from None
    words = block.split()  # as they stand in the file

    def first(wrong: np.ndarray) -> int | None:
        return int(wrong.argmax()) if wrong.any() else None

    for indices, most, what in ((rows, header.rows, "row"), (columns, header.columns, "column")):
        if (at := first((indices < 1) | (indices > most))) is not None:
            raise lines.error(
                f"{what} {indices[at]} is outside the matrix: its {what}s are counted from 1 to {most:,}",
                int(where[at]),
            )
    if header.field == "integer" and (at := first(values != np.floor(values))) is not None:
        raise lines.error(
            f"{_quoted(words[at * step + 2])} is no integer, and this is an integer matrix", int(where[at])
        )
    if header.symmetry == "skew-symmetric" and (at := first((rows == columns) & (values != 0))) is not None:
        raise lines.error("an entry on the diagonal of a skew-symmetric matrix must be 0", int(where[at]))
    for at in np.flatnonzero(np.isinf(values)).tolist():
        if b"n" not in words[at * step + 2].lower():  # not written as inf
            raise lines.error(f"{_quoted(words[at * step + 2])} is beyond the range of float64", int(where[at]))
    with np.errstate(over="ignore"):
        kept = values.astype(dtype)
    if (at := first(np.isinf(kept) & np.isfinite(values))) is not None:
        raise lines.error(
            f"{_quoted(words[at * step + 2])} is beyond the range of {dtype}: read the matrix as float64 "
            "(--dtype float64)",
            int(where[at]),
        )
    return (rows - 1).astype(np.int32), (columns - 1).astype(np.int32), kept


def _not_a_number(lines: _Lines, block: bytes, step: int, where: np.ndarray) -> MatrixError:
    """The error for the first word that is none."""
    for at, word in enumerate(block.split()):
        place = at % step
        if not (_NUMBER if place == 2 else _INTEGER).fullmatch(word):
            what = ("a row is a whole number", "a column is a whole number", "a value is a number")[place]
            return lines.error(f"{what}, and here is {_quoted(word)}", int(where[at // step]))
        if place < 2 and len(word) > 18:
            return lines.error(
                f"{'row' if place == 0 else 'column'} {_quoted(word)} is too large", int(where[at // step])
            )
    raise AssertionError("a block that does not parse has a word that is no number")


def _quoted(word: bytes) -> str:
    shown = word.decode("utf-8", "replace")
    return repr(shown if len(shown) <= 40 else shown[:40] + "...")


def _refuse_both_halves(lines: _Lines, symmetry: str, rows: np.ndarray, columns: np.ndarray) -> None:
    """A symmetric file stores each pair of entries once; one that stores both would count them twice."""
    above, below = rows < columns, rows > columns
    if not (above.any() and below.any()):
        return
    size = int(max(rows.max(), columns.max())) + 1
    upper = rows[above] * np.int64(size) + columns[above]
    twice = np.isin(upper, columns[below] * np.int64(size) + rows[below])
    if twice.any():
        row, column = divmod(int(upper[twice.argmax()]), size)
        raise lines.error(
            f"the entries ({row + 1}, {column + 1}) and ({column + 1}, {row + 1}) are both stored, and a {symmetry} "
            "file stores one of them: call it general"
        )


# --- .npz ------------------------------------------------------------------------------------------------------------


def _read_npz(path: Path, dtype: Any, pointer: Any) -> Csr:
    import scipy.sparse

    try:
        with zipfile.ZipFile(path) as archive:
            needed, memory = sum(member.file_size for member in archive.infolist()), memory_bytes()
            if memory is not None and needed > memory:
                raise MatrixError(
                    f"its arrays take {needed / 1e9:,.0f} GB, and this machine has {memory / 1e9:,.0f} GB"
                )
        matrix = scipy.sparse.load_npz(path)
        if matrix.format in ("csc", "bsr"):  # SciPy converts them without looking; a CSR is looked at here
            matrix.check_format(full_check=True)
        made = csr_from_scipy(matrix, np.float64 if matrix.dtype.kind != "c" else dtype, pointer)
        with np.errstate(over="ignore"):
            kept = made.data.astype(dtype)
        beyond = np.isinf(kept) & np.isfinite(made.data)
        if beyond.any():
            entry = int(beyond.argmax())
            raise MatrixError(
                f"entry {entry:,} is {made.data[entry]}, beyond the range of {np.dtype(dtype)}: read it as float64 "
                "(--dtype float64)"
            )
        return Csr(made.shape, made.indptr, made.indices, kept)
    except MatrixError as error:
        raise MatrixError(error.message, file=str(path)) from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise MatrixError(f"this .npz file is damaged ({error}): write it again", file=str(path)) from None
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, MemoryError, NotImplementedError) as error:
        raise MatrixError(
            f"this .npz file holds no sparse matrix as scipy.sparse.save_npz writes it ({error})", file=str(path)
        ) from None
