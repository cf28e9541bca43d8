"""The grade of lab 6. The operator is the maximum, so all answers are exact."""

import math

import numpy as np

from gpukit.labs import points


def blocks_of(x, size):
    """x in pieces of `size`; the last one may be shorter."""
    return [x[start : start + size] for start in range(0, len(x), size)]


@points(2)
def test_6_1_votes(lab):
    """Which bit belongs to lane 3? And which lanes below 20 have said yes?"""
    about = "one block of 80 threads, x[t] is t"
    yes = [lane for lane in range(32) if lane % 8 == 3]
    lab.quiz("BALLOT", sum(1 << lane for lane in yes), about=about)
    lab.quiz("PLACE", sum(lane < 20 for lane in yes), about=about)


@points(2)
def test_6_1_shuffles(lab):
    """Is there a lane 34, and what does a lane get that asks for it? What is 12 in bits? How many lanes has warp 2?"""
    about = "one block of 80 threads, x[t] is t"
    lab.quiz("DOWN", 30 + 4 if 30 + 4 < 32 else 30, about=about)
    lab.quiz("EXCHANGED", 12 ^ 5, about=about)
    lab.quiz("MEMBERS", (1 << (80 - 64)) - 1, about=about)


def check_warp_argmax(lab, x, grid, block, about):
    where = np.array([32 * w + np.argmax(part) for w, part in enumerate(blocks_of(x, 32))], np.int32)
    args = {"x": x, "where": np.empty_like(where)}
    lab.check("warp_argmax", grid, block, args, {"where": where}, sizes=(len(x),), about=about)


@points(2)
def test_6_2_right(lab):
    """What does a lane without an element bring, so that it never wins, not even against -inf?"""
    for n in (1, 31, 32, 33, 128, 250, 257):
        x = -lab.rng.permutation(n).astype(np.float32) - 1
        check_warp_argmax(lab, x, -(-n // 128), 128, f"n = {n}: all elements are negative")
    check_warp_argmax(lab, np.full(40, -math.inf, np.float32), 1, 64, "n = 40: all elements are -inf")


@points(1)
def test_6_2_ties(lab):
    """Lane 0 has met lane 16 before it meets lane 1: which index is kept when their values are equal?"""
    for places in ((1, 16), (0, 31), (15, 16), (7, 24)):
        x = np.zeros(32, np.float32)
        x[list(places)] = 1
        check_warp_argmax(lab, x, 1, 32, f"one warp: the largest is in lanes {places[0]} and {places[1]}")
    check_warp_argmax(lab, lab.rng.integers(0, 3, 500).astype(np.float32), 2, 256, "only 0, 1 and 2 occur")


@points(1)
def test_6_2_cost(lab):
    """How many exchanges does a pair take in a step, and how many steps does a warp take?"""
    x = lab.rng.permutation(256).astype(np.float32)
    where = np.array([32 * w + np.argmax(part) for w, part in enumerate(blocks_of(x, 32))], np.int32)
    lab.cost(
        "warp_argmax",
        2,
        128,
        {"x": x, "where": np.empty_like(where)},
        {"where": where},
        sizes=(len(x),),
        at_most={"shared_load_requests": 1.0, "global_load_requests": 1.0, "warp_synchronisations": 1.5},
    )


def below(x):
    return np.concatenate([part - part.max() for part in blocks_of(x, 32)])


@points(2)
def test_6_3_right(lab):
    """Which lanes does the mask name, and which of them are at the shuffle? What could the others bring there?"""
    for n in (1, 31, 32, 33, 100, 128, 129):
        x = -lab.rng.permutation(n).astype(np.float32) - 1
        args = {"x": x, "y": np.empty_like(x)}
        about = f"n = {n}: lanes without an element, and only negative elements"
        lab.check("below_maximum", -(-n // 64), 64, args, {"y": below(x)}, sizes=(n,), about=about)


@points(1)
def test_6_3_cost(lab):
    """Who needs the largest: lane 0, or every lane? How many exchanges is that?"""
    x = lab.rng.permutation(250).astype(np.float32)
    lab.cost(
        "below_maximum",
        2,
        128,
        {"x": x, "y": np.empty_like(x)},
        {"y": below(x)},
        sizes=(len(x),),
        at_most={"shared_load_requests": 1.0, "warp_synchronisations": 1.3},
    )


@points(2)
def test_6_4_right(lab):
    """How many slots are filled, and which lanes may read them? What do the others bring?"""
    for n, T in ((1, 32), (33, 64), (100, 96), (255, 256), (1000, 128), (2000, 1024)):
        x = -lab.rng.permutation(n).astype(np.float32) - 1
        expected = np.array([part.max() for part in blocks_of(x, T)])
        args = {"x": x, "out": np.empty_like(expected)}
        about = f"n = {n}, {T} threads a block: all elements are negative"
        lab.check("block_max", len(expected), T, args, {"out": expected}, sizes=(n,), about=about)


@points(2)
def test_6_4_any_block(lab):
    """Which lanes has the last warp of 80 threads? Which mask names them, and whom may they read?"""
    for n, T in ((7, 7), (80, 80), (150, 33), (230, 100), (31, 31)):
        for last in (False, True):
            x = lab.rng.permutation(n).astype(np.float32)
            if last:
                x.sort()
            expected = np.array([part.max() for part in blocks_of(x, T)])
            args = {"x": x, "out": np.empty_like(expected)}
            about = f"{T} threads a block: the last warp has {T % 32} lanes"
            about += "; the largest comes last" if last else ""
            lab.check("block_max", len(expected), T, args, {"out": expected}, sizes=(n,), about=about)


@points(1)
def test_6_4_cost(lab):
    """How many values have to cross from warp to warp?"""
    x = lab.rng.permutation(1024).astype(np.float32)
    lab.cost(
        "block_max",
        4,
        256,
        {"x": x, "out": np.empty(4, np.float32)},
        {"out": x.reshape(4, 256).max(axis=1)},
        sizes=(len(x),),
        at_most={"barriers": 2.0, "shared_store_requests": 2.0, "shared_load_requests": 8.0, "shared_atomics": 1.0},
    )


def split_in_blocks(x, bit, T):
    return np.concatenate([part[np.argsort(part >> bit & 1, kind="stable")] for part in blocks_of(x, T)])


def check_split(lab, x, bit, T, about):
    args = {"x": x, "bit": np.int32(bit), "y": np.empty_like(x)}
    answers = {"y": split_in_blocks(x, bit, T)}
    lab.check("split", -(-len(x) // T), T, args, answers, sizes=(len(x),), about=about)


@points(2)
def test_6_5_right(lab):
    """How many 0s are before yours: in your warp, in the warps before it? And where do the 1s begin?"""
    for n, T in ((1, 32), (32, 32), (33, 64), (255, 256), (256, 128), (1000, 256)):
        x = lab.rng.integers(0, 256, n).astype(np.int32)
        check_split(lab, x, int(lab.rng.integers(8)), T, f"n = {n}, {T} threads a block: both groups stay in order")


@points(1)
def test_6_5_edges(lab):
    """What if a block has no 0, or no 1? And what are threads without an element: 0s, 1s, or neither?"""
    for n, T in ((100, 64), (190, 128)):
        for value in (0, 1):
            x = 2 * lab.rng.permutation(n).astype(np.int32) + value
            check_split(lab, x, 0, T, f"n = {n}, {T} threads a block: every element's bit is {value}")


@points(1)
def test_6_5_cost(lab):
    """How many numbers does a warp have to tell the others?"""
    # nvcc's compiler makes one load of four slots, which not everyone's loop over them allows
    slot_loads = 2.0 if lab.language == "Python" else 5.0
    x = lab.rng.integers(0, 256, 1024).astype(np.int32)
    lab.cost(
        "split",
        4,
        256,
        {"x": x, "bit": np.int32(3), "y": np.empty_like(x)},
        {"y": split_in_blocks(x, 3, 256)},
        sizes=(len(x),),
        at_most={
            "barriers": 4.0,
            "shared_load_requests": slot_loads,
            "shared_store_requests": 4.0,
            "global_load_requests": 1.0,
            "global_atomics": 1.0,
            "shared_atomics": 1.0,
        },
    )


def so_far(x, T):
    return np.concatenate([np.maximum.accumulate(part) for part in blocks_of(x, T)])


@points(2)
def test_6_6_right(lab):
    """What does the first lane of warp 3 need, besides its own element, and who knows it?"""
    for n, T in ((1, 32), (31, 32), (33, 64), (255, 256), (600, 128), (1025, 512)):
        x = -lab.rng.permutation(n).astype(np.float32) - 1
        args = {"x": x, "y": np.empty_like(x)}
        about = f"n = {n}, {T} threads a block: all elements are negative"
        lab.check("running_max", -(-n // T), T, args, {"y": so_far(x, T)}, sizes=(n,), about=about)


@points(1)
def test_6_6_cost(lab):
    """What is left for shared memory when each warp has scanned its own 32 elements?"""
    x = lab.rng.permutation(1024).astype(np.float32)
    lab.cost(
        "running_max",
        4,
        256,
        {"x": x, "y": np.empty_like(x)},
        {"y": so_far(x, 256)},
        sizes=(len(x),),
        at_most={
            "barriers": 2.0,
            "shared_load_requests": 5.0,
            "shared_store_requests": 2.0,
            "global_load_requests": 1.0,
        },
    )


@points(2)
def test_6_7_right(lab):
    """Who of a group adds, and how much? To which group do lanes without an element belong?"""
    for n, bins in ((1, 4), (33, 3), (250, 8), (700, 40)):
        key = lab.rng.integers(0, bins, n).astype(np.int32)
        counts = lab.rng.integers(0, 100, bins).astype(np.int32)
        args = {"key": key, "counts": counts}
        answers = {"counts": counts + np.bincount(key, minlength=bins).astype(np.int32)}
        about = f"n = {n}, {bins} bins that are not empty before"
        lab.check("histogram", -(-n // 128), 128, args, answers, sizes=(n,), accumulates=("counts",), about=about)


@points(1)
def test_6_7_cost(lab):
    """How many lanes wait for one address, when all keys are equal?"""
    key = np.where(lab.rng.random(512) < 0.9, 3, lab.rng.integers(0, 8, 512)).astype(np.int32)
    key[:32] = 3
    lab.cost(
        "histogram",
        4,
        128,
        {"key": key, "counts": np.zeros(8, np.int32)},
        {"counts": np.bincount(key, minlength=8).astype(np.int32)},
        sizes=(len(key),),
        accumulates=("counts",),
        about="9 keys of 10 are equal",
        at_most={"atomic_max_contention": 1.0},
    )


# --- times on a GPU, for information ----------------------------------------------------------------------------------


def time_6_4_block_max(lab):
    """The maximum of each 256 of 2^24 elements."""
    n, T = 1 << 24, 256
    x = lab.rng.permutation(n).astype(np.float32)
    expected = x.reshape(-1, T).max(axis=1)
    lab.time(
        "block_max",
        n // T,
        T,
        {"x": x, "out": np.empty_like(expected)},
        {"out": expected},
        sizes=(n,),
        bytes_moved=4 * n,
    )
