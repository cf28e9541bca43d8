"""The PTX front end: what a compiler made of a CUDA C++ or numba kernel, as a `Program`.

parser -> syntax tree -> assembler (what ptxas still changes) -> lowering, with `instructions/` by topic -> bind.
"""

from gpukit.machine.frontends.ptx.bind import Array, Kernel, Module, load

__all__ = ["Array", "Kernel", "Module", "load"]
