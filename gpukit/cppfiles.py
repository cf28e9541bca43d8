"""Kernels of a CUDA C++ or PTX file, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpukit.errors import KernelSyntaxError, KernelTypeError

if TYPE_CHECKING:
    from gpukit.compilers.signatures import Signature
    from gpukit.machine.frontends.ptx.syntax import Variable
    from gpukit.raw import RawKernel

SUFFIXES = (".cu", ".cuh", ".ptx")


def load(path: str | Path, options: Sequence[str] = ()) -> CppFile | PtxFile:
    """The kernels of a file; nothing is compiled before a kernel is asked for. `options` are the compiler's.

    Raises KernelSyntaxError if the file cannot be read.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise KernelSyntaxError(f"this file cannot be read: {error.strerror}", file=str(path)) from None
    return PtxFile(path, text) if path.suffix == ".ptx" else CppFile(path, text, options)


class _Kernels(Mapping[str, "RawKernel"]):
    """Kernels by name, with attributes of the same names."""

    def __init__(self, path: Path):
        self.path = path
        self._known: dict[str, RawKernel] = {}

    def names(self) -> list[str]:
        """What can be asked for as it stands."""
        raise NotImplementedError

    def shown(self) -> list[str]:
        """All kernels, templates as "reduce<...>"."""
        return self.names()

    def make(self, name: str) -> RawKernel:
        """Compile a kernel."""
        raise NotImplementedError

    def __getitem__(self, name: str) -> RawKernel:
        """A kernel by its name. Raises KernelTypeError if there is none, KernelSyntaxError if it does not compile."""
        if name not in self._known:
            self._known[name] = self.make(name)
        return self._known[name]

    def __getattr__(self, name: str) -> RawKernel:
        if name.startswith("_") or name not in self.names():
            raise AttributeError(f"{self.path} has no kernel {name!r}; {self.all_names()}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names()]

    def __repr__(self) -> str:
        return f"<kernels of {self.path}: {', '.join(self.names())}>"

    def all_names(self) -> str:
        """The kernels, for a message."""
        return f"its kernels: {', '.join(self.shown()) or 'none'}"

    def _absent(self, name: str) -> KernelTypeError:
        return KernelTypeError(f"this file has no kernel {name!r}; {self.all_names()}", file=str(self.path))


class CppFile(_Kernels):
    """The `__global__` functions of a .cu file. Templates go by a name expression: `file["reduce<float, 256>"]`."""

    def __init__(self, path: Path, text: str, options: Sequence[str]):
        from gpukit.compilers import signatures

        super().__init__(path)
        self._text = text
        self._options = tuple(options)
        self.signatures: dict[str, Signature] = {s.name: s for s in signatures.kernels(text)}

    def names(self) -> list[str]:
        return [name for name, signature in self.signatures.items() if not signature.template]

    def shown(self) -> list[str]:
        return [f"{name}<...>" if s.template else name for name, s in self.signatures.items()]

    def signature(self, name: str) -> Signature:
        """What the source says of a kernel; `name` may have template arguments and leave out namespaces.

        Raises KernelTypeError if there is no such kernel.
        """
        plain = name.split("<", 1)[0].strip()
        found = [s for known, s in self.signatures.items() if known == plain] or [
            s for known, s in self.signatures.items() if known.rpartition("::")[2] == plain
        ]
        if len(found) != 1:
            raise self._absent(name)
        if found[0].template and "<" not in name:
            raise KernelTypeError(
                f"`{name}` is a template: name it with its arguments, such as {name}<256> or {name}<float>",
                file=str(self.path),
                line=found[0].line,
            )
        return found[0]

    def make(self, name: str) -> RawKernel:
        from gpukit.raw import RawModule

        signature = self.signature(name)
        expression = name if "<" in name else signature.name
        expressions = () if signature.c_name else (expression,)
        module = RawModule(code=self._text, options=self._options, name_expressions=expressions, file=str(self.path))
        return module.get_function(expression)


class PtxFile(_Kernels):
    """The entries of a .ptx file."""

    def __init__(self, path: Path, text: str):
        from gpukit.machine.frontends import ptx

        super().__init__(path)
        self.module = ptx.load(text, str(path))

    def names(self) -> list[str]:
        return self.module.kernels

    def parameters(self, name: str) -> list[Variable]:
        """The parameters of a kernel, by type and size."""
        return self.module.parsed.functions[name].parameters

    def make(self, name: str) -> RawKernel:
        from gpukit.raw import RawModule

        if name not in self.names():
            raise self._absent(name)
        return RawModule(path=str(self.path)).get_function(name)
