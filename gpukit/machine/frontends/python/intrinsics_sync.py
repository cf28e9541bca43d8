"""Intrinsics that order or exchange data between threads: barriers, warp operations, atomics, fences, cached access."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpukit.machine.frontends.python import arrays
from gpukit.machine.frontends.python.registry import intrinsic
from gpukit.machine.frontends.python.values import (
    BOOL,
    Array,
    NoneValue,
    Scalar,
    Symbol,
    Tuple,
    Value,
    constant,
    integer,
)

if TYPE_CHECKING:
    from gpukit.machine.frontends.python.operations import Evaluator

INT32, UINT32, UINT64 = np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.uint64)
INT64, FLOAT32, FLOAT64 = np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.float64)
FULL_MASK = constant(0xFFFFFFFF, UINT32)

# --- barriers --------------------------------------------------------------------------------------------------------


@intrinsic("cuda.syncthreads")
def syncthreads(ev: Evaluator) -> Value:
    ev.out.barrier()
    return NoneValue()


def _reducing_barrier(kind: str) -> None:
    @intrinsic(f"cuda.syncthreads_{kind}")
    def handler(ev: Evaluator, predicate: Value) -> Value:
        # The intrinsic takes an int32, so numba drops the upper half of an int64: 2**32 counts as false.
        if ev.number(predicate, "a predicate").dtype.kind == "b":
            ev.fail(f"numba-cuda has no syncthreads_{kind} of a bool: write int(...) around the condition")
        result = ev.out.barrier(kind, _predicate(ev, predicate, np.dtype(np.int32)))
        assert result is not None
        return result


for _kind in ("count", "and", "or"):
    _reducing_barrier(_kind)


def _predicate(ev: Evaluator, value: Value, taken_as: np.dtype | None = None) -> Scalar:
    number = ev.number(value, "a predicate")
    if number.dtype.kind not in "biu":
        ev.fail(f"a predicate must be an integer or a bool, not {number.dtype}: compare it first")
    if taken_as is not None and number.dtype.itemsize > taken_as.itemsize:
        number = ev.out.cast(number, taken_as)
    return ev.condition(number)


@intrinsic("cuda.syncwarp")
def syncwarp(ev: Evaluator, mask: Value | None = None) -> Value:
    ev.out.warp("sync", [FULL_MASK if mask is None else _mask(ev, mask)], [])
    return NoneValue()


@intrinsic("cuda.cg.this_grid")
def this_grid(ev: Evaluator) -> Value:
    return Symbol("cuda.cg.grid_group")


@intrinsic("cuda.cg.grid_group.sync")
def grid_sync(ev: Evaluator) -> Value:
    ev.out.grid_sync()
    return constant(1, INT32)


def _fence(name: str, scope: str) -> None:
    @intrinsic(f"cuda.{name}")
    def handler(ev: Evaluator) -> Value:
        ev.out.fence(scope)
        return NoneValue()


for _name, _scope in (("threadfence_block", "block"), ("threadfence", "device"), ("threadfence_system", "system")):
    _fence(_name, _scope)


@intrinsic("cuda.nanosleep")
def nanosleep(ev: Evaluator, nanoseconds: Value) -> Value:
    ev.number(nanoseconds, "`cuda.nanosleep`")
    return NoneValue()  # the machine has no clock to wait for


# --- warps -----------------------------------------------------------------------------------------------------------


def _mask(ev: Evaluator, value: Value) -> Scalar:
    number = ev.number(value, "a lane mask")
    if number.dtype.kind not in "iu":
        ev.fail(f"a lane mask must be an integer, not {number.dtype}")
    return ev.out.cast(number, UINT32)


def _exchanged(ev: Evaluator, value: Value, what: str) -> Scalar:
    """The value as one of the four types a warp can exchange: int32, int64, float32, float64."""
    number = ev.number(value, f"`cuda.{what}`")
    kind, size = number.dtype.kind, number.dtype.itemsize
    if kind == "c":
        ev.fail(f"`cuda.{what}` cannot exchange {number.dtype}: exchange .real and .imag")
    if kind == "f":
        return ev.out.cast(number, FLOAT64 if size == 8 else FLOAT32)
    narrow = size < 4 or number.dtype == INT32
    return ev.out.cast(number, INT32 if narrow else INT64)


def _shuffle(name: str, kind: str) -> None:
    @intrinsic(f"cuda.{name}")
    def handler(ev: Evaluator, mask: Value, value: Value, lane: Value) -> Value:
        exchanged = _exchanged(ev, value, name)
        where = ev.number(lane, f"`cuda.{name}`")
        if where.dtype.kind not in "iub":
            ev.fail(f"the last argument of `cuda.{name}` must be an integer, not {where.dtype}")
        operands = [_mask(ev, mask), exchanged, ev.out.cast(where, INT32)]
        return ev.out.warp(kind, operands, [exchanged.dtype])[0]


for _name, _kind in (
    ("shfl_sync", "shfl_idx"),
    ("shfl_up_sync", "shfl_up"),
    ("shfl_down_sync", "shfl_down"),
    ("shfl_xor_sync", "shfl_xor"),
):
    _shuffle(_name, _kind)


def _vote(name: str, result: np.dtype) -> None:
    @intrinsic(f"cuda.{name}_sync")
    def handler(ev: Evaluator, mask: Value, predicate: Value) -> Value:
        return ev.out.warp(name, [_mask(ev, mask), _predicate(ev, predicate)], [result])[0]


for _name, _dtype in (("all", BOOL), ("any", BOOL), ("eq", BOOL), ("ballot", INT32)):
    _vote(_name, _dtype)


@intrinsic("cuda.match_any_sync")
def match_any(ev: Evaluator, mask: Value, value: Value) -> Value:
    return ev.out.warp("match_any", [_mask(ev, mask), _exchanged(ev, value, "match_any_sync")], [INT32])[0]


@intrinsic("cuda.match_all_sync")
def match_all(ev: Evaluator, mask: Value, value: Value) -> Value:
    operands = [_mask(ev, mask), _exchanged(ev, value, "match_all_sync")]
    return Tuple(tuple(ev.out.warp("match_all", operands, [INT32, BOOL])))


@intrinsic("cuda.activemask")
def activemask(ev: Evaluator) -> Value:
    return ev.out.special("activemask", UINT32)


@intrinsic("cuda.lanemask_lt")
def lanemask_lt(ev: Evaluator) -> Value:
    return ev.out.special("lanemask_lt", UINT32)


@intrinsic("cuda.clock", "cuda.clock64")
def clock(ev: Evaluator) -> Value:
    return ev.out.special("clock", INT64)


# --- atomics ---------------------------------------------------------------------------------------------------------

_INTEGERS = (INT32, UINT32, INT64, UINT64)
_NUMBERS = (*_INTEGERS, FLOAT32, FLOAT64)
_ATOMICS = {
    **dict.fromkeys(("add", "sub", "max", "min", "nanmax", "nanmin"), _NUMBERS),
    **dict.fromkeys(("and_", "or_", "xor", "exch"), _INTEGERS),
    **dict.fromkeys(("inc", "dec"), (UINT32, UINT64)),
}


def _target(ev: Evaluator, array: Value, index: Value, name: str, allowed: tuple[np.dtype, ...]) -> Array:
    """The element an atomic works on, as an array without axes."""
    found = ev.as_array(array)
    if found is None:
        ev.fail(f"`cuda.atomic.{name}` works on an array, not on {array.describe()}")
    arrays.check_writable(ev, found)
    parts = index.items if isinstance(index, Tuple) else (index,)
    if len(parts) != found.ndim:
        ev.fail(f"`{found.name}` has {found.ndim} dimensions, `cuda.atomic.{name}` was given {len(parts)} indices")
    if found.dtype not in allowed or found.vector:
        names = ", ".join(str(dtype) for dtype in allowed)
        ev.fail(f"`cuda.atomic.{name}` works on {names}; `{found.name}` is {found.dtype}")
    return arrays.indexed(found, [arrays.index_number(ev, part) for part in parts])


def _atomic(name: str, allowed: tuple[np.dtype, ...]) -> None:
    @intrinsic(f"cuda.atomic.{name}")
    def handler(ev: Evaluator, ary: Value, idx: Value, val: Value) -> Value:
        target = _target(ev, ary, idx, name, allowed)
        source = [arrays.converted(ev, val, target, "added to" if name == "add" else "combined with")]
        return ev.out.atomic(name.rstrip("_"), arrays.place(target), target, target.dtype, source)


for _name, _allowed in _ATOMICS.items():
    _atomic(_name, _allowed)


@intrinsic("cuda.atomic.cas")
def cas(ev: Evaluator, ary: Value, idx: Value, old: Value, val: Value) -> Value:
    target = _target(ev, ary, idx, "cas", _INTEGERS)
    source = [arrays.converted(ev, value, target, "stored in") for value in (old, val)]
    return ev.out.atomic("cas", arrays.place(target), target, target.dtype, source)


@intrinsic("cuda.atomic.compare_and_swap")
def compare_and_swap(ev: Evaluator, ary: Value, old: Value, val: Value) -> Value:
    found = ev.as_array(ary)
    first = Tuple((integer(0),) * (found.ndim if found is not None else 1))
    return cas(ev, ary, first, old, val)


# --- loads and stores with a cache hint ------------------------------------------------------------------------------


def _cached_load(name: str) -> None:
    @intrinsic(f"cuda.{name}")
    def handler(ev: Evaluator, array: Value, i: Value) -> Value:
        found = _hinted(ev, array, i, name)
        return arrays.get(ev, found, i, volatile=name == "ldcv")


def _cached_store(name: str) -> None:
    @intrinsic(f"cuda.{name}")
    def handler(ev: Evaluator, array: Value, i: Value, value: Value) -> Value:
        arrays.put(ev, _hinted(ev, array, i, name), i, value)
        return NoneValue()


def _hinted(ev: Evaluator, array: Value, index: Value, name: str) -> Array:
    found = ev.as_array(array)
    if found is None:
        ev.fail(f"`cuda.{name}` works on an array, not on {array.describe()}")
    given = len(index.items) if isinstance(index, Tuple) else 1
    if given != found.ndim:
        ev.fail(f"`{found.name}` has {found.ndim} dimensions, `cuda.{name}` was given {given} indices")
    return found


for _name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"):
    _cached_load(_name)
for _name in ("stcg", "stcs", "stwb", "stwt"):
    _cached_store(_name)
