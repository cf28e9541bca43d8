"""`@cuda.jit`: kernels and device functions, their launch configuration and their calls."""

from __future__ import annotations

import functools
import inspect
import numbers
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpukit.cuda import launching, signatures, types
from gpukit.cuda.args import ArgHint
from gpukit.cuda.device import DEVICE, Stream
from gpukit.cuda.devicearray import NOT_CONTIGUOUS
from gpukit.cuda.errors import (
    ArrayLayoutError,
    DeprecationError,
    DeviceOnlyError,
    GpukitError,
    KernelTypeError,
    LaunchConfigError,
    LaunchConfigTypeError,
    NumbaInvalidConfigWarning,
    RefusedError,
    SignatureError,
    as_numba,
)
from gpukit.cuda.types import Signature
from gpukit.errors import at_the_call

if TYPE_CHECKING:
    from gpukit.machine.program import Program

# forall() without a block size: a GPU's driver would compute one from the kernel's registers; any multiple of 32 is
# right, this one fills every GPU.
FORALL_BLOCK_SIZE = 256

_OPTIONS = {
    "device": False,
    "debug": False,
    "opt": True,
    "lineinfo": False,
    "fastmath": False,
    "inline": "never",
    "forceinline": False,
    "cache": False,
    "link": (),
    "max_registers": None,
    "launch_bounds": None,
    "lto": None,
    "shared_memory_carveout": None,
    "extensions": (),
    "boundscheck": None,
    "argtypes": None,
    "restype": None,
    "bind": None,
    "nopython": True,
    "abi": None,
    "abi_info": None,
}


def jit(func_or_sig: Any = None, **options: Any) -> Any:
    """Make a kernel (or with `device=True` a device function) of a Python function, as numba.cuda.jit does.

    func_or_sig: the function itself, a signature ("void(float32[:])", a tuple of types, ...), or a list of signatures.
    Options that steer a compiler (opt, fastmath, lineinfo, inline, cache, max_registers, ...) are accepted and change
    nothing; `debug=True` makes `assert` and `raise` act.
    """
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise KernelTypeError(f"cuda.jit has no option {', '.join(sorted(unknown))}; it has {', '.join(_OPTIONS)}")
    options = _checked({**_OPTIONS, **options})
    declared: list[Signature] | None = None
    specialized = False
    if signatures.is_signature(func_or_sig):
        declared, specialized = [signatures.parse(func_or_sig)], True
    elif isinstance(func_or_sig, list):
        declared = [signatures.parse(item) for item in func_or_sig]

    def decorate(function: Callable) -> Dispatcher:
        return Dispatcher(function, options, declared, specialized)

    if func_or_sig is None or declared is not None:
        return decorate
    return decorate(func_or_sig)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    if options["boundscheck"]:
        raise RefusedError("bounds checking is not supported for CUDA; `gpukit check` reports every index out of range")
    for old in ("argtypes", "restype", "bind"):
        if options[old] is not None:
            raise DeprecationError(
                f"Deprecated keyword argument `{old}`. Signatures should be passed as the first positional argument."
            )
    if options["link"]:
        raise RefusedError("link= adds compiled code to a kernel; the CPU machine runs Python kernels only")
    if options["debug"] and options["lineinfo"]:
        warnings.warn(
            NumbaInvalidConfigWarning("debug and lineinfo are mutually exclusive: debug includes the lines"),
            stacklevel=3,
        )
    carveout = options["shared_memory_carveout"]
    if isinstance(carveout, str):
        if carveout.lower() not in ("default", "maxl1", "maxshared"):
            raise LaunchConfigError(
                f"Invalid carveout value: {carveout}; use 'default', 'MaxL1', 'MaxShared' or -1..100"
            )
    elif isinstance(carveout, int):
        if not -1 <= carveout <= 100:
            raise LaunchConfigError("Carveout must be between -1 and 100")
    elif carveout is not None:
        raise LaunchConfigTypeError(f"shared_memory_carveout must be str or int, got {type(carveout).__name__}")
    return options


class Dispatcher:
    """A kernel or device function. `py_func` is the user's function, `targetoptions` the options it was made with.

    Kernels are launched with `kernel[grid, block, stream, shared_bytes](*args)`.
    """

    __name__: str
    __qualname__: str

    def __init__(
        self,
        py_func: Callable,
        options: dict[str, Any],
        declared: list[Signature] | None = None,
        specialized: bool = False,
    ):
        while hasattr(py_func, "py_func"):
            py_func = py_func.py_func
        if not inspect.isfunction(py_func):
            raise KernelTypeError(f"cuda.jit makes kernels of functions written in Python, not of {py_func!r}")
        self.py_func = py_func
        self.targetoptions = options
        self.extensions = list(options["extensions"])
        self.declared = declared
        self.specialized = specialized
        functools.update_wrapper(self, py_func)
        self._overloads: dict[tuple, Overload] = {}
        for signature in declared or ():
            self._declare(signature)

    def _declare(self, signature: Signature) -> None:
        code = self.py_func.__code__
        if len(signature.args) != code.co_argcount and not code.co_flags & inspect.CO_VARARGS:
            raise SignatureError(
                f"{self.__name__} takes {code.co_argcount} arguments, but its signature {signature} lists "
                f"{len(signature.args)}",
                file=code.co_filename,
                line=code.co_firstlineno,
            )
        if not self.is_device and signature.return_type not in (None, types.none):
            raise SignatureError(
                "CUDA kernel must have void return type: results leave through array arguments",
                file=code.co_filename,
                line=code.co_firstlineno,
            )
        overload = self._overloads[signature.args] = Overload(self, signature)
        if not self.is_device:
            # As in numba, a kernel with a signature is compiled, and its errors found, where it is declared.
            overload.program()

    @property
    def is_device(self) -> bool:
        return bool(self.targetoptions["device"])

    @property
    def signatures(self) -> list[tuple]:
        """The argument types it is declared for, or has been called with."""
        return list(self._overloads)

    @property
    def nopython_signatures(self) -> list[Signature]:
        return [overload.signature for overload in self._overloads.values()]

    @property
    def overloads(self) -> dict[tuple, Overload]:
        return dict(self._overloads)

    def __repr__(self) -> str:
        return f"<{'device function' if self.is_device else 'kernel'} {self.__qualname__}>"

    # --- launching --------------------------------------------------------------------------------------------------

    def __getitem__(self, config: Any) -> LaunchConfiguration:
        if not isinstance(config, tuple) or len(config) not in (2, 3, 4):
            raise LaunchConfigError(
                "must specify at least the griddim and blockdim: "
                f"{self.__name__}[blocks, threads](...) or {self.__name__}[blocks, threads, stream, shared_bytes](...)"
            )
        return self.configure(*config)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> LaunchConfiguration:
        """The kernel with a grid, a block, a stream and bytes of dynamic shared memory per block."""
        if self.is_device:
            raise DeviceOnlyError(
                f"Cannot compile a device function as a kernel: kernels call {self.__name__}, the host cannot launch it"
            )
        return LaunchConfiguration(
            self, dimensions(griddim, "griddim"), dimensions(blockdim, "blockdim"), stream, sharedmem
        )

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self.is_device:
            raise DeviceOnlyError(
                f"{self.__name__} is a device function: kernels call it; on the host call {self.__name__}.py_func(...)"
            )
        raise LaunchConfigError(
            f"Kernel launch configuration was not specified: write {self.__name__}[blocks, threads](...), "
            f"not {self.__name__}(...)"
        )

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> ForAll:
        """A launch of at least `ntasks` threads along one axis; tpb: threads per block (0: chosen)."""
        if ntasks < 0:
            raise LaunchConfigError(f"Can't create ForAll with negative task count: {ntasks}")
        return ForAll(self, ntasks, tpb, stream, sharedmem)

    def specialize(self, *args: Any) -> Dispatcher:
        """This kernel for the types of `args` (arrays, numbers or types) only."""
        if self.specialized:
            raise RefusedError(f"Dispatcher already specialized: {self.__name__} has one signature")
        argument_types = tuple(types.typeof(_unwrapped(arg)) for arg in args)
        return Dispatcher(self.py_func, self.targetoptions, [Signature(types.none, argument_types)], specialized=True)

    def compile(self, signature: Any) -> Overload:
        """Declare a signature for the kernel; returns what stands for the compiled kernel."""
        parsed = signatures.parse(signature)
        if parsed.args not in self._overloads:
            self._declare(parsed)
        return self._overloads[parsed.args]

    def launch(self, config: LaunchConfiguration, args: tuple) -> None:
        """Run the kernel. Host arrays in `args` hold its results when this returns."""
        code = self.py_func.__code__
        args = self._with_defaults(args)
        if len(args) != code.co_argcount and not code.co_flags & inspect.CO_VARARGS:
            names = code.co_varnames[: code.co_argcount]
            missing = f"; missing: {', '.join(names[len(args) :])}" if len(args) < len(names) else ""
            raise SignatureError(
                f"the kernel {self.__name__}({', '.join(names)}) takes {len(names)} argument{'s' * (len(names) != 1)}, "
                f"{len(args)} given{missing}",
                file=code.co_filename,
                line=code.co_firstlineno,
            )
        after: list[Callable[[], Any]] = []
        for extension in self.extensions:
            args = tuple(
                extension.prepare_args(types.typeof(_unwrapped(arg)), arg, stream=config.stream, retr=after)[1]
                for arg in args
            )
        args = tuple(_for_kernel(arg) for arg in args)
        if self.declared is not None:
            args = signatures.fit(self.__name__, self.declared, args)
        else:
            self._remember(args)
        try:
            launching.current()(self, config.griddim, config.blockdim, args, config.sharedmem)
        except GpukitError as error:
            raise at_the_call(as_numba(error)) from None
        for write_back in after:
            write_back()

    def _with_defaults(self, args: tuple) -> tuple:
        defaults = self.py_func.__defaults__ or ()
        missing = self.py_func.__code__.co_argcount - len(args)
        return args + defaults[len(defaults) - missing :] if 0 < missing <= len(defaults) else args

    def _remember(self, args: tuple) -> None:
        try:
            argument_types = tuple(types.typeof(arg) for arg in args)
        except KernelTypeError:
            return  # the front end refuses it, naming the parameter
        if argument_types not in self._overloads:
            self._overloads[argument_types] = Overload(self, Signature(types.none, argument_types))

    # --- what only a compiler knows ---------------------------------------------------------------------------------

    def _needs_compiler(self, *args: Any, **kwargs: Any):
        raise RefusedError(f"{self.__name__} is not compiled on the CPU machine: no registers, PTX or SASS to look at")

    inspect_llvm = inspect_asm = inspect_sass = inspect_lto_ptx = inspect_sass_cfg = inspect_types = _needs_compiler
    get_regs_per_thread = get_const_mem_size = get_shared_mem_per_block = get_local_mem_per_thread = _needs_compiler
    get_max_threads_per_block = _needs_compiler


class Overload:
    """Stands for the kernel compiled for one signature."""

    def __init__(self, dispatcher: Dispatcher, signature: Signature):
        self._dispatcher = dispatcher
        self.signature = signature

    def program(self) -> Program:
        """The kernel compiled for the machine. Raises what is wrong with it, with file and line."""
        from gpukit.machine.frontends import python as front_end

        try:
            arguments = [types.example(type_) for type_ in self.signature.args]
            kinds = [front_end.type_of(value, f"argument {i + 1}") for i, value in enumerate(arguments)]
            return front_end.compile_kernel(front_end.of(self._dispatcher), kinds).program
        except GpukitError as error:
            raise as_numba(error) from None

    @property
    def cooperative(self) -> bool:
        """Whether the kernel waits for the whole grid, so that all its blocks must be resident."""
        from gpukit.machine.program import GridSync

        return any(isinstance(block.end, GridSync) for block in self.program().blocks)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Blocks of this size that the device holds at once."""
        x, y, z = dimensions(blockdim, "blockdim")
        padded = -(-x * y * z // 32) * 32
        per_multiprocessor = min(DEVICE.MAX_THREADS_PER_MULTI_PROCESSOR // padded, DEVICE.MAX_BLOCKS_PER_MULTIPROCESSOR)
        return DEVICE.MULTIPROCESSOR_COUNT * per_multiprocessor


class LaunchConfiguration:
    """A kernel with its launch configuration; calling it launches."""

    def __init__(
        self, dispatcher: Dispatcher, griddim: launching.Dim3, blockdim: launching.Dim3, stream: Any, sharedmem: int
    ):
        if not isinstance(stream, (int, Stream, type(None))) and not hasattr(stream, "synchronize"):
            raise LaunchConfigTypeError(
                f"the third launch value is a stream, not a {type(stream).__name__}: k[grid, block, stream, shared]"
            )
        if not isinstance(sharedmem, numbers.Integral) or sharedmem < 0:
            raise LaunchConfigTypeError(f"dynamic shared memory is a number of bytes, not {sharedmem!r}")
        self.dispatcher: Dispatcher = dispatcher
        self.griddim: launching.Dim3 = griddim
        self.blockdim: launching.Dim3 = blockdim
        self.stream: Any = stream
        self.sharedmem: int = int(sharedmem)
        self.pre_launch_callbacks: list[Callable] = []

    def __call__(self, *args: Any) -> None:
        for callback in self.pre_launch_callbacks:
            callback(self.dispatcher, self)
        self.dispatcher.launch(self, args)


class ForAll:
    """A launch with one thread per task."""

    def __init__(self, dispatcher: Dispatcher, ntasks: int, tpb: int, stream: Any, sharedmem: int):
        self.dispatcher: Dispatcher = dispatcher
        self.ntasks = ntasks
        self.thread_per_block = tpb
        self.stream: Any = stream
        self.sharedmem = sharedmem

    def __call__(self, *args: Any) -> None:
        if self.ntasks == 0:
            return
        block = self.thread_per_block or FORALL_BLOCK_SIZE
        self.dispatcher[-(-self.ntasks // block), block, self.stream, self.sharedmem](*args)


def dimensions(value: Any, name: str) -> launching.Dim3:
    """(x, y, z) from an integer or 1 to 3 integers; zero and negative sizes are the launch's to refuse."""
    if value is None:
        raise LaunchConfigError(f"Kernel launch configuration was not specified: {name} is None")
    items: Sequence = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else (value,)
    if not 1 <= len(items) <= 3:
        raise LaunchConfigError(f"{name} must be a sequence of 1, 2 or 3 integers, got {list(items)!r}")
    for item in items:
        if not isinstance(item, numbers.Integral):
            advice = "; use // or math.ceil to get whole blocks" if isinstance(item, numbers.Real) else ""
            raise LaunchConfigTypeError(f"{name} must be a sequence of integers, got {list(items)!r}{advice}")
    x, y, z = (*(int(item) for item in items), 1, 1)[:3]
    return x, y, z


def _unwrapped(arg: Any) -> Any:
    return arg.value if isinstance(arg, ArgHint) else arg


def _for_kernel(arg: Any) -> Any:
    """The argument as the machine takes it: device arrays and host arrays as they are."""
    if isinstance(arg, ArgHint):
        return _for_kernel(arg.for_kernel())
    if isinstance(arg, np.ndarray):
        if not (arg.flags.c_contiguous or arg.flags.f_contiguous) and 0 not in arg.strides:
            raise ArrayLayoutError(NOT_CONTIGUOUS)
        return arg.view(np.ndarray) if type(arg) is not np.ndarray else arg
    if isinstance(arg, tuple):
        items = [_for_kernel(item) for item in arg]
        return type(arg)(*items) if hasattr(arg, "_fields") else tuple(items)
    return arg


def declare_device(name: str, sig: Any = None, link: Any = None, **options: Any):
    raise RefusedError(
        f"declare_device({name!r}) calls compiled code from a kernel; write the function in Python instead"
    )
