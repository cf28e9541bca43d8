"""Running a script written for a GPU, unmodified, on the CPU machine, with or without a report of its launches."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gpukit import levels
from gpukit.errors import GpukitError
from gpukit.progress import launch_progress
from gpukit.standin import stand_in

if TYPE_CHECKING:
    from gpukit.cuda.launching import Launcher
    from gpukit.report import Report


def plain(level: str | None = None) -> Launcher:
    """A launcher that runs kernels for their results only; Python kernels at `level`."""

    def launch(kernel: Any, grid: tuple, block: tuple, args: tuple, shared_bytes: int) -> None:
        import gpukit

        with launch_progress(levels.name_of(kernel)) as progress:
            gpukit.launch(
                *(kernel, grid, block, *args),
                shared_bytes=shared_bytes,
                machine="cpu",
                level=_level_of(kernel, level),
                progress=progress,
            )

    return launch


def _level_of(kernel: Any, asked: str | None) -> str | None:
    """The level to run a kernel of a script at: what was asked for, where the kernel has it."""
    return None if levels.is_compiled(kernel) else asked


@dataclass(slots=True)
class Alike:
    """The launches of one kernel with one shape and one set of argument types.

    `reports` holds (report, how often) for each way they went, in the order of the first launch. A script may launch a
    million times and never twice alike: after `LIMIT` ways, those without an error are counted in `launches` alone.
    """

    LIMIT: ClassVar[int] = 16

    launches: int = 0
    reports: list[tuple[Report, int]] = field(default_factory=list)
    _places: dict[tuple, int] = field(default_factory=dict)

    def add(self, report: Report) -> None:
        self.launches += 1
        place = self._places.get(report.identity)
        if place is not None:
            first, times = self.reports[place]
            self.reports[place] = (first, times + 1)
        elif len(self.reports) < self.LIMIT or report.errors:
            self._places[report.identity] = len(self.reports)
            self.reports.append((report, 1))

    @property
    def example(self) -> Report:
        """The one to show: of the launches with the most errors and warnings, the one with the most work."""
        reports = (report for report, _ in self.reports)
        return max(reports, key=lambda r: (len(r.errors), len(r.warnings), r.counters.get("warp_instructions", 0)))

    @property
    def note(self) -> str:
        """Which launch the example is, in words; '' for the only one."""
        if self.launches == 1:
            return ""
        if len(self.reports) == 1:
            return f"{self.launches:,} identical launches"
        return f"the {'worst' if self.example.hazards else 'busiest'} of {self.launches:,} launches"


class Launches:
    """Profiles the launches of a script, and keeps what is alike together."""

    def __init__(self, gpu: str | None = None, level: str | None = None):
        """gpu: name of the GPU to say memory bound or compute bound for. level: of kernels that have both."""
        self._gpu = gpu
        self._level = level
        self._groups: dict[tuple, Alike] = {}

    @property
    def groups(self) -> list[Alike]:
        """In the order of the first launch."""
        return list(self._groups.values())

    @property
    def reports(self) -> list[tuple[Report, int]]:
        """Every report that was kept, with the number of launches it stands for."""
        return [entry for group in self._groups.values() for entry in group.reports]

    @property
    def total(self) -> int:
        return sum(group.launches for group in self._groups.values())

    def launch(self, kernel: Any, grid: tuple, block: tuple, args: tuple, shared_bytes: int) -> None:
        """Profile one launch; takes the place of a plain one."""
        import gpukit

        with launch_progress(levels.name_of(kernel)) as progress:
            report = gpukit.profile(
                *(kernel, grid, block, *args),
                shared_bytes=shared_bytes,
                gpu=self._gpu,
                level=_level_of(kernel, self._level),
                progress=progress,
            )
        sys.stdout.write("".join(report.output))
        self.add(report)

    def add(self, report: Report) -> None:
        types = tuple(str(argument.get("dtype")) for argument in report.arguments)
        kind = (report.kernel, report.file, report.grid, report.block, types)
        self._groups.setdefault(kind, Alike()).add(report)


def run_script(
    script: str | os.PathLike[str], argv: Sequence[str] | None = None, launcher: Launcher | None = None
) -> int:
    """Run a script as `python script ...` does, on the CPU machine; returns its exit status.

    argv: what the script sees as sys.argv, itself included.
    launcher: where its launches go, such as the `launch` of a `Launches`; by default they are run for their results.
    """
    from gpukit.cuda import launching

    path = Path(script)
    argv_before, path_before = sys.argv, sys.path[:]
    sys.argv = list(argv) if argv else [str(script)]
    sys.path.insert(0, str(path.resolve().parent))
    before = launching.use(launcher or plain())
    try:
        with stand_in():
            return _run_main(path)
    finally:
        launching.use(before)
        sys.argv, sys.path[:] = argv_before, path_before


def _run_main(path: Path) -> int:
    """Execute the file as `__main__`; the exit status it ends with."""
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        return _exit_status(stop.code)
    except KeyboardInterrupt:
        print("gpukit: stopped.", file=sys.stderr)
        return 130
    except GpukitError as error:
        print(f"gpukit: {_with_place(error)}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        advice = _MISSING.get((error.name or "").split(".")[0])
        if advice is None:
            return _show_traceback(error)
        place = _last_frame(error)
        print(f"gpukit: {f'{place.filename}:{place.lineno}: ' if place else ''}{advice}", file=sys.stderr)
        return 1
    except BaseException as error:
        return _show_traceback(error)
    finally:
        sys.stdout.flush()
    return 0


_MISSING = {
    "cupy": "this part of cupy works only with an NVIDIA GPU; the CPU machine has RawKernel, RawModule and arrays",
    "cupyx": "this part of cupyx works only with an NVIDIA GPU; the CPU machine has cupy's RawKernel and RawModule",
    "cudf": "cudf works only with an NVIDIA GPU; on the CPU machine use NumPy arrays instead",
    "pycuda": "pycuda works only with an NVIDIA GPU; the CPU machine runs numba.cuda and cupy.RawKernel",
}


def _exit_status(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _users(frames: Iterable[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """The frames without gpukit's own and those of Python's import and run machinery."""
    own = os.path.dirname(os.path.abspath(__file__)) + os.sep
    return [frame for frame in frames if not frame.filename.startswith((own, "<frozen "))]


def _last_frame(error: BaseException) -> traceback.FrameSummary | None:
    frames = _users(traceback.extract_tb(error.__traceback__))
    return frames[-1] if frames else None


def _with_place(error: GpukitError) -> str:
    """The error's sentence, with the script's file and line in front if it names no place of its own."""
    place = _last_frame(error)
    if error.file is None and place is not None:
        return f"{place.filename}:{place.lineno}: {error}"
    return str(error)


def _show_traceback(error: BaseException) -> int:
    """Print what Python prints for an uncaught exception, but only the user's frames; returns status 1."""
    shown: traceback.TracebackException | None
    shown = first = traceback.TracebackException.from_exception(error)
    while shown is not None:
        shown.stack = traceback.StackSummary.from_list(_users(shown.stack))
        shown = shown.__cause__ or shown.__context__
    sys.stderr.write("".join(first.format()))
    return 1
