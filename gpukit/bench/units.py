"""Numbers for a reader."""

from __future__ import annotations

import re


def number(value: float) -> str:
    """A counter: 227,328; a ratio with two decimals: 1.25."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def counter_name(name: str) -> str:
    """A counter in words: "global load sectors"."""
    return name.replace("_", " ")


def first_sentence(text: str) -> str:
    """A paragraph up to its first full stop, without it."""
    return re.split(r"\.(?:\s|$)", text, maxsplit=1)[0]
