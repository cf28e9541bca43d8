"""A launch on both machines in a terminal or a pipe (rich)."""

from __future__ import annotations

import io

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpukit.gpu.metrics import COMPARED
from gpukit.gpu.profiling import OnBothMachines, Row
from gpukit.report import layout
from gpukit.report.terminal import TEXT_WIDTH

_DIFFERENT = "black on bright_yellow"
COLD = "with its caches emptied before, as Nsight Compute does; gpukit bench --machine gpu times it as it runs"


def to_text(found: OnBothMachines, width: int = TEXT_WIDTH) -> str:
    """The terminal view as plain text: no colour codes, no trailing blanks."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False)
    show(found, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in text.splitlines())


def show(found: OnBothMachines, console: Console) -> None:
    """Print the counters of both machines side by side; those of the CPU machine alone where there are no others."""
    console.print(render(found), highlight=False)


def render(found: OnBothMachines) -> RenderableType:
    """What was launched, then a row for each counter, then how long the launch took."""
    model = found.model
    head = Text.assemble((model.kernel, "bold"), f"  {layout.short_path(model.file)}  {_summary(found)}")
    parts: list[RenderableType] = [head, Text(layout.title(model))]
    if model.arguments:
        parts.append(Text(layout.arguments(model)))
    parts.append(_table(found))
    if found.reading is not None and found.reading.seconds is not None:
        parts.append(Text(f"\nTime of the launch on the GPU: {_duration(found.reading.seconds)}, {COLD}."))
    return Group(*parts)


def _summary(found: OnBothMachines) -> str:
    if found.reading is None:
        return f"the CPU machine's counters; those of the {found.gpu} could not be read"
    equal = sum(row.difference == 0 for row in found.rows)
    return f"the CPU machine beside the {found.gpu}: {equal} of {len(found.rows)} counters equal"


def _table(found: OnBothMachines) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("counter", no_wrap=True)
    table.add_column("CPU machine", justify="right", no_wrap=True)
    if found.reading is None:
        for counter in COMPARED:
            if value := round(found.model.counters.get(counter, 0)):
                table.add_row(counter, f"{value:,}")
        return Padding(table, (1, 0, 0, 0))
    table.add_column("GPU", justify="right", no_wrap=True)
    table.add_column("difference", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for row in found.rows:
        table.add_row(row.counter, f"{row.model:,}", f"{row.hardware:,}", _difference(row), row.remark)
    return Padding(table, (1, 0, 0, 0))


def _difference(row: Row) -> Text:
    return Text(f"{row.difference:+,}", style=_DIFFERENT) if row.difference else Text("=")


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("microseconds", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:,.4g} {unit}"
    return f"{seconds * 1e9:,.4g} ns"
