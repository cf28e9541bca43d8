"""What can be wrong with a lab, or with an answer to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpukit.errors import GpukitError

if TYPE_CHECKING:
    from gpukit.labs.failures import Finding
    from gpukit.labs.holes import Hole


class LabError(GpukitError):
    """The lab itself is wrong: a tag without its end, a test that breaks. For its author, not for the student."""


class AnswerRefused(GpukitError):
    """The student's file cannot be taken as an answer: it does not parse, or holds what answers may not hold."""


class NoKernel(GpukitError):
    """The student's file has no kernel of that name."""


class TaskFailure(GpukitError, AssertionError):
    """A test's verdict that an answer is wrong; `finding` has its parts, and the message is their text."""

    def __init__(self, finding: Finding):
        super().__init__(str(finding))
        self.finding = finding


class NotStarted(GpukitError):
    """The task still has its hole, or needs one that has."""

    def __init__(self, hole: Hole):
        super().__init__(f"task {hole.task} is not started: {hole.prompt}", file=hole.file, line=hole.line)
        self.hole = hole
