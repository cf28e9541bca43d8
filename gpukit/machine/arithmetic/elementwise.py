"""Functions over any mix of NumPy scalars and arrays of one length, which is what an operation of a program must be."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np


def vector(function: Callable) -> Callable:
    """Lets a function written for arrays of one length take scalars too: scalars in, scalars out."""

    @wraps(function)
    def call(*args):
        shape = next((x.shape for x in args if isinstance(x, np.ndarray)), None)
        out = function(*(x if isinstance(x, np.ndarray) else np.full(shape or 1, x) for x in args))
        if shape is not None:
            return out
        return tuple(x[0] for x in out) if isinstance(out, tuple) else out[0]

    return call
