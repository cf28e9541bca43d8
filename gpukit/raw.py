"""CUDA C++ kernels on the CPU machine, with CuPy's RawModule and RawKernel.

    kernel = gpukit.RawKernel(code, "scale")
    kernel((blocks,), (threads,), (x, np.float32(2), n))     # as in CuPy; x is a NumPy array
    gpukit.profile(kernel, blocks, threads, x, np.float32(2), n)

The code is compiled by NVRTC, which needs no GPU. PTX, saved or written by hand, runs without a compiler.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import numpy as np

from gpukit import raw_arguments
from gpukit.compilers import signatures
from gpukit.compilers.signatures import Parameter
from gpukit.cuda import launching
from gpukit.errors import KernelSyntaxError, KernelTypeError, LaunchError, UnsupportedFeature, at_the_call
from gpukit.machine.frontends import ptx

if TYPE_CHECKING:
    from gpukit.compilers.nvrtc import CudaPtx
    from gpukit.machine.memory import GlobalMemory
    from gpukit.machine.program import Launch

DEFAULT_SHARED_BYTES = 49_152  # what a block may use in all unless the kernel opts in to more
MAX_SHARED_BYTES = 232_448
MAX_THREADS = 1024

_IS_PTX = re.compile(r"\A(?:\s|//[^\n]*\n|/\*.*?\*/)*\.version\s", re.DOTALL)


class RawKernel:
    """One kernel in CUDA C++; its source must declare it `extern "C"`. Arguments as for `RawModule`.

    Call it with `kernel(grid, block, args, shared_mem=0)`; `gpukit.profile`, `check` and `launch` take it too.
    """

    def __init__(
        self,
        code: str,
        name: str,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        *,
        enable_cooperative_groups: bool = False,
        jitify: bool | None = None,
    ):
        _check_options(options)
        _check_backend(backend)
        self._set(code, name, options, enable_cooperative_groups, _Program(code, None, options, (), _place_of(code)))
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.jitify = bool(jitify)

    @classmethod
    def _of(cls, module: RawModule, name: str) -> RawKernel:
        kernel = cls.__new__(cls)
        kernel._set(module.code, name, module.options, module.enable_cooperative_groups, module._program)
        kernel.backend, kernel.translate_cucomplex = module.backend, module.translate_cucomplex
        kernel.jitify, kernel.file_path = module.jitify, module.file_path
        kernel.name_expressions = module.name_expressions
        assert kernel.kernel is not None  # a name that is not there is an error now
        return kernel

    def _set(self, code: str | None, name: str, options: tuple[str, ...], cooperative: bool, program: _Program) -> None:
        self.code = code
        self.name = self.__name__ = name
        self.options = options
        self.enable_cooperative_groups = cooperative
        self.file_path: str | None = None
        self.name_expressions: tuple[str, ...] | None = None
        self._program = program
        self._kernel: ptx.Kernel | None = None
        self._dynamic_limit: int | None = None
        self._carveout = -1

    def __repr__(self) -> str:
        return f"<RawKernel {self.name}>"

    # --- launching ---------------------------------------------------------------------------------------------------

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: tuple[Any, ...],
        *,
        shared_mem: int = 0,
        stream: Any = None,
    ) -> None:
        """Run the kernel; arrays in `args` are updated in place.

        grid, block: tuples of one to three ints. shared_mem: dynamic shared memory of a block, in bytes.
        Numbers are passed as CuPy passes them: an int as the integer type of the parameter if it fits, a float as
        double, a NumPy scalar by its own type. Structures are np.void values or one-element arrays.
        """
        try:
            if not isinstance(args, tuple | list):
                raise KernelTypeError(f"args must be a tuple, such as (x, y, n); got a {type(args).__name__}")
            grid3, block3 = _dimensions(grid, "grid"), _dimensions(block, "block")
            self._check_launch(int(shared_mem))
            launch: Any = launching.current()
            launch(self, grid3, block3, tuple(args), int(shared_mem))
        except Exception as error:
            raise at_the_call(error) from None

    def _check_launch(self, shared_mem: int) -> None:
        limit = self.max_dynamic_shared_size_bytes
        if shared_mem > limit:
            raise LaunchError(
                f"`{self.name}` is launched with {shared_mem:,} bytes of dynamic shared memory, but may have "
                f"{limit:,}: set kernel.max_dynamic_shared_size_bytes = "
                f"{shared_mem} first (at most {MAX_SHARED_BYTES:,})"
            )
        if self.kernel.lowered.program.cooperative and not self.enable_cooperative_groups:
            raise LaunchError(
                f"`{self.name}` waits for the whole grid, which needs a cooperative launch: give "
                "enable_cooperative_groups=True"
            )

    def __gpukit_bind__(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: tuple[Any, ...],
        shared_bytes: int,
        memory: GlobalMemory,
    ) -> Launch:
        """The launch on these arguments. Raises LaunchError for arguments that do not fit the parameters."""
        kernel = self.kernel
        file, line = self._program.place_of_kernel(self.name)
        parameters = self._program.parameters(self.name)
        given, described = raw_arguments.fit(self.name, kernel, parameters, args, file, line)
        return kernel.bind(grid, block, given, shared_bytes, memory, described)

    @property
    def kernel(self) -> ptx.Kernel:
        """The compiled kernel."""
        if self._kernel is None:
            self._kernel = self._program.kernel(self.name)
        return self._kernel

    @property
    def parameters(self) -> list[Parameter]:
        """The kernel's parameters: as the C++ source gives them, else as the PTX does."""
        return list(self._program.parameters(self.name)) or [
            Parameter(f"parameter {i + 1}", f".{p.type}", p.type in ("u64", "b64", "s64"), False)
            for i, p in enumerate(self.kernel.function.parameters)
        ]

    def compile(self, log_stream: TextIO | None = None) -> None:
        """Compile now. `log_stream` gets what the compiler says."""
        log = self._program.compile()
        self._kernel = None
        if log_stream is not None:
            log_stream.write(log)

    # --- attributes --------------------------------------------------------------------------------------------------

    @property
    def attributes(self) -> dict[str, int]:
        """The attributes below by name; -1 for what only the assembler of a GPU knows."""
        names = ("max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes")
        known = {name: getattr(self, name) for name in names}
        rest = ("ptx_version", "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes")
        known |= {"num_regs": -1, **{name: getattr(self, name) for name in rest}}
        return {**known, "preferred_shared_memory_carveout": self._carveout}

    @property
    def max_threads_per_block(self) -> int:
        """Threads a block may have: fewer than 1,024 with `__launch_bounds__`."""
        limits = self.kernel.function.limits
        bound = limits.get("maxntid") or limits.get("reqntid")
        return int(np.prod(bound)) if bound else MAX_THREADS

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory of a block, in bytes."""
        return self.kernel.lowered.program.static_shared_bytes

    @property
    def const_size_bytes(self) -> int:
        """Constant memory of the module's variables, in bytes."""
        return sum(v.nbytes for v in self.kernel.module.parsed.variables.values() if v.space == "const")

    @property
    def local_size_bytes(self) -> int:
        """Local memory of a thread, in bytes, without what the assembler adds for registers that do not fit."""
        return self.kernel.lowered.program.local_bytes

    @property
    def num_regs(self) -> int:
        raise UnsupportedFeature(
            f"the number of registers of `{self.name}` is the assembler's choice for one GPU, which the CPU machine "
            "does not know: compile with nvcc -Xptxas -v to see it"
        )

    @property
    def ptx_version(self) -> int:
        """The virtual GPU it was compiled for: 90 for compute_90."""
        found = re.search(r"\d+", self.kernel.module.parsed.target)
        return int(found[0]) if found else -1

    @property
    def binary_version(self) -> int:
        """The GPU it runs as, which is the virtual one."""
        return self.ptx_version

    @property
    def cache_mode_ca(self) -> int:
        return 0

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """How much dynamic shared memory a launch may ask for, in bytes. Can be set."""
        if self._dynamic_limit is not None:
            return self._dynamic_limit
        return max(0, DEFAULT_SHARED_BYTES - self.shared_size_bytes)

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, nbytes: int) -> None:
        if not 0 <= nbytes <= MAX_SHARED_BYTES - self.shared_size_bytes:
            raise LaunchError(
                f"a block of `{self.name}` can have at most {MAX_SHARED_BYTES - self.shared_size_bytes:,} bytes of "
                f"dynamic shared memory; got {nbytes:,}"
            )
        self._dynamic_limit = int(nbytes)

    @property
    def preferred_shared_memory_carveout(self) -> int:
        """Percentage of the first-level cache to be shared memory; -1 leaves it to the driver. Can be set."""
        return self._carveout

    @preferred_shared_memory_carveout.setter
    def preferred_shared_memory_carveout(self, percentage: int) -> None:
        self._carveout = int(percentage)


class RawModule:
    """A program of kernels in CUDA C++, compiled when the first of them is asked for.

    Args:
        code: CUDA C++ text (host code in it is passed over), or PTX text.
        path: a PTX file, instead of `code`.
        options: the compiler's options, a tuple such as ("-std=c++17", "-DTILE=16", "-Iinclude").
        backend: "nvrtc" or "nvcc"; both compile with NVRTC here.
        translate_cucomplex, jitify: accepted; what they are for compiles without them.
        enable_cooperative_groups: kernels may wait for the whole grid.
        name_expressions: C++ names of the kernels wanted, for templates and for kernels without extern "C", such as
            ["scale<float>", "scale<double>"]; `get_function` takes them as they are written here.
    """

    _kernel_class = RawKernel

    def __init__(
        self,
        code: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        options: tuple[str, ...] = (),
        backend: str = "nvrtc",
        translate_cucomplex: bool = False,
        enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None,
        jitify: bool | None = None,
    ):
        if (code is None) == (path is None):
            raise KernelTypeError("RawModule takes either code=, the text of a program, or path=, a PTX file")
        if name_expressions is not None and code is None:
            raise KernelTypeError("name_expressions are for CUDA C++ code: the kernels of PTX have the names it gives")
        _check_options(options)
        _check_backend(backend)
        self.code = code
        self.file_path = os.fspath(path) if path is not None else None
        self.options = options
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.enable_cooperative_groups = enable_cooperative_groups
        self.name_expressions = tuple(name_expressions) if name_expressions is not None else None
        self.jitify = bool(jitify)
        self._program = _Program(code, self.file_path, options, self.name_expressions or (), _place_of(code))

    def get_function(self, name: str) -> RawKernel:
        """A kernel by its name, or by a name expression as it was given.

        Raises LaunchError when there is none, and what compiling the module raises.
        """
        try:
            return self._kernel_class._of(self, name)
        except Exception as error:
            raise at_the_call(error) from None

    def get_global(self, name: str) -> np.ndarray:
        """The memory of a `__device__` or `__constant__` variable, uint8 (nbytes,): what is written to it, kernels see.

        `module.get_global("coef").view(np.float32)[:] = 1, 2, 3` sets a constant array.
        """
        return self._program.variable(name)

    def compile(self, log_stream: TextIO | None = None) -> None:
        """Compile now. `log_stream` gets what the compiler says."""
        log = self._program.compile()
        if log_stream is not None:
            log_stream.write(log)

    @property
    def ptx(self) -> str:
        """The module as PTX, to be saved and run where there is no compiler."""
        return self._program.module.text


class _Program:
    """What a module compiles to. Compiled when it is first needed, once."""

    def __init__(
        self,
        code: str | None,
        path: str | None,
        options: tuple[str, ...],
        expressions: tuple[str, ...],
        place: tuple[str, int],
    ):
        self._code = code
        self._path = path
        self._options = options
        self._expressions = expressions
        self._place = place
        self._compiled: CudaPtx | None = None
        self._module: ptx.Module | None = None
        is_cpp = code is not None and not _IS_PTX.match(code)
        self._signatures = signatures.kernels(code) if is_cpp and code is not None else []

    @property
    def file(self) -> str:
        """What messages call the source."""
        return self._path or self._place[0]

    @property
    def module(self) -> ptx.Module:
        if self._module is None:
            self.compile()
        assert self._module is not None
        return self._module

    def compile(self) -> str:
        """Compile; returns what the compiler said."""
        if self._path is not None:
            self._module = ptx.load(_read_ptx(self._path), self._path)
            return ""
        assert self._code is not None
        if _IS_PTX.match(self._code):
            self._module = ptx.load(self._code, "kernel.ptx")
            return ""
        from gpukit.compilers.nvrtc import compile_cuda

        file, line = self._place
        # Blank lines in front, so that line numbers are those of the file that holds the text.
        made = compile_cuda(
            "\n" * (line - 1) + self._code, options=self._options, name=file, name_expressions=self._expressions
        )
        self._compiled, self._module = made, ptx.load(made.text, made.name, made.sources)
        return made.log

    def kernel(self, name: str) -> ptx.Kernel:
        module = self.module
        lowered = self._compiled.lowered if self._compiled is not None else {}
        found = lowered.get(name, name)
        if found not in module.kernels:
            self._no_kernel(name)
        names = [parameter.name for parameter in self.parameters(name)]
        return module.kernel(found, names, name)

    def parameters(self, name: str) -> Sequence[Parameter]:
        """The parameters of a kernel in the C++ source; empty if there are none, or no source."""
        found = signatures.find(self._signatures, name)
        return found.parameters if found is not None else ()

    def place_of_kernel(self, name: str) -> tuple[str, int | None]:
        """(file, line) of a kernel's declaration; no line without C++ source."""
        found = signatures.find(self._signatures, name)
        return self.file, found.line + self._place[1] - 1 if found is not None else None

    def variable(self, name: str) -> np.ndarray:
        module = self.module
        lowered = self._compiled.lowered if self._compiled is not None else {}
        return module.variable(lowered.get(name) or lowered.get(f"&{name}") or name)

    def _no_kernel(self, name: str) -> NoReturn:
        for skipped in self._compiled.passed_over if self._compiled is not None else ():
            if skipped.name == name:
                why = skipped.error or "it has no __global__ in front"
                raise KernelSyntaxError(f"`{name}` is no kernel: {why}", file=self.file, line=skipped.line)
        kernel = signatures.find(self._signatures, name)
        if kernel is not None:
            example = f"{name}<...>" if kernel.template and "<" not in name else name
            advice = f'name_expressions=("{example}",) to RawModule'
            advice = f"give {advice}" if kernel.template else f'write extern "C" in front of it, or give {advice}'
            file, line = self.place_of_kernel(name)
            what = "is a template" if kernel.template else "has a C++ name"
            raise LaunchError(f"the kernel `{name}` {what}: {advice}", file=file, line=line)
        known = ", ".join([k.name for k in self._signatures] or self.module.kernels)
        raise LaunchError(f"there is no kernel {name!r}; there is: {known or 'none'}", file=self.file)


# --- files -----------------------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str], options: tuple[str, ...] = ()) -> KernelFile:
    """The kernels of a .cu or .ptx file by name; nothing is compiled until one is used.

    Raises KernelSyntaxError when the file is not there or cannot be read.
    """
    return KernelFile(path, options)


class KernelFile(Mapping[str, RawKernel]):
    """Name -> kernel of a file, and attributes of the same names. Templates are found by their arguments:
    `load("sum.cu")["reduce<256>"]`; `templates` are their names."""

    def __init__(self, path: str | os.PathLike[str], options: tuple[str, ...] = ()):
        self.path = os.fspath(path)
        self._kernels: dict[str, RawKernel] = {}
        self._options = options
        self.templates: tuple[str, ...] = ()
        if self.path.endswith(".ptx"):
            program = _Program(None, self.path, (), (), (self.path, 1))
            self._names = list(program.module.kernels)
            self._code, self._plain = None, program
            return
        self._code = _read(self.path)
        found = signatures.kernels(self._code)
        names = [kernel.name for kernel in found]
        self.templates = tuple(dict.fromkeys(kernel.name for kernel in found if kernel.template))
        # An overloaded name stands for no one kernel, except under extern "C", which allows no overloads.
        self._names = [k.name for k in found if not k.template and names.count(k.name) == 1]
        expressions = tuple(k.name for k in found if k.name in self._names and not k.c_name)
        self._plain = _Program(self._code, None, options, expressions, (self.path, 1))

    def __getitem__(self, name: str) -> RawKernel:
        if name not in self._kernels:
            if name in self._names:
                program = self._plain
            elif self._code is not None and name.split("<", 1)[0].strip() in self.templates and "<" in name:
                program = _Program(self._code, None, self._options, (name,), (self.path, 1))
            else:
                raise KeyError(name)
            kernel = RawKernel.__new__(RawKernel)
            kernel._set(self._code, name, self._options, True, program)
            kernel.backend, kernel.translate_cucomplex, kernel.jitify = "nvrtc", False, False
            kernel.file_path = self.path
            self._kernels[name] = kernel
        return self._kernels[name]

    def __getattr__(self, name: str) -> RawKernel:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{self.path} has no kernel {name!r}; it has: {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<kernels of {self.path}: {', '.join([*self._names, *(f'{t}<...>' for t in self.templates)])}>"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise KernelSyntaxError("the file is not UTF-8 text", file=path) from None
    except OSError as error:
        raise KernelSyntaxError(f"the file cannot be read: {error.strerror or error}", file=path) from None


def _read_ptx(path: str) -> str:
    suffix = Path(path).suffix
    if suffix in (".cubin", ".fatbin"):
        raise UnsupportedFeature("the file is machine code for one GPU: save PTX instead (nvcc -ptx)", file=path)
    text = _read(path)
    if not _IS_PTX.match(text):
        what = "pass the text of a CUDA C++ file as code=" if suffix in (".cu", ".cuh", ".cpp") else "it is no PTX"
        raise KernelSyntaxError(f"path= takes a PTX file: {what}", file=path)
    return text


# --- what callers give -----------------------------------------------------------------------------------------------


def _check_options(options: Any) -> None:
    if not isinstance(options, tuple) or not all(isinstance(option, str) for option in options):
        raise KernelTypeError(f'options must be a tuple of strings, such as ("-std=c++17",); got {options!r}')


def _check_backend(backend: str) -> None:
    if backend not in ("nvrtc", "nvcc"):
        raise KernelTypeError(f'backend must be "nvrtc" or "nvcc"; got {backend!r}')


def _dimensions(value: Any, what: str) -> tuple[int, int, int]:
    """A grid or block as CuPy takes it: a tuple of one to three ints; 0 counts as 1."""
    if not isinstance(value, tuple) or not 1 <= len(value) <= 3:
        example = value if isinstance(value, int) else 256
        raise LaunchError(f"the {what} must be a tuple of one to three ints, such as ({example},); got {value!r}")
    for item in value:
        if isinstance(item, bool) or not isinstance(item, int | np.integer):
            hint = " (use // for a whole number of blocks)" if isinstance(item, float) else ""
            raise LaunchError(f"the {what} must be made of ints; got {value!r}{hint}")
    x, y, z = (*(max(1, int(item)) for item in value), 1, 1)[:3]
    return x, y, z


_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _place_of(code: str | None) -> tuple[str, int]:
    """(file, line) where a program's text stands in the source that passes it here; a made-up name if it is built at
    run time."""
    if code and code.strip():
        frame = sys._getframe(1)
        while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_OWN):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None:
            file = frame.f_code.co_filename
            text = "".join(linecache.getlines(file, frame.f_globals))
            start = text.find(code)
            if start >= 0:
                return file, text.count("\n", 0, start) + 1
    return "kernel.cu", 1
