"""Writes a log: shards are drawn by several workers, pass by the history in the order of time, and go to disk.

Shards depend on the seed and their number alone, and history on the shards before, so any number of workers writes the
same bytes. No more than a few shards are in memory, however long the log. Workers are threads: NumPy lets go of the
interpreter while it computes, the tables of the world are there once, and nothing is copied between processes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import CtrError
from ..storage.log import ClickLog, LogWriter
from ..threads import in_order
from .history import COUNTED, History
from .options import Options
from .truth import TruthWriter
from .world import Impressions, World

Progress = Callable[[int, int], None]  # impressions done, and of how many

_AHEAD = 2  # shards that are drawn before they are needed, beyond one for each worker
_VERSION = 1  # of the world: another one draws other bytes from the same options


def generate(
    folder: Path | str, options: Options | None = None, workers: int = 1, progress: Progress | None = None
) -> ClickLog:
    """A log of a new world in `folder`, and its truth in `folder`/truth. `progress` is called after each shard, with
    the impressions done and those of the whole (of both passes, where the log is leaky).

    Training ends, validation begins and the test begins at midnights, so the splits are stretches of days. The same
    options give the same bytes for any number of workers, on one kind of CPU and with one version of NumPy. Raises
    CtrError for a folder that holds a log or cannot be written. Where it is interrupted, the folder holds no log.
    """
    options = Options() if options is None else options
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise CtrError(f"workers={workers!r} is not a number of workers from 1: give one")
    try:
        return _generate(Path(folder), options, workers, progress)
    except OSError as error:
        raise CtrError(f"{folder} cannot be written ({error.strerror}): make room, or give another folder") from error
    except MemoryError as error:
        raise CtrError(
            f"the tables of {options.members:,} members and {options.ads:,} ads do not fit into memory: make these "
            "fields smaller"
        ) from error


def _generate(folder: Path, options: Options, workers: int, progress: Progress | None) -> ClickLog:
    world = World(options)
    sizes = tuple(world.schema.fields[field].rows for field in COUNTED)
    history = History(options, (sizes[0], sizes[1], sizes[2]))
    total, done = options.rows * (2 if options.leaky else 1), 0
    bounds = np.zeros(2, np.int64)
    with LogWriter(folder, world.schema) as writer:
        _check_room(folder, options.rows * (4 * len(world.schema.fields) + 4 * len(world.schema.dense) + 17))
        with TruthWriter(folder) as truth:
            if options.leaky:
                for drawn in in_order(world.draw, range(world.shards), workers, _AHEAD):
                    history.count(drawn)
                    done += len(drawn.labels)
                    if progress is not None:
                        progress(done, total)
            for drawn in in_order(world.draw, range(world.shards), workers, _AHEAD):
                if options.leaky:
                    history.fill(drawn, slice(None))
                else:
                    history.pass_by(drawn)
                done += len(drawn.labels)
                kept = _kept(drawn)
                if len(kept.labels):
                    writer.append(kept.ids, kept.dense, kept.labels, kept.times)
                    truth.append(kept.p)
                    bounds += np.searchsorted(kept.times, (options.validation_begins, options.test_begins))
                if progress is not None:
                    progress(done, total)
            about = {
                "source": "generated",
                "version": _VERSION,
                "numpy": np.__version__,
                "options": options.to_dict(),
                "base": world.base,
                "truth": truth.finish(),
            }
        return writer.finish(about, bounds=bounds.tolist())


def _kept(drawn: Impressions) -> Impressions:
    if drawn.kept.all():
        return drawn
    columns = (drawn.ids, drawn.dense, drawn.labels, drawn.times, drawn.p, drawn.kept)
    return Impressions(*(column[drawn.kept] for column in columns))


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise CtrError(
            f"{folder} has {free / 1e6:,.0f} MB free, and the log needs {needed / 1e6:,.0f} MB: make room, or give "
            "another folder"
        )
