"""A new lab is one folder: the template, copied and given a number, works everywhere without an edit anywhere else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpukit import cli
from gpukit.labs import answers, overlay, running
from gpukit.labs.folders import Lab, find_labs

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "labs" / "template"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A folder with labs/42_mine, and the template beside it."""
    (tmp_path / "labs").mkdir()
    shutil.copy(ROOT / "labs" / "conftest.py", tmp_path / "labs")
    for name in ("42_mine", "template"):
        shutil.copytree(TEMPLATE, tmp_path / "labs" / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for the processes that grade
    return tmp_path


def run(capsys, *arguments):
    """(exit code, all that is printed) of the command line."""
    code = cli.main([*map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_the_template_is_no_lab_itself():
    assert "template" not in [lab.name for lab in find_labs(ROOT / "labs")]
    assert {path.name for path in TEMPLATE.iterdir() if path.name != "__pycache__"} == {
        *("README.md", "given.py", "solution.py", "test_lab.py", "wrong"),
    }


def test_adding_a_lab_needs_one_folder(course, capsys):
    code, out = run(capsys, "release", "--check")
    assert code == 1 and "42_mine" in out and "is missing; make it with gpukit release" in out

    assert run(capsys, "release")[0] == 0
    assert run(capsys, "release", "--check") == (0, "1 labs can be given out\n")

    code, out = run(capsys, "release", "--to", "course")
    assert code == 0
    given = {path.name for path in (course / "course" / "labs" / "42_mine").iterdir()}
    assert {"README.md", "given.py", "reference.json", "student.py", "test_lab.py"} <= given
    assert not given & {"solution.py", "wrong"}
    student = (course / "course" / "labs" / "42_mine" / "student.py").read_text()
    assert "For authors" not in student and "REQUESTS = ...  # TODO 42.1: " in student

    (course / "submissions").mkdir()
    shutil.copy(TEMPLATE / "solution.py", course / "submissions" / "ada.py")
    (course / "submissions" / "bob.py").write_text(student)
    code, out = run(capsys, "grade", "submissions", "--lab", "mine", "--out", "graded", "--weak-sandbox")
    assert code == 0 and "2 graded" in out
    records = [json.loads(path.read_text()) for path in sorted((course / "graded" / "records").glob("*.json"))]
    assert [(record["student"], record["points"]) for record in records] == [("ada", 5.0), ("bob", 0.0)]


def test_pytest_grades_the_new_lab_and_not_the_template(course):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    (course / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider\n")
    command = [sys.executable, "-m", "pytest", "labs/", "--impl", "solution"]
    found = subprocess.run(command, cwd=course, env=env, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stdout
    assert "42_mine               [###] 5 of 5 points, complete" in found.stdout
    assert "template" not in found.stdout


def test_its_wrong_answers_fail_as_they_say(course):
    lab = Lab(course / "labs" / "42_mine")
    assert len(lab.wrong) == 3
    for name, path in lab.wrong.items():
        fails = overlay.laid_over(path, lab.solution()).fails
        with answers.answer(lab, f"wrong/{name}") as answer:
            found = {outcome.test.name: outcome for outcome in running.run(lab, answer, 1)}
        assert {test for test, outcome in found.items() if outcome.status != running.PASSED} == set(fails)
        assert all(shown in str(found[test].finding) for test, shown in fails.items())


def test_another_number_must_be_in_the_tasks_too(course, capsys):
    (course / "labs" / "42_mine").rename(course / "labs" / "07_mine")
    run(capsys, "release")
    code, out = run(capsys, "release", "--check")
    assert code == 1 and "task 42.1 is none of lab 7: number the tasks N.k" in out
