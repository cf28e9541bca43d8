"""gpukit: run, profile and check CUDA kernels, in Python or C++, on any computer.

report = gpukit.profile(kernel, grid, block, *args)   # counters and hazards, line by line
gpukit.profile(kernel, ..., level="compiled")         # the counters the hardware would show
gpukit.check(kernel, grid, block, *args)              # raises KernelHazard when the kernel is wrong
gpukit.launch(kernel, grid, block, *args)             # just run it
gpukit.compare_levels(kernel, grid, block, *args)     # what the compiler changes, and why
gpukit.benchmark(fn, *args)                           # how long it takes: median, spread, bandwidth
gpukit.trace(kernel, grid, block, *args)              # what a block does, step by step, lane by lane
gpukit.load("kernels.cu")                             # the kernels of a .py, .cu or .ptx file; executes none of it
gpukit.RawKernel(code, "name")                        # CUDA C++ with CuPy's interface; RawModule too
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
    from gpukit.comparison import LevelComparison, compare_levels
    from gpukit.launching import check, launch, profile
    from gpukit.levels import load
    from gpukit.raw import RawKernel, RawModule
    from gpukit.report import Report
    from gpukit.timing import Timing, benchmark
    from gpukit.tracing import Trace, trace

__version__ = "0.1.0"

# Names that cost an import are found on first use, so that `import gpukit` and the command line start fast.
_HOMES = {
    "profile": "gpukit.launching",
    "check": "gpukit.launching",
    "launch": "gpukit.launching",
    "load": "gpukit.levels",
    "compare_levels": "gpukit.comparison",
    "LevelComparison": "gpukit.comparison",
    "RawKernel": "gpukit.raw",
    "RawModule": "gpukit.raw",
    "Report": "gpukit.report",
    "benchmark": "gpukit.timing",
    "Timing": "gpukit.timing",
    "trace": "gpukit.tracing",
    "Trace": "gpukit.tracing",
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
    "LevelComparison",
    "RawKernel",
    "RawModule",
    "Report",
    "Timing",
    "Trace",
    "UnsupportedFeature",
    "benchmark",
    "check",
    "compare_levels",
    "cuda",
    "launch",
    "load",
    "profile",
    "trace",
]
