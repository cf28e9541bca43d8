"""What follows from the times of `bench`: bandwidths and ratios on a matrix, means and targets over all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gpukit.registry import CPP

Matrix = dict[str, Any]
Entry = dict[str, Any]
CUPYX, CUSPARSE, KERNEL = "cupyx", "cusparse", "kernel"
# The targets that were set for an H200 in float32 with int32 indices, before anything was measured.
FEWEST_MATRICES, OVER_CUPYX, OVER_CUSPARSE, NEVER_BELOW = 12, 1.25, 1.10, 0.95
POISSON, POISSON_ROWS, POISSON_OF_COPY = "poisson2d", 9_000_000, 0.80


def compare(matrix: Matrix, copy_gb_s: float | None) -> None:
    """Add to each entry of a matrix that was timed what its time means, and to the matrix who was best.

    gb_s (CSR's bytes), own_gb_s (its own), fraction_of_copy; over_cupyx and over_cusparse, how many times as fast as
    those; equivalent_spmvs, its conversion in products of its own. `chosen`, `best_kernel`, `best_cusparse`: keys.
    """
    timed = [entry for entry in matrix["entries"] if entry["timing"]]
    for entry in timed:
        seconds = entry["timing"]["median_s"]
        entry["gb_s"] = matrix["csr_bytes"] / seconds / 1e9
        entry["own_gb_s"] = entry["own_bytes"] / seconds / 1e9
        entry["fraction_of_copy"] = entry["gb_s"] / copy_gb_s if copy_gb_s and not entry.get("on_host") else None
        entry["equivalent_spmvs"] = entry["conversion_s"] / seconds
    cupyx, cusparse = best(timed, CUPYX), best(timed, CUSPARSE)
    for entry in timed:
        for name, other in (("over_cupyx", cupyx), ("over_cusparse", cusparse)):
            entry[name] = other["timing"]["median_s"] / entry["timing"]["median_s"] if other else None
    ours = chosen_of(matrix)
    matrix["chosen"] = ours["key"] if ours else None
    matrix["best_kernel"] = _key(best(timed, KERNEL))
    matrix["best_cusparse"] = _key(cusparse)
    if ours and ours["timing"]:
        matrix["choice"]["equivalent_spmvs"] = matrix["choice"]["seconds"] / ours["timing"]["median_s"]


def best(entries: Sequence[Entry], group: str) -> Entry | None:
    """The fastest of a group; None where none was timed."""
    found = [entry for entry in entries if entry["group"] == group and entry["timing"]]
    return min(found, key=lambda entry: entry["timing"]["median_s"], default=None)


def chosen_of(matrix: Matrix) -> Entry | None:
    """The kernel that choose_format chose, in CUDA C++ where that was measured; None where it was not."""
    found = [entry for entry in matrix["entries"] if entry.get("chosen") and entry["status"] == "right"]
    return min(found, key=lambda entry: (entry["timing"] is None, entry["language"] != CPP), default=None)


def columns(matrices: Sequence[Matrix]) -> list[str]:
    """The columns of a table of all kernels: the variants, and what was chosen with options of its own."""
    entries = [entry for matrix in matrices for entry in matrix["entries"] if entry["group"] == KERNEL]
    return list(dict.fromkeys(entry["column"] for entry in entries))


def of_column(matrix: Matrix, column: str) -> list[Entry]:
    """A matrix's kernels of a column, in each language."""
    return [entry for entry in matrix["entries"] if entry["group"] == KERNEL and entry["column"] == column]


def _key(entry: Entry | None) -> str | None:
    return entry["key"] if entry else None


def geometric_mean(values: Sequence[float]) -> float | None:
    """The mean of ratios; None of none."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """Over all matrices that were measured on a GPU, as plain data:

    over_cupyx, over_cusparse, over_best_kernel: how many times as fast the chosen kernel is: "mean" (geometric),
    "least" and its matrix "where", "matrices" (how many). targets: what was wanted and what was reached.
    """
    found: dict[str, Any] = {}
    measured = [(matrix, ours) for matrix in result["matrices"] if (ours := chosen_of(matrix)) and ours["timing"]]
    for name, ratio in _RATIOS.items():
        pairs = [(value, matrix["name"]) for matrix, ours in measured if (value := ratio(matrix, ours)) is not None]
        least = min(pairs, default=(None, None))
        mean = geometric_mean([value for value, _ in pairs])
        found[name] = {"mean": mean, "least": least[0], "where": least[1], "matrices": len(pairs)}
    found["poisson"] = _poisson(result["matrices"])
    if measured and (result["dtype"], result["pointer"]) == ("float32", "int32"):
        found["targets"] = _targets(found)
    return found


def _over_best(matrix: Matrix, ours: Entry) -> float | None:
    fastest = best(matrix["entries"], KERNEL)
    return fastest["timing"]["median_s"] / ours["timing"]["median_s"] if fastest else None


_RATIOS: dict[str, Callable[[Matrix, Entry], float | None]] = {
    "over_cupyx": lambda matrix, ours: ours["over_cupyx"],
    "over_cusparse": lambda matrix, ours: ours["over_cusparse"],
    "over_best_kernel": _over_best,
}


def _poisson(matrices: Sequence[Matrix]) -> dict[str, Any] | None:
    """The five-point matrix of 9 million rows: fractions of the copy, by CSR's bytes and by the kernel's own."""
    for matrix in matrices:
        ours = chosen_of(matrix)
        if matrix["name"] == POISSON and matrix["rows"] >= POISSON_ROWS and ours and ours.get("fraction_of_copy"):
            own = ours["fraction_of_copy"] * ours["own_gb_s"] / ours["gb_s"]
            return {"rows": matrix["rows"], "fraction_of_copy": ours["fraction_of_copy"], "by_own_bytes": own}
    return None


def _targets(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Each target: what it is of, wanted, got, whether it was reached, and by what factor it was passed or missed."""
    cupyx, cusparse, poisson = found["over_cupyx"], found["over_cusparse"], found["poisson"]
    wanted = (
        ("matrices", FEWEST_MATRICES, min(cupyx["matrices"], cusparse["matrices"]), ""),
        ("geometric mean over CuPy", OVER_CUPYX, cupyx["mean"], ""),
        ("geometric mean over the best of cuSPARSE", OVER_CUSPARSE, cusparse["mean"], ""),
        ("least over the best of cuSPARSE", NEVER_BELOW, cusparse["least"], cusparse["where"] or ""),
        (
            f"part of a copy's bandwidth, {POISSON}, {POISSON_ROWS:,} rows",
            POISSON_OF_COPY,
            poisson["fraction_of_copy"] if poisson else None,
            "",
        ),
    )
    return [
        {
            "what": what,
            "wanted": least,
            "got": got,
            "reached": got is not None and got >= least,
            "by": None if got is None else got / least,
            "where": where,
        }
        for what, least, got, where in wanted
    ]
