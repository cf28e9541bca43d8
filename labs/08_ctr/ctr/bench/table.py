"""`gpukit bench ctr` in a terminal. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from gpukit.report.tables import Cell, fitting

from . import summary
from .summary import Entry, Result

MOVED = (
    ("gather", "gather"),
    ("input", "input"),
    ("gradient", "gradi-\nent"),
    ("update", "up-\ndate"),
    ("data", "data"),
    ("dense_optimizer", "dense\nAdam"),
    ("bytes", "bytes"),
)
FLOOR = (
    "Floor: the bytes that a step must move at the bandwidth of a copy, and then its matrix products at the rate of a "
    "large one, both measured in the same process."
)
PAIRED = "Both of a pair saw the same impressions in the same order; s.e. is the standard error of the test logloss."
SIDE_BY_SIDE = "Kernels that run side by side count each for itself; what is left of a step is launches and waiting."


def show(result: Result, console: Console, why: bool = False) -> None:
    """Print what was measured; `why`: and of each rung why it should help."""
    console.print(_heading(result), highlight=False)
    if result["device"] == "gpu":
        _gpu(result, console)
    else:
        _cpu(result, console)
    if why:
        _print(console, _reasons(result))


def show_recorded(result: Result, file: str, console: Console, why: bool = False) -> None:
    """Print a recording, marked as one."""
    console.print(f"Recorded, not measured here: data/results/{file}\n", style="bold", highlight=False)
    show(result, console, why)


def _print(console: Console, *parts: RenderableType) -> None:
    console.print()
    for part in parts:
        console.print(part, highlight=False)


def _heading(result: Result) -> Text:
    made, model, log = result["machine"], result["model"], result["log"]
    rows = sum(model["fields"].values())
    text = Text.assemble(
        ("ctr", "bold"),
        f": {len(model['fields'])} fields of {rows:,} rows in all, embeddings of {model['dim']}, {model['numbers']} "
        f"numbers, a network of {'-'.join(str(width) for width in (*model['hidden'], 1))}; {log['train']:,} "
        f"impressions to train on, {log['test']:,} to test.\n",
    )
    if result["device"] == "gpu":
        ceilings = result["ceilings"]
        rates = ", ".join(f"{value:,.0f} TFLOP/s {name}" for name, value in ceilings["tflops"].items())
        text.append(
            f"Timed on {made.get('gpu', 'an NVIDIA GPU')}, {made['date']}. Ceilings, measured in the same process: "
            f"copy {ceilings['copy']:,.0f} GB/s; matrix products {rates}."
        )
    else:
        text.append(f"On the CPU machine ({made['cpu']}, {made['date']}): what is learned and counted, and no times.")
    return text


# --- on a GPU --------------------------------------------------------------------------------------------------------


def _gpu(result: Result, console: Console) -> None:
    for batch, rungs in summary.ladders(result).items():
        _print(console, Text(f"Batch {batch:,}", "bold"), _ladder(rungs, console.width), *_errors(rungs))
        for line in _turned_back(batch, rungs, result):
            console.print(line, highlight=False)
        _print(console, Text("Bytes and operations of one impression", "bold"), _costs(rungs, console.width))
        for line in _verdict(batch, rungs):
            console.print(line, highlight=False)
    _print(console, Text(FLOOR))
    if result["quality"]:
        _print(
            console,
            Text(f"Quality after {result['samples']:,} impressions, in whole batches", "bold"),
            _quality(result["quality"], console.width),
            *_errors(result["quality"]),
            Text(_best_possible(result["log"]) + PAIRED),
        )
    for batch, profiles in summary.profiles(result).items():
        _print(console, Text(f"Where a step at batch {batch:,} goes, as parts of its time", "bold"))
        console.print(_profiles([entry for entry in profiles if "groups" in entry], console.width), highlight=False)
        for error in _errors(profiles):
            console.print(error, highlight=False)
    if result["profiles"]:
        console.print(SIDE_BY_SIDE, highlight=False)


def _ladder(rungs: Sequence[Entry], width: int) -> RenderableType:
    headings = ["rung", "change", "M samp-\nles/s", "times\nabove", "us\na step", "floor\nus", "% of\nfloor"]
    rows: list[Sequence[Cell]] = []
    for rung, over in zip(rungs, summary.over_the_one_above(rungs), strict=True):
        row: list[Cell] = [rung["name"], rung["change"]]
        if "samples_per_second" in rung:
            row += [_three(rung["samples_per_second"] / 1e6), "" if over is None else f"{over:.2f}"]
            row += [f"{rung['seconds'] * 1e6:,.0f}", f"{rung['floor_seconds'] * 1e6:,.1f}"]
            row += [_three(100 * rung["fraction"])]
        else:
            row.append(Text("failed", "bold red"))
        rows.append(row)
    return fitting(headings, rows, width, words=(1,))


def _turned_back(batch: int, rungs: Sequence[Entry], result: Result) -> list[Text]:
    """What a switch is worth once there is a graph."""
    whole = next((rung["seconds"] for rung in rungs if rung["name"] == "graph" and "seconds" in rung), None)
    lines = []
    for entry in result.get("turned_back", ()):
        if entry["batch"] == batch and "seconds" in entry and whole is not None:
            speed = _three(entry["samples_per_second"] / 1e6)
            times = entry["seconds"] / whole
            lines.append(Text(f"graph, {entry['change']}: {speed} M samples/s, {times:.2f} times as long a step"))
    return lines


def _errors(entries: Sequence[Entry]) -> list[Text]:
    """Of rungs, ways of training and profiles: what a compiler or a driver said."""
    failed = [(entry.get("name", entry.get("rung")), entry["error"]) for entry in entries if "error" in entry]
    return [Text(f"{name} failed: {error}", "red") for name, error in failed]


def _costs(rungs: Sequence[Entry], width: int) -> RenderableType:
    headings = ["from rung", *(heading for _, heading in MOVED), "kFLOP", "floor\nns"]
    rows = []
    for rung in summary.costs(rungs):
        cost = rung["cost"]
        floor = rung["floor_seconds"] / rung["batch"] * 1e9
        moved = [f"{cost[key]:,.0f}" for key, _ in MOVED]
        rows.append([rung["name"], *moved, f"{cost['flops'] / 1e3:,.0f}", _three(floor)])
    return fitting(headings, rows, width)


def _verdict(batch: int, rungs: Sequence[Entry]) -> list[Text]:
    """What the best rung reached, and what was wanted of it."""
    fastest, times = summary.best(rungs), summary.over_eager(rungs)
    if fastest is None:
        return []
    speed = fastest["samples_per_second"]
    text = Text(f"{fastest['name']}: {speed / 1e6:,.1f} M samples/s")
    if times is not None:
        text.append(f", {times:,.1f} times {summary.EAGER}, the eager loop with dense Adam")
    wanted = summary.WANTED.get(batch)
    if wanted:
        verdict = ("reached", "bold green") if speed >= wanted else ("missed", "bold yellow")
        text += Text.assemble(f"; {wanted / 1e6:,.0f} M wanted: ", verdict)
    return [text + Text(".")]


def _quality(entries: Sequence[Entry], width: int) -> RenderableType:
    headings = ["trained by", "batch", "test\nlogloss", "s.e.", "difference", "in\ns.e.", "AUC", "calib-\nration"]
    rows: list[Sequence[Cell]] = []
    for entry in entries:
        row: list[Cell] = [entry["name"], f"{entry['batch']:,}"]
        if "logloss" in entry:
            row += [f"{entry['logloss']:.5f}", f"{entry['standard_error']:.5f}"]
            if "difference" in entry:
                row += [f"{entry['difference']:+.5f}", f"{entry['difference_in_standard_errors']:.2f}"]
            else:
                row += ["reference", ""]
            row += [f"{entry['auc']:.4f}", f"{entry['calibration']:.4f}"]
        else:
            row.append(Text("failed", "bold red"))
        rows.append(row)
    return fitting(headings, rows, width)


def _best_possible(log: dict[str, Any]) -> str:
    """What the true probabilities of a log reach, where it has them."""
    if log.get("bayes_logloss") is None:
        return ""
    return (
        f"The true probabilities reach a logloss of {log['bayes_logloss']:.5f} and an AUC of {log['bayes_auc']:.4f}. "
    )


def _profiles(found: Sequence[Entry], width: int) -> RenderableType:
    """Of each rung, how the time of a step is shared by what its kernels do."""
    groups: dict[str, float] = {}
    for entry in found:
        for name, group in entry["groups"].items():
            groups[name] = groups.get(name, 0.0) + group["us"] / entry["us_of_step"]
    rows: list[Sequence[Cell]] = [
        [name, *(_percent(entry["groups"].get(name, {"us": 0.0})["us"], entry) for entry in found)]
        for name in sorted(groups, key=lambda name: -groups[name])
    ]
    rows.append(["all kernels", *(_percent(entry["us_of_kernels"], entry) for entry in found)])
    rows.append(["launches of a step", *(f"{entry['launches']:,.0f}" for entry in found)])
    rows.append(["us of a step", *(f"{entry['us_of_step']:,.0f}" for entry in found)])
    return fitting(["kernels of", *(entry["rung"] for entry in found)], rows, width)


def _percent(us: float, entry: Entry) -> str:
    return f"{100 * us / entry['us_of_step']:.0f} %" if us else "-"


def _three(value: float) -> str:
    """Three digits, or as many as the whole part has."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def _reasons(result: Result) -> RenderableType:
    named = {rung["name"]: rung["why"] for rung in result.get("ladder") or result["costs"]}
    return Group(Text("Why", "bold"), *(Text.assemble((name, "bold"), f": {why}.") for name, why in named.items()))


# --- on the CPU machine ----------------------------------------------------------------------------------------------


def _cpu(result: Result, console: Console) -> None:
    if result["compared"]:
        _print(console, Text("Rungs that must learn the same", "bold"), _compared(result["compared"], console.width))
    for batch in dict.fromkeys(entry["batch"] for entry in result["costs"]):
        rungs = [entry for entry in result["costs"] if entry["batch"] == batch]
        title = f"Bytes and operations of one impression at batch {batch:,}; floor of {result['ceilings']['of']}"
        _print(console, Text(title, "bold"), _costs(rungs, console.width))
    if result["accesses"]:
        for table in _accesses(result["accesses"], console.width):
            _print(console, table)


def _compared(entries: Sequence[Entry], width: int) -> RenderableType:
    headings = ["rung", "held against", "steps", "losses\ndiffer by", "weights\ndiffer by", "of a\nchange of", ""]
    rows = []
    for entry in entries:
        same = Text("same", "bold green") if entry["same"] else Text("DIFFERS", "bold white on red")
        numbers = [f"{entry[key]:.1e}" for key in ("loss", "weight", "moved")]
        rows.append([entry["rung"], entry["reference"], str(entry["steps"]), *numbers, same])
    return fitting(headings, rows, width, words=(1,))


def _accesses(entries: Sequence[Entry], width: int) -> list[RenderableType]:
    """Sectors by kernel, ids and width of a row; requests by kernel and width, since ids do not change them."""
    dims = list(dict.fromkeys(entry["dim"] for entry in entries))
    found = {(entry["kernel"], entry["ids"], entry["dim"]): entry["counters"] for entry in entries}
    kinds = list(dict.fromkeys((entry["kernel"], entry["ids"]) for entry in entries))
    kernels = dict(kinds)  # of each kernel the last kind of ids
    sectors = _counted("sectors", found, [(f"{name}, {ids}", (name, ids)) for name, ids in kinds], dims, width)
    requests = _counted("requests", found, [(name, (name, ids)) for name, ids in kernels.items()], dims, width)
    return [
        Group(Text("Sectors of 32 bytes an id, by numbers of a row; of atomics as stores", "bold"), sectors),
        Group(Text("Requests of a warp an id", "bold"), requests),
    ]


def _counted(
    what: str, found: dict[Any, Any], named: Sequence[tuple[str, Any]], dims: Sequence[int], width: int
) -> RenderableType:
    """Loads, then what is written, a column for each width of a row."""
    headings = ["kernel, ids", *(f"load\n{dim}" for dim in dims), *(f"store\n{dim}" for dim in dims)]
    rows = []
    for name, key in named:
        counters = [found.get((*key, dim)) for dim in dims]
        loads = [one and one[f"global_load_{what}"] for one in counters]
        atomics = "global_atomics" if what == "requests" else "global_atomic_sectors"
        written = [one and one[f"global_store_{what}"] + one[atomics] for one in counters]
        rows.append([name, *("-" if value is None else _three(value) for value in (*loads, *written))])
    return fitting(headings, rows, width)
