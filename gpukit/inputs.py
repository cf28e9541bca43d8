"""Arrays that problems are made of, drawn where they are needed: on the host, or on the GPU itself.

A host takes seconds to draw 2^28 numbers and copy them; a GPU takes milliseconds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit.devices import Device


def random_floats(n: int, rng: np.random.Generator, device: Device) -> Any:
    """n float32 in [0, 1), on the device. The same `rng` gives the same numbers on the same kind of device."""
    return _generator(rng, device).random(n, dtype=np.float32)


def random_integers(n: int, below: int, rng: np.random.Generator, device: Device) -> Any:
    """n int32 from 0 up to, without, `below`, on the device."""
    return _generator(rng, device).integers(0, below, n, dtype=np.int32)


def ramp(n: int, device: Device) -> Any:
    """0, 1, 2, ..., n - 1 as int32, on the device: no two elements are equal, so that no exchange goes unseen."""
    return device.xp.arange(n, dtype=np.int32)


def _generator(rng: np.random.Generator, device: Device) -> Any:
    if device.name == "gpu":
        return device.xp.random.default_rng(int(rng.integers(1 << 32)))
    return rng
