"""Where a kernel's variables lie: offsets in shared and local memory, and the roots that name them to the machine."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gpukit.machine.frontends.ptx.syntax import TYPES, Variable
from gpukit.machine.program import GLOBAL, LOCAL, SHARED, Root

_ALIGN_LOCAL = 16


def _up(offset: int, align: int) -> int:
    return -(-offset // align) * align


def spoken(name: str) -> str:
    """A variable as its author called it: `_ZZ6rowsumE1w` is `w`, `tile` is `tile`."""
    if not name.startswith("_Z"):
        return name.lstrip("$")
    text, at, last = name[2:], 0, name
    # An Itanium-mangled name: each part is its length followed by the part; the last one is the variable.
    while at < len(text):
        digits = at
        while digits < len(text) and text[digits].isdigit():
            digits += 1
        if digits > at:
            length = int(text[at:digits])
            last = text[digits : digits + length]
            at = digits + length
        else:
            at += 1
    return last


class Storage:
    """The memory of one kernel. Shared variables are laid out in the order they are declared, extern ones last."""

    def __init__(self) -> None:
        self.roots: list[Root] = []
        self.shared: dict[str, int] = {}  # variable -> byte offset in the block's shared memory
        self.shared_bytes = 0
        self.local_bytes = 0
        self._root_of: dict[str, int] = {}

    def root(self, key: str, make: Root) -> int:
        """The number of a root, made when it is first asked for."""
        if key not in self._root_of:
            self.roots.append(make)
            self._root_of[key] = len(self.roots) - 1
        return self._root_of[key]

    def number(self, key: str) -> int:
        """The number of a root that was made before."""
        return self._root_of[key]

    def lay_out_shared(self, variables: Iterable[Variable]) -> None:
        """Give every shared variable its place. Static ones first: extern ones all start behind them."""
        later: list[Variable] = []
        for variable in variables:
            if variable.name in self.shared:
                continue
            if variable.dynamic:
                later.append(variable)
                continue
            offset = _up(self.shared_bytes, variable.align)
            self.shared[variable.name] = offset
            self.shared_bytes = offset + variable.nbytes
            self._shared_root(variable, offset)
        if later:
            self.shared_bytes = _up(self.shared_bytes, max(16, *(v.align for v in later)))
        for variable in later:
            self.shared[variable.name] = self.shared_bytes
            self._shared_root(variable, self.shared_bytes)

    def _shared_root(self, variable: Variable, offset: int) -> None:
        dtype = TYPES[variable.type]
        name = spoken(variable.name)
        self.root(
            variable.name,
            Root(name, SHARED, dtype, dtype.itemsize, offset, variable.nbytes, dynamic=variable.dynamic),
        )

    def local(self, variable: Variable, key: str) -> int:
        """Byte offset in local memory of a variable of one function instance (`key` names the instance)."""
        offset = _up(self.local_bytes, max(variable.align, _ALIGN_LOCAL))
        self.local_bytes = offset + variable.nbytes
        dtype = TYPES[variable.type]
        name = spoken(variable.name)
        name = "a local variable" if name.startswith("__local_depot") else name
        self.root(key, Root(name, LOCAL, dtype, 1, offset, variable.nbytes))
        return offset

    def module_variable(self, variable: Variable) -> int:
        """The root of a `.global` or `.const` variable."""
        dtype = TYPES[variable.type]
        return self.root(variable.name, Root(spoken(variable.name), GLOBAL, dtype, dtype.itemsize))

    def parameter(self, position: int, name: str, key: str) -> int:
        """The root of what a pointer parameter points to."""
        return self.root(key, Root(name, GLOBAL, np.dtype(np.uint8), 1, parameter=position))
