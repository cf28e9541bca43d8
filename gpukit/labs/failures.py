"""What a test found wrong with an answer: plain parts, and their text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpukit.report import Report


@dataclass(frozen=True)
class Missed:
    """A counter beside what is allowed. `way`: "at most" or "at least"; `line`: the line that costs most, 0 if none."""

    counter: str
    got: float
    allowed: float
    reference: float
    way: str = "at most"
    line: int = 0

    @property
    def held(self) -> bool:
        return self.got <= self.allowed if self.way == "at most" else self.got >= self.allowed

    def __str__(self) -> str:
        where = f", most of it in line {self.line}" if self.line else ""
        bound = f"{self.way} {number(self.allowed)} allowed, the reference needs {number(self.reference)}"
        return f"{self.counter} is {number(self.got)}: {bound}{where}"


@dataclass(frozen=True)
class Exceeded:
    """A counter of host code beside a bound that is no reference's. `way` and `line` as in `Missed`."""

    counter: str
    got: float
    allowed: float
    way: str = "at most"
    line: int = 0

    def __str__(self) -> str:
        where = f", most of it in line {self.line}" if self.line else ""
        return f"{self.counter} is {number(self.got)}: {self.way} {number(self.allowed)} allowed{where}"


@dataclass(frozen=True)
class Finding:
    """Why a test fails. Parts that do not apply are empty.

    what: one sentence. call: what was launched or called. about: what is special about this input. got, expected: the
    first place where they differ. where: its index, how many are wrong and in what pattern, and who wrote it.
    hazards: dicts of kind, severity, line, message. missed: counters that missed their bound. advice: what to do.
    """

    what: str
    call: str = ""
    about: str = ""
    got: str = ""
    expected: str = ""
    where: str = ""
    hazards: tuple[dict[str, Any], ...] = ()
    missed: tuple[Missed | Exceeded, ...] = ()
    advice: str = ""
    line: int = 0
    file: str = ""

    def rows(self) -> list[tuple[str, str]]:
        """(label, text) of the parts, in the order they are shown."""
        found = [
            *(("call", self.call), ("input", self.about), ("got", self.got), ("expected", self.expected)),
            ("where", self.where),
            *(("hazard", self._hazard(hazard)) for hazard in self.hazards),
            *(("counter", str(missed)) for missed in self.missed),
            ("do", self.advice),
        ]
        return [(label, text) for label, text in found if text]

    def _hazard(self, hazard: dict[str, Any]) -> str:
        where = f"line {hazard['line']}: " if hazard.get("line") else ""
        return f"{hazard['kind']} ({hazard['severity']}): {where}{hazard['message']}"

    def __str__(self) -> str:
        width = 10
        body = [f"  {label:<{width}}{text}" for label, text in self.rows()]
        return "\n".join([self.what, *body])


@dataclass
class Measured:
    """What a test's runs cost: the worst of each counter, what lines cost in the last run, and its whole report."""

    counters: dict[str, Missed] = field(default_factory=dict)
    lines: dict[int, dict[str, float]] = field(default_factory=dict)
    report: Report | None = None

    def add(self, found: Missed) -> None:
        known = self.counters.get(found.counter)
        if known is None or _badness(found) > _badness(known):
            self.counters[found.counter] = found


def _badness(found: Missed) -> float:
    """How far past its bound, as a share of it."""
    far, near = (found.got, found.allowed) if found.way == "at most" else (found.allowed, found.got)
    return far / near if near else far * 1e9


def number(value: float) -> str:
    """1,234 or 3.25."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
