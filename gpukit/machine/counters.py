"""What Nsight Compute would count: formulas per warp instruction, raw counts while running, and their summary.

A request is one warp memory instruction with at least one active lane. A sector is an aligned 32-byte chunk of global
memory. A wavefront is what shared memory can serve in one pass: each of the 32 banks (4 bytes wide) gives one word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gpukit.machine.lanes import WARP_SIZE, LaneSet, per_lane, tally
from gpukit.machine.memory import aligned
from gpukit.machine.program import (
    CONSTANT,
    LANE,
    LOCAL,
    SHARED,
    WARP,
    Alu,
    Atomic,
    Barrier,
    BasicBlock,
    Branch,
    GridSync,
    Load,
    Program,
    Store,
    WarpSync,
)

SECTOR_BYTES = 32
BANKS = 32
BANK_BYTES = 4


# --- formulas ------------------------------------------------------------------------------------------------------


def count_sectors(address: np.ndarray | np.integer, width: int, lanes: LaneSet) -> int:
    """Distinct aligned 32-byte sectors touched, summed over the warps of `lanes`.

    Args:
        address: byte addresses, int64 (n,) for the n lanes in order, or one address that every lane uses.
        width: bytes per lane.
        lanes: the active lanes.
    """
    if not isinstance(address, np.ndarray):
        first = int(address) // SECTOR_BYTES
        return ((int(address) + width - 1) // SECTOR_BYTES - first + 1) * lanes.n_warps
    if lanes.n == 1:
        first = int(address[0]) // SECTOR_BYTES
        return (int(address[0]) + width - 1) // SECTOR_BYTES - first + 1
    sector = address >> 5
    # A lane whose bytes straddle a sector boundary touches every sector up to its last byte's.
    if width > SECTOR_BYTES or not aligned(address, width):
        last = (address + (width - 1)) >> 5
        reach = int((last - sector).max())
        if reach:
            extra = np.arange(reach + 1)
            every = sector[:, None] + extra
            keep = every <= last[:, None]
            return _distinct_per_warp(every[keep], np.repeat(lanes.warps, keep.sum(1)))
    starts = lanes.warp_starts
    change = sector[1:] != sector[:-1]
    change[starts[1:] - 1] = True
    falls = sector[1:] < sector[:-1]
    falls[starts[1:] - 1] = False
    if falls.any():
        return _distinct_per_warp(sector, lanes.warps)
    return 1 + int(np.count_nonzero(change))


def count_atomic_sectors(address: np.ndarray | np.integer, lanes: LaneSet, together: str = "") -> int:
    """Sectors of an atomic: lanes of a warp that update one address go one after the other, each in a pass of its own
    with the lanes of other addresses, and the sectors of every pass count. Measured on an H200.

    Where one lane does the atomic for its warp there is one pass.

    Args as for `count_sectors`; an atomic is aligned, so a lane has one sector. `together` as in program.Atomic.
    """
    if together:
        rest = apart(lanes, together)
        if rest is None:
            return count_sectors(address, 1, lanes)
        whole = lanes.n_warps - np.unique(lanes.warps[rest]).size  # each one pass at one address
        address = address[rest] if isinstance(address, np.ndarray) else address
        return whole + count_atomic_sectors(address, lanes.subset(rest))
    if not isinstance(address, np.ndarray):
        return lanes.n
    order = np.lexsort((address, lanes.warps))
    place, warp = address[order], lanes.warps[order]
    first = np.ones(lanes.n, bool)
    first[1:] = (place[1:] != place[:-1]) | (warp[1:] != warp[:-1])
    number = np.arange(lanes.n)
    turn = number - np.maximum.accumulate(np.where(first, number, 0))
    return _distinct_per_warp((place >> 5) * WARP_SIZE + turn, warp)


def _distinct_per_warp(value: np.ndarray, warp: np.ndarray) -> int:
    """Number of distinct (warp, value) pairs."""
    low = int(value.min())
    bits = max(1, (int(value.max()) - low).bit_length())
    key = np.sort((warp << bits) + (value - low))
    return 1 + int(np.count_nonzero(key[1:] != key[:-1]))


def count_wavefronts(
    address: np.ndarray | np.integer, width: int, lanes: LaneSet, load: bool = True
) -> tuple[int, int]:
    """(wavefronts, least wavefronts) of a shared-memory access, summed over warps; their difference is the conflicts.

    Up to 4 bytes a lane the warp is served in one phase, with 8 in two half-warps, with 16 in four quarter-warps. A
    phase takes as many wavefronts as the busiest bank has distinct words to give; the least is one per phase that has
    an active lane. Lanes on one word share it. Wide loads whose lanes repeat addresses take half the phases: when in a
    warp every active lane n reads what lane n ^ 1 reads (where that is active), or every one what n ^ 2 reads, two
    phases become one. With this rule all 1,698 readings of data/results/h200_shared_wavefronts.json come out exactly.

    Args:
        address: byte addresses relative to shared memory, int64 (n,), or one for all lanes.
        width: bytes per lane.
        lanes: the active lanes.
        load: whether it is a load (stores do not merge phases).
    """
    if lanes.n == 1 or (not isinstance(address, np.ndarray) and width <= BANK_BYTES):
        return lanes.n_warps, lanes.n_warps
    if not isinstance(address, np.ndarray):
        address = np.full(lanes.n, address, np.int64)
    if width > 16 or not aligned(address, width):
        return _wavefronts_of_words(address, width, lanes)
    group_bits = {8: 4, 16: 3}.get(width, 5)  # lanes of a phase: 2 ** group_bits
    unit = address >> max(2, width.bit_length() - 1)
    units_per_row = BANKS * BANK_BYTES // max(BANK_BYTES, width)
    if group_bits == 5:
        starts = lanes.warp_starts
    else:
        group = (lanes.lanes >> group_bits) << 1
        if load:
            merging = per_lane(lanes, _repeats(unit, lanes))
            group = np.where(merging, group >> 2 << 2, group)
        starts = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    # Units that span less than one row of banks cannot collide: the usual case, settled without sorting.
    if lanes.n == starts.size << group_bits:
        by_phase = unit.reshape(-1, 1 << group_bits)
        span = by_phase.max(1) - by_phase.min(1)
    else:
        span = np.maximum.reduceat(unit, starts) - np.minimum.reduceat(unit, starts)
    crowded = span >= units_per_row
    if not crowded.any():
        return starts.size, starts.size
    sizes = np.diff(starts, append=lanes.n)
    busy = np.repeat(crowded, sizes)
    phase = np.repeat(np.cumsum(crowded) - 1, np.where(crowded, sizes, 0))
    wavefronts = _busiest_bank(unit[busy], phase, units_per_row)
    return wavefronts + int(np.count_nonzero(~crowded)), starts.size


def _repeats(unit: np.ndarray, lanes: LaneSet) -> np.ndarray:
    """Per warp of the set: whether all active neighbours (n, n ^ 1), or all (n, n ^ 2), want the same unit."""
    n_warps = lanes.n_warps
    if lanes.n == n_warps * 32:
        table = unit.reshape(-1, 32)
        absent = np.zeros(table.shape, bool)
    else:
        table = np.zeros((n_warps, 32), np.int64)
        absent = np.ones((n_warps, 32), bool)
        row = per_lane(lanes, np.arange(n_warps))
        place = lanes.lanes & 31
        table[row, place] = unit
        absent[row, place] = False
    found = np.zeros(n_warps, bool)
    for apart in (1, 2):
        pairs = table.reshape(n_warps, -1, 2, apart)
        gone = absent.reshape(n_warps, -1, 2, apart)
        same = (pairs[:, :, 0] == pairs[:, :, 1]) | gone[:, :, 0] | gone[:, :, 1]
        found |= same.all(axis=(1, 2))
    return found


def _busiest_bank(unit: np.ndarray, phase: np.ndarray, units_per_row: int) -> int:
    """Sum over phases of the largest number of distinct units in one bank (or bank pair, or bank quad)."""
    low = int(unit.min()) // units_per_row * units_per_row
    bits = max(1, (int(unit.max()) - low).bit_length())
    key = np.sort((phase.astype(np.int64, copy=False) << bits) + (unit - low))
    key = key[np.concatenate(([True], key[1:] != key[:-1]))]
    bank = key & (units_per_row - 1)
    counts = tally((key >> bits) * units_per_row + bank)
    counts = np.concatenate((counts, np.zeros(-counts.size % units_per_row, counts.dtype)))
    return int(counts.reshape(-1, units_per_row).max(1).sum())


def _wavefronts_of_words(address: np.ndarray, width: int, lanes: LaneSet) -> tuple[int, int]:
    """The general rule for odd widths and misaligned lanes: every 4-byte word a lane touches, one phase a warp."""
    first = address >> 2
    last = (address + (width - 1)) >> 2
    every = first[:, None] + np.arange(int((last - first).max()) + 1)
    keep = every <= last[:, None]
    warp = np.cumsum(np.isin(np.arange(lanes.n), lanes.warp_starts)) - 1
    return _busiest_bank(every[keep], np.repeat(warp, keep.sum(1)), BANKS), lanes.n_warps


def apart(lanes: LaneSet, together: str) -> np.ndarray | None:
    """Lanes that do their own atomic, bool (n,), where lanes of a warp do it `together` (see program.Atomic); None if
    there are none."""
    if together == WARP:
        return None
    sizes = np.diff(lanes.warp_starts, append=lanes.n)
    alone = sizes < WARP_SIZE
    return np.repeat(alone, sizes) if alone.any() else None


def max_lanes_on_one_address(address: np.ndarray | np.integer, lanes: LaneSet, together: str = "") -> int:
    """The largest number of lanes of one warp that use one address. One lane may do it for its warp: `together`, as in
    program.Atomic."""
    if together:
        rest = apart(lanes, together)
        if rest is None:
            return 1
        address = address[rest] if isinstance(address, np.ndarray) else address
        lanes = lanes.subset(rest)
    if not isinstance(address, np.ndarray):
        return int(np.diff(lanes.warp_starts, append=lanes.n).max())
    low = int(address.min())
    bits = max(1, (int(address.max()) - low).bit_length())
    key = np.sort((lanes.warps << bits) + (address - low))
    edges = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1], [True])))
    return int(np.diff(edges).max())


# --- raw counts, filled while running ------------------------------------------------------------------------------


class AccessCount:
    """One load, store or atomic of the program in one memory space: totals over the whole launch."""

    __slots__ = ("bytes", "contention", "minimum", "requests", "units")

    def __init__(self) -> None:
        self.requests = 0
        self.units = 0  # sectors (global) or wavefronts (shared)
        self.minimum = 0  # least wavefronts (shared)
        self.bytes = 0
        self.contention = 0


@dataclass
class Work:
    """How evenly the warp instructions of a launch are spread over its thread blocks and warps."""

    total: int = 0
    blocks: int = 0
    warps: int = 0
    busiest_block: int = 0  # warp instructions of that block
    busiest_warp: int = 0

    def add(self, per_warp: np.ndarray, warps_per_block: int) -> None:
        """Add a wave: warp instructions of each of its warps, int64 (n_warps,)."""
        per_block = per_warp.reshape(-1, warps_per_block).sum(1)
        self.total += int(per_warp.sum())
        self.blocks += per_block.size
        self.warps += per_warp.size
        self.busiest_block = max(self.busiest_block, int(per_block.max()))
        self.busiest_warp = max(self.busiest_warp, int(per_warp.max()))

    @property
    def block_imbalance(self) -> float | None:
        """Work of the busiest block over that of the average block."""
        return self.busiest_block * self.blocks / self.total if self.total else None

    @property
    def warp_imbalance(self) -> float | None:
        """Work of the busiest warp over that of the average warp."""
        return self.busiest_warp * self.warps / self.total if self.total else None


@dataclass
class Counts:
    """Raw counts of a launch, by block number of the laid-out program and by access slot."""

    block_warps: list[int]
    block_lanes: list[int]
    divergent: list[int]
    barriers: list[int]
    access: list[dict[str, AccessCount]]  # by slot, then by space: a generic access may go to several
    work: Work = field(default_factory=lambda: Work())

    @classmethod
    def empty(cls, n_blocks: int, n_access: int) -> Counts:
        """Counts of a launch that has not begun."""
        zeros = [0] * n_blocks
        return cls(zeros[:], zeros[:], zeros[:], zeros[:], [{} for _ in range(n_access)])

    def of(self, slot: int, space: str) -> AccessCount:
        """The counts of an access in a space."""
        by_space = self.access[slot]
        if space not in by_space:
            by_space[space] = AccessCount()
        return by_space[space]


# --- summary -------------------------------------------------------------------------------------------------------

_ADDITIVE = (
    "global_load_requests",
    "global_store_requests",
    "global_load_sectors",
    "global_store_sectors",
    "global_load_bytes",
    "global_store_bytes",
    "shared_load_requests",
    "shared_store_requests",
    "shared_load_wavefronts",
    "shared_store_wavefronts",
    "shared_load_bank_conflicts",
    "shared_store_bank_conflicts",
    "local_load_requests",
    "local_store_requests",
    "constant_loads",
    "global_atomics",
    "shared_atomics",
    "global_atomic_sectors",
    "branches",
    "divergent_branches",
    "barriers",
    "warp_synchronisations",
    "float_operations",
    "warp_instructions",
    "thread_instructions",
)


def _empty() -> dict[str, int | float]:
    return {**dict.fromkeys(_ADDITIVE, 0), "atomic_max_contention": 0}


def _add_access(into: dict, op: Load | Store | Atomic, space: str, count: AccessCount) -> None:
    if isinstance(op, Atomic):
        kind = "shared_atomics" if space == SHARED else "global_atomics"
        into[kind] += count.requests
        if space != SHARED:
            into["global_atomic_sectors"] += count.units
        into["atomic_max_contention"] = max(into["atomic_max_contention"], count.contention)
        return
    way = "load" if isinstance(op, Load) else "store"
    if space == LOCAL:
        into[f"local_{way}_requests"] += count.requests
    elif space == CONSTANT:
        into["constant_loads"] += count.requests
    elif space == SHARED:
        into[f"shared_{way}_requests"] += count.requests
        into[f"shared_{way}_wavefronts"] += count.units
        into[f"shared_{way}_bank_conflicts"] += count.units - count.minimum
    else:
        into[f"global_{way}_requests"] += count.requests
        into[f"global_{way}_sectors"] += count.units
        into[f"global_{way}_bytes"] += count.bytes


def _derive(counters: dict) -> dict[str, int | float]:
    """Add the ratios; a ratio without a denominator is 0.0."""

    def ratio(a: float, b: float) -> float:
        return a / b if b else 0.0

    c = counters
    loads, stores = c["global_load_requests"], c["global_store_requests"]
    c["load_sectors_per_request"] = ratio(c["global_load_sectors"], loads)
    c["store_sectors_per_request"] = ratio(c["global_store_sectors"], stores)
    c["sectors_per_request"] = ratio(c["global_load_sectors"] + c["global_store_sectors"], loads + stores)
    c["load_efficiency"] = ratio(c["global_load_bytes"], SECTOR_BYTES * c["global_load_sectors"])
    c["store_efficiency"] = ratio(c["global_store_bytes"], SECTOR_BYTES * c["global_store_sectors"])
    c["active_lanes_per_instruction"] = ratio(c["thread_instructions"], c["warp_instructions"])
    return c


def together(launches: Sequence[Mapping[str, int | float]]) -> dict[str, int | float]:
    """The counters of several launches as those of one: counts are added, ratios made anew."""
    total = _empty()
    for counters in launches:
        for name in _ADDITIVE:
            total[name] += counters[name]
        total["atomic_max_contention"] = max(total["atomic_max_contention"], counters["atomic_max_contention"])
    return _derive(total)


def summarise(
    program: Program, blocks: list[BasicBlock], level: list[int], counts: Counts
) -> tuple[dict[str, int | float], dict[int, dict[str, int | float]]]:
    """(counters of the kernel, counters by index into Program.lines); only lines that did something appear."""
    by_line: dict[int, dict[str, int | float]] = {}

    def line_of(op: object) -> dict[str, int | float]:
        line = getattr(op, "line", 0)
        if line not in by_line:
            by_line[line] = _empty()
        return by_line[line]

    slot = 0
    for b, block in enumerate(blocks):
        warps, lanes = counts.block_warps[b], counts.block_lanes[b]
        for op in (*block.ops, block.end):
            if isinstance(op, (Load, Store, Atomic)):
                for space, count in counts.access[slot].items():
                    _add_access(line_of(op), op, space, count)
                slot += 1
            if not warps:
                continue
            times = getattr(op, "count", 1 if isinstance(op, (Barrier, WarpSync, GridSync)) else 0)
            if times:
                into = line_of(op)
                into["warp_instructions"] += times * warps
                into["thread_instructions"] += times * lanes
            if isinstance(op, Alu) and op.count and program.registers[op.dst].dtype.kind in "fc":
                line_of(op)["float_operations"] += lanes
            elif isinstance(op, Branch):
                condition = level[op.condition] if isinstance(op.condition, int) else 0
                if condition == LANE and op.count:
                    into = line_of(op)
                    into["branches"] += warps
                    into["divergent_branches"] += counts.divergent[b]
            elif isinstance(op, (Barrier, GridSync)):
                line_of(op)["barriers"] += counts.barriers[b]
            elif isinstance(op, WarpSync):
                line_of(op)["warp_synchronisations"] += warps

    total = _empty()
    for counters in by_line.values():
        for name in _ADDITIVE:
            total[name] += counters[name]
        total["atomic_max_contention"] = max(total["atomic_max_contention"], counters["atomic_max_contention"])
        _derive(counters)
    return _derive(total), by_line
