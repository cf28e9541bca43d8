"""What a kernel of a stranger may not use without end: text, and tuples of tuples."""

import numpy as np
import pytest

import gpukit
from gpukit.errors import KernelTypeError
from gpukit.labs.wording import value_text
from gpukit.machine import executor

HEAD = "from numba import cuda\n\n\n@cuda.jit\ndef kernel(x):\n"


def load(tmp_path, body, before=""):
    path = tmp_path / "kernels.py"
    path.write_text(before + HEAD + "".join(f"    {line}\n" for line in body))
    return gpukit.load(path)


def test_text_is_cut_and_says_so(tmp_path):
    kernels = load(tmp_path, ["for i in range(x[0]):", f"    print(i, '{'.' * 1000}')"])
    few = gpukit.profile(kernels["kernel"], 1, 32, np.array([4]))
    assert len(few.output) == 4 * 32
    many = gpukit.profile(kernels["kernel"], 1, 32, np.array([400]))
    assert many.output[-1] == executor.CUT
    assert executor.MAX_OUTPUT * 0.9 < sum(map(len, many.output)) <= executor.MAX_OUTPUT + len(executor.CUT)


@pytest.mark.parametrize("body", (["y = (x[0], x[0])", *["y = (y, y)"] * 60], ["y = (x[0],) * 100_000_000_000"]))
def test_tuples_do_not_grow_without_end(tmp_path, body):
    with pytest.raises(KernelTypeError, match="a tuple of more than 65,536 values"):
        gpukit.profile(load(tmp_path, [*body, "x[0] = 1"])["kernel"], 1, 32, np.zeros(1, np.int64))


def test_tuples_of_ordinary_size_are_fine(tmp_path):
    kernels = load(tmp_path, ["y = (x[0], x[0])", "y = (y, y)", "y = (y, y)", "x[0] = y[1][0][1] + 1"])
    x = np.array([41])
    gpukit.launch(kernels["kernel"], 1, 1, x)
    assert x[0] == 42


def test_constants_do_not_grow_without_end(tmp_path):
    lines = "".join(f"A{i + 1} = (A{i}, A{i})\nB{i + 1} = B{i} + B{i}\n" for i in range(60))
    kernels = load(tmp_path, ["x[0] = 1"], "A0 = (1, 1)\nB0 = 'ab'\n" + lines)
    assert "A9" in kernels and "B9" in kernels
    assert "A60" not in kernels and "B60" not in kernels


@pytest.mark.parametrize(
    ("value", "text"),
    (
        (1 << 20_000, "a number of 20,001 bits"),
        ((8,), "(8,)"),
        ([1, (2, 3)], "[1, (2, 3)]"),
        (list(range(20)), "[0, 1, 2, 3, 4, 5, 6, 7, ...]"),
        (((((1,),),),), "((((...,),),),)"),
    ),
    ids=("number", "pair", "list", "long", "deep"),
)
def test_values_are_shown_in_few_characters(value, text):
    assert value_text(value) == text


def test_what_doubles_is_shown_at_once():
    value = (1, 1)
    for _ in range(60):
        value = (value, value)
    assert len(value_text(value)) <= 120
