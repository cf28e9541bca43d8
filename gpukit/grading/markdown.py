"""Anybody's text in Markdown: shown as it is, whatever it holds."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpukit.grading.wording import visible

_SPECIAL = re.compile(r"([\\`*_\[\]~$])")
_LINK = re.compile(r"(?<=\w):(?=//)|\b(?<=www)\.")
_OPENING = re.compile(r"^(\d+)([.)])(?=\s|$)|^([#+=-])")


def text(value: str) -> str:
    """Text in a line of prose or a cell of a table: no mark-up, no HTML, no link, one line."""
    flat = " ".join(visible(value).split())
    escaped = _SPECIAL.sub(r"\\\1", flat)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("@", "&#64;"), ("|", "&#124;")):
        escaped = escaped.replace(character, entity)
    # Bare addresses become links on some sites; "1." or "-" at the beginning would make a list.
    escaped = _LINK.sub(lambda found: f"\\{found[0]}", escaped)
    return _OPENING.sub(lambda found: f"{found[1]}\\{found[2]}" if found[1] else f"\\{found[3]}", escaped)


def code(value: str) -> str:
    """A piece of code in a line."""
    flat = " ".join(visible(value).split()) or " "
    fence = "`" * (_longest_run(flat) + 1)
    pad = " " if "`" in flat else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def cell(value: str) -> str:
    """A piece of code in a cell of a table, as plain text where a "|" in it would end the cell."""
    return text(value) if "|" in value else code(value)


def block(value: str, language: str = "text") -> str:
    """Lines as a fenced block that nothing in them can close."""
    shown = visible(value).rstrip("\n")
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: int = 0) -> str:
    """A table of cells that are Markdown already; the last `right` columns are numbers."""
    left = len(header) - right
    rule = ["---"] * left + ["---:"] * right
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall("`+", value)), default=0)
