"""The random numbers of cuda.random: xoroshiro128+, seeded by SplitMix64, on states held as two uint64.

The algorithms are Blackman and Vigna's. A kernel-side function takes the two words of a thread's state and returns its
value and the new words; the front end loads and stores them. Streams, seeds and bits are those of numba-cuda.
"""

from __future__ import annotations

import math

import numpy as np

from gpukit.machine.frontends.python.functions.base import Function, rule, rules

STATE = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)

_MASK = (1 << 64) - 1
_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)  # advances a state by 2**64 steps
_UNIT = np.float64(2.0**-53)
_TWO_PI_32, _TWO_PI_64 = np.float32(2 * math.pi), np.float64(2 * math.pi)


def _rotate_left(x, k: int):
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


def seed(value):
    """(s0, s1) of an integer seed: one SplitMix64 step, in both words."""
    z = value + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return z, z


def xoroshiro_next(s0, s1):
    """(64 random bits, s0, s1)."""
    mixed = s1 ^ s0
    return s0 + s1, _rotate_left(s0, 55) ^ mixed ^ (mixed << np.uint64(14)), _rotate_left(mixed, 36)


def xoroshiro_jump(s0, s1):
    """(s0, s1) 2**64 steps on."""
    out0 = out1 = s0 ^ s0
    for word in _JUMP:
        for bit in range(64):
            if word >> bit & 1:
                out0, out1 = out0 ^ s0, out1 ^ s1
            _, s0, s1 = xoroshiro_next(s0, s1)
    return out0, out1


def uniform_float64(s0, s1):
    """(float64 in [0, 1), s0, s1)."""
    value, s0, s1 = xoroshiro_next(s0, s1)
    return (value >> np.uint64(11)) * _UNIT, s0, s1


def uniform_float32(s0, s1):
    """(float32 in [0, 1], s0, s1): the float64 value, rounded."""
    value, s0, s1 = uniform_float64(s0, s1)
    return value.astype(np.float32), s0, s1


def normal_float32(s0, s1):
    """(float32 of the standard normal distribution, s0, s1), by Box and Muller from two float32 uniforms."""
    u1, s0, s1 = uniform_float32(s0, s1)
    u2, s0, s1 = uniform_float32(s0, s1)
    return np.sqrt(np.float32(-2) * np.log(u1)) * np.cos(_TWO_PI_32 * u2), s0, s1


def normal_float64(s0, s1):
    """(float64 of the standard normal distribution, s0, s1); the two uniforms are float32 here too."""
    u1, s0, s1 = uniform_float32(s0, s1)
    u2, s0, s1 = uniform_float32(s0, s1)
    return np.sqrt(np.float64(-2) * np.log(u1)) * np.cos(_TWO_PI_64 * u2), s0, s1


# --- states of many threads ------------------------------------------------------------------------------------------


class _Linear:
    """A linear map of 128-bit states over the two-element field, such as "jump 2**64 steps".

    `columns` are the images of the 128 states with one bit set: (s0, s1), uint64 (128,) each.
    """

    def __init__(self, columns: tuple[np.ndarray, np.ndarray]):
        self.columns = columns
        # The image of each byte value at each of the 16 byte places, so that applying is 16 look-ups.
        self._tables = []
        for words in columns:
            table = np.zeros((16, 256), np.uint64)
            for bit in range(8):
                table[:, 1 << bit : 2 << bit] = table[:, : 1 << bit] ^ words[bit::8, None]
            self._tables.append(table)

    def __call__(self, s0: np.ndarray, s1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The images of n states, uint64 (n,) each."""
        out = [np.zeros_like(s0), np.zeros_like(s1)]
        for place in range(16):
            word, shift = (s0, s1)[place // 8], np.uint64(8 * (place % 8))
            byte = (word >> shift) & np.uint64(0xFF)
            for part, table in zip(out, self._tables, strict=True):
                part ^= table[place][byte]
        return out[0], out[1]

    def squared(self) -> _Linear:
        """This map twice."""
        return _Linear(self(*self.columns))


def _jump_map() -> _Linear:
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    none = np.zeros(64, np.uint64)
    return _Linear(xoroshiro_jump(np.concatenate([bits, none]), np.concatenate([none, bits])))


def init_states(n: int, seed_value: int, subsequence_start: int = 0) -> np.ndarray:
    """States of n generators, `STATE` (n,): generator i starts 2**64 * (subsequence_start + i) steps after the seed."""
    states = np.zeros(n, STATE)
    if n == 0:
        return states
    jump = _jump_map()
    s0, s1 = seed(np.full(1, seed_value & _MASK, np.uint64))
    power = jump
    while subsequence_start:
        if subsequence_start & 1:
            s0, s1 = power(s0, s1)
        power, subsequence_start = power.squared(), subsequence_start >> 1
    # Each round doubles what is there: the second half is the first, moved on by the length of it.
    power = jump
    while s0.size < n:
        more0, more1 = power(s0, s1)
        s0, s1 = np.concatenate([s0, more0]), np.concatenate([s1, more1])
        power = power.squared()
    states["s0"], states["s1"] = s0[:n], s1[:n]
    return states


FUNCTIONS: list[Function] = [
    rules("cuda.random.init_xoroshiro128p_state", [rule("L>LL", seed)]),
    rules("cuda.random.xoroshiro128p_next", [rule("LL>LLL", xoroshiro_next)]),
    rules("cuda.random.xoroshiro128p_jump", [rule("LL>LL", xoroshiro_jump)]),
    rules("cuda.random.xoroshiro128p_uniform_float32", [rule("LL>fLL", uniform_float32)]),
    rules("cuda.random.xoroshiro128p_uniform_float64", [rule("LL>dLL", uniform_float64)]),
    rules("cuda.random.xoroshiro128p_normal_float32", [rule("LL>fLL", normal_float32)]),
    rules("cuda.random.xoroshiro128p_normal_float64", [rule("LL>dLL", normal_float64)]),
]
