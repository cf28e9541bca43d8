"""A matrix in a format, and the launches that multiply it: every way there is, in the order of the ladder.

product("csr_warp", csr, x, y).run(device)      # y = A x
product("sliced_ell", csr, x, y, 2.5, -1, language=CPP, height=32, sigma=256)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpukit.devices import CpuMachine, Device
from gpukit.launching import MAX_SHARED_BYTES
from gpukit.registry import CPP, NUMBA, CppKernel, Launch, launchable

from . import kernels
from .errors import MatrixError
from .formats import Csr, Ell, Hybrid, SlicedEll
from .formats.arrays import Array, xp_of

SOURCE = Path(__file__).with_name("kernels.cu")
CPU = CpuMachine()
BLOCK = 128  # threads
WARP = 32
LANES = (2, 4, 8, 16, 32)
ITEMS = 7  # steps of a thread on the merge path: odd, so that lanes read different banks of shared memory
BORDERS = 8  # bytes of shared memory that a block on the merge path has besides
CSR_TYPES = np.float32, np.int32
TYPES = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}


@dataclass(frozen=True)
class Way:
    """One way to multiply.

    name: the kernel's. title: a few words for tables and figures. template: its arguments in C++ for float32, an int32
    row pointer and a usual block, an instance to show.
    convert: (csr, **options) -> the format, with its `nbytes`. launches: (format, x, y, alpha, beta, *, language,
    block, device, **options) -> what is launched. The options of both are their keyword arguments with a default.
    """

    name: str
    title: str
    template: tuple[Any, ...]
    convert: Callable[..., Any]
    launches: Callable[..., tuple[Launch, ...]]

    @property
    def instance(self) -> str:
        """The C++ kernel's name with these arguments."""
        return instance(self.name, *self.template)

    @property
    def options(self) -> tuple[str, ...]:
        """The names that `product` takes as options of this way."""
        return (*_options(self.convert), *_options(self.launches))


def _options(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is not one.empty]


@dataclass(frozen=True)
class Product:
    """y = alpha A x + beta y, ready to be run any number of times.

    bytes_moved: those of the format, x once, and y once, or twice where it is read. flops: two for each stored entry.
    """

    way: Way
    form: Any
    launches: tuple[Launch, ...]
    bytes_moved: int
    flops: int

    def run(self, device: Device) -> None:
        """Launch, without waiting."""
        for launch in self.launches:
            device.launch(launch)


def product(
    way: str,
    csr: Csr,
    x: Array,
    y: Array,
    alpha: float = 1,
    beta: float = 0,
    *,
    language: str = NUMBA,
    device: Device = CPU,
    block: int = BLOCK,
    **options: Any,
) -> Product:
    """One way's launches for y = alpha A x + beta y; the matrix is converted here, before anything is timed.

    x: (columns,), y: (rows,), contiguous, of the matrix's type, on its device. block: threads, whole warps. 0 rows are
    no launch.
    Raises MatrixError for vectors that do not fit the matrix, and for a way, option, language or block that is not
    known.
    """
    if way not in WAYS:
        raise MatrixError(f"there is no way {way!r} to multiply; choose one of: {', '.join(WAYS)}")
    chosen = WAYS[way]
    if language not in (NUMBA, CPP):
        raise MatrixError(f"no kernel is written in {language!r}; choose {NUMBA!r} or {CPP!r}")
    if block % WARP or not WARP <= block <= 1024:
        raise MatrixError(f"a block has whole warps, 32 to 1,024 threads, not {block}")
    for name in options:
        if name not in chosen.options:
            known = f"its options are: {', '.join(chosen.options)}" if chosen.options else "it has none"
            raise MatrixError(f"{way} has no option {name!r}; {known}")
    _check_vectors(csr, x, y)
    taken = {name: value for name, value in options.items() if name in _options(chosen.convert)}
    form = chosen.convert(csr, **taken)
    alpha, beta = csr.dtype.type(alpha), csr.dtype.type(beta)
    launches: tuple[Launch, ...] = ()
    if csr.rows:
        rest = {name: value for name, value in options.items() if name not in taken}
        where = {"language": language, "block": block, "device": device}
        launches = chosen.launches(form, x, y, alpha, beta, **where, **rest)
    moved = int(form.nbytes + x.nbytes + (2 if beta else 1) * y.nbytes)
    return Product(chosen, form, launches, moved, 2 * csr.nnz)


def csr_bytes(csr: Csr, beta: float = 0) -> int:
    """Bytes that a product in CSR moves at least: the matrix, x and y once, y twice where it is read.

    Every GB/s that stands beside a library's is of this number.
    """
    value, pointer = csr.dtype.itemsize, np.dtype(csr.indptr.dtype).itemsize
    matrix = (value + 4) * csr.nnz + pointer * (csr.rows + 1)
    return matrix + value * (csr.columns + (2 if beta else 1) * csr.rows)


def _check_vectors(csr: Csr, x: Array, y: Array) -> None:
    for name, vector, size, what in (("x", x, csr.columns, "columns"), ("y", y, csr.rows, "rows")):
        if vector.shape != (size,):
            raise MatrixError(
                f"{name} has the shape {vector.shape}; the matrix has {size:,} {what}, so give it ({size},)"
            )
        if np.dtype(vector.dtype) != csr.dtype:
            raise MatrixError(f"{name} is {vector.dtype} and the matrix {csr.dtype}; make them alike with astype")
        if not vector.flags.c_contiguous:
            raise MatrixError(f"the elements of {name} do not lie side by side; pass a copy, {name}.copy()")
    if xp_of(y).may_share_memory(x, y):
        raise MatrixError("x and y share memory, and a row would read what another has written: give y its own array")


# --- launches --------------------------------------------------------------------------------------------------------


def instance(name: str, *arguments: Any) -> str:
    """The name of a template with its arguments, types by those of NumPy: csr_thread<float, int>."""
    named = [np.dtype(one).name if not isinstance(one, int) else str(one) for one in arguments]
    return f"{name}<{', '.join(TYPES.get(one, one) for one in named)}>"


def _of(language: str, name: str, *arguments: Any) -> Any:
    """The kernel of that name; in C++ the instance for these template arguments, types by their NumPy names."""
    if language == NUMBA:
        return getattr(kernels, name)
    return CppKernel(SOURCE, instance(name, *arguments))


def _blocks(threads: int, block: int) -> int:
    return max(1, -(-threads // block))


def _as_it_is(csr: Csr) -> Csr:
    return csr


def _csr_rows(name: str, lanes: int) -> Callable[..., tuple[Launch, ...]]:
    """The launch of a kernel with so many threads per row."""

    def launches(
        csr: Csr, x: Array, y: Array, alpha: Any, beta: Any, *, language: str, block: int, device: Device
    ) -> tuple[Launch, ...]:
        kernel = _of(language, name, csr.dtype, csr.indptr.dtype)
        made, args = launchable(kernel, (csr.indptr, csr.indices, csr.data, x, y, alpha, beta), csr.rows)
        return (Launch(made, _blocks(csr.rows * lanes, block), block, args),)

    return launches


def lanes_for(csr: Csr) -> int:
    """Lanes per row for `csr_subwarp`: the smallest power of two that leaves a lane fewer than 8 entries of a mean row.

    On an H200 (data/results/spmv_h200.json), of 2, 4, 8 and 16 lanes 4 were fastest for rows of 27 entries, 8 for 49
    and for 65, 16 for 82; for 16 entries in random columns it made no difference.
    """
    mean = csr.nnz / csr.rows if csr.rows else 0.0
    return next((lanes for lanes in LANES if mean < 8 * lanes), LANES[-1])


def lanes_of_a_row(way: str, csr: Csr, options: Mapping[str, Any]) -> int | None:
    """How many lanes walk the longest row together; None for ways that bound their walk by themselves."""
    if way == "csr_subwarp":
        return options.get("lanes") or lanes_for(csr)
    return {"csr_thread": 1, "ell": 1, "sliced_ell": 1, "csr_warp": WARP}.get(way)


def _csr_subwarp(
    csr: Csr,
    x: Array,
    y: Array,
    alpha: Any,
    beta: Any,
    *,
    language: str,
    block: int,
    device: Device,
    lanes: int | None = None,
) -> tuple[Launch, ...]:
    """`lanes` per row, those of `lanes_for` if None. Raises MatrixError for a number that is none of LANES."""
    lanes = lanes_for(csr) if lanes is None else lanes
    if lanes not in LANES:
        raise MatrixError(f"a row gets 2, 4, 8, 16 or 32 lanes, not {lanes}")
    args = csr.indptr, csr.indices, csr.data, x, y, alpha, beta
    grid = _blocks(csr.rows * lanes, block)
    if language == NUMBA:
        return (Launch(kernels.csr_subwarp, grid, block, (*args, np.int32(lanes))),)
    made, args = launchable(_of(language, "csr_subwarp", csr.dtype, csr.indptr.dtype, lanes), args, csr.rows)
    return (Launch(made, grid, block, args),)


def _ell(
    form: Ell, x: Array, y: Array, alpha: Any, beta: Any, *, language: str, block: int, device: Device
) -> tuple[Launch, ...]:
    kernel = _of(language, "ell", form.values.dtype)
    args = form.columns, form.values, x, y, alpha, beta
    made, args = launchable(kernel, args, form.columns.shape[0], y.size)
    return (Launch(made, _blocks(y.size, block), block, args),)


def _sliced_ell(
    form: SlicedEll, x: Array, y: Array, alpha: Any, beta: Any, *, language: str, block: int, device: Device
) -> tuple[Launch, ...]:
    kernel = _of(language, "sliced_ell", form.values.dtype)
    args = form.offsets, form.columns, form.values, form.permutation, x, y, alpha, beta, np.int32(form.height)
    made, args = launchable(kernel, args, y.size)
    return (Launch(made, _blocks(y.size, block), block, args),)


def _hybrid(
    form: Hybrid, x: Array, y: Array, alpha: Any, beta: Any, *, language: str, block: int, device: Device
) -> tuple[Launch, ...]:
    stored = form.slices, form.bases, form.columns, form.far, form.values, form.rows, form.split, form.owners
    args = *stored, form.sums, form.arrived, x, y, alpha, beta
    kernel = _of(language, "hybrid", form.values.dtype, block)
    made, args = launchable(kernel, args, len(form.slices), form.rows.size)
    return (Launch(made, _blocks(len(form.slices) * WARP, block), block, args),)


def _merge_path(
    csr: Csr,
    x: Array,
    y: Array,
    alpha: Any,
    beta: Any,
    *,
    language: str,
    block: int,
    device: Device,
    items: int = ITEMS,
) -> tuple[Launch, ...]:
    """`items` steps of the merge a thread. Raises MatrixError for less than one, and where those of a block need more
    shared memory than there is."""
    shared = block * items * csr.dtype.itemsize
    most = (MAX_SHARED_BYTES - BORDERS) // (block * csr.dtype.itemsize)
    if not 1 <= items <= most:
        raise MatrixError(f"a thread of a block of {block} takes 1 to {most:,} steps of the merge, not {items:,}")
    grid = _blocks(-(-(csr.rows + csr.nnz) // items), block)
    warps = grid * block // WARP
    rows, values = device.xp.empty(warps, np.int32), device.xp.empty(warps, csr.dtype)
    walk = csr.indptr, csr.indices, csr.data, x, y, rows, values, alpha, beta, np.int32(items)
    path, walk = launchable(_of(language, "merge_path", csr.dtype, csr.indptr.dtype), walk, csr.rows)
    fix, add = launchable(_of(language, "merge_fix", csr.dtype), (rows, values, y, alpha), csr.rows, warps)
    return Launch(path, grid, block, walk, shared), Launch(fix, _blocks(warps * WARP, block), block, add)


# --- the ladder ------------------------------------------------------------------------------------------------------


def _to_ell(csr: Csr, *, most_bytes: int | None = None) -> Ell:
    return Ell.from_csr(csr, most_bytes)


def _to_sliced_ell(csr: Csr, *, height: int = 32, sigma: int = 1) -> SlicedEll:
    return SlicedEll.from_csr(csr, height, sigma)


def _to_hybrid(csr: Csr, *, steps: int = 32, sigma: int = 1, least: int | None = None) -> Hybrid:
    return Hybrid.from_csr(csr, steps, sigma, least)


WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        Way("csr_thread", "CSR, one thread per row", CSR_TYPES, _as_it_is, _csr_rows("csr_thread", 1)),
        Way("csr_warp", "CSR, one warp per row", CSR_TYPES, _as_it_is, _csr_rows("csr_warp", WARP)),
        Way("csr_subwarp", "CSR, a few lanes per row", (*CSR_TYPES, 8), _as_it_is, _csr_subwarp),
        Way("ell", "ELL, one thread per row", (np.float32,), _to_ell, _ell),
        Way("sliced_ell", "sliced ELL, one thread per row", (np.float32,), _to_sliced_ell, _sliced_ell),
        Way("hybrid", "hybrid, lanes by the row", (np.float32, BLOCK), _to_hybrid, _hybrid),
        Way("merge_path", "CSR, merge path", CSR_TYPES, _as_it_is, _merge_path),
    )
}
