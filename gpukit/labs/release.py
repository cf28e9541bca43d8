"""From the instructor's labs to the students': the generated files, the tree without answers, and the proof of both."""

from __future__ import annotations

import json
import shlex
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from gpukit import packing
from gpukit.errors import GpukitError
from gpukit.files import write_whole
from gpukit.labs import answers, references, regions, running, skeletons
from gpukit.labs.errors import LabError
from gpukit.labs.folders import Lab, find_labs
from gpukit.labs.references import RECORDED_SEED, Counted
from gpukit.report.layout import near_path

# What a student gets of a lab's folder, besides the generated files. Everything else stays with the instructor.
GIVEN = ("README.md", "test_lab.py", "given.py")
TUTOR = "AGENTS.md"  # what assistants read
# gpukit comes with the tree: its name in a package index may be somebody else's.
PACKED = "gpukit.zip"
PYTEST = "pytest>=8.3"
INSTRUCTORS = ("solution.py", "solution.cu", "wrong")
# A line that short says nothing: a bracket, `else:`, a barrier.
FEWEST_CHARACTERS = 12

PYTEST_INI = """\
[pytest]
addopts = --import-mode=importlib -p no:cacheprovider
"""

FRONT_PAGE = """\
# {count} labs on GPU programming

You need Python 3.11 or newer, and no GPU.

    python -m pip install -r requirements.txt
    pytest labs/

{how}

| lab | what it is about |
|---|---|
{rows}
"""
GITIGNORE = "__pycache__/\n.gpukit/\n*.bak-*\n"
HOW = (
    "`pytest labs/` says what is open, where, and what comes next. In each lab read `README.md`, then edit",
    "`student.py` and nothing else. `gpukit watch` runs your tests whenever you save, `gpukit hint {first}` helps, and",
    "`gpukit reset {first}` gives a fresh file. `gpukit profile FILE:KERNEL` and `gpukit check FILE:KERNEL` show",
    "what a kernel does, line by line.",
)
CPP_TOO = "Where there is a `student.cu`, you may write CUDA C++ in it instead."
NOTEBOOKS_TOO = "Each lab is a Jupyter notebook, too: the `.ipynb` in its folder."


# --- generated files -------------------------------------------------------------------------------------------------


def generated(lab: Lab) -> dict[str, str]:
    """Name -> text of the files that are made from a lab's solution: the students' files and the recorded reference.

    Raises LabError for a tag that is wrong, and where the solution does not pass its own tests.
    """
    given = skeletons.skeletons(lab).items()
    found = {lab.file(answers.STUDENT, language).name: text for language, text in given}
    return {**found, references.FILE: reference_text(lab)}


def reference_text(lab: Lab) -> str:
    """What the solution's cost launches count, and the students' files as they are given out, as JSON, for where there
    is no solution."""
    counters = {}
    for language in lab.languages:
        with answers.answer(lab, answers.SOLUTION, language) as solution:
            counted = Counted(solution)
            for test in lab.tests:
                outcome = running.run_test(lab, test, solution, counted, RECORDED_SEED)
                if outcome.status != running.PASSED:
                    why = outcome.finding or (outcome.hole and outcome.hole.prompt)
                    raise LabError(f"the solution does not pass {test.name}: {why}", file=solution.file)
            counters[language] = {test: [_rounded(one) for one in found] for test, found in counted.made.items()}
    found = {"seed": RECORDED_SEED, "counters": counters, skeletons.KEY: skeletons.skeletons(lab)}
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def _rounded(counters: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 9) for name, value in counters.items() if value}


def update(root: Path) -> list[Path]:
    """Write what is generated into the labs' folders; the files that changed."""
    changed = []
    for lab in find_labs(root):
        for name, text in generated(lab).items():
            path = lab.path / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                write_whole(path, text)
                changed.append(path)
    return changed


def faults(root: Path) -> Iterator[str]:
    """What is wrong with the labs of a folder, one sentence each; nothing when they can be given out."""
    for lab in find_labs(root):
        try:
            yield from faults_of(lab)
        except GpukitError as error:
            yield str(error)


def faults_of(lab: Lab) -> Iterator[str]:
    """What is wrong with one lab. Raises LabError where that cannot be found out."""
    for name, text in generated(lab).items():
        path = lab.path / name
        if not path.is_file():
            yield f"{near_path(str(path))}: is missing; make it with gpukit release"
        elif path.read_text(encoding="utf-8") != text:
            yield f"{near_path(str(path))}: is not the solution minus its regions; make it anew with gpukit release"
    if lab.readme_tasks != lab.tasks:
        readme = near_path(str(lab.path / "README.md"))
        for task, prompt in lab.tasks.items():
            if lab.readme_tasks.get(task) != prompt:
                yield f"{readme}: has no line `* **{task}** {prompt}`, which the solution's tag says"
        for task in lab.readme_tasks.keys() - lab.tasks.keys():
            yield f"{readme}: task {task} is not in the solution"
    for language in lab.languages[1:]:
        file = str(lab.file(answers.SOLUTION, language))
        theirs = regions.prompts(regions.regions(lab.solution(language), file), file)
        if theirs != lab.tasks:
            yield f"{near_path(file)}: its tasks or prompts are not those of {lab.file(answers.SOLUTION).name}"
    for task in lab.tasks:
        if task.partition(".")[0] != str(int(lab.number)):
            yield f"{near_path(str(lab.path))}: task {task} is none of lab {int(lab.number)}: number the tasks N.k"
    tested = {test.task for test in lab.tests}
    for task in lab.tasks:
        if task not in tested:
            yield f"{near_path(str(lab.path / 'test_lab.py'))}: nothing tests task {task}"
    for test in lab.tests:
        if not test.hint:
            yield f"{near_path(str(lab.path / 'test_lab.py'))}:{test.line}: {test.name} has no hint (its docstring)"


# --- the students' tree ----------------------------------------------------------------------------------------------


def release(root: Path, to: Path, *, install: str = "", notebooks: bool = False, course: str = "") -> list[Path]:
    """Build the students' tree in `to`, which must be new or empty; the files that were written.

    Args:
        install: what pip installs to get gpukit, an address; a copy of it in the tree if ''.
        notebooks: each lab as a notebook, too.
        course: address of the git repository that this tree will be, for notebooks that are opened alone, as on Colab.

    Raises GpukitError where the labs have faults, `to` holds something, or an answer would get out.
    """
    wrong = list(faults(root))
    if wrong:
        raise GpukitError("the labs cannot be given out:\n  " + "\n  ".join(wrong))
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise GpukitError(f"{to} is there already: name a new folder, so that nobody's work is lost")
    labs = find_labs(root)
    _write(to / "README.md", front_page(labs, notebooks))
    if not install:
        _write(to / PACKED, packing.source_zip(PACKED.removesuffix(".zip")))
    _write(to / "requirements.txt", f"{install or from_the_tree(labs)}\n{PYTEST}\n")
    _write(to / "pytest.ini", PYTEST_INI)
    _write(to / ".gitignore", GITIGNORE)
    _copy(root / "conftest.py", to / "labs" / "conftest.py")
    if (root / TUTOR).is_file():
        _copy(root / TUTOR, to / TUTOR)
    for lab in labs:
        made = (lab.file(answers.STUDENT, language).name for language in lab.languages)
        for name in (*GIVEN, *made, references.FILE):
            if (lab.path / name).is_file():
                _copy(lab.path / name, to / "labs" / lab.name / name)
        if notebooks:
            _write(to / "labs" / lab.name / f"{lab.name}.ipynb", notebook_text(lab, install, course))
    found = list(leaks(labs, to))
    if found:
        shutil.rmtree(to)
        raise GpukitError("an answer would get out, so nothing was written:\n  " + "\n  ".join(found))
    return sorted(path for path in to.rglob("*") if path.is_file())


def from_the_tree(labs: Iterable[Lab]) -> str:
    """What pip installs where a copy of gpukit lies in the students' tree, with the packages that these labs need."""
    extras = {"compiled", *(extra for lab in labs for extra in lab.extras)}
    return f"./{PACKED}[{','.join(sorted(extras))}]"


def notebook_text(lab: Lab, install: str = "", course: str = "") -> str:
    """A lab as a notebook. Raises ModuleNotFoundError where nbformat is missing."""
    import nbformat

    from gpukit.labs import notebooks

    install = install or from_the_tree([lab])
    return nbformat.writes(
        notebooks.build(lab, install=shlex.quote(_from_lab(install)), course=shlex.quote(course) if course else "")
    )


def _from_lab(install: str) -> str:
    """The same seen from a lab's folder, where notebooks run."""
    return f"../../{install.removeprefix('./')}" if install.startswith("./") else install


def front_page(labs: Iterable[Lab], notebooks: bool = False) -> str:
    """The README of the students' tree."""
    labs = list(labs)
    rows = "\n".join(f"| [{lab.name}](labs/{lab.name}/README.md) | {lab.title} |" for lab in labs)
    cpp = [CPP_TOO] if any(len(lab.languages) > 1 for lab in labs) else []
    words = " ".join([*HOW, *cpp, *([NOTEBOOKS_TOO] if notebooks else [])]).format(first=int(labs[0].number))
    how = textwrap.fill(words, 100, break_on_hyphens=False)
    return FRONT_PAGE.format(count=len(labs), rows=rows, how=how)


def _write(path: Path, content: str | bytes) -> None:
    write_whole(path, content, parents=True)


def _copy(source: Path, path: Path) -> None:
    _write(path, source.read_text(encoding="utf-8"))


# --- leaks -----------------------------------------------------------------------------------------------------------


def leaks(labs: Iterable[Lab], tree: Path) -> Iterator[str]:
    """Answers that a tree holds: the instructor's files, or the lines of a region in any text file or notebook.

    Renamed variables escape this. Raises LabError when there is no region to look for, for then nothing is proven.
    """
    wanted = [(lab, language, region, lines) for lab in labs for language, region, lines in _answers_of(lab)]
    if not wanted:
        raise LabError("the labs have no tagged region, so that no leak can be looked for")
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree)
        if path.name in INSTRUCTORS or path.suffix == ".pyc":
            yield f"{name}: belongs to the instructor"
        if not path.is_file():
            continue
        there = _lines_of(path)
        for lab, language, region, lines in wanted:
            if _holds(there, lines):
                source = lab.file(answers.SOLUTION, language).name
                yield f"{name}: holds the answer to task {region.task} ({lab.name}/{source}:{region.first})"


def _answers_of(lab: Lab) -> Iterator[tuple[str, regions.Region, list[str]]]:
    """The regions whose lines give an answer away: not those that stand in the skeleton or the given kernels anyway."""
    for language in lab.languages:
        file = str(lab.file(answers.SOLUTION, language))
        public = _significant(regions.skeleton(lab.solution(language), file).splitlines())
        for region in regions.regions(lab.solution(language), file):
            lines = _significant(region.lines)
            if lines and (len(lines) > 1 or len(lines[0]) >= FEWEST_CHARACTERS) and not _holds(public, lines):
                yield language, region, lines


def _significant(lines: Iterable[str]) -> list[str]:
    """Lines without indent, comments of their own and blank ones: what stays alike when text is pasted elsewhere."""
    stripped = (line.strip() for line in lines)
    return [line for line in stripped if line and not line.startswith(("#", "//"))]


def _lines_of(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".ipynb":
        text = _source_of_cells(text)
    return _significant(text.splitlines())


def _source_of_cells(notebook: str) -> str:
    try:
        cells = json.loads(notebook)["cells"]
        return "\n".join("".join(cell.get("source", "")) for cell in cells)
    except (ValueError, KeyError, TypeError, AttributeError):
        return notebook  # no notebook, whatever its name says: looked at as it stands


def _holds(there: list[str], lines: list[str]) -> bool:
    """Whether `lines` stand in `there` one behind the other."""
    size = len(lines)
    return any(there[at : at + size] == lines for at, line in enumerate(there) if line == lines[0])
