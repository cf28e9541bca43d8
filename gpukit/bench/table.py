"""A measured family in a terminal: the rungs as a table, then the log. Words carry the meaning, colour repeats it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gpukit.bench import log
from gpukit.bench.running import CPU_CLOCK, HAZARD, HOST_CLOCK, NOT_RUN, RACE, RIGHT, WRONG
from gpukit.bench.units import first_sentence, number
from gpukit.report.layout import compact
from gpukit.timing import in_units

Entry = dict[str, Any]
Column = tuple[str, Callable[[Entry], Text | str]]
STATUS_STYLES = {
    "WRONG": "bold white on red",
    "race": "black on bright_yellow",
    "hazard": "black on bright_yellow",
    "not run": "dim",
}
DECISION_STYLES = {log.KEEP: "bold green", log.REVERT: "bold yellow", log.WRONG: "bold red"}
TEXTS = ("rung", "language", "check")  # everything else is a number
SHORT_WORDS = {"synchronisations": "syncs", "instructions": "instr.", "instruction": "instr.", "efficiency": "effic."}


def show(result: dict[str, Any], console: Console) -> None:
    """Print what `measure` returned."""
    console.print(_heading(result), highlight=False)
    console.print()
    for table in _tables(result, console):
        console.print(table, highlight=False)
        console.print()
    for text in _remarks(result):
        console.print(text, highlight=False)
    if result["sweep"] and result["sweep"]["rows"]:
        console.print()
        console.print(_sweep(result), highlight=False)
    entries = [entry for entry in result["rungs"] if entry["versus"] and entry["status"] != NOT_RUN]
    if entries:
        console.print()
        console.print(_log(entries), highlight=False)


# --- above the table -------------------------------------------------------------------------------------------------


def _heading(result: dict[str, Any]) -> Text:
    """What was measured, where and when, and by what its times are to be read."""
    made = result["machine"]
    text = Text.assemble((result["family"], "bold"), f": {result['about']}\n")
    threads = f"{result['block']} threads a block"
    what = f"{result['n']:,} {result['size']} ({result['kind']}, seed {result['seed']}), {threads}."
    if result["device"] == "gpu":
        gpu = made.get("gpu", "an NVIDIA GPU")
        text.append(f"{what} Timed on {gpu}, {made['date']}.")
        ceilings = [f"{name} {speed:,.0f} GB/s" for name, speed in result["ceilings"].items() if speed]
        if ceilings:
            text.append(f" Ceilings, measured in the same process: {', '.join(ceilings)}.")
        return text
    cpu = f"{made['cpu']}, {made['cores']} cores, {made['date']}"
    text.append(
        f"{what} On the CPU machine ({cpu}): its times are its own and say nothing about a GPU; the counters do."
    )
    return text


# --- the table -------------------------------------------------------------------------------------------------------


def _tables(result: dict[str, Any], console: Console) -> list[RenderableType]:
    """One table where all columns fit side by side; else the counters in one of their own, with shortened numbers if
    they fit no other way."""
    entries = result["rungs"]
    gpu = result["device"] == "gpu"
    first: list[Column] = [("", _version), ("rung", _rung), ("time" if gpu else "CPU\nmachine", _time)]
    if gpu:
        first += [("GB/s", _bandwidth), ("% of\ncopy", _share_of("copy")), ("% of\nread", _share_of("read"))]
    last: list[Column] = [("produces", lambda entry: entry["produces"]), ("check", _check)]
    counted = [name for name in result["family_counters"] if any(_value(entry, name) is not None for entry in entries)]

    def counters(form: Callable[[float], str]) -> list[Column]:
        return [(_heading_of(name), _counter(name, form)) for name in counted]

    def fits(table: Table) -> bool:
        return Measurement.get(console, console.options.update(width=1000), table).minimum <= console.width

    whole = _table([*first, *counters(number), *last], entries)
    if fits(whole) or not counted:
        return [whole]
    kernels = [entry for entry in entries if _value(entry, counted[0]) is not None]
    exact = _table([("rung", _rung), *counters(number)], kernels)
    rest = exact if fits(exact) else _table([("rung", _rung), *counters(compact)], kernels)
    return [_table([*first, ("language", lambda entry: entry["language"]), *last], entries), rest]


def _table(columns: Sequence[Column], entries: Sequence[Entry]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
    for name, _ in columns:
        if name == "produces":
            table.add_column(name, min_width=12)
        else:
            table.add_column(name, justify="left" if name in TEXTS else "right", no_wrap=True, vertical="top")
    for entry in entries:
        table.add_row(*(cell(entry) for _, cell in columns))
    return table


def _heading_of(counter: str) -> str:
    """A counter's name over its column, one word under the other."""
    words = [SHORT_WORDS.get(word, word) for word in counter.split("_")]
    return "\n".join(words)


def _version(entry: Entry) -> str:
    return str(entry["version"])


def _rung(entry: Entry) -> str:
    return entry["key"]


def _time(entry: Entry) -> str:
    """The median; with "host" where it is the host's clock that took it."""
    if not entry["timing"]:
        return "-"
    shown = in_units(entry["timing"]["median_s"])
    return shown + ("*" if entry["clock"] == HOST_CLOCK else "")


def _bandwidth(entry: Entry) -> str:
    return f"{entry['bandwidth_gb_s']:,.0f}" if entry["bandwidth_gb_s"] else "-"


def _share_of(ceiling: str) -> Callable[[Entry], str]:
    def share(entry: Entry) -> str:
        value = entry[f"fraction_of_{ceiling}"]
        return f"{100 * value:.1f}" if value else "-"

    return share


def _value(entry: Entry, name: str) -> float | None:
    return (entry["counters"] or {}).get("values", {}).get(name)


def _counter(name: str, form: Callable[[float], str]) -> Callable[[Entry], str]:
    def counter(entry: Entry) -> str:
        value = _value(entry, name)
        return "-" if value is None else form(value)

    return counter


def _check(entry: Entry) -> Text:
    """The verdict, and over how many cases; for a rung that did not run, why not."""
    status: str = entry["status"]
    if status == NOT_RUN:
        return Text(entry["short_reason"], STATUS_STYLES[status])
    words = f"right ({entry['check']['cases']})" if status == RIGHT else status
    words += ", WRONG" if "wrong_for_its_hazard" in entry else ""
    return Text(words, STATUS_STYLES.get(status, ""))


# --- under the table -------------------------------------------------------------------------------------------------


def _remarks(result: dict[str, Any]) -> list[Text]:
    """What the table has no room for: where counters are from, failures, races, and why rungs were not run."""
    entries = result["rungs"]
    found = []
    counted = [entry["counters"] for entry in entries if (entry["counters"] or {}).get("values")]
    if counted:
        size = f"n = {counted[0]['n']:,}, {counted[0]['block']} threads a block"
        levels = {about["level"] for about in counted}
        which = {
            frozenset({"source"}): "at source level",
            frozenset({"compiled"}): "at compiled level",
        }.get(frozenset(levels), "Python at source level, C++ at compiled level")
        found.append(Text(f"Counters: the CPU machine's, one run, {size}; {which}."))
    if any(entry["check"]["cases"] for entry in entries):
        found.append(Text("Checked: as many cases as stand in brackets, of inputs, lengths and block sizes."))
    if any(entry["clock"] == HOST_CLOCK for entry in entries):
        found.append(Text("* by the host's clock."))
    for entry in entries:
        if entry["clock"] != CPU_CLOCK:  # nothing is concluded from the CPU machine's
            found += [Text(f"{entry['key']}: {remark}") for remark in (entry["timing"] or {}).get("remarks", ())]
    for status, word in ((RACE, "is a race"), (HAZARD, "is a hazard"), (WRONG, "is WRONG")):
        for entry in entries:
            if entry["status"] == status:
                head = (f"{entry['key']} {word}", STATUS_STYLES[status])
                found.append(Text.assemble(head, f": {entry['reason']}"))
                if "wrong_for_its_hazard" in entry:
                    found.append(Text(f"It shows: {entry['key']} is wrong here: {entry['wrong_for_its_hazard']}"))
    reasons: dict[str, list[str]] = {}
    for entry in entries:
        if entry["status"] == NOT_RUN:
            reasons.setdefault(entry["reason"], []).append(entry["key"])
    found += [Text(f"Not run here: {', '.join(keys)}: {reason}.") for reason, keys in reasons.items()]
    return found


def _log(entries: Sequence[Entry]) -> RenderableType:
    """The engineering log: a rung's change, what was expected, what came of it, and whether to keep it."""
    lines: list[RenderableType] = [Text("Log: what was changed -> expected -> found -> kept or not", "bold")]
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(width=2, justify="right")
    grid.add_column(overflow="fold")
    for entry in entries:
        grid.add_row(str(entry["version"]), _log_line(entry))
    return Group(*lines, grid)


def _log_line(entry: Entry) -> Text:
    made = entry["log"]
    change = made["change"].removeprefix(f"{entry['versus'].removeprefix('cpp:')}: ")
    text = Text.assemble((entry["key"], "bold"), f", against {entry['versus']}: {first_sentence(change)}")
    if made["hypothesis"]:
        text.append("\n-> expected: ", "dim").append(first_sentence(made["hypothesis"]))
    if made["result"]:
        text.append("\n-> found: ", "dim").append(made["result"])
    decision = made["decision"]
    text.append("\n-> ", "dim").append(decision or "no decision", DECISION_STYLES.get(decision, ""))
    if entry["status"] == RIGHT:
        return text.append(f" ({made['why']})")
    return text.append(
        f" (a {entry['status']})" if entry["status"] in (RACE, HAZARD) else ""
    )  # the reason stands under the table


# --- the grid's size -------------------------------------------------------------------------------------------------


def _sweep(result: dict[str, Any]) -> RenderableType:
    """A row per number of blocks, a column per rung: GB/s on a GPU, warp instructions on the CPU machine."""
    rows = result["sweep"]["rows"]
    gpu = result["device"] == "gpu"
    keys = list(dict.fromkeys(row["rung"] for row in rows))
    unit = "GB/s" if gpu else "warp instructions"
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("blocks", justify="right")
    for key in keys:
        table.add_column(key, justify="right")
    for blocks in dict.fromkeys(row["blocks"] for row in rows):
        of = {row["rung"]: row for row in rows if row["blocks"] == blocks}
        table.add_row(f"{blocks:,}", *(_sweep_cell(of.get(key), gpu) for key in keys))
    about = f"The grid's size: {unit} with more and more blocks of {result['sweep']['block']} threads"
    return Group(Text(about, "bold"), table)


def _sweep_cell(row: dict[str, Any] | None, gpu: bool) -> str | Text:
    if row is None:
        return "-"
    if row["failure"]:
        return Text("WRONG", STATUS_STYLES["WRONG"])
    value = row.get("bandwidth_gb_s") if gpu else row["counters"]["warp_instructions"]
    return "-" if value is None else f"{value:,.0f}"


# --- what was measured elsewhere -------------------------------------------------------------------------------------


def show_recorded(made: dict[str, Any] | None, family: str, console: Console) -> None:
    """A recording of a family that this computer cannot run, marked as one; or that there is none."""
    if made is None:
        console.print(
            f"{family} needs an NVIDIA GPU, which is not here, and no recording of it comes with gpukit.",
            highlight=False,
        )
        return
    about = made["machine"]
    gpu = about.get("gpu", "an NVIDIA GPU")
    head = f"Recorded, not measured here: {gpu}, {about['date']} (data/results/{made['file']})"
    console.print(Text(head, "bold"), highlight=False)
    console.print(f"{made['n']:,} {made['size']}, {made['block']} threads a block", highlight=False)
    columns: list[Column] = [("", _version), ("rung", _rung), ("time", _time), ("GB/s", _bandwidth)]
    columns += [("% of\ncopy", _share_of("copy")), ("produces", lambda entry: entry["produces"]), ("check", _check)]
    console.print(_table(columns, made["rungs"]), highlight=False)


def show_published(result: dict[str, Any], ladders: Sequence[dict[str, Any]], console: Console) -> None:
    """Figures that others published beside ours, each with its GPU, size and unit."""
    if not ladders:
        console.print(f"No published figures of {result['family']} come with gpukit.", highlight=False)
        return
    gpu = result["device"] == "gpu"
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("rung", no_wrap=True)
    if gpu:
        table.add_column(f"here: {result['machine'].get('gpu', 'a GPU')}, n = {result['n']:,}, GB/s", justify="right")
    for ladder in ladders:
        size = f"{ladder['gpu']}, n = {ladder['n']:,}, {ladder['dtype']}"
        table.add_column(f"{size}, {ladder['unit'].replace('_', ' ').replace('gb s', 'GB/s')}", justify="right")
    for entry in result["rungs"]:
        values = [ladder["values"].get(entry["key"]) for ladder in ladders]
        if any(value is not None for value in values):
            table.add_row(entry["key"], *([_bandwidth(entry)] if gpu else []), *map(_published, values))
    console.print(Text("Published by others, on other GPUs", "bold"), highlight=False)
    console.print(table, highlight=False)
    for ladder in ladders:
        note = f" {ladder['note']}" if ladder.get("note") else ""
        console.print(f"{ladder['gpu']}, n = {ladder['n']:,}: {ladder['source']}.{note}", highlight=False)


def _published(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
