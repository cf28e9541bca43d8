"""A progress bar for long launches: on a terminal only, on stderr only, and only once a launch takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

# A launch that ends sooner than this many seconds shows nothing.
PATIENCE = 0.5

Update = Callable[[int, int], None]


@contextmanager
def launch_progress(kernel: str, stream: TextIO | None = None) -> Iterator[Update | None]:
    """Yields `update(done_blocks, total_blocks)` for one launch, or None where nobody watches (a pipe, a notebook).

    rich is imported when the bar first shows, so a launch nobody watches pays nothing for it.
    """
    stream = sys.stderr if stream is None else stream
    if stream is None or not stream.isatty():
        yield None
        return
    bar = _Bar(kernel, stream)
    try:
        yield bar.update
    finally:
        bar.close()


class _Bar:
    def __init__(self, kernel: str, stream: TextIO):
        self._kernel = kernel
        self._stream = stream
        self._began = time.monotonic()
        self._progress: Any = None
        self._task: Any = None

    def update(self, done_blocks: int, total_blocks: int) -> None:
        if self._progress is None:
            if done_blocks >= total_blocks or time.monotonic() - self._began < PATIENCE:
                return
            self._open(total_blocks)
        self._progress.update(self._task, completed=done_blocks)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()

    def _open(self, total_blocks: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("blocks"),
            TimeRemainingColumn(),
            console=Console(file=self._stream),
            transient=True,
        )
        self._task = self._progress.add_task(self._kernel, total=total_blocks)
        self._progress.start()


Say = Callable[[str, int, int], None]


@contextmanager
def step_progress(title: str, stream: TextIO | None = None) -> Iterator[Say]:
    """Yields `say(what, done, total)` for a long job of many steps; on a terminal the current one is shown."""
    stream = sys.stderr if stream is None else stream
    if stream is None or not stream.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(title), BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda what, done, total: progress.update(task, description=what, completed=done, total=total)
