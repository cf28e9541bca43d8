"""Single keys from the terminal, without waiting for one: on Windows, and where there is a termios."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

try:
    import msvcrt as _msvcrt
except ImportError:
    windows: Any = None
else:
    windows = _msvcrt
try:
    import select
    import termios
    import tty
except ImportError:
    termios = None  # type: ignore[assignment]


class Keyboard:
    """While it is entered, `pressed` gives the keys one by one; "" where there is none, or no terminal.

    Ctrl-C stays what it is, and what is printed looks as ever.
    """

    def __init__(self) -> None:
        self.there = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
        self._before: list | None = None

    def __enter__(self) -> Keyboard:
        if self.there and termios is not None:
            self._before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)

    def pressed(self) -> str:
        if not self.there:
            return ""
        if self._before is not None:
            try:
                ready, _, _ = select.select([sys.stdin], [], [], 0)
                return os.read(sys.stdin.fileno(), 1).decode(errors="replace") if ready else ""
            except OSError:  # the terminal has gone
                return ""
        return windows.getwch() if windows is not None and windows.kbhit() else ""
