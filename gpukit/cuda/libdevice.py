"""`numba.cuda.libdevice`: NVIDIA's math library by its own function names, for use inside kernels.

The front end knows which of them the machine can compute and refuses the others by name.
"""

from __future__ import annotations

import re

from gpukit.cuda.stubs import DeviceFunction

_known: dict[str, DeviceFunction] = {}


def __getattr__(name: str) -> DeviceFunction:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise AttributeError(f"module 'libdevice' has no attribute {name!r}")
    if name not in _known:
        _known[name] = DeviceFunction(f"cuda.libdevice.{name}", f"libdevice's __nv_{name}.")
    return _known[name]
