"""Mistakes in CUDA C++, as people make them, and their cures: the same words as for Python kernels, the C++ line, the
array by its name, and the element.

The kernels are in twins/*.cu. There a comment "//! kind: words" says what must be reported for its line. A kernel
without such a mark must come out clean: no error, no warning, no doubt about its numbers.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpukit
from gpukit import raw

TWINS = Path(__file__).parent / "twins"
DOUBTS = {"nan_propagation", "precision_loss"}

KERNEL = re.compile(r'^extern "C" __global__ void (\w+)\(')
MARK = re.compile(r"//! (\w+): ?(.*)$")


@dataclass(frozen=True)
class Mark:
    """What must be said about a line."""

    line: int
    kind: str
    words: str


@dataclass(frozen=True)
class Twin:
    """One launch.

    result   the right contents afterwards by position (of the arguments before the launch)
    wrong    ... which the kernel gets wrong, with nothing else to report
    also     further kinds that may be reported, here or on other lines
    told     kinds that must be reported somewhere, where no line of the kernel itself can be marked
    counts   how often a kind must be reported
    """

    file: str
    kernel: str
    grid: Any
    block: Any
    args: Callable[[], tuple]
    result: Callable[..., dict[int, Any]] | None = None
    wrong: bool = False
    also: frozenset[str] = frozenset()
    told: frozenset[str] = frozenset()
    counts: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = 0
    name: str = ""


TABLE: list[Twin] = []


def twin(file: str, kernel: str, grid: Any, block: Any, args: Callable[[], tuple], result: Any = None, **more: Any):
    """Enter a launch."""
    for kinds in ("also", "told"):
        more[kinds] = frozenset(more.get(kinds, ()))
    TABLE.append(Twin(file, kernel, grid, block, args, result, **({"name": kernel} | more)))


def pair(file: str, kernel: str, grid: Any, block: Any, args: Callable[[], tuple], result: Any = None, **more: Any):
    """Enter a mistake and its cure, launched alike; `result` is what the cure leaves."""
    twin(file, kernel, grid, block, args, None, **more)
    clean = {key: value for key, value in more.items() if key == "shared_bytes"}
    twin(file, f"{kernel}_cured", grid, block, args, result, **clean)


def ints(*shape: int, dtype: Any = np.int32) -> np.ndarray:
    """Zeros."""
    return np.zeros(shape, dtype)


def floats(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Zeros."""
    return np.zeros(shape, dtype)


def ramp(n: int, dtype: Any = np.int32) -> np.ndarray:
    """0, 1, 2, ..."""
    return np.arange(n, dtype=dtype)


def random(*shape: int) -> np.ndarray:
    """float32 in [0, 1), the same at every call."""
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def draw(high: int, n: int) -> np.ndarray:
    """n int32 in [0, high), the same at every call."""
    return np.random.default_rng(1).integers(0, high, n).astype(np.int32)


def i32(value: int) -> np.int32:
    """An `int` argument."""
    return np.int32(value)


# --- known cases ---------------------------------------------------------------------------------------------------

CASES = "known_cases"
LL = np.int64

for _kernel in ("tree_of_any_block", "tree_of_any_block_cured"):
    twin(
        CASES,
        _kernel,
        1,
        96,
        lambda: (ramp(96, LL) + 1, ints(1, dtype=LL)),
        lambda x, out: {1: [4656]},
        wrong=_kernel == "tree_of_any_block",
    )
pair(
    CASES,
    "slots_left_alone",
    2,
    16,
    lambda: (ramp(29, np.float32) + 1, floats(2), i32(29)),
    lambda x, out, n: {1: [136, 299]},
)
pair(
    CASES,
    "one_barrier",
    1,
    64,
    lambda: (ramp(256, LL) ** 2, ints(64, dtype=LL), i32(4)),
    lambda x, out, n: {1: x.reshape(4, 64).sum(0)[::-1]},
)


def some_of_64() -> tuple:
    """40 numbers, and room for 64."""
    return ramp(40, LL) + 100, np.full(64, -1, LL), i32(40)


pair(
    CASES,
    "barrier_in_if",
    1,
    64,
    some_of_64,
    lambda x, out, n: {1: np.concatenate((x[::-1], [-1] * 23, [100]))},
    also=("barrier_with_exited_threads", "race_shared"),
)
pair(
    CASES,
    "early_return",
    2,
    32,
    some_of_64,
    lambda x, out, n: {1: np.concatenate((x[31::-1], x[:31:-1], [-1] * 24))},
)
pair(
    CASES,
    "lost_update",
    1,
    64,
    lambda: ((ramp(64) % 3 == 0).astype(np.int32), ints(1)),
    lambda flags, out: {1: [22]},
)
pair(
    CASES,
    "guard_with_and",
    (2, 2),
    (4, 4),
    lambda: (ramp(35, np.float32), floats(5, 7), i32(5), i32(7)),
    lambda a, out, *_: {1: 2 * a.reshape(5, 7)},
    also=("race_global_interblock", "race_global"),
)


def uncovered() -> tuple:
    """Room for 12 x 40 numbers."""
    return np.full((12, 40), -1, LL), i32(12), i32(40)


def covered(out: np.ndarray, rows: np.int32, columns: np.int32) -> dict:
    """Every place holds its row and column."""
    return {0: 100 * np.arange(12)[:, None] + np.arange(40)}


for _name, _kernel, _grid, _block, _unwritten in (
    ("a launch in one dimension", "cover", 12, 40, 440),
    ("a height taken from the width", "cover_with_wrong_height", (3, 3), (16, 4), 320),
    ("a grid rounded down", "cover", (40 // 16, 12 // 8), (16, 8), 224),
):
    twin(
        CASES,
        _kernel,
        _grid,
        _block,
        uncovered,
        told={"unwritten_output"},
        counts={"unwritten_output": _unwritten},
        name=_name,
    )
twin(CASES, "cover", (3, 3), (16, 4), uncovered, covered, name="a grid rounded up")


def pairs_of(dtype: Any) -> tuple:
    """Rows, columns, a width, room for positions."""
    return np.array([1, 50000]), np.array([5, 123]), i32(50000), ints(2, dtype=dtype), i32(2)


# A store of the low half is all that PTX shows of a conversion, so there is no int_overflow: the number is wrong.
twin(CASES, "index_32", 1, 32, lambda: pairs_of(np.int32), lambda *_: {3: [50005, 2500000123]}, wrong=True)
twin(CASES, "index_64", 1, 32, lambda: pairs_of(LL), lambda *_: {3: [50005, 2500000123]})
for _kernel in ("sum_32", "sum_64"):
    twin(
        CASES,
        _kernel,
        1,
        64,
        lambda: (np.full(64, 100_000_000, np.int32), ints(1, dtype=LL)),
        lambda x, out: {1: [6_400_000_000]},
        wrong=_kernel == "sum_32",
    )


def ones_after_a_large_number() -> tuple:
    """2^24 and 255 ones."""
    x = np.ones(256, np.float32)
    x[0] = 2.0**24
    return x, floats(1, dtype=np.float64), i32(256)


twin(CASES, "serial_float", 1, 32, ones_after_a_large_number)
twin(CASES, "serial_double", 1, 32, ones_after_a_large_number, lambda x, out, n: {1: [2.0**24 + 255]})

STARTS = np.array([0, 2, 2, 3, 3, 5], np.int32)
PRODUCT = [2001.0, 0.0, 30.0, 0.0, 5400.0]


def five_rows(old: float) -> tuple:
    """A matrix of 5 rows, two of them empty, a vector, and a result with something in it."""
    columns = np.array([0, 3, 1, 2, 3], np.int32)
    return STARTS, columns, np.arange(1.0, 6), 10.0 ** np.arange(4), np.full(5, old, np.float64), i32(5)


twin(
    CASES,
    "empty_rows_skipped",
    1,
    32,
    lambda: five_rows(7),
    told={"unwritten_output"},
    counts={"unwritten_output": 2},
)
pair(
    CASES,
    "zero_times_old",
    1,
    32,
    lambda: (*five_rows(np.nan), np.float64(0)),
    lambda *_: {4: PRODUCT},
)


def no_entries() -> tuple:
    """A matrix without entries; the arrays have no elements."""
    return ints(0), ints(0), floats(0, dtype=np.float64), np.ones(4), floats(3, dtype=np.float64), i32(0)


pair(CASES, "clamped_to_last", 1, 32, no_entries, lambda *_: {4: [0, 0, 0]}, also=("oob_global_read",))


def padded(column: int, x: list[float]) -> tuple:
    """4 rows of up to 3 entries, column by column; what is not there has `column` and the value 0."""
    columns, values = np.full((3, 4), column, np.int32), np.zeros((3, 4))
    for row, entries in enumerate([[(0, 2.0)], [(1, 3.0)], [(1, 1.0), (2, 1.0), (3, 1.0)], []]):
        for k, (at, value) in enumerate(entries):
            columns[k, row], values[k, row] = at, value
    return columns, values, np.array(x), floats(4, dtype=np.float64), i32(4), i32(3)


twin(CASES, "padding_used", 1, 32, lambda: padded(0, [np.inf, 10, 100, 1000]))
twin(
    CASES,
    "padding_as_index",
    1,
    32,
    lambda: padded(-1, [5.0, 10.0, 100.0, 1000.0]),
    counts={"oob_global_read": 7},
)
twin(CASES, "padding_tested", 1, 32, lambda: padded(-1, [5, 10, 100, np.nan]), lambda *_: {3: [10, 30, np.nan, 0]})


def slices(*, running_sum: bool) -> tuple:
    """10 rows in slices of 4, the last one of 2."""
    lengths = [1, 1, 0, 1, 3, 2, 1, 0, 2, 1]
    rows = [[((r + 3 * k) % 12, float(r + 1 + 10 * k)) for k in range(n)] for r, n in enumerate(lengths)]
    widths = np.array([max(lengths[s : s + 4]) for s in range(0, 10, 4)], np.int32)
    starts = np.concatenate(([0], (widths * 4).cumsum())).astype(np.int32)
    columns, values = np.full(starts[-1], -1, np.int32), np.zeros(starts[-1])
    for r, entries in enumerate(rows):
        for k, (column, value) in enumerate(entries):
            columns[starts[r // 4] + 4 * k + r % 4], values[starts[r // 4] + 4 * k + r % 4] = column, value
    given = starts if running_sum else np.concatenate(([0], widths * 4)).astype(np.int32)
    return given, widths, columns, values, np.arange(1.0, 13), floats(10, dtype=np.float64), i32(10)


for _right in (False, True):
    twin(
        CASES,
        "sliced",
        1,
        32,
        lambda right=_right: slices(running_sum=right),
        lambda *_: {5: [1, 4, 0, 16, 420, 180, 49, 0, 309, 100]},
        wrong=not _right,
        name="slices that start at running sums" if _right else "slices that start at lengths",
    )

# --- races in shared memory -----------------------------------------------------------------------------------------

SHARED = "shared_races"

pair(SHARED, "reverse", 1, 128, lambda: (ints(128),), lambda out: {0: ramp(128)[::-1]})
pair(SHARED, "reverse_in_a_warp", 1, 32, lambda: (ints(32),), lambda out: {0: ramp(32)[::-1]})
pair(SHARED, "syncwarp_of_halves", 1, 32, lambda: (ints(32),), lambda out: {0: ramp(32) ^ 15})
pair(SHARED, "warp_tail", 1, 64, lambda: (np.ones(64, np.float32), floats(1)), lambda x, out: {1: [64]})
twin(SHARED, "warp_tail_shuffled", 1, 64, lambda: (np.ones(64, np.float32), floats(1)), lambda x, out: {1: [64]})


def around(a: np.ndarray, out: np.ndarray) -> dict:
    """Sums of four neighbours."""
    p = np.pad(a, 1)
    return {1: p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]}


pair(SHARED, "stencil_in_place", 1, (16, 16), lambda: (random(16, 16), floats(16, 16)), around)
pair(SHARED, "sort_hurried", 1, 128, lambda: (random(128),), lambda x: {0: np.sort(x)}, told={"race_shared"})
pair(SHARED, "transpose", 1, (32, 8), lambda: (random(32, 32), floats(32, 32)), lambda a, b: {1: a.T})
pair(
    SHARED,
    "parts_that_overlap",
    1,
    64,
    lambda: (random(64), floats(64)),
    lambda x, out: {1: x[::-1] + 2 * x},
    shared_bytes=4 * 128,
)
pair(SHARED, "fields", 1, 64, lambda: (ints(64),))
pair(SHARED, "halves_of_a_word", 1, 128, lambda: (ints(128, dtype=np.int16),))
pair(
    SHARED,
    "histogram",
    2,
    128,
    lambda: (draw(16, 1000), ints(16), i32(1000)),
    lambda x, bins, n: {1: np.bincount(x, minlength=16)},
)
twin(
    SHARED,
    "histogram_zeroed_too_late",
    2,
    128,
    lambda: (ramp(1000) % 50, ints(50), i32(1000)),
)
pair(
    SHARED,
    "counter_too_early",
    1,
    256,
    lambda: (draw(100, 256), ints(256), ints(1)),
    lambda x, out, many: {2: [(x < 50).sum()]},
)

# --- races in global memory -----------------------------------------------------------------------------------------

GLOBAL = "global_races"

pair(GLOBAL, "update", 1, 64, lambda: (ints(1),), lambda out: {0: [64]})
pair(GLOBAL, "update_by_leaders", 3, 32, lambda: (ints(1),), lambda out: {0: [3]})
twin(GLOBAL, "smooth_in_place", 1, 64, lambda: (random(64), i32(64)))
twin(GLOBAL, "smooth_in_place_cured", 2, 64, lambda: (random(128), floats(128), i32(128)))
twin(GLOBAL, "smooth_between_barriers", 2, 64, lambda: (random(128), i32(128)))


def triplets() -> tuple:
    """64 entries in 16 rows."""
    return np.repeat(ramp(16), 4), draw(16, 64), random(64), random(16), floats(16), i32(64)


pair(GLOBAL, "coo", 1, 64, triplets, lambda r, c, v, x, y, n: {4: np.bincount(r, v * x[c])})
pair(
    GLOBAL,
    "swap_all_pairs",
    (2, 2),
    (8, 8),
    lambda: (random(16, 16), i32(16)),
    lambda a, n: {0: a.T},
    also=("race_global_interblock",),
)
twin(GLOBAL, "maximum", 4, 64, lambda: (random(256), floats(1)), also={"race_global"})
twin(
    GLOBAL, "maximum_cured", 4, 64, lambda: (random(256), floats(1).view(np.int32)),
    lambda x, top: {1: np.array([x.max()]).view(np.int32)},
)  # fmt: skip


def gradients(ids: np.ndarray, gradient: np.ndarray, table: np.ndarray) -> dict:
    """Sums over samples."""
    value = table.copy()
    np.add.at(value, ids, -gradient)
    return {2: value}


pair(
    GLOBAL,
    "embedding_gradient",
    8,
    (16, 4),
    lambda: (draw(10, 32), random(32, 16), floats(10, 16)),
    gradients,
    also=("race_global",),
)
twin(GLOBAL, "count_read_at_once", 2, 64, lambda: (ints(1), ints(2)), also={"race_global"})
pair(
    GLOBAL,
    "last_block_without_fence",
    3,
    64,
    lambda: (ramp(96), ints(3), ints(1), ints(1)),
    lambda x, partial, done, out: {3: [x.sum()]},
    told={"race_global_interblock"},
)
pair(
    GLOBAL,
    "flag",
    2,
    32,
    lambda: (ints(32), ints(1), ints(32)),
    lambda data, ready, out: {2: ramp(32) + 1},
)
pair(
    GLOBAL,
    "chunks",
    4,
    32,
    lambda: (random(100), floats(100), i32(100)),
    lambda x, y, n: {1: x + np.repeat(np.arange(4), 25).astype(np.float32)},
)
pair(
    GLOBAL,
    "odd_even_sort",
    1,
    64,
    lambda: (draw(1000, 128), i32(128)),
    lambda x, n: {0: np.sort(x)},
    told={"race_global"},
)

# --- barriers -------------------------------------------------------------------------------------------------------

BARRIERS = "barriers"

twin(BARRIERS, "barrier_for_half", 1, 32, lambda: (ints(32),))
twin(BARRIERS, "barrier_for_half_cured", 4, 64, lambda: (ints(256),))
pair(BARRIERS, "barrier_on_both_sides", 1, 64, lambda: (ints(64),), lambda out: {0: np.repeat([3, 7], 32)})
twin(BARRIERS, "rounds_of_its_own", 1, 64, lambda: (draw(5, 64), ints(64)))
twin(BARRIERS, "rounds_of_its_own_cured", 1, 64, lambda: (draw(5, 64), ints(64), i32(5)), lambda *_: {1: ints(64)})
pair(
    BARRIERS,
    "break_before_barrier",
    1,
    64,
    lambda: (random(64), floats(64)),
    also=("barrier_with_exited_threads",),
)
twin(BARRIERS, "continue_past_barrier", 1, 64, lambda: (random(64), floats(64)))
pair(
    BARRIERS,
    "count_in_if",
    1,
    64,
    lambda: (random(64), ints(64)),
    lambda x, out: {1: np.full(64, (x > 0.5).sum())},
)
twin(
    BARRIERS,
    "barrier_in_a_function",
    1,
    64,
    lambda: (random(64), floats(64)),
    told={"barrier_divergence"},
)
twin(
    BARRIERS,
    "barrier_in_a_function_cured",
    1,
    64,
    lambda: (random(64), floats(64)),
    lambda x, out: {1: np.where(x > 0.5, x[0], 0)},
)
twin(BARRIERS, "inside_the_guard", 1, 64, lambda: (random(50), floats(50), i32(50)))
pair(
    BARRIERS,
    "return_before_barrier",
    2,
    64,
    lambda: (random(100), floats(100), i32(100)),
    lambda x, out, n: {1: x + x[[0] * 64 + [64] * 36]},
)
twin(BARRIERS, "grid_sync_of_some_cured", 3, 32, lambda: (random(96), floats(96)), lambda x, out: {1: x + x[::-1]})

# --- warps ----------------------------------------------------------------------------------------------------------

WARPS = "warps"
NEIGHBOURS = {"shuffle_inactive_source"}

pair(
    WARPS,
    "shuffle_in_if",
    1,
    32,
    lambda: (ints(32),),
    lambda out: {0: np.where(ramp(32) < 16, ramp(32) ^ 1, ramp(32))},
    also=NEIGHBOURS,
)
twin(WARPS, "shuffle_from_an_idle_lane", 1, 32, lambda: (ints(32),))
twin(WARPS, "shuffle_behind_the_guard", 1, 40, lambda: (random(33), floats(33), i32(33)), also=NEIGHBOURS)
twin(WARPS, "shuffle_across_a_gap", 1, 32, lambda: (random(32), floats(32)))
twin(WARPS, "mask_of_the_others", 1, 32, lambda: (ints(32),), also=NEIGHBOURS)
twin(WARPS, "mask_of_the_others_cured", 1, 32, lambda: (ints(32),), lambda out: {0: np.full(32, -16)})
twin(WARPS, "ballot_as_mask", 1, 32, lambda: (draw(4, 32), ints(32)), also=NEIGHBOURS)
twin(WARPS, "wrong_half", 1, 32, lambda: (draw(4, 32), ints(32)), also={"shuffle_mask_names_absent_lane"})
twin(WARPS, "syncwarp_in_if", 1, 32, lambda: (ints(32),))
pair(WARPS, "shuffle_in_a_loop", 1, 32, lambda: (random(32), floats(32)), also=NEIGHBOURS)
twin(
    WARPS,
    "both_branches_cured",
    1,
    32,
    lambda: (ramp(32), ints(32)),
    lambda x, out: {1: (x ^ 1) + np.where(x % 2 == 0, 1, -1)},
)
twin(
    WARPS,
    "aggregated_cured",
    2,
    64,
    lambda: (draw(4, 128), ints(4)),
    lambda keys, bins: {1: np.bincount(keys, minlength=4)},
)

# --- bounds ---------------------------------------------------------------------------------------------------------

BOUNDS = "bounds"

twin(
    BOUNDS,
    "no_guard",
    2,
    64,
    lambda: (random(100), floats(100)),
    counts={"oob_global_read": 28, "oob_global_write": 28},
)
twin(BOUNDS, "no_guard_cured", 2, 64, lambda: (random(100), floats(100), i32(100)), lambda x, y, n: {1: 2 * x})
twin(BOUNDS, "one_too_far", 1, 32, lambda: (random(32), floats(32)), counts={"oob_global_read": 1})
pair(
    BOUNDS,
    "one_before",
    1,
    32,
    lambda: (random(32), floats(32)),
    lambda x, y: {1: np.diff(x, prepend=np.float32(0))},
)
pair(
    BOUNDS,
    "matmul_no_guard",
    (2, 2),
    (16, 16),
    lambda: (random(20, 20), random(20, 20), floats(20, 20), i32(20)),
    lambda a, b, c, n: {2: a @ b},
    also=("race_global", "race_global_interblock"),
)
twin(BOUNDS, "halo_past_the_tile", 1, 64, lambda: (random(64), floats(64)))
twin(BOUNDS, "halo_before_the_tile", 1, 64, lambda: (random(64), floats(64)))
pair(
    BOUNDS,
    "halo_not_loaded",
    2,
    64,
    lambda: (random(128), floats(128), i32(128)),
    lambda x, y, n: {1: np.convolve(x, [1, 1, 1], "same")},
)
twin(
    BOUNDS,
    "dynamic_too_small",
    1,
    64,
    lambda: (random(64), floats(64)),
    shared_bytes=4 * 32,
    also={"oob_shared", "uninit_shared_read"},
)
twin(
    BOUNDS,
    "dynamic_too_small_cured",
    1,
    64,
    lambda: (random(64), floats(64)),
    lambda x, y: {1: x[::-1]},
    shared_bytes=4 * 64,
)
twin(BOUNDS, "unsigned_minus_one", 1, 32, lambda: (random(32), floats(32)))
twin(BOUNDS, "empty_input", 1, 32, lambda: (random(0), floats(1)))

RECORD = np.dtype([("position", np.float32, (3,)), ("id", np.int32)])

twin(BOUNDS, "records", 1, 8, lambda: (np.zeros(6, RECORD), ints(8)), counts={"oob_global_read": 2})
twin(BOUNDS, "records_cured", 1, 8, lambda: (np.zeros(6, RECORD), ints(8), i32(6)))
twin(BOUNDS, "local_too_small", 1, 32, lambda: (ramp(32) % 5, floats(32)), counts={"oob_local": 6})
twin(
    BOUNDS,
    "local_too_small_cured",
    1,
    32,
    lambda: (ramp(32) % 5, floats(32)),
    lambda at, out: {1: np.where(at == 4, 1, 9)},
)
pair(
    BOUNDS,
    "local_not_filled",
    1,
    32,
    lambda: (draw(8, 320), ints(32)),
    lambda x, out: {1: (x.reshape(32, 10) == x[:32, None]).sum(1)},
    also=("uninit_local_read",),
)
pair(BOUNDS, "sums_of_absent_warps", 1, 128, lambda: (random(128), floats(1)), lambda x, out: {1: [x.sum()]})
twin(BOUNDS, "histogram_not_zeroed", 1, 128, lambda: (draw(8, 128), ints(8)), also={"uninit_shared_read"})
pair(
    BOUNDS,
    "misaligned",
    1,
    32,
    lambda: (random(132), floats(32, 4)),
    lambda x, out: {1: x[1:129].reshape(32, 4)},
)
twin(BOUNDS, "vector_past_the_end", 1, 32, lambda: (random(126), floats(32)))

# --- numbers --------------------------------------------------------------------------------------------------------

NUMBERS = "numbers"

pair(NUMBERS, "divide_by_data", 1, 32, lambda: (ints(32), ramp(32)))
twin(NUMBERS, "counter_full", 1, 32, lambda: (np.array([2**31 - 5], np.int32),))
twin(
    NUMBERS,
    "counter_full_cured",
    1,
    32,
    lambda: (np.array([2**31 - 5], np.uint64),),
    lambda count: {0: [2**31 + 27]},
)
twin(NUMBERS, "hash_cured", 1, 64, lambda: (ramp(64, np.uint32), ints(64, dtype=np.uint32)))
twin(NUMBERS, "sum_in_half", 1, 32, lambda: (np.ones(1, np.float16), np.zeros(1, np.float16), i32(4000)))
twin(
    NUMBERS,
    "atomic_sum_stops",
    8,
    256,
    lambda: (np.full(2048, 0.5, np.float32), np.full(1, 2.0**24, np.float32)),
)
twin(NUMBERS, "newton_cured", 1, 32, lambda: (floats(32),))
pair(NUMBERS, "log_of_zero", 1, 32, lambda: (ramp(32, np.float32), floats(32)), lambda x, y: {1: np.log1p(x)})
pair(
    NUMBERS,
    "mask_by_product",
    1,
    32,
    lambda: (np.r_[random(31), np.nan].astype(np.float32), floats(32), floats(32)),
    lambda x, mask, y: {2: floats(32)},
)
pair(NUMBERS, "sigmoid", 1, 32, lambda: (random(32) * 200, floats(32)), lambda x, y: {1: 1 / (1 + np.exp(-x))})


# --- the tests -----------------------------------------------------------------------------------------------------


@functools.cache
def marks(file: str) -> dict[str, list[Mark]]:
    """The marks of each kernel of a file."""
    found: dict[str, list[Mark]] = {}
    kernel = ""
    for number, text in enumerate((TWINS / f"{file}.cu").read_text().splitlines(), 1):
        if start := KERNEL.match(text):
            kernel = start[1]
            found[kernel] = []
        if kernel and (mark := MARK.search(text)):
            found[kernel].append(Mark(number, mark[1], mark[2].strip()))
    return found


@functools.cache
def kernels(file: str) -> Mapping[str, gpukit.RawKernel]:
    """The kernels of a file, compiled once."""
    return raw.load(TWINS / f"{file}.cu")


@pytest.mark.parametrize("case", TABLE, ids=lambda case: f"{case.file}: {case.name}")
def test_twin(case: Twin):
    args = case.args()
    kernel = kernels(case.file)[case.kernel]
    report = gpukit.profile(kernel, case.grid, case.block, *args, shared_bytes=case.shared_bytes)
    everything = [*report.hazards, *report.findings]
    told = "\n".join(f"{hazard.line} {hazard.kind}: {hazard.message}" for hazard in everything)
    expected = marks(case.file)[case.kernel]

    for mark in expected:
        here = [
            hazard for hazard in everything if hazard.kind == mark.kind and mark.line in (hazard.line, *hazard.lines)
        ]
        assert here, f"{mark}\n{told}"
        assert any(mark.words in hazard.message for hazard in here), f"{mark}\n{told}"
    reported = {hazard.kind for hazard in report.hazards} | {f.kind for f in report.findings if f.kind in DOUBTS}
    must = {mark.kind for mark in expected} | case.told
    assert must <= {hazard.kind for hazard in everything}, told
    assert reported <= must | case.also, told
    for hazard in report.hazards:
        assert Path(hazard.file or report.file).name == f"{case.file}.cu"
    if case.result is not None:
        right = all(
            np.allclose(args[position], value, rtol=1e-5, atol=1e-6, equal_nan=True)
            for position, value in case.result(*case.args()).items()
        )
        assert right != case.wrong
    counted = {kind: sum(hazard.count for hazard in everything if hazard.kind == kind) for kind in case.counts}
    assert counted == case.counts, told


def test_a_grid_barrier_that_some_blocks_pass_by_never_opens():
    """The barrier is a loop on a counter in memory, so it is the loop that is named."""
    text = (TWINS / "barriers.cu").read_text().splitlines()
    (line,) = (number for number, words in enumerate(text, 1) if words.endswith("// waits for ever"))
    with pytest.raises(gpukit.KernelDeadlock) as stopped:
        gpukit.profile(kernels("barriers")["grid_sync_of_some"], 3, 32, random(96), floats(96))
    assert (Path(stopped.value.file).name, stopped.value.line) == ("barriers.cu", line)


def test_every_kernel_is_launched_and_every_kind_has_its_mistake():
    for file in sorted(path.stem for path in TWINS.glob("*.cu")):
        launched = {case.kernel for case in TABLE if case.file == file}
        assert launched | {"grid_sync_of_some"} >= set(marks(file))
        mistakes = [
            case for case in TABLE if case.file == file and (marks(file)[case.kernel] or case.told or case.wrong)
        ]
        assert not any(case.kernel.endswith("_cured") for case in mistakes)
        assert 4 <= len(mistakes) < len([case for case in TABLE if case.file == file])
    kinds = {mark.kind for case in TABLE for mark in marks(case.file)[case.kernel]}
    assert kinds | {kind for case in TABLE for kind in case.told} >= {
        *("race_shared", "race_global", "race_global_interblock", "uninit_shared_read", "uninit_local_read"),
        *("oob_global_read", "oob_global_write", "oob_shared", "oob_local", "misaligned_access", "unwritten_output"),
        *("barrier_divergence", "barrier_with_exited_threads", "int_overflow", "division_by_zero"),
        *("shuffle_mask_names_absent_lane", "shuffle_inactive_source", "warp_mask_excludes_caller"),
        *("precision_loss", "nan_propagation"),
    }
