"""The grade of lab 5. Whole numbers are compared exactly; what rounds has a bound that follows from its length."""

import math

import numpy as np

from gpukit.labs import points


def of_blocks(x, T):
    """The largest of each run of T elements, and its index in x: of equal ones the first."""
    starts = range(0, len(x), T)
    index = np.array([start + int(np.argmax(x[start : start + T])) for start in starts], np.int32)
    return x[index], index


def check_block_argmax(lab, x, T, about):
    value, index = of_blocks(x, T)
    args = {"x": x, "value": np.empty_like(value), "index": np.empty_like(index)}
    answers = {"value": value, "index": index}
    lab.check("block_argmax", len(value), T, args, answers, sizes=(len(x),), about=about)


@points(2)
def test_5_1_tree(lab):
    """How many elements are left after each step, and how many threads does the next step need?"""
    report = lab.given("naive_maximum", 1, 128, np.arange(256, dtype=np.int32), np.zeros(1, np.int32))
    about = "one block of 128 threads, 256 elements"
    lab.quiz("STEPS", report.counters["barriers"], about=about)
    lab.quiz("COMPARISONS", 256 - 1, about=about)
    lab.quiz("IDLE_THREADS", 128 - 128 // 2**3, about=about)


@points(2)
def test_5_1_counters(lab):
    """In which of the 4 warps is a multiple of 2, of 32, of 64, and are there others in the same warp?"""
    report = lab.given("naive_maximum", 1, 128, np.arange(256, dtype=np.int32), np.zeros(1, np.int32))
    about = "one block of 128 threads, 256 elements"
    lab.quiz("DIVERGENT_BRANCHES", report.counters["divergent_branches"], about=about)
    lab.quiz("LOAD_REQUESTS", report.counters["global_load_requests"], about=about)


@points(2)
def test_5_2_right(lab):
    """What must a thread without an element bring, so that it never wins, not even against -inf?"""
    for n, T in ((1, 32), (33, 32), (255, 256), (257, 256), (1000, 128)):
        x = -lab.rng.permutation(n).astype(np.float32) - 1
        check_block_argmax(lab, x, T, f"n = {n}, {T} threads a block: all elements are negative")
    x = np.full(70, -math.inf, np.float32)
    check_block_argmax(lab, x, 64, "n = 70, 64 threads a block: all elements are -inf")


@points(2)
def test_5_2_any_block(lab):
    """Fold 5 elements by hand: which one has no partner, and where is it after the step?"""
    for n, T in ((7, 7), (96, 96), (130, 33), (300, 100), (480, 160), (254, 255)):
        for last in (False, True):
            x = lab.rng.permutation(n).astype(np.float32)
            if last:
                x.sort()
            about = f"{T} threads a block, which is no power of two" + ("; the largest comes last" if last else "")
            check_block_argmax(lab, x, T, about)


@points(1)
def test_5_2_ties(lab):
    """Which of two equal elements does your tree meet first: the one with the smaller index, always?"""
    for places in ((1, 64), (0, 127), (126, 127)):
        x = np.zeros(128, np.float32)
        x[list(places)] = 1
        check_block_argmax(lab, x, 128, f"one block of 128: the largest is at {places[0]} and at {places[1]}")
    for n, T in ((256, 64), (1000, 256)):
        x = lab.rng.integers(0, 3, n).astype(np.float32)
        check_block_argmax(lab, x, T, f"n = {n}: only 0, 1 and 2 occur, so that the largest occurs often")


@points(1)
def test_5_2_cost(lab):
    """Are the threads that are left in a step neighbours, and are the slots they use?"""
    x = np.arange(1024, dtype=np.float32)[::-1].copy()
    x[256 * lab.rng.integers(4) + lab.rng.integers(1, 256)] += len(x)  # where it is must not be known before
    value, index = of_blocks(x, 256)
    lab.cost(
        "block_argmax",
        4,
        256,
        {"x": x, "value": np.empty_like(value), "index": np.empty_like(index)},
        {"value": value, "index": index},
        sizes=(len(x),),
        about="descending elements, but for one: few slots change",
        at_most={
            "global_load_requests": 1.0,
            "divergent_branches": 4.5,
            "shared_load_bank_conflicts": 1.0,
            "shared_load_requests": 2.0,
            "barriers": 2.5,
        },
    )


def rounding(additions):
    """The largest relative error of a float32 that goes through this many operations, each off by 2^-24 at most."""
    return additions * 2.0**-24 / (1 - additions * 2.0**-24)


def total(partial):
    return np.sum(partial, dtype=np.float64)


@points(2)
def test_5_3_right(lab):
    """When there are more elements than threads, which does thread t take next? And when there are fewer?"""
    for n, blocks, T in ((1, 1, 32), (31, 2, 32), (257, 3, 64), (1000, 1, 128), (4099, 3, 256)):
        a, b = lab.rng.integers(-9, 10, (2, n)).astype(np.float32)
        args = {"a": a, "b": b, "partial": np.empty(blocks, np.float32)}
        about = f"n = {n}, {blocks} blocks of {T}, whole numbers: exact"
        lab.check("dot", blocks, T, args, {"partial": (total, np.dot(a, b))}, sizes=(n,), about=about)
    # a product rounds once, and passes through the additions of its thread and of the tree
    n, blocks, T = 3001, 2, 128
    a, b = lab.rng.standard_normal((2, n)).astype(np.float32)
    products = a.astype(np.float64) * b
    bound = rounding(1 + math.ceil(n / (blocks * T)) + math.log2(T)) * np.abs(products).sum()
    args = {"a": a, "b": b, "partial": np.empty(blocks, np.float32)}
    answers = {"partial": (total, products.sum())}
    about = "k operations in a row are off by k * 2^-24 of sum |a[i] b[i]| at most; k = 1 + n / threads + log2 T"
    lab.check("dot", blocks, T, args, answers, sizes=(n,), bound=bound, about=about)


@points(1)
def test_5_3_cost(lab):
    """What does a thread do in the loop that it could do once, after it?"""
    n, blocks, T = 8192, 2, 128
    a, b = lab.rng.integers(-9, 10, (2, n)).astype(np.float32)
    lab.cost(
        "dot",
        blocks,
        T,
        {"a": a, "b": b, "partial": np.empty(blocks, np.float32)},
        {"partial": (total, np.dot(a, b))},
        sizes=(n,),
        about="32 elements a thread",
        at_most={
            "global_load_requests": 1.0,
            "global_load_sectors": 1.3,
            "barriers": 2.5,
            "shared_store_requests": 2.5,
        },
    )


@points(2)
def test_5_4_right(lab):
    """Lane 0 reads what lane 8 wrote a step before: what says that lane 8 has written it by then?"""
    for n, T in ((1, 64), (65, 64), (200, 64), (255, 128), (1000, 256)):
        x = -lab.rng.permutation(n).astype(np.float32)
        blocks = math.ceil(n / T)
        expected = np.array([np.abs(x[start : start + T]).max() for start in range(0, n, T)])
        args = {"x": x, "partial": np.empty(blocks, np.float32)}
        about = f"n = {n}, {T} threads a block: the largest may be in any of the last 64 slots"
        lab.check("largest_magnitude", blocks, T, args, {"partial": expected}, sizes=(n,), about=about)


@points(1)
def test_5_4_cost(lab):
    """Whom does a barrier of the block make wait, when one warp is at work?"""
    x = lab.rng.permutation(1024).astype(np.float32)
    lab.cost(
        "largest_magnitude",
        4,
        256,
        {"x": x, "partial": np.empty(4, np.float32)},
        {"partial": x.reshape(4, 256).max(axis=1)},
        sizes=(len(x),),
        at_most={"barriers": 1.0, "shared_load_bank_conflicts": 1.0},
    )


BASE = 1.7e9  # seconds: time stamps of 2023


def moments_of(x, blocks, T, base):
    """The arguments of `moments`, the answers, and a bound; float64 subtracts base exactly from every element.

    A merge rounds a mean by 2^-53 of itself, twice at most; k merges in a row are off by e = 2 k 2^-53 max |x|. The
    distances from the mean are off by as much, so m2 by 2 e sum |distance| + n e^2, and the sum is at most sqrt(n m2).
    """

    def merged(out):
        count, mean, m2 = np.reshape(out, (-1, 3)).T
        n, near = count.sum(), mean - base
        whole = (count * near).sum() / n
        return np.array([n, whole, m2.sum() + (count * (near - whole) ** 2).sum()])

    n, near = len(x), x - base
    m2 = ((near - near.mean()) ** 2).sum()
    e = 2 * (math.ceil(n / (blocks * T)) + math.log2(T)) * 2.0**-53 * np.abs(x).max()
    bound = np.array([0.0, e, 2 * e * math.sqrt(n * m2) + n * e**2])
    args = {"x": x, "out": np.empty((blocks, 3))}
    return args, {"out": (merged, np.array([n, near.mean(), m2]))}, bound


def check_stamps(lab, n, blocks, T, about):
    args, answers, bound = moments_of(BASE + lab.rng.permutation(n) * 1e-6, blocks, T, BASE)
    lab.check("moments", blocks, T, args, answers, sizes=(n,), bound=bound, about=about)


@points(2)
def test_5_5_right(lab):
    """What is m2 of two numbers that are d apart? Does your formula square anything that is not a distance?"""
    for n, blocks, T in ((64, 1, 32), (1000, 2, 128), (3001, 3, 64)):
        about = f"n = {n} time stamps, 1.7e9 s and some us: n, mean - 1.7e9 and m2 of all blocks together"
        check_stamps(lab, n, blocks, T, about)


@points(1)
def test_5_5_empty(lab):
    """What does your formula divide by when both sets are empty?"""
    for n, blocks, T in ((1, 1, 32), (2, 2, 64), (70, 3, 64)):
        check_stamps(lab, n, blocks, T, f"n = {n}, {blocks} blocks of {T}: threads or blocks without an element")


@points(1)
def test_5_5_cost(lab):
    """What would you need the mean of all for, before you have it?"""
    n = 4096
    args, answers, bound = moments_of(lab.rng.integers(0, n, n).astype(np.float64), 2, 128, 0.0)
    lab.cost(
        "moments",
        2,
        128,
        args,
        answers,
        sizes=(n,),
        bound=bound,
        about="whole numbers, 16 a thread",
        at_most={"global_load_requests": 1.3, "global_load_sectors": 1.3, "barriers": 3.5},
    )


@points(2)
def test_5_6_right(lab):
    """Which elements are left when all groups of four are taken, and which threads take them?"""
    for n, blocks, T in (
        (1, 1, 32),
        (3, 2, 32),
        (4, 1, 64),
        (258, 2, 32),
        (1000, 3, 64),
        (1023, 1, 128),
        (4097, 2, 256),
    ):
        x = lab.rng.integers(-(2**31), 2**31, n).astype(np.int32)
        args = {"x": x, "total": np.zeros(1, np.int32)}
        answers = {"total": np.bitwise_xor.reduce(x, keepdims=True)}
        about = f"n = {n}, {blocks} blocks of {T}: n % 4 is {n % 4}"
        lab.check("checksum", blocks, T, args, answers, sizes=(n,), accumulates=("total",), about=about)


@points(1)
def test_5_6_cost(lab):
    """How many loads, and how many tests of the loop, for 4 elements? And who of the block touches `total`?"""
    n = 16384 + 3
    x = lab.rng.integers(-(2**31), 2**31, n).astype(np.int32)
    lab.cost(
        "checksum",
        2,
        128,
        {"x": x, "total": np.zeros(1, np.int32)},
        {"total": np.bitwise_xor.reduce(x, keepdims=True)},
        sizes=(n,),
        accumulates=("total",),
        about=f"n = {n}: 16 turns a thread, 3 elements are left",
        at_most={
            "global_load_requests": 1.1,
            "global_load_sectors": 1.3,
            "branches": 1.7,
            "global_atomics": 1.0,
            "barriers": 2.5,
        },
    )


def argmax_of(x, blocks):
    """The arguments of `argmax`, and its answers; what blocks have found has the winner among it."""
    first = int(np.argmax(x))
    args = {"x": x, "found": np.empty(blocks, np.int32), "best": np.empty(1, np.int32), "done": np.zeros(1, np.uint32)}

    def winner_found(found):
        return int(first in found)

    return args, {"best": np.array([first], np.int32), "found": (winner_found, 1), "done": np.zeros(1, np.uint32)}


@points(2)
def test_5_7_right(lab):
    """What does the last block know that the others do not, and what must it see of theirs?"""
    for n, blocks, T in ((1, 1, 32), (33, 4, 32), (255, 3, 64), (1000, 5, 128), (1025, 2, 256)):
        args, answers = argmax_of(-lab.rng.permutation(n).astype(np.float32) - 1, blocks)
        about = f"n = {n}, {blocks} blocks of {T}: all elements are negative"
        lab.check("argmax", blocks, T, args, answers, sizes=(n,), accumulates=("done",), about=about)


@points(1)
def test_5_7_many_blocks(lab):
    """When there are more blocks than threads in one, which of them does thread t of the last block look at?"""
    n, blocks, T = 1300, 40, 32
    x = lab.rng.permutation(n).astype(np.float32)
    x[39 * T + int(lab.rng.integers(T))] = n
    args, answers = argmax_of(x, blocks)
    about = "40 blocks of 32 threads: block 39 has the largest element"
    lab.check("argmax", blocks, T, args, answers, sizes=(n,), accumulates=("done",), about=about)


@points(1)
def test_5_7_ties(lab):
    """Two blocks have found equal elements: which index is the answer, and does every comparison know it?"""
    for places in ((1, 32), (0, 63), (100, 192), (63, 64)):
        x = np.zeros(300, np.float32)
        x[list(places)] = 1
        args, answers = argmax_of(x, 3)
        about = f"3 blocks of 64: the largest is at {places[0]} and at {places[1]}"
        lab.check("argmax", 3, 64, args, answers, sizes=(300,), accumulates=("done",), about=about)


@points(1)
def test_5_7_cost(lab):
    """Who of a block has to count it? And how often is each element read?"""
    n = 4096
    x = np.arange(n, dtype=np.float32)[::-1].copy()
    x[128 * lab.rng.integers(n // 128) + lab.rng.integers(1, 128)] = n  # where it is must not be known before
    args, answers = argmax_of(x, 4)
    lab.cost(
        "argmax",
        4,
        128,
        args,
        answers,
        sizes=(n,),
        accumulates=("done",),
        about="descending elements, but for one: few slots change",
        at_most={"global_atomics": 1.0, "global_load_sectors": 2.5, "barriers": 2.0},
    )


# --- times on a GPU, for information ----------------------------------------------------------------------------------


def time_5_3_dot(lab):
    """Two vectors of 2^24 elements, in 1,056 blocks."""
    n, blocks, T = 1 << 24, 1056, 256
    a, b = lab.rng.integers(-1, 2, (2, n)).astype(np.float32)
    args = {"a": a, "b": b, "partial": np.empty(blocks, np.float32)}
    answers = {"partial": (total, np.dot(a.astype(np.float64), b))}
    lab.time("dot", blocks, T, args, answers, sizes=(n,), bytes_moved=8 * n)


def time_5_6_checksum(lab):
    """2^26 + 3 elements, four at a time."""
    n, blocks, T = (1 << 26) + 3, 1056, 256
    x = lab.rng.integers(-(2**31), 2**31, n).astype(np.int32)
    args = {"x": x, "total": np.zeros(1, np.int32)}
    answers = {"total": np.bitwise_xor.reduce(x, keepdims=True)}
    lab.time("checksum", blocks, T, args, answers, sizes=(n,), accumulates=("total",), bytes_moved=4 * n)
