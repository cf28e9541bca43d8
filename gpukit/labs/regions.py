"""The single source of a lab: a solution with tagged regions, and the student's file that it becomes without them.

    # BEGIN SOLUTION 5.2: fold the upper half onto the lower half
    ...
    # END SOLUTION

In CUDA C++ the tags begin with //. A region in a function becomes a statement that says what to do there; one at module
level holds constants, the answers to quiz questions, and becomes the same names without their values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpukit.labs.errors import LabError

PYTHON, CPP = "Python", "CUDA C++"
SUFFIXES = {PYTHON: ".py", CPP: ".cu"}
COMMENT = {PYTHON: "#", CPP: "//"}

_TASK = r"(?P<task>\d+\.\d+)"
_BEGIN = re.compile(rf"(?P<indent>\s*)(?:#|//) BEGIN SOLUTION {_TASK}(?::(?: (?P<prompt>\S.*))?)?")
_END = re.compile(r"\s*(?:#|//) END SOLUTION")
# Also behind code, where it would be no tag, and the answer would stay in the student's file.
_TAG_LIKE = re.compile(r"(?:#|//).*\b(?:BEGIN|END)\W*SOLUTION", re.IGNORECASE)
_CPP_CONSTANT = re.compile(r"\s*constexpr\s+(?P<type>[\w ]+?)\s+(?P<name>\w+)\s*=[^;]*;\s*")


@dataclass(frozen=True)
class Region:
    """Lines first to last (from 1, without the tags) of a solution; `indent` is the tag's."""

    task: str
    prompt: str
    first: int
    last: int
    indent: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def language_of(name: str) -> str:
    """The language of a file by its name."""
    return CPP if name.endswith(SUFFIXES[CPP]) else PYTHON


def lines_of(text: str) -> list[str]:
    """The lines of a text as compilers count them: `str.splitlines` also breaks at form feeds and the like."""
    lines = re.split(r"\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def regions(text: str, file: str, prompts: bool = True) -> list[Region]:
    """The tagged regions in order. Raises LabError for a tag that is malformed, nested, stray or unclosed, and, with
    `prompts`, for one that does not say what is to be done."""
    found: list[Region] = []
    begun: re.Match | None = None
    start = 0
    lines = lines_of(text)
    for number, line in enumerate(lines, 1):
        begin, end = _BEGIN.fullmatch(line.rstrip()), _END.fullmatch(line.rstrip())
        if begin is not None:
            if begun is not None:
                raise LabError(f"a region begins inside the one of line {start}", file=file, line=number)
            if prompts and not begin["prompt"]:
                raise LabError("a region needs a prompt: BEGIN SOLUTION N.k: what to do", file=file, line=number)
            begun, start = begin, number
        elif end is not None:
            if begun is None:
                raise LabError("END SOLUTION without a BEGIN SOLUTION above it", file=file, line=number)
            inside = tuple(lines[start : number - 1])
            if not any(inner.strip() and not inner.strip().startswith(("#", "//")) for inner in inside):
                raise LabError(f"the region of task {begun['task']} is empty", file=file, line=start)
            found.append(Region(begun["task"], begun["prompt"] or "", start + 1, number - 1, begun["indent"], inside))
            begun = None
        elif _TAG_LIKE.search(line):
            raise LabError(
                "a malformed tag; write BEGIN SOLUTION N.k: what to do, or END SOLUTION", file=file, line=number
            )
    if begun is not None:
        raise LabError(f"the region of task {begun['task']} has no END SOLUTION", file=file, line=start)
    return found


def prompts(found: Sequence[Region], file: str) -> dict[str, str]:
    """Task -> prompt, in the order of the numbers. Raises LabError where one task has two prompts."""
    known: dict[str, str] = {}
    for region in found:
        if known.setdefault(region.task, region.prompt) != region.prompt:
            raise LabError(f"task {region.task} has two prompts", file=file, line=region.first - 1)
    return dict(sorted(known.items(), key=lambda item: task_key(item[0])))


def task_key(task: str) -> tuple[int, ...]:
    """Sorts 5.10 behind 5.9."""
    return tuple(int(part) for part in task.split("."))


def skeleton(text: str, file: str) -> str:
    """The student's file: the solution with a hole in place of each region.

    Raises LabError as `regions`, for a region at module level that holds more than constants, and for one whose end
    leaves half a statement behind.
    """
    found = regions(text, file)
    prompts(found, file)
    language = language_of(file)
    lines = lines_of(text)
    made: list[str] = []
    at = 0
    for region in found:
        made += lines[at : region.first - 2]
        made += _hole(region, language, file)
        at = region.last + 1
    made += lines[at:]
    whole = "\n".join(made) + "\n"
    if language == PYTHON:
        _parse(whole, file)
    return whole


def _parse(skeleton: str, file: str) -> None:
    try:
        ast.parse(skeleton)
    except SyntaxError as error:
        near = lines_of(skeleton)[(error.lineno or 1) - 1].strip()
        raise LabError(
            f"without its regions this file is not valid Python: {error.msg}, at: {near}", file=file
        ) from None


def _hole(region: Region, language: str, file: str) -> Iterator[str]:
    todo = f"TODO {region.task}: {region.prompt}"
    if language == CPP:
        if region.indent:
            yield f"{region.indent}__trap();  // {todo}"
            return
        for name, kind in _cpp_constants(region, file):
            yield f"// constexpr {kind} {name} = ...;  // {todo}"
        return
    if region.indent:
        quoted = repr(todo) if '"' in todo or "\\" in todo else f'"{todo}"'
        yield f"{region.indent}raise NotImplementedError({quoted})"
        return
    for name in _constants(region, file):
        yield f"{name} = ...  # {todo}"


def _constants(region: Region, file: str) -> list[str]:
    try:
        body = ast.parse(region.text).body
    except SyntaxError as error:
        line = region.first + (error.lineno or 1) - 1
        raise LabError(
            f"the region of task {region.task} is not valid Python: {error.msg}", file=file, line=line
        ) from None
    names = []
    for statement in body:
        if not (isinstance(statement, ast.Assign) and all(isinstance(t, ast.Name) for t in statement.targets)):
            what = f"the region of task {region.task} stands at module level, where it may hold only NAME = constant"
            raise LabError(what, file=file, line=region.first + statement.lineno - 1)
        names += [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return names


def _cpp_constants(region: Region, file: str) -> list[tuple[str, str]]:
    found = []
    for number, line in enumerate(region.lines, region.first):
        match = _CPP_CONSTANT.fullmatch(line.partition("//")[0])
        if match:
            found.append((match["name"], match["type"]))
        elif line.strip() and not line.strip().startswith("//"):
            what = (
                f"the region of task {region.task} stands at file level: only constexpr TYPE NAME = VALUE; may be there"
            )
            raise LabError(what, file=file, line=number)
    return found
