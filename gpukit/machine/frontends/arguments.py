"""Arguments as the machine takes them: NumPy arrays, whatever class of array a program passes."""

from __future__ import annotations

import numpy as np


def as_numpy(value: object) -> np.ndarray | None:
    """The array behind an argument: a NumPy array itself, or the memory of a device array; None for anything else."""
    if isinstance(value, np.ndarray):
        return value if type(value) is np.ndarray else value.view(np.ndarray)
    array = getattr(value, "__gpukit_array__", None)
    return array if isinstance(array, np.ndarray) else None
