"""A Canvas gradebook: fills one column of the CSV file that the course exported.

Everything else in the file stays as it is, byte for byte: Canvas overwrites what an import has other values for.
A student is found by SIS Login ID, ID, SIS User ID or name, whichever fits first; one that fits several rows is left
alone.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpukit.errors import GpukitError
from gpukit.grading import wording
from gpukit.grading.record import Number, Record

PATH = "canvas.csv"
KEYS = ("SIS Login ID", "ID", "SIS User ID", "Student")
POINTS_POSSIBLE = "points possible"
TEST_STUDENT = "Student, Test"
_ID = re.compile(r"(?P<title>.*\S)\s*\(\d+\)\s*")


@dataclass(frozen=True, slots=True)
class Filled:
    """The filled file, and a sentence for everything that an instructor must know: who was not found, and so on."""

    csv: bytes
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: where it stands in the text, quotes included, and what it says."""

    start: int
    end: int
    text: str


def fill(records: Sequence[Record], exported: bytes, column: str, *, file: str = "the gradebook") -> Filled:
    """The exported gradebook with the points of the records in `column`.

    Args:
        exported: the CSV file as Canvas wrote it; UTF-8, with or without byte order mark; "," or ";" or tabs.
        column: title of the assignment, with or without the number that Canvas puts behind it.
        file: how messages call the gradebook.

    Raises:
        GpukitError: it is no such file, or has no such column, or several.
    """
    mark = codecs.BOM_UTF8 if exported.startswith(codecs.BOM_UTF8) else b""
    try:
        text = exported[len(mark) :].decode()
    except UnicodeDecodeError as error:
        raise GpukitError(f"not UTF-8 (byte {error.start}); export it from Canvas again", file=file) from None
    rows = cells(text, file)
    header = [cell.text.strip() for cell in rows[0]] if rows else []
    if not {"Student", "ID"} <= set(header):
        raise GpukitError("not a gradebook that Canvas exported: it has no columns Student and ID", file=file)
    place = _column(header, column, file)
    people = [row for row in rows[1:] if _cell(row, header.index("ID")).strip()]
    notes = _scale(records, rows[1:], header, place)
    placed, more = _matches(records, people, header)
    edits = {row[place].start: (row[place], points) for row, points in placed if place < len(row)}
    notes += more + _without_record(people, placed, header)
    notes += [f"The row of {row[0].text!r} is too short to fill in." for row, _ in placed if place >= len(row)]
    pieces, at = [], 0
    for start in sorted(edits):
        cell, points = edits[start]
        pieces += [text[at : cell.start], wording.points(points)]
        at = cell.end
    return Filled(mark + "".join([*pieces, text[at:]]).encode(), notes)


def cells(text: str, file: str = "the gradebook") -> list[list[Cell]]:
    """Rows of a CSV text with the place of every cell; empty lines are left out.

    Raises:
        GpukitError: a quote is not closed.
    """
    first = re.split(r"[\r\n]", re.sub(r'"(?:[^"]|"")*"', "", text), maxsplit=1)[0]
    separator = max(",;\t", key=first.count)
    pattern = re.compile(rf'(?P<quoted>"(?:[^"]|"")*")(?=[{separator}\r\n]|\Z)|(?P<plain>[^{separator}\r\n]*)')
    rows: list[list[Cell]] = [[]]
    at = 0
    while True:
        found = pattern.match(text, at)
        assert found is not None  # the second branch takes anything
        if found["plain"] is not None and found["plain"].startswith('"'):
            line = text.count("\n", 0, at) + 1
            raise GpukitError("a cell opens with a quote that is not closed", file=file, line=line)
        said = found["quoted"][1:-1].replace('""', '"') if found["quoted"] is not None else found["plain"]
        rows[-1].append(Cell(at, found.end(), said))
        at = found.end()
        if at == len(text):
            break
        if text[at] == separator:
            at += 1
            continue
        at += 2 if text.startswith("\r\n", at) else 1
        rows.append([])
    return [row for row in rows if len(row) > 1 or row[0].end > row[0].start]


def _cell(row: Sequence[Cell], place: int) -> str:
    return row[place].text if place < len(row) else ""


def _column(header: Sequence[str], column: str, file: str) -> int:
    """Place of the assignment's column."""
    known = {place: _ID.fullmatch(name) for place, name in enumerate(header)}
    wanted = column.strip().casefold()
    found = [
        place
        for place, match in known.items()
        if match and wanted in (header[place].casefold(), match["title"].casefold())
    ]
    if len(found) == 1:
        return found[0]
    titles = ", ".join(repr(header[place]) for place, match in known.items() if match) or "none"
    if found:
        raise GpukitError(f"several columns are called {column!r}; give one with its number, of {titles}", file=file)
    raise GpukitError(
        f"there is no assignment called {column!r}; its assignments are: {titles}. Make it in Canvas and export again, "
        "or give the title of one of these",
        file=file,
    )


def _matches(
    records: Sequence[Record], people: Sequence[list[Cell]], header: Sequence[str]
) -> tuple[list[tuple[list[Cell], Number]], list[str]]:
    """(row, points) of every student who was found, and sentences about the others."""
    keys = [header.index(key) for key in KEYS if key in header]
    tables = [(form, _table(people, place, form)) for form in (_same, _folded) for place in keys]
    placed, notes = [], []
    taken: dict[int, str] = {}
    # Who fits best (exactly, by the first of the keys) goes first.
    order = [(_find(tables, record.student), record) for record in sorted(records, key=wording.student_order)]
    for (_, numbers), record in sorted(order, key=lambda entry: entry[0][0]):
        shown = repr(wording.visible(record.student))
        if not numbers:
            notes.append(f"{shown} was not found ({wording.points(record.score)} points).")
        elif len(numbers) > 1:
            notes.append(f"{shown} fits {len(numbers)} rows; none was filled in.")
        elif numbers[0] in taken:
            notes.append(f"{shown} fits the row of {taken[numbers[0]]}, which was filled in; decide which one counts.")
        else:
            taken[numbers[0]] = shown
            placed.append((people[numbers[0]], record.score))
    return placed, notes


def _same(name: str) -> str:
    """A name as it is; an umlaut may be written as one character or as two."""
    return unicodedata.normalize("NFC", name).strip()


def _folded(name: str) -> str:
    return _same(name).casefold()


def _table(people: Sequence[list[Cell]], place: int, form: Callable[[str], str]) -> dict[str, list[int]]:
    """What a column says -> the rows that say so."""
    table: dict[str, list[int]] = {}
    for number, row in enumerate(people):
        if name := form(_cell(row, place)):
            table.setdefault(name, []).append(number)
    return table


def _find(tables: Sequence[tuple[Callable[[str], str], dict[str, list[int]]]], student: str) -> tuple[int, list[int]]:
    """(how good the fit is, 0 the best; the rows that fit)."""
    for rank, (form, table) in enumerate(tables):
        if found := table.get(form(student)):
            return rank, found
    return len(tables), []


def _without_record(
    people: Sequence[list[Cell]], placed: Sequence[tuple[list[Cell], Number]], header: Sequence[str]
) -> list[str]:
    """A sentence per row of the gradebook that no record is for; Canvas' own test student needs none."""
    done = {id(row) for row, _ in placed}
    names = [_cell(row, header.index("Student")) for row in people if id(row) not in done]
    return [f"{name!r} is in the gradebook, but has no record." for name in names if name.strip() != TEST_STUDENT]


def _scale(records: Sequence[Record], rows: Sequence[list[Cell]], header: Sequence[str], place: int) -> list[str]:
    """A sentence if Canvas gives the assignment other points than the lab has."""
    for row in rows:
        if _cell(row, header.index("Student")).strip().casefold().startswith(POINTS_POSSIBLE):
            try:
                possible = float(_cell(row, place).strip().replace(",", "."))
            except ValueError:
                return []
            most = wording.max_points(records)
            if records and abs(possible - most) > 1e-6:
                return [
                    f"Canvas has {wording.points(possible)} points for {header[place]!r}, the lab has "
                    f"{wording.points(most)}: the points were not rescaled."
                ]
    return []
