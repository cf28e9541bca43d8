"""Features of the language."""

import numpy as np
from compiled.kernels.integers import remainder, signed
from compiled.kernels.table import floats, fma, i32, integers, launched, zeros


def by_code(codes: np.ndarray, x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """The table of cases on Python's integers."""

    def result(code: int, v: int) -> int:
        match code:
            case 0:
                return v + 17
            case 1:
                return v * v - 3
            case 2:
                return v ^ v << 5
            case 3:
                return remainder(v, 19) + (v >> 2)
            case 4:
                return max(-v, 12) * 7
            case 5:
                return max(v, 12) * 7
            case 6:
                return (v % 2**32).bit_count() * 1001
            case 7:
                return v & 0xF0F0 | 5
            case 9:
                return -1
        return 0

    return {2: np.array([signed(result(int(c), int(v))) for c, v in zip(codes, x, strict=True)], np.int32)}


launched(
    "language",
    "switch_table",
    3,
    64,
    lambda: (integers(180, high=11), integers(180, low=-999, high=1000, seed=2), zeros(180, dtype=np.int32), i32(180)),
    by_code,
)


def collatz(n: int) -> int:
    """Steps down to 1."""
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


launched(
    "language",
    "recursion",
    1,
    64,
    lambda: (np.arange(1, 51, dtype=np.int32), zeros(50, dtype=np.int32), i32(50)),
    lambda x, out, n: {1: np.array([collatz(int(v)) for v in x])},
)
launched(
    "language",
    "function_pointers",
    2,
    64,
    lambda: (integers(100, high=3), integers(100, low=-99, seed=2), zeros(100, dtype=np.int32), i32(100)),
    lambda which, x, out, n: {2: np.choose(which, [2 * x, x * x, -x])},
)


def five_smallest(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """And how many numbers end in the same three bits as the smallest."""
    rows = np.sort(x.reshape(n, 20), 1)[:, :5]
    same = ((x.reshape(n, 20) & 7) == (rows[:, :1] & 7)).sum(1)
    return {1: np.column_stack((rows, same))}


launched(
    "language",
    "local_arrays",
    2,
    32,
    lambda: (integers(50, 20, low=-300, high=300), zeros(50, 6, dtype=np.int32), i32(50)),
    five_smallest,
)

LINE = np.dtype([("slope", np.float32), ("shift", np.float32), ("power", np.int32), ("offset", np.int32)])


def line(x: np.ndarray, y: np.ndarray, it: np.void, n: np.int32) -> dict:
    """slope * x^power + shift, then + offset."""
    power = x.copy()
    for _ in range(1, it["power"]):
        power = power * x
    return {1: fma(it["slope"], power, it["shift"]) + np.float32(it["offset"])}


launched(
    "language",
    "structure",
    2,
    64,
    lambda: (floats(100), zeros(100), np.array([(1.5, 0.3, 3, -2)], LINE)[0], i32(100)),
    line,
)
launched(
    "language",
    "talk",
    2,
    64,
    lambda: (integers(100, low=-4, high=60), i32(100)),
    lambda x, n: {},
)
launched(
    "language",
    "count_calls",
    3,
    64,
    lambda: (zeros(192, dtype=np.uint32),),
    lambda out: {0: np.ones(192)},
)


def polynomial(x: np.ndarray, y: np.ndarray, n: np.int32) -> dict:
    """Modulo 2^64."""
    return {1: ((2 * x + 3) * x - 5) * x + 7}


launched(
    "language",
    "templates",
    2,
    64,
    lambda: (integers(300, low=-(2**40), high=2**40, dtype=np.int64), zeros(300, dtype=np.int64), i32(300)),
    polynomial,
)


def factors(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """The first pair of factors."""

    def pair(v: int) -> int:
        for i in range(1, 40):
            if v % i == 0 and i < v // i <= 40:
                return 100 * i + v // i
        return -1

    return {1: np.array([pair(int(v)) for v in x])}


launched(
    "language",
    "jumps",
    2,
    64,
    lambda: (integers(100, low=1, high=1500), zeros(100, dtype=np.int32), i32(100)),
    factors,
)


def packed(x: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """Fields of 5, 11 and 16 bits."""
    rows = []
    for word in map(int, x):
        low = (word >> 8 * (word & 3) & 255) & 31
        middle = signed((word >> 16 & 255) * 9, 11)
        rows.append((low + 32 * middle + ((word >> 3 & 0xFFFF) << 16)) % 2**32)
    return {1: np.array(rows, np.uint32)}


launched(
    "language",
    "layouts",
    2,
    64,
    lambda: (integers(100, high=2**32, dtype=np.uint32), zeros(100, dtype=np.uint32), i32(100)),
    packed,
)
