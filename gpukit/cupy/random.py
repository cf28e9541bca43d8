"""cupy.random, drawn by numpy.random: the same functions, other numbers than a GPU draws from the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit.cupy.arrays import device, host


class _Drawing:
    """A generator of NumPy's whose arrays are device arrays. Functions take CuPy's extra `dtype`."""

    def __init__(self, generator: Any):
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(self._generator, name)
        if not callable(function):
            return function

        def draw(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
            drawn = function(*(host(a) for a in args), **{key: host(value) for key, value in kwargs.items()})
            if name in ("shuffle", "seed"):
                return None
            made = device(np.asarray(drawn))
            return made if dtype is None else made.astype(dtype)

        return draw


class RandomState(_Drawing):
    def __init__(self, seed: Any = None, method: Any = None):
        super().__init__(np.random.RandomState(seed))


class Generator(_Drawing):
    def __init__(self, bit_generator: Any):
        super().__init__(np.random.Generator(bit_generator))


def default_rng(seed: Any = None) -> Generator:
    return Generator(np.random.PCG64(seed))


_state = RandomState()


def get_random_state() -> RandomState:
    return _state


def seed(seed: Any = None) -> None:
    """Start the module's generator anew."""
    global _state
    _state = RandomState(seed)


def __getattr__(name: str) -> Any:
    return getattr(_state, name)
