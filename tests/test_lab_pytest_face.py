"""`pytest labs/` as a student meets it: what it prints, in which order, and its exit codes."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from family_runs import needs_compiler
from lab_fixtures import FILES, write_labs

from gpukit import gpu

ROOT = Path(__file__).parents[1]
SOLVED = FILES["01_start/solution.py"]


@pytest.fixture
def course(tmp_path):
    write_labs(tmp_path, "01_start")
    return tmp_path


def run(folder, *arguments):
    """(exit code, output) of pytest in a fresh course's folder."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1", "PYTEST_ADDOPTS": ""}
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\nfilterwarnings = error\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    found = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in found.stdout + found.stderr
    assert "gpukit/labs/" not in found.stdout, "no frame from inside gpukit"
    return found.returncode, found.stdout + found.stderr


def write_student(folder, text, lab="01_start", name="student.py"):
    (folder / "labs" / lab / name).write_text(text, encoding="utf-8")


def test_a_fresh_course_says_what_is_to_be_done_and_where(tmp_path):
    write_labs(tmp_path)
    code, out = run(tmp_path, "labs/")
    assert code == 0
    assert "7 skipped" in out and "failed" not in out
    progress = [line for line in out.partition(" progress =")[2].splitlines()[1:-1] if line]
    assert progress == [
        "01_start              [...] 0 of 5 points",
        "  labs/01_start/student.py:5: task 1.1 is not started: how many warps has a block of 256 threads",
        "      hint: How many lanes has a warp?",
        "  labs/01_start/student.py:11: task 1.2 is not started: keep each value between low and high",
        "      hint: Which thread has nothing to do?",
        "  labs/01_start/student.py:16: task 1.3 is not started: round the number of blocks up",
        "      hint: What is left over?",
        "  next: task 1.1, how many warps has a block of 256 threads",
        "02_sum                [...] 0 of 3 points, not started: pytest labs/02_sum",
    ]


def test_a_finished_lab(course):
    write_student(course, SOLVED)
    code, out = run(course, "labs/")
    assert code == 0
    assert "01_start              [###] 5 of 5 points, complete" in out
    assert "4 passed" in out and "hint" not in out


def test_a_wrong_answer(course):
    write_student(course, SOLVED.replace("if i < x.size", "if i < x.size - 1"))
    code, out = run(course, "labs/01_start", "--seed", "7")
    assert code == 1
    assert "01_start              [#x#] 2 of 5 points" in out and "2 failed, 2 passed" in out
    text = out[out.index("test_1_2_right _") :]
    parts = [
        "task 1.2, keep each value between low and high",
        "labs/01_start/student.py: wrong answer",
        "  call      clip[1, 128](x: float32[1], y: float32[1], low=-2, high=3)",
        "  input     n = 1",
        "  got       y[0] = nan",
        "  expected  y[0] = ",
        "  where     no thread wrote it",
        "  hint      Which thread has nothing to do?",
        "  again     pytest labs/01_start -k test_1_2_right --seed 7",
        "  next: task 1.2, keep each value between low and high",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places), "in this order"
    assert max(map(len, text.splitlines())) < 200


def test_the_command_for_seeing_it_again_shows_the_same(course):
    write_student(course, SOLVED.replace("y[i] = min(max(x[i], low), high)", "y[i] = x[i]"))
    _, first = run(course, "labs/01_start", "-k", "test_1_2_right")
    again = re.search(r"again +pytest (.*)", first)[1]
    _, second = run(course, *again.split())
    failure = first[first.index("task 1.2, keep") : first.index(" progress ")]
    assert "got       y[" in failure and failure in second


def test_a_syntax_error_is_one_sentence(course):
    for change, sentence in (
        (("low, high):", "low, high)"), "student.py:11: this is not valid Python: expected ':'"),
        (("low, high):", "low, high:"), "student.py:11: this is not valid Python: '(' was never closed"),
        (("    i = cuda", "  i = cuda"), "student.py:14: this is not valid Python: unindent does not match"),
    ):
        write_student(course, SOLVED.replace(*change))
        code, out = run(course, "labs/01_start")
        assert code == 1
        assert f"labs/01_start/{sentence}" in out and f"  next: labs/01_start/{sentence}" in out
        assert out.count(sentence) == 2, "in full once, and at the end"
        assert "ERROR" not in out and "4 failed" in out


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("def clip", "def clamp"), "there is no kernel `clip` here"),
        (
            ("def clip", "def clipp"),
            "there is no kernel `clip` here, and the tests launch it by that name; did you mean clipp",
        ),
        (("WARPS = 8", "WARP = 8"), "there is no constant `WARPS` here: write WARPS = your answer"),
        (("def blocks_for", "@cuda.jit(device=True)\ndef blocks_of"), "has no function `blocks_for`"),
        (("if i < x.size", "if i < size"), "student.py:15: the kernel cannot be run: the name `size` is not defined"),
        (("(n + threads - 1) // threads", "undefined"), "NameError: name 'undefined' is not defined"),
        (("import cuda", "import cuda\nimport os"), "student.py:4: "),
        (("import cuda", "import cuda\nprint(1)"), "student.py:4: "),
    ],
)
def test_what_is_missing_or_too_much_is_a_sentence(course, change, sentence):
    text = SOLVED.replace(*change)
    assert text != SOLVED
    write_student(course, text)
    code, out = run(course, "labs/01_start")
    assert code == 1
    assert sentence in out


def test_a_missing_file_is_a_sentence(course):
    (course / "labs" / "01_start" / "student.py").unlink()
    code, out = run(course, "labs/01_start")
    assert code == 1
    assert "labs/01_start/student.py: this file is missing" in out


def test_a_test_that_breaks_on_an_answer_is_a_sentence(course):
    path = course / "labs" / "01_start" / "test_lab.py"
    path.write_text(path.read_text().replace('lab.expect(f"blocks_for{call}", got, ', "print(got + "))
    write_student(course, SOLVED.replace("(n + threads - 1) // threads", "'many'"))
    code, out = run(course, "labs/01_start")
    assert code == 1
    assert "the test cannot use what the answer gives: TypeError" in out


def test_task_by_task(course):
    """A task done leaves the others as they are, and the next one is named."""
    skeleton = (course / "labs" / "01_start" / "student.py").read_text()
    write_student(course, skeleton.replace("WARPS = ...", "WARPS = 8"))
    code, out = run(course, "labs/")
    assert code == 0 and "[#..] 1 of 5 points" in out and "next: task 1.2" in out
    assert "1 passed, 3 skipped" in out


def test_verbose_skips_name_the_place(course):
    _, out = run(course, "labs/", "-rs")
    assert "next: task 1.1" in out


def test_junitxml(course):
    write_student(course, SOLVED.replace("WARPS = 8", "WARPS = 9").replace("if i < x.size", "if i < 1"))
    code, _ = run(course, "labs/", "--junitxml", "report.xml")
    assert code == 1
    cases = {case.get("name"): case for case in ElementTree.parse(course / "report.xml").iter("testcase")}
    assert len(cases) == 4
    assert "another number was counted" in cases["test_1_1_warps"].find("failure").text
    assert cases["test_1_3_blocks"].find("failure") is None


def test_skips_in_junitxml(course):
    run(course, "labs/", "--junitxml", "report.xml")
    skips = list(ElementTree.parse(course / "report.xml").iter("skipped"))
    assert len(skips) == 4 and "task 1.1 is not started" in skips[0].get("message")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--seed", "-1"), "a seed is a whole number from 0 on, not '-1'"),
        (("--seed", "x"), "a seed is a whole number"),
        (("--language", "rust"), "invalid choice"),
        (("--machine", "tpu"), "invalid choice"),
    ],
)
def test_wrong_options_are_usage_errors(course, arguments, sentence):
    code, out = run(course, "labs/", *arguments)
    assert code == 4 and sentence in out


def test_the_answers_of_instructors(course):
    assert run(course, "labs/", "--impl", "solution")[0] == 0
    code, out = run(course, "labs/", "--impl", "skeleton")
    assert code == 0 and "4 skipped" in out
    code, out = run(course, "labs/", "--impl", "wrong/no_guard")
    assert code == 1 and "1 failed, 3 passed" in out and "oob_global_read" in out
    for impl, sentence in (("wrong/nothing", "has no wrong answer 'nothing'; it has: apart, no_guard, quiz"),
                           ("another", "there is no answer 'another'")):  # fmt: skip
        code, out = run(course, "labs/", "--impl", impl)
        assert code == 1 and sentence in out
    (course / "labs" / "01_start" / "solution.py").unlink()
    code, out = run(course, "labs/", "--impl", "solution")
    assert code == 1 and "there is no solution of 01_start here: students' folders have none" in out


@needs_compiler
def test_the_language_that_was_begun(tmp_path):
    write_labs(tmp_path, "02_sum")
    write_student(tmp_path, FILES["02_sum/solution.cu"], "02_sum", "student.cu")
    code, out = run(tmp_path, "labs/")
    assert code == 0 and "[###] 3 of 3 points, complete" in out
    code, out = run(tmp_path, "labs/", "--language", "python")
    assert code == 0 and "[...] 0 of 3 points" in out


def test_one_broken_lab_does_not_stop_the_others(tmp_path):
    write_labs(tmp_path)
    write_student(tmp_path, "def f(:\n", "02_sum")
    write_student(tmp_path, SOLVED)
    code, out = run(tmp_path, "labs/")
    assert code == 1
    assert "01_start              [###] 5 of 5 points, complete" in out
    assert "labs/02_sum/student.py:1: this is not valid Python" in out


def test_no_gpu_is_said_once(course):
    if not gpu.missing():
        pytest.skip("this computer has a GPU")
    code, said = run(course, "labs", "--machine", "gpu")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert said.count("there is no NVIDIA driver") == 1
