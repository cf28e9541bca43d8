"""The names, and what is made for each: by a rule of `generators`, by a model of `twins`, or from data/matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log2
from typing import Any, Unpack

import numpy as np

from gpukit.registry import nearest
from gpukit.resources import data_file

from ..errors import MatrixError
from ..formats import Csr
from . import reading
from .generators import (
    Filling,
    arrow,
    banded,
    dense_in_sparse,
    fem_blocks,
    filled,
    half_empty,
    poisson2d,
    poisson3d,
    rmat,
    road,
    uniform,
    zipf,
)
from .twins import TWINS, twin

GENERATED, TWIN, REAL = "generated", "twin", "real"
SMALL_ENTRIES = 60_000  # of a twin that the CPU machine multiplies in seconds
SMALL_ROWS = 3000
OWN = "own"  # the values that a real matrix has


@dataclass(frozen=True)
class Named:
    """A matrix that `make` knows. rows: at full size; small: rows of a size for the CPU machine; build(rows, **options)
    makes one of about that many rows."""

    name: str
    title: str
    kind: str
    rows: int
    small: int
    build: Callable[..., Csr]


def make(name: str, scale: float = 1.0, rows: int | None = None, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """A matrix by its name, with `rows` rows or `scale` times those of the full size, as near as its rule allows.

    Raises MatrixError for a name that is not known, a size that makes no matrix, and another size of a real matrix.
    """
    if name not in MATRICES:
        rest = nearest(name, MATRICES) or f"; choose one of: {', '.join(MATRICES)}"
        raise MatrixError(f"there is no matrix {name!r}{rest}")
    named = MATRICES[name]
    wanted = round(named.rows * scale) if rows is None else rows
    if wanted < 1:
        raise MatrixError(f"{named.name} with {wanted} rows is no matrix: it has {named.rows:,} at full size")
    if named.kind == REAL and wanted != named.rows:
        raise MatrixError(f"{name} is a real matrix of {named.rows:,} rows, and comes in no other size")
    return named.build(wanted, seed=seed, **filling)


def small(name: str, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """The matrix at a size that the CPU machine multiplies in seconds."""
    return make(name, rows=MATRICES[name].small if name in MATRICES else None, seed=seed, **filling)


def _generated() -> list[Named]:
    def cube(rows: float) -> int:
        return max(1, round(rows ** (1 / 3)))

    def square(rows: int) -> int:
        return max(1, round(rows**0.5))

    rules: list[tuple[str, str, int, int, Callable[..., Csr]]] = [
        ("poisson2d", "2-D grid, 5 points", 3000**2, 4096, lambda rows, **rest: poisson2d(square(rows), **rest)),
        ("poisson3d_7", "3-D grid, 7 points", 200**3, 4096, lambda rows, **rest: poisson3d(cube(rows), 7, **rest)),
        ("poisson3d_27", "3-D grid, 27 points", 128**3, 1728, lambda rows, **rest: poisson3d(cube(rows), 27, **rest)),
        ("fem_blocks", "3-D, blocks of 3 x 3", 3 * 60**3, 648, lambda rows, **rest: fem_blocks(cube(rows / 3), **rest)),
        ("banded", "a full band of 65", 500_000, 1000, banded),
        ("dense_in_sparse", "dense, stored as sparse", 6000, 200, dense_in_sparse),
        ("road", "streets on a grid, 38 % gone", 4000**2, 4096, lambda rows, **rest: road(square(rows), **rest)),
        ("arrow", "a full row, a full column, the diagonal", 10_000_000, 4096, arrow),
        (
            "rmat",
            "Graph500's random graph",
            1 << 20,
            2048,
            lambda rows, **rest: rmat(max(1, round(log2(rows))), **rest),
        ),
        ("zipf", "power law of exponent 2.5", 12_000_000, 4096, zipf),
        ("half_empty", "every other row empty, at random", 8_000_000, 4096, half_empty),
        ("uniform", "16 random columns a row", 2_000_000, 2048, uniform),
    ]
    return [Named(name, title, GENERATED, rows, few, build) for name, title, rows, few, build in rules]


def _twins() -> list[Named]:
    def builder(name: str) -> Callable[..., Csr]:
        return lambda rows, **rest: twin(name, rows, **rest)

    def few(mean: float) -> int:
        return max(64, min(SMALL_ROWS, round(SMALL_ENTRIES / mean)))

    return [
        Named(name, f"twin of {name}", TWIN, model.rows, few(model.mean), builder(name))
        for name, model in TWINS.items()
    ]


# --- real ones -------------------------------------------------------------------------------------------------------

REAL_MATRICES = {
    "illc1850": (1850, "least squares, 712 columns (HB/illc1850)"),
    "minnesota": (2642, "roads of Minnesota (Gleich/minnesota)"),
    "bar": (600, "elasticity of a bar, blocks of 3 x 3 (PyAMG)"),
    "local_disc_galerkin": (966, "discontinuous Galerkin, blocks of 21 x 21 (PyAMG)"),
    "as-22july06": (22_963, "the Internet's systems on 22 July 2006 (Newman)"),
    "polblogs": (1490, "links between blogs, some twice (Adamic and Glance)"),
    "moby_words": (6692, "which word follows which in Moby-Dick"),
}


def real(name: str, values: str = OWN, dtype: Any = np.float32, pointer: Any = np.int32, seed: int = 0) -> Csr:
    """A matrix of data/matrices, with its own values or others of a kind that `generators.Filling` describes. Raises
    MatrixError for a name that is none."""
    if name not in REAL_MATRICES:
        raise MatrixError(f"there is no real matrix {name!r}{nearest(name, REAL_MATRICES)}")
    if name == "moby_words":
        with np.load(data_file("matrices/moby_words.npz")) as arrays:
            starts, columns, counts = (arrays[key] for key in ("indptr", "indices", "counts"))
        rows = starts.size - 1
        found = Csr((rows, rows), starts.astype(pointer), columns.astype(np.int32), counts.astype(dtype))
    else:
        found = reading.read(data_file(f"matrices/{name}.mtx.gz"), dtype, pointer)
    return found if values == OWN else replace(found, data=filled(found.nnz, values, dtype, seed))


def _real() -> list[Named]:
    def builder(name: str) -> Callable[..., Csr]:
        return lambda rows, **rest: real(name, **rest)

    return [Named(name, title, REAL, rows, rows, builder(name)) for name, (rows, title) in REAL_MATRICES.items()]


MATRICES: dict[str, Named] = {named.name: named for named in (*_generated(), *_twins(), *_real())}
