"""Is an array the expected one, and if not, where and in what pattern?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpukit.labs.comparing import Difference, difference, nested_difference

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("got", "expected", "bound"),
    [
        ([1.0, NAN, INF, -INF], [1.0, NAN, INF, -INF], 0.0),
        ([1.0, 2.1], [1.0, 2.0], 0.11),
        ([1.0, 2.1], [1.0, 2.0], np.array([0.0, 0.2])),
        ([], [], 0.0),
        ([True, False], [True, False], 0.0),
        ([1 + 2j], [1 + 2j], 0.0),
        ([0.0], [-0.0], 0.0),
    ],
)
def test_right(got, expected, bound):
    assert difference(np.array(got), np.array(expected), bound) is None


@pytest.mark.parametrize(
    ("got", "expected", "bound", "index"),
    [
        ([1.0, NAN], [1.0, 1.0], 1e9, (1,)),
        ([1.0, 1.0], [1.0, NAN], 1e9, (1,)),
        ([INF], [-INF], 1e300, (0,)),
        ([1.0, INF], [1.0, 2.0], 1e300, (1,)),
        ([1.0, 2.1, 3.5], [1.0, 2.0, 3.0], np.array([0.0, 0.2, 0.2]), (2,)),
        ([1.0, 2.0000001], [1.0, 2.0], 0.0, (1,)),
    ],
)
def test_wrong(got, expected, bound, index):
    found = difference(np.array(got), np.array(expected), bound)
    assert isinstance(found, Difference)
    assert found.index == index and found.flat == index[0]


def test_large_integers_are_compared_exactly():
    a = np.array([2**62, 2**62 + 1], np.int64)
    found = difference(a, np.array([2**62, 2**62], np.int64))
    assert isinstance(found, Difference) and (found.index, found.got, found.expected) == ((1,), 2**62 + 1, 2**62)
    unsigned = np.array([2**64 - 1], np.uint64)
    assert difference(unsigned, np.array([2**64 - 1], np.uint64)) is None
    assert difference(unsigned, np.array([-1], np.int64)) is not None


def test_another_shape_or_no_number_is_a_sentence():
    assert difference(np.zeros(3), np.zeros(4)) == "the shape is (3,), expected (4,)"
    assert "no numbers" in difference(np.array(["a"]), np.array([1]))


@given(hnp.arrays(np.float32, hnp.array_shapes(max_dims=3, max_side=5)), st.data())
def test_the_first_wrong_place_and_the_number_of_them(expected, data):
    chosen = data.draw(st.sets(st.integers(0, expected.size - 1), min_size=1))
    got = expected.copy()
    places = np.unravel_index(sorted(chosen), expected.shape)
    got[places] = np.where(np.isnan(got[places]), 0, NAN)
    found = difference(got, expected)
    assert isinstance(found, Difference)
    assert (found.wrong, found.size, found.flat) == (len(chosen), expected.size, min(chosen))
    assert found.index == np.unravel_index(min(chosen), expected.shape)
    assert difference(expected, expected) is None


# --- patterns --------------------------------------------------------------------------------------------------------


def pattern(shape, *wrong):
    got = np.zeros(shape, np.int32)
    for place in wrong:
        got[place] = 1
    found = difference(got, np.zeros(shape, np.int32))
    assert isinstance(found, Difference)
    return found.pattern


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ([slice(None)], "all of them"),
        ([0], "the first one alone"),
        ([999], "the last one alone"),
        ([500], "this one alone"),
        ([slice(992, None)], "all from 992 to the end"),
        ([slice(32, 64)], "all from 32 to 63"),
        ([0, 999], "0 and 999"),
        ([slice(0, None, 2)], "every 2nd from 0 on"),
        ([slice(1, None, 3)], "every 3rd from 1 on"),
        ([slice(31, None, 32)], "every 32nd from 31 on"),
        ([slice(5, None, 11)], "every 11th from 5 on"),
        ([slice(0, 40, 4)], "every 4th from 0 to 36"),
        ([31, 63, 191], "all at places with remainder 31 modulo 32: one lane of each warp?"),
        ([3, 7, 500], "between 3 and 500"),
    ],
)
def test_patterns_on_a_line(wrong, text):
    assert pattern(1000, *wrong) == text


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ([np.s_[:, :]], "all of them"),
        ([np.s_[3, :]], "all of [3, :]"),
        ([np.s_[:, 19]], "all of [:, 19]"),
        ([np.s_[16:, :]], "all of [16:20, :]"),
        ([np.s_[4:8, 2:6]], "all of [4:8, 2:6]"),
        ([np.s_[1, 2], np.s_[5, 9]], "some of [1:6, 2:10]"),
        ([np.s_[1, 2]], "this one alone"),
    ],
)
def test_patterns_in_two_dimensions(wrong, text):
    assert pattern((20, 20), *wrong) == text


def test_one_number_has_no_pattern():
    assert pattern(1, 0) == ""


# --- what host code returns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (4, 4),
        (4.0, 4),
        (np.int64(4), 4),
        ([1, 2.0], [1, 2]),
        ((1, 2), [1, 2]),
        ("memory", "memory"),
        (True, True),
        (np.True_, True),
        (True, np.True_),
        (None, None),
        (np.arange(3), np.arange(3)),
        ([(1, "a"), None], [(1, "a"), None]),
        ([], []),
    ],
)
def test_equal_results(got, expected):
    assert nested_difference(got, expected) is None


@pytest.mark.parametrize(
    ("got", "expected", "text"),
    [
        (5, (5, 6), "expected a tuple of 2 values"),
        ([1, 2, 3], [1, 2], "expected 2 values, not 3"),
        ((1, 3), (1, 2), "value 1 differs"),
        ((1, "x"), (1, "y"), "value 1: that is another answer"),
        ((1, None), (1, 2), "value 1: expected a number"),
        ("4", 4, "expected a number"),
        (None, 4, "expected a number"),
        (True, 1, "expected a number"),
        (1, True, "another answer"),
        (0, False, "another answer"),
        (0, None, "another answer"),
        ([1, 2], np.array([1, 2]), "expected an array"),
        (np.zeros(2), np.zeros(3), "the shape is (2,), expected (3,)"),
    ],
)
def test_unequal_results(got, expected, text):
    assert text in nested_difference(got, expected)


def test_an_unequal_number_is_a_difference():
    found = nested_difference(5, 4)
    assert isinstance(found, Difference) and (found.got, found.expected, found.index) == (5, 4, ())
    assert nested_difference(1.05, 1.0, 0.1) is None
    assert nested_difference([1.05], [1.0], 0.01) is not None
