"""CSV files that spreadsheets and programs both read."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

# A cell that begins like this is a formula to a spreadsheet, even in quotes: a student's name or message must not be
# one. The full-width forms count too: some spreadsheets turn them into the plain ones.
_FORMULA = re.compile(r"\s*(?:-(?!-*\Z)|[=+@\uff1d\uff0b\uff0d\uff20])|[\t\r\n\0]")


def safe(text: str) -> str:
    """Text that a spreadsheet shows as it is: an apostrophe goes before what would be a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def csv_bytes(rows: Iterable[Sequence[str | int | float]], *, for_spreadsheets: bool = False) -> bytes:
    """Rows as CSV in UTF-8, lines ended by "\\n"; text cells are made safe, numbers are not touched.

    `for_spreadsheets` puts a byte order mark first: without one Excel reads the file in the code page of the computer
    and breaks every name with an umlaut. Programs read such a file as "utf-8-sig", so files for them go without.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    for row in rows:
        writer.writerow([safe(cell) if isinstance(cell, str) else cell for cell in row])
    return buffer.getvalue().encode("utf-8-sig" if for_spreadsheets else "utf-8", "replace")
