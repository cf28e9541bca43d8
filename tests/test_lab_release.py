"""`gpukit release`: students' files from solutions, their tree, and everything that must not get out or get old."""

import json
import shutil

import pytest
from lab_fixtures import FILES, write_labs

from gpukit import cli
from gpukit.errors import GpukitError
from gpukit.labs import answers, folders, references, regions, release, running
from gpukit.labs.errors import LabError

ANSWER = "if i < x.size:\n        y[i] = min(max(x[i], low), high)\n"


@pytest.fixture
def labs(tmp_path):
    """01_start with all that is generated."""
    root = write_labs(tmp_path, "01_start")
    release.update(root)
    return root


def faults(root):
    return list(release.faults(root))


def change(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


# --- generated files -------------------------------------------------------------------------------------------------


def test_what_is_generated_is_made_once(tmp_path):
    root = write_labs(tmp_path, "01_start")
    (root / "01_start" / "student.py").unlink()
    assert {path.name for path in release.update(root)} == {"student.py", "reference.json"}
    assert release.update(root) == [] and faults(root) == []
    assert (root / "01_start" / "student.py").read_text() == regions.skeleton(
        FILES["01_start/solution.py"], "solution.py"
    )
    recorded = json.loads((root / "01_start" / "reference.json").read_text())
    assert recorded["seed"] == references.RECORDED_SEED
    (launch,) = recorded["counters"]["Python"]["test_1_2_cost"]
    assert launch["global_load_sectors"] == 128


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("student.py", "TODO 1.2", "TODO 1.4", "student.py: is not the solution minus its regions"),
        ("reference.json", "128", "129", "reference.json: is not"),
        ("README.md", "* **1.2** keep each", "* **1.2** hold each", "README.md: has no line `* **1.2** keep each"),
        ("README.md", "* **1.3** round", "* **1.4** round", "README.md: task 1.4 is not in the solution"),
        ("test_lab.py", "def test_1_3_blocks", "def no_test_1_3_blocks", "test_lab.py: nothing tests task 1.3"),
        ("test_lab.py", '    """What is left over?"""\n', "", "test_1_3_blocks has no hint (its docstring)"),
        ("solution.py", "WARPS = 8", "WARPS = 9", "the solution does not pass test_1_1_warps"),
        ("solution.py", "    # END SOLUTION\n", "", "begins inside the one of line"),
        ("solution.py", "low), high)", "low), top)", "the solution does not pass test_1_2_right"),
    ],
)  # fmt: skip
def test_labs_with_a_fault_are_not_given_out(labs, tmp_path, name, old, new, fault):
    change(labs / "01_start" / name, old, new)
    found = faults(labs)
    assert any(fault in sentence for sentence in found), found
    with pytest.raises(GpukitError, match="the labs cannot be given out"):
        release.release(labs, tmp_path / "course")
    assert not (tmp_path / "course").exists()


def test_a_missing_file_is_a_fault(labs):
    (labs / "01_start" / "student.py").unlink()
    (sentence,) = faults(labs)
    assert sentence.endswith("student.py: is missing; make it with gpukit release")


# --- the students' tree ----------------------------------------------------------------------------------------------


def test_the_tree_has_no_answer_and_works(labs, tmp_path):
    written = release.release(labs, tmp_path / "course")
    names = {path.relative_to(tmp_path / "course").as_posix() for path in written}
    assert {"README.md", "pytest.ini", "labs/conftest.py", "labs/01_start/student.py"} <= names
    assert not [name for name in names if "solution" in name or "wrong" in name]
    lab = folders.Lab(tmp_path / "course" / "labs" / "01_start")
    assert not lab.has_solution and lab.tasks == folders.Lab(labs / "01_start").tasks
    lab.file("student").write_text(FILES["01_start/solution.py"])
    with answers.answer(lab) as answer:
        assert {outcome.status for outcome in running.run(lab, answer, 3)} == {running.PASSED}


def test_nothing_that_is_there_is_overwritten(labs, tmp_path):
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "mine.txt").touch()
    with pytest.raises(GpukitError, match="is there already: name a new folder"):
        release.release(labs, tmp_path / "course")
    assert [path.name for path in (tmp_path / "course").iterdir()] == ["mine.txt"]


# --- leaks -----------------------------------------------------------------------------------------------------------


def leaks(labs, tree):
    return list(release.leaks(folders.find_labs(labs), tree))


def test_an_answer_in_given_code_stops_the_release(labs, tmp_path):
    given = labs / "01_start" / "given.py"
    given.write_text(given.read_text() + "\n\n@cuda.jit\ndef k(x, y, low, high):\n    i = cuda.grid(1)\n    " + ANSWER)
    with pytest.raises(GpukitError, match=r"an answer would get out(.|\n)*given\.py: holds the answer to task 1\.2"):
        release.release(labs, tmp_path / "course")
    assert not (tmp_path / "course").exists()


@pytest.mark.parametrize("name", ["slides.md", "deep/notes.txt", "page.html"])
def test_an_answer_in_any_text_is_found(labs, tmp_path, name):
    path = tmp_path / "tree" / name
    path.parent.mkdir(parents=True)
    path.write_text("before\n\n  i = cuda.grid(1)\n\n  # a comment between\n  " + ANSWER + "after\n")
    (found,) = leaks(labs, tmp_path / "tree")
    assert f"{name}: holds the answer to task 1.2 (01_start/solution.py:" in found


def test_an_answer_in_a_notebook_is_found(labs, tmp_path):
    (tmp_path / "tree").mkdir()
    lines = ("i = cuda.grid(1)\n" + ANSWER).splitlines(keepends=True)
    (tmp_path / "tree" / "a.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": lines}]}))
    assert len(leaks(labs, tmp_path / "tree")) == 1
    for text in ("", "[]", '{"cells": [1]}'):
        (tmp_path / "tree" / "a.ipynb").write_text(text)
        assert leaks(labs, tmp_path / "tree") == []


def test_the_instructors_files_are_found(labs, tmp_path):
    tree = tmp_path / "tree"
    (tree / "wrong").mkdir(parents=True)
    shutil.copy(labs / "01_start" / "solution.py", tree)
    (tree / "a.pyc").touch()
    found = leaks(labs, tree)
    assert len([sentence for sentence in found if "belongs to the instructor" in sentence]) == 3


def test_what_students_have_is_no_leak(labs, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(labs, tree, ignore=shutil.ignore_patterns("solution.*", "wrong", "__pycache__"))
    assert leaks(labs, tree) == []


def test_labs_without_regions_prove_nothing(labs, tmp_path):
    (labs / "01_start" / "solution.py").write_text("WARPS = 8\n")
    with pytest.raises(LabError, match="no tagged region"):
        leaks(labs, tmp_path)


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command(labs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["release"]) == 0
    assert "every student file is the solution's" in capsys.readouterr().out
    assert cli.main(["release", "--check"]) == 0
    assert "1 labs can be given out" in capsys.readouterr().out
    change(labs / "01_start" / "student.py", "TODO 1.2", "TODO 1.4")
    assert cli.main(["release", "--check"]) == 1
    assert capsys.readouterr().out.endswith("1 fault(s)\n")
    assert cli.main(["release", "--to", "course"]) == 0
    assert "course: " in capsys.readouterr().out
    assert cli.main(["release", "--to", "course"]) == 1
    assert "name a new folder" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path, monkeypatch):
    root = write_labs(tmp_path)
    release.update(root)

    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(tmp_path), "write_bytes", full)
    with pytest.raises(GpukitError, match=r"cannot write .*README\.md: No space left on device; name another place"):
        release.release(root, tmp_path / "course")
