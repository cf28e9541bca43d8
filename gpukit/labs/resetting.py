"""A student's file, or one task of it, back to what was given out."""

from __future__ import annotations

import re
from pathlib import Path

from gpukit.errors import GpukitError
from gpukit.labs.errors import AnswerRefused
from gpukit.labs.holes import cpp_functions, holes
from gpukit.labs.regions import CPP, lines_of
from gpukit.labs.toplevel import names_in, span

_CPP_CONSTANT = re.compile(r"\s*(?://\s*)?constexpr\s+[\w ]*?(?P<name>\w+)\s*=")

Span = tuple[int, int]


def with_task_reset(text: str, skeleton: str, task: str, file: str, language: str) -> tuple[str, list[str]]:
    """A student's text with the functions and constants of one task as they are in the skeleton; and their names.

    What the student has deleted of a Python file comes back at its end. A function with holes of two tasks goes back
    as a whole.

    Raises:
        GpukitError: no hole of that task is in the skeleton. AnswerRefused: the student's Python does not
            parse, or what is asked for is gone from the C++.
    """
    names = list(dict.fromkeys(hole.name for hole in holes(skeleton, file, language) if hole.task == task))
    if not names:
        raise GpukitError(f"nothing in this file is asked for by task {task}", file=file)
    try:
        theirs = _spans(text, language)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = "this is not valid Python, so one task cannot be told from the others: reset the whole file"
        raise AnswerRefused(what, file=file, line=getattr(error, "lineno", None)) from None
    given, ours = lines_of(skeleton), _spans(skeleton, language)
    lines = lines_of(text)
    new: dict[Span, list[str]] = {}
    missing: list[str] = []
    for name in names:
        first, last = ours[name]
        if name in theirs:
            new[theirs[name]] = given[first - 1 : last]
        elif language == CPP:
            raise AnswerRefused(f"`{name}` is not in this file any more: reset the whole file", file=file)
        else:
            missing += ["", "", *given[first - 1 : last]]
    for (first, last), statement in sorted(new.items(), reverse=True):
        lines[first - 1 : last] = statement
    return "\n".join([*lines, *missing]) + "\n", names


def _spans(text: str, language: str) -> dict[str, Span]:
    """Name of a function or constant -> its lines, from 1, both inclusive; of two with one name the last counts."""
    if language == CPP:
        constants = ((number, _CPP_CONSTANT.match(line)) for number, line in enumerate(lines_of(text), 1))
        found = {match["name"]: (number, number) for number, match in constants if match}
        return found | {function.name: (function.first, function.last) for function in cpp_functions(text)}
    return {name: span(node) for name, node in names_in(text).items()}


def free_backup(path: Path) -> Path:
    """Where a file's old text goes: beside it, under a name that is free."""
    number = 1
    while (found := path.with_name(f"{path.name}.bak-{number}")).exists():
        number += 1
    return found
