"""What the terminal and the notebook view of a comparison share: rows, marks and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpukit.comparison.model import LABELS, Difference, LevelComparison, ResultComparison
from gpukit.comparison.reasons import DIFFERS, Reason
from gpukit.report import layout


@dataclass(frozen=True, slots=True)
class Mark:
    """What differs at a line for one reason, with its mark ("D1")."""

    mark: str
    file: str
    line: int
    differences: tuple[Difference, ...]


def marks(comparison: LevelComparison) -> list[Mark]:
    """The differences of all lines, in order; those of one line that have the same reasons share a mark."""
    found: list[Mark] = []
    for line in comparison.lines:
        groups: dict[tuple[Reason, ...], list[Difference]] = {}
        for difference in line.counters:
            if not difference.equal:
                groups.setdefault(tuple(difference.reasons), []).append(difference)
        for group in groups.values():
            found.append(Mark(f"D{len(found) + 1}", line.file, line.number, tuple(group)))
    return found


def title(comparison: LevelComparison) -> str:
    """The launch in one line."""
    source, compiled = comparison.source, comparison.compiled
    return (
        f"grid {layout.shape(source.grid)}, block {layout.shape(source.block)}; source level {source.seconds:.2f} s, "
        f"compiled level {compiled.seconds:.2f} s on the CPU machine"
    )


def summary(comparison: LevelComparison) -> str:
    """How many of the kernel's counters differ, in words."""
    differ = sum(not total.equal for total in comparison.totals)
    return "both levels count the same" if not differ else f"{differ} of {len(comparison.totals)} counters differ"


def change(difference: Difference) -> str:
    """The compiled count relative to the source's: "+5.7 %", "equal", "new", "gone"."""
    if difference.equal:
        return "equal"
    if not difference.source:
        return "new"
    if not difference.compiled:
        return "gone"
    return f"{(difference.compiled - difference.source) / difference.source:+.1%}"


def kinds(reasons: Sequence[Reason]) -> str:
    """The words for a total: "unrolled, hoisted"; "differs" only where nothing else is known."""
    known = list(dict.fromkeys(reason.kind for reason in reasons if reason.kind != DIFFERS))
    unknown = any(reason.kind == DIFFERS for reason in reasons)
    return ", ".join([*known, *(["differs" if not known else "more that has no visible reason"] if unknown else [])])


def sentences(reasons: Sequence[Reason]) -> list[str]:
    """Reasons as text; arrays that have the same one are named together."""
    arrays: dict[tuple[str, str], list[str]] = {}
    for reason in reasons:
        arrays.setdefault((reason.kind, reason.text), []).append(reason.array)
    texts = []
    for (kind, text), names in arrays.items():
        named = ", ".join(name for name in names if name)
        texts.append(f"{f'{named}: ' if named else ''}{text if kind == DIFFERS else f'{kind}: {text}'}")
    return texts


def where(comparison: LevelComparison, mark: Mark) -> str:
    """ "line 7", or "tools.py:7" for a line of another file than the kernel's."""
    own = mark.file == comparison.source.file
    return f"line {mark.line}" if own else f"{layout.short_path(mark.file)}:{mark.line}"


def explanation(mark: Mark) -> str:
    """What a mark stands for, without its place."""
    counts = ", ".join(f"{LABELS[d.counter]} {d.source:,} -> {d.compiled:,}" for d in mark.differences)
    return f"{counts}; {'; '.join(sentences(mark.differences[0].reasons))}"


def result(found: ResultComparison) -> str:
    """How an array of one level compares with the other's."""
    if not found.differing:
        return f"{found.array}: equal"
    by = f", by at most {found.largest:.3g}" if found.largest else ""
    return f"{found.array}: {found.differing:,} of {found.elements:,} elements differ{by}"
