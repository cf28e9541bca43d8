"""Every error a user of gpukit can meet.

One sentence each: what happened, where (file:line, block, thread), what to do.
All of them derive from `GpukitError`, so `except gpukit.GpukitError` catches whatever the kit raises on purpose.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from gpukit.report import Report


class GpukitError(Exception):
    """Base of all gpukit errors. `file` and `line` are set where the place is known; `kind` where the error stands for
    a row of the table of hazards."""

    kind: str | None = None

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None):
        self.message = message
        self.file = file
        self.line = line
        where = f"{file}:{line}: " if file and line else (f"{file}: " if file else "")
        super().__init__(where + message)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of a traceback: the sentence."""
        return [f"{type(self).__name__}: {self}"]


class KernelSyntaxError(GpukitError):
    """The source cannot be parsed, or is not there to be read."""


class UnsupportedFeature(GpukitError):
    """The kernel uses something a GPU kernel (or this machine) cannot do."""


class KernelTypeError(GpukitError):
    """Types do not fit: unknown name, wrong argument type, a store to a read-only array."""


class LaunchError(GpukitError):
    """The launch itself is wrong: block over 1,024 threads, an empty grid, too few arguments."""

    kind = "launch_config"


class KernelDeadlock(GpukitError):
    """The kernel does not end, or waits for something that cannot happen."""

    kind = "deadlock"


class KernelAssertion(GpukitError):
    """An `assert` or `raise` inside the kernel fired in some thread.

    `exception` and `arguments` are what the kernel raised; `place` is the first thread's (block index, thread index).
    """

    exception: type[BaseException] | None = None
    arguments: tuple = ()
    place: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None


class KernelHazard(GpukitError):
    """`gpukit.check` found at least one hazard of severity error; `report` holds all of them."""

    def __init__(self, message: str, report: Report | None = None):
        super().__init__(message)
        self.report = report


class InternalError(GpukitError):
    """A bug in gpukit itself."""


E = TypeVar("E", bound=BaseException)


def at_the_call(error: E) -> E:
    """The error without gpukit's own frames, which say nothing to whoever wrote the kernel; all of them with the
    environment variable GPUKIT_TRACEBACK set."""
    return error if os.environ.get("GPUKIT_TRACEBACK") else error.with_traceback(None)
