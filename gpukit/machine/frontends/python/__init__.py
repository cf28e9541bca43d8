"""The Python front end: numba.cuda kernels, from their source to a `Program`. Executes none of it."""

from gpukit.machine.frontends.python.bind import bind, compile_kernel, type_of
from gpukit.machine.frontends.python.loader import load
from gpukit.machine.frontends.python.source import Source, from_function, of

__all__ = ["Source", "bind", "compile_kernel", "from_function", "load", "of", "type_of"]
