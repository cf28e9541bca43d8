"""`cuda.In`, `cuda.Out`, `cuda.InOut`: which way a host array travels in one launch."""

from __future__ import annotations

from typing import Any

import numpy as np


class ArgHint:
    """A host array (or record) with a direction. `value` is what was wrapped."""

    def __init__(self, value: Any):
        self.value = value

    def for_kernel(self) -> Any:
        """What the kernel works on. Writes to it reach the host array unless it is an `In`."""
        return self.value


class In(ArgHint):
    """Copied to the device only: what the kernel writes is lost."""

    def for_kernel(self) -> Any:
        return np.copy(self.value) if isinstance(self.value, np.ndarray) else self.value


class Out(ArgHint):
    """Copied back only: its contents before the launch mean nothing to the kernel."""


class InOut(ArgHint):
    """Copied both ways, as a bare host array is."""


def wrap_arg(value: Any, default: type[ArgHint] = InOut) -> ArgHint:
    """`value` with a direction, if it has none yet."""
    return value if isinstance(value, ArgHint) else default(value)
