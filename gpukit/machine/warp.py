"""Warp-wide operations: what lanes that meet at a shuffle, vote, match or reduction give each other.

All functions work on the lanes that take part, as compact vectors in lane order; `mask` is each lane's 32-bit mask
(uint32 (n,) or one for all). Lanes of a warp with different masks form groups of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpukit.machine.lanes import LaneSet
from gpukit.machine.memory import POISON

_REDUX = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@dataclass
class Exchanged:
    """Results (one array per destination), and which lanes read a lane that was not there (None: no lane did)."""

    results: tuple[np.ndarray, ...]
    missing: np.ndarray | None = None
    source: np.ndarray | None = None


def active_bits(lanes: LaneSet) -> np.ndarray:
    """Bit mask of the lanes present, one uint32 per warp in the set."""
    bits = np.uint32(1) << (lanes.lanes & 31).astype(np.uint32)
    return np.bitwise_or.reduceat(bits, lanes.warp_starts)


def poison_value(dtype: np.dtype) -> np.generic:
    """The value an undefined read gives."""
    return np.full(4, POISON, np.uint32).view(np.uint8)[: dtype.itemsize].copy().view(dtype)[0]


def exchange(
    kind: str, lanes: LaneSet, operands: tuple[np.ndarray | np.generic, ...], dtypes: tuple[np.dtype, ...]
) -> Exchanged:
    """Carry out a WarpSync of `kind` (see program.WarpSync) among `lanes`; `dtypes` are those of its results."""
    mask = operands[0]
    if kind == "sync":
        return Exchanged(())
    if kind.startswith("shfl_"):
        return _shuffle(kind[5:], lanes, mask, operands[1:], dtypes)
    groups = _Groups(lanes, mask)
    value = np.broadcast_to(np.asarray(operands[1]), (lanes.n,))
    match kind:
        case "ballot":
            results: tuple[np.ndarray, ...] = (groups.ballot(value.astype(bool)),)
        case "any":
            results = (groups.ballot(value.astype(bool)) != 0,)
        case "all":
            results = (groups.ballot(~value.astype(bool)) == 0,)
        case "eq":
            yes, no = groups.ballot(value.astype(bool)), groups.ballot(~value.astype(bool))
            results = ((yes == 0) | (no == 0),)
        case "match_any":
            results = (groups.same_value(value),)
        case "match_all":
            everyone = groups.ballot(np.ones(lanes.n, bool))
            agreed = groups.same_value(value) == everyone
            agreed = groups.ballot(~agreed) == 0
            results = (np.where(agreed, everyone, np.uint32(0)), agreed)
        case _:
            results = (groups.reduce(_REDUX[kind.removeprefix("redux_")], value),)
    return Exchanged(tuple(_as(r, d) for r, d in zip(results, dtypes, strict=False)))


def _as(result: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Masks keep their bits when the destination is signed."""
    if result.dtype == np.uint32 and dtype == np.int32:
        return result.view(np.int32)
    return result.astype(dtype, copy=False)


def _shuffle(
    way: str,
    lanes: LaneSet,
    mask: np.ndarray | np.generic,
    operands: tuple[np.ndarray | np.generic, ...],
    dtypes: tuple[np.dtype, ...],
) -> Exchanged:
    value, amount = operands[:2]
    own = lanes.lanes & 31
    delta = np.asarray(amount).astype(np.int64)
    if len(operands) > 2:  # PTX: clamp in bits 0-4, segment mask in bits 8-12
        control = np.asarray(operands[2]).astype(np.int64)
        segment, clamp = control >> 8 & 31, control & 31
        limit = (own & segment) | (clamp & ~segment)
        start = own & segment
    else:
        limit, start, segment = np.array(0 if way == "up" else 31), np.array(0), np.array(0)
    if way == "idx":
        source = start | (delta & 31 & ~segment)
    elif way == "up":
        source = own - delta
    elif way == "down":
        source = own + delta
    else:
        source = own ^ delta
    inside = source >= limit if way == "up" else source <= limit
    inside &= (source >= 0) & (source <= 31)
    source = np.where(inside, source, own)
    place = lanes.lanes - own + source

    dtype = dtypes[0]
    everywhere = np.full(lanes.wave.n_lanes, poison_value(dtype), dtype)
    everywhere[lanes.lanes] = value
    present = np.zeros(lanes.wave.n_lanes, bool)
    present[lanes.lanes] = True
    missing = ~present[place]
    if isinstance(mask, np.ndarray) or int(mask) != 0xFFFFFFFF:
        named = np.asarray(mask).astype(np.uint32) >> source.astype(np.uint32) & np.uint32(1)
        missing = missing | ((named == 0) & (place != lanes.lanes))
    result = everywhere[place]
    results = (result, np.broadcast_to(inside, (lanes.n,))) if len(dtypes) > 1 else (result,)
    if missing.any():
        result[missing] = poison_value(dtype)
        return Exchanged(results, missing, source)
    return Exchanged(results)


class _Groups:
    """Lanes that vote together: those of one warp with one mask."""

    def __init__(self, lanes: LaneSet, mask: np.ndarray | np.generic):
        self.lanes = lanes
        self.order: np.ndarray | None = None
        self.starts = lanes.warp_starts
        self.group = lanes.warps
        if isinstance(mask, np.ndarray) and (mask != mask[0]).any():
            self.group = lanes.warps << 32 | mask.astype(np.uint32).astype(np.int64)
            self.order = np.argsort(self.group, kind="stable")
            sorted_group = self.group[self.order]
            self.starts = np.flatnonzero(np.concatenate(([True], sorted_group[1:] != sorted_group[:-1])))

    def reduce(self, ufunc: np.ufunc, value: np.ndarray) -> np.ndarray:
        """ufunc over each group, given back to each of its lanes."""
        ordered = value if self.order is None else value[self.order]
        total = ufunc.reduceat(ordered, self.starts).astype(value.dtype, copy=False)
        spread = np.repeat(total, np.diff(self.starts, append=self.lanes.n))
        if self.order is None:
            return spread
        result = np.empty_like(spread)
        result[self.order] = spread
        return result

    def ballot(self, predicate: np.ndarray) -> np.ndarray:
        """uint32 per lane: bits of the lanes of its group where the predicate is true."""
        bits = predicate.astype(np.uint32) << (self.lanes.lanes & 31).astype(np.uint32)
        return self.reduce(np.bitwise_or, bits)

    def same_value(self, value: np.ndarray) -> np.ndarray:
        """uint32 per lane: bits of the lanes of its group with a bit-identical value."""
        raw = np.ascontiguousarray(value)
        raw = raw.view(f"u{raw.dtype.itemsize}") if raw.dtype.kind != "b" else raw.view(np.uint8)
        order = np.lexsort((raw, self.group))
        group, ordered = self.group[order], raw[order]
        change = (group[1:] != group[:-1]) | (ordered[1:] != ordered[:-1])
        starts = np.flatnonzero(np.concatenate(([True], change)))
        bits = np.uint32(1) << (self.lanes.lanes[order] & 31).astype(np.uint32)
        total = np.bitwise_or.reduceat(bits, starts)
        result = np.empty(value.size, np.uint32)
        result[order] = np.repeat(total, np.diff(starts, append=value.size))
        return result
