"""The tour's tables, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from gpukit.report import layout
from gpukit.tour.launches import Check, Step
from gpukit.tour.matrix import Matrix


def _table(*columns: str) -> Table:
    """The first column is text, the others are numbers; headings break where they have a newline, numbers nowhere."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for position, column in enumerate(columns):
        table.add_column(column, justify="right" if position else "left", no_wrap=True, vertical="bottom")
    return table


def branch_table(steps: Iterable[Step]) -> Table:
    table = _table("", "divergent\nbranches", "load\nrequests", "warp\ninstructions", "active lanes\nof 32")
    for step in steps:
        table.add_row(
            step.name,
            f"{step['divergent_branches']:,} of {step['branches']:,}",
            f"{step['global_load_requests']:,}",
            f"{step['warp_instructions']:,}",
            f"{step['active_lanes_per_instruction']:.1f}",
        )
    return table


def read_table(steps: Iterable[Step]) -> Table:
    table = _table("", "requests", "sectors", "sectors\non an H200", "sectors\na request", "bytes used of\nbytes moved")
    for step in steps:
        table.add_row(
            step.name,
            f"{step['global_load_requests']:,}",
            f"{step['global_load_sectors']:,}",
            f"{step.hardware['global_load_sectors']:,}" if step.hardware else "-",
            f"{step['global_load_sectors'] / step['global_load_requests']:.1f}",
            f"{step['load_efficiency']:.1%}",
        )
    return table


def reduction_table(steps: Iterable[Step]) -> Table:
    """Two lines a kernel: ours, and the hardware's reading of the same counters."""
    counters = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")
    headings = ("load\nrequests", "load\nsectors", "store\nrequests", "store\nsectors")
    table = _table("", *headings, "divergent\nbranches", "active\nlanes")
    for step in steps:
        table.add_row(
            step.name,
            *(f"{step[counter]:,}" for counter in counters),
            f"{step['divergent_branches']:,}",
            f"{step['active_lanes_per_instruction']:.1f}",
        )
        assert step.hardware is not None
        same = all(step[counter] == step.hardware[counter] for counter in counters)
        verdict = "[green]identical[/]" if same else "[red]differs[/]"
        hardware = (f"{step.hardware[counter]:,}" for counter in counters)
        table.add_row(f"  H200: {verdict}", *hardware, "", "", style="dim")
    return table


def sparse_table(steps: Iterable[Step], matrix: Matrix) -> Table:
    table = _table(
        "", "load\nrequests", "load\nsectors", "sectors a\nnon-zero", "warp\ninstructions", "active lanes\nof 32"
    )
    for step in steps:
        table.add_row(
            step.name,
            f"{step['global_load_requests']:,}",
            f"{step['global_load_sectors']:,}",
            f"{step['global_load_sectors'] / matrix.nonzeros:.2f}",
            f"{step['warp_instructions']:,}",
            f"{step['active_lanes_per_instruction']:.1f}",
        )
    return table


def check_verdict(check: Check) -> Group:
    """What the check of one kernel found: a verdict, and each hazard under its source line."""
    result = f"the result is {'right' if check.correct else 'wrong'}"
    faults = check.report.errors + check.report.warnings
    if not faults:
        return Group(f"[bold]{check.name}[/]: {result}, [green]no hazard[/]")
    parts: list[RenderableType] = [f"[bold]{check.name}[/]: {result}, and [red]the kernel is broken[/]"]
    text = {line.number: line.text for line in check.report.lines}
    for hazard in faults:
        parts.append(f"  [dim]line {hazard.line}[/]  {escape(text.get(hazard.line, '').strip())}")
        parts.append(Padding(f"[red]{hazard.kind}[/]: {escape(layout.message(hazard))}", (0, 0, 0, 6)))
    return Group(*parts)
