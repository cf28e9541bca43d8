"""What the functions of slides/numbers/ give to a slide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """A value worked out of recordings, whose files (paths from the repository's root) say where it was measured."""

    value: Any
    sources: tuple[str, ...]

    def __init__(self, value: Any, *sources: str):
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "sources", sources)


@dataclass(frozen=True)
class Table:
    """A table: cells are shown as `str` gives them.

    header: a name for each column. rows: as many cells each. sources: recordings that the cells are from; without any
    they were counted by the CPU machine. numeric: columns to be set to the right. strong: rows in bold.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    sources: Sequence[str] = ()
    numeric: Sequence[int] = ()
    strong: Sequence[int] = ()
