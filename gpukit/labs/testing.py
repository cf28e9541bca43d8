"""What a lab's `test_lab.py` imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

F = TypeVar("F", bound=Callable)


def points(number: float) -> Callable[[F], F]:
    """The marks of a test, 1 without this."""

    def mark(function: F) -> F:
        function.points = number  # type: ignore[attr-defined]
        return function

    return mark
