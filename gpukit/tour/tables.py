"""The tour's tables, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.markup import escape
from rich.table import Table

from gpukit.tour.launches import Check, Step
from gpukit.tour.matrix import Matrix


def _table(*columns: str) -> Table:
    """The first column is text, the others are numbers."""
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for position, column in enumerate(columns):
        table.add_column(column, justify="right" if position else "left", no_wrap=position == 0)
    return table


def branch_table(steps: Iterable[Step]) -> Table:
    table = _table("", "divergent branches", "load requests", "warp instructions", "active lanes")
    for step in steps:
        table.add_row(
            step.name,
            f"{step['divergent_branches']:,} of {step['branches']:,}",
            f"{step['global_load_requests']:,}",
            f"{step['warp_instructions']:,}",
            f"{step['active_lanes_per_instruction']:.1f} of 32",
        )
    return table


def read_table(steps: Iterable[Step]) -> Table:
    table = _table("", "requests", "sectors", "H200 sectors", "sectors a request", "bytes used")
    for step in steps:
        table.add_row(
            step.name,
            f"{step['global_load_requests']:,}",
            f"{step['global_load_sectors']:,}",
            f"{step.hardware['global_load_sectors']:,}" if step.hardware else "-",
            f"{step['global_load_sectors'] / step['global_load_requests']:.1f}",
            f"{step['load_efficiency']:.0%}",
        )
    return table


def reduction_table(steps: Iterable[Step]) -> Table:
    """Two lines a kernel: ours, and the hardware's reading of the same counters."""
    counters = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors")
    table = _table(
        "", "load requests", "load sectors", "store requests", "store sectors", "divergent branches", "lanes"
    )
    for step in steps:
        table.add_row(
            step.name,
            *(f"{step[counter]:,}" for counter in counters),
            f"{step['divergent_branches']:,}",
            f"{step['active_lanes_per_instruction']:.1f}",
        )
        assert step.hardware is not None
        same = all(step[counter] == step.hardware[counter] for counter in counters)
        table.add_row(
            "  on an H200",
            *(f"{step.hardware[counter]:,}" for counter in counters),
            "[green]identical[/]" if same else "[red]differs[/]",
            "",
            style="dim",
        )
    return table


def sparse_table(steps: Iterable[Step], matrix: Matrix) -> Table:
    table = _table("", "load requests", "load sectors", "sectors a non-zero", "warp instructions", "active lanes")
    for step in steps:
        table.add_row(
            step.name,
            f"{step['global_load_requests']:,}",
            f"{step['global_load_sectors']:,}",
            f"{step['global_load_sectors'] / matrix.nonzeros:.2f}",
            f"{step['warp_instructions']:,}",
            f"{step['active_lanes_per_instruction']:.1f} of 32",
        )
    return table


def check_lines(check: Check) -> list[str]:
    """What the check of one kernel found, as lines of rich markup."""
    result = "the result is right" if check.correct else "the result is wrong"
    faults = [hazard for hazard in check.report.hazards if hazard.severity in ("error", "warning")]
    if not faults:
        return [f"[bold]{check.name}[/]: {result}, [green]no hazard[/]"]
    lines = [f"[bold]{check.name}[/]: {result}, and [red]the kernel is broken[/]"]
    lines += [f"  [red]{hazard.kind}[/] line {hazard.line}: {escape(hazard.message)}" for hazard in faults]
    return lines
