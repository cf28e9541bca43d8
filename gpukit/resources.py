"""Where the files of data/ are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

from gpukit.errors import GpukitError

_PACKAGE = Path(__file__).resolve().parent


def data_file(name: str) -> Path:
    """Path of a file of data/, e.g. "matrices/moby_words.npz"."""
    for folder in (_PACKAGE / "data", _PACKAGE.parent / "data"):
        if (folder / name).is_file():
            return folder / name
    raise GpukitError(f"data/{name} is missing from this installation; install gpukit again")


def data_files(pattern: str) -> list[Path]:
    """Paths of the files of data/ that fit a pattern, e.g. "results/bench_*.json", by name; none if none do."""
    for folder in (_PACKAGE / "data", _PACKAGE.parent / "data"):
        found = sorted(folder.glob(pattern))
        if found:
            return found
    return []
