"""`vectorize` and `guvectorize` for target="cuda": a kernel around the user's function, one thread per element or loop.

The kernels are ordinary facade kernels; their source is put where `inspect` finds it.
"""

from __future__ import annotations

import itertools
import linecache
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit.cuda import signatures, types
from gpukit.cuda.devicearray import device_array, is_cuda_ndarray
from gpukit.cuda.dispatcher import FORALL_BLOCK_SIZE, Dispatcher, jit
from gpukit.cuda.errors import ArrayLayoutError, KernelTypeError, RefusedError, SignatureError
from gpukit.cuda.stubs import NAMES
from gpukit.cuda.types import Signature

_serial = itertools.count(1)


def _kernel_from(source: str, function: Callable) -> Dispatcher:
    """A kernel from generated source that calls `core`, the user's function as a device function."""
    filename = f"<vectorize {function.__name__} {next(_serial)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace = {"core": jit(function, device=True), "grid": NAMES["grid"]}
    exec(compile(source, filename, "exec"), namespace)
    return jit(namespace["kernel"])


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{i}" for i in range(count)]


class CUDAUFunc:
    """A function of scalars, applied to every element of broadcast arrays."""

    def __init__(self, function: Callable, declared: list[Signature]):
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._declared = declared
        self.nin, self.nout = len(declared[0].args), 1
        inputs = _names("x", self.nin)
        self._kernel = _kernel_from(
            f"def kernel(n, out, {', '.join(inputs)}):\n"
            "    i = grid(1)\n"
            "    if i < n:\n"
            f"        out[i] = core({', '.join(f'{x}[i]' for x in inputs)})\n",
            function,
        )

    @property
    def types(self) -> list[Signature]:
        return self._declared

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Arrays or scalars, broadcast together; a device array comes back if any argument is one."""
        if isinstance(out, tuple):
            (out,) = out
        if len(args) == self.nin + 1 and out is None:
            args, out = args[:-1], args[-1]
        if len(args) != self.nin:
            raise SignatureError(f"{self.__name__} takes {self.nin} arguments, {len(args)} given")
        on_device = any(is_cuda_ndarray(arg) for arg in args) or is_cuda_ndarray(out)
        hosts = [np.asarray(getattr(arg, "__gpukit_array__", arg)) for arg in args]
        signature = self._choose([host.dtype for host in hosts])
        try:
            shape = np.broadcast_shapes(*(host.shape for host in hosts))
        except ValueError as error:
            raise ArrayLayoutError(f"{self.__name__}: {error}") from None
        flat = [
            np.ascontiguousarray(np.broadcast_to(host.astype(types.as_dtype(t)), shape)).reshape(-1)
            for host, t in zip(hosts, signature.args, strict=True)
        ]
        result = np.empty(shape, types.as_dtype(signature.return_type))
        if result.size:
            blocks = -(-result.size // FORALL_BLOCK_SIZE)
            self._kernel[blocks, FORALL_BLOCK_SIZE, stream](result.size, result.reshape(-1), *flat)
        return _deliver(result, out, on_device)

    def reduce(self, arg: Any, stream: Any = 0) -> Any:
        """Fold a 1-D array with the function of two values."""
        if self.nin != 2:
            raise SignatureError(f"reduce needs a function of two values; {self.__name__} takes {self.nin}")
        values = np.asarray(getattr(arg, "__gpukit_array__", arg))
        if values.ndim != 1:
            raise ArrayLayoutError("reduce works on arrays of one axis")
        while values.size > 1:
            half = values.size // 2
            folded = self(values[:half], values[half : 2 * half], stream=stream)
            values = np.concatenate((folded, values[2 * half :]))
        return values[0]

    def _choose(self, dtypes: list[np.dtype]) -> Signature:
        """The first signature the inputs can be cast to safely, else the first at all."""
        for casting in ("safe", "same_kind"):
            for signature in self._declared:
                wanted = [types.as_dtype(t) for t in signature.args]
                if all(np.can_cast(d, w, casting) for d, w in zip(dtypes, wanted, strict=True)):
                    return signature
        raise SignatureError(
            f"No matching definition for argument type(s) {', '.join(map(str, dtypes))} of {self.__name__}"
        )


class CUDAGUFunc:
    """A function of small arrays, applied along the leading axes of larger ones; layout such as "(n),(n)->()"."""

    def __init__(self, function: Callable, declared: list[Signature], layout: str):
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._declared = declared
        self._inputs, self._outputs = _parse_layout(layout)
        self.nin, self.nout = len(self._inputs), len(self._outputs)
        if len(declared[0].args) != self.nin + self.nout:
            raise SignatureError(
                f"{self.__name__}: the layout {layout} names {self.nin + self.nout} arrays, the signature "
                f"{declared[0]} has {len(declared[0].args)}"
            )
        names = _names("x", self.nin) + _names("y", self.nout)
        # A scalar input is passed as a number, a scalar output as an array of one element.
        call = ", ".join(f"{name}[i]" for name in names)
        self._kernel = _kernel_from(
            f"def kernel(n, {', '.join(names)}):\n    i = grid(1)\n    if i < n:\n        core({call})\n", function
        )

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        """Inputs, then outputs if given; returns the output (a tuple for several)."""
        outputs = list(args[self.nin :])
        if out is not None:
            outputs = list(out) if isinstance(out, tuple) else [out]
        if len(args) < self.nin or len(outputs) not in (0, self.nout):
            raise SignatureError(f"{self.__name__} takes {self.nin} inputs and {self.nout} outputs, {len(args)} given")
        given = list(args[: self.nin]) + outputs
        on_device = any(is_cuda_ndarray(arg) for arg in given)
        hosts = [np.asarray(getattr(arg, "__gpukit_array__", arg)) for arg in given]
        signature = self._declared[0]
        for candidate in self._declared:
            if all(
                np.can_cast(host.dtype, _element(t), "safe")
                for host, t in zip(hosts[: self.nin], candidate.args, strict=False)
            ):
                signature = candidate
                break
        sizes: dict[str, int] = {}
        loops = []
        for host, core in zip(hosts, self._inputs, strict=False):
            if host.ndim < len(core):
                raise ArrayLayoutError(f"{self.__name__}: an input needs at least {len(core)} axes, not {host.ndim}")
            split = host.ndim - len(core)
            loops.append(host.shape[:split])
            for name, length in zip(core, host.shape[split:], strict=True):
                if sizes.setdefault(name, length) != length:
                    raise ArrayLayoutError(f"{self.__name__}: axis {name} is {sizes[name]} and {length} long")
        try:
            loop = np.broadcast_shapes(*loops)
        except ValueError as error:
            raise ArrayLayoutError(f"{self.__name__}: {error}") from None
        n = int(np.prod(loop, dtype=np.int64))
        work = []
        for host, core, t in zip(hosts, self._inputs, signature.args, strict=False):
            shape = tuple(sizes[name] for name in core)
            full = np.broadcast_to(host.astype(_element(t)), loop + shape)
            work.append(np.ascontiguousarray(full).reshape(n, *shape))
        results = []
        for k, core in enumerate(self._outputs):
            missing = [name for name in core if name not in sizes]
            if missing:
                raise ArrayLayoutError(f"{self.__name__}: the length of output axis {missing[0]} is not known")
            shape = tuple(sizes[name] for name in core)
            dtype = _element(signature.args[self.nin + k])
            result = np.zeros(loop + shape, dtype)
            if outputs:
                result[...] = hosts[self.nin + k].reshape(result.shape)
            results.append(result)
            work.append(result.reshape(n, *(shape or (1,))))
        if n:
            blocks = -(-n // FORALL_BLOCK_SIZE)
            self._kernel[blocks, min(n, FORALL_BLOCK_SIZE), stream](n, *work)
        delivered = tuple(
            _deliver(result, outputs[k] if outputs else None, on_device) for k, result in enumerate(results)
        )
        return delivered[0] if self.nout == 1 else delivered


def _element(type_: types.Type) -> np.dtype:
    return types.as_dtype(type_.dtype if isinstance(type_, types.Array) else type_)


def _deliver(result: np.ndarray, out: Any, on_device: bool) -> Any:
    if out is None:
        if not on_device:
            return result if result.ndim else result[()]
        out = device_array(result.shape, result.dtype)
    target = getattr(out, "__gpukit_array__", out)
    if target.shape != result.shape:
        raise ArrayLayoutError(f"the output has the shape {target.shape}, the result {result.shape}")
    target[...] = result
    return out


def _parse_layout(layout: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """([("m", "n"), ...] of the inputs, the same of the outputs) from "(m,n),(n)->(m)"."""
    group = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
    if not re.fullmatch(rf"\s*{group}(\s*,\s*{group})*\s*->\s*{group}(\s*,\s*{group})*\s*", layout):
        raise KernelTypeError(f'"{layout}" is not a layout; write for example "(n),(n)->()"')
    sides = layout.split("->")
    inputs, outputs = ([tuple(re.findall(r"\w+", part)) for part in re.findall(group, side)] for side in sides)
    return inputs, outputs


class CUDAVectorize:
    """What `numba.vectorize(..., target="cuda")` builds with."""

    def __init__(
        self, function: Callable, identity: Any = None, cache: bool = False, targetoptions: Any = None, **_: Any
    ):
        self.py_func = getattr(function, "py_func", function)
        self.declared: list[Signature] = []

    def add(self, sig: Any) -> None:
        signature = signatures.parse(sig)
        if signature.return_type in (None, types.none):
            raise SignatureError(f"vectorize needs a return type: write float32({', '.join(map(str, signature.args))})")
        self.declared.append(signature)

    def disable_compile(self) -> None:
        """Nothing is compiled late."""

    def build_ufunc(self) -> CUDAUFunc:
        if not self.declared:
            raise RefusedError('vectorize for target="cuda" needs signatures, such as ["float32(float32, float32)"]')
        return CUDAUFunc(self.py_func, self.declared)


class CUDAGUFuncVectorize:
    """What `numba.guvectorize(..., target="cuda")` builds with."""

    def __init__(self, function: Callable, layout: str, identity: Any = None, cache: bool = False, **_: Any):
        self.py_func = getattr(function, "py_func", function)
        self.layout = layout
        self.declared: list[Signature] = []

    def add(self, sig: Any) -> None:
        self.declared.append(signatures.parse(sig))

    def disable_compile(self) -> None:
        """Nothing is compiled late."""

    def build_ufunc(self) -> CUDAGUFunc:
        if not self.declared:
            raise RefusedError(
                'guvectorize for target="cuda" needs signatures, such as ["void(float32[:], float32[:])"]'
            )
        return CUDAGUFunc(self.py_func, self.declared, self.layout)


def _refuse_other_target(name: str, target: str) -> None:
    if target != "cuda":
        raise RefusedError(f'{name}(target={target!r}) needs numba itself: pip install numba; target="cuda" works here')


def vectorize(ftylist_or_function: Any = (), target: str = "cuda", **options: Any) -> Any:
    """Make a function of scalars work on arrays: `@vectorize(["float32(float32, float32)"], target="cuda")`."""
    _refuse_other_target("vectorize", target)
    declared = [ftylist_or_function] if signatures.is_signature(ftylist_or_function) else ftylist_or_function
    if callable(declared):
        declared = ()

    def decorate(function: Callable) -> CUDAUFunc:
        builder = CUDAVectorize(function)
        for sig in declared:
            builder.add(sig)
        return builder.build_ufunc()

    return decorate(ftylist_or_function) if callable(ftylist_or_function) else decorate


def guvectorize(ftylist: Any, signature: str, target: str = "cuda", **options: Any) -> Any:
    """Make a function of small arrays work along larger ones: `@guvectorize(["void(...)"], "(n),(n)->()", ...)`."""
    _refuse_other_target("guvectorize", target)
    declared = [ftylist] if signatures.is_signature(ftylist) else ftylist

    def decorate(function: Callable) -> CUDAGUFunc:
        builder = CUDAGUFuncVectorize(function, signature)
        for sig in declared:
            builder.add(sig)
        return builder.build_ufunc()

    return decorate


__all__ = ["CUDAGUFunc", "CUDAGUFuncVectorize", "CUDAUFunc", "CUDAVectorize", "guvectorize", "vectorize"]
