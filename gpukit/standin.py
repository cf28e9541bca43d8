"""Standing in for numba.cuda: run a program written for a GPU, unmodified, on the CPU machine.

`with stand_in():` makes `numba.cuda` and `numba_cuda_mlir.cuda` mean the facade until the block ends, whatever is
installed. `run_script` does that around a whole script, as `python script.py` would run it, and can profile or check
every launch on the way.
"""

from __future__ import annotations
import __future__

import builtins
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import linecache
import operator
import os
import runpy
import sys
import traceback
import types as python_types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from gpukit.errors import GpukitError

# Modules of numba.cuda that programs import, and what takes their place: a module of the facade, or "" for a
# package that only holds others.
_STANDINS = {
    "": "gpukit.cuda",
    ".api": "gpukit.cuda",
    ".args": "gpukit.cuda.args",
    ".cg": "gpukit.cuda.cg",
    ".core": "",
    ".core.config": "gpukit.cuda.config",
    ".core.errors": "gpukit.cuda.errors",
    ".cudadrv": "gpukit.cuda.cudadrv",
    ".cudadrv.devicearray": "gpukit.cuda.devicearray",
    ".cudadrv.devices": "gpukit.cuda.device",
    ".cudadrv.driver": "gpukit.cuda.cudadrv.driver",
    ".cudadrv.error": "gpukit.cuda.errors",
    ".cudadrv.runtime": "gpukit.cuda.cudadrv.runtime",
    ".decorators": "gpukit.cuda.dispatcher",
    ".dispatcher": "gpukit.cuda.dispatcher",
    ".errors": "gpukit.cuda.errors",
    ".kernels": "gpukit.cuda.kernels",
    ".kernels.reduction": "gpukit.cuda.kernels.reduction",
    ".kernels.transpose": "gpukit.cuda.kernels.transpose",
    ".libdevice": "gpukit.cuda.libdevice",
    ".misc": "",
    ".misc.special": "gpukit.cuda",
    ".np": "",
    ".np.numpy_support": "gpukit.cuda.types",
    ".random": "gpukit.cuda.random",
    ".stubs": "gpukit.cuda",
    ".testing": "gpukit.cuda.testing",
    ".types": "gpukit.cuda.types",
    ".typing": "gpukit.cuda.types",
    ".typing.typeof": "gpukit.cuda.types",
    ".vectorizers": "gpukit.cuda.ufuncs",
}
_ROOTS = ("numba.cuda", "numba_cuda_mlir.cuda")
_PARENTS = ("numba", "numba_cuda_mlir")


class _Guard(importlib.abc.MetaPathFinder):
    """Watches imports: gives a freshly imported numba its `cuda`, and refuses what the facade lacks of numba.cuda."""

    def __init__(self, facade: python_types.ModuleType):
        self._facade = facade
        self._busy = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.startswith(tuple(root + "." for root in _ROOTS)):
            parent = sys.modules.get(name.rpartition(".")[0])
            if getattr(parent, "__file__", "").startswith(os.path.dirname(__file__)) or parent is self._facade:
                raise ModuleNotFoundError(
                    f"{name} is a part of numba-cuda's compiler or driver, which the CPU machine does not have",
                    name=name,
                )
            return None
        if name != "numba" or self._busy:
            return None
        self._busy = True
        try:
            spec = importlib.util.find_spec("numba")
        except (ModuleNotFoundError, ValueError):
            spec = None
        finally:
            self._busy = False
        if spec is None or spec.loader is None:
            return importlib.machinery.ModuleSpec("numba", _Substitute(self._facade), is_package=True)
        spec.loader = _Attach(spec.loader, self._facade)
        return spec


class _Attach(importlib.abc.Loader):
    """Loads the real numba, then sets its `cuda`."""

    def __init__(self, loader: importlib.abc.Loader, facade: python_types.ModuleType):
        self._loader = loader
        self._facade = facade

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> python_types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: python_types.ModuleType) -> None:
        self._loader.exec_module(module)
        module.cuda = self._facade  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Substitute(importlib.abc.Loader):
    """What `import numba` gives where numba is not installed: types, and decorators that change nothing."""

    def __init__(self, facade: python_types.ModuleType):
        self._facade = facade

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: python_types.ModuleType) -> None:
        from gpukit.cuda import without_numba

        module.__path__ = []
        module.__dict__.update({name: getattr(without_numba, name) for name in without_numba.__all__})
        module.cuda = self._facade  # type: ignore[attr-defined]


@contextlib.contextmanager
def stand_in() -> Iterator[python_types.ModuleType]:
    """The facade in place of `numba.cuda` and `numba_cuda_mlir.cuda` for the duration; yields it.

    Modules that were there before come back afterwards; modules imported inside keep the facade they were given.
    """
    facade = importlib.import_module("gpukit.cuda")
    replaced = [name for name in sys.modules if _is_replaced(name)]
    before = {name: sys.modules.pop(name) for name in replaced}
    had_numba = sys.modules.get("numba")
    numba_cuda = vars(had_numba).get("cuda", _missing) if had_numba else _missing
    for root in _ROOTS:
        for suffix, target in _STANDINS.items():
            sys.modules[root + suffix] = importlib.import_module(target) if target else _package(root + suffix)
    for name, module in list(sys.modules.items()):
        parent, _, leaf = name.rpartition(".")
        if name.startswith(tuple(root + "." for root in _ROOTS)) and sys.modules[parent].__name__ == parent:
            setattr(sys.modules[parent], leaf, module)
    mlir = _package("numba_cuda_mlir")
    mlir.cuda, mlir.types = facade, facade.types  # type: ignore[attr-defined]
    sys.modules["numba_cuda_mlir"] = mlir
    sys.modules["numba_cuda_mlir.types"] = facade.types
    if had_numba:
        had_numba.cuda = facade  # type: ignore[attr-defined]
    guard = _Guard(facade)
    sys.meta_path.insert(0, guard)
    builtins.exec = _exec_keeping_source
    try:
        yield facade
    finally:
        builtins.exec = _exec
        sys.meta_path.remove(guard)
        for name in [name for name in sys.modules if _is_replaced(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        numba = sys.modules.get("numba")
        if numba is not None and isinstance(getattr(numba.__spec__, "loader", None), _Substitute):
            del sys.modules["numba"]
        elif numba is not None and numba is had_numba and numba_cuda is not _missing:
            numba.cuda = numba_cuda  # type: ignore[attr-defined]
        elif numba is not None and vars(numba).get("cuda") is facade:
            del numba.cuda


_missing = object()
_exec = builtins.exec
_exec_serial = itertools.count(1)


def _exec_keeping_source(source: Any, globals: Any = None, locals: Any = None, /, **options: Any) -> None:
    """`exec` that lets `inspect` find the source of functions it defines: kernels are made of source, and programs
    that generate kernels do it with exec."""
    if isinstance(source, str):
        caller = sys._getframe(1)
        if globals is None:
            globals = caller.f_globals
            locals = caller.f_locals if locals is None else locals
        filename = f"<exec {next(_exec_serial)}>"
        if "def " in source or "lambda" in source:
            linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        source = compile(source, filename, "exec", caller.f_code.co_flags & _FUTURE_FLAGS, dont_inherit=True)
    _exec(source, globals, locals, **options)


_FUTURE_FLAGS = functools.reduce(
    operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)


def _is_replaced(name: str) -> bool:
    return name in _ROOTS or name == "numba_cuda_mlir" or name.startswith(("numba.cuda.", "numba_cuda_mlir."))


def _package(name: str) -> python_types.ModuleType:
    module = python_types.ModuleType(name, "Holds stand-ins of gpukit.")
    module.__path__ = []
    return module


# --- scripts ---------------------------------------------------------------------------------------------------------


def run_script(
    script: str | os.PathLike[str], argv: Sequence[str] | None = None, mode: str = "run", out: TextIO | None = None
) -> int:
    """Run a script as `python script ...` does, on the CPU machine; returns its exit status.

    argv: what the script sees as sys.argv, itself included.
    mode: "run"; "profile" (a report of every distinct launch at the end); "check" (the hazards of all launches at the
    end; status 1 if there is an error). Reports go to `out` (standard output).
    """
    from gpukit.cuda import launching

    path = Path(script)
    if not path.is_file():
        print(f"gpukit: there is no script {script}", file=sys.stderr)
        return 2
    watcher = _WATCHERS[mode]()
    argv_before, path_before = sys.argv, sys.path[:]
    sys.argv = list(argv) if argv else [str(script)]
    sys.path.insert(0, str(path.resolve().parent))
    launcher = launching.use(watcher.launch)
    try:
        with stand_in():
            status = _run_main(path)
    finally:
        launching.use(launcher)
        sys.argv, sys.path[:] = argv_before, path_before
    return watcher.finish(status, out or sys.stdout)


def _run_main(path: Path) -> int:
    """Execute the file as `__main__`; the exit status it ends with."""
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        return _exit_status(stop.code)
    except KeyboardInterrupt:
        print("gpukit: interrupted", file=sys.stderr)
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
    "cupy": "cupy works only with an NVIDIA GPU; on the CPU machine use NumPy arrays and cuda.to_device instead",
    "cupyx": "cupyx works only with an NVIDIA GPU; on the CPU machine use NumPy arrays and cuda.to_device instead",
    "cudf": "cudf works only with an NVIDIA GPU; on the CPU machine use NumPy arrays instead",
    "pycuda": "pycuda works only with an NVIDIA GPU; the CPU machine runs numba.cuda kernels",
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


# --- watching launches ----------------------------------------------------------------------------------------------


class _Runner:
    """Launches for their results only."""

    def launch(self, kernel: Any, grid: tuple, block: tuple, args: tuple, shared_bytes: int) -> None:
        from gpukit.cuda import launching

        launching.plain(kernel, grid, block, args, shared_bytes)

    def finish(self, status: int, out: TextIO) -> int:
        return status


class _Reporter(_Runner):
    """Profiles every launch; launches with equal counters and hazards become one entry.

    A script may launch a million times with ever different counters, so after `LIMIT` different reports per kernel
    and shape the rest is only counted.
    """

    LIMIT = 16
    hazards = False

    def __init__(self) -> None:
        self.entries: list[list[Any]] = []  # [report, times]
        self.more: dict[tuple, int] = {}

    def launch(self, kernel: Any, grid: tuple, block: tuple, args: tuple, shared_bytes: int) -> None:
        import gpukit
        from gpukit.progress import launch_progress

        with launch_progress(kernel.__name__) as progress:
            report = gpukit.profile(
                kernel, grid, block, *args, shared_bytes=shared_bytes, hazards=self.hazards, progress=progress
            )
        sys.stdout.write("".join(report.output))
        self.add(report)

    def add(self, report: Any) -> None:
        from gpukit.report.model import fold

        shape = (report.kernel, report.file, report.grid, report.block)
        alike = [entry for entry in self.entries if self._shape(entry[0]) == shape]
        for entry in alike:
            if len(fold([entry[0], report])) == 1:
                entry[1] += 1
                return
        if len(alike) < self.LIMIT or self.must_show(report):
            self.entries.append([report, 1])
        else:
            self.more[shape] = self.more.get(shape, 0) + 1

    @staticmethod
    def _shape(report: Any) -> tuple:
        return (report.kernel, report.file, report.grid, report.block)

    def must_show(self, report: Any) -> bool:
        return False

    def finish(self, status: int, out: TextIO) -> int:
        if not self.entries:
            print("gpukit: the script launched no kernel", file=sys.stderr)
            return status
        for report, times in self.entries:
            if times > 1:
                print(f"{report.kernel}: {times:,} launches, all with this report", file=out)
            print(report, file=out)
        for (kernel, _, grid, block), times in self.more.items():
            print(f"{kernel} {grid} x {block}: {times:,} more launches, each with other counters", file=out)
        return status


class _Checker(_Reporter):
    """Checks every launch; prints each distinct hazard once, with the number of launches it showed up in."""

    hazards = True

    def must_show(self, report: Any) -> bool:
        return bool(report.errors)

    def finish(self, status: int, out: TextIO) -> int:
        launches = sum(times for _, times in self.entries) + sum(self.more.values())
        seen: dict[tuple, list[Any]] = {}
        for report, times in self.entries:
            for hazard in report.errors + report.warnings:
                key = (report.kernel, hazard.kind, hazard.line)
                seen.setdefault(key, [report, hazard, 0])[2] += times
        for report, hazard, times in seen.values():
            where = f"{report.file}:{hazard.line}"
            often = f" (in {times:,} of {launches:,} launches)" if launches > 1 else ""
            print(f"{where}: {hazard.severity}: {hazard.kind} in {report.kernel}: {hazard.message}{often}", file=out)
        errors = sum(hazard.severity == "error" for _, hazard, _ in seen.values())
        warnings = len(seen) - errors
        print(f"gpukit check: {launches:,} launches, {errors} errors, {warnings} warnings", file=out)
        return max(status, 1) if errors else status


_WATCHERS: dict[str, type[_Runner]] = {"run": _Runner, "profile": _Reporter, "check": _Checker}
