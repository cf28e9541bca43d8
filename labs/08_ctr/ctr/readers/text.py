"""Files of cells: lines of text, plain or compressed by gzip, taken apart a block at a time by NumPy.

A block is some thousand whole lines, and each question (is this cell a label, a number, an id in hexadecimal?) is asked
of a whole column of it at once. An answer of no names the file, the line and the cell.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from gpukit.registry import nearest

from ..errors import CtrError
from .vocabulary import MISSING

BLOCK = 1 << 20  # bytes read at a time
LONGEST_LINE = 1 << 16  # bytes; the longest of Criteo's has about 400
MOST_DIGITS = 18  # in an int64
HEX_DIGITS = 8
PADDING = 1 + max(MOST_DIGITS, HEX_DIGITS)
TAR_MAGIC, TAR_MAGIC_AT = b"ustar", 257  # POSIX.1-1988, ustar interchange format
NO_DIGIT = 0x80  # a bit that no digit has

_ANY_NO_DIGIT = np.uint64(int.from_bytes([NO_DIGIT] * HEX_DIGITS, "little"))
_HEX = np.full(256, NO_DIGIT, np.uint8)
for _digit, _characters in enumerate(zip("0123456789abcdef", "0123456789ABCDEF", strict=True)):
    _HEX[[ord(character) for character in _characters]] = _digit


class TextFile:
    """A file that is read once, from its first line to its last: `with TextFile(path, separator, what) as file:`.

    separator: the byte between cells; what: what the file should be, for errors ("a Criteo file"). `taken` bytes of
    the file's `size` were read. Raises CtrError for a file that cannot be opened, and while it is read for one that
    ends too soon or is no text.
    """

    def __init__(self, path: Path | str, separator: bytes, what: str):
        self.path = Path(path)
        self.separator = separator
        self.what = what
        self.line = 0  # the number of the last line given out
        self._rest = b""
        self._empty = f"this file is empty, not {what}"
        if self.path.is_dir():
            raise self.error(f"this is a folder: name {what} in it")
        if self.path.exists() and not self.path.is_file():
            raise self.error("this is no file, but a pipe or a device: write its lines to a file first")
        try:
            self._raw = self.path.open("rb")
            self.size = self.path.stat().st_size
        except FileNotFoundError:
            folder = self.path.parent
            names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
            raise self.error(f"there is no such file{nearest(self.path.name, names)}") from None
        except OSError as error:
            raise self.error(f"this file cannot be read: {error.strerror or error}") from None
        magic = self._raw.read(4)
        self._raw.seek(0)
        known = {b"PK\x03\x04": "a zip archive: unpack it", b"PAR1": "a Parquet file: use read_parquet"}
        if magic in known:
            self._raw.close()
            raise self.error(f"this is {known[magic]}, and {what} belongs here")
        self.compressed = magic.startswith(b"\x1f\x8b")
        self._stream: Any = gzip.GzipFile(fileobj=self._raw) if self.compressed else self._raw

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._raw.close()

    @property
    def taken(self) -> int:
        return self._raw.tell()

    def error(self, message: str, line: int | None = None) -> CtrError:
        return CtrError(message, file=str(self.path), line=line)

    def header(self) -> list[str]:
        """The cells of the first line. Raises CtrError for a file without one."""
        while b"\n" not in self._rest and (read := self._read()):
            self._refuse_long()
            self._rest += read
        if not self._rest:
            raise self.error(self._empty)
        line, _, self._rest = self._rest.partition(b"\n")
        self.line = 1
        if not line.strip():
            raise self.error("its first line is empty, where the header belongs", 1)
        text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").rstrip("\r")
        return text.split(self.separator.decode())

    def blocks(self, limit: int | None = None) -> Iterator[Block]:
        """Whole lines, until the end or `limit` of them. Raises CtrError for a file without any."""
        if limit is not None and limit < 1:
            raise CtrError(f"a limit of {limit} rows leaves none: give 1 or more")
        header = self.line
        for content in self._whole_lines():
            if limit is not None:
                content = _first_lines(content, limit - (self.line - header))
            block = Block(self.line + 1, content, self.taken)
            self.line += content.count(b"\n")
            yield block
            if limit is not None and self.line - header == limit:
                return
        if self.line == header:
            raise self.error("this file has a header and no rows" if header else self._empty)

    def cells(self, block: Block, columns: int) -> Cells:
        """Those of a block. Raises CtrError for a line that has not as many as `columns`."""
        content = block.content.replace(b"\r\n", b"\n") if b"\r\n" in block.content else block.content
        characters = np.frombuffer(content + bytes(PADDING), np.uint8)
        newlines = characters == ord("\n")
        ends = np.flatnonzero((characters == ord(self.separator)) | newlines)
        rows = np.count_nonzero(newlines)
        if len(ends) != rows * columns or not newlines[ends[columns - 1 :: columns]].all():
            raise self._miscounted(block.first_line, content, columns)
        begins = np.concatenate([[0], ends[:-1] + 1])
        return Cells(self, block.first_line, characters, begins.reshape(rows, columns), ends.reshape(rows, columns))

    def _miscounted(self, first_line: int, content: bytes, columns: int) -> CtrError:
        """Of the first line that has another number of cells."""
        lines = content.split(b"\n")[:-1]
        counts = [line.count(self.separator) + 1 for line in lines]
        row = next(row for row, count in enumerate(counts) if count != columns)
        what = f"this line has {counts[row]} column{'s' * (counts[row] > 1)}" if lines[row] else "this line is empty"
        separator = "tabs" if self.separator == b"\t" else "commas"
        shown = f": {_quoted(lines[row])}" if lines[row] else ""
        return self.error(
            f"{what}, and {self.what} has {columns}, between {separator}{shown}; the file was cut short, or is another",
            first_line + row,
        )

    def _whole_lines(self) -> Iterator[bytes]:
        while read := self._read():
            whole, newline, self._rest = (self._rest + read).rpartition(b"\n")
            if newline:
                yield whole + newline
            self._refuse_long()
        if self._rest:
            yield self._rest.removesuffix(b"\n") + b"\n"

    def _refuse_long(self) -> None:
        if len(self._rest) > LONGEST_LINE:
            raise self.error(f"this line is longer than {LONGEST_LINE:,} bytes: this is not {self.what}", self.line + 1)

    def _read(self) -> bytes:
        try:
            read = self._stream.read(BLOCK)
        except EOFError:
            message = "the compressed data end too soon: the file was cut short, fetch it again"
            raise self.error(message, self.line + 1) from None
        except (zlib.error, OSError) as error:
            what = "the compressed data are damaged" if self.compressed else "this file cannot be read on"
            raise self.error(f"{what} ({error}): fetch it again", self.line + 1) from None
        if self.line == 0 and read[TAR_MAGIC_AT:].startswith(TAR_MAGIC):
            raise self.error(f"this is a tar archive: unpack it (tar -xf), and name {self.what} in it")
        return read


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines: the number of the first, their bytes, and how much of the file had been read by then."""

    first_line: int
    content: bytes
    taken: int


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of whole lines: `content[begins[row, column]:ends[row, column]]`, bytes. Line numbers begin at 1.

    `content` has PADDING bytes more than the last cell needs, so that each cell can be read with what follows it.
    """

    file: TextFile
    first_line: int
    content: np.ndarray  # (bytes,) uint8
    begins: np.ndarray  # (rows, columns) int64
    ends: np.ndarray

    @property
    def rows(self) -> int:
        return len(self.begins)

    def labels(self, column: int, name: str) -> np.ndarray:
        """(rows,) uint8. Raises CtrError for a cell other than 0 and 1."""
        begins = self.begins[:, column]
        labels = self.content[begins] - np.uint8(ord("0"))
        wrong = (labels > 1) | (self.ends[:, column] - begins != 1)
        self._refuse(wrong[:, None], [column], [name], "a label is 0 (no click) or 1 (click)")
        return labels

    def integers(self, columns: list[int], names: list[str]) -> np.ndarray:
        """(rows, columns asked for) int64, MISSING where a cell is empty. Raises CtrError for what is no integer."""
        begins, ends = self.begins.take(columns, axis=1), self.ends.take(columns, axis=1)
        missing = begins == ends
        negative = (self.content[begins] == ord("-")) & ~missing
        begins = begins + negative
        digits = ends - begins
        wrong = (digits > MOST_DIGITS) | ((digits == 0) & ~missing)
        values = np.zeros(begins.shape, np.int64)
        for place in range(min(int(digits.max(initial=0)), MOST_DIGITS)):
            inside = place < digits
            digit = self.content[begins + place] - np.uint8(ord("0"))  # a byte that wraps is no digit
            wrong |= inside & (digit > 9)
            values = np.where(inside, values * 10 + digit, values)
        self._refuse(wrong, columns, names, f"a whole number of up to {MOST_DIGITS} digits belongs here, or nothing")
        values = np.where(negative, -values, values)
        values[missing] = MISSING
        return values

    def hexadecimals(self, columns: list[int], names: list[str]) -> np.ndarray:
        """(rows, columns asked for) int64, MISSING where a cell is empty. Raises CtrError for what is no id of
        HEX_DIGITS hexadecimal digits."""
        begins = self.begins.take(columns, axis=1)
        lengths = self.ends.take(columns, axis=1) - begins
        missing = lengths == 0
        # Eight bytes from every byte on, as one number each: one gather brings a whole cell.
        windows = np.ndarray(len(self.content) - HEX_DIGITS + 1, "<u8", self.content.data, strides=(1,))
        digits = _HEX[windows[begins].view(np.uint8)].reshape(*begins.shape, HEX_DIGITS)
        wrong = ~missing & ((lengths != HEX_DIGITS) | (digits.view(np.uint64)[..., 0] & _ANY_NO_DIGIT != 0))
        self._refuse(wrong, columns, names, f"an id of {HEX_DIGITS} hexadecimal digits belongs here, or nothing")
        pairs = digits[..., 0::2] << 4 | digits[..., 1::2]
        values = pairs.view(">u4")[..., 0].astype(np.int64)
        values[missing] = MISSING
        return values

    def refuse(self, wrong: np.ndarray, column: int, name: str, why: str) -> None:
        """Raises CtrError for the first row of a column that is wrong, (rows,) bool."""
        self._refuse(wrong[:, None], [column], [name], why)

    def _refuse(self, wrong: np.ndarray, columns: list[int], names: list[str], why: str) -> None:
        if wrong.any():
            row, place = np.unravel_index(int(wrong.argmax()), wrong.shape)
            cell = self.content[self.begins[row, columns[place]] : self.ends[row, columns[place]]].tobytes()
            raise self.file.error(f"{names[place]} is {_quoted(cell)}: {why}", self.first_line + int(row))


def _first_lines(block: bytes, most: int) -> bytes:
    lines = block.split(b"\n", most)
    return block if len(lines) <= most else b"\n".join(lines[:most]) + b"\n"


def _quoted(cell: bytes) -> str:
    text = cell.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
