"""Known wrong answers, and honest other ones: files that hold only what they change of the solution.

In Python what they define takes the place of what the solution defines by the same name; in CUDA C++ a region takes the
place of the solution's region of that task. Their documentation says which tests fail, and what the messages show.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from gpukit.labs import regions
from gpukit.labs.errors import LabError
from gpukit.labs.regions import CPP
from gpukit.labs.toplevel import names_in, span

_FAILS = re.compile(r"^Fails:\s*$", re.MULTILINE)
_LINE = re.compile(r"(?P<test>test_\w+): (?P<shown>.+)")
_CPP_DOCUMENT = re.compile(r"\s*/\*(?P<text>.*?)\*/", re.DOTALL)


@dataclass(frozen=True)
class Overlay:
    """`text`: a whole answer. `fails`: test -> what its message must contain; empty for an honest answer."""

    name: str
    language: str
    text: str
    document: str
    fails: dict[str, str]


def laid_over(path: Path, solution: str) -> Overlay:
    """The file laid over the solution. Raises LabError for one that changes nothing the solution has."""
    text = path.read_text(encoding="utf-8")
    language = regions.language_of(path.name)
    if language == CPP:
        match = _CPP_DOCUMENT.match(text)
        document = match["text"] if match else ""
        made = _regions_replaced(text, solution, str(path))
    else:
        document = ast.get_docstring(ast.parse(text)) or ""
        made = _names_replaced(text, solution, str(path))
    return Overlay(path.stem, language, made, document, _fails(document))


def _fails(document: str) -> dict[str, str]:
    parts = _FAILS.split(document)
    lines = [line.strip() for line in parts[1].splitlines()] if len(parts) == 2 else []
    return {match["test"]: match["shown"].strip() for line in lines if (match := _LINE.fullmatch(line))}


def _names_replaced(text: str, solution: str, file: str) -> str:
    """The solution's lines, with each definition replaced by the one of the same name; new ones come first."""
    theirs, ours = names_in(text), names_in(solution)
    lines, solution_lines = regions.lines_of(text), regions.lines_of(solution)
    if not set(theirs) & set(ours):
        raise LabError("this file changes nothing that the solution defines", file=file)
    replaced: dict[int, tuple[int, list[str]]] = {}
    for name in theirs:
        if name in ours:
            first, last = span(ours[name])
            start, end = span(theirs[name])
            replaced[first] = (last, lines[start - 1 : end])
    extra = [
        line
        for name, node in theirs.items()
        if name not in ours
        for line in ("", *lines[span(node)[0] - 1 : span(node)[1]])
    ]
    imports = [
        line
        for node in ast.parse(text).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in lines[node.lineno - 1 : node.end_lineno]
    ]
    made: list[str] = []
    at = 1
    body_begins = min((span(node)[0] for node in ours.values()), default=1)
    while at <= len(solution_lines):
        if at == body_begins:
            made += [*imports, *extra, "", ""]
        if at in replaced:
            last, new = replaced[at]
            made += new
            at = last + 1
            continue
        made.append(solution_lines[at - 1])
        at += 1
    return "\n".join(made) + "\n"


def _regions_replaced(text: str, solution: str, file: str) -> str:
    """The solution with the file's regions in place of its own: the n-th of a task for the n-th of that task."""
    new: dict[str, list[regions.Region]] = {}
    for region in regions.regions(text, file, prompts=False):
        new.setdefault(region.task, []).append(region)
    if not new:
        raise LabError("this file has no region to lay over the solution", file=file)
    lines = regions.lines_of(solution)
    made: list[str] = []
    at = 0
    for region in regions.regions(solution, file):
        made += lines[at : region.first - 1]
        waiting = new.get(region.task)
        made += waiting.pop(0).lines if waiting else region.lines
        at = region.last
    if any(new.values()):
        raise LabError("this file has a region that the solution has not", file=file)
    return "\n".join([*made, *lines[at:]]) + "\n"
