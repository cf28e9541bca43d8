"""Numbers of the deck on coalescing: sectors counted by the machine, and times of the H200's recordings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import gpukit
from gpukit.kernels import coalescing, layout, rows_and_columns, width
from gpukit.plots.sector_map import requests_of, sectors_of
from gpukit.slides import Table

from . import common

N = 256  # elements that the counted copies copy


def floats(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def counted(kernel: Any, *args: Any, grid: Any = (4,), block: Any = (64,)) -> Mapping[str, float]:
    """The counters of a launch at source level."""
    return gpukit.profile(kernel, grid, block, *args).counters


def stride(elements: int) -> Mapping[str, float]:
    """The counters of a copy whose lanes read that many elements apart; all from one place for 0."""
    return counted(coalescing.every_nth, floats(N * elements + 1), elements, floats(N))


def square(kernel: Any) -> Mapping[str, float]:
    """The counters of a copy of a matrix, row by row in memory."""
    return counted(kernel, floats(64, 64), floats(64, 64), grid=(2, 8), block=(32, 8))


def a_gather() -> tuple[float, float]:
    """Sectors of a request for the index, and of one for what it points to, on average of a block's warps."""
    index = np.random.default_rng(0).permutation(1 << 18).astype(np.int32)
    trace = gpukit.trace(coalescing.gather, 1, 256, floats(index.size), index, floats(256)).to_dict()
    requests = {
        name: [r for warp in range(8) for r in requests_of(trace, "global", warp, None, name, ("load",))]
        for name in ("index", "x")
    }
    found = [np.mean([len(sectors_of(trace, request)) for request in requests[name]]) for name in ("index", "x")]
    return float(found[0]), float(found[1])


# --- in the text ----------------------------------------------------------------------------------------------------


def sectors_of_backward() -> int:
    return round(counted(coalescing.backward, floats(N), floats(N))["load_sectors_per_request"])


def sectors_of_one_address() -> int:
    return round(stride(0)["load_sectors_per_request"])


def sectors_of_the_index() -> int:
    return round(a_gather()[0])


def sectors_of_the_gather() -> float:
    return a_gather()[1]


# --- tables ---------------------------------------------------------------------------------------------------------


def strides() -> Table:
    """Sectors, bytes used and time by stride."""
    found = common.rungs("coalescing")
    keys = {"1": "contiguous", **{str(s): f"stride_{s}" for s in coalescing.STRIDES}}
    rows = []
    for shown, key in keys.items():
        rung, counters = found[key], common.counters("coalescing", key)
        rows.append(
            [
                shown,
                f"{counters['load_sectors_per_request']:.0f}",
                common.percent(counters["load_efficiency"]),
                common.millis(rung["timing"]["median_s"]),
                f"{rung['bandwidth_gb_s']:,.0f}",
                common.percent(rung["fraction_of_copy"]),
            ]
        )
    header = ["stride", "sectors per request", "bytes used", "time", "GB/s", "of a copy"]
    return Table(header, rows, numeric=range(6), strong=[4, 5])


def offsets() -> Table:
    """Sectors and time by offset."""
    keys = {"x[i]": "contiguous", "x[i + 1]": "misaligned", "x[i + 8]": "shifted_by_a_sector"}
    rows = []
    for shown, key in keys.items():
        sectors = common.counters("coalescing", key)["load_sectors_per_request"]
        rows.append([f"`{shown}`", f"{sectors:.0f}", common.millis(common.seconds("coalescing", key))])
    return Table(["index", "sectors per request", "time on the H200"], rows, numeric=[1, 2])


def layouts() -> Table:
    """An array of structures against a structure of arrays."""
    rows = []
    for name in ("array_of_structures", "structure_of_arrays"):
        counters = common.counters("layout", name)
        rows.append(
            [
                name.replace("_", " "),
                f"{counters['load_sectors_per_request']:.0f}",
                common.percent(counters["load_efficiency"]),
                common.millis(common.seconds("layout", name)),
                common.millis(common.seconds("layout", f"cpp:{name}")),
            ]
        )
    header = ["layout", "sectors per request", "bytes used", "numba", "CUDA C++"]
    return Table(header, rows, numeric=[1, 2, 3, 4], strong=[1])


def rows_by_columns() -> Table:
    """Lanes along rows and down columns, in both orders of memory."""
    names = {
        "along_rows": ("along a row", "row by row"),
        "down_columns": ("down a column", "row by row"),
        "down_columns_in_order": ("down a column", "column by column"),
    }
    rows = []
    for key, words in names.items():
        counters = common.counters("rows_and_columns", key)
        sectors = [f"{counters[f'{kind}_sectors_per_request']:.0f}" for kind in ("load", "store")]
        rows.append([*words, *sectors, common.millis(common.seconds("rows_and_columns", key))])
    header = ["lanes run", "memory lies", "sectors per load", "per store", "time"]
    return Table(header, rows, numeric=[2, 3, 4])


def all_patterns() -> Table:
    """Sectors per load request of every pattern, as the machine counts them now."""
    points = floats(N, layout.FIELDS)
    bytes_, doubles, pairs = np.zeros(N, np.int8), np.zeros(N, np.float64), np.zeros(N, np.complex128)
    looked_up = a_gather()[1]
    left = {
        "one address": stride(0),
        "side by side, `x[i]`": stride(1),
        "reversed": counted(coalescing.backward, floats(N), floats(N)),
        "misaligned, `x[i + 1]`": counted(coalescing.shifted, floats(N + 1), 1, floats(N)),
        "stride 2": stride(2),
        "stride 3": stride(3),
        "stride 8": stride(8),
        "stride 33": stride(33),
    }
    right = {
        "x of a point of 4": counted(layout.array_of_structures, points, floats(N)),
        "x of fields": counted(layout.structure_of_arrays, floats(layout.FIELDS, N), floats(N)),
        "along a row": square(rows_and_columns.along_rows),
        "down a column": square(rows_and_columns.down_columns),
        "gather, at random": {"load_sectors_per_request": looked_up},
        "1 byte a lane": counted(width.one_byte, bytes_, bytes_.copy()),
        "8 bytes a lane": counted(width.eight_bytes, doubles, doubles.copy(), floats(2 * N), floats(2 * N)),
        "16 bytes in two loads": counted(width.sixteen_bytes_in_two, pairs, pairs.copy(), floats(4 * N), floats(4 * N)),
    }
    rows = [
        [a, f"{counters['load_sectors_per_request']:.0f}", b, f"{others['load_sectors_per_request']:.0f}"]
        for (a, counters), (b, others) in zip(left.items(), right.items(), strict=True)
    ]
    return Table(["pattern", "sectors", "pattern", "sectors"], rows, numeric=[1, 3])
