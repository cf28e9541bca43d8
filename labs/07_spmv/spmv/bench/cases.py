"""The matrices of the benchmark, with right answers: made by other processes while earlier ones are measured."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType

import numpy as np

from gpukit import plugins, registry

from .. import checks, matrices
from ..errors import MatrixError
from ..formats import Csr
from ..formats.arrays import Array

MOST_WORKERS = 8
# What the CPU machine multiplies by every kernel in both languages, all of it in less than a minute: rows.
CPU_ROWS = {
    "poisson2d": 1600,
    "poisson3d_27": 729,
    "fem_blocks": 192,
    "banded": 300,
    "road": 2025,
    "uniform": 700,
    "half_empty": 2000,
    "zipf": 3000,
    "rmat": 512,
    "arrow": 2000,
    "webbase-1M": 2500,
    "circuit5M": 1000,
    "pwtk": 200,
    "rail4284": 64,
    "cop20k_A": 500,
    "roadNet-TX": 2500,
}


@dataclass(frozen=True)
class Case:
    """A matrix on the host, a vector, and what their product must be.

    expected, bound: (rows,) float64, the product in higher precision, and how far off roundings may put a right one.
    whole_expected: (rows,) float64, the product of `whole_numbers`, which is exact. seconds: what all that took to
    make.
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
    """A matrix of the same pattern and a vector, with whole numbers whose sums are exact in any order: 1, 2 and 3, or,
    where a row is too long for those, 1 and -1.

    Raises MatrixError where a row is too long for these, too.
    """
    longest = int(csr.lengths.max()) if csr.rows else 0
    limit = checks.exact_limit(csr.dtype)
    if longest > limit:
        raise MatrixError(f"a row of {longest:,} entries is too long: {csr.dtype} counts to {limit:,}")
    data = xp.arange(csr.nnz, dtype=np.int32) % 3 + 1
    x = xp.arange(csr.columns, dtype=np.int32) * 7 % 5 % 3 + 1
    if longest * 9 > limit:
        data, x = (xp.where(numbers == 2, -1, 1) for numbers in (data, x))
    return Csr(csr.shape, csr.indptr, csr.indices, data.astype(csr.dtype)), x.astype(csr.dtype)


def case_of(name: str, csr: Csr, seed: int = 0, about: str = "") -> Case:
    """A case of any matrix on the host. Raises MatrixError as `whole_numbers`."""
    began = time.perf_counter()
    x = np.random.default_rng([seed, 7]).uniform(-1, 1, csr.columns).astype(csr.dtype)
    expected, bound = (np.asarray(of(csr, x), np.float64) for of in (checks.reference, checks.bound))
    whole_expected = np.asarray(checks.reference(*whole_numbers(csr, np)), np.float64)
    return Case(name, about, csr, x, expected, bound, whole_expected, time.perf_counter() - began)


# --- by name ---------------------------------------------------------------------------------------------------------


def chosen(names: Sequence[str], machine: str) -> list[str]:
    """The names as given, or those that are measured by default: all that are not real ones, which are small, on a GPU.

    Raises MatrixError for a name that is none.
    """
    for name in names:
        if name not in matrices.MATRICES:
            rest = registry.nearest(name, matrices.MATRICES) or f"; choose from: {', '.join(matrices.MATRICES)}"
            raise MatrixError(f"there is no matrix {name!r}{rest}")
    if names or machine == "cpu":
        return list(names or CPU_ROWS)
    return [name for name, named in matrices.MATRICES.items() if named.kind != matrices.REAL]


def make(name: str, machine: str, dtype: str = "float32", pointer: str = "int32", seed: int = 0) -> Case:
    """A matrix at full size for a GPU ("gpu"), at a small one for the CPU machine ("cpu"), with its answers."""
    began = time.perf_counter()
    filling = matrices.Filling(dtype=np.dtype(dtype), pointer=np.dtype(pointer))
    if machine == "gpu":
        csr = matrices.make(name, seed=seed, **filling)
    elif name in CPU_ROWS:
        csr = matrices.make(name, rows=CPU_ROWS[name], seed=seed, **filling)
    else:
        csr = matrices.small(name, seed=seed, **filling)
    case = case_of(name, csr, seed, matrices.MATRICES[name].title)
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
    # A process that is made anew knows the labs' packages once they are loaded, and no GPU. Arrays come back in files:
    # taking them from a pipe would keep this process from launching what it times.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), plugins.load, ("spmv",))
    with tempfile.TemporaryDirectory(prefix="gpukit-") as folder:
        try:
            left = deque(names)
            waiting = deque[Future[Path]]()
            while left or waiting:
                while left and len(waiting) < workers:
                    waiting.append(pool.submit(_make_into, Path(folder), left.popleft(), rest))
                yield _load(waiting.popleft().result())
        finally:
            pool.shutdown(cancel_futures=True)


_CSR, _REST = ("indptr", "indices", "data"), ("x", "expected", "bound", "whole_expected")


def _make_into(folder: Path, name: str, rest: tuple[str, str, str, int]) -> Path:
    """A case in files of a folder of its own."""
    case = make(name, *rest)
    place = folder / name
    place.mkdir()
    for owner, names in ((case.csr, _CSR), (case, _REST)):
        for array in names:
            np.save(place / f"{array}.npy", getattr(owner, array))
    told = {"name": name, "about": case.about, "shape": case.csr.shape, "seconds": case.seconds}
    (place / "case.json").write_text(json.dumps(told), encoding="utf-8")
    return place


def _load(place: Path) -> Case:
    """What `_make_into` wrote, which is then no longer there."""
    told = json.loads((place / "case.json").read_text(encoding="utf-8"))
    arrays: dict[str, np.ndarray] = {}
    for name in (*_CSR, *_REST):
        arrays[name] = np.load(place / f"{name}.npy")
        (place / f"{name}.npy").unlink()
    rows, columns = told["shape"]
    csr = Csr((rows, columns), *(arrays[name] for name in _CSR))
    rest = {name: arrays[name] for name in _REST}
    return Case(told["name"], told["about"], csr, seconds=told["seconds"], **rest)
