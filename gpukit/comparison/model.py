"""A kernel at both levels, side by side, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpukit.comparison.reasons import Reason
from gpukit.report.model import Number, Report

# The counters that are compared, in this order: counter, label, the kind of instruction it counts.
COUNTERS = (
    ("global_load_requests", "load requests", "global loads"),
    ("global_load_sectors", "load sectors", "global loads"),
    ("global_store_requests", "store requests", "global stores"),
    ("global_store_sectors", "store sectors", "global stores"),
    ("shared_load_requests", "shared loads", "shared loads"),
    ("shared_load_wavefronts", "shared load wavefronts", "shared loads"),
    ("shared_store_requests", "shared stores", "shared stores"),
    ("shared_store_wavefronts", "shared store wavefronts", "shared stores"),
    ("local_load_requests", "local loads", "local loads"),
    ("local_store_requests", "local stores", "local stores"),
    ("constant_loads", "constant loads", "constant loads"),
    ("global_atomics", "global atomics", "global atomics"),
    ("shared_atomics", "shared atomics", "shared atomics"),
    ("branches", "branches", "branches"),
    ("divergent_branches", "divergent branches", "branches"),
    ("barriers", "barriers", "barriers"),
)
LABELS = {name: label for name, label, _ in COUNTERS}


@dataclass(slots=True)
class Difference:
    """One counter at both levels. `reasons` is empty where they are equal."""

    counter: str
    source: Number
    compiled: Number
    reasons: list[Reason] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return self.source == self.compiled

    def to_dict(self) -> dict:
        reasons = [{"kind": r.kind, "text": r.text, "array": r.array} for r in self.reasons]
        return {"counter": self.counter, "source": self.source, "compiled": self.compiled, "reasons": reasons}


@dataclass(slots=True)
class LineComparison:
    """A source line with the counters that are not zero at one level at least."""

    file: str
    number: int
    text: str
    counters: list[Difference] = field(default_factory=list)

    def to_dict(self) -> dict:
        return {
            "file": self.file,
            "number": self.number,
            "text": self.text,
            "counters": [difference.to_dict() for difference in self.counters],
        }


@dataclass(slots=True)
class ResultComparison:
    """Whether both levels left the same in an array that the kernel changes.

    `differing` of its `elements` are unequal, by at most `largest` (0.0 if that cannot be said: integers that wrapped,
    records). NaN equals NaN.
    """

    array: str
    elements: int
    differing: int
    largest: float = 0.0

    def to_dict(self) -> dict:
        return {
            "array": self.array,
            "elements": self.elements,
            "differing": self.differing,
            "largest": self.largest,
        }


@dataclass(slots=True, repr=False)
class LevelComparison:
    """What the source says and what the compiler made of it, on the same inputs.

    `source` and `compiled` are the reports of the two runs, `totals` the kernel's counters, `lines` those of its lines,
    `results` what the two runs left in memory.
    """

    source: Report
    compiled: Report
    totals: list[Difference]
    lines: list[LineComparison]
    results: list[ResultComparison]

    def to_dict(self) -> dict:
        """The whole comparison as dicts, lists, strings and numbers, ready for `json.dump`."""
        return {
            "kernel": self.source.kernel,
            "file": self.source.file,
            "totals": [difference.to_dict() for difference in self.totals],
            "lines": [line.to_dict() for line in self.lines],
            "results": [result.to_dict() for result in self.results],
            "source": self.source.to_dict(),
            "compiled": self.compiled.to_dict(),
        }

    def __str__(self) -> str:
        from gpukit.comparison.terminal import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"<{self.source.kernel} at both levels: print it, or .to_dict()>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows at a prompt; a notebook takes the HTML."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from gpukit.comparison.html import fragment

        return fragment(self)
