"""What NVRTC says, as messages with a place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_MESSAGE = re.compile(
    r"^(?:(?P<file>[^\n]*?)\((?P<line>\d+)\): |At end of source: )?"
    r"(?P<severity>catastrophic error|internal error|error|warning|remark)(?: #[\w-]+)?: (?P<text>.*)$"
)
_WHERE_USED = re.compile(r"at line (?P<line>\d+)(?: of \"?(?P<file>[^\"\n]+?)\"?)?$")
_OPTION = re.compile(r"^nvrtc: (?P<severity>error|warning): (?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of the compiler. `file` and `line` are None where it names no place; `used_at` are the places (file,
    line) of the calls and instantiations that led there, innermost first."""

    severity: str
    text: str
    file: str | None
    line: int | None
    used_at: tuple[tuple[str, int], ...] = ()

    @property
    def is_error(self) -> bool:
        return self.severity.endswith("error")


def parse(log: str) -> list[Diagnostic]:
    """The messages of a compilation, in its order."""
    found: list[Diagnostic] = []
    used: list[tuple[str, int]] = []
    for text in log.splitlines():
        message = _OPTION.match(text) or _MESSAGE.match(text)
        if message:
            parts = message.groupdict()
            line = int(parts["line"]) if parts.get("line") else None
            used = []
            found.append(Diagnostic(parts["severity"], parts["text"].strip(), parts.get("file"), line))
        elif found and (place := _WHERE_USED.search(text)):
            last = found[-1]
            used.append((place["file"] or last.file or "", int(place["line"])))
            found[-1] = Diagnostic(last.severity, last.text, last.file, last.line, tuple(used))
    return found


def place_in(diagnostic: Diagnostic, is_named: Callable[[str | None], bool]) -> int | None:
    """The line of a file a message is about: its own, or where that file uses what the message is about."""
    if is_named(diagnostic.file):
        return diagnostic.line
    return next((line for name, line in diagnostic.used_at if is_named(name)), None)
