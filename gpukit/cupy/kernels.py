"""cupy.RawKernel and RawModule on the CPU machine, and the kernels of CuPy's that it does not have."""

from __future__ import annotations

from typing import Any, NoReturn

from gpukit import raw
from gpukit.cupy.arrays import CupyTypeError, MemoryPointer, is_host
from gpukit.errors import UnsupportedFeature


class RawKernel(raw.RawKernel):
    """`gpukit.RawKernel` for device arrays."""

    def __call__(self, grid: Any, block: Any, args: Any, *, shared_mem: int = 0, stream: Any = None) -> None:
        if isinstance(args, tuple | list):
            args = tuple(self._passed(i, value) for i, value in enumerate(args))
        super().__call__(grid, block, args, shared_mem=shared_mem, stream=stream)

    def _passed(self, position: int, value: Any) -> Any:
        """NumPy arrays of one element go by value; larger ones are in the host's memory."""
        if not is_host(value):
            return value
        if value.size != 1:
            parameters = self.parameters
            name = parameters[position].name if position < len(parameters) else ""
            raise CupyTypeError(
                f"the argument `{name or f'parameter {position + 1}'}` of `{self.name}` is a NumPy array in the host's "
                "memory, which a kernel cannot reach: pass cupy.asarray(...) of it"
            )
        return value.reshape(())[()]


class RawModule(raw.RawModule):
    """`gpukit.RawModule` for device arrays."""

    _kernel_class = RawKernel

    def get_global(self, name: str) -> Any:
        """The memory of a variable, as a pointer: `cupy.ndarray(shape, dtype, module.get_global(name))` views it."""
        return MemoryPointer(super().get_global(name))


class _Refused:
    what = ""

    def __init__(self, *args: Any, **kwargs: Any):
        _refuse(self.what)


class ElementwiseKernel(_Refused):
    what = "ElementwiseKernel"


class ReductionKernel(_Refused):
    what = "ReductionKernel"


def fuse(*args: Any, **kwargs: Any) -> NoReturn:
    _refuse("fuse")


def _refuse(what: str) -> NoReturn:
    raise UnsupportedFeature(
        f"cupy.{what} generates a kernel of its own, which the CPU machine does not have: write it as a RawKernel, or "
        "use array functions"
    )
