"""Atomics on many lanes give what one lane after another would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpukit.machine import atomics

ACTIONS = ("add", "sub", "max", "min", "and", "or", "xor", "exch", "cas", "inc", "dec")
INTEGERS = ("int32", "uint32", "int64", "uint64")


def one_by_one(memory: np.ndarray, place: list[int], action: str, first: np.ndarray, second: np.ndarray) -> list:
    old = []
    one = memory.dtype.type(1)
    with np.errstate(over="ignore"):
        for p, a, b in zip(place, first, second, strict=True):
            found = memory[p]
            old.append(found)
            new = {
                "add": lambda x=found, a=a: x + a,
                "sub": lambda x=found, a=a: x - a,
                "max": lambda x=found, a=a: max(x, a),
                "min": lambda x=found, a=a: min(x, a),
                "and": lambda x=found, a=a: x & a,
                "or": lambda x=found, a=a: x | a,
                "xor": lambda x=found, a=a: x ^ a,
                "exch": lambda a=a: a,
                "cas": lambda x=found, a=a, b=b: b if x == a else x,
                "inc": lambda x=found, a=a: memory.dtype.type(0) if x >= a else x + one,
                "dec": lambda x=found, a=a: a if x == 0 or x > a else x - one,
            }[action]()
            memory[p] = new
    return old


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("dtype", INTEGERS)
@given(data=st.data())
def test_integers(action, dtype, data):
    n = data.draw(st.integers(1, 70))
    cells = data.draw(st.sampled_from([1, 2, 7, 64]))
    small = data.draw(st.booleans())
    info = np.iinfo(dtype)
    values = st.integers(0, 3) if small else st.integers(int(info.min), int(info.max))
    place = data.draw(st.lists(st.integers(0, cells - 1), min_size=n, max_size=n))
    first, second, start = (np.array(data.draw(st.lists(values, min_size=k, max_size=k)), dtype) for k in (n, n, cells))
    expected = start.copy()
    old = one_by_one(expected, place, action, first, second)
    for want_old in (True, False):
        memory = start.copy()
        operands = (first, second) if action == "cas" else (first,)
        with np.errstate(over="ignore"):
            found = atomics.apply(memory, np.array(place), action, operands, want_old)
        assert memory.tolist() == expected.tolist()
        if want_old:
            assert found.tolist() == [int(o) for o in old]


@pytest.mark.parametrize("cells", [1, 50])
def test_float_sums_round_in_lane_order(cells):
    """The order of additions decides the rounding, so it is fixed: ascending lanes."""
    rng = np.random.default_rng(0)
    value = (rng.random(400) * 10.0 ** rng.integers(-6, 6, 400)).astype(np.float32)
    place = rng.integers(0, cells, 400)
    expected = np.zeros(cells, np.float32)
    old = []
    for p, v in zip(place, value, strict=True):
        old.append(expected[p])
        expected[p] += v
    for want_old in (True, False):
        memory = np.zeros(cells, np.float32)
        found = atomics.apply(memory, place, "add", (value,), want_old)
        np.testing.assert_array_equal(memory, expected)
        if want_old:
            np.testing.assert_array_equal(found, np.array(old, np.float32))


def test_one_operand_for_all_lanes():
    memory = np.zeros(1, np.int32)
    found = atomics.apply(memory, np.zeros(5, np.int64), "add", (np.int32(2),), True)
    assert found.tolist() == [0, 2, 4, 6, 8]
    assert memory[0] == 10


def test_a_function_is_done_lane_after_lane():
    rng = np.random.default_rng(3)
    place, values = rng.integers(0, 5, 200), rng.integers(0, 100, 200).astype(np.uint32)
    start = rng.integers(0, 100, 5).astype(np.uint32)

    def action(old, value):  # in no other order the same
        return old * old.dtype.type(3) + value

    memory, expected, before = start.copy(), start.copy(), []
    for p, v in zip(place, values, strict=True):
        before.append(int(expected[p]))
        expected[p] = (int(expected[p]) * 3 + int(v)) % (1 << 32)
    found = atomics.apply(memory, place, action, (values,), want_old=True)
    assert found.tolist() == before
    assert memory.tolist() == expected.tolist()
    memory = start.copy()
    atomics.apply(memory, place, action, (values,), want_old=False)
    assert memory.tolist() == expected.tolist()
