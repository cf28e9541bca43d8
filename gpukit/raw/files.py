"""Kernels of a .cu or .ptx file by name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gpukit.compilers.options import as_nvcc
from gpukit.cpp import signatures
from gpukit.raw.kernels import RawKernel
from gpukit.raw.program import Program, read

if TYPE_CHECKING:
    from gpukit.raw.program import Compiler


def load(path: str | os.PathLike[str], options: tuple[str, ...] = (), compiler: Compiler | None = None) -> KernelFile:
    """The kernels of a .cu or .ptx file by name; nothing is compiled until one is used.

    `compiler`: what compiles them, with the arguments of `nvrtc.compile_cuda`, which it is if None.
    Raises KernelSyntaxError when the file is not there or cannot be read.
    """
    return KernelFile(path, options, compiler)


class KernelFile(Mapping[str, RawKernel]):
    """Name -> kernel of a file, and attributes of the same names. Templates are found by their arguments:
    `load("sum.cu")["reduce<256>"]`; `templates` are their names."""

    def __init__(self, path: str | os.PathLike[str], options: tuple[str, ...] = (), compiler: Compiler | None = None):
        self.path = os.fspath(path)
        self._kernels: dict[str, RawKernel] = {}
        self._options = options
        self._compiler = compiler
        self.templates: tuple[str, ...] = ()
        if self.path.endswith(".ptx"):
            program = Program(None, self.path)
            self._names = list(program.module.kernels)
            self._code, self._plain = None, program
            return
        self._code = read(self.path)
        self._options = options = as_nvcc(options)
        found = signatures.kernels(self._code)
        names = [kernel.name for kernel in found]
        self.templates = tuple(dict.fromkeys(kernel.name for kernel in found if kernel.template))
        # An overloaded name stands for no one kernel, except under extern "C", which allows no overloads.
        self._names = [k.name for k in found if not k.template and names.count(k.name) == 1]
        expressions = tuple(k.name for k in found if k.name in self._names and not k.c_name)
        self._plain = Program(self._code, self.path, options, expressions, compiler)

    def __getitem__(self, name: str) -> RawKernel:
        if name not in self._kernels:
            if name in self._names:
                program = self._plain
            elif self._code is not None and name.split("<", 1)[0].strip() in self.templates and "<" in name:
                program = Program(self._code, self.path, self._options, (name,), self._compiler)
            else:
                raise KeyError(name)
            kernel = RawKernel.of_program(program, name, enable_cooperative_groups=True)
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
