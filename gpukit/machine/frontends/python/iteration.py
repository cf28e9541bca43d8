"""What a `for` loop can run over: range, arrays, tuples, enumerate and zip.

A loop keeps a state: the next number of a range, the next position of an array, a tuple of both for `enumerate`. Loops
over tuples are unrolled by `lowering`, because the items of a tuple may differ in type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.python import arrays
from gpukit.machine.frontends.python.values import (
    BOOL,
    INT64,
    Array,
    ConstantArray,
    Enumerate,
    Range,
    Scalar,
    Tuple,
    Value,
    integer,
)

if TYPE_CHECKING:
    from gpukit.machine.frontends.python.operations import Evaluator

# A tuple longer than this would make a kernel that nobody wants to compile.
MAX_UNROLL = 1024
_INT32, _UINT64 = np.dtype(np.int32), np.dtype(np.uint64)


class Unroll(Exception):
    """The loop at `key` runs over a tuple: lower the function again with that many copies of its body."""

    def __init__(self, key: tuple[int, int], copies: int):
        super().__init__(key, copies)
        self.key = key
        self.copies = copies


def make_range(ev: Evaluator, *bounds: Value) -> Range:
    """`range(...)`: int32 if all bounds fit, uint64 if all are unsigned, int64 otherwise, as numba types it."""
    numbers = [ev.number(bound, "`range`") for bound in bounds]
    for number in numbers:
        if number.dtype.kind not in "iub":
            ev.fail(f"`range` needs integers, not {number.dtype}: convert with int(...)")
    dtypes = [number.dtype for number in numbers]
    dtype: np.dtype = INT64
    if all(np.can_cast(dtype, _INT32, "safe") for dtype in dtypes):
        dtype = _INT32
    elif all(dtype.kind in "ub" for dtype in dtypes):
        dtype = _UINT64
    numbers = [ev.out.cast(number, dtype) for number in numbers]
    one, zero = ev.out.cast(integer(1), dtype), ev.out.cast(integer(0), dtype)
    start, stop, step = (zero, *numbers, one) if len(numbers) == 1 else (*numbers, one)[:3]
    if step.constant is not None and step.constant == 0:
        ev.fail("the step of `range` must not be zero")
    return Range(start, stop, step)


def iterable(ev: Evaluator, value: Value, key: tuple[int, int]) -> Value:
    """The value a loop runs over; raises `Unroll` if the loop's body must be repeated for each item."""
    copies = _fixed_length(ev, value)
    if copies is None:
        if isinstance(value, ConstantArray):
            value = arrays.freeze(ev, value)
        if isinstance(value, Array) and value.ndim == 0:
            ev.fail("a 0-dimensional array cannot be looped over")
        if not isinstance(value, Range | Array | Enumerate):
            ev.fail(f"{value.describe()} cannot be looped over")
    elif key not in ev.unrolled:
        if copies > MAX_UNROLL:
            ev.refuse(f"a loop over a tuple of {copies} items is too long: use an array")
        raise Unroll(key, copies)
    return value


def _fixed_length(ev: Evaluator, value: Value) -> int | None:
    """How many items, if that is part of the type."""
    if isinstance(value, Tuple):
        return len(value.items)
    if isinstance(value, Enumerate):
        items = value.items[:1] if value.kind == "enumerate" else value.items
        lengths = [_fixed_length(ev, item) for item in items]
        known = [length for length in lengths if length is not None]
        if not known:
            return None
        if len(known) != len(lengths):
            ev.refuse("a loop over a tuple and an array together is not available: loop over the indices")
        return min(known)
    return None


def start(ev: Evaluator, value: Value) -> Value:
    if isinstance(value, Range):
        return value.start
    if isinstance(value, Enumerate):
        if value.kind == "enumerate":
            return Tuple((start(ev, value.items[0]), value.items[1]))
        return Tuple(tuple(start(ev, item) for item in value.items))
    return integer(0)


def more(ev: Evaluator, value: Value, state: Value) -> Scalar:
    """Whether another round follows."""
    if isinstance(value, Range):
        assert isinstance(state, Scalar)
        if value.step.constant is None:
            code = "np.where({2} > 0, {0} < {1}, {0} > {1})[()]"
            return ev.out.alu(code, (state, value.stop, value.step), BOOL)
        return ev.out.alu("({0} < {1})" if int(value.step.constant) > 0 else "({0} > {1})", (state, value.stop), BOOL)
    if isinstance(value, Enumerate):
        assert isinstance(state, Tuple)
        if value.kind == "enumerate":
            return more(ev, value.items[0], state.items[0])
        result = more(ev, value.items[0], state.items[0])
        for item_, state_ in zip(value.items[1:], state.items[1:], strict=True):
            result = ev.out.alu("({0} & {1})", (result, more(ev, item_, state_)), BOOL)
        return result
    assert isinstance(value, Array) and isinstance(state, Scalar)
    return ev.out.alu("({0} < {1})", (state, value.shape[0]), BOOL)


def item(ev: Evaluator, value: Value, state: Value) -> Value:
    if isinstance(value, Range):
        return state
    if isinstance(value, Enumerate):
        assert isinstance(state, Tuple)
        if value.kind == "enumerate":
            return Tuple((state.items[1], item(ev, value.items[0], state.items[0])))
        return Tuple(tuple(item(ev, i, s) for i, s in zip(value.items, state.items, strict=True)))
    assert isinstance(value, Array)
    return arrays.get(ev, value, state)


def following(ev: Evaluator, value: Value, state: Value) -> Value:
    if isinstance(value, Range):
        assert isinstance(state, Scalar)
        return ev.out.alu("({0} + {1})", (state, value.step), state.dtype, count=1)
    if isinstance(value, Enumerate):
        assert isinstance(state, Tuple)
        if value.kind == "enumerate":
            counter = state.items[1]
            assert isinstance(counter, Scalar)
            counter = ev.out.alu("({0} + {1})", (counter, integer(1)), counter.dtype)
            return Tuple((following(ev, value.items[0], state.items[0]), counter))
        return Tuple(tuple(following(ev, i, s) for i, s in zip(value.items, state.items, strict=True)))
    assert isinstance(state, Scalar)
    return ev.out.alu("({0} + {1})", (state, integer(1)), INT64, count=1)


def fixed(ev: Evaluator, value: Value, position: int) -> Value:
    """The item at a position of a loop that is unrolled."""
    if isinstance(value, Enumerate):
        if value.kind == "enumerate":
            counter = value.items[1]
            assert isinstance(counter, Scalar)
            counter = ev.out.alu("({0} + {1})", (counter, integer(position)), counter.dtype)
            return Tuple((counter, fixed(ev, value.items[0], position)))
        return Tuple(tuple(fixed(ev, item_, position) for item_ in value.items))
    assert isinstance(value, Tuple)
    return value.items[position]
