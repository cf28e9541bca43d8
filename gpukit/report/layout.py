"""What the terminal and the notebook view share: marks, columns, highlighted source, sentences."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gpukit.gpus import WARP_SIZE
from gpukit.machine.program import is_cpp
from gpukit.report.answers import Place, bank_conflicts, count, sectors
from gpukit.report.model import LineReport, Report

if TYPE_CHECKING:
    from gpukit.machine.hazards import Hazard

COMPILED_HEADING = "Compiled level: what the hardware would count"
# What still stands between the compiled level and the hardware.
ASSEMBLER_NOTE = (
    "The assembler has the last word: it may still merge, predicate or drop what the compiler wrote; "
    "gpukit/machine/README.md says what of that is modelled."
)

# Hazards shown per severity, and lines of a kernel's own output; what is left out is counted.
LIST_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Remark:
    """A hazard or finding with the short mark ("E1", "W2", "N3") that ties it to its line."""

    mark: str
    hazard: Hazard


def remarks(report: Report) -> list[Remark]:
    """All hazards and findings, errors first, numbered per severity."""
    groups = (("E", report.errors), ("W", report.warnings), ("N", report.notes))
    return [
        Remark(f"{letter}{number}", hazard) for letter, group in groups for number, hazard in enumerate(group, start=1)
    ]


def marks_by_place(report: Report, listed: list[Remark]) -> dict[Place, list[str]]:
    """The marks that stand at each source line; a hazard between two lines stands at both."""
    marks = defaultdict(list)
    for remark in listed:
        hazard = remark.hazard
        numbers = dict.fromkeys([hazard.line, *(hazard.lines or ())])
        for number in numbers:
            if number:
                marks[Place(hazard.file or report.file, number)].append(remark.mark)
    return marks


def sentence(report: Report, hazard: Hazard) -> str:
    """A hazard as text: where, what, what to do, and how often."""
    where = f"{short_path(hazard.file or report.file)}:{hazard.line}: " if hazard.line else ""
    times = f", {hazard.count:,} times" if hazard.count and hazard.count > 1 else ""
    return f"{where}{message(hazard)} [{hazard.kind}{times}]"


def message(hazard: Hazard) -> str:
    """What is wrong and what to do, for where the line number stands already."""
    text = hazard.message.removeprefix(f"line {hazard.line}: ")
    if not text.endswith((".", "!", "?")):
        text += "."
    return f"{text} Fix: {hazard.advice}" if hazard.advice and hazard.advice not in text else text


def summary(report: Report) -> str:
    """How many errors and warnings there are, in words."""
    if not report.hazards_checked:
        return "hazards not looked for"
    counts = [
        count(len(group), noun) for noun, group in (("error", report.errors), ("warning", report.warnings)) if group
    ]
    return " and ".join(counts) if counts else "no hazards found"


def shape(dimensions: tuple[int, int, int]) -> str:
    """(4, 2, 1) as "4 x 2", (256, 1, 1) as "256"."""
    used = max((axis for axis, size in enumerate(dimensions) if size != 1), default=0) + 1
    return " x ".join(f"{size:,}" for size in dimensions[:used])


def title(report: Report) -> str:
    """The launch in one line."""
    shared = f", {report.shared_bytes:,} bytes of shared memory per block" if report.shared_bytes else ""
    return (
        f"grid {shape(report.grid)}, block {shape(report.block)}: "
        f"{count(report.threads, 'thread')} in {count(report.warps, 'warp')}"
        f"{shared}; {report.level} level, {report.seconds:.2f} s on the CPU machine"
    )


def arguments(report: Report) -> str:
    """The launch's arguments in one line, '' when there are none."""
    return ", ".join(_argument(argument) for argument in report.arguments)


def printed(report: Report) -> list[str]:
    """The lines the kernel printed, with a last line that counts the ones left out."""
    lines = "".join(report.output).splitlines()
    left = len(lines) - LIST_LIMIT
    return lines if left <= 0 else [*lines[:LIST_LIMIT], f"... and {left:,} more lines"]


def _argument(argument: dict) -> str:
    size = argument.get("shape")
    kind = str(argument.get("dtype", ""))
    if kind.startswith(("{", "[")):
        kind = "record"  # its fields fill lines and are known to whoever defined them
    if size is not None and len(size):
        kind += "[" + ", ".join(str(n) for n in size) + "]"
    elif "value" in argument:
        kind += f" = {argument['value']}"
    return f"{argument.get('name', '?')}: {kind}"


def short_path(file: str) -> str:
    """The file's name alone: reports are read next to the file. A cell of a notebook goes by its number, where Python
    knows it."""
    if cell := re.match(r"<ipython-input-(\d+)-", file):
        return f"In[{cell[1]}]"
    path = PurePath(file)
    return "cell" if path.parent.name.startswith("ipykernel_") else path.name or file


def near_path(file: str) -> str:
    """The file as seen from the current folder, whole where it lies outside."""
    try:
        return str(PurePath(file).relative_to(Path.cwd()))
    except ValueError:
        return file


# --- columns of the annotated source ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Column:
    """A number per source line. A heading has two lines; `text(line, number_format)` is '' where it is zero."""

    heading: tuple[str, str]
    short_heading: tuple[str, str]
    help: str
    text: Callable[[LineReport, Callable[[int | float], str]], str]


NumberFormat = Callable[[int | float], str]


def exact(number: int | float) -> str:
    return f"{number:,}"


def compact(number: int | float) -> str:
    """Three significant figures with k, M, G: 227,328 as 227k."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            scaled = number / (1e3 if unit == "k" else limit)
            return f"{scaled:.3g}{unit}" if scaled < 999.5 else f"{scaled:.0f}{unit}"
    return f"{number:,}"


def _requests(line: LineReport) -> int | float:
    return line.counters.get("global_load_requests", 0) + line.counters.get("global_store_requests", 0)


def _lanes_text(line: LineReport, number_format: NumberFormat) -> str:
    return "" if line.active_lanes is None else f"{line.active_lanes:.1f}"


def _requests_text(line: LineReport, number_format: NumberFormat) -> str:
    return number_format(_requests(line)) if _requests(line) else ""


def _sectors_text(line: LineReport, number_format: NumberFormat) -> str:
    return f"{sectors(line) / _requests(line):.1f}" if _requests(line) else ""


def _conflicts_text(line: LineReport, number_format: NumberFormat) -> str:
    conflicts = bank_conflicts(line.counters)
    return number_format(conflicts) if conflicts else ""


def _atomics_text(line: LineReport, number_format: NumberFormat) -> str:
    atomics = line.counters.get("global_atomics", 0) + line.counters.get("shared_atomics", 0)
    return number_format(atomics) if atomics else ""


def _branches_text(line: LineReport, number_format: NumberFormat) -> str:
    branches = line.counters.get("branches", 0)
    if not branches:
        return ""
    split = line.counters.get("divergent_branches", 0)
    return (
        f"{split / branches:.0%}" if number_format is compact else f"{number_format(split)}/{number_format(branches)}"
    )


def _local(line: LineReport) -> int | float:
    return line.counters.get("local_load_requests", 0) + line.counters.get("local_store_requests", 0)


def _local_text(line: LineReport, number_format: NumberFormat) -> str:
    return number_format(_local(line)) if _local(line) else ""


COLUMNS = (
    Column(
        ("lanes", f"of {WARP_SIZE}"), ("lanes", f"/{WARP_SIZE}"), "mean lanes at work per warp instruction", _lanes_text
    ),
    Column(("global", "requests"), ("global", "req."), "warp loads and stores of global memory", _requests_text),
    Column(("sectors", "/request"), ("sect.", "/req."), "32-byte sectors per global request", _sectors_text),
    Column(("bank", "conflicts"), ("bank", "conf."), "extra shared-memory wavefronts", _conflicts_text),
    Column(("local", "requests"), ("local", "req."), "warp loads and stores of local memory", _local_text),
    Column(("atomic", "requests"), ("atomic", "req."), "warp atomics, global and shared", _atomics_text),
    Column(
        ("split /", "branches"),
        ("branch", "split"),
        "warp branches whose lanes went both ways / all",
        _branches_text,
    ),
)


def columns(report: Report) -> list[Column]:
    """The columns in which any line of this report has something to show."""
    return [column for column in COLUMNS if any(column.text(line, exact) for line in rows(report))]


def rows(report: Report) -> list[LineReport]:
    """What the annotated source shows: the lines, then what other files cost, each file in one row."""
    folded = [replace(line, text=f"... {short_path(line.file)}: {line.text}") for line in report.folded]
    return [*report.lines, *folded]


def gaps(report: Report) -> list[str | None]:
    """For each row of a report what stands in a row of its own before it."""
    return gaps_between(report.file, rows(report))


def gaps_between(file: str, lines: list[LineReport]) -> list[str | None]:
    """What stands before each line: None between neighbours, '' where lines are left out or another function begins,
    the file's name where that is in another file than the line before (at first: than `file`)."""
    found: list[str | None] = []
    following = lines[0].number if lines else 0
    for line in lines:
        if line.number and line.file != file:
            found.append(f"--- {short_path(line.file)}")
        else:
            found.append(None if line.number == following else "")
        file, following = line.file, line.number + 1 if line.number else 0
    return found


def work_shares(report: Report) -> dict[Place, tuple[float, float]]:
    """Per line (share of the kernel's warp instructions, part of the lanes at work in them), both from 0 to 1."""
    total = sum(line.counters.get("warp_instructions", 0) for line in rows(report))
    return {
        Place(line.file, line.number): (
            line.counters.get("warp_instructions", 0) / total,
            (line.active_lanes or 0) / WARP_SIZE,
        )
        for line in rows(report)
        if total and line.counters.get("warp_instructions", 0)
    }


# --- the kernel's counters, as Nsight Compute has them ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CounterRow:
    """A row of the table of counters: what is counted, for loads and for stores, and Nsight Compute's name for it (that
    of the loads; the stores' has `_st` for `_ld`), '' where no reading has been compared with it."""

    label: str
    load: int | float
    store: int | float | None
    metric: str


_ROWS = (
    ("global requests", "global_{}_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
    ("global sectors", "global_{}_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    ("shared requests", "shared_{}_requests", "smsp__sass_inst_executed_op_shared_ld.sum"),
    ("shared wavefronts", "shared_{}_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    ("bank conflicts", "shared_{}_bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
    ("local requests", "local_{}_requests", ""),
)
_SINGLE_ROWS = (
    ("constant loads", "constant_loads"),
    ("global atomics", "global_atomics"),
    ("shared atomics", "shared_atomics"),
)


def counter_rows(report: Report) -> list[CounterRow]:
    """The kernel's memory counters that are not zero."""
    counters = report.counters
    table = []
    for label, name, metric in _ROWS:
        load, store = (counters.get(name.format(way), 0) for way in ("load", "store"))
        if load or store:
            table.append(CounterRow(label, load, store, metric))
    for label, name in _SINGLE_ROWS:
        if counters.get(name, 0):
            table.append(CounterRow(label, counters[name], None, ""))
    return table


# --- source text -----------------------------------------------------------------------------------------------------

Token = tuple[str, str]  # (style: "", "keyword", "comment", "number" or "string"; text)


def source_tokens(lines: list[LineReport]) -> list[list[Token]]:
    """The lines' text without common indentation, each as styled pieces; text that is no source (number 0) is dim."""
    source = [line for line in lines if line.number]
    folded: list[list[Token]] = [[("comment", line.text)] for line in lines if not line.number]
    return _styled(source) + folded


def _styled(lines: list[LineReport]) -> list[list[Token]]:
    code = textwrap.dedent("\n".join(line.text.rstrip().expandtabs(4) for line in lines))
    language = "cuda" if any(is_cpp(line.file, line.text) for line in lines) else "python"
    result: list[list[Token]] = [[]]
    for style, text in _tokens(code, language):
        first, *rest = text.split("\n")
        if first:
            result[-1].append((style, first))
        for piece in rest:
            result.append([(style, piece)] if piece else [])
    return result[: len(lines)] + [[] for _ in range(len(lines) - len(result))]


def _tokens(code: str, language: str) -> list[Token]:
    # rich brings pygments; it has no types of its own and is not needed before a report is shown.
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Comment, Keyword, Number, Operator, String

    styles = (
        (Comment, "comment"),
        (Keyword, "keyword"),
        (Operator.Word, "keyword"),
        (Number, "number"),
        (String, "string"),
    )
    lexer = get_lexer_by_name(language, stripnl=False)
    return [
        (next((style for parent, style in styles if kind in parent), ""), text) for kind, text in lexer.get_tokens(code)
    ]
