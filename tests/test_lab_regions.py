"""Tagged regions: what becomes of a solution for students, and which mistakes of an author are refused."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpukit.labs.errors import LabError
from gpukit.labs.holes import holes
from gpukit.labs.regions import CPP, PYTHON, lines_of, prompts, regions, skeleton

KERNEL = '''from gpukit import cuda


@cuda.jit
def twice(x):
    """x[i] *= 2."""
    i = cuda.grid(1)  # given
    # BEGIN SOLUTION 3.1: double each element
    if i < x.size:
        x[i] *= 2
    # END SOLUTION


# BEGIN SOLUTION 3.2: warps and lanes
WARPS = 8
LANES = (1,
         2)
# END SOLUTION
'''


def refused(text, file="solution.py"):
    with pytest.raises(LabError) as caught:
        skeleton(text, file)
    return caught.value


def test_a_region_in_a_function_becomes_one_statement():
    assert (
        skeleton(KERNEL, "solution.py")
        == '''from gpukit import cuda


@cuda.jit
def twice(x):
    """x[i] *= 2."""
    i = cuda.grid(1)  # given
    raise NotImplementedError("TODO 3.1: double each element")


WARPS = ...  # TODO 3.2: warps and lanes
LANES = ...  # TODO 3.2: warps and lanes
'''
    )


def test_regions_know_their_lines_and_prompts():
    first, second = regions(KERNEL, "solution.py")
    assert (first.task, first.prompt, first.first, first.last, first.indent) == (
        "3.1",
        "double each element",
        9,
        10,
        "    ",
    )
    assert first.text == "    if i < x.size:\n        x[i] *= 2"
    assert (second.first, second.last) == (15, 17)
    assert prompts([second, first], "solution.py") == {"3.1": "double each element", "3.2": "warps and lanes"}


def test_holes_are_where_the_regions_were():
    found = holes(skeleton(KERNEL, "solution.py"), "student.py", PYTHON)
    assert [(hole.task, hole.prompt, hole.line, hole.name) for hole in found] == [
        ("3.1", "double each element", 8, "twice"),
        ("3.2", "warps and lanes", 11, "WARPS"),
        ("3.2", "warps and lanes", 12, "LANES"),
    ]


NESTED = """def f():
    # BEGIN SOLUTION 1.1: a
    # BEGIN SOLUTION 1.2: b
    x = 1
    # END SOLUTION
"""
TWO_PROMPTS = """# BEGIN SOLUTION 1.1: a
X = 1
# END SOLUTION
# BEGIN SOLUTION 1.1: b
Y = 1
# END SOLUTION
"""
HALF_A_STATEMENT = """def f():
    # BEGIN SOLUTION 1.1: a
    if 1:
        pass
    # END SOLUTION
    else:
        pass
"""


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (NESTED, 3, "begins inside"),
        ("x = 1\n# END SOLUTION\n", 2, "without a BEGIN SOLUTION"),
        ("# BEGIN SOLUTION 1.1: a\nX = 1\n", 1, "no END SOLUTION"),
        ("# BEGIN SOLUTION 1.1\nX = 1\n# END SOLUTION\n", 1, "needs a prompt"),
        ("# BEGIN SOLUTION 1.1: \nX = 1\n# END SOLUTION\n", 1, "needs a prompt"),
        ("# BEGIN SOLUTION one: a\nX = 1\n# END SOLUTION\n", 1, "malformed"),
        ("# begin solution 1.1: a\nX = 1\n# END SOLUTION\n", 1, "malformed"),
        ("#BEGIN SOLUTION 1.1: a\nX = 1\n# END SOLUTION\n", 1, "malformed"),
        ("# BEGIN SOLUTION 1.1: a\nX = 1\n# END SOLUTION 1.1\n", 3, "malformed"),
        ("# BEGIN SOLUTION 1.1: a\nX = 1\n#### END SOLUTION\n", 3, "malformed"),
        ("X = 1  # BEGIN SOLUTION 1.1: a\n", 1, "malformed"),
        ("# BEGIN SOLUTION 1.1: a\n\n# END SOLUTION\n", 1, "is empty"),
        ("# BEGIN SOLUTION 1.1: a\n# X = 1\n# END SOLUTION\n", 1, "is empty"),
        (TWO_PROMPTS, 4, "two prompts"),
        ("# BEGIN SOLUTION 1.1: a\nX = 1\nprint(X)\n# END SOLUTION\n", 3, "only NAME = constant"),
        ("# BEGIN SOLUTION 1.1: a\ndef f():\n    pass\n# END SOLUTION\n", 2, "only NAME = constant"),
        ("# BEGIN SOLUTION 1.1: a\nX, Y = 1, 2\n# END SOLUTION\n", 2, "only NAME = constant"),
        ("# BEGIN SOLUTION 1.1: a\nX = = 1\n# END SOLUTION\n", 2, "not valid Python"),
        (HALF_A_STATEMENT, None, "at: else:"),
    ],
)
def test_mistakes_of_an_author_name_their_line(text, line, sentence):
    error = refused(text)
    assert sentence in error.message
    assert (error.file, error.line) == ("solution.py", line)


def test_ordinary_comments_are_no_tags():
    text = "# begin with the first element\nx = 9 // 2  # the end of the solution is near\n"
    assert skeleton(text, "solution.py") == text


@pytest.mark.parametrize("prompt", ['say "hi"', "don't", """both ' and \"""", r"a \d backslash", "tab\there", "é → λ"])
def test_any_prompt_comes_back_from_the_hole(prompt):
    for template in ("def f():\n    # BEGIN SOLUTION 1.1: {}\n    return 1\n    # END SOLUTION\n",
                     "# BEGIN SOLUTION 1.1: {}\nX = 1\n# END SOLUTION\n"):  # fmt: skip
        (hole,) = holes(skeleton(template.format(prompt), "solution.py"), "student.py", PYTHON)
        assert (hole.task, hole.prompt) == ("1.1", prompt)


def test_line_ends_of_windows():
    text = KERNEL.replace("\n", "\r\n")
    assert skeleton(text, "solution.py") == skeleton(KERNEL, "solution.py")
    (hole, *_) = holes(skeleton(KERNEL, "solution.py").replace("\n", "\r\n"), "student.py", PYTHON)
    assert (hole.line, hole.prompt) == (8, "double each element")


def test_a_form_feed_does_not_shift_lines():
    (hole,) = holes("'''a\x0cb\u2028c'''\nX = ...  # TODO 1.1: a number\n", "student.py", PYTHON)
    assert hole.line == 2
    assert lines_of("a\x0cb\nc\r\nd\re") == ["a\x0cb", "c", "d", "e"]


# --- CUDA C++ --------------------------------------------------------------------------------------------------------

CPP_KERNEL = """// BEGIN SOLUTION 3.2: warps and lanes
constexpr int WARPS = 8;  // of 256
constexpr unsigned long LANES = 32;
// END SOLUTION

__device__ int plus(int a, int b) {
    // BEGIN SOLUTION 3.1: add
    return a + b;
    // END SOLUTION
}

extern "C" __global__ void twice(float *x, int n) {
    int i = threadIdx.x;
    // BEGIN SOLUTION 3.1: add
    if (i < n) { x[i] = plus(x[i], x[i]); }
    // END SOLUTION
}
"""


def test_cpp_regions():
    made = skeleton(CPP_KERNEL, "solution.cu")
    assert made.splitlines()[:2] == [
        "// constexpr int WARPS = ...;  // TODO 3.2: warps and lanes",
        "// constexpr unsigned long LANES = ...;  // TODO 3.2: warps and lanes",
    ]
    assert made.count("    __trap();  // TODO 3.1: add\n") == 2
    assert "SOLUTION" not in made and "a + b" not in made
    found = holes(made, "student.cu", CPP)
    assert [(hole.task, hole.name) for hole in found] == [
        ("3.2", "WARPS"),
        ("3.2", "LANES"),
        ("3.1", "plus"),
        ("3.1", "twice"),
    ]
    assert made.splitlines()[found[3].line - 1].strip().startswith("__trap();")


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("// BEGIN SOLUTION 1.1: a\nint x = 1;\n// END SOLUTION\n", 2, "only constexpr TYPE NAME = VALUE;"),
        ("// BEGIN SOLUTION 1.1: a\nvoid f() {\n}\n// END SOLUTION\n", 2, "only constexpr TYPE NAME = VALUE;"),
        ("void f() {\n  int x;  // BEGIN SOLUTION 1.1: a\n}\n", 2, "malformed"),
        ("void f() {\n    // BEGIN SOLUTION 1.1: a\n    // later\n    // END SOLUTION\n}\n", 2, "is empty"),
    ],
)
def test_mistakes_in_cpp(text, line, sentence):
    error = refused(text, "solution.cu")
    assert sentence in error.message and error.line == line


# --- properties ------------------------------------------------------------------------------------------------------

names = st.sampled_from("abcdefgh").map(lambda c: c * 3)
prompt_texts = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=30)
statements = st.sampled_from(
    ["x = 1", "for i in range(3):\n    x = i", "if x:\n    y = 2\nelse:\n    y = 3", "return x"]
)


@st.composite
def solutions(draw):
    """(text, lines outside the regions, number of regions)."""
    lines: list[str] = []
    outside: list[str] = []
    count = 0
    for number in range(draw(st.integers(1, 4))):
        head = [f"def f{number}(x):", '    """What it does."""']
        lines += head
        outside += head
        body = draw(st.lists(st.tuples(st.booleans(), statements), min_size=1, max_size=4))
        for tagged, statement in body:
            block = ["    " + line for line in statement.splitlines()]
            if tagged:
                count += 1
                lines += [f"    # BEGIN SOLUTION 1.{count}: {draw(prompt_texts)}", *block, "    # END SOLUTION"]
            else:
                lines += block
                outside += block
    return "\n".join(lines) + "\n", outside, count


@given(solutions())
def test_a_skeleton_parses_and_differs_only_inside_regions(made):
    text, outside, count = made
    result = skeleton(text, "solution.py")
    ast.parse(result)
    open_holes = holes(result, "student.py", PYTHON)
    assert [hole.task for hole in open_holes] == [f"1.{k}" for k in range(1, count + 1)]
    assert [hole.prompt for hole in open_holes] == [region.prompt for region in regions(text, "solution.py")]
    places = {hole.line for hole in open_holes}
    assert [line for number, line in enumerate(lines_of(result), 1) if number not in places] == outside
    assert skeleton(result, "student.py") == result, "a skeleton has no region left"


@given(st.text(max_size=200))
def test_any_text_is_a_skeleton_or_a_sentence(text):
    for file in ("solution.py", "solution.cu"):
        try:
            skeleton(text, file)
        except LabError as error:
            assert error.file == file
