"""Tables for a terminal: one that is too wide goes on below, with its first column again, and nothing is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Cell = str | Text
LEAST_FIRST = 24  # characters of a first column that takes several lines


def fitting(
    headings: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    width: int,
    styles: Sequence[str] = (),
    words: Sequence[int] = (),
) -> RenderableType:
    """The rows under their headings in tables of at most `width` columns of characters.

    headings: they break where they have a newline. The first column is text, and may take several lines where it is
    long and the table does not fit; the others are numbers, and never do. A row may end early. styles: of each row.
    words: columns besides the first that are text, and begin on the left.
    """
    wide = [
        max(map(_cells, [heading, *(row[k] for row in rows if k < len(row))])) for k, heading in enumerate(headings)
    ]
    if sum(wide) + len(wide) - 1 > width:
        wide[0] = min(wide[0], max(LEAST_FIRST, width // 3))
    parts: list[list[int]] = [[]]
    for column in range(1, len(headings)):
        if parts[-1] and wide[0] + sum(wide[k] + 1 for k in [*parts[-1], column]) > width:
            parts.append([])
        parts[-1].append(column)
    made: list[RenderableType] = []
    for part in parts:
        made += [*([Text("")] if made else []), _table([0, *part], headings, rows, styles, wide[0], words)]
    return Group(*made)


def _cells(cell: Cell) -> int:
    """How wide it is."""
    return max((Text(line).cell_len for line in str(cell).split("\n")), default=0)


def _table(
    columns: Sequence[int],
    headings: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    styles: Sequence[str],
    first: int,
    words: Sequence[int],
) -> Table:
    made = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    made.add_column(headings[0], width=first, vertical="bottom")
    for column in columns[1:]:
        side: Literal["left", "right"] = "left" if column in words else "right"
        made.add_column(headings[column], justify=side, no_wrap=True, vertical="bottom")
    for k, row in enumerate(rows):
        made.add_row(
            *(row[column] if column < len(row) else "" for column in columns), style=styles[k] if styles else ""
        )
    return made
