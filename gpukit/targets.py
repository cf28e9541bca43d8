"""One kernel of a file, named on a command line: what it takes, and the values it is given there."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpukit import argspecs, levels
from gpukit.errors import KernelTypeError, LaunchError

if TYPE_CHECKING:
    from gpukit.cpp.signatures import Parameter


def find(file: str, name: str, options: Sequence[str] = ()) -> Target:
    """The kernel `name` of a .py, .cu or .ptx file. `options` are the CUDA compiler's.

    Raises:
        GpukitError: the file cannot be read, has no such kernel, or does not compile.
    """
    if levels.is_cpp_file(file):
        from gpukit import raw

        kernels = raw.load(file, tuple(options))
        try:
            return CppTarget(file, name, kernels[name])
        except KeyError:
            raise _absent(file, name, shown_names(kernels), kernels.templates) from None
    if options:
        raise LaunchError(f"{file} is Python; -D, -I and --option are for the compiler of a .cu file")
    from gpukit.machine.frontends.python import source

    functions = levels.load(file)
    if name not in functions.functions:
        raise _absent(file, name, functions.kernels)
    return PythonTarget(file, name, source.of(functions[name]))


def shown_names(kernels: Iterable[str]) -> list[str]:
    """The kernels of a file, templates as "reduce<...>"."""
    from gpukit.machine.frontends.python.loader import LoadedModule

    known = kernels.kernels if isinstance(kernels, LoadedModule) else kernels
    return [*known, *(f"{name}<...>" for name in getattr(kernels, "templates", ()))]


def _absent(file: str, name: str, known: Sequence[str], templates: Sequence[str] = ()) -> KernelTypeError:
    if name in templates:
        what = f"`{name}` is a template: name it with its arguments, such as {name}<256> or {name}<float>"
    elif known or templates:
        what = f"this file has no kernel {name!r}; its kernels: {', '.join(known)}"
    else:
        what = "this file has no kernel; a kernel is @cuda.jit in a .py file or __global__ in a .cu file"
    return KernelTypeError(what, file=file)


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


# PTX says how large a parameter is, and of floats alone what they are.
_PTX_FLOATS = {".f32": "float", ".f64": "double"}


class CppTarget(Target):
    """A kernel of a .cu or .ptx file: its parameters have types."""

    @property
    def _parameters(self) -> list[Parameter]:
        """The parameters, with names that can be written on a command line."""
        found = []
        for i, parameter in enumerate(self.kernel.parameters):
            name = parameter.name.replace(" ", "_") or f"parameter_{i + 1}"
            found.append(replace(parameter, name=name, type=_PTX_FLOATS.get(parameter.type, parameter.type)))
        return found

    def values(self, specs: Sequence[str]) -> list[object]:
        parameters = self._parameters
        shown = {parameter.name: f"{parameter.type} {parameter.name}" for parameter in parameters}
        found = argspecs.arrange(map(argspecs.parse, specs), [p.name for p in parameters], shown=shown)
        return argspecs.for_cpp(found, parameters)

    def arguments(self, elements: int) -> list[str]:
        return argspecs.example(self._parameters, elements)
