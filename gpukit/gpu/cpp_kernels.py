"""Kernels in CUDA C++ and PTX on the GPU, through CuPy.

The compiler is the one of the CPU machine, gpukit.compilers.nvrtc, with the same headers and options: what compiles for
one machine compiles for the other, host code in the file is passed over on both, and mistakes are shown at the same
place. It gives machine code for this GPU, which a driver takes that is older than the compiler; CuPy loads and launches
that. Arguments are fitted to the parameters as on the CPU machine.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpukit.errors import GpukitError, LaunchError
from gpukit.gpu import libraries
from gpukit.gpu.errors import explaining, refused
from gpukit.gpu.launching import Dim3
from gpukit.gpu.transfers import Copies, is_device_array, is_host_array, on_device
from gpukit.gpus import SHARED_PER_BLOCK_DEFAULT_BYTES
from gpukit.machine.frontends import ptx
from gpukit.machine.frontends.arguments import as_numpy
from gpukit.raw import RawKernel
from gpukit.raw.program import Program

# The NumPy scalars whose bytes CuPy hands over; any other goes as an array of one element, which it passes by value.
_PLAIN = frozenset(np.dtype(code).type for code in "?bhilqBHILQefdFD")


def launch(kernel: RawKernel, grid: Dim3, block: Dim3, args: tuple[Any, ...], shared_bytes: int) -> None:
    """Launch a kernel; as `gpukit.gpu.launch`."""
    cupy = libraries.cupy()
    kernel.check_block(block)
    what = f"the kernel `{kernel.name}`"
    with explaining(what, cupy=cupy):
        loaded = _loaded(kernel, cupy)
        given, copies = loaded.arguments(args, cupy)
    with explaining(what, cupy=cupy, grid=grid, block=block, shared_bytes=shared_bytes):
        if shared_bytes > loaded.shared_bytes:
            _allow_shared(kernel, loaded, shared_bytes, cupy)
        loaded.module.upload()
        with _whole_grid(what, grid, block):
            loaded.function(grid, block, given, shared_mem=shared_bytes)
        loaded.module.download()
        if copies:
            copies.back()


@contextlib.contextmanager
def _whole_grid(what: str, grid: Dim3, block: Dim3) -> Iterator[None]:
    """Refuse what CuPy does to a cooperative launch that does not fit: it warns and launches fewer blocks, which is
    another result than was asked for."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "The grid size will be reduced")
        try:
            yield
        except UserWarning:
            raise refused("COOPERATIVE_LAUNCH_TOO_LARGE", what, grid, block) from None


# --- modules ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Module:
    """A program on one GPU. `lowered`: name expression -> name in it."""

    program: weakref.ref[Program]
    module: Any
    lowered: Mapping[str, str]
    sent: dict[str, bytes] = field(default_factory=dict)  # what variables held when they were last alike on both sides

    def upload(self) -> None:
        """Give the GPU what callers wrote to variables of the program."""
        program = self.program()
        for name, memory in program.shown.items() if program is not None else ():
            now = memory.tobytes()
            if self.sent.get(name) != now and (there := self._on_gpu(name, memory.nbytes)) is not None:
                there.set(memory)
                self.sent[name] = now

    def download(self) -> None:
        """Give callers what the kernel may have written to variables that they hold; waits for it."""
        program = self.program()
        for name, memory in program.shown.items() if program is not None else ():
            if program is not None and program.module.parsed.variables[name].space != "const":
                self.read(name, memory)

    def read(self, name: str, memory: np.ndarray) -> None:
        """Copy a variable to the host; waits for what was launched before."""
        there = self._on_gpu(name, memory.nbytes)
        if there is not None:
            there.get(out=memory)
            self.sent[name] = memory.tobytes()

    def _on_gpu(self, name: str, nbytes: int) -> Any:
        """The bytes of a variable, a CuPy array; None for one that no kernel uses, which the machine code lacks."""
        try:
            pointer = self.module.get_global(name)
        except Exception as error:
            if "NOT_FOUND" in str(error):
                return None
            raise
        return libraries.cupy().ndarray((nbytes,), np.uint8, pointer)


Modules = dict[tuple[int, bool], _Module]  # by device, and whether launches are cooperative
_modules: weakref.WeakKeyDictionary[Program, Modules] = weakref.WeakKeyDictionary()


def _module(program: Program, cooperative: bool, cupy: Any) -> _Module:
    """The program on CuPy's current GPU, compiled and loaded once. Raises what the compiler says."""
    device = cupy.cuda.Device()
    modules = _modules.setdefault(program, {})
    key = (device.id, cooperative)
    if key not in modules:
        code, lowered = program.for_gpu(f"sm_{device.compute_capability}")
        folder = Path(tempfile.mkdtemp(prefix="gpukit-"))
        path = folder / ("kernels.cubin" if code[:4] == b"\x7fELF" else "kernels.ptx")
        path.write_bytes(code)
        loaded = cupy.RawModule(path=str(path), enable_cooperative_groups=cooperative)
        modules[key] = made = _Module(weakref.ref(program), loaded, lowered)
        weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)  # CuPy reads the file when it is asked
        program.before_showing = made.read
    return modules[key]


# --- kernels ---------------------------------------------------------------------------------------------------------

Fitted = list[Callable[[Any], Any]]


@dataclass(eq=False)
class _Loaded:
    """A kernel on one GPU. `shared_bytes` of dynamic shared memory may be launched with. `fitted`: what to do with the
    arguments of a list of types that have fitted before."""

    kernel: weakref.ref[RawKernel]
    module: _Module
    function: Any
    static_bytes: int
    shared_bytes: int
    fitted: dict[tuple, Fitted] = field(default_factory=dict)

    def arguments(self, args: tuple[Any, ...], cupy: Any) -> tuple[tuple[Any, ...], Copies | None]:
        """(the arguments as CuPy takes them, the copies of NumPy arrays among them)."""
        kinds = tuple(_kind(value, cupy) for value in args)
        known = self.fitted.get(kinds)
        if known is not None:
            try:
                return tuple(convert(value) for convert, value in zip(known, args, strict=True)), None
            except (OverflowError, ValueError, TypeError):
                pass  # the long way says what is wrong
        return self._fit(args, kinds, cupy)

    def _fit(self, args: tuple[Any, ...], kinds: tuple, cupy: Any) -> tuple[tuple[Any, ...], Copies | None]:
        kernel = self.kernel()
        assert kernel is not None
        pointers = [parameter.pointer for parameter in kernel.parameters]
        stand_ins = [_stand_in(value, i < len(pointers) and pointers[i], cupy) for i, value in enumerate(args)]
        fitted, _ = kernel.fit(stand_ins)
        copies = Copies((v for v, f in zip(args, fitted, strict=True) if _is_copied(v, f)), cupy)
        convert = [_converter(value, fit, cupy) for value, fit in zip(args, fitted, strict=True)]
        given = tuple(
            np.uint64(copies.of(value).address) if _is_copied(value, fit) else make(value)
            for value, fit, make in zip(args, fitted, convert, strict=True)
        )
        if not any(is_host_array(value) for value in args) and all(map(_depends_on_type_alone, fitted)):
            self.fitted[kinds] = convert
        return given, copies


_known: weakref.WeakKeyDictionary[RawKernel, dict[int, _Loaded]] = weakref.WeakKeyDictionary()


def _loaded(kernel: RawKernel, cupy: Any) -> _Loaded:
    """The kernel on CuPy's current GPU."""
    by_device = _known.setdefault(kernel, {})
    device = cupy.cuda.Device().id
    if device not in by_device:
        compiled = kernel.kernel  # says what is wrong with the name, or the code
        module = _module(kernel.program, _waits_for_grid(compiled), cupy)
        function = module.module.get_function(module.lowered.get(kernel.name, compiled.function.name))
        static = int(function.shared_size_bytes)
        by_device[device] = _Loaded(
            weakref.ref(kernel), module, function, static, SHARED_PER_BLOCK_DEFAULT_BYTES - static
        )
    return by_device[device]


def _waits_for_grid(kernel: ptx.Kernel) -> bool:
    """Whether a kernel waits for the whole grid, for which it must be launched as a cooperative one."""
    if "%envreg" not in kernel.module.text:  # where a grid's barrier lies
        return False
    try:
        return kernel.lowered.program.cooperative
    except GpukitError:  # it uses what only a GPU has
        return True


def _allow_shared(kernel: RawKernel, loaded: _Loaded, shared_bytes: int, cupy: Any) -> None:
    """Ask for more dynamic shared memory than a kernel may have unasked."""
    most = int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
    total = loaded.static_bytes + shared_bytes
    if total > most:
        raise LaunchError(
            f"launch_config: the kernel `{kernel.name}` asks for {total:,} bytes of shared memory a block; this GPU "
            f"has {most:,}: use a smaller tile"
        )
    loaded.function.max_dynamic_shared_size_bytes = shared_bytes
    loaded.shared_bytes = shared_bytes


# --- arguments -------------------------------------------------------------------------------------------------------


class _OnGpu:
    """An array in GPU memory as `gpukit.raw.arguments` looks at one: it asks for the dtype and the shape."""

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...]):
        self.__gpukit_array__ = np.broadcast_to(np.empty((), dtype), shape)


def _stand_in(value: Any, pointer: bool, cupy: Any) -> Any:
    if is_device_array(value):
        array = value if isinstance(value, cupy.ndarray) else on_device(value, cupy)
        return _OnGpu(array.dtype, array.shape)
    if pointer and isinstance(value, int | np.integer) and not isinstance(value, bool):
        return None  # an address in GPU memory, which the CPU machine knows nothing of
    return value


def _kind(value: Any, cupy: Any) -> Any:
    """What decides how an argument is fitted, but for the value of a number."""
    if isinstance(value, cupy.ndarray):
        return value.dtype, value.size == 1
    return id(value) if as_numpy(value) is not None else type(value)


def _is_copied(value: Any, fitted: Any) -> bool:
    """Whether an argument is an array of the host's that goes by its address."""
    return isinstance(fitted, ptx.Array) and is_host_array(value)


def _converter(value: Any, fitted: Any, cupy: Any) -> Callable[[Any], Any]:
    """Makes of an argument of this type what CuPy takes; `fitted` is what this value became."""
    if isinstance(value, cupy.ndarray):
        return _itself
    if isinstance(fitted, ptx.Array):
        return lambda array: np.uint64(on_device(array, cupy).address)
    if fitted is None:
        return lambda address: np.uint64(0 if address is None else int(address))
    plain = type(fitted)
    if plain not in _PLAIN:
        return lambda _: np.array([fitted])
    # An integer goes through int, which refuses what does not fit: of one NumPy integer another keeps the low bits.
    return (lambda number: plain(int(number))) if issubclass(plain, np.integer | np.bool_) else plain


def _depends_on_type_alone(fitted: Any) -> bool:
    """Whether the converter of an argument is that of any other of its type."""
    return fitted is None or isinstance(fitted, ptx.Array) or type(fitted) in _PLAIN


def _itself(value: Any) -> Any:
    return value
