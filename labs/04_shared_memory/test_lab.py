"""The grade of lab 4."""

import numpy as np

from gpukit.labs import points

RADIUS, BINS, SIDE = 5, 100, 16  # as in the skeleton


def floats(lab, *shape):
    """Whole numbers as float32, most of them negative."""
    return lab.rng.integers(-99, 20, shape).astype(np.float32)


@points(2)
def test_4_1_wavefronts(lab):
    """In which bank is the word of lane 0, of lane 1, of lane 2? After how many lanes does a bank come round again?"""
    x, y = floats(lab, 1056), np.zeros(32, np.float32)
    for stride in (1, 2, 4, 8, 12, 16, 32, 33, 0):
        wavefronts = lab.given("apart", 1, 32, x, y, stride).counters["shared_load_wavefronts"]
        lab.quiz(f"STRIDE_{stride}" if stride else "BROADCAST", wavefronts, about=f"given.apart, stride {stride}")


@points(2)
def test_4_2_where_barriers_stand(lab):
    """Does every thread of a block reach the same barrier, equally often? Does any thread read what another wrote?"""
    x = lab.rng.integers(0, 99, 128).astype(np.int32)
    for name in (
        "AFTER_THE_STORE",
        "IN_HALF_OF_BLOCK",
        "IN_SOME_BLOCKS",
        "IN_A_COMMON_LOOP",
        "IN_A_LOOP_OF_ITS_OWN",
        "NONE_IN_A_WARP",
    ):
        report = lab.given(name.lower(), 2, 64, x, np.zeros_like(x))
        lab.quiz(name, not report.errors and not report.warnings, about=f"given.{name.lower()}")


def rows_of_cells(lab, blocks, threads, rounds):
    """Arguments of a launch of generations."""
    cells = lab.rng.integers(0, 2, (blocks, threads)).astype(np.uint8)
    after = cells.copy()
    for _ in range(rounds):
        after[:, 1:-1] = after[:, :-2] ^ after[:, 2:]
    return {
        "grid": blocks,
        "block": threads,
        "args": {"cells": cells.ravel(), "out": np.empty(cells.size, np.uint8), "rounds": rounds},
        "answers": {"out": after.ravel()},
        "about": f"{blocks} blocks of {threads} cells, {rounds} rounds",
    }


@points(2)
def test_4_3_right(lab):
    """Between which two accesses could another thread be faster, or slower? Look at both ends of a round."""
    for blocks, threads, rounds in (1, 32, 1), (2, 64, 2), (3, 128, 7), (1, 256, 3), (1, 64, 0):
        lab.check("generations", **rows_of_cells(lab, blocks, threads, rounds))


@points(1)
def test_4_3_cost(lab):
    """What does each of your barriers keep apart?"""
    lab.cost("generations", **rows_of_cells(lab, 2, 128, 6), at_most={"barriers": 1.0, "global_load_requests": 1.0})


def image(lab, rows, columns):
    """Arguments of a launch of quarter_turn."""
    x = floats(lab, rows, columns)
    return {
        "grid": (-(-columns // 32), -(-rows // 32)),
        "block": (32, 8),
        "args": {"image": x, "out": np.empty((columns, rows), np.float32)},
        "answers": {"out": np.rot90(x, -1)},
        "about": f"an image of {rows} rows and {columns} columns",
    }


@points(2)
def test_4_4_right(lab):
    """Where does the last row of the image go? Which slots of a tile at the edge does nobody fill?"""
    for rows, columns in (1, 1), (1, 40), (33, 1), (32, 32), (31, 65), (64, 33):
        lab.check("quarter_turn", **image(lab, rows, columns))


@points(1)
def test_4_4_coalesced(lab):
    """Along which index of out do the lanes of a warp go in your last line?"""
    lab.cost(
        "quarter_turn",
        **image(lab, 64, 96),
        at_most={"global_load_sectors": 1.1, "global_store_sectors": 1.1, "barriers": 1.0},
    )


@points(1)
def test_4_4_banks(lab):
    """How many words lie between two elements of a column of your tile, and in which banks are they?"""
    lab.cost(
        "quarter_turn",
        **image(lab, 64, 96),
        at_most={"shared_load_bank_conflicts": 1.0, "shared_store_bank_conflicts": 1.0},
    )


def samples(lab, n, block):
    """Arguments of a launch of sliding_max."""
    x = floats(lab, n) - 30  # all below zero
    around = np.lib.stride_tricks.sliding_window_view(np.pad(x, RADIUS, constant_values=-np.inf), 2 * RADIUS + 1)
    return {
        "grid": -(-n // block),
        "block": block,
        "args": {"x": x, "y": np.empty_like(x)},
        "answers": {"y": around.max(1)},
        "about": f"{n} elements, all below zero, and blocks of {block} threads",
    }


@points(2)
def test_4_5_right(lab):
    """Which elements does the first thread of a block look at, which the last? Which of them do not exist?"""
    for n in (1, 5, 6, 63, 64, 65, 70, 255, 257, 1000):
        lab.check("sliding_max", **samples(lab, n, 64))
    for block in (32, 128, 256):
        lab.check("sliding_max", **samples(lab, 600, block))


@points(1)
def test_4_5_cost(lab):
    """How many elements do 128 neighbouring threads look at altogether?"""
    lab.cost(
        "sliding_max",
        **samples(lab, 1024, 128),
        at_most={"global_load_sectors": 1.5, "global_load_requests": 1.5, "barriers": 1.0},
    )


def values(lab, n, grid=3, block=64):
    """Arguments of a launch of histogram: most of the values are few different ones, as they often are."""
    x = np.minimum(lab.rng.integers(0, BINS, n), lab.rng.integers(0, BINS, n)).astype(np.uint8)
    x[: n // 4] = BINS - 1
    counts = lab.rng.integers(0, 50, BINS).astype(np.int32)
    return {
        "grid": grid,
        "block": block,
        "args": {"x": x, "counts": counts},
        "answers": {"counts": counts + np.bincount(x, minlength=BINS).astype(np.int32)},
        "accumulates": ("counts",),
        "about": f"{n} values, {grid} blocks of {block} threads, {BINS} bins; counts is not zero before",
    }


@points(2)
def test_4_6_right(lab):
    """What is in shared memory when a block begins? Who counts, who adds up, and who must wait for whom?"""
    for n in (1, 31, 64, 191, 192, 193, 1000):
        lab.check("histogram", **values(lab, n))
    lab.check("histogram", **values(lab, 700, grid=2, block=128))
    lab.check("histogram", **values(lab, 700, grid=2, block=32))


@points(1)
def test_4_6_cost(lab):
    """How many global atomics does a block need that has counted for itself?"""
    lab.cost(
        "histogram",
        **values(lab, 6000),
        at_most={"global_atomics": 1.5, "load_sectors_per_request": 1.2, "global_load_sectors": 2.2, "barriers": 1.0},
    )


def legs(lab, rows, inner, columns):
    """Arguments of a launch of two_legs: lengths from 1 to 99, and no way at all for every fifth pair."""
    a, b = (lab.rng.integers(1, 100, shape).astype(np.float32) for shape in ((rows, inner), (inner, columns)))
    for lengths in (a, b):
        lengths[lab.rng.random(lengths.shape) < 0.2] = np.inf
    return {
        "grid": (-(-columns // SIDE), -(-rows // SIDE)),
        "block": (SIDE, SIDE),
        "args": {"a": a, "b": b, "c": np.empty((rows, columns), np.float32)},
        "answers": {"c": (a[:, :, None] + b[None, :, :]).min(1)},
        "about": f"{rows} x {inner} and {inner} x {columns}",
    }


@points(2)
def test_4_7_right(lab):
    """What must the slots of a tile hold that lie outside of a or b, so that they change no minimum?"""
    for shape in (1, 1, 1), (16, 16, 16), (15, 17, 16), (17, 33, 20), (5, 7, 40), (33, 40, 1):
        lab.check("two_legs", **legs(lab, *shape))


@points(2)
def test_4_7_cost(lab):
    """How often does a block load each element of its tiles? What does each of the two barriers keep apart?"""
    # There may be some more wavefronts: a padded tile of 16 has 2-way conflicts, and a sum that is written twice is
    # loaded twice at source level. A column of a tile that 16 lanes read has 8-way conflicts.
    lab.cost(
        "two_legs",
        **legs(lab, 48, 40, 32),
        at_most={
            "global_load_sectors": 1.1,
            "global_load_requests": 1.1,
            "barriers": 1.0,
            "shared_load_wavefronts": 3.1,
        },
    )


# Times on a GPU, for information.


def time_4_4_quarter_turn(lab):
    """An image of 64 MB, through tiles in shared memory."""
    rows, columns = 4096, 4096
    lab.time("quarter_turn", **image(lab, rows, columns), bytes_moved=8 * rows * columns)


def time_4_6_histogram(lab):
    """A histogram of 2^24 values, a block's own first."""
    n = 1 << 24
    lab.time("histogram", **values(lab, n, grid=528, block=256), bytes_moved=4 * n)
