"""Files written whole or not at all: whoever stops the program in between keeps the file as it was."""

from __future__ import annotations

import os
from pathlib import Path

from gpukit.errors import GpukitError


def write_whole(path: Path, content: bytes | str, *, parents: bool = False) -> None:
    """Write a file, text as UTF-8. `parents`: make the folders above it, too.

    Raises GpukitError where that cannot be.
    """
    part = unfinished(path)
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        part.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        if part.exists():
            part.unlink()


def unfinished(path: Path) -> Path:
    """Where a file is while it is written: beside it, under a name that no other program uses."""
    return path.with_name(f".{path.name}.{os.getpid()}")


def unwritable(path: Path, error: OSError) -> GpukitError:
    """What is said of a file that cannot be written."""
    return GpukitError(f"cannot write {path}: {error.strerror or error}; name another place, or make this one writable")
