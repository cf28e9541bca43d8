"""A folder of submissions: one record each whatever happens, the same bytes twice, and nothing is graded again for
nothing."""

import json
import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from lab_fixtures import write_labs

from gpukit.cli import cli, main
from gpukit.errors import GpukitError
from gpukit.grading import batch, collecting, one, record
from gpukit.labs.errors import LabError
from gpukit.labs.folders import Lab

SOLUTION = "solution.py"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(write_labs(tmp_path) / "01_start")


@pytest.fixture
def submissions(tmp_path: Path, lab: Lab) -> Path:
    """Right, untouched, with a mistake, endless, half a file, not text, nothing."""
    folder = tmp_path / "submissions"
    right = (lab.path / SOLUTION).read_text()
    texts = {
        "ada": right,
        "bob": (lab.path / "student.py").read_text(),
        "cleo": right.replace("if i < x.size:", "if True:"),
        "dan": right.replace("i = cuda.grid(1)", "while True:\n        pass"),
        "eve": right[: right.index("return (n")] + "return (",
        "fay": "import os\n" + right,
    }
    for student, text in texts.items():
        (folder / student).mkdir(parents=True)
        (folder / student / "student.py").write_text(text)
    (folder / "gus.py").write_bytes(b"\xff\xfe\x00\x01" * 10)
    (folder / "hal").mkdir()
    return folder


def grade(lab: Lab, submissions: Path, out: Path, **options) -> dict[str, record.Record]:
    found = collecting.collect(submissions, lab.name)
    made = batch.grade(lab, found, out, batch.seed_of(lab), **options)
    return {one.student: one for one in made}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_submission_has_its_record(lab, submissions, tmp_path):
    made = grade(lab, submissions, tmp_path / "out")
    assert {student: (one.status, one.points) for student, one in made.items()} == {
        "ada": ("graded", 5),
        "bob": ("graded", 0),
        "cleo": ("graded", 3),  # 1,024 elements are no problem without a guard: the cost test passes
        "dan": ("graded", 2),
        "eve": ("refused", 0),
        "fay": ("refused", 0),
        "gus": ("unreadable", 0),
        "hal": ("missing", 0),
    }
    assert all(one.complete and one.max_points == 5 and len(one.items) == 4 for one in made.values())
    assert {item.status for item in made["bob"].items} == {"not started"}
    assert "oob_global_read" in made["cleo"].items[1].message
    assert "does not end" in made["dan"].items[1].message
    assert "os" in made["fay"].reason and "line 1" in made["fay"].reason
    assert made["hal"].reason == "the folder holds no file .py, .cu or .ipynb"
    for one_record in made.values():
        assert str(tmp_path) not in json.dumps(record.to_dict(one_record))


def test_two_runs_give_the_same_bytes(lab, submissions, tmp_path):
    grade(lab, submissions, tmp_path / "a", jobs=2)
    grade(lab, submissions, tmp_path / "b", jobs=1)
    assert files(tmp_path / "a") == files(tmp_path / "b")


@pytest.fixture
def graded(monkeypatch) -> list[str]:
    """The students whose submissions are graded: in this process, which is quicker, and one at a time."""
    students: list[str] = []

    def in_this_process(lab, submission, seed, *rest):
        students.append(submission.student)
        return one.graded(
            lab, submission.student, submission.path, seed, submission.file, submission.notes, submission.problem
        )

    monkeypatch.setattr(batch, "_in_child", in_this_process)
    monkeypatch.setattr(batch, "cores", lambda: 1)
    return students


def test_a_batch_goes_on_where_it_was(lab, submissions, tmp_path, graded):
    out = tmp_path / "out"
    first = grade(lab, submissions, out)
    assert len(graded) == 8
    graded.clear()
    assert grade(lab, submissions, out) == first
    assert graded == []
    (out / "records" / "ada.json").unlink()
    (submissions / "bob" / "student.py").write_text((lab.path / SOLUTION).read_text())
    (out / "records" / "cleo.json").write_text("{")
    again = grade(lab, submissions, out)
    assert sorted(graded) == ["ada", "bob", "cleo"]
    assert again["bob"].points == 5
    graded.clear()
    grade(lab, submissions, out, again=True)
    assert len(graded) == 8


def test_another_lab_seed_or_version_of_the_lab_is_graded_anew(lab, submissions, tmp_path, graded):
    out = tmp_path / "out"
    grade(lab, submissions, out)
    graded.clear()
    batch.grade(lab, collecting.collect(submissions, lab.name), out, 7)
    assert len(graded) == 8
    tests = lab.path / "test_lab.py"
    tests.write_text(tests.read_text() + "\n# changed\n")
    graded.clear()
    batch.grade(Lab(lab.path), collecting.collect(submissions, lab.name), out, 7)
    assert len(graded) == 8
    with pytest.raises(GpukitError, match="holds the grades of 01_start"):
        grade(Lab(lab.path.parent / "02_sum"), submissions, out)


def test_a_stopped_batch_keeps_what_it_has(lab, submissions, tmp_path, graded):
    out = tmp_path / "out"
    saved: list[str] = []

    def stop_after_three(student: str, done: int, total: int) -> None:
        if student:
            saved.append(student)
        if len(saved) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade(lab, submissions, out, progress=stop_after_three)
    assert len(list((out / "records").glob("*.json"))) == 3
    graded.clear()
    assert len(grade(lab, submissions, out)) == 8
    assert sorted(graded) == sorted({"ada", "bob", "cleo", "dan", "eve", "fay", "gus", "hal"} - set(saved))


def test_what_takes_too_long_is_stopped_and_tried_again(lab, submissions, tmp_path):
    began = time.monotonic()
    made = grade(lab, submissions, tmp_path / "out", seconds=0.01)
    assert time.monotonic() - began < 20
    assert {one.status for one in made.values()} == {"stopped"}
    assert made["ada"].reason == "grading took longer than 0.01 s and was stopped"
    assert made["ada"].score == 0
    assert grade(lab, submissions, tmp_path / "out")["ada"].points == 5


@pytest.mark.parametrize(
    ("child", "reason"),
    [
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
        ("print('{}')", "exit code 0"),
        ("print('x' * 100)", "exit code 0"),
        ("raise MemoryError", "more memory than a submission may have"),
    ],
)
def test_a_child_without_a_record_scores_nothing(lab, submissions, tmp_path, monkeypatch, child, reason):
    monkeypatch.setattr(batch, "CHILD", ("-c", child))
    made = grade(lab, submissions, tmp_path / "out")
    assert {(one.status, one.points) for one in made.values()} == {("stopped", 0)}
    assert reason in made["ada"].reason


def test_no_grade_rests_on_a_broken_lab(lab, submissions, tmp_path):
    (lab.path / SOLUTION).write_text((lab.path / SOLUTION).read_text().replace("WARPS = 8", "WARPS = 9"))
    with pytest.raises(LabError, match="the solution fails test_1_1_warps"):
        grade(lab, submissions, tmp_path / "out")


def test_cpp_is_taken_where_the_lab_has_it(tmp_path):
    pytest.importorskip("cuda.bindings.nvrtc")
    root = write_labs(tmp_path)
    text = (root / "02_sum" / "solution.cu").read_text()
    path = tmp_path / "student.cu"
    path.write_text(text)
    made = one.graded(Lab(root / "02_sum"), "ada", path, 1)
    assert (made.status, made.points, made.submission.language) == ("graded", 3, "CUDA C++")
    made = one.graded(Lab(root / "01_start"), "ada", path, 1)
    assert made.reason == "01_start takes Python; this is CUDA C++"
    path.write_text(text.replace("// Lab 2: Sum.", '#include "/etc/passwd"'))
    made = one.graded(Lab(root / "02_sum"), "ada", path, 1)
    assert made.status == "refused" and "#include" in made.reason and made.points == 0


# --- the command -----------------------------------------------------------------------------------------------------


def grading(lab, submissions, out):
    """The words of the command."""
    return ["grade", str(submissions), "--lab", "1", "--labs", str(lab.path.parent), "--out", str(out)]


def test_the_command_writes_everything_twice_alike(lab, submissions, tmp_path):
    arguments = grading(lab, submissions, tmp_path / "out")
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "4 graded, 1 missing, 2 refused, 1 unreadable" in done.output
    assert "fay: refused, line 1" in done.output
    first = files(tmp_path / "out")
    assert {"gradebook.csv", "junit.xml", "summary.html", "leaderboard.csv", "feedback/ada.html"} <= set(first)
    again = CliRunner().invoke(cli, [*arguments, "--again"], catch_exceptions=False)
    assert again.output == done.output
    assert files(tmp_path / "out") == first


def test_wrong_use_is_a_sentence(lab, submissions, tmp_path, capsys):
    labs = ["--labs", str(lab.path.parent)]
    for arguments, said in (
        ([str(tmp_path / "nowhere"), "--lab", "1", "--out", str(tmp_path / "o"), *labs], "there is no folder"),
        ([str(submissions), "--lab", "9", "--out", str(tmp_path / "o"), *labs], "there is no lab '9'"),
        ([str(submissions), "--lab", "1", "--out", str(submissions / "gus.py"), *labs], "it is a file; name a folder"),
        (
            [str(submissions), "--lab", "1", "--out", str(tmp_path / "o"), "--labs", str(submissions)],
            "there are no labs",
        ),
    ):
        assert main(["grade", *arguments]) == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_a_gradebook_of_canvas_is_filled(lab, submissions, tmp_path):
    book = tmp_path / "book.csv"
    book.write_text("Student,ID,SIS Login ID,Section,Lab 1: Start (1)\n,,,,\nAda L,1,ada,a,\nZoe,2,zoe,a,\n")
    arguments = grading(lab, submissions, tmp_path / "out")
    done = CliRunner().invoke(cli, [*arguments, "--gradebook", str(book)], catch_exceptions=False)
    assert done.exit_code == 0
    assert "Ada L,1,ada,a,5" in (tmp_path / "out" / "canvas.csv").read_text()
    assert "bob" in done.output


def test_the_autograder_of_gradescope(lab, tmp_path):
    arguments = ["autograder", "1", "--labs", str(lab.path.parent), "--to", str(tmp_path / "lab1.zip")]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    with zipfile.ZipFile(tmp_path / "lab1.zip") as made:
        assert {"setup.sh", "run_autograder"} <= set(made.namelist())
