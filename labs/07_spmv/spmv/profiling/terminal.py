"""A profile of a matrix in a terminal (rich). Words carry the meaning, colour only repeats it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpukit.bench.running import NOT_RUN, WRONG
from gpukit.registry import CPP
from gpukit.report.layout import compact, exact
from gpukit.report.tables import fitting
from gpukit.timing import in_units

from ..matrices.statistics import Statistics
from .model import Counted, Profile, Timed, requests, sectors

STYLES = {WRONG: "bold white on red", NOT_RUN: "dim"}
EXACT_FROM = 110  # columns; a narrower terminal gets 227k for 227,328


def show(found: Profile, console: Console) -> None:
    """Print everything that a profile says."""

    def paragraph(*parts: Any) -> None:
        for part in parts:
            console.print(part, highlight=False)
        if parts:
            console.print()

    paragraph(_matrix(found))
    if found.counted:
        paragraph(_where(found))
        paragraph(_counters(found, console.width), _options(found))
        paragraph(*_list("What is against each of them:", _remarks(found.counted)))
    if found.timed:
        paragraph(_times(found, console.width), *_list("Not timed, or in doubt:", _remarks(found.timed)))
    if found.wrong:
        faults = [(_key(one), fault) for one in found.wrong for fault in one.faults]
        paragraph(*_list("Wrong answers:", faults, "bold red"))
    console.print(_recommended(found), highlight=False)
    rejected = list(found.choice.rejected.items())
    if rejected:
        console.print()
    for part in _list("Not chosen:", rejected):
        console.print(part, highlight=False)


# --- the matrix ------------------------------------------------------------------------------------------------------


def _matrix(found: Profile) -> Text:
    stats = found.statistics
    text = Text.assemble((found.name, "bold"), f": {stats.rows:,} x {stats.columns:,}, {_entries(stats.nnz)}, ")
    text.append(f"{found.dtype}, {found.pointer} row pointer\n{row_lengths(stats)}")
    if stats.nnz:
        text.append(f"\nSlots for each entry: {_padding(stats)}.")
    return text


def row_lengths(stats: Statistics) -> str:
    """How long the rows are, in a sentence or two."""
    if not stats.rows:
        return "There are no rows."
    mean = "1 entry" if stats.mean == 1 else f"{number(stats.mean)} entries"
    text = (
        f"Rows have {mean} on average (median {number(stats.median)}, standard deviation {number(stats.std)}, CV "
        f"{stats.cv:.2f}), the longest {stats.longest:,}."
    )
    if stats.empty:
        text += f" {stats.empty:,} {'row is' if stats.empty == 1 else 'rows are'} empty ({stats.empty_share:.1%})."
    return text


def _padding(stats: Statistics) -> str:
    words = {1: "unsorted", stats.rows: "with all rows sorted"}
    sliced = [
        f"{number(fill)} {words.get(sigma, f'with {sigma:,} rows sorted together')}"
        for (_, sigma), fill in stats.sliced_fill.items()
        if sigma <= stats.rows
    ]
    return f"ELL {number(stats.ell_fill)}; sliced ELL, 32 rows a slice, {', '.join(sliced)}"


def number(value: float) -> str:
    """Three digits, or as many as its whole part has."""
    if abs(value) >= 99.95 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:#.3g}"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


# --- counters --------------------------------------------------------------------------------------------------------


def _where(found: Profile) -> str:
    """On what the counters were counted."""
    bound = ""
    if found.peak_gb_s:
        speed = f"{found.peak_gb_s:,.0f} GB/s"
        bound = f" The least time is that of the bytes at the {speed} of the {_short(found.gpu)}, without the launch."
    if found.sample is None:
        return f"Counted lane by lane on the CPU machine; each answer was checked.{bound}"
    sample, stats = found.sample, found.statistics
    return (
        f"Counted on the CPU machine on a sample: {sample.blocks:,} blocks of consecutive rows, spread evenly, with "
        f"{sample.rows:,} of {stats.rows:,} rows and {sample.entries:,} of {stats.nnz:,} entries. The longest of these "
        f"rows has {sample.longest:,}, of the whole matrix {stats.longest:,}. Requests, sectors, lanes, branches and "
        f"checked answers are the sample's; slots, bytes and the recommendation the whole matrix's.{bound}"
    )


def _counters(found: Profile, width: int) -> RenderableType:
    form = exact if width >= EXACT_FROM else compact
    headings = ["way", "requests", "sectors", "sectors/\nrequest", "active\nlanes", "split\nbranches"]
    headings += ["slots/\nentry", "bytes", "least\ntime"]
    rows = []
    for one in found.counted:
        counted = one.counters
        cells = ["-"] * 5
        if counted:
            asked, moved = requests(counted), sectors(counted)
            branches = counted.get("divergent_branches", 0)
            cells = [form(asked), form(moved), f"{moved / asked:.1f}" if asked else "-"]
            cells += [f"{counted['active_lanes_per_instruction']:.1f}", form(branches)]
        cells.append(number(one.slots) if found.statistics.nnz else "-")
        bound = found.bound_seconds(one.bytes_moved)
        cells += [_bytes(one.bytes_moved), "-" if bound is None else in_units(bound)]
        rows.append([_name(one), *cells])
    return fitting(headings, rows, width, [_style(one, found) for one in found.counted])


def _style(one: Counted | Timed, found: Profile) -> str:
    return STYLES.get(one.status, "bold" if one.way == found.choice.way else "")


def _options(found: Profile) -> Text:
    """Those of the ways that have some."""
    with_ = {one.way: _listed(one.options) for one in found.counted if one.options}
    return Text("; ".join(f"{way}: {options}" for way, options in with_.items()), style="dim")


def _listed(options: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in options.items()
    )


def _short(gpu: str) -> str:
    return gpu.removeprefix("NVIDIA ")


def _bytes(count: int) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def _name(one: Counted | Timed) -> str:
    return f"{_key(one)} {one.status}" if one.status == WRONG else _key(one)


def _key(one: Counted | Timed) -> str:
    """As rungs are called: cpp:csr_warp for the kernel in C++."""
    return f"cpp:{one.way}" if one.language == CPP else one.way


def _remarks(listed: Sequence[Counted | Timed]) -> list[tuple[str, str]]:
    """(way, or the same in both languages, what is to be said of it)."""
    said: dict[tuple[str, str], list[str]] = {}
    for one in listed:
        text = "; ".join([one.why, *one.remarks] if one.why else one.remarks)
        if text:
            said.setdefault((one.way, text), []).append(_key(one))
    return [(way if len(keys) > 1 else keys[0], text) for (way, text), keys in said.items()]


# --- times -----------------------------------------------------------------------------------------------------------


def _times(found: Profile, width: int) -> RenderableType:
    against = next((one.seconds for one in found.timed if not one.language and one.seconds), None)
    time = f"time on\n{_short(found.timed_on)}"
    headings = ("way", time, "GB/s of\nCSR bytes", "times as fast\nas CuPy", "conversion,\nin products")
    rows = []
    for one in found.timed:
        if one.seconds is None:
            cells = ["-"] * 4
        else:
            speed = f"{against / one.seconds:.2f}" if against else "-"
            conversion = f"{one.conversion_seconds / one.seconds:,.0f}" if one.language else "-"
            cells = [in_units(one.seconds), f"{one.gb_s:,.0f}" if one.gb_s else "-", speed, conversion]
        rows.append([_name(one), *cells])
    return fitting(headings, rows, width, [_style(one, found) for one in found.timed])


# --- the recommendation ----------------------------------------------------------------------------------------------


def _recommended(found: Profile) -> Text:
    choice = found.choice
    with_ = f" ({_listed(choice.options)})" if choice.options else ""
    text = Text.assemble("Recommended: ", (choice.way, "bold"), f"{with_}: {_ended(choice.why)}")
    text.append(f" Chosen in {in_units(choice.seconds)}.")
    return text


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith(".") else f"{sentence}."


# --- pieces ----------------------------------------------------------------------------------------------------------


def _list(heading: str, rows: Sequence[tuple[str, str]], style: str = "") -> list[Any]:
    """A heading and a row for each name and text; nothing without rows."""
    if not rows:
        return []
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for name, text in rows:
        table.add_row(name, text, style=style)
    return [Text(heading, style="bold"), Padding(table, (0, 0, 0, 2))]
