"""The labs as notebooks: built, run in a real kernel, and read back."""

import ast
import atexit
import json
import re
import sys
from pathlib import Path

import nbformat
import pytest
from lab_fixtures import LABS, write_lab, write_labs

from gpukit.errors import GpukitError
from gpukit.labs import Lab, find_labs, release, running, skeletons
from gpukit.labs.errors import LabError
from gpukit.labs.notebooks import build, pieces, reading, student_source
from gpukit.labs.regions import PYTHON
from gpukit.labs.toplevel import names_in

REAL = find_labs(LABS)
NO_GUARD = "    i = cuda.grid(1)\n    y[i] = min(max(x[i], low), high)\n"
HOLE = '    raise NotImplementedError("TODO 1.2: keep each value between low and high")\n'


@pytest.fixture
def lab(tmp_path):
    return write_lab(tmp_path)


def as_students_have_it(lab: Lab) -> Lab:
    """The lab's folder without its solution, with the reference that is recorded."""
    text = release.reference_text(lab)
    recorded = json.loads(text) | {skeletons.KEY: skeletons.skeletons(lab)}
    for solution in lab.path.glob("solution.*"):
        solution.unlink()
    (lab.path / "reference.json").write_text(json.dumps(recorded))
    return Lab(lab.path)


def data(notebook) -> bytes:
    return nbformat.writes(notebook).encode()


def tree(text: str) -> str:
    return ast.dump(ast.parse(text))


def untagged(lab: Lab) -> str:
    return "".join(line for line in lab.solution().splitlines(True) if not re.search("(BEGIN|END) SOLUTION", line))


# --- built and read back ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("real", REAL, ids=lambda lab: lab.name)
def test_a_notebook_holds_the_students_file_no_more_and_no_less(real):
    assert tree(student_source(data(build(real)))) == tree(skeletons.skeleton(real, PYTHON))
    assert tree(student_source(data(build(real, solution=True)))) == tree(untagged(real))


@pytest.mark.parametrize("real", REAL, ids=lambda lab: lab.name)
def test_every_task_has_its_text_and_its_cell(real):
    notebook = build(real)
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for task, prompt in real.tasks.items():
        assert f"### Task {task}: {prompt}" in words
        assert any(re.match(rf"%%task (.* )?{task}\b", cell.source) for cell in notebook.cells)


@pytest.mark.parametrize("real", REAL, ids=lambda lab: lab.name)
def test_a_students_notebook_gives_no_answer_away(real, tmp_path):
    (tmp_path / "lab.ipynb").write_text(nbformat.writes(build(real)))
    assert list(release.leaks([real], tmp_path)) == []


def test_a_solutions_notebook_would_be_found(tmp_path):
    (tmp_path / "lab.ipynb").write_text(nbformat.writes(build(REAL[0], solution=True)))
    assert list(release.leaks([REAL[0]], tmp_path))


def test_the_same_lab_gives_the_same_bytes_without_outputs(lab):
    notebook = build(lab)
    assert data(notebook) == data(build(lab))
    assert [cell.id for cell in notebook.cells] == [
        *("goal", "start", "given", "tasks", "imports", "task-1-1-text", "task-1-1", "task-1-2-text", "task-1-2"),
        *("task-1-3-text", "task-1-3", "how-far", "progress", "further"),
    ]
    assert not any(cell.outputs or cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


def test_a_students_tree_gives_the_same_notebook(lab):
    before = data(build(lab))
    assert data(build(as_students_have_it(lab))) == before


def test_a_course_is_fetched_where_the_notebook_is_alone(lab):
    start = build(lab, course="https://example.org/course.git", install="./course").cells[1].source
    assert "!git clone -q --depth 1 https://example.org/course.git course" in start
    assert "%cd -q course/labs/01_start" in start
    assert start.index("git clone") < start.index("%pip install -q ./course") < start.index("%load_ext")


def test_a_task_that_the_readme_forgets_is_a_fault_of_the_lab(lab):
    readme = lab.path / "README.md"
    readme.write_text(readme.read_text().replace("* **1.2** ", "* 1.2 "))
    with pytest.raises(LabError, match=r"README.md: the section Tasks has no item for task 1\.2"):
        build(lab)


# --- pieces ----------------------------------------------------------------------------------------------------------

MIXED = '''"""A lab."""

import math

from gpukit import cuda

TILE = 32

# What 7.1 asks.
A = ...  # TODO 7.1: a


@cuda.jit(device=True)
def helper(x):
    return x + 1


B = 2


@cuda.jit
def one(x):
    raise NotImplementedError("TODO 7.2: first")


@cuda.jit
def two(x):
    if x.size:
        raise NotImplementedError("TODO 7.3: then")
    raise NotImplementedError("TODO 7.4: else")


def last(x):
    return x
'''


def test_what_has_no_hole_goes_with_the_task_below_it():
    plan = pieces.layout(MIXED)
    assert plan.keys == ("imports", "7.1", "7.2", "7.3 7.4")
    assert plan.homes == {
        **{"TILE": "imports", "A": "7.1", "helper": "7.2", "B": "7.2", "one": "7.2", "two": "7.3 7.4"},
        "last": "7.3 7.4",
    }
    found = pieces.cut(MIXED, plan)
    assert found["7.1"] == "# What 7.1 asks.\nA = ...  # TODO 7.1: a\n"
    assert tree(pieces.assembled(found)) == tree(MIXED)


def test_both_tasks_of_a_function_lead_to_its_cell():
    plan = pieces.layout(MIXED)
    assert [plan.key_of(task) for task in ("7.3", "7.4", "7.3 7.4", "imports", "7.5")] == [
        *("7.3 7.4", "7.3 7.4", "7.3 7.4", "imports", None),
    ]


def test_lines_are_those_of_the_cell_and_others_can_be_found():
    found = pieces.cut(MIXED, pieces.layout(MIXED))
    file = pieces.numbered(found, "7.2")
    lines = file.text.splitlines()
    cell = ["%%task 7.2", *found["7.2"].splitlines()]
    assert lines[1 : len(cell)] == cell[1:]
    assert lines[0] == "'A lab.'; import math; from gpukit import cuda; TILE = 32"
    number = next(i for i, line in enumerate(lines, 1) if line.startswith("A = "))
    assert file.place(number) == ("7.1", 3)  # below the magic and the comment
    assert file.place(4) == ("", 4)
    assert set(names_in(file.text)) == {"TILE", "A", "helper", "B", "one", "two", "last"}


def test_own_functions_in_the_cell_of_the_imports_stand_below():
    found = {
        "imports": "from gpukit import cuda\n\n\n@cuda.jit(device=True)\ndef f(x):\n    return x\n",
        "1.1": "A = 1\n",
    }
    file = pieces.numbered(found, "1.1")
    number = next(i for i, line in enumerate(file.text.splitlines(), 1) if line.startswith("def f"))
    assert file.place(number) == ("imports", 6)


# --- notebooks of strangers ------------------------------------------------------------------------------------------


def notebook(*sources, **more) -> bytes:
    cells = [{"cell_type": "code", "source": source, "metadata": {}, "outputs": []} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more).encode()


def test_the_last_cell_of_a_task_that_is_not_empty_counts():
    found = student_source(
        notebook(
            "%%task imports\nimport math",
            "%%task 1.1\nA = 1",
            "print('not a piece')",
            ["%%task 1.2\n", "B = 1"],
            "%%task 1.1 --machine gpu --seed 3\nA = 2",
            "%%task 1.1\n   \n",
            "\n\n%%task 1.2  \nB = 3",
            "# %%task 1.2\nB = 4",
        )
    )
    assert found == "import math\n\n\nA = 2\n\n\nB = 3\n"


def test_imports_come_first_wherever_they_stand():
    assert student_source(notebook("%%task 1.1\nA = 1", "%%task imports\nimport math")) == "import math\n\n\nA = 1\n"


def test_a_cell_for_one_of_two_tasks_takes_the_place_of_both():
    found = student_source(notebook("%%task 7.3 7.4\nA = 1", "%%task 7.4\nA = 2"))
    assert found == "A = 2\n"


def test_nothing_is_executed(tmp_path):
    there = tmp_path / "there"
    source = f"%%task 1.1\nopen({str(there)!r}, 'w')\n!touch {there}\n__import__('os').mkdir({str(there)!r})"
    assert "touch" in student_source(notebook(source))
    assert not there.exists()


DEEP = b'{"nbformat": 4, "cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
CELL = {"cell_type": "code", "source": "%%task 1.1\nA = 1"}


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (b"", "it is no notebook: Expecting value"),
        (b"not json", "it is no notebook: Expecting value"),
        (b"\xff\xfe", "it is not UTF-8"),
        (b"[]", "it has no list of cells"),
        (b"{}", "it has no list of cells"),
        (b'{"cells": {}}', "it has no list of cells"),
        (notebook("%%task 1.1\nA = 1", nbformat=3), "it is no notebook of format 4"),
        (notebook("%%task 1.1\nA = 1", nbformat="4"), "it is no notebook of format 4"),
        (notebook("x = 1"), "no cell of it begins with %%task"),
        (notebook("%%task imports\nimport math"), "no cell of it begins with %%task and the number"),
        (notebook("%%task 1.1\n\n"), "no cell of it begins with %%task"),
        (notebook("x", "%%task\nA = 1"), "the first line of cell 2 is '%%task'"),
        (notebook("%%task one\nA = 1"), "the first line of cell 1 is '%%task one'"),
        (notebook("%%tasks 1.1\nA = 1"), "the first line of cell 1"),
        (notebook("%%task 1.1; import os\nA = 1"), "the first line of cell 1"),
        (notebook(3), "the source of cell 1 is no text"),
        (notebook(["%%task 1.1\n", 3]), "the source of cell 1 is no text"),
        (notebook(None), "the source of cell 1 is no text"),
        (notebook("x", {"a": 1}), "the source of cell 2 is no text"),
        (notebook("%%task 1.1\nA = '\ud800'"), "cell 1 holds half a character"),
        (b'{"nbformat": 4, "cells": [3]}', "cell 1 is no cell"),
        (b'{"nbformat": 4, "cells": [{"source": ""}]}', "cell 1 is no cell"),
        (b'{"nbformat": 4, "nbformat": 4, "cells": []}', "an entry stands in it twice"),
        (b'{"nbformat": NaN, "cells": []}', "NaN is not JSON"),
        (b'{"nbformat": ' + b"9" * 5000 + b', "cells": []}', "a number of more than 20 digits"),
        (DEEP, "nested more than 40 deep"),
        (b"[" * 2_000_000, "nested more than 40 deep"),
        (json.dumps({"nbformat": 4, "cells": [CELL] * 1001}).encode(), "more than 1,000 cells"),
        (b" " * 5_000_001, "more than 5,000,000 bytes"),
    ],
)
def test_what_is_odd_is_one_sentence(found, why):
    with pytest.raises(GpukitError, match=re.escape(why)) as error:
        student_source(found)
    assert "\n" not in str(error.value)


def test_brackets_in_strings_do_not_count_as_depth():
    assert student_source(notebook("%%task 1.1\nA = '" + "[" * 1000 + "'"))


def test_the_limit_of_depth_is_just_above_what_is_taken():
    too_deep = json.dumps({"nbformat": 4, "cells": [CELL], "metadata": json.loads("[" * 40 + "]" * 40)}).encode()
    just = json.dumps({"nbformat": 4, "cells": [CELL], "metadata": json.loads("[" * 39 + "]" * 39)}).encode()
    assert student_source(just)
    with pytest.raises(GpukitError, match="nested more than 40 deep"):
        student_source(too_deep)


def test_a_notebook_is_read_from_a_file(tmp_path):
    path = tmp_path / "lab.ipynb"
    path.write_bytes(b"\xef\xbb\xbf" + notebook("%%task 1.1\r\nA = 1"))
    assert student_source(path) == "A = 1\n"
    path.write_bytes(b"{}")
    with pytest.raises(GpukitError, match=r"lab\.ipynb: it is no notebook"):
        student_source(path)


def test_what_is_no_file_is_not_opened(tmp_path):
    with pytest.raises(GpukitError, match="there is no such file"):
        student_source(tmp_path / "none.ipynb")
    with pytest.raises(GpukitError, match="a folder"):
        student_source(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "lab.ipynb").symlink_to("/etc/passwd")
    with pytest.raises(GpukitError, match="symbolic link"):
        student_source(tmp_path / "lab.ipynb")


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 100)
    (tmp_path / "lab.ipynb").write_bytes(notebook("%%task 1.1\nA = 1" + " " * 100))
    with pytest.raises(GpukitError, match="more than 100 bytes"):
        student_source(tmp_path / "lab.ipynb")


# --- the magics ------------------------------------------------------------------------------------------------------


class Shell:
    """An IPython in this process; `cell` gives what a cell shows, as text and as HTML."""

    def __init__(self, monkeypatch):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        quiet = Config({"HistoryManager": {"enabled": False}})
        self.shell = InteractiveShell(ipython_dir=str(Path.cwd() / ".ipython"), config=quiet)
        atexit.unregister(self.shell.atexit_operations)
        self.shell.run_line_magic("load_ext", "gpukit.labs.notebooks")
        self.shown = []
        monkeypatch.setattr("gpukit.labs.notebooks.magics.display", self.shown.append)

    def cell(self, source: str) -> tuple[str, str]:
        from IPython.utils.capture import capture_output

        self.shown.clear()
        with capture_output(display=False) as captured:
            result = self.shell.run_cell(source)
        self.error = result.error_in_exec
        text = captured.stdout + captured.stderr + "\n".join(map(repr, self.shown))
        return text, "\n".join(each._repr_html_() for each in self.shown)


@pytest.fixture
def shell(lab, monkeypatch):
    monkeypatch.chdir(lab.path)
    made = Shell(monkeypatch)
    made.cell("%lab 01_start")
    return made


def cells_of(lab: Lab, **options) -> dict[str, str]:
    return {cell.id: cell.source for cell in build(lab, **options).cells if cell.cell_type == "code"}


def test_a_cell_is_kept_and_its_tests_are_run(lab, shell):
    cells = cells_of(lab, solution=True)
    assert shell.cell(cells["imports"])[0] == "kept"
    text, html = shell.cell(cells["task-1-2"])
    assert text == (
        "task 1.2, keep each value between low and high: passed\n"
        "  test_1_2_right passed\n"
        "  test_1_2_cost passed\n"
        "01_start [.#.] 3 of 5 points"
    )
    assert "what <code>clip</code> does, line by line" in html
    assert "<details><summary>" in html


def test_a_later_cell_takes_the_place_of_the_one_before(lab, shell):
    shell.cell("%%task 1.1\nWARPS = 9")
    assert "task 1.1, how many warps has a block of 256 threads: passed" in shell.cell("%%task 1.1\nWARPS = 8")[0]
    assert "failed" in shell.cell("%%task 1.1\nWARPS = 7")[0]


def test_lines_in_messages_are_those_of_the_cell(lab, shell):
    source = cells_of(lab)["task-1-2"].replace(HOLE.rstrip(), NO_GUARD.rstrip())
    line = 1 + source.splitlines().index("    y[i] = min(max(x[i], low), high)")
    text, html = shell.cell(source)
    assert f"test_1_2_right failed: line {line}: " in text
    assert f"hazard    oob_global_read (error): line {line}: " in text
    assert re.search(rf'<td class="n[^"]*">{line}</td>', html)  # the report beside it
    assert "hint      Which thread has nothing to do?" in text
    assert re.search(r"again     %%task 1\.2 --seed \d+", text)
    assert "profile" not in text  # the command would name a file that is gone


def test_a_seed_gives_the_same_failure_again(lab, shell):
    source = cells_of(lab)["task-1-2"].replace(
        HOLE.rstrip(), "    i = cuda.grid(1)\n    if i < x.size:\n        y[i] = x[i]"
    )
    first = shell.cell(source.replace("%%task 1.2", "%%task 1.2 --seed 5"))[0]
    assert "got" in first
    assert shell.cell(source.replace("%%task 1.2", "%%task 1.2 --seed 5"))[0] == first


def test_a_quiz_does_not_tell_its_answer(lab, shell):
    text, html = shell.cell("%%task 1.1\nWARPS = 9")
    assert "another number was counted than predicted" in text
    assert "gpukit profile given.py:modulo" in text  # this file is there
    assert "<details>" not in html


def test_a_task_without_its_cell_is_not_started(lab, shell):
    text, _ = shell.cell(cells_of(lab)["task-1-3"])
    assert "test_1_3_blocks not started: round the number of blocks up (line 4)" in text


def test_a_task_that_waits_for_another_cell_says_which(tmp_path, monkeypatch):
    lab = write_lab(tmp_path, "02_sum")
    skeleton = pieces.layout(skeletons.skeleton(lab, PYTHON))
    assert skeleton.homes["add"] == "2.3"  # it has no hole, and uses `plus` of 2.2
    monkeypatch.chdir(lab.path)
    shell = Shell(monkeypatch)
    shell.cell("%lab sum")
    assert "2.2, add two numbers: not started" in shell.cell(cells_of(lab)["task-2-2"])[0]


def test_another_cell_that_does_not_parse_is_left_out_and_named(lab, shell):
    text, _ = shell.cell("%%task 1.1\nWARPS = (")
    assert "this is not valid Python" in text
    text, _ = shell.cell(cells_of(lab, solution=True)["task-1-2"])
    assert "1.2, keep each value between low and high: passed" in text
    assert "the cell 1.1 is not valid Python, so this ran without it" in text


def test_a_mistake_in_another_cell_is_found_there(tmp_path, monkeypatch):
    lab = write_lab(tmp_path, "02_sum")
    monkeypatch.chdir(lab.path)
    shell = Shell(monkeypatch)
    shell.cell("%lab 2")
    shell.cell("%%task 2.2\n@cuda.jit(device=True)\ndef plus(a, b):\n    import os\n    return a + b")
    text, _ = shell.cell(cells_of(lab, solution=True)["task-2-3"])
    assert "line 4 of the cell 2.2: an import inside a function" in text


def test_what_a_file_may_not_hold_is_refused_with_the_line_of_the_cell(lab, shell):
    text, _ = shell.cell("%%task 1.1\nWARPS = 8\nopen('x')")
    assert "test_1_1_warps failed: line 3: a statement that is to be executed" in text
    assert "line 3: an import of os" in shell.cell("%%task imports\nfrom gpukit import cuda\nimport os")[0]


def test_imports_that_do_not_parse_are_said_with_their_line(lab, shell):
    assert "line 3: this is not valid Python" in shell.cell("%%task imports\nimport math\nimport ,")[0]


def test_a_cell_that_is_emptied_goes_back_to_what_was_given_out(lab, shell):
    shell.cell("%%task 1.1\nWARPS = 8")
    assert "not started" in shell.cell("%%task 1.1\n   \n")[0]


def test_progress_runs_everything_that_was_kept(lab, shell):
    cells = cells_of(lab, solution=True)
    shell.cell(cells["task-1-1"])
    text, html = shell.cell("%progress")
    assert text.splitlines()[:3] == [
        "01_start [#..] 1 of 5 points",
        "  1.1   passed       1 of 1  how many warps has a block of 256 threads",
        "  1.2   not started  0 of 3  keep each value between low and high",
    ]
    assert '<span class="badge note">passed</span>' in html
    for cell in cells.values():
        shell.cell(cell)
    assert "01_start [###] 5 of 5 points, complete" in shell.cell("%progress")[0]


def test_where_students_work_there_is_no_solution(lab, monkeypatch):
    cells = cells_of(lab, solution=True)
    lab = as_students_have_it(lab)
    monkeypatch.chdir(lab.path)
    shell = Shell(monkeypatch)
    for ident in ("imports", "task-1-1", "task-1-2", "task-1-3"):
        if ident == "imports":
            shell.cell("%lab 01_start")
        shell.cell(cells[ident])
    assert "01_start [###] 5 of 5 points, complete" in shell.cell("%progress")[0]
    apart = lab.path.joinpath("wrong", "apart.py").read_text()
    body = apart[apart.index("@cuda.jit") :]
    assert "global_load_sectors is" in shell.cell(f"%%task 1.2\n{body}")[0]


def test_html_escapes_what_students_write(lab, shell):
    _, html = shell.cell('%%task 1.1\nWARPS = "<script>alert(1)</script>"')
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("%%task 1.9\nA = 1", "01_start has no task 1.9; its cells are: imports, 1.1, 1.2, 1.3"),
        ("%%task\nA = 1", "the following arguments are required: tasks"),
        ("%%task 1.1 --machine tpu\nWARPS = 8", "there are two machines, cpu and gpu; not 'tpu'"),
        ("%%task 1.1 --seed x\nWARPS = 8", "argument --seed: invalid int value"),
        ("%machine tpu", "there are two machines, cpu and gpu; not 'tpu'"),
        ("%lab", "%lab needs a name: 01_start"),
        ("%lab 9", "there is no lab '9'; choose one of: 01_start"),
    ],
)
def test_wrong_use_is_one_sentence(shell, line, why):
    text, _ = shell.cell(line)
    assert why in f"{text}{shell.error}"
    assert "Traceback" not in text


def test_a_cell_before_its_lab(lab, monkeypatch):
    monkeypatch.chdir(lab.path)
    shell = Shell(monkeypatch)
    shell.cell("%%task 1.1\nWARPS = 8")
    assert "which lab is this? Run the first cell, or %lab and its name" in str(shell.error)


def test_a_gpu_that_is_not_there_is_said(lab, shell, monkeypatch):
    def no_gpu(machine):
        raise GpukitError("no driver")

    monkeypatch.setattr("gpukit.devices.device", no_gpu)
    shell.cell("%machine gpu")
    assert "no GPU can be used here: no driver" in str(shell.error)
    assert "passed" in shell.cell("%%task 1.1\nWARPS = 8")[0]


def test_the_machine_is_the_one_that_was_chosen(lab, shell, monkeypatch):
    seen = []
    monkeypatch.setattr("gpukit.devices.device", lambda machine: None)
    real = running.run

    def run(lab, answer, seed, tests, machine):
        seen.append(machine)
        return real(lab, answer, seed, tests)

    monkeypatch.setattr("gpukit.labs.running.run", run)
    shell.cell("%%task 1.1 --machine gpu\nWARPS = 8")
    shell.cell("%%task 1.1\nWARPS = 8")
    shell.cell("%machine gpu")
    shell.cell("%%task 1.1\nWARPS = 8")
    assert seen == ["gpu", "cpu", "gpu"]


# --- in a real kernel ------------------------------------------------------------------------------------------------


def executed(lab: Lab, solution: bool, monkeypatch) -> str:
    """Text of all outputs of the lab's notebook, run from top to bottom; an error in a cell raises."""
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    notebook = build(lab, solution=solution)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(lab.path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    return "\n".join(output.get("text") or output["data"]["text/plain"] for output in outputs)


@pytest.mark.kernel
@pytest.mark.parametrize("real", REAL, ids=lambda lab: lab.name)
def test_the_solutions_notebook_passes_everything(real, monkeypatch):
    text = executed(real, True, monkeypatch)
    assert f"{real.name} [{'#' * len(real.tasks)}]" in text
    assert ", complete" in text
    assert "not started" not in text.partition("complete")[2]


@pytest.mark.kernel
@pytest.mark.parametrize("real", REAL, ids=lambda lab: lab.name)
def test_the_students_notebook_runs_and_nothing_is_started(real, monkeypatch):
    text = executed(real, False, monkeypatch)
    assert f"{real.name} [{'.' * len(real.tasks)}] 0 of" in text
    assert "failed" not in text


@pytest.mark.kernel
def test_in_a_students_tree(tmp_path, monkeypatch):
    root = write_labs(tmp_path, "01_start")
    lab = as_students_have_it(Lab(root / "01_start"))
    assert "01_start [...] 0 of 5 points" in executed(lab, False, monkeypatch)
