"""gpukit: run, profile and check numba.cuda kernels on any computer.

report = gpukit.profile(kernel, grid, block, *args)   # counters and hazards, line by line
gpukit.check(kernel, grid, block, *args)              # raises KernelHazard when the kernel is wrong
gpukit.launch(kernel, grid, block, *args)             # just run it
gpukit.load("kernels.py")                             # the kernels of a file, without executing any of it
from gpukit import cuda                               # numba.cuda's API on the CPU machine
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from gpukit.errors import (
    GpukitError,
    KernelAssertion,
    KernelDeadlock,
    KernelHazard,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    UnsupportedFeature,
)

if TYPE_CHECKING:
    from gpukit import cuda
    from gpukit.launching import check, launch, profile
    from gpukit.machine.frontends.python import load
    from gpukit.report import Report

__version__ = "0.1.0"

# Names that cost an import are found on first use, so that `import gpukit` and the command line start fast.
_HOMES = {
    "profile": "gpukit.launching",
    "check": "gpukit.launching",
    "launch": "gpukit.launching",
    "load": "gpukit.machine.frontends.python",
    "Report": "gpukit.report",
    "cuda": "gpukit.cuda",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gpukit' has no attribute {name!r}")
    module = importlib.import_module(_HOMES[name])
    value = module if name == "cuda" else getattr(module, name)
    globals()[name] = value
    return value


__all__ = [
    "GpukitError",
    "KernelAssertion",
    "KernelDeadlock",
    "KernelHazard",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchError",
    "Report",
    "UnsupportedFeature",
    "check",
    "cuda",
    "launch",
    "load",
    "profile",
]
