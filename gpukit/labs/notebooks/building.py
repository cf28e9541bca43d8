"""The notebook of a lab: its README and its student.py, cell by cell. The same lab gives the same bytes."""

from __future__ import annotations

import re
from typing import Any

import nbformat

from gpukit.labs import regions, skeletons
from gpukit.labs.errors import LabError
from gpukit.labs.folders import Lab
from gpukit.labs.notebooks.pieces import IMPORTS, cut, layout
from gpukit.labs.regions import PYTHON

_SECTION = re.compile(r"^## (?P<title>.+)$", re.MULTILINE)
_TASK = re.compile(r"^\* \*\*(?P<task>\d+\.\d+)\*\* ", re.MULTILINE)
# What pip installs, from the lab's folder: the course's folder, with its pyproject.toml.
INSTALL = "../.."
COMMANDS_TEXT = """\
Commands are for a terminal in the folder of the course. In a cell, write `!` in front of one, without `{folder}/`.\
"""
FIRST = ("Goal", "Not in this lab", "Before you start")

IMPORTS_TEXT = """\
## Tasks

A cell that begins with `%%task` is a piece of your `student.py`. Run it (Shift+Enter): it is kept, and the tests of
its task say what is right and what is not. Python itself runs none of it. Run these imports first.\
"""
PROGRESS_TEXT = """\
## How far you are

What counts is the last cell of each task in this notebook: hand in the notebook, or your `student.py`.\
"""


def build(lab: Lab, *, solution: bool = False, install: str = INSTALL, course: str = "") -> Any:
    """A notebook (nbformat 4) without outputs.

    Args:
        solution: with the answers in it, for instructors.
        install: what pip installs where gpukit is missing: a name, an address or a path.
        course: address of a git repository with the students' tree, fetched where the notebook is alone (Colab).

    Raises:
        LabError: the lab's README or solution is not as it should be.
    """
    skeleton = skeletons.skeleton(lab, PYTHON)
    plan = layout(skeleton)
    pieces = cut(_untagged(lab) if solution else skeleton, plan)
    sections, tasks = _sections(lab), _tasks(lab)
    cells = [_markdown("goal", _intro(lab, sections)), _code("start", _start(lab, install, course))]
    if lab.file("given").is_file():
        cells.append(_markdown("given", _given(lab)))
    cells += [_markdown("tasks", IMPORTS_TEXT), _code(IMPORTS, f"%%task imports\n{pieces[IMPORTS]}")]
    for key in plan.keys[1:]:
        ident = "task-" + key.replace(".", "-").replace(" ", "-and-")
        cells.append(_markdown(f"{ident}-text", "\n\n".join(tasks[task] for task in key.split())))
        cells.append(_code(ident, f"%%task {key}\n{pieces[key]}"))
    cells += [_markdown("how-far", PROGRESS_TEXT), _code("progress", "%progress")]
    if "Go further" in sections:
        cells.append(_markdown("further", f"## Go further\n\n{sections['Go further']}"))
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=_metadata())
    nbformat.validate(notebook)
    return notebook


def _metadata() -> dict[str, Any]:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"kernelspec": kernel, "language_info": {"name": "python", "file_extension": ".py"}}


def _markdown(ident: str, text: str) -> Any:
    return nbformat.v4.new_markdown_cell(text.strip("\n"), id=ident)


def _code(ident: str, text: str) -> Any:
    return nbformat.v4.new_code_cell(text.strip("\n"), id=ident)


def _untagged(lab: Lab) -> str:
    """The solution without the lines of its tags."""
    text = lab.solution(PYTHON)
    found = regions.regions(text, str(lab.file("solution")))
    tags = {line for region in found for line in (region.first - 1, region.last + 1)}
    return "\n".join(line for number, line in enumerate(regions.lines_of(text), 1) if number not in tags) + "\n"


def _intro(lab: Lab, sections: dict[str, str]) -> str:
    heading = lab.readme.lstrip().partition("\n")[0]
    parts = [f"## {title}\n\n{sections[title]}" for title in FIRST if title in sections]
    return "\n\n".join([heading, *parts, COMMANDS_TEXT.format(folder=f"labs/{lab.name}")])


def _sections(lab: Lab) -> dict[str, str]:
    """Title -> text of the README's sections."""
    parts = _SECTION.split(lab.readme)
    return {title.strip(): text.strip() for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def _tasks(lab: Lab) -> dict[str, str]:
    """Task -> what the README says of it, as Markdown."""
    parts = _TASK.split(_sections(lab).get("Tasks", ""))
    found = {}
    for task, text in zip(parts[1::2], parts[2::2], strict=True):
        prompt, _, more = text.partition("\n")
        lines = [line.removeprefix("  ") for line in more.splitlines()]
        found[task] = f"### Task {task}: {prompt.strip()}\n\n" + "\n".join(lines)
    for task in lab.tasks:
        if task not in found:
            raise LabError(f"the section Tasks has no item for task {task}", file=str(lab.path / "README.md"))
    return found


def _given(lab: Lab) -> str:
    text = lab.file("given").read_text(encoding="utf-8").strip()
    return f"## Given kernels (`given.py`)\n\nThe questions are about these. Read them first.\n\n```python\n{text}\n```"


def _start(lab: Lab, install: str, course: str) -> str:
    lines = ["from importlib.util import find_spec", "from pathlib import Path", ""]
    if course:
        lines += [
            'if not Path("test_lab.py").exists():  # the notebook is here without its folder, as on Colab',
            f"    !git clone -q --depth 1 {course} course",
            f"    %cd -q course/labs/{lab.name}",
        ]
    else:
        lines.remove("from pathlib import Path")
    lines += ['if find_spec("gpukit") is None:', f"    %pip install -q {install}"]
    return "\n".join([*lines, "", "%load_ext gpukit.labs.notebooks", f"%lab {lab.name}"])
