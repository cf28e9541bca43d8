"""The GPU machine: the kernels that run on the CPU machine, on an NVIDIA GPU, unchanged.

`missing()` says whether there is one that can be used, `launch` launches, `Gpu` is a GPU as a device of the registry,
and `gpukit.gpu.profiling` puts the counters of Nsight Compute beside those of the CPU machine. CuPy holds the arrays
and launches CUDA C++, numba-cuda launches kernels in Python; neither is imported before it is needed.
"""

from gpukit.gpu.availability import missing
from gpukit.gpu.device import Gpu
from gpukit.gpu.errors import GpuError, explaining
from gpukit.gpu.launching import launch, takes

__all__ = ["Gpu", "GpuError", "explaining", "launch", "missing", "takes"]
