"""Numbers and tables of the deck on sparse matrices: the words of Moby-Dick, and what an H200 made of others."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from gpukit import plugins, roofline
from gpukit.slides import Table, recording
from gpukit.tour import matrix

from . import common

RECORDED = "data/results/spmv_h200.json"
HARDWARE = "data/results/h200_spmv_counters.json"
WORD = "whale"
HEIGHT = 32  # rows of a slice
MATRICES = {  # what slides call the recorded matrices
    "road": "roads",
    "fem_blocks": "finite elements",
    "poisson2d": "5-point grid",
    "circuit5M": "one giant row",
    "arrow": "one full row",
    "uniform": "random columns",
}


# --- the matrix of words ---------------------------------------------------------------------------------------------


@functools.cache
def words() -> matrix.Matrix:
    return matrix.load()


def rows() -> int:
    return words().rows


def entries() -> int:
    return words().nonzeros


def filled() -> str:
    """The share of all pairs of words that stand side by side somewhere."""
    return f"{words().nonzeros / words().rows ** 2:.1%}".replace("%", " %")


def median() -> int:
    return int(np.median(words().row_lengths))


def longest() -> int:
    return int(words().row_lengths.max())


def warp() -> slice:
    """The rows of the warp that has the word, with a thread a row."""
    place = words().words.index(WORD)
    return slice(place // 32 * 32, place // 32 * 32 + 32)


def lanes_of_warp() -> str:
    """Lanes at work, on average, while that warp goes on."""
    lengths = words().row_lengths[warp()]
    return f"{lengths.sum() / lengths.max():.1f}"


def slots() -> Table:
    """Slots per entry of the matrix of words, by format."""
    spmv = _lab("formats")
    lengths = words().row_lengths
    ell, hybrid = _lab("formats.ell"), _lab("formats.hybrid")
    count = words().nonzeros
    csr = spmv.Csr((words().rows,) * 2, words().indptr, words().indices, words().data)
    choice = _lab("choosing").choose_format(csr)
    found = (
        ("ELL", ell.ell_slots(lengths)),
        ("sliced ELL, in the order of the matrix", ell.slots_of(lengths, HEIGHT)),
        ("sliced ELL, windows of 256 rows sorted", ell.slots_of(lengths, HEIGHT, 256)),
        ("sliced ELL, all rows sorted", ell.slots_of(lengths, HEIGHT, lengths.size)),
        ("hybrid, long rows cut in pieces", hybrid.slots_of(lengths, **choice.options)),
    )
    table = [
        [name, f"{slots:,}", f"{slots / count:,.2f}", f"{1 - count / slots:.1%}".replace("%", " %")]
        for name, slots in found
    ]
    return Table(["format", "slots", "slots / entry", "padding"], table, numeric=[1, 2, 3], strong=[len(table) - 1])


def ell_blow_up() -> str:
    return f"{words().rows * longest() / words().nonzeros:,.0f}"


# --- bytes and floors ------------------------------------------------------------------------------------------------


def parts_of_bytes() -> Table:
    """What of CSR's bytes is for what, the floor at a copy's bandwidth, and the fraction that our kernel reaches."""
    table = []
    copy = recording(RECORDED)["ceilings"]["copy"]
    for name in ("fem_blocks", "road"):
        found = matrix_of(name)
        rows, columns, all_bytes = found["rows"], found["columns"], found["csr_bytes"]
        shares = [all_bytes - 4 * (2 * rows + 1 + columns), 4 * (rows + 1), 4 * (rows + columns)]
        cells = [f"{MATRICES[name]}, {found['lengths']['mean']:.1f} a row", f"{all_bytes / 1e6:,.0f} MB"]
        cells += [common.percent(share / all_bytes) for share in shares]
        cells += [f"{all_bytes / copy / 1e9 * 1e6:,.0f} us", _share(found, ("hybrid",))]
        table.append(cells)
    header = ["float32", "bytes", "values, columns", "row pointer", "x and y", "floor", "fraction"]
    return Table(header, table, numeric=[1, 2, 3, 4, 5, 6])


def fractions() -> Table:
    """Part of a copy's bandwidth that each kernel reaches, by CSR's bytes."""
    columns = (
        ("thread", ("csr_thread",)),
        ("warp", ("csr_warp",)),
        ("part of a warp", ("csr_subwarp",)),
        ("sliced ELL", ("sliced_ell",)),
        ("merge path", ("merge_path",)),
        ("hybrid", ("hybrid",)),
        ("cuSPARSE", ("cusparse",)),
    )
    table = [[about, *(_share(matrix_of(name), wanted) for _, wanted in columns)] for name, about in MATRICES.items()]
    return Table(["rows", *(name for name, _ in columns)], table, numeric=list(range(1, 8)))


def thread_or_warp() -> Table:
    """One thread against one warp a row, by the length of the rows."""
    table = []
    for name in ("road", "poisson2d", "fem_blocks"):
        found = matrix_of(name)
        cells = [MATRICES[name], f"{found['lengths']['mean']:.1f}", f"{found['lengths']['max']:,}"]
        cells += [_share(found, (key,)) for key in ("csr_thread", "csr_warp")]
        table.append([*cells, _share(found, ("csr_subwarp",))])
    header = ["matrix", "entries a row", "longest", "thread", "warp", "part of a warp"]
    return Table(header, table, numeric=[1, 2, 3, 4, 5])


def libraries() -> Table:
    """The kernel that was chosen over the libraries, on all matrices."""
    found = recording(RECORDED)["summary"]
    table = []
    for name, key in (("CuPy, A @ x", "over_cupyx"), ("the best of cuSPARSE", "over_cusparse")):
        one = found[key]
        table.append([name, f"{one['mean']:.2f}x", f"{one['least']:.2f}x", one["where"], one["matrices"]])
    return Table(["our kernel, compared with", "mean", "least", "on", "matrices"], table, numeric=[1, 2, 4])


def conversion() -> str:
    """Products that choosing and converting take the time of, on the matrix of finite elements."""
    found = matrix_of("fem_blocks")
    entry = next(one for one in found["entries"] if one.get("chosen") and one["language"] == "CUDA C++")
    return f"{entry['equivalent_spmvs'] + found['choice']['equivalent_spmvs']:,.0f}"


def hardware() -> Table:
    """What Nsight Compute counted for one thread and one warp a row, on rows of uneven length."""
    table = []
    for name, key in (("one thread a row", "csr_thread"), ("one warp a row", "csr_warp")):
        launch = f"launches['pareto/{key}/numba']"
        counted = [recording(HARDWARE, f"{launch}.counters.global_load_{what}.gpu") for what in ("requests", "sectors")]
        lanes = recording(HARDWARE, f"{launch}.gpu_instructions.thread_per_warp")
        table.append([name, *(f"{one:,}" for one in counted), f"{lanes:.1f} of 32"])
    return Table(["", "load requests", "load sectors", "active lanes"], table, numeric=[1, 2, 3])


def random_columns() -> str:
    """Billion entries a second where columns are random."""
    found = matrix_of("uniform")
    best = min(one["timing"]["median_s"] for one in found["entries"] if one["group"] == "kernel" and one["timing"])
    return f"{found['nnz'] / best / 1e9:.0f}"


def intensity_of_double() -> str:
    """FLOP per byte of an entry in float64: a product and an addition for a value and its column."""
    return f"{roofline.intensity(2, 8 + 4):.2f}"


# --- help ------------------------------------------------------------------------------------------------------------


def _lab(module: str) -> Any:
    plugins.load("spmv")
    return importlib.import_module(f"{plugins.NAMESPACE}.spmv.{module}")


def matrix_of(name: str) -> dict[str, Any]:
    """What was recorded of a matrix."""
    return recording(RECORDED, f"matrices[name={name}]")


def best_of(found: dict[str, Any], wanted: tuple[str, ...]) -> float | None:
    """The largest part of the copy that any of these reached: kernels by the way, options aside, or libraries."""
    shares = []
    for one in found["entries"]:
        column = str(one.get("column") or "").partition("(")[0].partition(",")[0]
        if (column in wanted or one["group"] in wanted) and one["timing"] and one["fraction_of_copy"]:
            shares.append(one["fraction_of_copy"])
    return max(shares, default=None)


def _share(found: dict[str, Any], wanted: tuple[str, ...]) -> str:
    share = best_of(found, wanted)
    return "-" if share is None else common.percent(share)
