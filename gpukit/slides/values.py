"""What the functions of slides/numbers/ give to a slide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table: cells are shown as `str` gives them.

    header: a name for each column. rows: as many cells each. numeric: columns to be set to the right. strong: rows in
    bold. Where the cells are from is known by what the function reads: see `gpukit.slides.recording`.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    _: KW_ONLY
    numeric: Sequence[int] = ()
    strong: Sequence[int] = ()
