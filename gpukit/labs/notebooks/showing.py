"""What a notebook shows of a task: its tests, what is wrong and where in the cell, and the report; as HTML and text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from gpukit.labs.failures import number
from gpukit.labs.progress import DONE, OPEN, WRONG
from gpukit.labs.running import FAILED, NOT_STARTED, PASSED, Outcome
from gpukit.report import Report, html

BADGES = {PASSED: "badge note", FAILED: "badge error", NOT_STARTED: "badge"}
MARKS = {PASSED: DONE, FAILED: WRONG, NOT_STARTED: OPEN}
_LINE = re.compile(r"\bline (?P<number>\d+)\b")

# Line of the file that was run -> ("", line of this cell) or (key, line of another cell).
Place = Callable[[int], tuple[str, int]]


def state(statuses: Sequence[str]) -> str:
    """One word for the tests of a task."""
    return next((word for word in (FAILED, NOT_STARTED) if word in statuses), PASSED)


@dataclass(frozen=True)
class Progress:
    """How far a lab is: task -> (prompt, state, points, points there are)."""

    lab: str
    tasks: dict[str, tuple[str, str, float, float]]

    @property
    def bar(self) -> str:
        return "".join(MARKS[word] for _, word, _, _ in self.tasks.values())

    @property
    def line(self) -> str:
        got, most = sum(t[2] for t in self.tasks.values()), sum(t[3] for t in self.tasks.values())
        done = ", complete" if all(t[1] == PASSED for t in self.tasks.values()) else ""
        return f"{self.lab} [{self.bar}] {number(got)} of {number(most)} points{done}"

    def __repr__(self) -> str:
        rows = [
            f"  {task:<6}{word:<13}{number(got)} of {number(most)}  {prompt}"
            for task, (prompt, word, got, most) in self.tasks.items()
        ]
        return "\n".join([self.line, *rows])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td class="q"><b>{task}</b></td><td><span class="{BADGES[word]}">{word}</span></td>'
            f'<td class="n q">{number(got)} of {number(most)}</td><td>{escape(prompt)}</td></tr>'
            for task, (prompt, word, got, most) in self.tasks.items()
        )
        return html.framed(f'<p class="head"><b>{escape(self.line)}</b></p><table>{rows}</table>')


@dataclass(frozen=True)
class TaskResult:
    """What the tests of a cell's tasks said. `notes`: sentences about other cells. `place`: see `Place`."""

    tasks: dict[str, str]
    outcomes: Sequence[Outcome]
    progress: Progress
    place: Place
    seed: int
    notes: Sequence[str] = ()
    report: Report | None = field(default=None)

    @property
    def heading(self) -> str:
        return "; ".join(f"task {task}, {prompt}" for task, prompt in self.tasks.items())

    @property
    def state(self) -> str:
        return state([outcome.status for outcome in self.outcomes])

    def __repr__(self) -> str:
        lines = [f"{self.heading}: {self.state}"]
        for outcome in self.outcomes:
            lines.append(f"  {outcome.test.name} {outcome.status}{self._what(outcome)}")
            lines += [f"    {label:<10}{text}" for label, text in self._rows(outcome)]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes), self.progress.line])

    def _repr_html_(self) -> str:
        badge = f'<span class="{BADGES[self.state]}">{self.state}</span>'
        parts = [f'<p class="head">{badge} <b>{escape(self.heading)}</b></p>', self._tests()]
        parts += [f'<p class="dim">{escape(note)}</p>' for note in self.notes]
        if self.report is not None:
            summary = f"what <code>{escape(self.report.kernel)}</code> does, line by line"
            parts.append(f"<details><summary>{summary}</summary>{html.fragment(self.report)}</details>")
        parts.append(f'<p class="dim"><code>{escape(self.progress.line)}</code></p>')
        return html.framed("".join(parts))

    def _tests(self) -> str:
        rows = []
        for outcome in self.outcomes:
            what = f"{outcome.status}{self._what(outcome)}"
            rows.append(f'<tr><td class="q"><b>{escape(outcome.test.name)}</b></td><td>{escape(what)}</td></tr>')
            rows += [
                f'<tr><td class="dim n">{label}</td><td>{escape(text)}</td></tr>' for label, text in self._rows(outcome)
            ]
        return f"<table>{''.join(rows)}</table>"

    def _what(self, outcome: Outcome) -> str:
        if outcome.hole is not None:
            hole = outcome.hole
            if hole.task == outcome.test.task:
                return f": {hole.prompt} ({self._at(hole.line)})"
            return f": waits for task {hole.task}, {hole.prompt} ({self._at(hole.line)})"
        if outcome.finding is None:
            return ""
        at = f"{self._at(outcome.finding.line)}: " if outcome.finding.line else ""
        return f": {at}{self._told(outcome.finding.what)}"

    def _rows(self, outcome: Outcome) -> list[tuple[str, str]]:
        if outcome.status == PASSED:
            return []
        found = []
        if outcome.finding is not None:
            # The command that shows the launch names a file that is gone by now; the report is below.
            rows = outcome.finding.rows()
            gone = outcome.finding.file or "\0"
            found = [(label, self._told(text)) for label, text in rows if label != "do" or gone not in text]
        if outcome.test.hint:
            found.append(("hint", outcome.test.hint))
        if outcome.status == FAILED:
            found.append(("again", f"%%task {' '.join(self.tasks)} --seed {self.seed}"))
        return found

    def _at(self, line: int) -> str:
        key, number_there = self.place(line)
        return f"line {number_there}" + (f" of the cell {key}" if key else "")

    def _told(self, text: str) -> str:
        """A text of the labs with the lines of this cell, or of another."""
        return _LINE.sub(lambda match: self._at(int(match["number"])), text)
