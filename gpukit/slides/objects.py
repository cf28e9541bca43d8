"""`path::name`: an object of a Python file of the repository, found by path. The file is run once a process."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from gpukit.errors import GpukitError
from gpukit.registry import nearest
from gpukit.slides.errors import SlidesError


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


def call(root: Path, target: str) -> Any:
    """What the function `path::name` returns. Raises SlidesError, whatever goes wrong in it."""
    path, name = split(target)
    module = _module(existing(root, path), path)
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise SlidesError(f"{path} has no function {name}, which was renamed or removed{nearest(name, known)}")
    try:
        return function()
    except GpukitError as error:
        raise SlidesError(f"{target} failed: {error}") from error
    except Exception as error:
        raise SlidesError(f"{target} failed: {type(error).__name__}: {error}{_where(error, path)}") from error


def forget() -> None:
    """Read the files again when they are next asked for: they may have changed."""
    _module.cache_clear()


@functools.cache
def _module(file: Path, shown: str) -> ModuleType:
    name = "gpukit_slides_content." + ".".join(Path(shown).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise SlidesError(f"{shown} is no Python file: functions for slides stand in .py files")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise SlidesError(
            f"{shown} cannot be imported: {type(error).__name__}: {error}{_where(error, shown)}"
        ) from error
    return module


def _where(error: BaseException, path: str) -> str:
    """The line of the file that the error comes from, in words."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename).as_posix().endswith(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" (line {line})" if line else ""
