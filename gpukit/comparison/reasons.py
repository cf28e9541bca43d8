"""Why the compiled level counts other numbers than the source says, as far as the two programs show it.

Each reason names what was seen (instructions, bytes per lane, loops around them). Where nothing shows one, the reason
is `differs`: no reason is ever guessed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from gpukit.comparison.accesses import BARRIERS, BRANCHES, Code, Executed, Line, Site

MOVED, MERGED, UNROLLED, VECTORIZED, SPLIT = "hoisted", "merged", "unrolled", "vectorized", "split"
PREDICATED, REMOVED, REGISTERS, ELSEWHERE = "predicated", "removed", "in registers", "at another line"
ASSEMBLER, DUPLICATED, ADDED, DIFFERS = "by the assembler", "duplicated", "added", "differs"
EMULATED = "by compare and swap"

_LOCAL = ("local loads", "local stores")


@dataclass(frozen=True, slots=True)
class Reason:
    """`kind` is one of the words above; `text` says what shows it; `array` is whose accesses it is about, or ''."""

    kind: str
    text: str
    array: str = ""


class Reasons:
    """Explains the differences between two runs of one kernel."""

    def __init__(self, source: Executed, compiled: Executed):
        self._source = source
        self._compiled = compiled
        self._loops = source.loop_lines()

    def of(self, line: Line, what: str) -> list[Reason]:
        """The reasons for what differs at a line, one per array that differs; at least one."""
        sites = {
            site for site in (*self._source.sites, *self._compiled.sites) if (site.line, site.what) == (line, what)
        }
        found = []
        for site in sorted(sites, key=lambda site: site.array):
            before, after = self._source.sites.get(site, Code()), self._compiled.sites.get(site, Code())
            if (before.requests, before.units) != (after.requests, after.units):
                kind, text = self._why(site, before, after)
                found.append(Reason(kind, text, site.array))
        return found or [Reason(DIFFERS, "no reason is visible in the compiled code")]

    def _why(self, site: Site, before: Code, after: Code) -> tuple[str, str]:
        if site.what == BRANCHES:
            return self._branches(site, before, after)
        if site.what == BARRIERS:
            return _no_reason(before, after, "barrier")
        if not before.instructions:
            return self._only_compiled(site, after)
        if not after.instructions:
            return self._gone(site, before, after)
        return _changed(_noun(site.what), before, after)

    # --- accesses ----------------------------------------------------------------------------------------------------

    def _gone(self, site: Site, before: Code, after: Code) -> tuple[str, str]:
        """The compiled code has no such instruction at this line."""
        noun = _noun(site.what)
        if after.assembled:
            return ASSEMBLER, f"it drops this {noun}, whose value nothing uses"
        if site.what in _LOCAL and not any(
            s.what in _LOCAL and c.instructions for s, c in self._compiled.sites.items()
        ):
            return REGISTERS, "the elements of the local array are kept in registers"
        kept = [line for line in sorted(before.same) if self._has_access(line, site.array)]
        if kept:
            other = "another access of this line" if site.line in kept else _spoken(kept[0], site.line)
            return MERGED, f"{other} accesses the same elements, so this {noun} is not needed"
        to = self._hoisted_to(site, before)
        if to is not None:
            depth = self._compiled.sites[Site(to, site.what, site.array)].depth
            return MOVED, f"the {noun} was moved out of the loop{_of_line(before, depth)}, to {_spoken(to, site.line)}"
        elsewhere = self._elsewhere(site, before)
        if elsewhere is not None:
            return ELSEWHERE, f"the compiled code has this {noun} at {_spoken(elsewhere, site.line)}"
        if (exchanged := self._exchanged(site)) is not None:
            return exchanged
        if not self._may_have_moved(site):
            return REMOVED, f"the compiled code has no such {noun} at any line"
        return _no_reason(before, after, noun)

    def _only_compiled(self, site: Site, after: Code) -> tuple[str, str]:
        """The source has no such instruction at this line."""
        noun = _noun(site.what)
        for other, before in self._source.sites.items():
            if not _alike(other, site) or other in self._compiled.sites:
                continue
            written = _spoken(other.line, site.line)
            if self._hoisted_to(other, before) == site.line:
                return MOVED, f"this is the {noun} of {written}, out of its loop{_of_line(before, after.depth)}"
            if _numbers(before) == _numbers(after):
                return ELSEWHERE, f"this is the {noun} that the source has at {written}"
        if (exchanged := self._exchanged(site)) is not None:
            return exchanged
        return ADDED, f"the source has no {noun} at this line, the compiled code has {_times(after, noun)}"

    def _gone_and_new(self, site: Site) -> tuple[list[Site], list[Site]]:
        """Where the source alone, and where the compiled code alone, has such accesses to the array."""
        gone = [s for s in self._source.sites if _alike(s, site) and s not in self._compiled.sites]
        new = [s for s in self._compiled.sites if _alike(s, site) and s not in self._source.sites]
        return gone, new

    def _exchanged(self, site: Site) -> tuple[str, str] | None:
        """The accesses of several lines that one other line has instead."""
        gone, new = self._gone_and_new(site)
        if len(new) != 1 or not gone:
            return None
        noun, after = _noun(site.what), self._compiled.sites[new[0]]
        written = sum(self._source.sites[s].instructions for s in gone)
        lines = " and ".join(_spoken(line, site.line) for line in sorted(s.line for s in gone))
        where = _spoken(new[0].line, site.line)
        return ELSEWHERE, f"{where} has {_times(after, noun)} in place of the {written} of {lines}"

    def _hoisted_to(self, site: Site, before: Code) -> Line | None:
        """The one line at which the compiled code alone accesses the array, in fewer loops and less often."""
        gone, new = self._gone_and_new(site)
        if len(new) != 1 or gone != [site]:
            return None
        after = self._compiled.sites[new[0]]
        return new[0].line if after.depth < before.depth and after.requests < before.requests else None

    def _elsewhere(self, site: Site, before: Code) -> Line | None:
        """The line at which the compiled code alone has accesses with exactly these numbers."""
        for other, after in self._compiled.sites.items():
            if other not in self._source.sites and _alike(other, site) and _numbers(after) == _numbers(before):
                return other.line
        return None

    def _has_access(self, line: Line, array: str) -> bool:
        """Whether the compiled code accesses an array at a line in any way."""
        return any(
            site.line == line and site.array == array and site.what not in (BRANCHES, BARRIERS) and code.instructions
            for site, code in self._compiled.sites.items()
        )

    def _may_have_moved(self, site: Site) -> bool:
        """Whether the compiled code has more of these accesses than the source at any line."""
        return any(
            _alike(other, site) and code.instructions > self._source.sites.get(other, Code()).instructions
            for other, code in self._compiled.sites.items()
        )

    # --- branches ----------------------------------------------------------------------------------------------------

    def _branches(self, site: Site, before: Code, after: Code) -> tuple[str, str]:
        if not before.instructions:
            return ADDED, f"the source has no branch at this line, the compiled code has {_times(after, 'branch')}"
        around = site.line if site.line in self._loops else None
        if around is None and before.loops and after.instructions > before.instructions:
            around = (site.line[0], before.loops[-1])
        if around is not None and (why := self._loop(around, after)) is not None:
            return why
        if after.instructions >= before.instructions or after.requests >= before.requests:
            return _no_reason(before, after, "branch")
        left = f"{_times(after, 'branch')} left" if after.instructions else "no branch"
        if after.comparisons > max(1, before.comparisons):
            return MERGED, f"{left}, which takes the outcome of {after.comparisons} comparisons at once"
        if site.line in self._compiled.guards:
            return PREDICATED, f"{left}: instructions run under a predicate of this test instead"
        if site.line in self._compiled.selects:
            return PREDICATED, f"{left}: both ways are computed, and this test selects a value"
        if not after.instructions and site.line in self._compiled.compares:
            return PREDICATED, f"{left}: the test is computed as a value"
        return _no_reason(before, after, "branch")

    def _loop(self, loop: Line, after: Code) -> tuple[str, str] | None:
        """What became of a loop, by what stands inside it in both levels."""
        copies, left = 0, bool(after.instructions)
        for site, before in self._source.sites.items():
            made = self._compiled.sites.get(site)
            inside = before.loops and (site.line[0], before.loops[-1]) == loop
            if inside and made is not None and site.what != BRANCHES:
                copies = max(copies, made.instructions // before.instructions)
                left |= made.depth >= before.depth
        if copies > 1:
            which = "the loop's body" if left else "no loop is left: its body"
            return UNROLLED, f"{which} stands {copies} times in the compiled code"
        if not copies and after.instructions > 2:  # a loop that is only turned around has two: before it and at its end
            return UNROLLED, f"the loop's test stands {after.instructions} times in the compiled code"
        return (REMOVED, "no loop is left, and what was in it stands once") if copies and not left else None


def _changed(noun: str, before: Code, after: Code) -> tuple[str, str]:
    """Both levels have instructions at the line."""
    fewer = after.requests < before.requests
    copies = f"{_times(after, noun)} instead of {before.instructions}"
    if after.assembled and (fewer or after.widths != before.widths):
        return (
            ASSEMBLER,
            f"it makes {_times(after, noun)} of {_widths(after)} bytes a lane of the compiler's {after.emitted}",
        )
    if before.bytes == after.bytes and before.widths != after.widths:
        change = f"{_widths(after)} bytes a lane in one {noun} instead of {_widths(before)}"
        if min(after.widths) >= max(before.widths):
            return VECTORIZED, change
        if max(after.widths) <= min(before.widths):
            return SPLIT, change
    if "cas" in after.actions - before.actions and after.depth > before.depth:
        return EMULATED, f"the {noun} is a loop that compares and swaps until no other thread came between"
    if after.instructions > before.instructions and not fewer:
        return (UNROLLED, f"{copies} in the loop{_of_line(before)}") if before.depth else (DUPLICATED, copies)
    if fewer and after.depth < before.depth:
        return MOVED, f"the {noun} was moved out of the loop{_of_line(before, after.depth)}"
    if fewer and after.instructions < before.instructions and before.same:
        return MERGED, f"{copies}: some access the same elements, and one serves them"
    return _no_reason(before, after, noun)


def _alike(one: Site, other: Site) -> bool:
    return (one.what, one.array) == (other.what, other.array)


def _no_reason(before: Code, after: Code, noun: str) -> tuple[str, str]:
    counted = f"{_times(after, noun)} in the compiled code, {before.instructions or 'none'} written"
    return DIFFERS, f"no reason is visible ({counted})"


def _numbers(code: Code) -> tuple[int, int, int]:
    return code.requests, code.units, code.bytes


def _spoken(line: Line, seen_from: Line) -> str:
    """ "line 7", or "tools.py:7" for a line of another file."""
    file, number = line
    return f"line {number}" if file == seen_from[0] else f"{os.path.basename(file)}:{number}"


def _noun(what: str) -> str:
    """ "global loads" -> "load"."""
    return what.split()[-1].removesuffix("s")


def _times(code: Code, noun: str) -> str:
    plural = "branches" if noun == "branch" else f"{noun}s"
    return f"{code.instructions or 'no'} {noun if code.instructions == 1 else plural}"


def _widths(code: Code) -> str:
    return " or ".join(str(width) for width in sorted(code.widths))


def _of_line(code: Code, inside: int = -1) -> str:
    """ " of line 7": the innermost loop around an instruction, or the outermost of those that it left."""
    loops = code.loops or ()
    return f" of line {loops[inside]}" if loops else ""
