"""A student's file as an answer: its kernels, constants and holes, without running any of it."""

from __future__ import annotations

import ast
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import gpukit
from gpukit import raw
from gpukit.errors import GpukitError
from gpukit.labs import overlay, regions
from gpukit.labs.errors import AnswerRefused, LabError, NoKernel
from gpukit.labs.folders import Lab
from gpukit.labs.holes import Hole, cpp_functions, holes
from gpukit.labs.regions import CPP, PYTHON, SUFFIXES
from gpukit.labs.wording import LONGEST, value_text
from gpukit.registry import nearest
from gpukit.report.layout import near_path
from gpukit.sandbox import cpp, host_code, policy
from gpukit.sandbox.reading import read_source

STUDENT, SOLUTION, SKELETON = "student", "solution", "skeleton"
_CPP_CONSTANT = r"^[^\S\n]*constexpr\s+[\w ]+?\b{name}\s*=\s*(?P<value>[^;]*);"


class Answer:
    """One file with answers to a lab. `path` is where the machine reads it, and what messages call it.

    `host`: functions of host code that the lab asks for. `text`: the file's, if it is read already. `apart`: compile
    CUDA C++ in a child process with limits, for a file of somebody else.

    Raises AnswerRefused if it may not hold what it holds, or does not parse.
    """

    def __init__(self, path: Path, host: tuple[str, ...] = (), text: str | None = None, apart: bool = False):
        self.apart = apart
        self.path = path
        self.file = near_path(str(path))
        self.language = regions.language_of(path.name)
        self.host = host
        self.text = read(path) if text is None else text
        refuse(self.text, self.file, self.language, host)
        self.holes = holes(self.text, self.file, self.language)

    @cached_property
    def kernels(self) -> Any:
        """What `gpukit.load` makes of the file: kernels by name."""
        if self.apart and self.language == CPP:
            return raw.load(self.file, compiler=cpp.compile_untrusted)
        return gpukit.load(self.file)

    def kernel(self, name: str) -> Any:
        """The kernel called `name`. Raises NoKernel where the file has none."""
        known = list(self.kernels)
        if name not in known:
            near = nearest(name, known)
            raise NoKernel(
                f"there is no kernel `{name}` here, and the tests launch it by that name{near}", file=self.file
            )
        return self.kernels[name]

    def constant(self, name: str) -> Any:
        """The value of a constant. Raises GpukitError where the file has none that is a number or a tuple of them."""
        value = self._cpp_constant(name) if self.language == CPP else self._python_constant(name)
        if value is ...:
            raise GpukitError(f"`{name}` is not answered: write a number in place of ...", file=self.file)
        if not isinstance(value, bool | int | float | str | tuple):
            what = f"`{name}` must be a number that is written down; it is {value_text(value)}"
            raise GpukitError(what, file=self.file)
        return value

    def _python_constant(self, name: str) -> Any:
        if name not in self.kernels:
            raise GpukitError(f"there is no constant `{name}` here: write {name} = your answer", file=self.file)
        return self.kernels[name]

    def _cpp_constant(self, name: str) -> Any:
        match = re.search(_CPP_CONSTANT.format(name=re.escape(name)), self.text, re.MULTILINE)
        if match is None:
            raise GpukitError(
                f"there is no constant `{name}` here: write constexpr int {name} = your answer;", file=self.file
            )
        try:
            return _cpp_number(match["value"].strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            value = " ".join(match["value"].split())[:LONGEST]
            raise GpukitError(f"`{name}` must be one number: {value} is none", file=self.file) from None

    def open_constant(self, task: str) -> Hole | None:
        """The first constant of a task that is not answered."""
        return next((hole for hole in self.holes if hole.task == task and hole.name not in self._uses), None)

    def hole_under(self, name: str) -> Hole | None:
        """The first hole in a kernel or a function of the file, or in what it needs of the file."""
        open_names = {hole.name: hole for hole in reversed(self.holes)}
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            used = waiting.pop()
            if used in open_names:
                return open_names[used]
            seen.add(used)
            waiting += sorted(self._uses.get(used, frozenset()) - seen)
        return None

    @cached_property
    def _uses(self) -> dict[str, frozenset[str]]:
        """Function of the file -> names in it."""
        if self.language == CPP:
            return {function.name: function.words for function in cpp_functions(self.text)}
        try:
            return host_code.uses(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # what loads the file says so
            return {}


def _cpp_number(text: str) -> int | float | bool:
    """The value of a C++ literal. Raises ValueError or SyntaxError for anything else."""
    if text in ("true", "false"):
        return text == "true"
    suffix = "[uUlL]+$" if text[:2].lower() in ("0x", "0b") else "[fFuUlL]+$"
    value = ast.literal_eval(re.sub(suffix, "", text.replace("'", "")))
    if not isinstance(value, int | float):
        raise ValueError
    return value


def read(path: Path) -> str:
    """The text of a student's file. Raises AnswerRefused, with a sentence, where it cannot be read."""
    try:
        return read_source(path)
    except GpukitError as error:
        raise AnswerRefused(error.message, file=near_path(str(path))) from None


def refuse(text: str, file: str, language: str, host: tuple[str, ...]) -> None:
    """Raise AnswerRefused, naming the first place, for more than kernels, device functions and constants."""
    found = cpp.refusals(text) if language == CPP else policy.refusals(text, host)
    if found:
        first = found[0]
        more = f" ({len(found) - 1} more such place(s) below it)" if len(found) > 1 else ""
        advice = f": {first.advice}" if first.advice else ""
        raise AnswerRefused(f"{first.what}{advice}{more}", file=file, line=first.line)


def chosen_language(lab: Lab) -> str:
    """The language a student has begun in: the file with fewer holes, Python where both have as many."""
    open_holes = {}
    for language in lab.languages:
        path = lab.file(STUDENT, language)
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            open_holes[language] = len(holes(text, str(path), language))
    return min(open_holes, key=lambda language: open_holes[language]) if open_holes else PYTHON


@contextmanager
def answer(lab: Lab, name: str = STUDENT, language: str | None = None) -> Iterator[Answer]:
    """An answer to a lab by name: "student", "solution", "skeleton" (made anew from the solution) or "wrong/NAME".

    Raises:
        AnswerRefused: the file is not one that can be graded. LabError: there is no such answer.
    """
    if name == STUDENT:
        path = lab.file(STUDENT, language or chosen_language(lab))
        if not path.is_file():
            raise AnswerRefused("this file is missing: get it back with gpukit reset", file=near_path(str(path)))
        yield Answer(path, lab.host)
        return
    if not lab.has_solution:
        raise LabError(f"there is no {name} of {lab.name} here: students' folders have none")
    if name.startswith("wrong/"):
        wanted = name.removeprefix("wrong/")
        if wanted not in lab.wrong:
            raise LabError(f"{lab.name} has no wrong answer {wanted!r}; it has: {', '.join(lab.wrong)}")
        with laid_over(lab, lab.wrong[wanted]) as made:
            yield made
        return
    if name not in (SOLUTION, SKELETON):
        raise LabError(f"there is no answer {name!r}; choose student, solution, skeleton or wrong/NAME")
    text, file = lab.solution(language or PYTHON), str(lab.file(SOLUTION, language or PYTHON))
    text = regions.skeleton(text, file) if name == SKELETON else text
    with of_text(lab, text, f"{name}{SUFFIXES[language or PYTHON]}") as made:
        yield made


@contextmanager
def laid_over(lab: Lab, path: Path) -> Iterator[Answer]:
    """A known wrong (or honest other) answer: the file laid over the solution in its language."""
    language = regions.language_of(path.name)
    made = overlay.laid_over(path, lab.solution(language))
    with of_text(lab, made.text, path.name) as found:
        yield found


@contextmanager
def of_text(lab: Lab, text: str, name: str) -> Iterator[Answer]:
    """An answer that is no file yet: it is one, of that name, while it is used."""
    with tempfile.TemporaryDirectory(prefix="gpukit-") as folder:
        path = Path(os.path.realpath(folder)) / name
        path.write_text(text, encoding="utf-8")
        yield Answer(path, lab.host)
