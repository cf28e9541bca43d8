"""Pyodide's files and NumPy's wheel: that they are there, and the ones that the page was made for."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

from gpukit.slides.errors import SlidesError

VERSION = "0.27.7"
LOCK, LOADER, ASM, WASM, STDLIB = (
    *("pyodide-lock.json", "pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm"),
    "python_stdlib.zip",
)
WHERE = (
    f"`npm install pyodide@{VERSION}` gives all of them but NumPy's wheel, which is part of the Pyodide {VERSION} "
    "distribution"
)


@dataclass(frozen=True)
class Runtime:
    """What the page carries. `lock` is Pyodide's list of packages with NumPy alone, `wheel` the name that it has there.

    stdlib and numpy are zip files without compression, as the page compresses them itself.
    """

    version: str
    loader: str
    asm: str
    wasm: bytes
    stdlib: bytes
    lock: str
    wheel: str
    numpy: bytes


def read(folder: Path) -> Runtime:
    """The runtime that lies in a folder. Raises SlidesError for files that are missing, or not the ones named."""
    if not folder.is_dir():
        raise SlidesError(f"there is no folder {folder} with Pyodide's files; {WHERE}")
    lock = _lock(folder)
    entry = lock["packages"]["numpy"]
    wheel = entry["file_name"]
    loader, asm = (_bytes(folder, name).decode("utf-8", "replace") for name in (LOADER, ASM))
    wasm, stdlib, numpy = (_bytes(folder, name) for name in (WASM, STDLIB, wheel))
    if f'"{VERSION}"' not in loader:
        raise _wrong(folder / LOADER, f"it is not the one of Pyodide {VERSION}")
    if "_createPyodideModule" not in asm:
        raise _wrong(folder / ASM, "it does not define Pyodide's module")
    if not wasm.startswith(b"\0asm"):
        raise _wrong(folder / WASM, "it is no WebAssembly")
    if hashlib.sha256(numpy).hexdigest() != entry["sha256"]:
        raise _wrong(folder / wheel, f"its sha256 is not the one in {LOCK}")
    return Runtime(
        version=VERSION,
        loader=loader,
        asm=asm,
        wasm=wasm,
        stdlib=_stored(stdlib, folder / STDLIB),
        lock=json.dumps({"info": lock["info"], "packages": {"numpy": entry}}),
        wheel=wheel,
        numpy=_stored(numpy, folder / wheel),
    )


def _lock(folder: Path) -> dict:
    """Pyodide's list of packages. Raises SlidesError where it is not that of the right version with NumPy in it."""
    path = folder / LOCK
    try:
        lock = json.loads(_bytes(folder, LOCK))
        version, numpy = lock["info"]["version"], lock["packages"]["numpy"]
        needed = numpy["file_name"], numpy["sha256"]
    except (ValueError, KeyError, TypeError):
        raise _wrong(path, "it does not list packages with NumPy among them") from None
    if version != VERSION:
        raise _wrong(path, f"it is of Pyodide {version}, and the page is made for {VERSION}")
    if numpy.get("depends") or not all(isinstance(name, str) for name in needed) or "/" in needed[0]:
        raise _wrong(path, "NumPy's entry is not the one of the distribution")
    return lock


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError:
        raise SlidesError(f"{name} is missing in {folder}; {WHERE}") from None
    except OSError as error:
        raise SlidesError(f"{folder / name} cannot be read: {error.strerror}") from None


def _wrong(path: Path, why: str) -> SlidesError:
    return SlidesError(f"{path} is not the right file: {why}; {WHERE}")


def _stored(data: bytes, path: Path) -> bytes:
    """The same zip file without compression: in a page that is compressed as a whole it takes less room."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return stored({info.filename: archive.read(info) for info in archive.infolist()})
    except zipfile.BadZipFile:
        raise _wrong(path, "it is no zip file") from None


def stored(files: dict[str, bytes]) -> bytes:
    """A zip file without compression whose bytes depend on nothing but its files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return made.getvalue()


def compressed(data: bytes) -> bytes:
    """gzip, without the time."""
    return gzip.compress(data, 9, mtime=0)
