"""The log that is measured on: the user's own, or one that is made once and kept in the system's folder for temporary
files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from gpukit.progress import step_progress

from .. import world
from ..errors import CtrError
from ..storage.log import MANIFEST, ClickLog, open_log


def given_or_made(folder: Path | None, preset: str, say: Callable[[str], None]) -> ClickLog:
    """The log in a folder; without one, a log of a preset of the world, made where none was left by an earlier run.

    Raises CtrError for a folder that holds no log, and where there is no room for one.
    """
    if folder is not None:
        return open_log(folder)
    options = world.PRESETS[preset]
    folder = Path(tempfile.gettempdir()) / f"gpukit_ctr_{preset}"
    if (folder / MANIFEST).is_file():
        log = open_log(folder)
        if log.about.get("options") != options.to_dict():
            raise CtrError(f"{folder} holds another log than the one that is needed: delete it, or give one by --log")
        say(f"reads the log in {folder}")
        return log
    say(f"makes a log of {options.rows:,} impressions in {folder}, and leaves it there")
    with step_progress("log") as show:
        return world.generate(
            folder,
            options,
            workers=os.cpu_count() or 1,
            progress=lambda done, total: show(f"{done:,} of {total:,} impressions", done, total),
        )
