"""Numbers for a reader."""

from __future__ import annotations

import re


def seconds(value: float) -> str:
    """A time with three digits: 1.63 ms, 45.1 us."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}" if abs(value) < 1000 * size else f"{value / size:,.0f} {unit}"
    return f"{value / 1e-9:.3g} ns"


def number(value: float) -> str:
    """A counter: 227,328; a ratio with two decimals: 1.25."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def counter_name(name: str) -> str:
    """A counter in words: "global load sectors"."""
    return name.replace("_", " ")


def first_sentence(text: str) -> str:
    """A paragraph up to its first full stop, without it."""
    return re.split(r"\.(?:\s|$)", text, maxsplit=1)[0]
