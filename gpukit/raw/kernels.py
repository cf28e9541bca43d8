"""CuPy's RawKernel and RawModule on the CPU machine."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from gpukit.cpp.signatures import Parameter
from gpukit.cuda import launching
from gpukit.errors import KernelTypeError, LaunchError, UnsupportedFeature, at_the_call
from gpukit.gpus import MAX_THREADS_PER_BLOCK, SHARED_PER_BLOCK_DEFAULT_BYTES
from gpukit.launching import MAX_SHARED_BYTES
from gpukit.machine.frontends import ptx
from gpukit.raw import arguments
from gpukit.raw.program import Program, check_text

if TYPE_CHECKING:
    from gpukit.machine.memory import GlobalMemory
    from gpukit.machine.program import Launch


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
        check_text(code, "the code of a kernel")
        self._set(Program(code, None, options), name, enable_cooperative_groups)
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.jitify = bool(jitify)

    @classmethod
    def of_program(cls, program: Program, name: str, *, enable_cooperative_groups: bool) -> RawKernel:
        """A kernel of a program that other kernels may share."""
        kernel = cls.__new__(cls)
        kernel._set(program, name, enable_cooperative_groups)
        kernel.backend, kernel.translate_cucomplex, kernel.jitify = "nvrtc", False, False
        return kernel

    def _set(self, program: Program, name: str, cooperative: bool) -> None:
        check_text(name, "the name of a kernel")
        self.code = program.code
        self.name = self.__name__ = name
        self.options = program.options
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
        self.check_block(block)
        given, described = self.fit(args)
        return self.kernel.bind(grid, block, given, shared_bytes, memory, described)

    @property
    def program(self) -> Program:
        """What it is compiled from, which other kernels may share."""
        return self._program

    def fit(self, args: Sequence[Any]) -> tuple[list[Any], list[dict]]:
        """What each parameter gets, and the arguments described for a report; as `gpukit.raw.arguments.fit`."""
        file, line = self._program.place_of_kernel(self.name)
        return arguments.fit(self.name, self.kernel, self._program.parameters(self.name), args, file, line)

    def check_block(self, block: tuple[int, int, int]) -> None:
        """Raises LaunchError for a block that the kernel is not compiled for."""
        file, line = self._program.place_of_kernel(self.name)
        threads, limits = math.prod(block), self.kernel.function.limits
        exact = limits.get("reqntid")
        if exact is not None and (*exact, 1, 1)[:3] != block:
            raise LaunchError(
                f"launch_config: `{self.name}` is compiled for blocks of {(*exact, 1, 1)[:3]} threads only "
                f"(__block_size__, .reqntid); {block} was asked for",
                file=file,
                line=line,
            )
        if threads > self.max_threads_per_block:
            raise LaunchError(
                f"launch_config: `{self.name}` is compiled for at most {self.max_threads_per_block} threads a block "
                f"(__launch_bounds__); {threads} were asked for",
                file=file,
                line=line,
            )

    @property
    def kernel(self) -> ptx.Kernel:
        """The compiled kernel."""
        return self._kernel or self.find()

    def find(self) -> ptx.Kernel:
        """The kernel in the compiled program. Raises LaunchError where there is no such kernel."""
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
        return int(np.prod(bound)) if bound else MAX_THREADS_PER_BLOCK

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
        return max(0, SHARED_PER_BLOCK_DEFAULT_BYTES - self.shared_size_bytes)

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
        if isinstance(name_expressions, str):
            raise KernelTypeError(f"name_expressions must be a list of strings, such as [{name_expressions!r}]")
        if not isinstance(path, str | os.PathLike | None):
            raise KernelTypeError(f"path must be a str or a Path; got one of type {type(path).__name__}")
        self.code = code
        self.file_path = os.fspath(path) if path is not None else None
        self.options = options
        self.backend = backend
        self.translate_cucomplex = translate_cucomplex
        self.enable_cooperative_groups = enable_cooperative_groups
        self.name_expressions = tuple(name_expressions) if name_expressions is not None else None
        self.jitify = bool(jitify)
        self._program = Program(code, self.file_path, options, self.name_expressions or ())

    def get_function(self, name: str) -> RawKernel:
        """A kernel by its name, or by a name expression as it was given.

        Raises LaunchError when there is none, and what compiling the module raises.
        """
        try:
            kernel = self._kernel_class.of_program(
                self._program, name, enable_cooperative_groups=self.enable_cooperative_groups
            )
            kernel.backend, kernel.translate_cucomplex = self.backend, self.translate_cucomplex
            kernel.jitify, kernel.file_path = self.jitify, self.file_path
            kernel.name_expressions = self.name_expressions
            kernel.find()
            return kernel
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
