"""From a notebook back to the text of student.py. Notebooks of strangers: read as data, nothing of them is executed."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from gpukit.errors import GpukitError
from gpukit.labs.notebooks.pieces import IMPORTS, assembled
from gpukit.report.layout import near_path

MAX_BYTES = 5_000_000
MAX_DEPTH = 40
MAX_CELLS = 1_000
FORMAT = 4

_MAGIC = "%%task"
_LINE = re.compile(r"%%task[ \t]+(?P<key>imports|\d+\.\d+(?:[ \t]+\d+\.\d+)*)(?:[ \t]+--.*)?[ \t]*")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def student_source(notebook: str | os.PathLike[str] | bytes) -> str:
    """The text of student.py in a notebook, given by path or as bytes: the last cell of each task that is not empty.

    Cells count whose first line is %%task; they stand in the order in which the notebook has their tasks, and no other
    cell matters.

    Raises GpukitError, with the cell's number where it is one cell, for what is no notebook, or an odd one.
    """
    name = "the notebook" if isinstance(notebook, bytes) else near_path(os.fspath(notebook))
    data = notebook if isinstance(notebook, bytes) else _bytes(Path(notebook), name)
    if len(data) > MAX_BYTES:
        _refuse(name, f"it has more than {MAX_BYTES:,} bytes: clear its outputs, and save it again")
    pieces: dict[str, str] = {}
    for number, source in _code_cells(_parsed(data, name), name):
        found = _task_cell(source, number, name)
        if found is not None and found[1].strip():
            pieces[_known(found[0], pieces)] = found[1]
    if not any(key != IMPORTS for key in pieces):
        _refuse(name, f"no cell of it begins with {_MAGIC} and the number of a task")
    return assembled(pieces)


def _known(key: str, pieces: dict[str, str]) -> str:
    """The piece that a cell takes the place of: one that shares a task with it, or a new one."""
    return next((known for known in pieces if set(known.split()) & set(key.split())), key)


def _refuse(name: str, why: str) -> NoReturn:
    raise GpukitError(why, file=name)


def _bytes(path: Path, name: str) -> bytes:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            _refuse(name, "it is no regular file: hand in the notebook itself")
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags), "rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        _refuse(name, f"it cannot be read: {getattr(error, 'strerror', None) or error}")


# --- JSON ------------------------------------------------------------------------------------------------------------


def _parsed(data: bytes, name: str) -> Any:
    if _depth(data) > MAX_DEPTH:
        _refuse(name, f"its JSON is nested more than {MAX_DEPTH} deep")
    try:
        return json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_without_doubles, parse_constant=_no_constant, parse_int=_whole
        )
    except UnicodeDecodeError:
        _refuse(name, "it is not UTF-8: save it again as a notebook")
    except (ValueError, RecursionError, MemoryError) as error:
        _refuse(name, f"it is no notebook: {error}")


def _depth(data: bytes) -> int:
    """How deep brackets are nested outside strings, up to just over the limit."""
    depth = deepest = 0
    for match in _BRACKET.finditer(_STRING.sub(b"", data)):
        depth += 1 if match[0] in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > MAX_DEPTH:
            break
    return deepest


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What a reader sees must be what is graded: of two equal keys, programs show one or the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an entry stands in it twice")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _whole(text: str) -> int:
    if len(text) > 20:
        raise ValueError("a number of more than 20 digits")
    return int(text)


# --- cells -----------------------------------------------------------------------------------------------------------


def _code_cells(found: Any, name: str) -> Iterator[tuple[int, str]]:
    """(number from 1 among all cells, source) of the code cells."""
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        _refuse(name, "it is no notebook: it has no list of cells")
    if found.get("nbformat") != FORMAT:
        _refuse(name, f"it is no notebook of format {FORMAT}: save it again with a current Jupyter")
    if len(found["cells"]) > MAX_CELLS:
        _refuse(name, f"it has more than {MAX_CELLS:,} cells")
    for number, cell in enumerate(found["cells"], 1):
        if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
            _refuse(name, f"cell {number} is no cell of a notebook")
        if cell["cell_type"] != "code":
            continue
        source = cell.get("source")
        lines = source if isinstance(source, list) else [source]
        if not all(isinstance(line, str) for line in lines):
            _refuse(name, f"the source of cell {number} is no text")
        text = "".join(lines)
        if any("\ud800" <= character <= "\udfff" for character in text):
            _refuse(name, f"cell {number} holds half a character (a surrogate): write it again")
        yield number, text.replace("\r\n", "\n").replace("\r", "\n")


def _task_cell(source: str, number: int, name: str) -> tuple[str, str] | None:
    """(key, body) of a cell with %%task, None for another. IPython, too, passes over blank lines above a magic."""
    first, _, body = source.lstrip("\n").partition("\n")
    if not first.startswith(_MAGIC):
        return None
    match = _LINE.fullmatch(first)
    if match is None:
        _refuse(name, f"the first line of cell {number} is {first[:60]!r}: write {_MAGIC} and a task, such as 2.3")
    return " ".join(match["key"].split()), body
