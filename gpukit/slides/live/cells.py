"""The cells of the live page: files of slides/lab/cells, one a cell, each a program that runs by itself in the page.

A cell's docstring is what stands above it:

    '''3. Divergence: what does an if cost?

    Two or three sentences that end in a question.

    Try:
    * What to change, and what to look at.

    Lab: 02_divergence
    '''

The number is the cell's place on the page. A line `# code: path::function` is replaced by that function as it stands in
the repository (as the slides' `code` directive shows it), so a kernel that changes changes the page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpukit.slides.directives.code import function_lines
from gpukit.slides.errors import SlidesError
from gpukit.slides.objects import split
from gpukit.slides.source import read

CELLS = Path("slides/lab/cells")
DECKS = Path("slides")
_CODE = re.compile(r"^# code:[ \t]*(?P<target>\S.*?)[ \t]*$")
_TITLE = re.compile(r"(?P<number>\d+)\. (?P<title>\S.*)")
_FORM = "a cell begins with a docstring: a title such as '3. Divergence: what does an if cost?', text, Try: and Lab:"


@dataclass(frozen=True)
class Link:
    """A place to go on: of a deck, or a lab's page."""

    href: str
    text: str


@dataclass(frozen=True)
class Cell:
    """One cell. `source` is its program, kernels included; `file` is the name that its errors show."""

    name: str
    number: int
    title: str
    paragraphs: tuple[str, ...]
    tries: tuple[str, ...]
    source: str
    lab: Link
    decks: tuple[Link, ...]

    @property
    def file(self) -> str:
        return f"{self.name}.py"


def names(root: Path) -> list[str]:
    """The cells that there are."""
    return sorted(path.stem for path in (root / CELLS).glob("*.py"))


def read_all(root: Path) -> list[Cell]:
    """All cells in the order of the page. Raises SlidesError for one that is not as it should be."""
    decks = _decks(root)
    cells = [_cell(root, path, decks) for path in sorted((root / CELLS).glob("*.py"))]
    cells.sort(key=lambda cell: cell.number)
    if not cells:
        raise SlidesError(f"there are no cells in {CELLS.as_posix()}; the page is made of them")
    for place, cell in enumerate(cells, start=1):
        if cell.number != place:
            raise SlidesError(
                f"{_shown(cell.name)} has number {cell.number}, where {place} comes next: number the cells without gaps"
            )
    return cells


def _shown(name: str) -> str:
    return (CELLS / f"{name}.py").as_posix()


def _cell(root: Path, path: Path, decks: dict[str, list[Link]]) -> Cell:
    shown = _shown(path.stem)
    text = path.read_text(encoding="utf-8")
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise SlidesError(f"this is not Python: {error.msg}", file=shown, line=error.lineno) from None
    first = body[0] if body else None
    if not (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    ):
        raise SlidesError(_FORM, file=shown, line=1)
    parts = [part.strip() for part in re.split(r"\n\s*\n", first.value.value.strip())]
    title = _TITLE.fullmatch(parts[0])
    tries = [part for part in parts[1:] if part.startswith("Try:")]
    labs = [part for part in parts[1:] if part.startswith("Lab:")]
    paragraphs = [" ".join(part.split()) for part in parts[1:] if part not in tries + labs]
    if title is None or not paragraphs or len(tries) != 1 or len(labs) != 1:
        raise SlidesError(_FORM, file=shown, line=1)
    lines = text.splitlines()
    return Cell(
        name=path.stem,
        number=int(title["number"]),
        title=title["title"],
        paragraphs=tuple(paragraphs),
        tries=tuple(" ".join(item.split()) for item in re.split(r"^\s*\* ", tries[0], flags=re.MULTILINE)[1:]),
        source="\n".join(_with_kernels(root, lines[first.end_lineno or 0 :], shown, first.end_lineno or 0)).strip()
        + "\n",
        lab=_lab(root, labs[0].removeprefix("Lab:").strip(), shown),
        decks=tuple(decks.get(path.stem, ())),
    )


def _with_kernels(root: Path, lines: Sequence[str], shown: str, before: int) -> Iterator[str]:
    for number, line in enumerate(lines, start=before + 1):
        found = _CODE.match(line)
        if found is None:
            yield line
            continue
        try:
            yield from function_lines(root, *split(found["target"]))
        except SlidesError as error:
            raise SlidesError(str(error), file=shown, line=number) from None


def _lab(root: Path, name: str, shown: str) -> Link:
    readme = root / "labs" / name / "README.md"
    if not name or not readme.is_file():
        raise SlidesError(
            f"there is no lab {name!r}: name a folder of labs/, such as 02_divergence", file=shown, line=1
        )
    heading = readme.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ").strip()
    return Link(f"lab_{name}.html", heading)


def _decks(root: Path) -> dict[str, list[Link]]:
    """The slides that name each cell."""
    found: dict[str, list[Link]] = {}
    for path in sorted((root / DECKS).glob("[0-9][0-9]_*.md")):
        deck = read(path, root)
        for number, slide in enumerate(deck.slides, start=1):
            for name in re.findall(r"<!--\s*cell:\s*(\w+)", slide.text):
                links = found.setdefault(name, [])
                title = deck.meta.get("title", deck.name)
                links.append(Link(f"{deck.name}.html#{number}", f"{title}, slide {number}"))
    return found
