"""Calls of a student's host functions, made in a limited child process.

The child gets the source and the arguments; what is expected never reaches it. It answers in a closed format (`data`),
so the worst that host code can do is to return a wrong value.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpukit.sandbox import data, host_code
from gpukit.sandbox.host_counts import COUNTERS
from gpukit.sandbox.running import Limits, Outcome, installed, run

_CHILD = Path(__file__).with_name("host_child.py")
_NONCE_BYTES = 16
# The start of PyTorch is not the student's: a second from memory, many from a slow disk.
_SECONDS_TO_IMPORT_TORCH = 60.0
NO_TORCH = 'this lab needs PyTorch: python -m pip install -e ".[ctr]"'


@dataclass(frozen=True, slots=True)
class Result:
    """What a call returned, or one sentence in `error` ('' if it returned).

    counts, lines: where they were asked for, what it made PyTorch do, by the names in `host_counts.COUNTERS`, and the
    line of the student's file that did most of it (a counter that is 0 has none).
    """

    value: Any = None
    error: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)


def call(
    source: str,
    file: str,
    function: str,
    calls: Sequence[tuple],
    *,
    names: Sequence[str],
    limits: Limits | None = None,
    count: bool = False,
) -> list[Result]:
    """Call `function` of a student's source with each of `calls`, one after the other, in one child process.

    Args:
        source: the text; read it with `reading.read_source`, and check it with `policy.refusals` first.
        file: what the text is called in sentences, by the last part of its name.
        calls: the arguments of each call: numbers, strings, bytes, lists, tuples, None, NumPy arrays.
        names: all functions of host code; they may call one another.
        limits: of all calls together; importing PyTorch is not counted.
        count: count what each call makes PyTorch do, as if its tensors were on a GPU (`host_counts`).

    Returns one Result a call. Raises data.FormatError for arguments of other types.
    """
    limits, file = limits or Limits(), os.path.basename(file)
    packed = [data.pack(tuple(arguments)) for arguments in calls]
    try:
        # No others, so that what they import need not be there: PyTorch takes seconds to start.
        names = host_code.reached(source, function, names)
        imports, tree = host_code.parts(source, names)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [Result(error=f"{file} is not valid Python: {error}")] * len(calls)
    if function not in {getattr(node, "name", None) for node in tree.body}:
        return [Result(error=f"{file} has no function `{function}` without a decorator")] * len(calls)
    needed = host_code.packages(imports) | ({"numpy"} if _has_numpy(calls) else set()) | ({"torch"} if count else set())
    if "torch" in needed and not installed("torch"):
        return [Result(error=NO_TORCH)] * len(calls)
    inner = replace(limits, seconds=limits.seconds + _SECONDS_TO_IMPORT_TORCH) if "torch" in needed else limits
    nonce = os.urandom(_NONCE_BYTES)
    message = (nonce, source, file, function, list(names), packed, count)
    input = data.pack(message, most=1 << 26)
    outcome = run([_CHILD, *sorted(needed)], input=input, limits=inner, packages=sorted(needed))
    results = _results(outcome.output, nonce, len(calls))
    # What a call that did not answer did was done by the first of them; the others were not reached.
    why = _why(outcome, function, limits)
    missing = [Result(error=why), *[Result(error=f"not called: an earlier call did not return ({why})")] * len(calls)]
    return results + missing[: len(calls) - len(results)]


def _has_numpy(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_numpy(item) for item in value)
    return type(value).__module__ == "numpy"


def _results(output: bytes, nonce: bytes, count: int) -> list[Result]:
    """The results of the records up to the first that is not as it should be."""
    results: list[Result] = []
    place = 0
    while len(results) < count and output.startswith(nonce, place):
        head = place + len(nonce)
        kind, size = output[head : head + 1], int.from_bytes(output[head + 1 : head + 5], "little")
        body = output[head + 5 : head + 5 + size]
        try:
            value = data.unpack(body)
        except data.FormatError:
            break
        if kind == b"v":
            results.append(Result(value))
        elif kind == b"c" and (counted := _counted(value)) is not None:
            results.append(counted)
        elif kind == b"e" and type(value) is str and value:
            results.append(Result(error=value))
        else:
            break
        place = head + 5 + size
    return results


def _counted(record: Any) -> Result | None:
    """(value, [(counter, count, line), ...]) as a Result; None for anything else."""
    match record:
        case (value, [*rows]):
            counts, lines = {}, {}
            for row in rows:
                match row:
                    case (str(name), int(count), int(line)) if name in COUNTERS and count >= 0 <= line:
                        counts[name], lines[name] = count, line
                    case _:
                        return None
            if set(counts) == set(COUNTERS):
                return Result(value, counts=counts, lines={name: line for name, line in lines.items() if line})
    return None


def _why(outcome: Outcome, function: str, limits: Limits) -> str:
    match outcome.status:
        case "timeout":
            return f"`{function}` did not end within {limits.seconds:g} s"
        case "memory":
            return f"`{function}` asks for more than {limits.memory_bytes >> 20:,} MiB of memory"
        case "output":
            return f"`{function}` returned more than {limits.output_bytes:,} bytes in all"
        case "killed":
            return f"no complete answer came back: the process of `{function}` was ended by {_signal(-outcome.code)}"
        case "failed" if outcome.errors:
            return f"no complete answer came back: {outcome.errors.splitlines()[-1][:300]}"
    return f"no complete answer came back: the process of `{function}` ended early"


def _signal(number: int) -> str:
    if sys.platform == "win32":
        return f"signal {number}"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
