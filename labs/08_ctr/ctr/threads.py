"""Work in several threads, with the results in order: NumPy lets go of Python's lock while it sorts and searches."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from .errors import CtrError

Item = TypeVar("Item")
Made = TypeVar("Made")

MOST = 8  # threads, unless told: a file is read by one, which then is what the others wait for


def in_order(
    work: Callable[[Item], Made], items: Iterable[Item], threads: int | None = None, ahead: int | None = None
) -> Iterator[Made]:
    """`work(item)` of each, in order.

    threads: one for each core, and no more than MOST, if None. ahead: so many more items than threads may be under way
    or done before they are asked for; as many more as there are threads if None.
    Raises what `work` and `items` raise, when it is that item's turn: so the first fault of a file is the one reported.
    """
    threads = min(MOST, os.cpu_count() or 1) if threads is None else threads
    ahead = threads if ahead is None else ahead
    with ThreadPoolExecutor(threads) as pool:

        def started() -> Iterator[Future[Made]]:
            try:
                for item in items:
                    yield pool.submit(work, item)
            except CtrError as error:
                failed: Future[Made] = Future()
                failed.set_exception(error)
                yield failed

        waiting: deque[Future[Made]] = deque()
        for future in started():
            waiting.append(future)
            if len(waiting) >= threads + ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
