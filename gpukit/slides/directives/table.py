"""`table`: rows of values, as a function gives them."""

from __future__ import annotations

from gpukit.slides.directives import Directive, Page
from gpukit.slides.recordings import THE_MACHINE
from gpukit.slides.values import Table

MOST_ROWS = 10  # that a slide has room for


def expand(it: Directive, page: Page) -> str:
    """A Markdown table."""
    it.allow()
    found = page.call(it.target)
    if not isinstance(found, Table):
        raise it.error(f"{it.target} gives a {type(found).__name__}: return a gpukit.slides.Table")
    if not found.rows or len(found.rows) > MOST_ROWS:
        raise it.error(f"{it.target} has {len(found.rows)} rows: a slide has room for 1 to {MOST_ROWS}")
    wrong = next((row for row in found.rows if len(row) != len(found.header)), None)
    if wrong is not None:
        raise it.error(f"{it.target}: the row {list(wrong)} has not as many cells as the header, {len(found.header)}")
    if page.counted:
        page.add_source(THE_MACHINE)
    rules = ["---:" if column in found.numeric else ":---" for column in range(len(found.header))]
    lines = [[str(name) for name in found.header], rules]
    for number, row in enumerate(found.rows):
        cells = [str(cell).replace("|", "\\|") for cell in row]
        lines.append([f"**{cell}**" if cell and number in found.strong else cell for cell in cells])
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
