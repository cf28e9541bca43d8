"""`lab`: every way in which a check, a cost, a quiz and a host result fail, and what the student then reads."""

from contextlib import contextmanager

import numpy as np
import pytest
from family_runs import needs_compiler
from lab_fixtures import student, write_lab

from gpukit.labs import answers, references, regions, running
from gpukit.labs.answers import Answer
from gpukit.labs.errors import LabError, NotStarted, TaskFailure
from gpukit.labs.references import RECORDED_SEED, Counted, Recorded
from gpukit.labs.session import Session

HEAD = "from gpukit import cuda\nimport numpy as np\n\n\n@cuda.jit\n"


@contextmanager
def session(tmp_path, text, language=regions.PYTHON, name="01_start", reference=None, seed=1, test="test_1_2_right"):
    """A session on an answer with this text."""
    lab = write_lab(tmp_path, name)
    with student(lab, text, language) as answer:
        yield Session(lab, answer, reference, test, seed)


def kernel(body, parameters="x, y"):
    """A Python file with one kernel `k`, whose body begins in line 7."""
    lines = "\n".join("    " + line for line in body.splitlines())
    return f"{HEAD}def k({parameters}):\n{lines}\n"


def x_and_y(n, dtype=np.int32):
    return {"x": np.arange(n, dtype=dtype), "y": np.zeros(n, dtype)}


def found(lab, *arguments, **options):
    """The finding of a check that fails."""
    with pytest.raises(TaskFailure) as caught:
        lab.check("k", *arguments, **options)
    return caught.value.finding


# --- the wrong answer ------------------------------------------------------------------------------------------------


def test_a_message_says_all_there_is_to_know_in_order(tmp_path):
    body = "i = cuda.grid(1)\nif i < x.size:\n    y[i] = x[i] if i < 200 else 0\n"
    with session(tmp_path, kernel(body)) as lab:
        args = x_and_y(300)
        finding = found(lab, 3, 128, args, {"y": args["x"]}, about="n = 300: the last block is partly filled")
    assert str(finding).splitlines() == [
        "wrong answer",
        "  call      k[3, 128](x: int32[300], y: int32[300])",
        "  input     n = 300: the last block is partly filled",
        "  got       y[200] = 0",
        "  expected  y[200] = 200",
        "  where     100 of 300 elements are wrong: all from 200 to the end; last written by thread 72 of block 1, "
        "in line 9: y[i] = x[i] if i < 200 else 0",
    ]
    assert finding.file.endswith("student.py")


def test_an_output_that_nobody_writes_is_poisoned(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\nif i < x.size - 1:\n    y[i] = 0\n")) as lab:
        for dtype in (np.float32, np.int32, np.uint8, np.float64):
            args = x_and_y(33, dtype)
            finding = found(lab, 2, 32, args, {"y": np.zeros(33, dtype)})
            assert finding.where == "1 of 33 elements are wrong: the last one alone; no thread wrote it"
            assert finding.got != finding.expected
    assert not args["y"].any(), "the test's own array stays as it is"


def test_what_accumulates_is_not_poisoned(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\nif i < x.size:\n    y[i] += x[i]\n")) as lab:
        args = {"x": np.ones(40, np.int32), "y": np.full(40, 7, np.int32)}
        expected = {"y": np.full(40, 8, np.int32)}
        lab.check("k", 2, 32, args, expected, accumulates=("y",))
        assert "y[0] = " in found(lab, 2, 32, args, expected).got


def test_float_answers_and_their_bound(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\nif i < x.size:\n    y[i] = x[i] / 3\n")) as lab:
        args = x_and_y(32, np.float32)
        expected = args["x"].astype(np.float64) / 3
        finding = found(lab, 1, 32, args, {"y": expected})
        assert finding.expected == "y[1] = 0.333333333"
        finding = found(lab, 1, 32, args, {"y": expected + 1}, bound=0.5)
        assert finding.expected.endswith(", within 0.5") and "all of them" in finding.where
        lab.check("k", 1, 32, args, {"y": expected}, bound=1e-6 * expected)


def test_a_nan_is_wrong_where_none_is_expected(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\nif i < x.size:\n    y[i] = x[i] / x[i]\n")) as lab:
        args = x_and_y(32, np.float32)
        finding = found(lab, 1, 32, args, {"y": np.ones(32, np.float32)}, bound=1e30)
        assert finding.got == "y[0] = nan" and "the first one alone" in finding.where


def test_an_answer_of_a_function(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\nif i < x.size:\n    y[i] = x[i]\n")) as lab:
        args = x_and_y(32)
        lab.check("k", 1, 32, args, {"y": (np.sum, 496)})
        finding = found(lab, 1, 32, args, {"y": (np.sum, 497)})
        assert (finding.got, finding.expected, finding.where) == ("sum(y) = 496", "sum(y) = 497", "")


def test_expecting_another_shape_is_told_by_shape(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\nif i < x.size:\n    y[i] = x[i]\n")) as lab:
        finding = found(lab, 1, 32, x_and_y(32), {"y": np.zeros(31, np.int32)})
        assert "the shape is (32,), expected (31,)" in finding.where


# --- who wrote it ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "grid", "block", "shape", "place", "thread"),
    [
        ("i = cuda.grid(1)\nx[i] = 1", 4, 64, 256, "x[0]", "thread 0 of block 0, in line 8: x[i] = 1"),
        ("i = cuda.grid(1)\nx[i] = int(i < 130)", 4, 64, 256, "x[0]", "thread 0 of block 0, in line 8"),
        ("i = cuda.grid(1)\nx[i] = int(i == 130)", 4, 64, 256, "x[130]", "thread 2 of block 2, in line 8"),
        ("c, r = cuda.grid(2)\nx[r, c] = int(r == 9 and c == 13)", (2, 2), (8, 8), (16, 16), "x[9, 13]",
         "thread (5, 1) of block (1, 1), in line 8"),
        ("c, r, z = cuda.grid(3)\nx[z, r, c] = int(z == 3 and r == 2 and c == 7)", (2, 2, 2), (4, 2, 2), (4, 4, 8),
         "x[3, 2, 7]", "thread (3, 0, 1) of block (1, 1, 1), in line 8"),
        ("i = cuda.grid(1)\nx[i] = 0\nif i == 77:\n    cuda.atomic.add(x, 5, i)", 2, 64, 128, "x[5]",
         "thread 13 of block 1, in line 10: cuda.atomic.add(x, 5, i)"),
        ("i = cuda.grid(1)\nfor k in range(3):\n    x[i] = 0\nx[(i + 1) % 64] += int(i == 8)", 1, 64, 64, "x[9]",
         "thread 8 of block 0, in line 10"),
        ("i = cuda.grid(1)\nv = x[2:]\nif i < v.size:\n    v[i] = int(i == 3)\nif i < 2:\n    x[i] = 0",
         1, 64, 64, "x[5]", "thread 3 of block 0, in line 10"),
    ],
)  # fmt: skip
def test_the_thread_that_wrote_it(tmp_path, body, grid, block, shape, place, thread):
    with session(tmp_path, kernel(body, "x")) as lab:
        finding = found(lab, grid, block, {"x": np.zeros(shape, np.int32)}, {"x": np.zeros(shape, np.int32)},
                        accumulates=("x",))  # fmt: skip
    assert finding.got.startswith(f"{place} = ")
    assert f"last written by {thread}" in finding.where


CPP = """extern "C" __global__ void k(const int* source, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i == 130 ? 1 : 0;
    if (i == 199) atomicAdd(&out[7], source[i]);
}
"""


@needs_compiler
def test_the_thread_that_wrote_it_in_cpp(tmp_path):
    """The parameters have other names than the test's."""
    with session(tmp_path, CPP, regions.CPP, "02_sum") as lab:
        args = {"x": np.ones(256, np.int32), "y": np.zeros(256, np.int32)}
        expected = np.zeros(256, np.int32)
        finding = found(lab, 4, 64, args, {"y": expected}, sizes=(256,))
        assert finding.call == "k[4, 64](x: int32[256], y: int32[256], 256)"
        assert "last written by thread 7 of block 3, in line 4: if (i == 199) atomicAdd" in finding.where
        expected[7] = 1
        finding = found(lab, 4, 64, args, {"y": expected}, sizes=(256,))
        assert "last written by thread 2 of block 2, in line 3: if (i < n) out[i]" in finding.where
        finding = found(lab, 4, 64, args, {"y": expected}, sizes=(100,))
        assert "no thread wrote it" in finding.where


def test_a_launch_too_large_to_look_at_again_says_what_it_knows(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\nif 0 < i < x.size:\n    y[i] = x[i]\n")) as lab:
        args = x_and_y(300 * 32)
        finding = found(lab, 300, 32, args, {"y": args["x"]})
    assert finding.where.endswith("it still holds what stood there before the launch")


# --- hazards ---------------------------------------------------------------------------------------------------------


def test_a_right_answer_with_a_race_fails(tmp_path):
    body = "t = cuda.threadIdx.x\ns = cuda.shared.array(64, np.int32)\ns[t] = x[t]\ny[t] = s[63 - t]\n"
    with session(tmp_path, kernel(body)) as lab:
        args = x_and_y(64)
        finding = found(lab, 1, 64, args, {"y": args["x"][::-1]})
    assert "has a hazard" in finding.what
    (race,) = finding.hazards
    assert (race["kind"], race["severity"], race["line"]) == ("race_shared", "error", 10)
    assert finding.line == 10
    assert "hazard    race_shared (error): line 10: " in str(finding)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("i = cuda.grid(1)\ny[i] = x[i - 1] - x[i - 1] + i", "negative_index"),
        ("i = cuda.grid(1)\ny[i] = i\nif i == 3:\n    x[0] = 0\n    y[3] = (1 << 40) + 3", "int_overflow"),
        ("i = cuda.grid(1)\nif i >= 32:\n    y[i] = i\n    return\ny[i] = i\ncuda.syncthreads()",
         "barrier_with_exited_threads"),
    ],
)  # fmt: skip
def test_a_warning_fails_too(tmp_path, body, kind):
    with session(tmp_path, kernel(body)) as lab:
        finding = found(lab, 1, 64, x_and_y(64), {"y": np.arange(64, dtype=np.int32)})
    assert [(hazard["kind"], hazard["severity"]) for hazard in finding.hazards] == [(kind, "warning")]


def test_a_wrong_answer_shows_its_hazards(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\ny[i] = x[i] + 1\n")) as lab:
        args = x_and_y(33)
        finding = found(lab, 2, 32, args, {"y": args["x"]})
    assert finding.what == "wrong answer"
    assert {hazard["kind"] for hazard in finding.hazards} == {"oob_global_read", "oob_global_write"}


def test_notes_do_not_fail(tmp_path):
    with session(tmp_path, kernel("cuda.atomic.add(y, 0, x[cuda.threadIdx.x])\n")) as lab:
        args = {"x": np.ones(64, np.float32), "y": np.zeros(1, np.float32)}
        report = lab.check("k", 1, 64, args, {"y": np.full(1, 64, np.float32)}, accumulates=("y",))
    assert "nonassociative_atomics" in [note.kind for note in report.notes]


# --- the input belongs to the caller ---------------------------------------------------------------------------------


def test_a_changed_input_fails(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\ny[i] = x[i]\nif i == 40:\n    x[i] = -1\n")) as lab:
        args = x_and_y(64)
        finding = found(lab, 1, 64, args, {"y": args["x"]})
    assert finding.what == "the input `x` was changed, first at x[40]: it belongs to the caller"
    assert (finding.got, finding.expected) == ("-1", "40")
    assert args["x"][40] == 40


def test_in_place_is_right_where_the_test_says_so(tmp_path):
    with session(tmp_path, kernel("i = cuda.grid(1)\nx[i] += 1\n", "x")) as lab:
        x = np.arange(64, dtype=np.int32)
        lab.check("k", 1, 64, {"x": x}, {"x": x + 1}, accumulates=("x",))


def test_an_array_stored_by_columns_stays_so(tmp_path):
    body = "c, r = cuda.grid(2)\ny[r, c] = x[r, c]\n"
    with session(tmp_path, kernel(body)) as lab:
        x = np.asfortranarray(np.arange(1024, dtype=np.float32).reshape(32, 32))
        along = lab.check("k", 1, (32, 32), {"x": x.copy(), "y": np.zeros_like(x, order="C")}, {"y": x})
        across = lab.check("k", 1, (32, 32), {"x": x, "y": np.zeros_like(x, order="C")}, {"y": x})
    assert along.counters["global_load_sectors"] * 8 == across.counters["global_load_sectors"]


# --- a kernel that cannot be run -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence", "line"),
    [
        (kernel("x[0] = z"), "the kernel cannot be run: the name `z` is not defined", 7),
        (kernel("x[0] = 1", "x"), "takes 1 argument, 2 were given", 0),
        (kernel("while True:\n    x[0] = 1"), "the kernel `k` does not end", 8),
        (kernel("x.append(1)"), "the kernel cannot be run", 7),
        (kernel("x[0] = 1").replace("def k", "def kk"), "there is no kernel `k` here", 0),
    ],
)
def test_a_kernel_that_cannot_be_run_is_a_sentence(tmp_path, text, sentence, line):
    with session(tmp_path, text) as lab:
        finding = found(lab, 1, 32, x_and_y(32), {"y": np.zeros(32, np.int32)})
    assert sentence in finding.what and finding.call
    assert not line or (finding.line == line and f"(line {line})" in finding.what)


def test_a_kernel_that_takes_too_many_steps_is_told_to_end(tmp_path):
    """A lab's bound is the same everywhere, so no environment variable is offered."""
    body = "s = 0\nfor k in range(1_000_000_000):\n    s += x[k % 32]\ny[0] = s"
    with session(tmp_path, kernel(body)) as lab:
        finding = found(lab, 1, 1, x_and_y(32), {"y": np.zeros(32, np.int32)})
    assert "after 262,144 steps it is still in this loop" in finding.what
    assert "check the loop's condition (line 8)" in finding.what


def test_a_file_without_any_kernel(tmp_path):
    with session(tmp_path, "WARPS = 8\n") as lab:
        assert "there is no kernel `k` here" in found(lab, 1, 32, x_and_y(32), {}).what


@needs_compiler
def test_cpp_that_does_not_compile_is_a_sentence_with_its_line(tmp_path):
    with session(tmp_path, CPP.replace("int i =", "int j ="), regions.CPP, "02_sum") as lab:
        finding = found(lab, 1, 32, x_and_y(32), {"y": np.zeros(32, np.int32)}, sizes=(32,))
    assert "Traceback" not in str(finding) and finding.line == 3
    assert '"i"' in finding.what


def test_an_open_task_is_not_started(tmp_path):
    hole = 'raise NotImplementedError("TODO 1.2: keep each value between low and high")'
    with session(tmp_path, kernel(hole)) as lab:
        with pytest.raises(NotStarted, match=r"task 1\.2 is not started") as caught:
            lab.check("k", 1, 32, x_and_y(32), {})
        assert caught.value.line == 7


# --- cost ------------------------------------------------------------------------------------------------------------

COPY = "i = cuda.grid(1)\nif i < x.size:\n    y[i] = x[i]\n"
APART = "t = cuda.threadIdx.x\ni = t % 16 * 8 + t // 16\ny[i] = x[i]\n"


@contextmanager
def costs(tmp_path, body, reference_body=COPY):
    lab = write_lab(tmp_path)
    of_text = answers.of_text(lab, kernel(reference_body), "solution.py")
    with of_text as solution, student(lab, kernel(body)) as answer:
        yield Session(lab, answer, Counted(solution), "test_1_2_cost", 1)


def test_cost_is_held_against_the_reference(tmp_path):
    args = x_and_y(128)
    expected = {"y": args["x"]}
    bounds = {"global_load_sectors": 1.0, "global_load_requests": 1.0, "global_store_sectors": 4.0}
    with costs(tmp_path, APART) as lab:
        with pytest.raises(TaskFailure) as caught:
            lab.cost("k", 1, 128, args, expected, about="128 elements", at_most=bounds)
        (missed,) = caught.value.finding.missed
        assert (missed.counter, missed.got, missed.allowed, missed.reference) == ("global_load_sectors", 64, 16, 16)
        text = str(caught.value.finding)
        assert text.startswith("the answer is right, but costs more than it may\n  call      k[1, 128](")
        assert (
            "  counter   global_load_sectors is 64: at most 16 allowed, the reference needs 16, most of it in line 9"
            in text
        )
        assert f"see it line by line: gpukit profile {caught.value.finding.file}:k --grid 1 --block 128 -a " in text
        assert lab.measured.counters.keys() == bounds.keys()
        assert lab.measured.lines[9]["global_load_sectors"] == 64
    with costs(tmp_path, COPY) as lab:
        lab.cost("k", 1, 128, args, expected, at_most=bounds)
        assert all(missed.held for missed in lab.measured.counters.values())


def test_at_least(tmp_path):
    half = "i = cuda.grid(1)\nif i % 2 == 0:\n    y[i] = x[i]\nelse:\n    y[i] = x[i]\n"
    args = x_and_y(128)
    with costs(tmp_path, half) as lab, pytest.raises(TaskFailure, match="at least 32 allowed, the reference needs 32"):
        lab.cost("k", 1, 128, args, {"y": args["x"]}, at_least={"active_lanes_per_instruction": 1.0})


def test_a_wrong_answer_is_told_before_its_cost(tmp_path):
    args = x_and_y(128)
    with costs(tmp_path, APART) as lab, pytest.raises(TaskFailure, match=r"^wrong answer"):
        lab.cost("k", 1, 128, args, {"y": args["x"] + 1}, at_most={"global_load_sectors": 1.0})


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [({}, "bounds no counter"), ({"sectors": 1.0}, "bounds 'sectors', which is no counter")],
)
def test_a_cost_test_that_measures_nothing_is_the_authors_mistake(tmp_path, bounds, sentence):
    args = x_and_y(128)
    with costs(tmp_path, COPY) as lab, pytest.raises(LabError, match=sentence):
        lab.cost("k", 1, 128, args, {"y": args["x"]}, at_most=bounds)


def test_a_reference_that_breaks_is_the_authors_mistake(tmp_path):
    args = x_and_y(128)
    with costs(tmp_path, COPY, "x[0] = z\n") as lab, pytest.raises(LabError, match="the reference solution breaks"):
        lab.cost("k", 1, 128, args, {"y": args["x"]}, at_most={"global_load_sectors": 1.0})


def test_expecting_what_is_no_argument_is_the_authors_mistake(tmp_path):
    with costs(tmp_path, COPY) as lab, pytest.raises(LabError, match="'z', which is no argument"):
        lab.check("k", 1, 128, x_and_y(128), {"z": np.zeros(1)})


@pytest.mark.parametrize("language", [regions.PYTHON, pytest.param(regions.CPP, marks=needs_compiler)])
def test_a_recorded_reference_says_what_a_counted_one_does(tmp_path, language):
    lab = write_lab(tmp_path, "02_sum")
    with answers.answer(lab, answers.SOLUTION, language) as solution:
        counted = Counted(solution)
        test = next(test for test in lab.tests if test.name == "test_2_3_total")
        outcome = running.run_test(lab, test, solution, counted, RECORDED_SEED)
        assert counted.made.keys() == {"test_2_3_total"}
        recorded = Recorded("reference.json", counted.made)
        again = running.run_test(lab, test, solution, recorded, 5)
        assert again.status == outcome.status == running.PASSED
        assert again.measured.counters == outcome.measured.counters != {}
        assert again.measured.lines == outcome.measured.lines
        with pytest.raises(LabError, match="no reference is recorded for launch 1 of test_2_3_total"):
            running.run_test(lab, test, solution, Recorded("reference.json", {}), 5)


def test_a_reference_that_cannot_be_read_is_a_sentence(tmp_path):
    for text in (None, "", "[]", '{"counters": {}}'):
        if text is not None:
            (tmp_path / references.FILE).write_text(text)
        with pytest.raises(LabError, match="the recorded reference cannot be read"):
            references.recorded(tmp_path, regions.PYTHON)


# --- quiz, host code -------------------------------------------------------------------------------------------------


def quiz(tmp_path, text, counted=8, name="WARPS", **of_session):
    with session(tmp_path, text, **of_session) as lab:
        lab.given("modulo", 1, 256, np.zeros(256, np.int32))
        with pytest.raises(TaskFailure) as caught:
            lab.quiz(name, counted, about="one block of 256 threads")
        return caught.value.finding


def test_a_wrong_prediction_is_shown_and_the_count_is_not(tmp_path):
    finding = quiz(tmp_path, "A = 1\nWARPS = 256\n", counted=7919)
    assert finding.call == "WARPS = 256" and finding.line == 2
    assert "7919" not in str(finding) and finding.about == "one block of 256 threads"
    assert "given.py:modulo --grid 1 --block 256 -a 'int32[256]:arange'" in finding.advice


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("WARPS = 9\n", "another number was counted than predicted"),
        ("WARPS = True\n", "another number"),
        ("WARPS = '8'\n", "another number"),
        ("WARPS = (8,)\n", "another number"),
        ("WARPS = None\n", "`WARPS` must be a number that is written down; it is None"),
        ("WARPS = ...\n", "`WARPS` is not answered: write a number in place of ..."),
        ("WARP = 8\n", "there is no constant `WARPS` here"),
    ],
)
def test_predictions_that_are_not_right(tmp_path, text, sentence):
    assert sentence in quiz(tmp_path, text).what


@pytest.mark.parametrize(
    "text", ["WARPS = 8\n", "WARPS = 8.0\n", "WARPS = 256 // 32\n", "LANES = 32\nWARPS = 256 // LANES\n"]
)
def test_right_predictions(tmp_path, text):
    with session(tmp_path, text) as lab:
        lab.quiz("WARPS", 8)
        lab.quiz("WARPS", np.int64(8))


def test_true_is_not_1(tmp_path):
    with session(tmp_path, "A = 1\nB = True\n") as lab:
        lab.quiz("B", True)
        for name, counted in (("A", True), ("B", 1)):
            with pytest.raises(TaskFailure):
                lab.quiz(name, counted)


@pytest.mark.parametrize(
    ("written", "value"),
    [("8", 8), ("8u", 8), ("0x1F", 31), ("0x1FUL", 31), ("1'000", 1000), ("2.5f", 2.5), ("true", True), ("-3", -3)],
)
def test_constants_of_cpp(tmp_path, written, value):
    text = f"// constexpr int N = 5;\nconstexpr auto N = {written};  // of 256\n"
    with session(tmp_path, text, regions.CPP, "02_sum") as lab:
        lab.quiz("N", value)


@pytest.mark.parametrize("written", ["8 * 2", "abc", "8, M = 3", "'a'", ""])
def test_constants_of_cpp_that_are_not_numbers(tmp_path, written):
    with session(tmp_path, f"constexpr int N = {written};\n", regions.CPP, "02_sum") as lab:
        with pytest.raises(TaskFailure, match="`N` must be one number"):
            lab.quiz("N", 8)
        with pytest.raises(TaskFailure, match=r"there is no constant `M` here: write constexpr int M = your answer;"):
            lab.quiz("M", 8)


def test_a_given_kernel_that_is_not_there_is_the_authors_mistake(tmp_path):
    with session(tmp_path, "A = 1\n") as lab:
        with pytest.raises(LabError, match="there is no kernel 'nothing' in it"):
            lab.given("nothing", 1, 1)
        with pytest.raises(LabError, match="the given kernel modulo breaks"):
            lab.given("modulo", 1, 2048, np.zeros(1, np.int32))


def blocks_for(body):
    return f"def blocks_for(n, threads):\n    {body}\n"


def test_host_code_that_raises_is_a_sentence_with_its_call(tmp_path):
    with session(tmp_path, blocks_for("return n // (threads - 256)")) as lab:
        assert lab.host("blocks_for", [(1000, 255)]) == [-1000]
        with pytest.raises(TaskFailure) as caught:
            lab.host("blocks_for", [(1000, 255), (1000, 256)])
    assert caught.value.finding.call == "blocks_for(1000, 256)"
    assert "ZeroDivisionError" in caught.value.finding.what and "Traceback" not in str(caught.value)


def test_a_call_of_host_code_shows_short_arrays_alone(tmp_path):
    with session(tmp_path, blocks_for("return n[threads]")) as lab:
        with pytest.raises(TaskFailure) as caught:
            lab.host("blocks_for", [(np.arange(3, dtype=np.int32), 9)])
        assert caught.value.finding.call == "blocks_for(int32[3] [0, 1, 2], 9)"
        with pytest.raises(TaskFailure) as caught:
            lab.host("blocks_for", [(np.zeros((40, 13), np.float32), 99)])
        assert caught.value.finding.call == "blocks_for(float32[40, 13], 99)"


def test_host_code_that_is_not_there(tmp_path):
    with session(tmp_path, "A = 1\n") as lab:
        with pytest.raises(TaskFailure, match="has no function `blocks_for`"):
            lab.host("blocks_for", [(1, 2)])
        with pytest.raises(LabError, match="which HOST does not list"):
            lab.host("another", [(1, 2)])


def test_host_code_with_a_hole_is_not_started(tmp_path):
    hole = 'raise NotImplementedError("TODO 1.3: round the number of blocks up")'
    with session(tmp_path, blocks_for(hole)) as lab, pytest.raises(NotStarted, match=r"1\.3"):
        lab.host("blocks_for", [(1, 2)])


def test_expect_says_the_call_and_both_values(tmp_path):
    with session(tmp_path, "A = 1\n") as lab:
        lab.expect("f(1)", 4, 4)
        lab.expect("f(1)", 4.05, 4, bound=0.1)
        with pytest.raises(TaskFailure) as caught:
            lab.expect("f(1000)", 3, 4, about="the last block is partly filled")
        assert str(caught.value).endswith(
            "wrong answer\n  call      f(1000)\n  input     the last block is partly filled\n"
            "  got       3\n  expected  4"
        )
        with pytest.raises(TaskFailure) as caught:
            lab.expect("f(2)", (1, 3), (1, 2))
        finding = caught.value.finding
        assert (finding.got, finding.expected, finding.where) == (
            "(1, 3)",
            "(1, 2)",
            "value 1 differs (they count from 0)",
        )
        with pytest.raises(TaskFailure) as caught:
            lab.expect("f(3)", np.array([1, 2, 4]), np.array([1, 2, 3]))
        assert caught.value.finding.got == "[2] = 4" and "the last one alone" in caught.value.finding.where


# --- seeds -----------------------------------------------------------------------------------------------------------


def test_a_seed_makes_the_same_input_again_and_each_test_its_own(tmp_path):
    lab = write_lab(tmp_path)
    with answers.answer(lab, answers.SOLUTION) as answer:

        def draw(seed, test="test_1_2_right", reference=None):
            return Session(lab, answer, reference, test, seed).rng.integers(0, 1 << 30, 4).tolist()

        assert draw(1) == draw(1)
        assert draw(1) != draw(2)
        assert draw(1) != draw(1, "test_1_2_cost")
        recorded = Recorded("reference.json", {"test_1_2_cost": []})
        assert (
            draw(1, "test_1_2_cost", recorded)
            == draw(2, "test_1_2_cost", recorded)
            == draw(RECORDED_SEED, "test_1_2_cost")
        )
        assert draw(1, reference=recorded) == draw(1)


def test_new_seeds_differ():
    assert len({running.new_seed() for _ in range(20)}) > 15


# --- a run of all tests ----------------------------------------------------------------------------------------------


def test_a_test_that_breaks_on_an_answer_fails_with_a_sentence(tmp_path):
    lab = write_lab(tmp_path)
    path = lab.path / "test_lab.py"
    path.write_text(path.read_text().replace('lab.check("clip", **launch(lab, n))', "n / 0"))
    with answers.answer(lab, answers.SOLUTION) as answer:
        found = {outcome.test.name: outcome for outcome in running.run(lab, answer, 1)}
    assert found["test_1_2_right"].status == running.FAILED
    assert "the test cannot use what the answer gives: ZeroDivisionError" in str(found["test_1_2_right"].finding)
    assert found["test_1_2_cost"].status == running.PASSED


def test_an_answer_is_read_once(tmp_path):
    lab = write_lab(tmp_path)
    with answers.answer(lab) as answer:
        assert isinstance(answer, Answer)
        lab.file("student").unlink()
        assert [outcome.status for outcome in running.run(lab, answer, 1)] == [running.NOT_STARTED] * 4
