"""Bytes, bits and wide integers."""

import zlib

import numpy as np
from compiled.kernels.table import i32, integers, launched, zeros

TEXT = b"It was the best of times,  it was the worst of times; 64 words {or} fewer~ " * 5


def text() -> np.ndarray:
    """Letters, blanks and other characters."""
    return np.frombuffer(TEXT, np.int8)[:372].copy()


launched(
    "integers",
    "grey",
    3,
    100,
    lambda: (integers(290, 4, high=256, dtype=np.uint8), zeros(290, dtype=np.uint8), i32(290)),
    lambda p, out, n: {1: (p[:, :3] @ np.array([77, 150, 29]) + 128) >> 8},
)
launched(
    "integers",
    "capitals",
    2,
    64,
    lambda: (text(), i32(93)),
    lambda t, n: {0: np.frombuffer(t.tobytes().upper(), np.int8)},
)
launched(
    "integers",
    "count_words",
    3,
    128,
    lambda: (text(), zeros(1, dtype=np.int32), i32(372)),
    lambda t, words, n: {1: [len(t.tobytes().split())]},
)
launched(
    "integers",
    "dot_bytes",
    2,
    64,
    lambda: (
        integers(100, 12, low=-128, high=128, dtype=np.int8),
        integers(12, low=-128, high=128, seed=2, dtype=np.int8),
        zeros(100, dtype=np.int32),
        i32(100),
        i32(3),
    ),
    lambda a, x, y, rows, words: {2: a.astype(np.int32) @ x.astype(np.int32)},
)


def hashed(keys: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """The kernel's formula on Python's integers."""
    mask = 2**64 - 1
    result = []
    for key in map(int, keys):
        h = (key + 0x9E3779B97F4A7C15) & mask
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & mask
        h = (h ^ h >> 27) * 0x94D049BB133111EB & mask
        h ^= ((h * (key | 1) >> 64) + ((h << 7 | h >> 57) & mask)) & mask
        result.append((h % 1000003 + (h // 1000003 << 32)) & mask)
    return {1: np.array(result, np.uint64)}


launched(
    "integers",
    "hash",
    2,
    64,
    lambda: (integers(100, high=2**63, dtype=np.uint64), zeros(100, dtype=np.uint64), i32(100)),
    hashed,
)
launched(
    "integers",
    "crc32",
    1,
    256,
    lambda: (integers(200, 13, high=256, dtype=np.uint8), zeros(200, dtype=np.uint32), i32(200), i32(13)),
    lambda rows, out, n, length: {1: np.array([zlib.crc32(row.tobytes()) for row in rows], np.uint32)},
)


def signed(value: int, bits: int = 32) -> int:
    """The low bits as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def reversed_bits(value: int, bits: int) -> int:
    """The bits in the opposite order."""
    return int(f"{value:0{bits}b}"[::-1], 2)


def first_set(value: int) -> int:
    """The position of the lowest bit that is set, from 1; 0 for 0."""
    return (value & -value).bit_length()


def bit_functions(x: np.ndarray, wide: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """Each function on Python's integers."""
    rows = []
    for i in range(n):
        v, w, u = int(x[i]), int(x[(i + 1) % n]), int(wide[i])
        bytes_of = v.to_bytes(4, "little") + w.to_bytes(4, "little")
        added = sum(((v >> s) + (w >> s) & 255) << s for s in (0, 8, 16, 24))
        larger = sum(max(v >> s & 255, w >> s & 255) << s for s in (0, 8, 16, 24))
        rows.append(
            [
                v.bit_count(),
                32 - v.bit_length(),
                first_set(v),
                reversed_bits(v, 32),
                int.from_bytes(bytes(bytes_of[s] for s in (0, 4, 2, 6)), "little"),
                ((w << 32 | v) << (v & 31)) >> 32,
                u.bit_count() + 100 * (64 - u.bit_length()),
                first_set(u) ^ reversed_bits(u, 64),
                v * w >> 32,
                signed(v) * signed(w) >> 32,
                abs(signed(v) - signed(w)) + 3,
                added ^ larger,
            ]
        )
    return {2: np.array([[signed(value) for value in row] for row in rows], np.int32)}


def words() -> np.ndarray:
    """Random and extreme words."""
    x = integers(90, high=2**32, dtype=np.uint32)
    x[:6] = [0, 1, 2**31, 2**32 - 1, 2**31 - 1, 0x80808080]
    return x


def wide_words() -> np.ndarray:
    """Random and extreme words of 64 bits."""
    x = integers(90, high=2**63, dtype=np.uint64) << np.uint64(1)
    x[:4] = [0, 1, 2**63, 2**64 - 1]
    return x


launched(
    "integers", "bits", 3, 32, lambda: (words(), wide_words(), zeros(90, 12, dtype=np.int32), i32(90)), bit_functions
)


def quotient(a: int, b: int) -> int:
    """a / b as in C: rounded to zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    """a % b as in C: with the sign of a."""
    return a - quotient(a, b) * b


def divided(a: np.ndarray, b: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """Each division on Python's integers."""
    rows = []
    for p, q in zip(map(int, a), map(int, b), strict=True):
        up, uq = p % 2**32, q % 2**32
        rows.append(
            [
                quotient(p, q),
                remainder(p, q),
                up // uq,
                up % uq,
                quotient(p * 1000003, q),
                remainder(p * 1000003, q),
                quotient(signed(p, 16), signed(q | 1, 16)),
                quotient(p, 10) + remainder(p, 7),
            ]
        )
    return {2: np.array(rows, np.int64)}


launched(
    "integers",
    "divisions",
    3,
    32,
    lambda: (
        integers(90, low=-(2**31) + 1, high=2**31),
        np.where(integers(90, low=-9, high=10, seed=2) == 0, 12345, integers(90, low=-9, high=10, seed=2)),
        zeros(90, 8, dtype=np.int64),
        i32(90),
    ),
    divided,
)


def sums_of_128_bits(a: np.ndarray, b: np.ndarray, out: np.ndarray, n: np.int32) -> dict:
    """On Python's integers."""
    rows = []
    for p, q in zip(a, b, strict=True):
        total = int.from_bytes(p.tobytes(), "little") + int.from_bytes(q.tobytes(), "little")
        rows.append(np.frombuffer((total % 2**128).to_bytes(16, "little"), np.uint32))
    return {2: np.array(rows)}


def chains() -> np.ndarray:
    """Numbers whose parts are mostly ones, so that carries run."""
    x = integers(70, 4, high=2**32, dtype=np.uint32)
    x[::2, 1:3] = 2**32 - 1
    return x


launched(
    "integers",
    "add_128",
    3,
    32,
    lambda: (chains(), integers(70, 4, high=2**32, seed=2, dtype=np.uint32), zeros(70, 4, dtype=np.uint32), i32(70)),
    sums_of_128_bits,
)
