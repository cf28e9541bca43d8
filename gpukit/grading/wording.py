"""How records are put into words: what pages, tables and files for other programs share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from math import ceil, floor

from gpukit.grading.record import AT_LEAST, FAILED, NOT_STARTED, PASSED, Cost, Item, Number, Record

TINY = 1e-9  # what rounding may take from a limit

# Characters that a page or a terminal acts upon instead of showing them: an override of the writing direction can make
# a line of code read as another.
_DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_UNSEEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff{_DIRECTIONS}]")


def visible(text: str) -> str:
    """Text in which control characters are seen instead of obeyed; line ends become "\\n", tabs stay.

    What is left may stand in XML and HTML (once escaped), and in any file in UTF-8.
    """
    return _UNSEEN.sub(_picture, text.replace("\r\n", "\n").replace("\r", "\n"))


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"[U+{code:04X}]"


def one_line(text: str) -> str:
    """The first line of a text that has something in it, control characters made visible."""
    return next((line.strip() for line in visible(text).split("\n") if line.strip()), "")


def source_lines(source: str) -> list[str]:
    """Lines of source as the compilers count them, control characters made visible."""
    lines = visible(source.removeprefix("\ufeff")).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def number(value: Number) -> str:
    """4,096 or 3.2: at most two decimals."""
    rounded = round(value, 2)
    return f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:,.2f}".rstrip("0")


def points(value: Number) -> str:
    """Points without a needless ".0", as a program reads them: 7 or 2.5."""
    return f"{round(value, 5):.5f}".rstrip("0").rstrip(".")


def count(amount: int, noun: str, plural: str = "") -> str:
    """ "1 line", "3 lines"."""
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def count_points(value: Number) -> str:
    """ "1 point", "2.5 points"."""
    return f"{points(value)} {'point' if value == 1 else 'points'}"


def limit(cost: Cost) -> str:
    """ "at most 1,024"; of whole counts the last whole number within it."""
    allowed = cost.allowed
    if cost.got == int(cost.got) and cost.reference == int(cost.reference):
        allowed = ceil(allowed - TINY) if cost.way == AT_LEAST else floor(allowed + TINY)
    return f"{cost.way} {number(allowed)}"


def counter(name: str) -> str:
    """global_load_sectors as "global load sectors"."""
    return name.replace("_", " ")


def task_order(task: str) -> tuple:
    """Sorts 5.2 before 5.10."""
    return tuple((0, int(part), "") if part.isdigit() and part.isascii() else (1, 0, part) for part in task.split("."))


def student_order(record: Record) -> tuple[str, str]:
    """Sorts students as a list of names is: regardless of case and accents, and always the same."""
    return unicodedata.normalize("NFKD", record.student).casefold(), record.student


def tasks(records: Iterable[Record]) -> dict[str, Number]:
    """Task -> most points, in order; from all records, as refused ones have no items."""
    most: dict[str, Number] = {}
    for record in records:
        own: dict[str, Number] = {}
        for item in record.items:
            own[item.task] = own.get(item.task, 0) + item.max_points
        for task, value in own.items():
            most[task] = max(most.get(task, 0), value)
    return {task: most[task] for task in sorted(most, key=task_order)}


def task_points(record: Record) -> dict[str, Number]:
    """Task -> points that count, of the tasks that the record has."""
    got: dict[str, Number] = {}
    for item in record.items:
        got[item.task] = got.get(item.task, 0) + (item.points if record.complete else 0)
    return got


def max_points(records: Iterable[Record]) -> Number:
    """Most points that the lab gives."""
    return max((record.max_points for record in records), default=0)


def titles(records: Iterable[Record]) -> dict[str, str]:
    """Task -> what it asks for."""
    found = {item.task: item.title for record in records for item in record.items}
    return {task: found[task] for task in sorted(found, key=task_order)}


def state_of(items: Sequence[Item]) -> str:
    """A task's state from its tests': passed when all are, not started when none was begun."""
    states = {item.status for item in items}
    if states == {PASSED}:
        return PASSED
    return NOT_STARTED if states <= {NOT_STARTED} else FAILED
