"""Where the files of data/ are: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def newest_recording(pattern: str, what: str) -> tuple[dict[str, Any], str]:
    """Of the files of data/ that fit a pattern, and say in "what" that they are a recording of `what`: the newest by
    its machine's date, and its file's name. Raises GpukitError where there is none."""
    found = [(json.loads(path.read_text(encoding="utf-8")), path.name) for path in data_files(pattern)]
    found = [(made, name) for made, name in found if made.get("what") == what]
    if not found:
        raise GpukitError(f"no recording of `{what}` on a GPU comes with gpukit; measure it where there is one")
    return max(found, key=lambda one: one[0]["machine"].get("date", ""))
