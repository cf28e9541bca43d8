"""From `.loc` to lines of the user's source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gpukit.machine.frontends.ptx.syntax import Function, Instruction, Location
from gpukit.machine.program import SourceLine

_GAP = 3  # lines without code that still belong to what is around them


class SourceMap:
    """The user's files, and which line of them an instruction belongs to.

    Code of other files (headers of the toolkit) that was inlined belongs to the line that called it. Without any
    source, the lines are those of the PTX itself.

    Args:
        main: the file that messages name when nothing better is known.
        sources: path -> its lines, for the files that are the user's own.
        files: `.file` number -> path.
        text: the lines of the PTX.
    """

    def __init__(
        self, main: str, sources: Mapping[str, Sequence[str]], files: Mapping[int, str], text: Sequence[str] = ()
    ):
        self.main = main
        self.plain = not sources
        self.sources = sources or {main: text}
        self._file: dict[int, str] = {}
        by_base = {os.path.basename(path): path for path in sources}
        for number, path in files.items():
            own = path if path in sources else by_base.get(os.path.basename(path))
            if own is not None and (own == path or os.path.normpath(path).endswith(os.path.normpath(own))):
                self._file[number] = own
        self._index: dict[tuple[str, int], int] = {}

    def line(self, inst: Instruction, lines: list[SourceLine], before: int) -> int:
        """Index into `lines` (which grows) of the user's line; `before` when none is known."""
        if self.plain:
            return self._number(self.main, inst.text_line, lines)
        location: Location | None = inst.location
        while location is not None:
            path = self._file.get(location.file)
            if path is not None and location.line:
                return self._number(path, location.line, lines)
            location = location.inlined_at
        return before

    def start(self, function: Function, lines: list[SourceLine]) -> int:
        """The first line of a function."""
        for statement in function.body or ():
            if isinstance(statement, Instruction):
                found = self.line(statement, lines, -1)
                if found >= 0:
                    return found
        return self._number(self.main, 0, lines)

    def _number(self, path: str, number: int, lines: list[SourceLine]) -> int:
        key = path, number
        if key not in self._index:
            text = self.sources.get(path, ())
            lines.append(SourceLine(path, number, text[number - 1] if 0 < number <= len(text) else ""))
            self._index[key] = len(lines) - 1
        return self._index[key]

    def shown(self, lines: Sequence[SourceLine]) -> list[SourceLine]:
        """The lines a report shows: every stretch of source that has code, with what stands between, and the head of
        each function."""
        result = []
        for path in dict.fromkeys(line.file for line in lines):
            text = self.sources.get(path, ())
            used = sorted({line.number for line in lines if line.file == path and line.number})
            shown: set[int] = set()
            for number, following in zip(used, [*used[1:], 0], strict=False):
                shown.add(number)
                if 0 < following - number <= _GAP:
                    shown.update(range(number, following))
            for number in used:
                shown.update(_head(text, number))
            result += [SourceLine(path, n, text[n - 1] if n <= len(text) else "") for n in sorted(shown)]
        return result


def _head(text: Sequence[str], number: int) -> range:
    """From the line that begins the function around a line, when it is near."""
    for above in range(number, max(0, number - 12), -1):
        line = text[above - 1] if above <= len(text) else ""
        if "__global__" in line or "__device__" in line or ".entry" in line or ".func" in line:
            return range(above, number + 1)
        if above < number and line.startswith("}"):
            break
    return range(number, number + 1)
