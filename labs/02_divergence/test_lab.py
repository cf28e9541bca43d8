"""Lab 2: divergence. Each test is part of the grade; its docstring is the hint."""

import numpy as np

from gpukit.labs import points

DEAREST = 10_000  # cents


def blocks(n, block):
    """As many blocks as give n elements a thread each."""
    return -(-n // block)


# --- 2.1: quiz --------------------------------------------------------------------------------------------------------


def divergent(lab, kernel):
    """The warps of one block of 256 threads that divide at the one `if` of a given kernel."""
    return lab.given(kernel, 1, 256, np.empty(256, np.int32)).counters["divergent_branches"]


def rounds_of(lab, kernel, threads, *args):
    """The rounds that all warps of a given kernel run together: the warp loads a value in each."""
    values, out = np.ones(100, np.int32), np.empty(threads, np.int32)
    return lab.given(kernel, 1, threads, *args, values, out).counters["global_load_requests"]


def test_2_1_odd_and_even(lab):
    """Which sides do lane 0 and lane 1 of a warp take? Is any warp different?"""
    lab.quiz("DIVERGENT_ODD_AND_EVEN", divergent(lab, "odd_and_even"), about="one block of 256 threads")


def test_2_1_warps_in_turn(lab):
    """What is i // 32 for the lanes of one warp?"""
    lab.quiz("DIVERGENT_WARPS_IN_TURN", divergent(lab, "warps_in_turn"), about="one block of 256 threads")


def test_2_1_first_hundred(lab):
    """Between which two threads does the answer change, and are they in one warp?"""
    lab.quiz("DIVERGENT_FIRST_HUNDRED", divergent(lab, "first_hundred"), about="one block of 256 threads")


def test_2_1_rounds(lab):
    """When may a warp leave a loop: when the first of its lanes is through, or the last?"""
    counted = rounds_of(lab, "purchases", 32)
    lab.quiz("ROUNDS_OF_THE_WARP", counted, about="one warp whose lanes have 2, 5, 20, 100, 4 and 27 times 10 rounds")


# --- 2.2: each kind to whole warps ------------------------------------------------------------------------------------


def launch_of_curves(lab, n, block):
    """A launch on n random values and what it must give."""
    values = lab.rng.integers(0, 256, n).astype(np.int32)
    red = green = blue = values.astype(np.int64)
    root = (green + 255) // 2
    for _ in range(2):
        red = red * red * (765 - 2 * red) // 65025
        blue = 255 - (255 - blue) * (255 - blue) // 255
    for _ in range(3):
        root = (root + 255 * green // root) // 2
    colour = np.arange(n) % 3
    return {
        "grid": blocks(n, block),
        "block": block,
        "args": {"values": values, "out": np.empty_like(values)},
        "answers": {"out": np.choose(colour, (red, root, blue)).astype(np.int32)},
        "about": f"n = {n}: {blocks(n, block) * block} threads in blocks of {block}",
    }


@points(2)
def test_2_2_right(lab):
    """Do the 96 threads of three warps together still meet each of 96 values once?"""
    for block in (96, 192):
        for n in (1, 3, 31, 33, 95, 96, 97, 192, 255, 1000):
            lab.check("curves", **launch_of_curves(lab, n, block))


@points(2)
def test_2_2_cost(lab):
    """If warp 1 has green ones only, where is lane 0's, and how far from it is lane 1's?"""
    at_most = {"divergent_branches": 1.0, "warp_instructions": 1.4}
    lab.cost(
        "curves", **launch_of_curves(lab, 960, 192), at_most=at_most, at_least={"active_lanes_per_instruction": 1.0}
    )


# --- 2.3: selection ---------------------------------------------------------------------------------------------------


def launch_of_shrink(lab, n, t):
    """A launch on n random numbers, some of them t or -t exactly."""
    x = (lab.rng.integers(-40, 41, n) / 8).astype(np.float32)
    t = np.float32(t)
    expected = np.where(x > t, x - t, np.where(x < -t, x + t, np.float32(0)))
    return {
        "grid": blocks(n, 128),
        "block": 128,
        "args": {"x": x, "t": t, "y": np.empty_like(x)},
        "answers": {"y": expected},
        "about": f"n = {n}, x from -5 to 5 in steps of 1/8, t = {t}",
    }


@points(2)
def test_2_3_right(lab):
    """What is subtracted from x above t, below -t, and in between?"""
    for n in (1, 31, 32, 33, 127, 128, 129, 1000):
        lab.check("shrink", **launch_of_shrink(lab, n, 1.5))
    lab.check("shrink", **launch_of_shrink(lab, 256, 0))


def test_2_3_cost(lab):
    """Where is the branch: in an `if`, an `and`, an `a if c else b`? Which functions choose without one?"""
    at_most = {"divergent_branches": 1.0, "branches": 1.0}
    lab.cost("shrink", **launch_of_shrink(lab, 1024, 1.5), at_most=at_most)


# --- 2.4: neighbours with similar work --------------------------------------------------------------------------------


def shop(lab, counts):
    """(first, count, cents) of customers with these numbers of purchases, and a gap after each customer's."""
    count = np.array(counts, np.int32)
    first = np.concatenate(([3], 3 + np.cumsum(count + 2)))[:-1].astype(np.int32)
    cents = lab.rng.integers(1, DEAREST, first[-1] + count[-1] + 1).astype(np.int32)
    return first, count, cents


def launch_of_ranges(lab, counts, about):
    """A launch on customers with these numbers of purchases, in the order of the three groups."""
    first, count, cents = shop(lab, counts)
    own = [cents[f : f + c] for f, c in zip(first, count, strict=True)]
    order = np.argsort(np.searchsorted((8, 32, 128), count), kind="stable").astype(np.int32)
    return {
        "grid": blocks(count.size, 64),
        "block": 64,
        "args": {"first": first, "count": count, "cents": cents, "order": order, "out": np.empty_like(count)},
        "answers": {"out": np.array([int(np.ptp(p)) if p.size else 0 for p in own], np.int32)},
        "about": about,
    }


def mixed(lab, customers):
    """2, 5, 20, 100, 4, then 0 to 8 purchases for most, 9 to 32 for some, 33 to 128 for a few."""
    group = lab.rng.choice(3, customers, p=(0.7, 0.2, 0.1))
    counts = lab.rng.integers(np.array((0, 9, 33))[group], np.array((8, 32, 128))[group] + 1)
    counts[:5] = (2, 5, 20, 100, 4)[:customers]
    return counts


@points(2)
def test_2_4_right(lab):
    """Thread t works for customer order[t]: whose place gets the result? What has a customer without a purchase?"""
    lab.check("ranges", **launch_of_ranges(lab, (2, 5, 20, 100, 4), "customers with 2, 5, 20, 100, 4 purchases"))
    lab.check("ranges", **launch_of_ranges(lab, (1, 0, 9, 0), "two customers have no purchase, one has a single one"))
    for customers in (1, 31, 33, 64, 65, 200):
        lab.check(
            "ranges",
            **launch_of_ranges(lab, mixed(lab, customers), f"customers: {customers}, most with 0 to 8 purchases"),
        )


@points(2)
def test_2_4_cost(lab):
    """How many purchases have the 32 customers of one warp: as they come, and in the given order?"""
    lab.cost(
        "ranges",
        **launch_of_ranges(lab, mixed(lab, 320), "320 customers, most with 0 to 8 purchases"),
        at_most={"warp_instructions": 2.2},
        at_least={"active_lanes_per_instruction": 0.7},
    )


# --- 2.5: a warp for each ---------------------------------------------------------------------------------------------


def launch_of_dear_purchases(lab, counts, block, about):
    """A launch with a warp for each of these customers; a quarter of the purchases costs the limit or more."""
    first, count, cents = shop(lab, counts)
    limit = np.int32(7_500)
    cents[:: max(1, cents.size // 7)] = limit
    own = [cents[f : f + c] for f, c in zip(first, count, strict=True)]
    return {
        "grid": blocks(32 * count.size, block),
        "block": block,
        "args": {"first": first, "count": count, "cents": cents, "limit": limit, "out": np.zeros_like(count)},
        "answers": {"out": np.array([int((p >= limit).sum()) for p in own], np.int32)},
        "accumulates": ("out",),
        "about": about,
    }


@points(2)
def test_2_5_right(lab):
    """Which warp of the whole grid is this, and which lane of it? Do all 32 lanes come to `warp_sum`?"""
    for count in (0, 1, 31, 32, 33, 64, 100):
        launch = launch_of_dear_purchases(lab, (count,), 64, f"one customer, number of purchases: {count}; two warps")
        lab.check("dear_purchases", **launch)
    for block in (32, 128):
        counts = lab.rng.integers(0, 400, 9)
        launch = launch_of_dear_purchases(lab, counts, block, f"9 customers with 0 to 399 purchases, blocks of {block}")
        lab.check("dear_purchases", **launch)


@points(2)
def test_2_5_cost(lab):
    """Which 32 purchases does the warp read in one round, and how many sectors are they?"""
    counts = lab.rng.integers(500, 1000, 8)
    launch = launch_of_dear_purchases(lab, counts, 64, "8 customers with 500 to 999 purchases")
    lab.cost(
        "dear_purchases",
        **launch,
        at_most={"global_load_sectors": 1.5, "warp_instructions": 1.8},
        at_least={"active_lanes_per_instruction": 0.8},
    )


# --- 2.6: uneven loops ------------------------------------------------------------------------------------------------


def launch_of_years(lab, n, most_percent, limit, about):
    """A launch on n random accounts and what it must give."""
    deposit = lab.rng.integers(0, 1_000_001, n).astype(np.int32)
    percent = lab.rng.integers(0, most_percent + 1, n).astype(np.int32)
    return years_from(deposit, percent, 2_000_000, limit, about)


def years_from(deposit, percent, target, limit, about):
    """A launch on these accounts and what it must give."""
    amount = deposit.astype(np.int64)
    years = np.zeros(deposit.size, np.int32)
    for _ in range(limit):
        short = amount < target
        amount = np.where(short, amount + amount * percent // 100, amount)
        years += short
    args = {"deposit": deposit, "percent": percent, "target": np.int32(target), "limit": np.int32(limit)}
    return {
        "grid": blocks(deposit.size, 64),
        "block": 64,
        "args": {**args, "years": np.empty_like(years)},
        "answers": {"years": years},
        "about": about,
    }


@points(2)
def test_2_6_right(lab):
    """What are the two reasons for a lane to stop, and what has it counted when it does?"""
    slow = np.array((1_000, 1_500, 1_990), np.int32), np.array((1, 5, 10), np.int32)
    lab.check("years_until", **years_from(*slow, 2_000, 3, "two of three accounts are not there after 3 years"))
    edges = np.array((2_000, 1_999, 99, 0, 500), np.int32), np.array((0, 1, 1, 50, 0), np.int32)
    lab.check("years_until", **years_from(*edges, 2_000, 30, "there at once; one cent short; three never get there"))
    for n in (1, 31, 32, 33, 65, 200):
        lab.check("years_until", **launch_of_years(lab, n, 50, 40, f"n = {n}, 0 to 50 per cent, 40 years"))


def test_2_6_cost(lab):
    """All accounts are there after a few years: does the warp know, or does it go on to the limit?"""
    deposit = lab.rng.integers(1_000_000, 1_500_000, 256).astype(np.int32)
    percent = lab.rng.integers(10, 41, 256).astype(np.int32)
    launch = years_from(deposit, percent, 2_000_000, 60, "256 accounts, all there after 8 years at most, 60 years")
    lab.cost("years_until", **launch, at_most={"warp_instructions": 1.6, "branches": 2.0})


def test_2_6_apart(lab):
    """How long does each of the four warps run, if one of its lanes has 100 rounds?"""
    counted = rounds_of(lab, "four_long_ones", 128, np.int32(32))
    lab.quiz("ROUNDS_APART", counted, about="4 warps, each with one lane of 100 rounds, 31 of 3")


def test_2_6_together(lab):
    """How long does the warp run that has all four, and how long do the others?"""
    counted = rounds_of(lab, "four_long_ones", 128, np.int32(1))
    lab.quiz("ROUNDS_TOGETHER", counted, about="4 warps, all four lanes of 100 rounds in the first")


# --- times on a GPU, for information ----------------------------------------------------------------------------------


def time_2_3_shrink(lab):
    """A choice without a branch, over 2^24 elements."""
    n = 1 << 24
    lab.time("shrink", **launch_of_shrink(lab, n, 1.5), bytes_moved=8 * n)


def time_2_4_ranges(lab):
    """Customers in groups of similar length."""
    lab.time("ranges", **launch_of_ranges(lab, mixed(lab, 1 << 16), "65,536 customers"))
