"""Why the compiled level counts other numbers than the source says, as far as the two programs show it.

Each reason names what was seen (instructions, bytes per lane, loops around them). Where nothing shows one, the reason
is `differs`: no reason is ever guessed.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpukit.comparison.accesses import BRANCHES, Code, Executed, Line, Site

MOVED, MERGED, UNROLLED, VECTORIZED, SPLIT = "hoisted", "merged", "unrolled", "vectorized", "split"
PREDICATED, REMOVED, REGISTERS, ELSEWHERE = "predicated", "removed", "in registers", "at another line"
DUPLICATED, ADDED, DIFFERS = "duplicated", "added", "differs"

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
        arrays = {site.array for site in (*self._source.sites, *self._compiled.sites) if _at(site, line, what)}
        found = []
        for array in sorted(arrays):
            site = Site(line, what, array)
            before, after = self._source.sites.get(site, Code()), self._compiled.sites.get(site, Code())
            if (before.requests, before.units) != (after.requests, after.units):
                kind, text = self._why(site, before, after)
                found.append(Reason(kind, text, array))
        return found or [Reason(DIFFERS, "no reason is visible in the compiled code")]

    def _why(self, site: Site, before: Code, after: Code) -> tuple[str, str]:
        if site.what == BRANCHES:
            return self._branches(site, before, after)
        if not before.instructions:
            return self._only_compiled(site, after)
        if not after.instructions:
            return self._gone(site, before)
        return self._changed(site, before, after)

    # --- accesses ----------------------------------------------------------------------------------------------------

    def _changed(self, site: Site, before: Code, after: Code) -> tuple[str, str]:
        """Both levels have instructions here."""
        noun = _noun(site.what)
        if before.bytes == after.bytes and before.widths != after.widths:
            if min(after.widths) >= max(before.widths):
                return VECTORIZED, f"{_widths(after)} bytes a lane in one {noun} instead of {_widths(before)}"
            if max(after.widths) <= min(before.widths):
                return SPLIT, f"{_widths(after)} bytes a lane in one {noun} instead of {_widths(before)}"
        fewer = after.requests < before.requests
        if after.instructions > before.instructions:
            if not fewer and before.depth:
                return (
                    UNROLLED,
                    f"{_times(after, noun)} instead of {before.instructions} in the loop{_at_lines(before)}",
                )
            if not fewer:
                return DUPLICATED, f"{_times(after, noun)} instead of {before.instructions}"
        if fewer and after.depth < before.depth:
            return MOVED, f"the {noun} was moved out of the loop{_at_lines(before, after.depth)}"
        if fewer and after.instructions < before.instructions and before.same:
            return MERGED, f"{_times(after, noun)} instead of {before.instructions}: equal ones were merged"
        return (
            DIFFERS,
            f"no reason is visible in the compiled code ({_times(after, noun)}, {before.instructions} written)",
        )

    def _gone(self, site: Site, before: Code) -> tuple[str, str]:
        """The compiled code has no such instruction at this line."""
        noun = _noun(site.what)
        if site.what in _LOCAL and not self._total(self._compiled, *_LOCAL):
            return REGISTERS, "the local array is gone: its elements are kept in registers"
        kept = [line for line in sorted(before.same) if line != site.line and self._has_access(line, site.array)]
        if kept:
            return MERGED, f"no {noun} here: line {kept[0][1]} accesses the same elements, and its value is used"
        if site.line in before.same and self._has_access(site.line, site.array):
            return (
                MERGED,
                f"no {noun} here: another access of this line goes to the same elements, and its value is used",
            )
        elsewhere = self._elsewhere(site, before)
        if elsewhere is not None:
            return ELSEWHERE, f"the compiler names line {elsewhere[1]} for this {noun}"
        if not self._more_than_written(site):
            return REMOVED, f"the compiled code has no such {noun} at any line"
        return DIFFERS, f"the compiled code has no {noun} at this line"

    def _only_compiled(self, site: Site, after: Code) -> tuple[str, str]:
        """The source has no such instruction at this line."""
        noun = _noun(site.what)
        for other, code in self._source.sites.items():
            gone = other not in self._compiled.sites
            if gone and _alike(other, site) and _numbers(code) == _numbers(after):
                return ELSEWHERE, f"this is the {noun} that the source has at line {other.line[1]}"
        return ADDED, f"the source has no {noun} at this line ({_times(after, noun)})"

    def _elsewhere(self, site: Site, before: Code) -> Line | None:
        """The line at which the compiled code alone has accesses with exactly these numbers."""
        for other, code in self._compiled.sites.items():
            same_kind = (other.what, other.array) == (site.what, site.array)
            if (
                same_kind
                and _numbers(code) == _numbers(before)
                and not self._source.sites.get(other, Code()).instructions
            ):
                return other.line
        return None

    def _has_access(self, line: Line, array: str) -> bool:
        """Whether the compiled code accesses an array at a line in any way."""
        return any(site.line == line and site.array == array and _is_access(site) for site in self._compiled.sites)

    def _more_than_written(self, site: Site) -> bool:
        """Whether the compiled code has more of these accesses than the source at any line: it may have moved there."""
        return any(
            _alike(other, site) and code.instructions > self._source.sites.get(other, Code()).instructions
            for other, code in self._compiled.sites.items()
        )

    @staticmethod
    def _total(executed: Executed, *kinds: str) -> int:
        return sum(code.instructions for site, code in executed.sites.items() if site.what in kinds)

    # --- branches ----------------------------------------------------------------------------------------------------

    def _branches(self, site: Site, before: Code, after: Code) -> tuple[str, str]:
        copies = self._copies_of_body(site.line) if site.line in self._loops else 0
        if copies > 1 and after.requests < before.requests:
            gone = "" if after.instructions else ", and no loop is left"
            return UNROLLED, f"the loop's body stands {copies} times in the compiled code{gone}"
        fewer = after.instructions < before.instructions and after.requests < before.requests
        if fewer and site.line not in self._loops:
            arms = {site.line} | self._source.arms(site.line)
            if arms & self._compiled.selects:
                what = "no branch" if not after.instructions else _times(after, "branch")
                return PREDICATED, f"{what} here in the compiled code: both ways are computed and one is selected"
        if not before.instructions:
            return ADDED, f"the source has no branch at this line ({_times(after, 'branch')})"
        return (
            DIFFERS,
            f"no reason is visible in the compiled code ({_times(after, 'branch')}, {before.instructions} written)",
        )

    def _copies_of_body(self, loop: Line) -> int:
        """How often the body of a loop stands in the compiled code, by the accesses in it; 0 if it has none."""
        copies = 0
        for site, before in self._source.sites.items():
            after = self._compiled.sites.get(site)
            inside = before.loops and (site.line[0], before.loops[-1]) == loop
            if inside and after is not None and _is_access(site):
                copies = max(copies, after.instructions // before.instructions)
        return copies


def _at(site: Site, line: Line, what: str) -> bool:
    return site.line == line and site.what == what


def _alike(one: Site, other: Site) -> bool:
    return (one.what, one.array) == (other.what, other.array)


def _is_access(site: Site) -> bool:
    return site.what != BRANCHES


def _no_reason(before: Code, after: Code, noun: str) -> tuple[str, str]:
    return DIFFERS, f"no reason is visible in the compiled code ({_times(after, noun)}, {before.instructions} written)"


def _numbers(code: Code) -> tuple[int, int, int]:
    return code.requests, code.units, code.bytes


def _noun(what: str) -> str:
    """ "global loads" -> "load"."""
    return what.split()[-1].removesuffix("s")


def _times(code: Code, noun: str) -> str:
    plural = "branches" if noun == "branch" else f"{noun}s"
    return f"{code.instructions} {noun if code.instructions == 1 else plural}"


def _widths(code: Code) -> str:
    return " or ".join(str(width) for width in sorted(code.widths))


def _at_lines(code: Code, inside: int = -1) -> str:
    """ " of line 7" for the loop an instruction is in, or for the outermost of those that it left."""
    loops = code.loops or ()
    return f" of line {loops[inside]}" if loops else ""
