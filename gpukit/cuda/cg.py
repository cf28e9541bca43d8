"""`numba.cuda.cg`: cooperative groups."""

from __future__ import annotations

from gpukit.cuda.stubs import NAMES

this_grid = NAMES["cg"].this_grid

__all__ = ["this_grid"]
