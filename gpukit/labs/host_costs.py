"""Bounds on what host code makes PyTorch do, and the sentences for those that it missed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpukit.labs.errors import LabError
from gpukit.labs.failures import Exceeded, Finding, number
from gpukit.sandbox import host_counts
from gpukit.sandbox.host import Result


class _Reason(NamedTuple):
    """`what` was counted (with a place for the number, or for so many times), `why` it costs, what to `do`."""

    what: str
    why: str
    do: str


_REASONS = {
    host_counts.HOST_READS: _Reason(
        "reads the GPU {times}",
        "each read waits until all queued work is done",
        "keep what you add up in a tensor and read it at the end, or every so many steps; .item(), float(t), `if t:`, "
        ".numpy(), and what has a size that depends on data (nonzero, unique, x[mask]) are reads",
    ),
    host_counts.UPLOADS: _Reason(
        "copies arrays or lists to the GPU {times}",
        "each copy waits for the host's memory, which is far slower than the GPU's",
        "make tensors of what does not change once, before the loop, and index them there",
    ),
    host_counts.OPERATIONS: _Reason(
        "starts {number} operations",
        "each is a launch that takes the host microseconds, however little it computes",
        "compute with whole batches, and let one operation do the work of several",
    ),
    host_counts.COPIES: _Reason(
        "copies tensors {times}",
        "each reads and writes all of its bytes and computes nothing",
        "use views, change tensors in place under `with torch.no_grad():`, and give them their type once",
    ),
    host_counts.DENSE_GRADIENT_BYTES: _Reason(
        "makes gradients of {number} bytes that are as large as the table",
        "nearly all of them are zeros, for rows that no id of the batch names",
        "take the gradient of the rows that were looked up, or ask for a sparse one, and change those rows alone",
    ),
    host_counts.WRITTEN_BYTES: _Reason(
        "writes {number} bytes",
        "memory traffic is what a step costs",
        "write the rows that a batch touches, not the whole table",
    ),
}


def exceeded(
    run: Result, at_most: Mapping[str, float], at_least: Mapping[str, float], test: str, file: str
) -> list[Exceeded]:
    """The bounds that a counted run missed. Raises LabError for what is no counter; `test` and `file` are the lab's."""
    found = []
    for way, bounds in (("at most", at_most), ("at least", at_least)):
        for counter, allowed in bounds.items():
            if counter not in run.counts:
                known = ", ".join(host_counts.COUNTERS)
                raise LabError(f"{test} bounds {counter!r}, which lab.host_counted does not count: {known}", file=file)
            got = run.counts[counter]
            if (got > allowed) if way == "at most" else (got < allowed):
                found.append(Exceeded(counter, got, allowed, way, run.lines.get(counter, 0)))
    return found


def finding(missed: list[Exceeded], call: str, about: str, file: str) -> Finding:
    """The first bound in words, all of them in numbers."""
    first = missed[0]
    reason = _REASONS[first.counter]
    times = "once" if first.got == 1 else f"{number(first.got)} times"
    counted = reason.what.format(number=number(first.got), times=times)
    if first.way == "at most":
        during = f" in {about}" if about else ""
        what = f"the answer is right, but it {counted}{during}: {reason.why}"
        advice = reason.do
    else:
        what = f"the answer is right, but it {counted}, too few for this work"
        advice = "compute on tensors: what NumPy or Python computes, the GPU does not"
    return Finding(what, call=call, about=about, missed=tuple(missed), advice=advice, line=first.line, file=file)
