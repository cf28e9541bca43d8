"""Which file of a student is graded, whatever a platform, a browser or a student made of the folder."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpukit.errors import GpukitError
from gpukit.grading.collecting import DEEPEST, collect

LAB = "05_reduction"


def folder_of(tmp_path: Path, *names: str) -> Path:
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    return tmp_path


def chosen(tmp_path: Path, *names: str) -> dict[str, str]:
    """Student -> the file that is graded."""
    return {one.student: one.file for one in collect(folder_of(tmp_path, *names), LAB)}


def test_a_file_or_a_folder_for_each_student(tmp_path):
    found = chosen(tmp_path, "ada.py", "bob.cu", "cleo.ipynb", "dan/student.py", "eve/homework/answer.py", "notes.txt")
    assert found == {
        "ada": "ada.py",
        "bob": "bob.cu",
        "cleo": "cleo.ipynb",
        "dan": "dan/student.py",
        "eve": "eve/homework/answer.py",
    }


@pytest.mark.parametrize(
    ("names", "graded"),
    [
        (("ada/helper.py", "ada/student.py"), "ada/student.py"),
        (("ada/student.py", "ada/student (1).py", "ada/student (2).py"), "ada/student (2).py"),
        (("ada/student-2.py", "ada/student-10.py"), "ada/student-10.py"),
        (("ada/attempt-9/student.py", "ada/attempt-10/student.py"), "ada/attempt-10/student.py"),
        (
            ("ada/labs/05_reduction/student.py", "ada/labs/06_warp_primitives/student.py"),
            "ada/labs/05_reduction/student.py",
        ),
        (("ada/labs/05_reduction/student.py", "ada/labs/05_reduction/test_lab.py"), "ada/labs/05_reduction/student.py"),
        (("ada/05_reduction.ipynb", "ada/06_warp_primitives.ipynb"), "ada/05_reduction.ipynb"),
        (("ada/student.py", "ada/__pycache__/student.py", "ada/.backup/student (7).py"), "ada/student.py"),
    ],
)
def test_one_of_several_files(tmp_path, names, graded):
    (one,) = collect(folder_of(tmp_path, *names), LAB)
    assert one.file == graded
    visible = [name for name in names if "__pycache__" not in name and "/." not in name]
    assert bool(one.notes) == (len(visible) > 1)
    assert all("graded" in note for note in one.notes)


def test_the_choice_does_not_depend_on_the_order_of_files(tmp_path):
    names = [f"ada/student ({i}).py" for i in range(12)]
    first = chosen(tmp_path / "a", *names)
    second = chosen(tmp_path / "b", *reversed(names))
    assert first == second == {"ada": "ada/student (11).py"}


def test_a_folder_and_a_file_of_one_student_are_one_submission(tmp_path):
    (one,) = collect(folder_of(tmp_path, "ada.py", "ada/student.py"), LAB)
    assert one.file == "ada/student.py"
    assert one.notes == ("there is ada.py too",)


def test_links_are_not_followed(tmp_path):
    folder = folder_of(tmp_path, "ada/readme.txt", "zoe.py")
    (folder / "bob.py").symlink_to("/etc/passwd")
    (folder / "ada" / "student.py").symlink_to("../zoe.py")
    (folder / "dan").symlink_to("/etc")
    found = {one.student: one for one in collect(folder, LAB)}
    assert [name for name, one in found.items() if one.path is not None] == ["zoe"]
    assert "links are not followed" in found["bob"].problem
    assert "links are not followed" in found["dan"].problem
    assert "student.py: is a link" in found["ada"].problem


def test_what_is_no_plain_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "ada.py")
    (tmp_path / "bob").mkdir()
    os.mkfifo(tmp_path / "bob" / "student.py")
    ada, bob = collect(tmp_path, LAB)
    assert ada.problem == "this is no plain file"
    assert "student.py: is no plain file" in bob.problem


def test_archives_are_named(tmp_path):
    (one,) = collect(folder_of(tmp_path, "ada.zip"), LAB)
    assert "unpack it" in one.problem


def test_deep_nesting_ends(tmp_path):
    deep = "/".join(["x"] * 60)
    (one,) = collect(folder_of(tmp_path, f"ada/{deep}/student.py"), LAB)
    assert one.path is None
    assert f"deeper than {DEEPEST} folders" in one.problem


def test_many_entries_end(tmp_path):
    (tmp_path / "ada").mkdir()
    for i in range(2_100):
        (tmp_path / "ada" / f"file{i}.py").touch()
    (one,) = collect(tmp_path, LAB)
    assert one.path is not None
    assert any("the rest was not looked at" in note for note in one.notes)


def test_an_empty_folder_of_a_student(tmp_path):
    (tmp_path / "ada").mkdir()
    (one,) = collect(tmp_path, LAB)
    assert one.problem == "the folder holds no file .py, .cu or .ipynb"


def test_late_ones_are_noted(tmp_path):
    folder = folder_of(tmp_path, "ada.py", "bob.py")
    deadline = datetime(2026, 11, 30, 12, tzinfo=UTC)
    for name, late in (("ada.py", -60), ("bob.py", 90_060)):
        os.utime(folder / name, (deadline.timestamp() + late,) * 2)
    ada, bob = collect(folder, LAB, deadline)
    assert ada.notes == ()
    assert bob.notes == ("late by 1 d 1 h 1 min",)


@pytest.mark.parametrize("name", ["-rf", "a b", "Ünal, Ada", "=cmd()", "🦊", "x" * 200])
def test_strange_names_are_names(tmp_path, name):
    (one,) = collect(folder_of(tmp_path, f"{name}/student.py"), LAB)
    assert one.student == name


def test_no_folder_and_nothing_in_it(tmp_path):
    with pytest.raises(GpukitError, match="there is no folder"):
        collect(tmp_path / "nowhere", LAB)
    with pytest.raises(GpukitError, match="holds no submission"):
        collect(tmp_path, LAB)
