"""A file as an answer: what is in it, what is missing, what is refused, and which language was begun."""

import ast

import pytest
from family_runs import needs_compiler
from lab_fixtures import FILES, outcomes, student, write_lab, write_labs

from gpukit.errors import GpukitError
from gpukit.labs import answers, overlay, regions, running
from gpukit.labs.errors import AnswerRefused, LabError
from gpukit.labs.folders import find_lab, find_labs, find_root
from gpukit.labs.holes import cpp_functions, holes

START, SUM, SUM_CPP = FILES["01_start/solution.py"], FILES["02_sum/solution.py"], FILES["02_sum/solution.cu"]


def skeleton(text, file="solution.py"):
    return regions.skeleton(text, file)


# --- holes -----------------------------------------------------------------------------------------------------------


def test_a_skeleton_is_all_holes_and_its_solution_has_none(tmp_path):
    for lab in find_labs(write_labs(tmp_path)):
        for language in lab.languages:
            with answers.answer(lab, answers.SKELETON, language) as found:
                assert {hole.task for hole in found.holes} == set(lab.tasks)
            with answers.answer(lab, answers.SOLUTION, language) as found:
                assert not found.holes and found.open_constant("1.1") is None


@pytest.mark.parametrize("language", [regions.PYTHON, pytest.param(regions.CPP, marks=needs_compiler)])
def test_a_kernel_waits_for_the_function_it_calls(tmp_path, language):
    """Task 2.2's function is open, and a kernel outside of all tasks needs it."""
    lab = write_lab(tmp_path, "02_sum")
    with answers.answer(lab, answers.SKELETON, language) as found:
        assert found.hole_under("plus").task == "2.2"
        assert found.hole_under("add").task == "2.2"
        assert found.hole_under("total").task == "2.3"
        assert found.hole_under("nothing") is None


def test_a_kernel_waits_for_the_constant_it_uses(tmp_path):
    lab = write_lab(tmp_path, "02_sum")
    text = SUM.replace("LANES = 32", "LANES = ...  # TODO 2.1: the lanes of a warp").replace(
        "x[i])\n", "x[i] * LANES)\n"
    )
    with student(lab, text) as found:
        assert found.hole_under("total").task == "2.1"
        assert found.hole_under("add") is None
        status = {o.test.name: o.status for o in running.run(lab, found, 1)}
    assert status == {
        "test_2_1_lanes": running.NOT_STARTED,
        "test_2_2_add": running.PASSED,
        "test_2_3_total": running.NOT_STARTED,
    }


def test_functions_that_call_each_other_are_followed_once(tmp_path):
    lab = write_lab(tmp_path)
    function = "@cuda.jit(device=True)\ndef {}(x):\n    return {}(x)\n"
    text = "from gpukit import cuda\n\n\n" + function.format("f", "g") + function.format("g", "f")
    with student(lab, text) as found:
        assert found.hole_under("f") is None


def test_one_of_several_holes_is_enough(tmp_path):
    lab = write_lab(tmp_path)
    text = START.replace("WARPS = 8", "WARPS = 8\nMORE = ...  # TODO 1.1: how many warps has a block of 256 threads")
    with student(lab, text) as found:
        assert found.open_constant("1.1").name == "MORE"


def test_a_function_can_be_tried_before_the_others_of_its_task(tmp_path):
    lab = write_lab(tmp_path)
    todo = 'raise NotImplementedError("TODO 1.1: how many warps has a block of 256 threads")'
    function = "@cuda.jit\ndef {}(x):\n    {}\n"
    with student(
        lab, "from gpukit import cuda\n" + function.format("f", "x[0] = 1") + function.format("g", todo)
    ) as found:
        assert found.open_constant("1.1") is None
        assert found.hole_under("f") is None and found.hole_under("g").name == "g"


@pytest.mark.parametrize(
    "line",
    [
        'raise NotImplementedError("later")',
        "raise NotImplementedError",
        'raise ValueError("TODO 1.2: a")',
        'x = "TODO 1.2: a"',
        "# TODO 1.2: a",
    ],
)
def test_what_is_no_hole(line):
    assert not holes(f"def f(x):\n    {line}\n", "student.py", regions.PYTHON)
    assert not holes("WARPS = 8  # TODO 1.1: a\n", "student.py", regions.PYTHON)
    assert not holes("constexpr int WARPS = 8;  // TODO 1.1: a\n", "student.cu", regions.CPP)


def test_a_file_that_does_not_parse_has_no_holes():
    for text in ("def f(:\n", "\0", "x = " + "(" * 500):
        assert holes(text, "student.py", regions.PYTHON) == []


def test_functions_of_cpp():
    text = """#include <cuda.h>
    constexpr int N = 4; // not f() {
    struct S { int x; void inside() { } };
    __constant__ int table[2] = {1, 2};
    template <int K>
    __device__ __forceinline__ int f(int a) { return g(a) + K; }
    extern "C" __global__ void __launch_bounds__(256) k(const float* x, int n) {
        if (n) { f<2>(n); }
        const char* text = "}";
    }
    int last() { return N; }
    """
    found = cpp_functions(text)
    assert [(f.name, f.first, f.last) for f in found] == [("f", 6, 6), ("k", 7, 10), ("last", 11, 11)]
    assert "g" in found[0].words and "f" in found[1].words


# --- known wrong answers, laid over the solution ---------------------------------------------------------------------


def lay(tmp_path, text, solution=START, name="other.py"):
    path = tmp_path / name
    path.write_text(text)
    return overlay.laid_over(path, solution)


OTHER = '''"""Why.

Fails:
    test_1_1_warps: words: and more
"""
import math

WARPS = 9
HALF = math.pi


def blocks_for(n, threads):
    return HALF
'''


def test_an_overlay_replaces_by_name_and_keeps_the_rest(tmp_path):
    made = lay(tmp_path, OTHER)
    tree = ast.parse(made.text)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert names == ["clip", "blocks_for"]
    assert "WARPS = 9" in made.text and "WARPS = 8" not in made.text
    assert made.text.index("import math") < made.text.index("HALF = math.pi") < made.text.index("WARPS = 9")
    assert "@cuda.jit\ndef clip" in made.text, "what is not replaced stays with its decorator"
    assert made.fails == {"test_1_1_warps": "words: and more"}
    assert (made.name, made.language) == ("other", regions.PYTHON)


def test_an_honest_answer_names_no_failure(tmp_path):
    assert lay(tmp_path, "WARPS = 4 + 4\n").fails == {}


def test_an_overlay_in_cpp_replaces_regions(tmp_path):
    made = lay(tmp_path, FILES["02_sum/wrong/no_atomic.cu"], SUM_CPP, "no_atomic.cu")
    assert "out[0] += x[i];" in made.text and "atomicAdd" not in made.text and "return a + b;" in made.text
    assert made.fails == {"test_2_3_total": "race_global"}


@pytest.mark.parametrize(
    ("text", "solution", "name", "sentence"),
    [
        ("OTHER = 3\n", START, "a.py", "changes nothing that the solution defines"),
        ("", START, "a.py", "changes nothing"),
        ("// nothing\n", SUM_CPP, "a.cu", "has no region"),
        ("// BEGIN SOLUTION 9.9\nint x;\n// END SOLUTION\n", SUM_CPP, "a.cu", "a region that the solution has not"),
        ("// BEGIN SOLUTION 2.2\nint x;\n", SUM_CPP, "a.cu", "no END SOLUTION"),
    ],
)
def test_an_overlay_that_changes_nothing_is_the_authors_mistake(tmp_path, text, solution, name, sentence):
    with pytest.raises(LabError, match=sentence):
        lay(tmp_path, text, solution, name)


@pytest.mark.parametrize("name", ["01_start", "02_sum"])
def test_the_tiny_labs_do_what_they_say(tmp_path, name):
    lab = write_lab(tmp_path, name)
    for wrong, path in lab.wrong.items():
        language = regions.language_of(path.name)
        if language == regions.CPP and needs_compiler.args[0]:
            continue
        fails = overlay.laid_over(path, lab.solution(language)).fails
        found = outcomes(lab, f"wrong/{wrong}")
        assert {test for test, o in found.items() if o.status != running.PASSED} == set(fails)
        assert all(shown in str(found[test].finding) for test, shown in fails.items())


# --- the student's file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("def f(:\n    pass\n", 1, "this is not valid Python"),
        ("x = (1,\n", 1, "this is not valid Python: '(' was never closed"),
        ("x = '''a\n\n", 1, "this is not valid Python"),
        ("import os\n", 1, "import of os"),
        ("A = 1\nprint(A)\n", 2, ""),
    ],
)
def test_a_file_that_is_no_answer_is_refused_with_its_line(tmp_path, text, line, sentence):
    lab = write_lab(tmp_path)
    with pytest.raises(AnswerRefused) as caught, student(lab, text):
        pass
    assert sentence in caught.value.message and caught.value.line == line
    assert caught.value.file.endswith("student.py") and "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"A = 1\0", b"x" * 10_000_000])
def test_bytes_that_are_no_text_are_refused(tmp_path, data):
    lab = write_lab(tmp_path)
    lab.file("student").write_bytes(data)
    with pytest.raises(AnswerRefused) as caught, answers.answer(lab):
        pass
    assert "student.py" in str(caught.value) and len(str(caught.value)) < 300


def test_all_tests_fail_with_the_sentence_of_a_refused_file(tmp_path):
    lab = write_lab(tmp_path)
    with pytest.raises(AnswerRefused) as caught, student(lab, "import os\n"):
        pass
    found = running.refused(lab, caught.value)
    assert [o.test.name for o in found] == [test.name for test in lab.tests]
    assert {(o.status, o.points) for o in found} == {(running.FAILED, 0.0)}
    assert len({str(o.finding) for o in found}) == 1


def test_a_missing_file_says_how_to_get_it_back(tmp_path):
    lab = write_lab(tmp_path)
    lab.file("student").unlink()
    with pytest.raises(AnswerRefused, match="this file is missing: get it back with gpukit reset"), answers.answer(lab):
        pass


def test_other_line_ends_and_a_byte_order_mark_are_read(tmp_path):
    lab = write_lab(tmp_path)
    lab.file("student").write_bytes(START.replace("\n", "\r\n").encode())
    found = outcomes(lab)
    assert {o.status for o in found.values()} == {running.PASSED}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("wrong/nothing", "has no wrong answer 'nothing'; it has: apart, no_guard, quiz"),
        ("best", "there is no answer 'best'"),
    ],
)
def test_answers_that_are_not_there(tmp_path, name, sentence):
    lab = write_lab(tmp_path)
    with pytest.raises(LabError, match=sentence), answers.answer(lab, name):
        pass
    lab.file("solution").unlink()
    with pytest.raises(LabError, match="students' folders have none"), answers.answer(lab, "solution"):
        pass


# --- which language --------------------------------------------------------------------------------------------------


def test_the_language_that_has_fewer_holes_is_the_one_that_was_begun(tmp_path):
    lab = write_lab(tmp_path, "02_sum")
    assert answers.chosen_language(lab) == regions.PYTHON, "Python where both are fresh"
    lab.file("student", regions.CPP).write_text(SUM_CPP)
    assert answers.chosen_language(lab) == regions.CPP
    lab.file("student").write_text(SUM)
    assert answers.chosen_language(lab) == regions.PYTHON
    lab.file("student").unlink()
    assert answers.chosen_language(lab) == regions.CPP
    lab.file("student", regions.CPP).unlink()
    assert answers.chosen_language(lab) == regions.PYTHON


# --- finding labs ----------------------------------------------------------------------------------------------------


def test_labs_are_found_by_every_name(tmp_path):
    root = write_labs(tmp_path)
    (root / "template").mkdir()
    (root / "notes.txt").touch()
    assert [lab.name for lab in find_labs(root)] == ["01_start", "02_sum"]
    for name in ("1", "01", "start", "01_start", "labs/01_start", "labs/01_start/"):
        assert find_lab(root, name).name == "01_start"
    with pytest.raises(GpukitError, match=r"there is no lab 'strat'; did you mean .*; choose one of: 01_start, 02_sum"):
        find_lab(root, "strat")
    with pytest.raises(GpukitError, match="there are no labs in"):
        find_labs(tmp_path)
    assert find_root(root / "01_start") == root == find_root(tmp_path)
    with pytest.raises(GpukitError, match="there is no folder labs in"):
        find_root(tmp_path.parent)


def test_a_lab_knows_its_tasks_with_and_without_a_solution(tmp_path):
    lab = write_lab(tmp_path)
    tasks = dict(lab.tasks)
    lab.file("solution").unlink()
    lab = type(lab)(lab.path)
    assert lab.tasks == tasks and list(tasks) == ["1.1", "1.2", "1.3"]
    assert (lab.title, lab.number, lab.max_points, lab.host) == ("Start", "01", 5.0, ("blocks_for",))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("def test_1_1_warps", "def test_warps", "is no name of a test: write test_N_k_what"),
        ("def test_1_1_warps", "def test_1_9_warps", "tests task 1.9, which this lab has not"),
        ("import numpy as np", "import nothing_like_it", "the lab's tests cannot be imported: ModuleNotFoundError"),
    ],
)
def test_a_test_file_that_is_wrong_is_the_authors_mistake(tmp_path, old, new, sentence):
    lab = write_lab(tmp_path)
    path = lab.path / "test_lab.py"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(LabError, match=sentence):
        list(lab.tests)
