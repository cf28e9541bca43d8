"""What is still to be done in a student's file, read without running it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from gpukit.labs.regions import CPP

_TODO = re.compile(r"TODO (?P<task>\d+\.\d+): (?P<prompt>.*)")
_CPP_HOLE = re.compile(r"\s*(?:__trap\(\);|//\s*constexpr .*;)\s*//\s*TODO (?P<task>\d+\.\d+): (?P<prompt>.*)")


@dataclass(frozen=True)
class Hole:
    """A place where a task is not begun. `function` is the function it stands in, "" for a constant."""

    task: str
    prompt: str
    file: str
    line: int
    function: str = ""


def holes(text: str, file: str, language: str) -> list[Hole]:
    """The holes of a file in order; none in one that does not parse."""
    return _in_cpp(text, file) if language == CPP else _in_python(text, file)


def _in_cpp(text: str, file: str) -> list[Hole]:
    matches = ((number, _CPP_HOLE.match(line)) for number, line in enumerate(text.splitlines(), 1))
    return [Hole(m["task"], m["prompt"].rstrip(), file, number) for number, m in matches if m]


def _in_python(text: str, file: str) -> list[Hole]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    lines = text.splitlines()
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            for node in ast.walk(statement):
                todo = _raised(node)
                if todo is not None:
                    line = getattr(node, "lineno", 0)
                    found.append(Hole(todo["task"], todo["prompt"], file, line, statement.name))
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            comment = _TODO.search(lines[statement.lineno - 1])
            if statement.value.value is ... and comment:
                found.append(Hole(comment["task"], comment["prompt"].rstrip(), file, statement.lineno))
    return found


def _raised(node: ast.AST) -> re.Match | None:
    """The TODO of `raise NotImplementedError("TODO N.k: ...")`."""
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"), args=[ast.Constant(value=str(text))])):
            return _TODO.fullmatch(text)
    return None
