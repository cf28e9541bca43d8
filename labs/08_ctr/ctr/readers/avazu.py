"""Avazu's click-through rate challenge: a CSV file with a header, one impression a line, sorted by the hour.

    id,click,hour,C1,banner_pos,site_id,site_domain,...,device_type,device_conn_type,C14,...,C21

`id` names the row and is dropped. `hour` (YYMMDDHH) becomes the log's time in seconds, and the fields `hour_of_day` and
`weekday`, Monday being 0: an hour of one day never comes again, so that as an id it would be unknown in every test.
There are no dense features. Values are hexadecimal hashes or numbers, each with a row of its own where it came often
enough in training rows. Clicks and others were sampled at different rates, so their share is no click-through rate.

Source: the challenge's description of its data (kaggle.com/c/avazu-ctr-prediction/data); FuxiCTR's datasets/avazu.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..storage.log import ClickLog
from ..threads import in_order
from .text import Block, Cells, TextFile
from .vocabulary import HEX, INTEGER, MISSING, Column, Vocabularies
from .writing import DEFAULT_TRAIN, Progress, Rows, Settings, write_log

LABEL, HOUR, DROPPED = "click", "hour", "id"
HASHES = (
    *("site_id", "site_domain", "site_category", "app_id", "app_domain", "app_category"),
    *("device_id", "device_ip", "device_model"),
)
NUMBERS = ("C1", "banner_pos", "device_type", "device_conn_type", *(f"C{k}" for k in range(14, 22)))
HEADER = (DROPPED, LABEL, HOUR, "C1", "banner_pos", *HASHES, "device_type", "device_conn_type", *NUMBERS[4:])
FIELDS = (
    Column("hour_of_day", INTEGER),
    Column("weekday", INTEGER),
    *(Column(name, INTEGER) for name in NUMBERS),
    *(Column(name, HEX) for name in HASHES),
)
MINIMUM = 2  # the row of a value that came once would be trained once

_MONTHS, _SECONDS = "datetime64[M]", "datetime64[s]"


def read_avazu(
    path: Path | str,
    folder: Path | str,
    *,
    train: float = DEFAULT_TRAIN,
    minimum: int = MINIMUM,
    most_rows: int | None = None,
    vocabulary: Vocabularies | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> ClickLog:
    """The log of an Avazu file (train.csv; also .gz), written to `folder` with its vocabulary.json.

    The settings are those of `read_criteo`. The log has 23 fields. Raises CtrError, with the line, for a file that is
    not of this form or not sorted by the hour.
    """
    settings = Settings(train, minimum, most_rows, vocabulary, progress)
    about = {"source": "avazu", "file": Path(path).name}
    with TextFile(path, b",", "an Avazu file") as file:
        rows = _rows(file, limit, settings)
        return write_log(folder, rows, FIELDS, (), settings, hours=True, about=about)


def _rows(file: TextFile, limit: int | None, settings: Settings) -> Iterator[Rows]:
    header = file.header()
    missing = [name for name in HEADER if name not in header]
    if missing or len(header) != len(HEADER):
        what = f"lacks {', '.join(missing[:3])}" if missing else f"has {len(header)} columns instead of {len(HEADER)}"
        hint = "; the challenge's test file has no clicks" if missing == [LABEL] else ""
        raise file.error(f"the header {what}{hint}: the first line of an Avazu file is {','.join(HEADER[:4])},...", 1)
    place = {name: header.index(name) for name in HEADER}

    def rows(block: Block) -> tuple[Block, Cells, Rows]:
        cells = file.cells(block, len(HEADER))
        times = _times(cells, place[HOUR])
        numbers = cells.integers([place[name] for name in NUMBERS], list(NUMBERS))
        hashes = cells.hexadecimals([place[name] for name in HASHES], list(HASHES))
        hour, weekday = times // 3600 % 24, (times // 86400 + 3) % 7  # the epoch began on a Thursday
        keys = np.concatenate([hour[:, None], weekday[:, None], numbers, hashes], axis=1)
        labels = cells.labels(place[LABEL], LABEL)
        return block, cells, Rows(keys, np.empty((cells.rows, 0), np.float32), labels, times)

    before = None
    for block, cells, some in in_order(rows, file.blocks(limit)):
        back = np.diff(some.times, prepend=some.times[0] if before is None else before) < 0
        why = "this is earlier than the line before; sort the lines by hour, so that no split looks ahead"
        cells.refuse(back, place[HOUR], HOUR, why)
        before = some.times[-1]
        settings.say("reading", block.taken, file.size)
        yield some


def _times(cells: Cells, column: int) -> np.ndarray:
    """(rows,) int64: seconds since 1970 of hours written YYMMDDHH. Raises CtrError for one that is none."""
    written = cells.integers([column], [HOUR])[:, 0]
    year, month, day, hour = 2000 + written // 10**6, written // 10**4 % 100, written // 100 % 100, written % 100
    none = (written == MISSING) | (written < 0) | (written >= 10**8)
    none |= (month < 1) | (month > 12) | (day < 1) | (hour > 23)
    months = np.where(none, 0, (year - 1970) * 12 + month - 1).astype(_MONTHS)
    days = np.where(none, 1, day)
    dates = months.astype("datetime64[D]") + (days - 1)
    none |= dates.astype(_MONTHS) != months  # 30 February
    cells.refuse(none, column, HOUR, "an hour is YYMMDDHH, such as 14102100")
    return dates.astype(_SECONDS).astype(np.int64) + 3600 * hour
