"""A cell's program: runs it, and says what its launches did as plain data that a page can draw.

The page carries this file and runs it under Pyodide; the builder and the tests run it here. So it imports nothing that
`gpukit.slides.live.sources` does not list, and needs neither numba nor threads.

`run` returns, ready for JSON:

    output      what the program printed, cut at MAX_OUTPUT characters
    error       {"sentence", "line"} or null; the line is the cell's, null where it is not known
    more        launches before the ones in `launches`
    counters    [{"name", "help", "values"}], a value (text) for each of `launches`
    launches    [{"kernel", "shape", "arguments", "summary", "headings", "lines", "remarks", "trace"}], the latest ones
    lines       [{"number", "text", "marks", "cells", "gap"}]: the kernel's source with what each line costs
    remarks     [{"mark", "severity", "line", "text"}]: hazards and findings
    trace       {"lines", "threads", "warps", "truncated"}: the first warps of the first and the last block, and how
                many threads a block has
    warps       [{"block", "warp", "steps"}]; a step is [index of one of `lines`, active, waiting, done, requests]:
                32-bit masks of the warp's lanes (bit n for lane n), and what it asks of memory, in words
"""

from __future__ import annotations

import builtins
import contextlib
import io
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import gpukit
from gpukit import cuda, launching
from gpukit.errors import GpukitError, LaunchError
from gpukit.report import layout
from gpukit.report.answers import bank_conflicts, count
from gpukit.tracing import profile_and_trace

if TYPE_CHECKING:
    from gpukit.machine.trace import Trace
    from gpukit.report import Report

MAX_OUTPUT = 20_000  # characters
LAUNCHES = 4  # shown side by side
TRACE_STEPS = 400  # of the first and the last block together: what the picture has room for
TRACE_WARPS = 8  # of each of these
MAX_STEPS = 100_000  # of the machine, a wave: a loop that does not end is stopped within seconds in a browser, too
CUT = "\n... the rest of the output is left out\n"

Counters = dict[str, "int | float"]
Say = Callable[[str], None]


def run(source: str, name: str, say: Say | None = None) -> dict[str, Any]:
    """Run the program `source`, known as the file `name`; `say` gets each piece of its output at once."""
    printed = _Printed(say)
    watched = _Launches(printed)
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    error = None
    with _streams(printed), watched.watching():
        try:
            # A namespace of its own: what an earlier run has defined is gone, as in a script.
            exec(compile(source, name, "exec", dont_inherit=True), {"__name__": "__main__", "__builtins__": builtins})
        except SystemExit:
            pass
        except BaseException as problem:
            error = _explained(problem, name)
    return {
        "output": printed.text,
        "error": error,
        "more": watched.more,
        "counters": counter_rows([report for report, _ in watched.latest]),
        "launches": [_launch(report, trace, name) for report, trace in watched.latest],
    }


@contextlib.contextmanager
def _streams(printed: _Printed) -> Iterator[None]:
    """What is printed goes to `printed`; there is nothing to be read."""
    before = sys.stdin
    sys.stdin = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield
    finally:
        sys.stdin = before


class _Printed(io.TextIOBase):
    """Standard output of a cell: passes it on, keeps it, and stops at MAX_OUTPUT characters."""

    def __init__(self, say: Say | None):
        self._say = say
        self._parts: list[str] = []
        self._room = MAX_OUTPUT

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text and self._room >= 0:
            kept = text if len(text) <= self._room else text[: self._room] + CUT
            self._room -= len(text)  # below 0 once something was left out
            self._parts.append(kept)
            if self._say is not None:
                self._say(kept)
        return len(text)


class _Launches:
    """Profiles and traces every launch of a program, whichever way it is made; keeps the latest."""

    def __init__(self, printed: _Printed):
        self.latest: list[tuple[Report, Trace]] = []
        self.more = 0
        self._printed = printed

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """`gpukit.profile`, `check` and `launch` and kernel[grid, block](...) come to `profile` below."""
        profile, launch = gpukit.profile, gpukit.launch
        before = cuda.launching.use(self._called)
        # `check` profiles by the name that its module has.
        launching.profile = gpukit.profile = self.profile
        gpukit.launch = self._launched
        try:
            yield
        finally:
            launching.profile, gpukit.profile, gpukit.launch = profile, profile, launch
            cuda.launching.use(before)

    def profile(self, kernel: Any, grid: Any, block: Any, *args: Any, level: str | None = None, **options: Any) -> Any:
        if level not in (None, "source"):
            raise LaunchError("the compiled level needs NVIDIA's compiler, which a page has not: leave level= out here")
        options.pop("progress", None)
        options.setdefault("max_steps", MAX_STEPS)
        report, trace = profile_and_trace(kernel, grid, block, *args, trace_steps=TRACE_STEPS, **options)
        self.latest.append((report, trace))
        if len(self.latest) > LAUNCHES:
            self.latest.pop(0)
            self.more += 1
        self._printed.write("".join(report.output))
        return report

    def _launched(self, kernel: Any, grid: Any, block: Any, *args: Any, shared_bytes: int = 0, **_: Any) -> None:
        self.profile(kernel, grid, block, *args, shared_bytes=shared_bytes)

    def _called(self, kernel: Any, grid: Any, block: Any, args: tuple, shared_bytes: int) -> None:
        self.profile(kernel, grid, block, *args, shared_bytes=shared_bytes)


# --- errors ----------------------------------------------------------------------------------------------------------


def _explained(problem: BaseException, name: str) -> dict[str, Any]:
    """An error as one sentence with the cell's line."""
    if isinstance(problem, SyntaxError):
        line = problem.lineno if problem.filename == name else None
        return {"sentence": f"{_at(name, line)}this is not Python: {problem.msg}", "line": line}
    line = _line_of(problem, name)
    if isinstance(problem, GpukitError):
        line = problem.line if problem.line and problem.file == name else line
        placed = problem.file is not None and problem.line is not None
        return {"sentence": str(problem) if placed else _at(name, line) + problem.message, "line": line}
    if isinstance(problem, ModuleNotFoundError):
        return {"sentence": _at(name, line) + _missing(problem.name or ""), "line": line}
    if isinstance(problem, MemoryError):
        return {"sentence": f"{_at(name, line)}the page has not enough memory: use smaller arrays", "line": line}
    what = str(problem)
    return {"sentence": f"{_at(name, line)}{type(problem).__name__}{f': {what}' if what else ''}", "line": line}


def _missing(module: str) -> str:
    root = module.partition(".")[0]
    if root == "numba":
        return "numba is not in this page: write `from gpukit import cuda`, which has the same names"
    if root == "gpukit":
        return f"{module} is not in this page, which has the machine for kernels in Python: run this where gpukit is"
    return f"there is no {module} in this page, which has Python, NumPy and gpukit: run this on your computer"


def _line_of(problem: BaseException, name: str) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(problem.__traceback__) if frame.filename == name]
    return lines[-1] if lines else None


def _at(name: str, line: int | None) -> str:
    return f"{name}:{line}: " if line else ""


# --- counters --------------------------------------------------------------------------------------------------------


def counter_rows(reports: list[Report]) -> list[dict[str, Any]]:
    """The rows of the table: those that say something about any of the reports, with a value for each."""
    rows = []
    for name, about, value in _ROWS:
        values = [value(report.counters) for report in reports]
        if any(given is not None for given in values):
            rows.append({"name": name, "help": about, "values": ["-" if v is None else v for v in values]})
    return rows


Value = Callable[[Counters], "str | None"]


def _number(*names: str, beside: tuple[str, ...] = ()) -> Value:
    """The sum of counters; nothing where they are 0, unless one of `beside` is not: there a 0 says something."""

    def value(counters: Counters) -> str | None:
        total = sum(counters.get(name, 0) for name in names)
        return f"{total:,}" if total or any(counters.get(name) for name in beside) else None

    return value


def _ratio(over: str, under: str) -> Value:
    return lambda counters: f"{counters[over] / counters[under]:.1f}" if counters.get(under) else None


def _share(name: str, requests: str) -> Value:
    return lambda counters: f"{counters[name]:.0%}" if counters.get(requests) else None


def _lanes(counters: Counters) -> str | None:
    lanes = counters.get("active_lanes_per_instruction")
    return f"{lanes:.1f} of 32" if lanes else None


def _conflicts(counters: Counters) -> str | None:
    return f"{bank_conflicts(counters):,}" if any(counters.get(name) for name in _SHARED_REQUESTS) else None


_SHARED_REQUESTS = ("shared_load_requests", "shared_store_requests")
_GLOBAL_REQUESTS = ("global_load_requests", "global_store_requests")
_ROWS: tuple[tuple[str, str, Value], ...] = (
    ("global requests", "warp instructions that read or write global memory", _number(*_GLOBAL_REQUESTS)),
    ("load requests", "warp instructions that read global memory", _number("global_load_requests")),
    ("load sectors", "32-byte sectors that these touch", _number("global_load_sectors")),
    (
        "sectors per load request",
        "4 for 32 neighbours of 4 bytes",
        _ratio("global_load_sectors", "global_load_requests"),
    ),
    (
        "loaded bytes used",
        "of what the sectors bring; over 100 % where lanes read the same bytes",
        _share("load_efficiency", "global_load_requests"),
    ),
    ("store requests", "warp instructions that write global memory", _number("global_store_requests")),
    ("store sectors", "32-byte sectors that these touch", _number("global_store_sectors")),
    (
        "sectors per store request",
        "4 for 32 neighbours of 4 bytes",
        _ratio("global_store_sectors", "global_store_requests"),
    ),
    ("shared requests", "warp instructions that read or write shared memory", _number(*_SHARED_REQUESTS)),
    (
        "shared wavefronts",
        "passes that the 32 banks need for them",
        _number("shared_load_wavefronts", "shared_store_wavefronts"),
    ),
    ("bank conflicts", "wavefronts more than needed", _conflicts),
    (
        "local requests",
        "warp instructions that read or write local memory",
        _number("local_load_requests", "local_store_requests"),
    ),
    ("atomic requests", "warp atomics, global and shared", _number("global_atomics", "shared_atomics")),
    ("atomics on one address", "the most that any address got", _number("atomic_max_contention")),
    ("branches", "decisions of warps: if, loops, conditions", _number("branches")),
    ("divergent branches", "those whose lanes went both ways", _number("divergent_branches", beside=("branches",))),
    ("active lanes", "at work in a warp instruction, on average", _lanes),
    ("barriers", "of blocks", _number("barriers", beside=_SHARED_REQUESTS)),
    ("warp synchronisations", "shuffles, votes and syncwarp", _number("warp_synchronisations")),
    ("warp instructions", "as written; a compiler makes other ones", _number("warp_instructions")),
)


# --- one launch ------------------------------------------------------------------------------------------------------


def _launch(report: Report, trace: Trace, name: str) -> dict[str, Any]:
    listed = layout.remarks(report)
    marks = layout.marks_by_place(report, listed)
    columns = layout.columns(report)
    threads, warps = count(report.threads, "thread"), count(report.warps, "warp")
    return {
        "kernel": report.kernel,
        "shape": f"grid {layout.shape(report.grid)}, block {layout.shape(report.block)}: {threads} in {warps}",
        "arguments": layout.arguments(report),
        "summary": layout.summary(report),
        "headings": [{"text": " ".join(column.heading).replace(" /", "/"), "help": column.help} for column in columns],
        "lines": [
            {
                "number": line.number if line.file == name else 0,
                "text": line.text.rstrip(),
                "marks": marks.get(layout.Place(line.file, line.number), []),
                "cells": [column.text(line, layout.exact) for column in columns],
                "gap": gap,
            }
            for line, gap in zip(layout.rows(report), layout.gaps(report), strict=True)
        ],
        "remarks": [
            {
                "mark": remark.mark,
                "severity": {"E": "error", "W": "warning", "N": "finding"}[remark.mark[0]],
                "line": remark.hazard.line if (remark.hazard.file or report.file) == name else None,
                "text": layout.message(remark.hazard),
            }
            for remark in listed[: layout.LIST_LIMIT]
        ],
        "trace": _trace(trace, name),
    }


def _trace(trace: Trace, name: str) -> dict[str, Any]:
    asked: dict[tuple[int, int, int], list[str]] = {}
    for request in trace.requests:
        unit = "sector" if request.space == "global" else "wavefront"
        lanes = count(request.mask.bit_count(), "lane")
        text = f"{request.kind} {trace.arrays[request.array].name}: {lanes}, {count(request.cost, unit)}"
        asked.setdefault((request.step, request.block, request.warp), []).append(text)
    first = range(min(trace.warps_per_block, TRACE_WARPS))
    steps: dict[tuple[int, int], list[list[Any]]] = {(block, warp): [] for block in trace.blocks for warp in first}
    for step in trace.steps:
        for warp in first:
            if warp in step.active:
                masks = (step.active[warp], step.waiting.get(warp, 0), step.done.get(warp, 0))
                requests = asked.get((step.step, step.block, warp), [])
                steps[step.block, warp].append([step.line, *masks, requests])
    return {
        "lines": [
            {"number": line.number if line.file == name else 0, "text": line.text.strip()} for line in trace.lines
        ],
        "threads": trace.threads_per_block,
        "warps": [{"block": block, "warp": warp, "steps": taken} for (block, warp), taken in steps.items() if taken],
        "truncated": trace.truncated,
    }
