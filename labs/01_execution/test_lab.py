"""Lab 1: execution and measuring. Each test is part of the grade; its docstring is the hint."""

import math

import numpy as np

from gpukit.labs import points

HOST = (
    "blocks_for",
    "blocks_for_image",
    "median_and_spread",
    "bandwidth_gb_s",
    "whole_speedup",
    "polynomial_work",
    "least_seconds",
    "limit",
)

T4 = {"gb_s": 320, "tflops": 8.1}  # data sheets, with sources in data/gpus.toml
H200 = {"gb_s": 4800, "tflops": 67}


def ceil_div(a, b):
    """How many pieces of b cover a."""
    return -(-a // b)


def close(expected):
    """The rounding that another order of the same float64 operations may cause."""
    return 1e-9 * abs(expected)


# --- 1.1: quiz --------------------------------------------------------------------------------------------------------


def test_1_1_warps(lab):
    """How many threads act together in a warp, and how often does that fit into 256?"""
    report = lab.given("mark", 1, 256, np.empty(256, np.int32))
    lab.quiz("WARPS_IN_A_BLOCK", report.warps, about="one block of 256 threads")


def test_1_1_threads(lab):
    """Which number in <<<1000, 256>>> counts blocks, and which one the threads of each?"""
    report = lab.given("mark", 1000, 256, np.empty(900, np.int32))
    lab.quiz("THREADS_LAUNCHED", report.threads, about="the launch <<<1000, 256>>>")


def test_1_1_idle(lab):
    """How many threads does <<<4, 256>>> start, and who of them is told to do nothing by `if i < out.size`?"""
    report = lab.given("mark", 4, 256, np.empty(900, np.int32))
    written = report.counters["global_store_bytes"] // 4
    lab.quiz("IDLE_THREADS", report.threads - written, about="900 elements, 4 blocks of 256 threads")
    lab.quiz(
        "IDLE_WARPS", report.warps - report.counters["global_store_requests"], about="900 elements, 4 blocks of 256"
    )


# --- 1.2: blocks ------------------------------------------------------------------------------------------------------


def test_1_2_blocks(lab):
    """With 1,001 elements and 100 threads a block: who works on the last element?"""
    calls = [(n, threads) for threads in (1, 32, 100, 256) for n in (1, 31, 32, 33, 99, 100, 101, 255, 256, 257, 1000)]
    calls.append((int(lab.rng.integers(1_000, 1_000_000)), int(lab.rng.integers(2, 1025))))
    for (n, threads), got in zip(calls, lab.host("blocks_for", calls), strict=True):
        about = f"{n} elements, {threads} per block" + ("" if n % threads else ": they fill the last block exactly")
        lab.expect(f"blocks_for({n}, {threads})", got, ceil_div(n, threads), about=about)


def test_1_2_edges(lab):
    """A grid of 0 blocks is refused: what is the smallest that can be launched? Is a float exact at 2^60?"""
    calls = [(0, 1), (0, 256), (2**60 + 1, 256)]
    for (n, threads), got in zip(calls, lab.host("blocks_for", calls), strict=True):
        about = "nothing to do, and a launch needs a block" if n == 0 else "large numbers: only integers are exact"
        lab.expect(f"blocks_for({n}, {threads})", got, max(1, ceil_div(n, threads)), about=about)


# --- 1.3: a guard -----------------------------------------------------------------------------------------------------


@points(2)
def test_1_3_right(lab):
    """Which threads of the last block have nothing to do when n is no multiple of the block?"""
    for block in (64, 128, 256):
        for n in (1, 31, 32, 33, 255, 256, 257, 1000):
            x = lab.rng.integers(-8, 9, n).astype(np.float32)
            low, high = np.float32(-2), np.float32(3)
            blocks = ceil_div(n, block)
            lab.check(
                "clip",
                grid=blocks,
                block=block,
                args={"x": x, "low": low, "high": high, "y": np.empty_like(x)},
                answers={"y": np.clip(x, low, high)},
                about=f"n = {n}, so of {blocks * block} threads {blocks * block - n} have no element",
            )


# --- 1.4: two dimensions ----------------------------------------------------------------------------------------------


def test_1_4_blocks(lab):
    """An image of 20 rows and 100 columns: is it wider or higher, and which of the two is x?"""
    calls = [(20, 100), (100, 20), (16, 16), (17, 16), (16, 17), (1, 1), (1, 1000), (480, 641), (0, 5), (5, 0)]
    for (rows, columns), got in zip(calls, lab.host("blocks_for_image", calls), strict=True):
        expected = (max(1, ceil_div(columns, 16)), max(1, ceil_div(rows, 16)))
        about = f"{rows} rows, {columns} columns: (blocks along x, blocks along y)"
        lab.expect(f"blocks_for_image({rows}, {columns})", got, expected, about=about)


@points(2)
def test_1_4_grey(lab):
    """A thread is outside the image if its row is too large, or its column is, or both: which test keeps it in?"""
    for rows, columns in ((16, 16), (5, 7), (7, 40), (40, 7), (33, 50), (1, 31), (31, 1)):
        image = lab.rng.integers(0, 256, (rows, columns, 3)).astype(np.uint8)
        red, green, blue = (image[..., k].astype(np.int32) for k in range(3))
        lab.check(
            "grey",
            grid=(ceil_div(columns, 16), ceil_div(rows, 16)),
            block=(16, 16),
            args={"image": image, "out": np.empty((rows, columns), np.uint8)},
            answers={"out": ((77 * red + 150 * green + 29 * blue) // 256).astype(np.uint8)},
            about=f"an image of {rows} rows and {columns} columns",
        )


# --- 1.5: any grid ----------------------------------------------------------------------------------------------------


def launch_of_differences(lab, n, grid, block):
    """The arguments of a launch on n random numbers."""
    x = lab.rng.integers(-1000, 1001, n).astype(np.int32)
    return {
        "grid": grid,
        "block": block,
        "args": {"x": x, "y": np.empty(n - 1, np.int32)},
        "answers": {"y": np.diff(x)},
        "about": f"n = {n}, so {n - 1} to compute, by {grid * block} threads",
    }


@points(2)
def test_1_5_right(lab):
    """After its first element, which one is next for thread 0, so that no other thread takes it too?"""
    for n in (2, 32, 33, 34, 257, 1000):
        for grid, block in ((1, 32), (3, 64), (2, 96), (9, 128)):
            lab.check("differences", **launch_of_differences(lab, n, grid, block))


def test_1_5_cost(lab):
    """In one round, do the 32 lanes of a warp touch 32 neighbours, or places far apart? How many sectors are that?"""
    at_most = {"global_load_sectors": 1.1, "global_store_sectors": 1.1, "warp_instructions": 2.5}
    lab.cost("differences", **launch_of_differences(lab, 4097, 4, 64), at_most=at_most)


# --- 1.6: measuring ---------------------------------------------------------------------------------------------------


def test_1_6_median(lab):
    """The first call compiles: which of the timings say something about the kernel?"""
    repeats = [float(s) for s in np.round(lab.rng.uniform(1e-3, 2e-3, 11), 6)]
    calls = [
        ([0.5, 0.011, 0.010, 0.012, 0.010], 1),
        ([0.004, 0.002, 0.002, 0.003], 0),
        ([0.9, 0.8, 0.001, 0.001, 0.001, 0.009], 2),
        ([2.0, *repeats], 1),
    ]
    for (seconds, warmup), got in zip(calls, lab.host("median_and_spread", calls), strict=True):
        low, middle, high = np.percentile(seconds[warmup:], (25, 50, 75))
        expected = (float(middle), float((high - low) / middle))
        about = f"{warmup} warm-up, {len(seconds) - warmup} repeats"
        lab.expect(f"median_and_spread({seconds}, {warmup})", got, expected, bound=1e-9, about=about)


def test_1_6_bandwidth(lab):
    """How many bytes are a gigabyte when memory is measured: 10^9, 2^30?"""
    calls = [(8_000_000, 1e-3), (2 * 4 * 2**20, 0.5e-3), (0, 1.0), (int(lab.rng.integers(1, 10**9)), 2.5e-3)]
    for (nbytes, seconds), got in zip(calls, lab.host("bandwidth_gb_s", calls), strict=True):
        expected = nbytes / seconds / 1e9
        about = f"{nbytes} bytes read and written in {seconds} s"
        lab.expect(f"bandwidth_gb_s({nbytes}, {seconds})", got, expected, bound=close(expected), about=about)


def test_1_6_whole(lab):
    """80 s of filter and 20 s of reading and writing, the filter made 40 times faster: how many seconds are left?"""
    calls = [(80.0, 20.0, 40.0), (80.0, 20.0, math.inf), (1.0, 99.0, 1000.0), (50.0, 50.0, 10.0), (0.0, 3.0, 10.0)]
    calls.append(tuple(float(number) for number in lab.rng.uniform(1, 100, 3)))
    for call, got in zip(calls, lab.host("whole_speedup", calls), strict=True):
        part, rest, speedup = call
        expected = (part + rest) / (part / speedup + rest)
        about = f"{part:.3g} s that get {speedup:.3g} times faster, {rest:.3g} s that do not"
        lab.expect(f"whole_speedup{call}", got, expected, bound=close(expected), about=about)


# --- 1.7: the least time ----------------------------------------------------------------------------------------------


def test_1_7_work(lab):
    """Does a higher degree read more of x? Does it compute more?"""
    sizes = [(1024, 1), (512, 7), (64, 20)]
    for (n, degree), got in zip(sizes, lab.host("polynomial_work", sizes), strict=True):
        x = np.zeros(n, np.float32)
        counters = lab.given("polynomial", ceil_div(n, 64), 64, x, np.empty_like(x), np.int32(degree)).counters
        expected = (8 * n, counters["float_operations"])
        about = f"{n} elements, degree {degree}: (bytes, operations)"
        lab.expect(f"polynomial_work({n}, {degree})", got, expected, about=about)


def kernels_on_gpus():
    """(arguments of `least_seconds` and `limit`, what is special about them)."""
    n = 2**26
    for degree in (1, 10, 64, 200):
        for name, gpu in (("T4", T4), ("H200", H200)):
            about = f"2^26 elements, degree {degree}, on a {name}: {2 * degree / 8:g} operations per byte"
            yield (8 * n, 2 * degree * n, gpu["gb_s"], gpu["tflops"]), about
    yield (2**20, 2**21, 1, 0.002), "both take as long"
    yield (0, 10**12, 320, 8.1), "no byte is moved"


def test_1_7_seconds(lab):
    """If the bytes take 3 ms, the operations 2 ms, and both go on at the same time: when is all done?"""
    calls = list(kernels_on_gpus())
    for (call, about), got in zip(calls, lab.host("least_seconds", [call for call, _ in calls]), strict=True):
        nbytes, flops, gb_s, tflops = call
        expected = max(nbytes / (gb_s * 1e9), flops / (tflops * 1e12))
        lab.expect(f"least_seconds{call}", got, expected, bound=close(expected), about=about)


def test_1_7_limit(lab):
    """Which of the two takes longer, and can the same kernel be limited otherwise on another GPU?"""
    calls = list(kernels_on_gpus())
    for (call, about), got in zip(calls, lab.host("limit", [call for call, _ in calls]), strict=True):
        nbytes, flops, gb_s, tflops = call
        expected = "memory" if nbytes * tflops * 1000 >= flops * gb_s else "arithmetic"
        lab.expect(f"limit{call}", got, expected, about=about)


# --- times on a GPU, for information ----------------------------------------------------------------------------------


def time_1_5_differences(lab):
    """A grid-stride loop over 2^24 elements."""
    n = 1 << 24
    lab.time("differences", **launch_of_differences(lab, n, 1056, 256), bytes_moved=8 * n)
