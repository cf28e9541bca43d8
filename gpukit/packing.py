"""gpukit packed up to be installed somewhere else: the files of the checkout that pip needs."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from gpukit.errors import GpukitError
from gpukit.provenance import CHECKOUT

FILES = ("pyproject.toml", "README.md", "LICENSE")
FOLDERS = ("gpukit", "data")
DATE = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same files make the same zip


def checkout_files() -> Iterator[tuple[str, bytes]]:
    """(path, content) of what `pip install` takes.

    Raises GpukitError where gpukit does not run from a checkout.
    """
    if missing := [name for name in FILES if not (CHECKOUT / name).is_file()]:
        raise GpukitError(
            f"this takes a checkout of gpukit; the one that runs, {CHECKOUT}, has no {', '.join(missing)}"
        )
    for name in FILES:
        yield name, (CHECKOUT / name).read_bytes()
    for folder in FOLDERS:
        for path in files_in(CHECKOUT / folder):
            yield path.relative_to(CHECKOUT).as_posix(), path.read_bytes()


def files_in(folder: Path) -> Iterator[Path]:
    """The files of a folder and those below it, in order, without what Python leaves there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def source_zip(name: str) -> bytes:
    """What pip installs as `NAME.zip`: the checkout's files in one folder called `name`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in checkout_files():
            add(archive, f"{name}/{path}", content)
    return buffer.getvalue()


def add(archive: zipfile.ZipFile, name: str, content: bytes, *, executable: bool = False) -> None:
    """Add a file, always in the same bytes."""
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, whose permissions the next line gives, on any computer
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    archive.writestr(entry, content)
