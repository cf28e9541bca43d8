"""What our kernels ask of the memory, counted on the CPU machine at the compiled level: requests and sectors an id.

A sector is 32 bytes. A request is one load, store or atomic of a warp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gpukit

from ..fast.operations import LANES, SOURCE, SPAN, THREADS

DIMS = (4, 8, 16, 32)
SORTED = "sorted"
KINDS = (SORTED, "random", "skewed")
IMPRESSIONS, FIELDS, NUMBERS = 512, 6, 13
IDS = IMPRESSIONS * FIELDS
ROWS = 1 << 12  # of the table: neighbours among sorted ids are often the same, or one apart
EXPONENT = 1.05  # of skewed ids: the k-th row is asked for as often as k ** -EXPONENT says
UPDATE = "rowwise_adagrad"  # both of its launches together
KERNELS = (
    "gather_thread",
    "gather_lane",
    "gather_vector",
    "batch",
    "batch (bf16)",
    "scatter_atomic",
    "rowwise_adagrad",
)
COUNTERS = (
    "global_load_requests",
    "global_load_sectors",
    "global_store_requests",
    "global_store_sectors",
    "global_atomics",
    "global_atomic_sectors",
)


def ids_of(kind: str, n: int, rows: int, seed: int = 0) -> np.ndarray:
    """(n,) int32 below `rows`: drawn at random, those in order, or drawn so that few rows have most of them."""
    rng = np.random.default_rng(seed)
    if kind == "skewed":
        weights = np.arange(1, rows + 1, dtype=np.float64) ** -EXPONENT
        ranks = np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(n))
        return rng.permutation(rows)[np.minimum(ranks, rows - 1)].astype(np.int32)
    ids = rng.integers(0, rows, n, dtype=np.int32)
    return np.sort(ids) if kind == SORTED else ids


def measure(
    kernels: Sequence[str] = KERNELS, kinds: Sequence[str] = KINDS, dims: Sequence[int] = DIMS
) -> Iterator[dict[str, Any]]:
    """For each kernel, kind of ids and width of a row: counters over the ids. The update sorts by itself, and has no
    rows of 4 numbers."""
    updates = [name for dim in dims if dim // 4 in LANES for name in _update(dim // 4)]
    names = ("batch<float>", "batch<Bf16>", "scatter_atomic<float>", *updates)
    module = gpukit.RawModule(code=SOURCE.read_text(encoding="utf-8"), name_expressions=names)
    for name in kernels:
        for kind in (kind for kind in kinds if name != UPDATE or kind != SORTED):
            for dim in (dim for dim in dims if name != UPDATE or dim // 4 in LANES):
                counted = dict.fromkeys(COUNTERS, 0.0)
                for kernel, threads, arguments in _launches(name, kind, dim, module.get_function):
                    report = gpukit.profile(kernel, -(-threads // THREADS), THREADS, *arguments, hazards=False)
                    for counter in COUNTERS:
                        counted[counter] += report.counters[counter]
                each = {counter: count / IDS for counter, count in counted.items()}
                yield {"kernel": name, "ids": kind, "dim": dim, "counters": each}


def _launches(name: str, kind: str, dim: int, kernel: Callable[[str], Any]) -> list[tuple[Any, int, tuple[Any, ...]]]:
    """(kernel, threads, arguments) of each launch."""
    ids, table = ids_of(kind, IDS, ROWS), np.zeros((ROWS, dim), np.float32)
    one, width = np.int32(1), FIELDS * dim + 16
    sizes = np.int32(IDS), np.int32(dim)
    if name.startswith("gather"):
        each = {"gather_thread": 1, "gather_lane": dim, "gather_vector": dim // 4}[name]
        return [(kernel(name), IDS * each, (ids, table, np.empty((IDS, dim), np.float32), *sizes))]
    if name.startswith("batch"):
        bf16 = name.endswith("(bf16)")
        x = np.empty((IMPRESSIONS, width), np.uint16 if bf16 else np.float32)
        dense, labels = np.zeros((IMPRESSIONS, NUMBERS), np.float32), np.zeros(IMPRESSIONS, np.float32)
        written = x, np.empty(IMPRESSIONS, np.float32), np.empty(IDS, np.int32)
        numbers = map(np.int32, (IMPRESSIONS, FIELDS, NUMBERS, width, dim))
        arguments = (ids, dense, labels, table, np.zeros(1, np.int64), *written, *numbers)
        return [(kernel("batch<Bf16>" if bf16 else "batch<float>"), IMPRESSIONS * width // 4, arguments)]
    gradient = np.ones((IDS, dim), np.float32)
    if name == "scatter_atomic":
        arguments = (ids, gradient, table, np.int32(IDS), one, np.int32(dim), np.int32(dim))
        return [(kernel("scatter_atomic<float>"), IDS * dim, arguments)]
    order = np.argsort(ids, kind="stable")
    keys, spans, state = ids[order], -(-IDS // SPAN), np.zeros(ROWS, np.float32)
    heads, tails = (np.empty((spans, dim), np.float32) for _ in range(2))
    rates = np.float32(0.02), np.float32(1e-8)
    step = (keys, order, gradient, table, state, heads, tails, np.int32(IDS), one, np.int32(dim), *rates)
    finish = (keys, heads, tails, table, state, np.int32(IDS), *rates)
    both = zip(_update(dim // 4), (step, finish), strict=True)
    return [(kernel(name), spans * dim // 4, arguments) for name, arguments in both]


def _update(lanes: int) -> tuple[str, str]:
    """The two kernels of an update of float32, for rows of so many lanes."""
    return f"rowwise_adagrad<float, {lanes}>", f"rowwise_adagrad_finish<{lanes}>"
