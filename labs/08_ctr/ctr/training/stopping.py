"""Ctrl-C during training: the step is finished, the run is saved, and then it stops. A second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # the keyboard's, and that of a cluster whose time is over


@contextmanager
def on_signals() -> Iterator[Callable[[], bool]]:
    """Yields what says whether to stop. Outside the main thread, where Python allows no handlers, it never does."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = False
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(number, before[signal.Signals(number)])

    for number in SIGNALS:
        signal.signal(number, ask)
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
