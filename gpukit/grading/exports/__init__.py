"""Records for other programs: one module per format; the folder is the list of formats.

A module's docstring says in its first line what the format is for. It has

    PATH                what the file is called; "{student}" in it makes it one file per student
    export(records)     the file's bytes; of a file per student it gets the one record

`canvas` is apart: it fills in a file that the course exported, see there.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpukit.grading.record import Record


@dataclass(frozen=True, slots=True)
class Format:
    """A format that is made from records alone."""

    name: str
    path: str
    about: str
    export: Callable[[Sequence[Record]], bytes]

    @property
    def per_student(self) -> bool:
        return "{student}" in self.path


def formats() -> dict[str, Format]:
    """The formats made from records alone, by name."""
    found = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        code = importlib.import_module(f"{__name__}.{module.name}")
        if hasattr(code, "export"):
            about = (code.__doc__ or "").split("\n", 1)[0]
            found[module.name] = Format(module.name, code.PATH, about, code.export)
    return found
