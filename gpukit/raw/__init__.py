"""CUDA C++ kernels on the CPU machine, with CuPy's RawModule and RawKernel.

    kernel = gpukit.RawKernel(code, "scale")
    kernel((blocks,), (threads,), (x, np.float32(2), n))     # as in CuPy; x is a NumPy array
    gpukit.profile(kernel, blocks, threads, x, np.float32(2), n)

The code is compiled by NVRTC, which needs no GPU. PTX, saved or written by hand, runs without a compiler.
"""

from gpukit.raw.files import KernelFile, load
from gpukit.raw.kernels import RawKernel, RawModule

__all__ = ["KernelFile", "RawKernel", "RawModule", "load"]
