"""The matrices of the benchmark, with right answers: made by other processes while earlier ones are measured."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from types import ModuleType
from typing import Any

import numpy as np

from gpukit import plugins, registry

from . import checks, generators, twins
from .errors import MatrixError
from .formats import Array, Csr

LARGEST_WHOLE = 3  # whole numbers go from 1 to it
MOST_WORKERS = 8


@dataclass(frozen=True)
class Source:
    """Where a matrix comes from: `make` with the arguments for a GPU, or with those for the CPU machine."""

    about: str
    make: Callable[..., Csr]
    gpu: Mapping[str, Any]
    cpu: Mapping[str, Any]


def _twin(name: str, cpu_rows: int) -> Source:
    model = twins.TWINS[name]
    about = f"twin of {model.group}/{name}"
    return Source(about, twins.twin, {"name": name}, {"name": name, "rows": cpu_rows})


# The first of each kind is past the caches of a GPU; twins are as large as what they are twins of.
SOURCES: dict[str, Source] = {
    "poisson2d": Source("5-point stencil on a square", generators.poisson2d, {"side": 3000}, {"side": 40}),
    "poisson3d": Source("7-point stencil on a cube", generators.poisson3d, {"side": 200}, {"side": 12}),
    "poisson3d27": Source(
        "27-point stencil on a cube", generators.poisson3d, {"side": 140, "points": 27}, {"side": 9, "points": 27}
    ),
    "fem_blocks": Source("finite elements, blocks of 3 x 3", generators.fem_blocks, {"side": 60}, {"side": 4}),
    "banded": Source("band of 65 columns", generators.banded, {"rows": 600_000}, {"rows": 400}),
    "road": Source("road network", generators.road, {"side": 4000}, {"side": 45}),
    "uniform": Source("16 entries in every row, at random", generators.uniform, {"rows": 4_000_000}, {"rows": 1000}),
    "half_empty": Source("half of the rows empty", generators.half_empty, {"rows": 8_000_000}, {"rows": 2000}),
    "zipf": Source("row lengths of a power law", generators.zipf, {"rows": 12_000_000}, {"rows": 3000}),
    "rmat": Source("R-MAT graph", generators.rmat, {"scale": 20}, {"scale": 9}),
    "arrow": Source("diagonal, first row and first column", generators.arrow, {"rows": 1_000_000}, {"rows": 2000}),
    "webbase-1M": _twin("webbase-1M", 3000),
    "circuit5M": _twin("circuit5M", 1500),
    "ASIC_680k": _twin("ASIC_680k", 2000),
    "pwtk": _twin("pwtk", 300),
    "cant": _twin("cant", 200),
    "scircuit": _twin("scircuit", 2000),
    "rail4284": _twin("rail4284", 60),
    "mac_econ_fwd500": _twin("mac_econ_fwd500", 2000),
    "cop20k_A": _twin("cop20k_A", 600),
    "soc-LiveJournal1": _twin("soc-LiveJournal1", 1000),
    "roadNet-TX": _twin("roadNet-TX", 3000),
    "kron_g500-logn18": _twin("kron_g500-logn18", 400),
    "ldoor": _twin("ldoor", 250),
    "cage15": _twin("cage15", 700),
}


@dataclass(frozen=True)
class Case:
    """A matrix on the host, a vector, and what their product must be.

    expected, bound: (rows,) float64, the product in higher precision, and how far off roundings may put a right one.
    whole_expected: (rows,) float64, the product of `whole`, which is exact. seconds: what all that took to make.
    """

    name: str
    about: str
    csr: Csr
    x: np.ndarray
    expected: np.ndarray
    bound: np.ndarray
    whole_expected: np.ndarray
    seconds: float

    @cached_property
    def lengths(self) -> np.ndarray:
        """(rows,) entries of each row."""
        return np.asarray(self.csr.lengths)


def whole_numbers(csr: Csr, xp: ModuleType) -> tuple[Csr, Array]:
    """A matrix of the same pattern and a vector, with numbers from 1 to 3 in turns."""
    data = (xp.arange(csr.nnz, dtype=np.int32) % LARGEST_WHOLE + 1).astype(csr.dtype)
    x = (xp.arange(csr.columns, dtype=np.int32) * 7 % 5 % LARGEST_WHOLE + 1).astype(csr.dtype)
    return Csr(csr.shape, csr.indptr, csr.indices, data), x


def case_of(name: str, csr: Csr, seed: int = 0, about: str = "") -> Case:
    """A case of any matrix. Raises MatrixError where sums of whole numbers would not be exact."""
    began = time.perf_counter()
    longest = int(csr.lengths.max()) if csr.rows else 0
    if longest * LARGEST_WHOLE**2 >= 2 ** (np.finfo(csr.dtype).nmant + 1):
        raise MatrixError(f"{name} has a row of {longest:,} entries, whose sums {csr.dtype} does not hold exactly")
    x = np.random.default_rng([seed, 7]).uniform(-1, 1, csr.columns).astype(csr.dtype)
    expected, bound = (np.asarray(of(csr, x), np.float64) for of in (checks.reference, checks.bound))
    whole_expected = np.asarray(checks.reference(*whole_numbers(csr, np)), np.float64)
    return Case(name, about, csr, x, expected, bound, whole_expected, time.perf_counter() - began)


# --- all of them -----------------------------------------------------------------------------------------------------


def chosen(names: Sequence[str] = ()) -> list[str]:
    """The names as given, or all there are. Raises MatrixError for one that is none."""
    for name in names:
        if name not in SOURCES:
            guess = registry.nearest(name, SOURCES)
            raise MatrixError(f"there is no matrix {name!r}{guess}; choose from: {', '.join(SOURCES)}")
    return list(names) or list(SOURCES)


def make(name: str, machine: str, dtype: str = "float32", pointer: str = "int32", seed: int = 0) -> Case:
    """A matrix in the size for a machine ("cpu", "gpu"), with its answers."""
    began = time.perf_counter()
    source = SOURCES[name]
    size = source.gpu if machine == "gpu" else source.cpu
    csr = source.make(**size, dtype=np.dtype(dtype), pointer=np.dtype(pointer), seed=seed)
    case = case_of(name, csr, seed, source.about)
    return replace(case, seconds=time.perf_counter() - began)


def make_all(
    names: Sequence[str],
    machine: str,
    dtype: str = "float32",
    pointer: str = "int32",
    seed: int = 0,
    workers: int | None = None,
) -> Iterator[Case]:
    """Each case in turn. Those for a GPU, which are large, are made by other processes, ahead of the one that is
    measured: by `workers` of them, half of the processors unless given."""
    rest = machine, dtype, pointer, seed
    if workers is None:
        workers = 1 if machine == "cpu" else min(MOST_WORKERS, len(names), (os.cpu_count() or 1) // 2)
    if workers < 2:
        yield from (make(name, *rest) for name in names)
        return
    # A process that is made anew knows the labs' packages once they are loaded, and no GPU.
    with ProcessPoolExecutor(workers, get_context("spawn"), plugins.load, ("spmv",)) as pool:
        waiting = [pool.submit(make, name, *rest) for name in names]
        try:
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()
