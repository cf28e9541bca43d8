"""Where the labs of a course are: in a folder `labs`, which holds folders such as 05_reduction."""

from __future__ import annotations

import re
from pathlib import Path

LAB = re.compile(r"(?P<number>\d\d)_(?P<topic>[a-z0-9_]+)")
LABS = "labs"


def is_lab(path: Path) -> bool:
    """Whether this is a lab's folder, by its name."""
    return path.is_dir() and LAB.fullmatch(path.name) is not None


def labs_in(folder: Path) -> Path | None:
    """The folder itself if it is called `labs` and holds labs, or else a folder `labs` in it that does."""
    for path in (folder, folder / LABS):
        if path.name == LABS and path.is_dir() and any(is_lab(inside) for inside in path.iterdir()):
            return path
    return None


def labs_above(start: Path | None = None) -> Path | None:
    """The labs of this folder or the nearest above it, the current one unless given; None where there are none."""
    start = (start or Path.cwd()).absolute()
    return next((labs for folder in (start, *start.parents) if (labs := labs_in(folder))), None)
