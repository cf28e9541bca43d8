"""`lab`: what a lab's test gets to launch, compare and count with. One session serves one test of one answer."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, NoReturn

import numpy as np

import gpukit
from gpukit.devices import fill_with_poison
from gpukit.errors import GpukitError, KernelDeadlock
from gpukit.labs import host_costs
from gpukit.labs.answers import Answer
from gpukit.labs.comparing import Bound, Difference, difference, nested_difference
from gpukit.labs.errors import LabError, NoKernel, NotStarted, TaskFailure
from gpukit.labs.failures import Finding, Measured, Missed
from gpukit.labs.folders import Lab
from gpukit.labs.references import Counted, Launch, Reference
from gpukit.labs.regions import CPP, lines_of
from gpukit.labs.timing import Times, take_turns
from gpukit.labs.wording import call_text, host_call_text, parameters, profile_command, value_text
from gpukit.labs.writers import writer
from gpukit.report import Report
from gpukit.report.layout import message, near_path
from gpukit.sandbox import host
from gpukit.sandbox.host import Result

CPU, GPU = "cpu", "gpu"
HAZARDS_SHOWN = 5
# A launch of a lab is small: the references need some hundred steps, and an endless loop is told in about a second.
MAX_STEPS = 1 << 18
# What the record keeps of a line's cost.
LINE_COUNTERS = (
    *("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors"),
    *("shared_load_bank_conflicts", "shared_store_bank_conflicts", "divergent_branches", "barriers", "global_atomics"),
)
# An answer: the array that is expected in an argument, or (function, what it makes of the argument).
Expected = Any


class Session:
    """The `lab` of one test.

    rng: random numbers of this test, from the run's seed. language: of the answer. measured: what was counted. times:
    what was timed on a GPU.
    """

    def __init__(self, lab: Lab, answer: Answer, reference: Reference | None, test: str, seed: int, machine: str = CPU):
        self._lab = lab
        self._answer = answer
        self._reference = reference
        self._test = test
        self._machine = machine
        self._costs = 0
        self._seen = ""
        seed = seed if reference is None else reference.seed(test, seed)
        self.rng = np.random.default_rng([seed, zlib.crc32(test.encode())])
        self.measured = Measured()
        self.times: list[Times] = []

    @property
    def language(self) -> str:
        """ "Python" or "CUDA C++"."""
        return self._answer.language

    # --- kernels -----------------------------------------------------------------------------------------------------

    def check(
        self,
        kernel: str,
        grid: Any,
        block: Any,
        args: Mapping[str, Any],
        answers: Mapping[str, Expected],
        *,
        about: str = "",
        sizes: Sequence[int] = (),
        shared_bytes: int = 0,
        bound: Bound = 0.0,
        accumulates: Sequence[str] = (),
    ) -> Report | None:
        """Launch a kernel of the answer once: no hazards, the right answer, inputs unchanged.

        Args:
            kernel: its name. grid, block: as `gpukit.profile` takes them.
            args: name -> value, in the order of the parameters. Arrays are copied first, and stay as they are.
            answers: name of an argument -> the array expected there, or (function, what it gives for the argument).
                These arguments are poisoned before the run (NaN, or a number far from 0).
            about: what is special about this input, for the message.
            sizes: ints that CUDA C++ gets behind the arguments.
            bound: largest |got - expected| that is right.
            accumulates: those of `answers` that start with the value given, and are not poisoned.

        Returns:
            The CPU machine's report; None on a GPU.

        Raises:
            TaskFailure: the answer is wrong. NotStarted: the kernel has a hole.
        """
        run = self._launched(kernel, grid, block, args, answers, about, sizes, shared_bytes, bound, accumulates)
        return run.report

    def cost(
        self,
        kernel: str,
        grid: Any,
        block: Any,
        args: Mapping[str, Any],
        answers: Mapping[str, Expected],
        *,
        at_most: Mapping[str, float] | None = None,
        at_least: Mapping[str, float] | None = None,
        about: str = "",
        sizes: Sequence[int] = (),
        shared_bytes: int = 0,
        bound: Bound = 0.0,
        accumulates: Sequence[str] = (),
    ) -> Report | None:
        """As `check`, and then counters against the reference solution's on the same input.

        Args:
            at_most, at_least: counter -> factor; the counter must be at most (at least) factor * the reference's.
        """
        if not at_most and not at_least:
            raise LabError(f"{self._test} bounds no counter", file=str(self._lab.path / "test_lab.py"))
        run = self._launched(kernel, grid, block, args, answers, about, sizes, shared_bytes, bound, accumulates)
        launch = Launch(self._test, self._costs, kernel, grid, block, (*run.before.values(), *run.extra), shared_bytes)
        self._costs += 1
        if run.report is None or self._reference is None:
            return run.report
        try:
            allowed = self._reference.counters(launch)
        except LabError:
            raise
        except GpukitError as error:
            raise LabError(f"the reference solution breaks in {self._test}: {error}") from None
        missed = []
        for way, bounds in (("at most", at_most or {}), ("at least", at_least or {})):
            for counter, factor in bounds.items():
                found = self._bounded(run.report, counter, factor, allowed, way)
                self.measured.add(found)
                if not found.held:
                    missed.append(found)
        self.measured.lines = _lines(run.report)
        if missed:
            finding = Finding(
                "the answer is right, but costs more than it may",
                call=run.call,
                about=about,
                missed=tuple(missed),
                line=next((m.line for m in missed if m.line), 0),
                file=self._answer.file,
                advice=self._command(kernel, grid, block, run),
            )
            raise TaskFailure(finding)
        return run.report

    def time(
        self,
        kernel: str,
        grid: Any,
        block: Any,
        args: Mapping[str, Any],
        answers: Mapping[str, Expected],
        *,
        bytes_moved: int | None = None,
        about: str = "",
        sizes: Sequence[int] = (),
        shared_bytes: int = 0,
        bound: Bound = 0.0,
        accumulates: Sequence[str] = (),
    ) -> None:
        """As `check`, on a GPU, and then time the launch beside the reference solution's: `times` holds what was found.

        Args:
            bytes_moved: bytes that the launch must read and write at least, for the bandwidth.
            accumulates: set back before each launch, too.
        """
        from gpukit.devices import device

        run = self._launched(kernel, grid, block, args, answers, about, sizes, shared_bytes, bound, accumulates)
        gpu = device(GPU)
        given = {k: gpu.xp.asarray(v) if isinstance(v, np.ndarray) else v for k, v in run.before.items()}
        starts = [(given[name], given[name].copy()) for name in accumulates]
        files = {"answer": self._answer}
        if isinstance(self._reference, Counted):
            files["reference"] = self._reference.solution

        def call_of(answer: Answer) -> Callable[[], None]:
            made, values = answer.kernel(kernel), (*given.values(), *run.extra)
            return lambda: gpukit.launch(made, grid, block, *values, shared_bytes=shared_bytes, machine=GPU)

        def restore() -> None:
            for array, start in starts:
                array[...] = start

        calls = {name: call_of(answer) for name, answer in files.items()}
        found = take_turns(calls, restore if starts else None, bytes_moved)
        self.times.append(Times(self._test, run.call, found["answer"], found.get("reference")))

    def given(self, kernel: str, grid: Any, block: Any, *args: Any) -> Report:
        """The report of a launch of a kernel of the lab's own given.py, which quiz questions are about."""
        path = self._lab.file("given")
        kernels = gpukit.load(path)
        if kernel not in kernels.functions:
            raise LabError(f"there is no kernel {kernel!r} in it, which {self._test} asks for", file=str(path))
        values = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        try:
            report = gpukit.profile(kernels[kernel], grid, block, *values)
        except GpukitError as error:
            raise LabError(f"the given kernel {kernel} breaks: {error}", file=str(path)) from None
        self._seen = profile_command(
            _course_path(path), kernel, grid, block, dict(zip(parameters(kernels[kernel]), args, strict=False))
        )
        return report

    # --- constants and host code --------------------------------------------------------------------------------------

    def quiz(self, name: str, counted: float, about: str = "") -> None:
        """The student's prediction against what was counted. Raises TaskFailure, which does not tell the number."""
        try:
            value = self._answer.constant(name)
        except GpukitError as error:
            self._fail(Finding(error.message, about=about, file=self._answer.file))
        if isinstance(value, bool) != isinstance(counted, bool) or value != counted:
            advice = f"look at it: {self._seen}" if self._seen else "count again, by hand, for one warp"
            self._fail(
                Finding(
                    "another number was counted than predicted",
                    call=f"{name} = {value_text(value)}",
                    about=about,
                    line=self._line_of(name),
                    file=self._answer.file,
                    advice=advice,
                )
            )

    def host(self, function: str, calls: Sequence[tuple]) -> list[Any]:
        """What the student's host function returns for each tuple of arguments. It runs in a child process with limits.

        Raises TaskFailure for the first call without a result.
        """
        return [result.value for result in self._called(function, calls, count=False)]

    def host_counted(self, function: str, calls: Sequence[tuple]) -> list[Result]:
        """As `host`, and counts what each call makes PyTorch do, as if its tensors were on a GPU.

        Returns one result a call: its `value`, and `counts` (counter -> number), which `within` bounds:

            operations              kernels that would be launched
            host_reads              times that the host waits for the GPU: .item(), float(t), `if t:`, .numpy(),
                                    .tolist(), and sizes that depend on data (nonzero, unique, masks as indices)
            uploads                 arrays and lists that were made tensors
            copies                  operations that only copy or convert
            dense_gradient_bytes    gradients of lookups that are as large as the table
            written_bytes           what operations write; of one that changes given rows, those rows

        Compare the value first (`expect`): what is wrong may cost what it likes. A bound is worth little alone, since
        code that leaves PyTorch for NumPy counts nothing: ask for `at_least` so many operations, too.
        """
        return self._called(function, calls, count=True)

    def within(
        self,
        call: str,
        run: Result,
        *,
        at_most: Mapping[str, float] | None = None,
        at_least: Mapping[str, float] | None = None,
        about: str = "",
    ) -> None:
        """Bound what a call of `host_counted` made PyTorch do. Raises TaskFailure, with the reason and the line.

        Args:
            call: what was called, for the message. run: what came of it.
            at_most, at_least: counter -> number.
            about: how much work it was, "1,000 steps".
        """
        if not at_most and not at_least:
            raise LabError(f"{self._test} bounds no counter", file=str(self._lab.path / "test_lab.py"))
        where = str(self._lab.path / "test_lab.py")
        missed = host_costs.exceeded(run, at_most or {}, at_least or {}, self._test, where)
        if missed:
            self._fail(host_costs.finding(missed, call, about, self._answer.file))

    def _called(self, function: str, calls: Sequence[tuple], count: bool) -> list[Result]:
        if function not in self._lab.host:
            raise LabError(f"{self._test} calls {function}, which HOST does not list", file=str(self._lab.path))
        hole = self._answer.hole_under(function)
        if hole is not None:
            raise NotStarted(hole)
        text, file = self._answer.text, self._answer.file
        results = host.call(text, file, function, calls, names=self._lab.host, count=count)
        for call, result in zip(calls, results, strict=True):
            if result.error:
                self._fail(Finding(result.error, call=host_call_text(function, call), file=self._answer.file))
        return results

    def expect(self, call: str, got: Any, expected: Any, bound: Bound = 0.0, about: str = "") -> None:
        """Compare one result with the expected one. `call` says what was computed. Raises TaskFailure."""
        found = nested_difference(got, expected, bound)
        if found is not None:
            texts = _difference_texts("", found, got, expected)
            self._fail(Finding("wrong answer", call=call, about=about, file=self._answer.file, **texts))

    # --- a launch ----------------------------------------------------------------------------------------------------

    def _launched(
        self,
        name: str,
        grid: Any,
        block: Any,
        args: Mapping[str, Any],
        answers: Mapping[str, Expected],
        about: str,
        sizes: Sequence[int],
        shared_bytes: int,
        bound: Bound,
        accumulates: Sequence[str],
    ) -> _Run:
        unknown = [key for key in (*answers, *accumulates) if key not in args]
        if unknown:
            raise LabError(f"{self._test} expects {unknown[0]!r}, which is no argument", file=str(self._lab.path))
        extra = tuple(np.int32(size) for size in sizes) if self.language == CPP else ()
        before = {key: _start(value, key in answers and key not in accumulates) for key, value in args.items()}
        after = {key: _start(value, poisoned=False) for key, value in before.items()}
        run = _Run(before, after, extra, call_text(name, grid, block, before, extra))
        known: dict[str, Any] = {"call": run.call, "about": about, "file": self._answer.file}
        hole = self._answer.hole_under(name)
        if hole is not None:
            raise NotStarted(hole)
        try:
            kernel = self._answer.kernel(name)
            values = (*after.values(), *extra)
            if self._machine == GPU:
                gpukit.launch(kernel, grid, block, *values, shared_bytes=shared_bytes, machine=GPU)
            else:
                run.report = gpukit.profile(
                    kernel, grid, block, *values, shared_bytes=shared_bytes, max_steps=MAX_STEPS
                )
        except GpukitError as error:
            line = error.line or 0
            where = f" (line {line})" if line else ""
            begins = "" if isinstance(error, KernelDeadlock | NoKernel) else "the kernel cannot be run: "
            raise TaskFailure(Finding(f"{begins}{error.message}{where}", line=line, **known)) from None
        self.measured.report = run.report
        problems = [] if run.report is None else [*run.report.errors, *run.report.warnings]
        hazards = tuple(
            {"kind": h.kind, "severity": h.severity, "line": h.line, "message": message(h)}
            for h in problems[:HAZARDS_SHOWN]
        )
        finding = self._wrong_answer(kernel, grid, block, shared_bytes, run, answers, bound, known)
        finding = finding or self._changed_input(run, answers, known)
        if finding is None and hazards:
            finding = Finding("the answer is right this time, but the kernel has a hazard", **known)
        if finding is not None:
            place = next((h.line for h in problems if h.line), 0)
            raise TaskFailure(replace(finding, hazards=hazards, line=place))
        return run

    def _wrong_answer(
        self,
        kernel: Any,
        grid: Any,
        block: Any,
        shared_bytes: int,
        run: _Run,
        answers: Mapping[str, Expected],
        bound: Bound,
        known: dict[str, Any],
    ) -> Finding | None:
        for name, expected in answers.items():
            got, label, derived = run.after[name], name, isinstance(expected, tuple)
            if derived:
                function, expected = expected
                with np.errstate(all="ignore"):
                    got = function(got)
                label = f"{getattr(function, '__name__', 'function').strip('<>')}({name})"
            found = difference(got, expected, bound)
            if found is None:
                continue
            texts = _difference_texts(label, found, got, expected)
            if isinstance(found, Difference):
                untouched = not derived and _same_bits(run.before[name][found.index], run.after[name][found.index])
                written = ""
                if not derived and self._machine == CPU:
                    written = writer(kernel, grid, block, run.before, run.extra, shared_bytes, name, found.flat)
                if not written and untouched:
                    written = "it still holds what stood there before the launch"
                texts["where"] = "; ".join(part for part in (texts["where"], written) if part)
            return Finding("wrong answer", **texts, **known)
        return None

    def _changed_input(self, run: _Run, answers: Mapping[str, Expected], known: dict[str, Any]) -> Finding | None:
        for name, value in run.before.items():
            if name in answers or not isinstance(value, np.ndarray):
                continue
            changed = np.flatnonzero(value.reshape(-1).view(np.uint8) != run.after[name].reshape(-1).view(np.uint8))
            if len(changed):
                index = np.unravel_index(int(changed[0]) // value.itemsize, value.shape)
                where = f"{name}[{', '.join(str(int(i)) for i in index)}]"
                what = f"the input `{name}` was changed, first at {where}: it belongs to the caller"
                return Finding(what, got=value_text(run.after[name][index]), expected=value_text(value[index]), **known)
        return None

    def _bounded(self, report: Report, counter: str, factor: float, reference: Mapping[str, float], way: str) -> Missed:
        if counter not in report.counters:
            raise LabError(f"{self._test} bounds {counter!r}, which is no counter", file=str(self._lab.path))
        got, theirs = float(report.counters[counter]), float(reference.get(counter, 0))
        # Half a unit in the ninth place: a ratio of counters is a rounded number.
        allowed = factor * theirs
        allowed = allowed + abs(allowed) * 1e-9 if way == "at most" else allowed - abs(allowed) * 1e-9
        line = max(report.lines, key=lambda entry: entry.counters.get(counter, 0), default=None)
        at = line.number if line is not None and line.counters.get(counter, 0) and line.file == report.file else 0
        return Missed(counter, got, round(allowed, 6), theirs, way, at)

    def _command(self, kernel: str, grid: Any, block: Any, run: _Run) -> str:
        return "see it line by line: " + profile_command(self._answer.file, kernel, grid, block, run.before, run.extra)

    def _line_of(self, name: str) -> int:
        lines = lines_of(self._answer.text)
        return next((i for i, line in enumerate(lines, 1) if line.split("=")[0].split()[-1:] == [name]), 0)

    def _fail(self, finding: Finding) -> NoReturn:
        raise TaskFailure(finding)


@dataclass
class _Run:
    """The arguments of a launch as they were, and as they are after it."""

    before: dict[str, Any]
    after: dict[str, Any]
    extra: tuple
    call: str
    report: Report | None = None


def _course_path(path: Path) -> str:
    """A lab's file as a student calls it: from the course's folder where the current one is another, the grader's."""
    near = PurePath(near_path(str(path)))
    return PurePath(*near.parts[-3:]).as_posix() if near.is_absolute() else near.as_posix()


def _start(value: Any, poisoned: bool) -> Any:
    """A copy of an argument as the launch finds it."""
    if not isinstance(value, np.ndarray):
        return value
    copy = value.copy(order="K")
    if poisoned:
        fill_with_poison(copy)
    return copy


def _difference_texts(label: str, found: Difference | str, got: Any, expected: Any) -> dict[str, Any]:
    if isinstance(found, str):
        return {"got": value_text(got), "expected": value_text(expected), "where": found}
    index = f"[{', '.join(map(str, found.index))}]" if found.index else ""
    equals = f"{label}{index} = " if label or index else ""
    within = f", within {found.bound:.3g}" if found.bound else ""
    many = f"{found.wrong:,} of {found.size:,} elements are wrong: {found.pattern}" if found.size > 1 else ""
    return {
        "got": f"{equals}{value_text(found.got)}",
        "expected": f"{equals}{value_text(found.expected)}{within}",
        "where": many,
    }


def _lines(report: Report) -> dict[int, dict[str, float]]:
    """What each line of the answer cost."""
    found: dict[int, dict[str, float]] = {}
    for line in report.lines:
        counters: dict[str, float] = {c: v for c in LINE_COUNTERS if (v := line.counters.get(c, 0))}
        if counters and line.active_lanes is not None:
            counters["active_lanes"] = round(line.active_lanes, 2)
        if counters and line.file == report.file:
            found[line.number] = counters
    return found


def _same_bits(a: Any, b: Any) -> bool:
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()
