"""Untrusted things of a student, read by policy and run in a child process with limits.

    policy.refusals(source, host)            what a student's Python file may not hold
    host.call(source, file, function, ...)   the student's host function, in a limited child
    cpp.refusals(source)                     what a student's CUDA C++ may not hold
    cpp.compile_untrusted(code, name=...)    that C++ as PTX, compiled in a limited child
    strength()                               which walls stand on this computer, by trying to break each of them

The static reading (`policy`, `cpp.refusals`) keeps honest files clear of surprises; the walls are the operating
system's. They are in `walls`, and stand before anything of the student is read.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpukit.sandbox.gauge import Strength, strength
    from gpukit.sandbox.running import Limits, Outcome, run

# Found on first use: a child needs none of it, and starts in a third of the time.
_HOMES = {"Limits": "running", "Outcome": "running", "run": "running", "Strength": "gauge", "strength": "gauge"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gpukit.sandbox' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"gpukit.sandbox.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


__all__ = ["Limits", "Outcome", "Strength", "run", "strength"]
