"""`gpukit bench spmv` in a terminal. Words carry the meaning, colour repeats it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from gpukit.bench.table import STATUS_STYLES
from gpukit.bench.units import counter_name, number
from gpukit.registry import CPP, NUMBA
from gpukit.report.layout import compact
from gpukit.report.tables import Cell, fitting
from gpukit.timing import in_units

from . import summary
from .figures import short

Result = dict[str, Any]
Matrix = dict[str, Any]
Entry = dict[str, Any]
FEW = 2  # matrices up to which each has a table of its own
PER_ENTRY = ("global_load_requests", "global_load_sectors")
CHOSEN = "> is what choose_format chose"
NARROW = ("csr_subwarp", "subwarp")
IN_CPP = " in C++"
LARGE_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+|\d{4,}")


def show(result: Result, console: Console) -> None:
    """Print what `measure` returned."""
    gpu = result["device"] == "gpu"
    console.print(_heading(result), highlight=False)
    matrices, width = result["matrices"], console.width
    if gpu:
        _print(console, _contenders(matrices, width))
        _print(console, _grid(matrices, _share, f"Percent of a copy's bandwidth, the faster language; {CHOSEN}", width))
        if "summary" in result:
            _print(console, _summary(result["summary"], width))
    if not gpu and len(matrices) > FEW:
        for name in (*PER_ENTRY, "active_lanes_per_instruction", "divergent_branches"):
            per_entry = name in PER_ENTRY
            about = counter_name(name).capitalize() + (" for each stored entry" if per_entry else "")
            _print(console, _grid(matrices, _counted(name, per_entry), f"{about}; {CHOSEN}", width))
    if len(matrices) <= FEW:
        for matrix in matrices:
            _print(console, Text(_about(matrix)))
            console.print(_entries(matrix, gpu, result["counters"], width), highlight=False)
    for text in _remarks(matrices):
        console.print(text, highlight=False)


def show_recorded(result: Result, file: str, console: Console) -> None:
    """Print a recording, marked as one."""
    console.print(f"Recorded, not measured here: data/results/{file}\n", style="bold", highlight=False)
    show(result, console)


def _print(console: Console, what: RenderableType) -> None:
    console.print()
    console.print(what, highlight=False)


def _heading(result: Result) -> Text:
    made, count = result["machine"], len(result["matrices"])
    of = f"{count} {'matrix' if count == 1 else 'matrices'}, {result['dtype']} values, {result['pointer']} row pointer"
    text = Text.assemble(("spmv", "bold"), f": y = A x in every format and by every kernel; {of}.\n")
    if result["device"] == "gpu":
        text.append(f"Timed on {made.get('gpu', 'an NVIDIA GPU')}, {made['date']}.")
        known = [f"{name} {speed:,.0f} GB/s" for name, speed in result["ceilings"].items() if speed]
        text.append(f" Ceilings, measured in the same process: {', '.join(known)}.\n" if known else "\n")
        for key in ("bytes", "cache", "turns"):
            text.append(f"{result[key][0].upper()}{result[key][1:]}.\n")
        return Text(str(text).rstrip())
    return text.append(
        f"On the CPU machine ({made['cpu']}, {made['date']}), smaller than on a GPU: counters, no times. Kernels in "
        "Python at source level, C++ at compiled level."
    )


# --- tables over all matrices ----------------------------------------------------------------------------------------


def _contenders(matrices: Sequence[Matrix], width: int) -> RenderableType:
    """What was chosen against CuPy and cuSPARSE, a row for each matrix."""
    headings = ["matrix", "nnz", "chosen", "time", "GB/s", "% of\ncopy", "over\nCuPy", "over\ncuSPARSE"]
    headings += ["best of\ncuSPARSE", "convert\n(SpMVs)", "choose\n(SpMVs)"]
    rows: list[Sequence[Cell]] = []
    for matrix in matrices:
        ours = summary.chosen_of(matrix)
        first = matrix["name"] + ("" if matrix["large"] else " *"), compact(matrix["nnz"])
        if ours is None or not ours["timing"]:
            rows.append((*first, "not measured"))
            continue
        row: list[Cell] = [*first, _in_a_word(matrix["choice"]), in_units(ours["timing"]["median_s"])]
        row += [f"{ours['gb_s']:,.0f}", _percent(ours["fraction_of_copy"]), _ratio(ours["over_cupyx"])]
        row += [_ratio(ours["over_cusparse"]), _narrow_key(matrix["best_cusparse"] or "-")]
        row += [f"{ours['equivalent_spmvs']:,.0f}", f"{matrix['choice']['equivalent_spmvs']:,.0f}"]
        rows.append(row)
    return fitting(headings, rows, width)


def _in_a_word(choice: dict[str, Any]) -> str:
    """What was chosen, without the numbers that the table of a single matrix has: "hybrid", "hybrid sorted"."""
    return choice["way"] + (" sorted" if choice["options"].get("sigma", 1) > 1 else "")


def _narrow_key(key: str) -> str:
    """A contender's key for a narrow column: "sell s256", "alg2 pre"."""
    told = short(key).removeprefix("cusparse_").replace("sliced_ell", "sell").replace("csr_", "")
    return told.replace("preprocessed", "pre").replace("_", " ")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}"


def _ratio(value: float | None) -> Text:
    return Text("-") if value is None else Text(f"{value:.2f}", "" if value >= 1 else "yellow")


def _grid(
    matrices: Sequence[Matrix], cell: Callable[[list[Entry], Matrix], Text], about: str, width: int
) -> RenderableType:
    """A row for each matrix, a column for each kernel."""
    keys = summary.columns(matrices)
    headings = ["matrix", *(short(key).replace(*NARROW).replace("_", "\n", 1).replace(" ", "\n") for key in keys)]
    rows = []
    for matrix in matrices:
        cells: list[Cell] = [matrix["name"]]
        for key in keys:
            found = summary.of_column(matrix, key)
            mark = Text(">" if any(entry["chosen"] for entry in found) else "", "bold")
            cells.append(mark + cell(found, matrix))
        rows.append(cells)
    return Group(Text(about, "bold"), fitting(headings, rows, width))


def _state(entries: Sequence[Entry]) -> Text:
    """What stands in a cell without a number."""
    wrong = any(entry["status"] == "WRONG" for entry in entries)
    return Text("WRONG", STATUS_STYLES["WRONG"]) if wrong else Text("-")


def _share(entries: list[Entry], matrix: Matrix) -> Text:
    found = [entry["fraction_of_copy"] for entry in entries if entry["timing"]]
    return Text(_percent(max(found))) if found else _state(entries)


def _counted(name: str, per_entry: bool) -> Callable[[list[Entry], Matrix], Text]:
    """A counter of the kernel in Python, or in C++ where that one has none."""

    def cell(entries: list[Entry], matrix: Matrix) -> Text:
        found = sorted((entry for entry in entries if entry["counters"]), key=lambda entry: entry["language"] != NUMBA)
        if not found or any(entry["status"] == "WRONG" for entry in found):
            return _state(entries)
        count = found[0]["counters"][name]
        value = count / max(matrix["nnz"], 1) if per_entry else count
        return Text(f"{value:.2f}" if isinstance(value, float) else f"{value:,}")

    return cell


# --- a table for one matrix ------------------------------------------------------------------------------------------


def _about(matrix: Matrix) -> str:
    lengths, size = matrix["lengths"], f"{matrix['rows']:,} x {matrix['columns']:,}, {matrix['nnz']:,} entries"
    rows = f"{lengths['mean']:.2f} a row (std {lengths['std']:.2f}), longest {lengths['max']:,}"
    choice = f"Chosen: {matrix['choice']['way']}: {matrix['choice']['why']}"
    return f"{matrix['name']}, {matrix['about']}: {size}, {rows}, {lengths['empty']:,} empty. {choice}"


def _entries(matrix: Matrix, gpu: bool, counters: Sequence[str], width: int) -> RenderableType:
    """Every contender on a matrix: times on a GPU, counters on the CPU machine."""
    shown = [entry for entry in matrix["entries"] if entry["timing"] or entry["counters"] or entry["status"] == "WRONG"]
    headings = ["", "language"]
    if gpu:
        headings += ["time", "GB/s", "own GB/s", "% of\ncopy", "over\nCuPy", "over\ncuSPARSE", "convert,\nSpMVs"]
    else:
        headings += ["padding", *(_narrow(name) for name in counters)]
    rows: list[Sequence[Cell]] = []
    for entry in shown:
        name = short(entry["key"]) + (" (chosen)" if entry.get("chosen") else "")
        row: list[Cell] = [name, {CPP: "C++"}.get(entry.get("language", ""), entry.get("language", "library"))]
        if entry["status"] == "WRONG":
            row.append(Text("WRONG", STATUS_STYLES["WRONG"]))
        elif gpu:
            row += [in_units(entry["timing"]["median_s"]), f"{entry['gb_s']:,.0f}", f"{entry['own_gb_s']:,.0f}"]
            row += [_percent(entry["fraction_of_copy"]), _ratio(entry["over_cupyx"]), _ratio(entry["over_cusparse"])]
            row.append(f"{entry['equivalent_spmvs']:,.1f}")
        else:
            row += [f"{entry['padding']:.2f}", *(number(entry["counters"][name]) for name in counters)]
        rows.append(row)
    return fitting(headings, rows, width)


def _narrow(counter: str) -> str:
    """A counter over its column: what "global" and "per instruction" add is clear there."""
    return (
        counter.removeprefix("global_")
        .removesuffix("_per_instruction")
        .replace("instructions", "instr.")
        .replace("_", "\n")
    )


# --- below -----------------------------------------------------------------------------------------------------------


def _summary(found: dict[str, Any], width: int) -> RenderableType:
    """Means over the matrices, and what became of the targets."""
    headings = ["the chosen kernel, times as fast as", "geometric\nmean", "least", "on", "matrices"]
    names = (
        ("over_cupyx", "CuPy, A @ x"),
        ("over_cusparse", "the best of cuSPARSE"),
        ("over_best_kernel", "our fastest"),
    )
    rows = []
    for key, name in names:
        of = found[key]
        if of["mean"] is not None:
            rows.append([name, f"{of['mean']:.3f}", f"{of['least']:.3f}", of["where"], str(of["matrices"])])
    means = fitting(headings, rows, width)
    if "targets" not in found:
        return means
    targets: list[Sequence[Cell]] = []
    for target in found["targets"]:
        got = "not measured" if target["got"] is None else f"{target['got']:.3g}"
        verdict = Text("reached", "bold green") if target["reached"] else Text("missed", "bold yellow")
        by = "" if target["by"] is None else f", x {target['by']:.2f}"
        targets.append([target["what"], f"{target['wanted']:g}", got, target["where"], verdict + Text(by)])
    return Group(means, Text(""), fitting(["target", "wanted", "got", "on", ""], targets, width))


def _remarks(matrices: Sequence[Matrix]) -> list[Text]:
    """What is wrong, and why something was not run: reasons that differ in their numbers alone are one."""
    found: list[Text] = []
    reasons: dict[str, list[tuple[str, str, str]]] = {}
    for matrix in matrices:
        for entry in matrix["entries"]:
            name = short(entry["key"]) + (IN_CPP if entry.get("language") == CPP else "")
            if entry["status"] == "WRONG":
                wrong = f"{name} on {matrix['name']} is WRONG", STATUS_STYLES["WRONG"]
                found.append(Text.assemble(wrong, f": {entry['reason']}"))
            elif entry["status"] == "not run":
                alike = LARGE_NUMBER.sub("so many", entry["reason"])
                reasons.setdefault(alike, []).append((name, matrix["name"], entry["reason"]))
    notes = [_not_run(alike, cases) for alike, cases in reasons.items()]
    small = [matrix["name"] for matrix in matrices if not matrix["large"]]
    if small and any(entry["timing"] for matrix in matrices for entry in matrix["entries"]):
        notes.insert(
            0, Text("* less than 200 MB: nothing is said of the memory's bandwidth, x may stay in the L2 cache.")
        )
    return [*([Text("")] if found or notes else []), *found, *notes]


def _not_run(alike: str, cases: Sequence[tuple[str, str, str]]) -> Text:
    """(contender, matrix, reason) of all cases in a sentence; the numbers where there is one reason alone."""
    names, on, why = zip(*cases, strict=True)
    once = [name for name in names if not (name.endswith(IN_CPP) and name.removesuffix(IN_CPP) in names)]
    return Text(f"Not run: {_list(once)} on {_list(on)}: {why[0] if len(set(why)) == 1 else alike}.")


def _list(keys: Sequence[str]) -> str:
    once = list(dict.fromkeys(keys))
    return ", ".join(once[:4]) + (f" and {len(once) - 4} more" if len(once) > 4 else "")
