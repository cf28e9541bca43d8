"""What is still to be done in a student's file, read without running it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from gpukit.cpp.tokens import DIRECTIVE, OPENING, WORD, Token, group_end, tokens
from gpukit.labs.regions import CPP, lines_of

_TODO = re.compile(r"TODO (?P<task>\d+\.\d+): (?P<prompt>.*)")
_CPP_HOLE = re.compile(
    r"\s*(?:__trap\(\);|//\s*constexpr [\w ]*?(?P<constant>\w+) = \.\.\.;)\s*//\s*"
    r"TODO (?P<task>\d+\.\d+): (?P<prompt>.*)"
)


@dataclass(frozen=True)
class Hole:
    """A place where a task is not begun. `name` is the function it stands in, or the constant that it is."""

    task: str
    prompt: str
    file: str
    line: int
    name: str = ""


def holes(text: str, file: str, language: str) -> list[Hole]:
    """The holes of a file in order; none in one that does not parse."""
    return _in_cpp(text, file) if language == CPP else _in_python(text, file)


def _in_cpp(text: str, file: str) -> list[Hole]:
    matches = [(number, m) for number, line in enumerate(lines_of(text), 1) if (m := _CPP_HOLE.match(line))]
    functions = cpp_functions(text) if matches else []
    found = []
    for number, m in matches:
        inside = next((f.name for f in functions if f.first <= number <= f.last), "")
        found.append(Hole(m["task"], m["prompt"].rstrip(), file, number, m["constant"] or inside))
    return found


def _in_python(text: str, file: str) -> list[Hole]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    lines = lines_of(text)
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
                names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
                found.append(Hole(comment["task"], comment["prompt"].rstrip(), file, statement.lineno, *names[:1]))
    return found


def _raised(node: ast.AST) -> re.Match | None:
    """The TODO of `raise NotImplementedError("TODO N.k: ...")`."""
    match node:
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"), args=[ast.Constant(value=str(text))])):
            return _TODO.fullmatch(text)
    return None


@dataclass(frozen=True)
class CppFunction:
    """A function with a body in CUDA C++: its lines, and the words in its body."""

    name: str
    first: int
    last: int
    words: frozenset[str]


def cpp_functions(text: str) -> list[CppFunction]:
    """The functions of a CUDA C++ file, outside of classes and namespaces, in order."""
    items = [token for token in tokens(text) if token.kind != DIRECTIVE]
    found = []
    at = 0
    named = ""
    while at < len(items):
        token = items[at]
        if token.text == "(" and at and items[at - 1].kind == WORD:
            named = items[at - 1].text
        elif token.text in (";", "="):
            named = ""
        if token.text not in OPENING:
            at += 1
            continue
        end = group_end(items, at)
        if token.text == "{" and named:
            found.append(_cpp_function(text, named, items[at:end]))
            named = ""
        at = end
    return found


def _cpp_function(text: str, name: str, body: list[Token]) -> CppFunction:
    first, last = (text.count("\n", 0, position) + 1 for position in (body[0].start, body[-1].end))
    return CppFunction(name, first, last, frozenset(token.text for token in body if token.kind == WORD))
