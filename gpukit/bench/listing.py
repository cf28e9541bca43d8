"""The families and their rungs, as a list to read or as plain data."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gpukit.registry import Family


def to_dict(family: Family) -> dict[str, Any]:
    """A family as plain data: what it shows, its sizes, its rungs with their documentation."""
    return {
        "family": family.name,
        "about": about(family),
        "size": family.size,
        "cpu_n": family.cpu_n,
        "gpu_n": family.gpu_n,
        "block": family.block,
        "blocks": list(family.blocks),
        "counters": list(family.counters),
        "rungs": [
            {
                "rung": rung.key,
                "language": rung.language,
                "against": rung.against,
                "produces": rung.produces,
                "hazard": rung.hazard,
                "machines": list(rung.machines),
                "needs": list(rung.needs),
                "place": rung.place,
                **rung.sections,
            }
            for rung in family.rungs.values()
        ],
    }


def about(family: Family) -> str:
    """What a family shows: the first line of its module's documentation."""
    return family.document.strip().partition("\n")[0]


def brief(family: Family) -> RenderableType:
    """A family in a list of all: its first line, and a line or two for each rung."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for name in ("rung", "language"):
        table.add_column(name, no_wrap=True)
    table.add_column("effect", ratio=3)
    table.add_column("produces", max_width=16)
    for rung in family.rungs.values():
        table.add_row(rung.key, Text(rung.language, "dim"), rung.sections["effect"], Text(rung.produces, "dim"))
    return Group(_title(family), Padding(table, (0, 0, 0, 2)))


def detailed(family: Family) -> RenderableType:
    """One family: its whole documentation, then each rung with what it changes and what must come of it."""
    body = family.document.strip().partition("\n")[2].strip()
    parts: list[RenderableType] = [_title(family)]
    for paragraph in filter(None, body.split("\n\n")):
        parts += [Text(paragraph if paragraph.startswith(" ") else " ".join(paragraph.split())), Text()]
    blocks = ", ".join(map(str, family.blocks))
    parts.append(
        Text(
            f"Measured: {family.cpu_n:,} {family.size} on the CPU machine, {family.gpu_n:,} on a GPU; "
            f"{family.block} threads a block, checked with {blocks}."
        )
    )
    for rung in family.rungs.values():
        sections = rung.sections
        parts += [Text(), Text.assemble((f"{family.name}.{rung.key}", "bold"), f"  {rung.language}, {_leaves(rung)}")]
        lines = [Text(sections["effect"])]
        lines += [
            Text.assemble((f"{name.capitalize()}: ", "dim"), sections[name])
            for name in ("versus", "expect", "source")
            if name in sections
        ]
        if rung.hazard:
            lines.append(Text(f"There to show: {rung.hazard}"))
        if rung.place:
            lines.append(Text(rung.place, "dim"))
        parts.append(Padding(Group(*lines), (0, 0, 0, 4)))
    return Group(*parts)


def _leaves(rung: Any) -> str:
    where = "" if len(rung.machines) > 1 else (", GPU only" if rung.machines == ("gpu",) else ", CPU machine only")
    needs = f", needs {', '.join(rung.needs)}" if rung.needs else ""
    return f"leaves {rung.produces}{where}{needs}"


def _title(family: Family) -> Text:
    return Text.assemble((family.name, "bold"), f": {about(family)}")
