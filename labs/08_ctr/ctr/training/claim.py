"""A folder for one run at a time: the system lets go of it with the process, however that ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import CtrError

try:
    import msvcrt as _msvcrt
except ImportError:
    windows: Any = None
    import fcntl
else:
    windows = _msvcrt

NAME = ".lock"


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Makes the folder where it is not there. Raises CtrError where that cannot be, or another process holds it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / NAME).open("wb")
    except OSError as error:
        raise CtrError(f"{folder} cannot be written ({error.strerror}): give another folder with --out") from error
    with lock:
        _hold(lock, folder)
        yield


def _hold(lock: BinaryIO, folder: Path) -> None:
    taken = CtrError(f"another process is training in {folder}: wait for it, or give another folder with --out")
    if windows is not None:
        try:
            windows.locking(lock.fileno(), windows.LK_NBLCK, 1)
        except PermissionError:
            raise taken from None
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise taken from None
    except OSError:
        return  # a file system that has no locks
