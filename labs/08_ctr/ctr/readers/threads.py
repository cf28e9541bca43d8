"""Work in several threads, with the results in order: NumPy lets go of Python's lock while it sorts and searches."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ..errors import CtrError

Item = TypeVar("Item")
Made = TypeVar("Made")

MOST = 8  # threads: a file is read by one, which then is what the others wait for


def in_order(work: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """`work(item)` of each, in order, with no more than some of them waiting.

    Raises what `work` and `items` raise, when it is that item's turn: so the first fault of a file is the one reported.
    """
    threads = min(MOST, os.cpu_count() or 1)
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
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
