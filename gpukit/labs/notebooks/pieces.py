"""student.py in pieces, one a cell: what it imports, and what each task is about."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpukit.labs.holes import holes
from gpukit.labs.regions import PYTHON, lines_of, task_key

IMPORTS = "imports"
_COMPOUND = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try)


@dataclass(frozen=True)
class Definition:
    """A function or constant of a Python file, or an import, with the comments above it.

    names: what it defines, none for an import. first, last: lines from 1, both inclusive. tasks: those of its holes.
    """

    names: tuple[str, ...]
    first: int
    last: int
    tasks: tuple[str, ...]
    constant: bool


def definitions(text: str) -> list[Definition]:
    """The top level of a Python file in order: each line above its end belongs to one. Raises SyntaxError."""
    found: list[Definition] = []
    known = holes(text, "", PYTHON)
    end = 0
    for statement in ast.parse(text).body:
        last = statement.end_lineno or statement.lineno
        names = _names(statement)
        if last <= end:  # a second statement in the same line
            found[-1] = replace(found[-1], names=(*found[-1].names, *names))
            continue
        tasks = sorted({hole.task for hole in known if end < hole.line <= last}, key=task_key)
        constant = bool(names) and not isinstance(statement, ast.FunctionDef)
        found.append(Definition(names, end + 1, last, tuple(tasks), constant))
        end = last
    return found


def _names(statement: ast.stmt) -> tuple[str, ...]:
    match statement:
        case ast.FunctionDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return tuple(target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
    return ()


@dataclass(frozen=True)
class Layout:
    """Which piece holds what. A key is "imports", a task "2.3", or tasks that share a function "2.3 2.4".

    keys: in the order of the file. homes: name of a function or constant -> key.
    """

    keys: tuple[str, ...]
    homes: dict[str, str]

    def key_of(self, task: str) -> str | None:
        """The piece that a task, or a key, is in."""
        return next((key for key in self.keys if task == key or task in key.split()), None)


def layout(skeleton: str) -> Layout:
    """The layout of a file with its holes. What has no hole goes with the task below it; the last with that above."""
    parts = definitions(skeleton)
    groups = _groups(parts)
    keys = [IMPORTS]
    homes: dict[str, str] = {}
    waiting: list[str] = []
    for part in parts:
        if part.tasks:
            key = " ".join(groups[part.tasks[0]])
            keys += [] if key in keys else [key]
            homes |= dict.fromkeys((*waiting, *part.names), key)
            waiting = []
        elif len(keys) == 1 and not waiting and part.constant:
            homes |= dict.fromkeys(part.names, IMPORTS)
        else:
            waiting += part.names
    homes |= dict.fromkeys(waiting, keys[-1])
    return Layout(tuple(keys), homes)


def _groups(parts: list[Definition]) -> dict[str, list[str]]:
    """Task -> all tasks that must be in one piece with it, for they share a function."""
    groups: dict[str, list[str]] = {}
    for part in parts:
        united = sorted({other for task in part.tasks for other in groups.get(task, [task])}, key=task_key)
        groups |= dict.fromkeys(united, united)
    return groups


def cut(text: str, plan: Layout) -> dict[str, str]:
    """The pieces of a file, empty ones too. Raises SyntaxError."""
    lines = lines_of(text)
    pieces: dict[str, list[str]] = {key: [] for key in plan.keys}
    waiting: list[str] = []
    key = IMPORTS
    for part in definitions(text):
        own = lines[part.first - 1 : part.last]
        if not part.names:
            pieces[IMPORTS] += own
            continue
        home = next((plan.homes[name] for name in part.names if name in plan.homes), None)
        if home is None:
            waiting += own
            continue
        key = home
        pieces[key] += [*waiting, *own]
        waiting = []
    pieces[key] += waiting
    return {key: "\n".join(found).strip("\n") + "\n" if found else "" for key, found in pieces.items()}


def assembled(pieces: Mapping[str, str]) -> str:
    """The file of pieces, in their order, "imports" in front."""
    ordered = sorted(pieces, key=lambda key: key != IMPORTS)
    return "\n\n\n".join(pieces[key].strip("\n") for key in ordered if pieces[key].strip()) + "\n"


@dataclass(frozen=True)
class Numbered:
    """A file whose lines have the numbers they have in one cell, with the other cells below it.

    starts: key of another cell -> the line of the file that stands above its second line.
    """

    text: str
    last: int
    starts: dict[str, int]

    def place(self, line: int) -> tuple[str, int]:
        """("", 7) for line 7 of the cell; ("2.1", 3) for the third line of another."""
        if line <= self.last:
            return "", line
        key = max((k for k in self.starts if self.starts[k] < line), key=lambda k: self.starts[k])
        return key, line - self.starts[key] + 1


def numbered(pieces: Mapping[str, str], current: str) -> Numbered:
    """The file of pieces, that of the cell `current` first: its body begins in line 2, below the magic.

    In the place of the magic stands all that is imported. The order of functions says nothing to a kernel.
    """
    first, rest = ("", "") if current == IMPORTS else _one_line(pieces.get(IMPORTS, ""))
    lines = [first, *lines_of(pieces[current])]
    last = len(lines)
    starts = {}
    for key, text in {**pieces, IMPORTS: rest}.items():
        if key != current and text.strip():
            starts[key] = len(lines)
            lines += lines_of(text)
    return Numbered("\n".join(lines) + "\n", last, starts)


def _one_line(text: str) -> tuple[str, str]:
    """The simple statements of a piece in one line; and the piece without them, its other lines where they were."""
    lines = lines_of(text)
    simple = []
    for statement in ast.parse(text).body:
        if not isinstance(statement, _COMPOUND):
            simple.append(ast.unparse(statement))
            last = statement.end_lineno or statement.lineno
            lines[statement.lineno - 1 : last] = [""] * (last - statement.lineno + 1)
    return "; ".join(simple), "\n".join(lines)
