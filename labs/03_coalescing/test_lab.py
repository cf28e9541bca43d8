"""The grade of lab 3."""

import numpy as np

from gpukit.labs import points

HOST = ("arrange",)
FIELDS = 8


def floats(lab, *shape):
    """Whole numbers as float32: sums and products of them are exact."""
    return lab.rng.integers(-99, 100, shape).astype(np.float32)


def per_request(lab, kernel, *args, block=64):
    """Load sectors per load request of a kernel of given.py, four blocks or as many as its answer needs."""
    y = args[-1]
    return lab.given(kernel, -(-y.size // block), block, *args).counters["load_sectors_per_request"]


@points(2)
def test_3_1_lines(lab):
    """Write down the byte addresses of lanes 0, 1, 2 and 31: how many blocks of 32 bytes do they fall into?"""
    n = 256
    y, z = np.zeros(n, np.float32), np.zeros(n, np.float64)
    lab.quiz("CONTIGUOUS", per_request(lab, "contiguous", floats(lab, n), y), about="given.contiguous")
    lab.quiz("EVERY_SECOND", per_request(lab, "every_second", floats(lab, 2 * n), y), about="given.every_second")
    lab.quiz("EVERY_32ND", per_request(lab, "every_32nd", floats(lab, 32 * n), y), about="given.every_32nd")
    lab.quiz("BEHIND_ONE", per_request(lab, "behind_one", floats(lab, n + 1), y), about="given.behind_one")
    lab.quiz("EIGHT_BYTES", per_request(lab, "eight_bytes", np.arange(n, dtype=float), z), about="given.eight_bytes")
    lab.quiz("ONE_ADDRESS", per_request(lab, "one_address", floats(lab, n), y), about="given.one_address")


@points(1)
def test_3_1_matrices(lab):
    """Lane 0 and lane 1 load at the same moment: how far apart in memory is what they load?"""
    y = np.zeros(64, np.float32)
    lab.quiz("A_ROW_EACH", per_request(lab, "a_row_each", floats(lab, 64, 40), y), about="given.a_row_each, 64 x 40")
    lab.quiz(
        "A_COLUMN_EACH", per_request(lab, "a_column_each", floats(lab, 40, 64), y), about="given.a_column_each, 40 x 64"
    )
    lab.quiz("ONE_FIELD", per_request(lab, "one_field", floats(lab, 64, FIELDS), y), about="given.one_field")


def image(lab, rows, columns):
    """Arguments of a launch of half_turn."""
    x = floats(lab, rows, columns)
    most = max(rows, columns)
    return {
        "grid": (-(-most // 32), -(-most // 8)),
        "block": (32, 8),
        "args": {"image": x, "out": np.empty_like(x)},
        "answers": {"out": x[::-1, ::-1]},
        "about": f"an image of {rows} rows and {columns} columns",
    }


@points(1)
def test_3_2_right(lab):
    """Where does pixel (0, 0) go? And which threads of the grid lie outside of the image?"""
    for rows, columns in (1, 1), (1, 33), (33, 1), (31, 32), (8, 40), (40, 70):
        lab.check("half_turn", **image(lab, rows, columns))


@points(1)
def test_3_2_cost(lab):
    """Lanes of a warp differ in x: which of the two indices should x be?"""
    lab.cost(
        "half_turn",
        **image(lab, 40, 96),
        at_most={"global_load_sectors": 1.1, "global_store_sectors": 1.1, "global_load_requests": 1.1},
    )


def ranges(lab, rows, columns, grid=2, block=64):
    """Arguments of a launch of column_range."""
    x = floats(lab, rows, columns)
    return {
        "grid": grid,
        "block": block,
        "args": {"x": x, "out": np.empty(columns, np.float32)},
        "answers": {"out": x.max(0) - x.min(0)},
        "about": f"{rows} rows and {columns} columns for {grid * block} threads",
    }


@points(1)
def test_3_3_right(lab):
    """Which column comes next for a thread that is done with its first one? Does the first element count?"""
    for rows, columns in (1, 1), (1, 127), (5, 128), (7, 129), (12, 300), (40, 33):
        lab.check("column_range", **ranges(lab, rows, columns))
    below = ranges(lab, 6, 40)
    below["args"]["x"] -= 500  # every element is negative
    lab.check("column_range", **below | {"about": "all elements are below zero"})


@points(2)
def test_3_3_cost(lab):
    """While lane 0 is at its first column, at which column is lane 1?"""
    # Who writes x[r, c] again for every comparison loads it up to four times at source level; a compiler loads it once.
    lab.cost(
        "column_range",
        **ranges(lab, 40, 512),
        at_most={"load_sectors_per_request": 1.1, "global_load_sectors": 4.0, "global_store_sectors": 1.1},
    )


def picture(lab, n):
    """Arguments of a launch of negative."""
    pixels = lab.rng.integers(0, 256, n).astype(np.uint8)
    whole = n - n % 4
    words, rest = pixels[:whole].view(np.uint32), pixels[whole:].copy()
    return {
        "grid": max(1, -(-words.size // 64)),
        "block": 64,
        "args": {"words": words, "rest": rest, "out_words": np.empty_like(words), "out_rest": np.empty_like(rest)},
        "answers": {"out_words": (255 - pixels[:whole]).view(np.uint32), "out_rest": 255 - rest},
        "about": f"{n} pixels: {words.size} words and {rest.size} left",
    }


@points(1)
def test_3_4_right(lab):
    """What happens to the bits of p in 255 - p? Who takes care of the pixels that are left?"""
    for n in (1, 3, 4, 7, 127, 256, 257, 1000, 1003):
        lab.check("negative", **picture(lab, n))


@points(1)
def test_3_4_cost(lab):
    """How many requests does a warp need for 128 pixels?"""
    lab.cost(
        "negative",
        **picture(lab, 4096 + 3),
        at_most={"global_load_requests": 1.1, "global_store_requests": 1.1, "global_load_sectors": 1.1},
    )


def particles(lab, n):
    """Arguments of a launch of split."""
    records = floats(lab, n, FIELDS)
    return {
        "grid": -(-n * FIELDS // 128),
        "block": 128,
        "args": {"records": records, "fields": np.empty((FIELDS, n), np.float32)},
        "answers": {"fields": records.T},
        "about": f"{n} particles",
    }


@points(1)
def test_3_5_right(lab):
    """Number k of the records in memory: which field of which particle is it?"""
    for n in (1, 3, 31, 32, 33, 257):
        lab.check("split", **particles(lab, n))


@points(2)
def test_3_5_cost(lab):
    """With a thread a particle, how often does every sector of the records travel? What if a lane took one number?"""
    lab.cost("split", **particles(lab, 512), at_most={"global_load_sectors": 1.1, "global_store_sectors": 1.1})


def orders(lab, n, items):
    return lab.rng.integers(0, items, n).astype(np.int32), lab.rng.integers(1, 10, n).astype(np.float32)


def pairs(lab, got):
    """What arrange() returned as a sorted list of (item, amount)."""
    wanted = "two arrays of one length"
    found = got if isinstance(got, tuple | list) else (got,)
    right = all(isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind in "iuf" for part in found)
    if not right or len(found) != 2 or len(found[0]) != len(found[1]):
        shapes = (f"{part.dtype}{list(part.shape)}" if isinstance(part, np.ndarray) else repr(part) for part in found)
        lab.expect("what arrange() returns", ", ".join(shapes), wanted)
    return sorted(zip(found[0].tolist(), found[1].tolist(), strict=True))


def same_orders(lab, got, item, amount):
    """Fail unless arrange() returned the orders that it was given."""
    call = f"the orders (item, amount) that arrange() makes of {item.size}"
    expected = sorted(zip(item.tolist(), amount.tolist(), strict=True))
    lab.expect(call, pairs(lab, got), expected, about="sorted here: your order is up to you")


@points(1)
def test_3_6_right(lab):
    """After your arrangement, which amount stands beside an item, its own?"""
    lists = [orders(lab, n, items) for n, items in ((1, 5), (2, 2), (40, 4), (300, 1000))]
    lists.append((np.zeros(0, np.int32), np.zeros(0, np.float32)))
    for given, got in zip(lists, lab.host("arrange", lists), strict=True):
        same_orders(lab, got, *given)


@points(1)
def test_3_6_cost(lab):
    """When do 32 neighbouring orders find their prices in few sectors?"""
    n, items = 1024, 4096
    price, (item, amount) = floats(lab, items), orders(lab, n, items)
    (got,) = lab.host("arrange", [(item, amount)])
    same_orders(lab, got, item, amount)
    mine, least = (
        lab.given("revenue", n // 128, 128, price, order, amount, np.zeros(n, np.float32))
        for order in (got[0].astype(np.int32), np.sort(item))
    )
    mine, least = (report.counters["global_load_sectors"] for report in (mine, least))
    lab.expect(
        f"load sectors of given.revenue on {n} orders of {items} items, arranged",
        max(mine, least),
        least,
        bound=0.05 * least,
        about="expected is what the best order takes",
    )


# Times on a GPU, for information.


def time_3_3_column_range(lab):
    """A column for each thread, in a matrix of 256 MB."""
    rows, columns = 4096, 16384
    lab.time("column_range", **ranges(lab, rows, columns, grid=128, block=128), bytes_moved=4 * rows * columns)


def time_3_5_split(lab):
    """Records of 8 fields to 8 arrays."""
    n = 1 << 22
    lab.time("split", **particles(lab, n), bytes_moved=2 * 8 * 4 * n)
