"""Matrices made from a rule: stencils, blocks, bands, graphs, and any row lengths.

Every generator takes, besides its own sizes, a seed (of the values, and of a structure that is random) and the options
of `Filling`; the same arguments give the same matrix. Columns are sorted and unique within a row. All raise MatrixError
for sizes that make no matrix, and for more entries than the row pointer counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any, TypedDict, Unpack

import numpy as np

from ..errors import MatrixError
from ..formats import Csr
from ..formats.csr import LARGEST_INT32, POINTERS, VALUES, refuse_too_many

ONES, INTEGERS, RANDOM = "ones", "integers", "random"
CHUNK = 1 << 22  # entries worked on at a time, which bounds the memory


class Filling(TypedDict, total=False):
    """values: "ones", "integers" (1, 2 or 3, for exact checks) or "random" (from -1 up to 1). dtype: float32 or
    float64. pointer: int32 or int64, of the row pointer."""

    values: str
    dtype: Any
    pointer: Any


# --- stencils, blocks, bands -----------------------------------------------------------------------------------------


def poisson2d(side: int, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """The 5-point stencil on a grid of side x side points: 3 to 5 entries a row. The pattern is Poisson's, the values
    are not."""
    return _stencil((_size("side", side),) * 2, [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)], seed=seed, **filling)


def poisson3d(side: int, points: int = 7, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """The 7-point or 27-point stencil on a cube of side^3 points: 4 to 7, or 8 to 27 entries a row."""
    if points not in (7, 27):
        raise MatrixError(f"a 3-D stencil has 7 or 27 points here, not {points}")
    cube = list(product((-1, 0, 1), repeat=3))
    offsets = [offset for offset in cube if points == 27 or sum(map(abs, offset)) <= 1]
    return _stencil((_size("side", side),) * 3, offsets, seed=seed, **filling)


def fem_blocks(side: int, unknowns: int = 3, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """A cube of side^3 nodes, each coupled with its 26 neighbours by dense blocks of unknowns x unknowns, as finite
    elements make them: with 3 unknowns, 24 to 81 entries a row."""
    width = _size("unknowns", unknowns)
    _refuse_too_many((3 * _size("side", side) - 2) ** 3 * width**2, filling)
    nodes = poisson3d(side, 27, values=ONES, pointer=np.int64)
    columns = np.empty(nodes.nnz * width**2, np.int32)
    for first, last in _chunks(nodes.lengths * width**2):
        begin, end = nodes.indptr[first], nodes.indptr[last]
        blocks = nodes.indices[begin:end, None] * np.int32(width) + np.arange(width, dtype=np.int32)
        lengths = np.repeat(nodes.lengths[first:last] * width, width)  # of the rows; those of a node are alike
        ends = np.cumsum(lengths)
        source = np.repeat((nodes.indptr[first:last] - begin) * width, width) - (ends - lengths)
        columns[begin * width**2 : end * width**2] = blocks.ravel()[np.arange(ends[-1]) + np.repeat(source, lengths)]
    size = nodes.rows * width
    return _csr((size, size), np.repeat(nodes.lengths * width, width), columns, seed=seed, **filling)


def banded(rows: int, half_width: int = 32, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """A full band: every row has 2 half_width + 1 neighbouring columns, moved inwards at both ends."""
    width = 2 * half_width + 1
    if half_width < 0 or width > _size("rows", rows):
        raise MatrixError(f"a band of {width:,} columns does not fit {rows:,} rows")
    _refuse_too_many(rows * width, filling)
    first = np.clip(np.arange(rows, dtype=np.int32) - half_width, 0, rows - width).astype(np.int32)
    columns = (first[:, None] + np.arange(width, dtype=np.int32)).ravel()
    return _csr((rows, rows), np.full(rows, width), columns, seed=seed, **filling)


def dense_in_sparse(rows: int, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """A dense square matrix stored as a sparse one."""
    _refuse_too_many(_size("rows", rows) ** 2, filling)
    columns = np.tile(np.arange(rows, dtype=np.int32), rows)
    return _csr((rows, rows), np.full(rows, rows), columns, seed=seed, **filling)


def arrow(rows: int, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """The diagonal, a full first row and a full first column: one row of `rows` entries among rows of two."""
    _refuse_too_many(3 * _size("rows", rows) - 2, filling)
    rest = np.arange(1, rows, dtype=np.int32)
    columns = np.concatenate([np.arange(rows, dtype=np.int32), np.stack([np.zeros_like(rest), rest], axis=1).ravel()])
    lengths = np.full(rows, 2)
    lengths[0] = rows
    return _csr((rows, rows), lengths, columns, seed=seed, **filling)


def _stencil(
    grid: tuple[int, ...],
    offsets: list[tuple[int, ...]],
    present: Any = None,
    seed: int = 0,
    **filling: Unpack[Filling],
) -> Csr:
    """Each point's neighbours at `offsets` that lie on the grid; the last axis counts fastest. Those for which
    `present(points, offset)` is false are left out."""
    steps = [prod(grid[axis + 1 :]) for axis in range(len(grid))]
    jump = {offset: sum(step * move for step, move in zip(steps, offset, strict=True)) for offset in offsets}
    offsets = sorted(offsets, key=jump.__getitem__)
    total = prod(grid)
    if present is None:
        every = (prod(size - abs(move) for size, move in zip(grid, offset, strict=True)) for offset in offsets)
        _refuse_too_many(sum(every), filling)
    _refuse_too_large((total, total))
    parts, lengths = [], np.empty(total, np.int32)
    for begin in range(0, total, max(1, CHUNK // len(offsets))):
        points = np.arange(begin, min(total, begin + max(1, CHUNK // len(offsets))), dtype=np.int32)
        places = np.unravel_index(points, grid)
        here = np.ones((points.size, len(offsets)), bool)
        for k, offset in enumerate(offsets):
            for place, move, size in zip(places, offset, grid, strict=True):
                if move:
                    here[:, k] &= place < size - 1 if move > 0 else place > 0
            if present is not None:
                here[:, k] &= present(points, offset)
        columns = points[:, None] + np.array([jump[offset] for offset in offsets], np.int32)
        parts.append(columns[here])
        lengths[begin : begin + points.size] = here.sum(axis=1)
    return _csr((total, total), lengths, np.concatenate(parts), seed=seed, **filling)


# --- graphs ----------------------------------------------------------------------------------------------------------


def road(side: int, keep: float = 0.62, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """A grid of side x side crossings with each street between neighbours kept with probability `keep`: 0 to 4 entries
    a row, 4 keep on average; symmetric. 0.62 gives the mean of road_usa, 0.69 that of roadNet-TX."""
    if not 0 <= keep <= 1:
        raise MatrixError(f"keep={keep} is no probability")
    points = _size("side", side) ** 2
    rng = _structure(seed)
    east, south = rng.random(points, np.float32) < keep, rng.random(points, np.float32) < keep
    streets: dict[tuple[int, ...], tuple[np.ndarray, int]] = {
        (0, 1): (east, 0),
        (0, -1): (east, 1),
        (1, 0): (south, 0),
        (-1, 0): (south, side),
    }

    def present(crossings: np.ndarray, offset: tuple[int, ...]) -> np.ndarray:
        kept, back = streets[offset]
        return kept[np.maximum(crossings - back, 0)]

    return _stencil((side, side), list(streets), present, seed=seed, **filling)


def rmat(
    scale: int,
    edges_per_row: int = 16,
    corners: tuple[float, float, float] = (0.57, 0.19, 0.19),
    seed: int = 0,
    **filling: Unpack[Filling],
) -> Csr:
    """A recursive graph of 2^scale vertices: edges_per_row 2^scale edges are drawn, each `scale` times into one of the
    four quarters of the matrix with the probabilities `corners` (the fourth is the rest). Then both directions are
    kept, each once, without loops, and the vertices are renumbered at random.

    Source: Chakrabarti, Zhan and Faloutsos, "R-MAT: a recursive model for graph mining" (SDM 2004); the defaults are
    the Graph500 benchmark's.
    """
    if not 1 <= scale <= 30:
        raise MatrixError(f"scale={scale}: an R-MAT graph of int32 columns has a scale from 1 to 30")
    if min(corners) < 0 or sum(corners) > 1:
        raise MatrixError(f"corners={corners} are no probabilities of three quarters")
    rows = 1 << scale
    edges = rows * _size("edges_per_row", edges_per_row)
    rng = _structure(seed)
    number = rng.permutation(rows)
    keys = np.empty(2 * edges, np.int64)
    a, b, c = corners
    for begin in range(0, edges, CHUNK // 4):
        size = min(CHUNK // 4, edges - begin)
        tail, head = np.zeros(size, np.int32), np.zeros(size, np.int32)
        for _ in range(scale):
            draw = rng.random(size, np.float32)
            lower = draw >= a + b
            right = (draw >= a) & ~lower | (draw >= a + b + c)
            tail, head = 2 * tail + lower, 2 * head + right
        one, other = number[tail], number[head]
        keys[2 * begin : 2 * begin + size] = one * rows + other
        keys[2 * begin + size : 2 * (begin + size)] = other * rows + one
    keys.sort()
    new = np.ones(keys.size, bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    keys = keys[new & (keys >> scale != keys & (rows - 1))]
    lengths = np.bincount(keys >> scale, minlength=rows)
    return _csr((rows, rows), lengths, (keys & (rows - 1)).astype(np.int32), seed=seed, **filling)


# --- row lengths -----------------------------------------------------------------------------------------------------


def uniform(rows: int, each: int = 16, columns: int | None = None, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """`each` columns at random in every row."""
    return from_lengths(np.full(_size("rows", rows), each), columns, seed=seed, **filling)


def half_empty(rows: int, each: int = 8, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """Half of the rows, chosen at random, are empty; the others have `each` entries."""
    rng = _structure(seed)
    lengths = np.where(rng.permutation(_size("rows", rows)) % 2, each, 0)
    return from_lengths(lengths, rng=rng, seed=seed, **filling)


def zipf(rows: int, exponent: float = 2.5, longest: int = 4700, seed: int = 0, **filling: Unpack[Filling]) -> Csr:
    """Row lengths of a power law: the share of rows with at least l entries is l^(1 - exponent), up to `longest`."""
    if exponent <= 1:
        raise MatrixError(f"exponent={exponent} makes no power law; it must be above 1")
    longest = min(_size("longest", longest), _size("rows", rows))
    least = (longest + 1.0) ** (1 - exponent)  # of the uniform draw: what would be longer is not drawn
    rng = _structure(seed)
    draw = least + (1 - least) * rng.random(rows)
    lengths = np.clip(np.floor(draw ** (1 / (1 - exponent))), 1, longest).astype(np.int64)
    return from_lengths(lengths, rng=rng, seed=seed, **filling)


def from_lengths(
    lengths: np.ndarray,
    columns: int | None = None,
    *,
    window: int | None = None,
    run: float = 1.0,
    seed: int = 0,
    rng: np.random.Generator | None = None,
    **filling: Unpack[Filling],
) -> Csr:
    """A matrix with exactly these row lengths.

    lengths: (rows,) integers. columns: as many as rows unless given. A row's columns lie within `window` columns around
    the diagonal (all columns unless given; a longer row takes as many as it has), spread evenly with a random shift,
    in runs of about `run` neighbours. `rng` draws the structure in place of `seed`.
    Raises MatrixError for a length that is negative or longer than the columns.
    """
    lengths = np.asarray(lengths)
    if lengths.ndim != 1 or (lengths.size and lengths.dtype.kind not in "iu"):
        raise MatrixError("row lengths are a one-dimensional array of integers")
    rows = lengths.size
    columns = rows if columns is None else columns
    if columns < 0:
        raise MatrixError(f"columns={columns} is below 0")
    wrong = (lengths < 0) | (lengths > columns)
    if wrong.any():
        row = int(wrong.argmax())
        raise MatrixError(f"row {row:,} is to have {int(lengths[row]):,} entries, and there are {columns:,} columns")
    if not run >= 1 or (window is not None and window < 1):
        raise MatrixError(f"run={run} and window={window}: both must be 1 or more")
    window = columns if window is None else min(window, columns)
    _refuse_too_many(int(lengths.sum(dtype=np.int64)), filling)
    rng = _structure(seed) if rng is None else rng
    indices = np.empty(int(lengths.sum(dtype=np.int64)), np.int32)
    begin = 0
    for first, last in _chunks(lengths):
        here = lengths[first:last].astype(np.int64)
        middle = np.arange(first, last) * (columns / rows)
        found = _scattered(here, middle, columns, window, run, rng)
        indices[begin : begin + found.size] = found
        begin += found.size
    return _csr((rows, columns), lengths, indices, seed=seed, **filling)


def _scattered(
    lengths: np.ndarray, middle: np.ndarray, columns: int, window: int, run: float, rng: np.random.Generator
) -> np.ndarray:
    """The columns of some rows. A row of l entries in w columns leaves w - l free; its r runs stand in order, and the
    free columns before run j are those of a draw from the j-th of r equal parts, so that no two entries meet."""
    runs = np.where(lengths > 0, np.maximum(1, np.rint(lengths / run)), 0).astype(np.int64)
    row = np.repeat(np.arange(lengths.size, dtype=np.int32), runs)
    j = np.arange(row.size) - (np.cumsum(runs) - runs)[row]
    within = np.clip(lengths, window, columns)
    base = np.clip((middle - within / 2).astype(np.int64), 0, columns - within)
    free = within - lengths
    share = (free + 1) / np.maximum(runs, 1)
    gap = np.minimum(((j + rng.random(row.size, np.float32)) * share[row]).astype(np.int64), free[row])
    if run == 1:
        return base[row] + gap + j
    begins = j * lengths[row] // runs[row]
    size = (j + 1) * lengths[row] // runs[row] - begins
    ends = np.cumsum(size)
    return np.repeat(base[row] + gap + begins - (ends - size), size) + np.arange(ends[-1] if ends.size else 0)


# --- common ----------------------------------------------------------------------------------------------------------


def _csr(
    shape: tuple[int, int],
    lengths: np.ndarray,
    indices: np.ndarray,
    values: str = RANDOM,
    dtype: Any = np.float32,
    pointer: Any = np.int32,
    seed: int = 0,
) -> Csr:
    _refuse_too_large(shape)
    if np.dtype(dtype) not in VALUES or np.dtype(pointer) not in POINTERS:
        raise MatrixError(f"values of {np.dtype(dtype)} and a row pointer of {np.dtype(pointer)} are not made here")
    refuse_too_many(indices.size, np.dtype(pointer))
    indptr = np.zeros(shape[0] + 1, pointer)
    np.cumsum(lengths, out=indptr[1:])
    return Csr(shape, indptr, indices, filled(indices.size, values, dtype, seed))


def _refuse_too_large(shape: tuple[int, int]) -> None:
    if max(shape) > LARGEST_INT32:
        raise MatrixError(f"{shape[0]:,} x {shape[1]:,} is more than int32 indices reach ({LARGEST_INT32:,})")


def _refuse_too_many(entries: int, filling: Filling) -> None:
    """Before the memory is taken."""
    refuse_too_many(entries, np.dtype(filling.get("pointer", np.int32)))


def filled(size: int, values: str = RANDOM, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    """(size,) values of the kind that `Filling` describes. Raises MatrixError for another kind."""
    rng = np.random.default_rng([seed, 1])
    if values == ONES:
        return np.ones(size, dtype)
    if values == INTEGERS:
        return rng.integers(1, 4, size, np.int8).astype(dtype)
    if values == RANDOM:
        drawn = rng.random(size, dtype)
        return np.subtract(drawn * 2, 1, dtype=drawn.dtype)
    raise MatrixError(f"values={values!r}: choose {ONES!r}, {INTEGERS!r} or {RANDOM!r}")


def _structure(seed: int) -> np.random.Generator:
    """Draws where the entries are: apart from the values, which a seed draws alike for every structure."""
    return np.random.default_rng([seed, 0])


def _size(name: str, size: int) -> int:
    if size < 1:
        raise MatrixError(f"{name}={size} makes no matrix; it must be 1 or more")
    return int(size)


def _chunks(lengths: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of rows, in order, of about CHUNK entries; at least one row each."""
    ends = np.cumsum(lengths, dtype=np.int64)
    first = 0
    while first < lengths.size:
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
        last = min(last, first + CHUNK)  # rows without entries take memory, too
        yield first, last
        first = last
