"""`path::name`: an object of a Python file of the repository, found by path.

The file is run once a process. It may import its neighbours as modules of one package do, whatever this is called:
`from .common import rungs`, `from ..numbers import spmv`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from gpukit.errors import GpukitError
from gpukit.registry import nearest
from gpukit.slides.errors import SlidesError

NAMESPACE = "gpukit_slides_content"


def split(target: str) -> tuple[str, str]:
    """Path and name of `path::name`. Raises SlidesError."""
    path, colons, name = target.partition("::")
    if not colons or not path or not name:
        raise SlidesError(
            f"{target!r} names no object: write path::name, for example gpukit/kernels/banks.py::stride_2"
        )
    return path, name


def existing(root: Path, path: str) -> Path:
    """A file of the repository. Raises SlidesError for one that is not there, or lies outside."""
    file = (root / path).resolve()
    if not file.is_relative_to(root.resolve()):
        raise SlidesError(f"{path} lies outside the repository; slides show what is in it")
    if not file.is_file():
        raise SlidesError(f"there is no file {path}: it was moved, or the path is wrong")
    return file


def function(root: Path, target: str) -> Callable[[], Any]:
    """The function `path::name`. Raises SlidesError: there is none, or its file cannot be imported."""
    path, name = split(target)
    module = _module(root, existing(root, path), path)
    found = getattr(module, name, None)
    if not callable(found):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise SlidesError(f"{path} has no function {name}, which was renamed or removed{nearest(name, known)}")
    return found


def call(function: Callable[[], Any], target: str) -> Any:
    """What the function, which is `target`, returns. Raises SlidesError, whatever goes wrong in it."""
    try:
        return function()
    except GpukitError as error:
        raise SlidesError(f"{target} failed: {error}") from error
    except Exception as error:
        where = _where(error, split(target)[0])
        raise SlidesError(f"{target} failed: {type(error).__name__}: {error}{where}") from error


def forget() -> None:
    """Read the files again when they are next asked for: they may have changed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == NAMESPACE]:
        del sys.modules[name]
    importlib.invalidate_caches()


def _module(root: Path, file: Path, path: str) -> ModuleType:
    if file.suffix != ".py":
        raise SlidesError(f"{path} is no Python file: functions for slides stand in .py files")
    _namespace(root.resolve())
    name = ".".join([NAMESPACE, *file.relative_to(root.resolve()).with_suffix("").parts])
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise SlidesError(f"{path} cannot be imported: {type(error).__name__}: {error}{_where(error, path)}") from error


def _namespace(root: Path) -> None:
    """The package of all files of a repository: its path is the root, so that Python itself finds them, and they each
    other (`from . import common`). What was read of another repository is forgotten."""
    there = sys.modules.get(NAMESPACE)
    if there is None or there.__path__ != [str(root)]:
        forget()
        sys.modules[NAMESPACE] = made = ModuleType(NAMESPACE, "Files of a repository; see gpukit.slides.objects.")
        made.__path__ = [str(root)]


def _where(error: BaseException, path: str) -> str:
    """The line of the file that the error comes from, in words."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).as_posix().endswith(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""
