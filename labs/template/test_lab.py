"""The grade of lab 42. test_N_k_what tests task N.k; its docstring is the hint, which asks and never tells."""

import numpy as np

from gpukit.labs import points

HOST = ("bytes_moved",)  # the functions that are host code


def test_42_1_copy(lab):
    """How many warps are 256 threads, and how many bytes does one of them ask for?"""
    # `lab.given` counts; `lab.quiz` compares, and never tells the number.
    counters = lab.given("copy", 1, 256, np.zeros(256, np.float32), np.zeros(256, np.float32)).counters
    lab.quiz("REQUESTS", counters["global_load_requests"], about="one block of 256 threads")
    lab.quiz("SECTORS", counters["global_load_sectors"], about="one block of 256 threads")


def launch(lab, n):
    """The arguments of a launch on n numbers."""
    # New numbers in every run: an answer cannot be a table. `about` says what is special about this input.
    x = lab.rng.integers(-1000, 1001, n).astype(np.float32)
    return {
        "grid": -(-n // 128),
        "block": 128,
        "args": {"x": x, "y": np.empty_like(x)},  # in the order of the parameters
        "answers": {"y": x[::-1]},  # poisoned before the launch: what nobody writes is wrong
        "about": f"n = {n}" + ("" if n % 128 else ": the last block is full"),
    }


@points(2)
def test_42_2_right(lab):
    """With n = 5, where does the element at 0 go, and the one at 4?"""
    for n in (1, 31, 32, 33, 127, 128, 129, 1000):  # round the sizes of warps and blocks: most mistakes are at edges
        lab.check("reverse", **launch(lab, n))


def test_42_2_cost(lab):
    """Do the 32 lanes of a warp read and write 32 neighbours?"""
    # A counter of the student's kernel must be at most this many times the solution's on the same input.
    lab.cost("reverse", **launch(lab, 1024), at_most={"global_load_sectors": 1.0, "global_store_sectors": 1.0})


def test_42_3_bytes(lab):
    """Which bytes are read, and which are written?"""
    calls = [(0,), (1,), (1000,), (2**40,)]
    for (n,), got in zip(calls, lab.host("bytes_moved", calls), strict=True):
        lab.expect(f"bytes_moved({n})", got, 8 * n)
