"""The text of a program, CUDA C++ or PTX, and what it compiles to."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from gpukit.cpp import signatures
from gpukit.cpp.signatures import Parameter
from gpukit.errors import KernelSyntaxError, KernelTypeError, LaunchError, UnsupportedFeature
from gpukit.machine.frontends import ptx

if TYPE_CHECKING:
    from types import FrameType

    import numpy as np

    from gpukit.compilers.nvrtc import CudaPtx

    Compiler = Callable[..., CudaPtx]

_IS_PTX = re.compile(r"\A(?:\s|//[^\n]*\n|/\*.*?\*/)*\.version\s", re.DOTALL)
_UNPRINTABLE = re.compile("[\\0\\ud800-\\udfff]")


def check_text(value: object, what: str) -> None:
    """Raises KernelTypeError for what is not a str, KernelSyntaxError for one that no compiler takes."""
    if not isinstance(value, str):
        raise KernelTypeError(f"{what} must be a str; got one of type {type(value).__name__}")
    if _UNPRINTABLE.search(value):
        raise KernelSyntaxError(f"{what} holds a NUL or half a surrogate pair, which no compiler takes")


class Program:
    """What a module compiles to. Compiled when it is first needed, once.

    Args:
        code: CUDA C++ or PTX; None for that of the PTX file `file`.
        file: what messages call the source; None for the Python file that `code` is written in.
        options, expressions: the compiler's options, and the name expressions of the kernels wanted.
        compiler: what compiles CUDA C++, with the arguments of `nvrtc.compile_cuda`, which it is if None.

    `shown` holds the variables (name in the PTX -> bytes) whose memory callers were given: what they write there,
    kernels must see, on whatever machine. `before_showing` is called with a variable that is to be shown for the first
    time: another machine may have written to its own.
    """

    def __init__(
        self,
        code: str | None,
        file: str | None,
        options: tuple[str, ...] = (),
        expressions: tuple[str, ...] = (),
        compiler: Compiler | None = None,
    ):
        if code is not None:
            check_text(code, "the code of a kernel")
        for text in (*options, *expressions):
            check_text(text, "an option or name expression")
        self.code = code
        self.options = options
        self._expressions = expressions
        self._compiler = compiler
        self._compiled: CudaPtx | None = None
        self._module: ptx.Module | None = None
        is_cpp = code is not None and not _IS_PTX.match(code)
        self._signatures = signatures.kernels(code) if is_cpp and code is not None else []
        self.file, self._line = (file, 1) if file is not None else _place_of(code)
        self.shown: dict[str, np.ndarray] = {}
        self.before_showing: Callable[[str, np.ndarray], None] | None = None

    @property
    def module(self) -> ptx.Module:
        if self._module is None:
            self.compile()
        assert self._module is not None
        return self._module

    def compile(self) -> str:
        """Compile; returns what the compiler said."""
        if self.code is None:
            self._module = ptx.load(_read_ptx(self.file), self.file)
            return ""
        if _IS_PTX.match(self.code):
            self._module = ptx.load(self.code, "kernel.ptx")
            return ""
        made = self._compile()
        self._compiled, self._module = made, ptx.load(made.text, made.name, made.sources)
        return made.log

    def _compile(self, **architecture: str) -> CudaPtx:
        compiler = self._compiler
        if compiler is None:
            from gpukit.compilers.nvrtc import compile_cuda

            compiler = compile_cuda
        assert self.code is not None
        # Blank lines in front, so that line numbers are those of the file that holds the text.
        return compiler(
            "\n" * (self._line - 1) + self.code,
            options=self.options,
            name=self.file,
            name_expressions=self._expressions,
            **architecture,
        )

    def for_gpu(self, architecture: str) -> tuple[bytes, Mapping[str, str]]:
        """(what a GPU's driver loads, name expression -> name in it) for a real GPU, such as "sm_90": machine code for
        CUDA C++, which a driver takes that is older than the compiler, and PTX for PTX."""
        if self.code is None or _IS_PTX.match(self.code):
            return self.module.text.encode(), {}
        made = self._compile(architecture=architecture)
        return made.machine_code, made.lowered

    def kernel(self, name: str) -> ptx.Kernel:
        """A kernel by its name or name expression. Raises LaunchError, with advice, when there is none."""
        module = self.module
        found = self._lowered.get(name, name)
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
        return self.file, found.line + self._line - 1 if found is not None else None

    def variable(self, name: str) -> np.ndarray:
        """The bytes of a `__device__` or `__constant__` variable. Raises LaunchError when there is none."""
        module = self.module
        found = self._lowered.get(name) or self._lowered.get(f"&{name}") or name
        memory = module.variable(found)
        if found not in self.shown:
            if self.before_showing is not None:
                self.before_showing(found, memory)
            self.shown[found] = memory
        return memory

    @property
    def _lowered(self) -> Mapping[str, str]:
        """Name expression -> name in the PTX."""
        return self._compiled.lowered if self._compiled is not None else {}

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


# --- reading -------------------------------------------------------------------------------------------------------


def read(path: str) -> str:
    """The text of a source file. Raises KernelSyntaxError for one that is not there or cannot be opened."""
    try:
        # As nvcc takes them: with a byte order mark, and with comments in whatever encoding.
        return Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise KernelSyntaxError(f"the file cannot be read: {error.strerror or error}", file=path) from None


def _read_ptx(path: str) -> str:
    suffix = Path(path).suffix
    if suffix in (".cubin", ".fatbin"):
        raise UnsupportedFeature("the file is machine code for one GPU: save PTX instead (nvcc -ptx)", file=path)
    text = read(path)
    if not _IS_PTX.match(text):
        what = "pass the text of a CUDA C++ file as code=" if suffix in (".cu", ".cuh", ".cpp") else "it is no PTX"
        raise KernelSyntaxError(f"path= takes a PTX file: {what}", file=path)
    return text


_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # gpukit/


def _place_of(code: str | None) -> tuple[str, int]:
    """(file, line) where a program's text stands in the source that passes it here; a made-up name if it is built at
    run time."""
    if code and code.strip():
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_OWN):
            frame = frame.f_back
        if frame is not None:
            file = frame.f_code.co_filename
            text = "".join(linecache.getlines(file, frame.f_globals))
            start = text.find(code)
            if start >= 0:
                return file, text.count("\n", 0, start) + 1
    return "kernel.cu", 1
