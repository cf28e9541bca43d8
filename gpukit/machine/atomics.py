"""Atomic operations over many lanes at once, with the result of doing them one lane after another in lane order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def _increment(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


_UFUNC: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "max": np.maximum,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


Action = str | Callable[[np.ndarray, np.ndarray], np.ndarray]


def apply(view: np.ndarray, place: np.ndarray, action: Action, operands: tuple, want_old: bool) -> np.ndarray | None:
    """Do `action` at view[place[i]] for i = 0, 1, 2 ... in this order; returns the values found, or None.

    Args:
        view: memory, 1-D, modified.
        place: int64 (n,), indices into view.
        action: see program.Atomic.
        operands: one or two values per lane (dtype of view, (n,) or scalar).
        want_old: whether the values found are needed.
    """
    n = place.size
    values = [np.broadcast_to(np.asarray(v, view.dtype), (n,)) for v in operands]
    if action in ("max", "min") and view.dtype.kind == "f":
        # The GPU stores the operand if it compares greater (less): a NaN in memory stays, a NaN operand never wins.
        never = -np.inf if action == "max" else np.inf
        values = [np.where(np.isnan(values[0]), view.dtype.type(never), values[0])]
    if not want_old and action in _UFUNC:
        _UFUNC[action].at(view, place, values[0])
        return None
    order = np.argsort(place, kind="stable")
    where = place[order]
    sorted_values = [v[order] for v in values]
    starts = np.flatnonzero(np.concatenate(([True], where[1:] != where[:-1])))
    old_sorted = _in_order(view, where, starts, action, sorted_values)
    old = np.empty(n, view.dtype)
    old[order] = old_sorted
    return old


def _in_order(
    view: np.ndarray, where: np.ndarray, starts: np.ndarray, action: Action, values: list[np.ndarray]
) -> np.ndarray:
    """Old values for lanes sorted by place; lanes of one place are neighbours, in lane order."""
    n = where.size
    sizes = np.diff(starts, append=n)
    places = where[starts]
    last = starts + sizes - 1
    if action == "exch":
        old = np.concatenate((view[:1], values[0][:-1]))
        old[starts] = view[places]
        view[places] = values[0][last]
        return old
    if action in ("add", "sub") and view.dtype.kind in "iu":
        step = values[0] if action == "add" else -values[0]
        before = np.cumsum(step, dtype=view.dtype) - step
        old = np.repeat(view[places] - before[starts], sizes) + before
        view[places] = old[last] + step[last]
        return old
    if action == "cas" and (values[0] == values[0][0]).all() and (values[1] != values[0][0]).all():
        # Everyone waits for one value and nobody puts it back (a lock): at most the first lane of a place wins.
        before = view[places]
        after = np.where(before == values[0][0], values[1][starts], before)
        old = np.repeat(after, sizes)
        old[starts] = before
        view[places] = after
        return old
    old = np.empty(n, view.dtype)
    if starts.size < int(sizes.max()) and action in _UFUNC:
        ufunc = _UFUNC[action]
        for start, size, place in zip(starts.tolist(), sizes.tolist(), places.tolist(), strict=True):
            run = ufunc.accumulate(np.concatenate((view[place : place + 1], values[0][start : start + size])))
            old[start : start + size] = run[:-1]
            view[place] = run[-1]
        return old
    # One round per repetition: the k-th lane of every place together.
    rank = np.arange(n) - np.repeat(starts, sizes)
    by_rank = np.argsort(rank, kind="stable")
    edges = np.flatnonzero(np.diff(rank[by_rank], prepend=-1, append=-1))
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        these = by_rank[low:high]
        spot = where[these]
        found = view[spot]
        old[these] = found
        view[spot] = _once(action, found, [v[these] for v in values])
    return old


def _once(action: Action, old: np.ndarray, values: list[np.ndarray]) -> np.ndarray:
    if callable(action):
        return action(old, values[0])
    if action == "cas":
        return np.where(old == values[0], values[1], old)
    if action == "inc":
        return _increment(old, values[0])
    if action == "dec":
        return _decrement(old, values[0])
    return _UFUNC[action](old, values[0])
