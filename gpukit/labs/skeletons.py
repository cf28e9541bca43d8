"""The students' files as they were given out, and how a file, or one task of it, goes back to that."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from gpukit.errors import GpukitError
from gpukit.labs import references, regions
from gpukit.labs.errors import AnswerRefused, LabError
from gpukit.labs.folders import Lab, names_in
from gpukit.labs.holes import holes
from gpukit.labs.regions import CPP, PYTHON, task_key

KEY = "skeleton"  # of reference.json: language -> text


def skeletons(lab: Lab) -> dict[str, str]:
    """Language -> text of the file that students get: made from the solution, or as `gpukit release` recorded it.

    Raises LabError where there is neither.
    """
    if lab.has_solution:
        files = {language: str(lab.file("solution", language)) for language in lab.languages}
        return {language: regions.skeleton(lab.solution(language), file) for language, file in files.items()}
    path = lab.path / references.FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))[KEY]
        return {language: str(found[language]) for language in (PYTHON, CPP) if language in found}
    except (OSError, ValueError, KeyError, TypeError):
        raise LabError(
            "this does not hold the file as it was given out: get the lab's folder anew from your course",
            file=str(path),
        ) from None


def skeleton(lab: Lab, language: str) -> str:
    """The same in one language. Raises GpukitError where the lab has none in it."""
    known = skeletons(lab)
    if language not in known:
        raise GpukitError(f"{lab.name} is answered in {' or '.join(known)}, not in {language}")
    return known[language]


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
    """The top level of a Python file in order: each of its lines belongs to one definition. Raises SyntaxError."""
    found: list[Definition] = []
    tasks: dict[int, list[str]] = {}
    for hole in holes(text, "", PYTHON):
        tasks.setdefault(hole.line, []).append(hole.task)
    end = 0
    for statement in ast.parse(text).body:
        last = statement.end_lineno or statement.lineno
        names = _names(statement)
        if last <= end:  # a second statement in the same line
            before = found.pop()
            found.append(replace(before, names=(*before.names, *names)))
            continue
        here = {task for line in range(end + 1, last + 1) for task in tasks.get(line, ())}
        constant = bool(names) and not isinstance(statement, ast.FunctionDef)
        found.append(Definition(names, end + 1, last, tuple(sorted(here, key=task_key)), constant))
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


def with_task_reset(text: str, skeleton_text: str, task: str, file: str) -> tuple[str, list[str]]:
    """A Python file with what one task asks for as it was given out; and the names that went back.

    What the student has deleted comes back at the end. A function with holes of two tasks goes back as a whole.

    Raises GpukitError where the lab has no such task, AnswerRefused where the file does not parse.
    """
    wanted = [part for part in definitions(skeleton_text) if task in part.tasks]
    if not wanted:
        raise GpukitError(f"there is no task {task} in this file", file=file)
    try:
        theirs = names_in(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise AnswerRefused(
            "this is not valid Python, so one task cannot be told from the others: reset the whole file, "
            "your own stays beside it",
            file=file,
            line=line,
        ) from None
    given = skeleton_text.splitlines()
    ours = names_in(skeleton_text)
    lines = text.splitlines()
    new: dict[tuple[int, int], list[str]] = {}
    missing: list[str] = []
    names = [name for part in wanted for name in part.names]
    for name in names:
        statement = _lines_of(ours[name], given)
        if name in theirs:
            new[_span(theirs[name])] = statement
        else:
            missing += ["", "", *statement]
    for (first, last), statement in sorted(new.items(), reverse=True):
        lines[first - 1 : last] = statement
    return "\n".join([*lines, *missing]) + "\n", names


def _span(node: ast.stmt) -> tuple[int, int]:
    decorators: Iterable[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)]), node.end_lineno or node.lineno


def _lines_of(node: ast.stmt, lines: list[str]) -> list[str]:
    first, last = _span(node)
    return lines[first - 1 : last]


def backup(path: Path) -> Path:
    """Where a file's old text goes: beside it, under a name that is free."""
    number = 1
    while (found := path.with_name(f"{path.name}.bak-{number}")).exists():
        number += 1
    return found
