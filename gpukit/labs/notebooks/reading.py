"""From a notebook back to the text of student.py. Notebooks of strangers: read as data, nothing of them is executed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from gpukit.errors import GpukitError
from gpukit.labs.notebooks.pieces import IMPORTS, assembled
from gpukit.report.layout import near_path
from gpukit.sandbox.reading import read_source

MAX_BYTES = 5_000_000
MAX_DEPTH = 40
MAX_CELLS = 1_000
FORMAT = 4

_MAGIC = "%%task"
_LINE = re.compile(r"%%task[ \t]+(?P<key>imports|\d+\.\d+(?:[ \t]+\d+\.\d+)*)(?:[ \t]+--.*)?[ \t]*")
# A string as a whole, or a bracket that is in none.
_OUTSIDE_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def student_source(notebook: str | os.PathLike[str] | bytes) -> str:
    """The text of student.py in a notebook, given by path or as bytes: the last cell of each task that is not empty.

    Cells count whose first line is %%task; they stand in the order in which the notebook has their tasks, and no other
    cell matters.

    Raises GpukitError, with the cell's number where it is one cell, for what is no notebook, or an odd one.
    """
    if isinstance(notebook, bytes):
        name, text = "the notebook", _decoded(notebook)
    else:
        name, text = near_path(os.fspath(notebook)), read_source(notebook, MAX_BYTES)
    pieces: dict[str, str] = {}
    for number, source in _code_cells(_parsed(text, name), name):
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


def _decoded(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        _refuse("the notebook", f"it has more than {MAX_BYTES:,} bytes: clear its outputs, and save it again")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        _refuse("the notebook", "it is not UTF-8: save it again as a notebook")


# --- JSON ------------------------------------------------------------------------------------------------------------


def _parsed(text: str, name: str) -> Any:
    if _too_deep(text):
        _refuse(name, f"its JSON is nested more than {MAX_DEPTH} deep")
    try:
        return json.loads(text, object_pairs_hook=_without_doubles, parse_constant=_no_constant, parse_int=_whole)
    except (ValueError, RecursionError, MemoryError) as error:
        _refuse(name, f"it is no notebook: {error}")


def _too_deep(text: str) -> bool:
    """Whether brackets outside strings are nested deeper than they may be."""
    depth = 0
    for match in _OUTSIDE_STRINGS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match[0], 0)
        if depth > MAX_DEPTH:
            return True
    return False


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
        lines: list[Any] = source if isinstance(source, list) else [source]
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
