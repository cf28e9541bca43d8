"""One kernel of a file, named on a command line: what it takes, and the values it is given there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit import argspecs, cppfiles, frontends
from gpukit.errors import KernelTypeError, LaunchError

if TYPE_CHECKING:
    from gpukit.compilers.signatures import Parameter
    from gpukit.machine.frontends.ptx.syntax import Variable


def find(file: str, name: str, options: Sequence[str] = ()) -> Target:
    """The kernel `name` of a .py, .cu or .ptx file. `options` are the CUDA compiler's.

    Raises:
        GpukitError: the file cannot be read, has no such kernel, or does not compile.
    """
    if Path(file).suffix in cppfiles.SUFFIXES:
        kernels = cppfiles.load(file, options)
        if isinstance(kernels, cppfiles.PtxFile):
            return PtxTarget(file, name, kernels[name], kernels.parameters(name))
        return CppTarget(file, name, kernels[name], kernels.signature(name).parameters)
    if options:
        raise LaunchError(f"{file} is Python; -D, -I and --option are for the compiler of a .cu file")
    from gpukit.machine.frontends.python import source

    functions = frontends.load(file)
    if name not in functions.functions:
        raise KernelTypeError(
            f"this file has no kernel {name!r}; its kernels: {', '.join(functions) or 'none'}", file=file
        )
    return PythonTarget(file, name, source.of(functions[name]))


@dataclass
class Target:
    """A kernel and where it came from. `kernel` is what `gpukit.profile` takes."""

    file: str
    name: str
    kernel: Any

    def values(self, specs: Sequence[str]) -> list[object]:
        """The kernel's arguments from `--arg` texts. Raises LaunchError for what does not fit."""
        raise NotImplementedError

    def arguments(self, elements: int) -> list[str]:
        """A value for each parameter, as one would write it after --arg; none where the types are not known."""
        return []

    def example(self, command: str, grid: Sequence[int] | None, block: Sequence[int] | None) -> str:
        """A command line to paste and change; '' where the parameters have no types."""
        grid, block = tuple(grid or (64,)), tuple(block or (256,))
        elements = 1
        for size in (*grid, *block):
            elements *= size
        given = self.arguments(elements)
        if not given:
            return ""
        shape = f"--grid {','.join(map(str, grid))} --block {','.join(map(str, block))}"
        return f"{command} {shlex.quote(f'{self.file}:{self.name}')} {shape} {' '.join(f'-a {text}' for text in given)}"


class PythonTarget(Target):
    """A kernel of a .py file: its parameters take what they are given."""

    def values(self, specs: Sequence[str]) -> list[object]:
        parameters = [parameter.arg for parameter in self.kernel.tree.args.args]
        found = argspecs.arrange(map(argspecs.parse, specs), parameters, self.kernel.defaults)
        return argspecs.for_python(found, parameters)


@dataclass
class CppTarget(Target):
    """A kernel of a .cu file: its parameters have types."""

    parameters: Sequence[Parameter]

    def values(self, specs: Sequence[str]) -> list[object]:
        shown = {parameter.name: f"{parameter.type} {parameter.name}".strip() for parameter in self.parameters}
        found = argspecs.arrange(map(argspecs.parse, specs), [p.name for p in self.parameters], shown=shown)
        return argspecs.for_cpp(found, self.parameters)

    def arguments(self, elements: int) -> list[str]:
        return argspecs.example(self.parameters, elements)


@dataclass
class PtxTarget(Target):
    """An entry of a .ptx file: its parameters have sizes and no names."""

    parameters: Sequence[Variable]

    def values(self, specs: Sequence[str]) -> list[object]:
        names = [f"parameter_{i + 1}" for i in range(len(self.parameters))]
        shown = {name: f".{p.type} {name}" for name, p in zip(names, self.parameters, strict=True)}
        found = argspecs.arrange(map(argspecs.parse, specs), names, shown=shown)
        return argspecs.for_ptx(found, names, self.parameters)
