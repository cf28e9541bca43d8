"""`numba.cuda.random`: one xoroshiro128+ generator per thread, 2**64 steps apart; the streams are numba's."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit.cuda.devicearray import DeviceNDArray, device_array
from gpukit.cuda.stubs import DeviceFunction
from gpukit.cuda.types import from_dtype
from gpukit.machine.frontends.python.functions.random import STATE, init_states

xoroshiro128p_dtype = STATE
xoroshiro128p_type = from_dtype(xoroshiro128p_dtype)


def _device(name: str, doc: str) -> DeviceFunction:
    return DeviceFunction(f"cuda.random.{name}", doc)


init_xoroshiro128p_state = _device("init_xoroshiro128p_state", "(states, index, seed): seed one state.")
xoroshiro128p_next = _device("xoroshiro128p_next", "(states, index): the next uint64.")
xoroshiro128p_jump = _device("xoroshiro128p_jump", "(states, index): advance by 2**64 steps.")
xoroshiro128p_uniform_float32 = _device("xoroshiro128p_uniform_float32", "(states, index): float32 in [0, 1).")
xoroshiro128p_uniform_float64 = _device("xoroshiro128p_uniform_float64", "(states, index): float64 in [0, 1).")
xoroshiro128p_normal_float32 = _device("xoroshiro128p_normal_float32", "(states, index): normal float32.")
xoroshiro128p_normal_float64 = _device("xoroshiro128p_normal_float64", "(states, index): normal float64.")


def init_xoroshiro128p_states_cpu(states: np.ndarray, seed: int, subsequence_start: int = 0) -> None:
    """Fill a host array of states: state i starts subsequence `subsequence_start + i` of the seed's sequence."""
    with np.errstate(over="ignore"):
        states[:] = init_states(states.shape[0], int(seed), int(subsequence_start))


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
