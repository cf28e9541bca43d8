"""`numba.cuda.random`: one xoroshiro128+ generator per thread, 2**64 steps apart.

States are made on the host. Seeding is SplitMix64 (both halves of a state hold the same word, as in numba, so that
the streams are numba's); a jump of 2**64 steps is linear over GF(2), so it is a 128 x 128 bit matrix and n states
take log2(n) matrix products instead of n jumps one after another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit.cuda.devicearray import DeviceNDArray, device_array
from gpukit.cuda.stubs import DeviceFunction
from gpukit.cuda.types import from_dtype

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = from_dtype(xoroshiro128p_dtype)

_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)


def _device(name: str, doc: str) -> DeviceFunction:
    return DeviceFunction(f"cuda.random.{name}", doc)


init_xoroshiro128p_state = _device("init_xoroshiro128p_state", "(states, index, seed): seed one state.")
xoroshiro128p_next = _device("xoroshiro128p_next", "(states, index): the next uint64.")
xoroshiro128p_jump = _device("xoroshiro128p_jump", "(states, index): advance by 2**64 steps.")
xoroshiro128p_uniform_float32 = _device("xoroshiro128p_uniform_float32", "(states, index): float32 in [0, 1).")
xoroshiro128p_uniform_float64 = _device("xoroshiro128p_uniform_float64", "(states, index): float64 in [0, 1).")
xoroshiro128p_normal_float32 = _device("xoroshiro128p_normal_float32", "(states, index): normal float32.")
xoroshiro128p_normal_float64 = _device("xoroshiro128p_normal_float64", "(states, index): normal float64.")


def _rotate_left(x: np.ndarray, k: int) -> np.ndarray:
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


def _jump(s0: np.ndarray, s1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The states 2**64 steps on; uint64 arrays of any one shape."""
    out0, out1 = np.zeros_like(s0), np.zeros_like(s1)
    for word in _JUMP:
        for bit in range(64):
            if word >> bit & 1:
                out0 ^= s0
                out1 ^= s1
            mixed = s0 ^ s1
            s0, s1 = _rotate_left(s0, 55) ^ mixed ^ (mixed << np.uint64(14)), _rotate_left(mixed, 36)
    return out0, out1


class _BitMatrix:
    """A linear map of states: column b is the image of the state whose only bit is b (s0's bits first)."""

    def __init__(self, s0: np.ndarray, s1: np.ndarray):
        self.s0, self.s1 = s0, s1

    def __call__(self, s0: np.ndarray, s1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out0, out1 = np.zeros_like(s0), np.zeros_like(s1)
        for column in range(128):
            word, bit = (s0, column) if column < 64 else (s1, column - 64)
            mask = -(word >> np.uint64(bit) & np.uint64(1))
            out0 ^= mask & self.s0[column]
            out1 ^= mask & self.s1[column]
        return out0, out1

    def squared(self) -> _BitMatrix:
        return _BitMatrix(*self(self.s0, self.s1))


def _jump_matrix() -> _BitMatrix:
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    none = np.zeros(64, np.uint64)
    return _BitMatrix(*_jump(np.concatenate((bits, none)), np.concatenate((none, bits))))


def _seeded(seed: int) -> int:
    """SplitMix64's first output for a seed."""
    word = 2**64 - 1
    z = (seed + 0x9E3779B97F4A7C15) & word
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & word
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & word
    return z ^ z >> 31


def init_xoroshiro128p_states_cpu(states: np.ndarray, seed: int, subsequence_start: int = 0) -> None:
    """Fill a host array of states: state i starts subsequence `subsequence_start + i` of the seed's sequence."""
    n = states.shape[0]
    if not n:
        return
    with np.errstate(over="ignore"):
        word = np.full(1, _seeded(int(seed)), np.uint64)
        s0, s1, matrix, left = word, word.copy(), _jump_matrix(), int(subsequence_start)
        power = matrix
        while left:
            if left & 1:
                s0, s1 = power(s0, s1)
            power, left = power.squared(), left >> 1
        while s0.size < n:  # matrix jumps s0.size states ahead
            next0, next1 = matrix(s0, s1)
            s0, s1 = np.concatenate((s0, next0)), np.concatenate((s1, next1))
            matrix = matrix.squared()
    states["s0"], states["s1"] = s0[:n], s1[:n]


def init_xoroshiro128p_states(states: DeviceNDArray, seed: int, subsequence_start: int = 0, stream: Any = 0) -> None:
    """Fill a device array of states, see `create_xoroshiro128p_states`."""
    host = np.empty(states.shape, xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(host, seed, subsequence_start)
    states.copy_to_device(host, stream=stream)


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> DeviceNDArray:
    """A device array of n states, each 2**64 steps after the one before: no two threads see the same numbers."""
    states = device_array(n, xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states
