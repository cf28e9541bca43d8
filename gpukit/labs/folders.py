"""Where the labs are, and what each folder holds. The folders are the list: a lab is `labs/NN_topic`."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from gpukit.course import is_lab, labs_above
from gpukit.errors import GpukitError
from gpukit.labs import regions
from gpukit.labs.errors import LabError
from gpukit.labs.regions import CPP, PYTHON, SUFFIXES, task_key
from gpukit.registry import nearest

_TEST = re.compile(r"(?:test|time)_(?P<lab>\d+)_(?P<task>\d+)_\w+")
_IMPORTS_TORCH = re.compile(r"^(?:import|from)[ ]+torch\b", re.MULTILINE)
_IN_README = re.compile(r"^\* \*\*(?P<task>\d+\.\d+)\*\* (?P<prompt>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Test:
    """One function of test_lab.py: `task` is "5.2", `hint` its docstring."""

    name: str
    task: str
    function: Callable
    points: float
    hint: str
    line: int


@dataclass(frozen=True, eq=False)
class Lab:
    """A lab by its folder. What lies in it is read when it is asked for."""

    path: Path

    @property
    def name(self) -> str:
        """ "05_reduction"."""
        return self.path.name

    @property
    def number(self) -> str:
        """ "05"."""
        return self.name.partition("_")[0]

    def file(self, role: str, language: str = PYTHON) -> Path:
        """ "student", "solution" or "given" in a language."""
        return self.path / f"{role}{SUFFIXES[language]}"

    @property
    def has_solution(self) -> bool:
        """False in a student's tree."""
        return self.file("solution").is_file()

    @property
    def languages(self) -> tuple[str, ...]:
        """What an answer may be written in, Python first."""
        role = "solution" if self.has_solution else "student"
        return tuple(language for language in (PYTHON, CPP) if self.file(role, language).is_file())

    @property
    def extras(self) -> tuple[str, ...]:
        """gpukit's extras that its answers need: "compiled" for CUDA C++, "ctr" where host code imports PyTorch."""
        path = self.file("solution" if self.has_solution else "student")
        torch = path.is_file() and _IMPORTS_TORCH.search(_read(path))
        return tuple(extra for extra, needed in (("compiled", CPP in self.languages), ("ctr", torch)) if needed)

    def solution(self, language: str = PYTHON) -> str:
        """The text of the tagged solution. Raises LabError where there is none."""
        return _read(self.file("solution", language))

    @cached_property
    def readme(self) -> str:
        return _read(self.path / "README.md")

    @property
    def heading(self) -> str:
        """ "Lab 5: Reduction", as its README begins."""
        return self.readme.lstrip().partition("\n")[0].lstrip("# ")

    @property
    def title(self) -> str:
        """ "Reduction"."""
        return self.heading.partition(": ")[2] or self.heading

    @cached_property
    def tasks(self) -> dict[str, str]:
        """Task -> prompt in order, from the solution's tags, or from the README, which says the same."""
        if self.has_solution:
            text, file = self.solution(), str(self.file("solution"))
            return regions.prompts(regions.regions(text, file), file)
        return self.readme_tasks

    @property
    def readme_tasks(self) -> dict[str, str]:
        return {match["task"]: match["prompt"].strip() for match in _IN_README.finditer(self.readme)}

    @cached_property
    def module(self) -> ModuleType:
        """test_lab.py, imported; it is the instructor's. Raises LabError when it breaks."""
        path = self.path / "test_lab.py"
        spec = importlib.util.spec_from_file_location(f"gpukit_test_of_{self.name}", path)
        if spec is None or spec.loader is None or not path.is_file():
            raise LabError("this lab has no test_lab.py", file=str(self.path))
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise LabError(
                f"the lab's tests cannot be imported: {type(error).__name__}: {error}", file=str(path)
            ) from None
        return module

    @property
    def host(self) -> tuple[str, ...]:
        """Names of the functions that are host code, which test_lab.py lists as HOST."""
        return tuple(getattr(self.module, "HOST", ()))

    @cached_property
    def tests(self) -> list[Test]:
        """Its tests by task, as they stand in the file within one. Raises LabError for a test that belongs to none."""
        found = []
        for name, function in vars(self.module).items():
            if name.startswith("test_") and callable(function):
                found.append(self.test_of(name, function))
        return sorted(found, key=lambda test: (task_key(test.task), test.line))

    def test_of(self, name: str, function: Callable) -> Test:
        """What a function of test_lab.py is. Raises LabError for a name that says no task of this lab."""
        match = _TEST.fullmatch(name)
        line = function.__code__.co_firstlineno
        file = str(self.path / "test_lab.py")
        if match is None:
            raise LabError(f"{name} is no name of a test: write test_N_k_what for task N.k", file=file, line=line)
        task = f"{match['lab']}.{match['task']}"
        if task not in self.tasks:
            raise LabError(f"{name} tests task {task}, which this lab has not", file=file, line=line)
        hint = " ".join((inspect.getdoc(function) or "").split())
        return Test(name, task, function, float(getattr(function, "points", 1)), hint, line)

    @property
    def max_points(self) -> float:
        return sum(test.points for test in self.tests)

    @cached_property
    def wrong(self) -> dict[str, Path]:
        """The known wrong answers by name ("no_guard", "no_guard.cu")."""
        paths = sorted((self.path / "wrong").glob("*"))
        return {p.stem if p.suffix == ".py" else p.name: p for p in paths if p.suffix in SUFFIXES.values()}


def find_labs(root: Path) -> list[Lab]:
    """The labs in a folder, in order. Raises GpukitError when there is none."""
    found = [Lab(path) for path in sorted(root.glob("*")) if is_lab(path)]
    if not found:
        raise GpukitError(
            f"there are no labs in {root}: a lab is a folder such as 05_reduction; name theirs with --labs"
        )
    return found


def find_root(start: Path | None = None) -> Path:
    """The folder `labs` here or above. Raises GpukitError when there is none."""
    found = labs_above(start)
    if found is None:
        where = (start or Path.cwd()).absolute()
        raise GpukitError(
            f"there is no folder labs in {where} or above it: go to your course's folder, or name it with --labs"
        )
    return found


def find_lab(root: Path, name: str) -> Lab:
    """The lab "5", "05", "reduction", "05_reduction", or by its path. Raises GpukitError, naming those there are."""
    known = find_labs(root)
    wanted = Path(name).name if "/" in name or "\\" in name else name
    for lab in known:
        topic = lab.name.partition("_")[2]
        if wanted in (lab.name, topic, lab.number) or (wanted.isdecimal() and int(wanted) == int(lab.number)):
            return lab
    names = [lab.name for lab in known]
    raise GpukitError(f"there is no lab {name!r}{nearest(wanted, names)}; choose one of: {', '.join(names)}")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise LabError(f"this file of the lab cannot be read: {error.strerror}", file=str(path)) from None
