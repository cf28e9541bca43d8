"""The record of a graded submission: what it is, what is wrong with one, and its file (JSON, format "gpukit-grade/1").

A record says nothing about when or where it was made: the same submission and seed give the same bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from gpukit.errors import GpukitError
from gpukit.files import write_whole

FORMAT = "gpukit-grade/1"
GRADED, REFUSED, UNREADABLE, MISSING, STOPPED = STATUSES = ("graded", "refused", "unreadable", "missing", "stopped")
PASSED, FAILED, NOT_STARTED = RESULTS = ("passed", "failed", "not started")
AT_MOST, AT_LEAST = WAYS = ("at most", "at least")
SEVERITIES = ("error", "warning", "note")
LANGUAGES = ("Python", "CUDA C++")

Number = int | float


@dataclass(frozen=True, slots=True)
class HazardFound:
    """A hazard as the machine reported it; `line` is in the student's file, 0 where it has none."""

    kind: str
    severity: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Cost:
    """A counter that a test measured: what it was, what it may be, and what the reference solution needs.

    `way` is "at most" (less is better) or "at least" (more is better).
    """

    got: Number
    allowed: Number
    reference: Number
    way: str = AT_MOST

    @property
    def kept(self) -> bool:
        """Whether the counter is within what the test allows."""
        return self.got >= self.allowed if self.way == AT_LEAST else self.got <= self.allowed

    @property
    def verdict(self) -> str:
        """Whether the limit was kept, in words."""
        return "kept" if self.kept else "below the limit" if self.way == AT_LEAST else "over the limit"

    @property
    def ratio(self) -> float:
        """How many times as costly as the reference: 1.0 is as good, 2.0 twice as bad, for both ways.

        Where one of the two is 0 the ratio is that of both plus 1, so that a reference without bank conflicts can be
        compared with, and 0 against 0 is 1.0.
        """
        got, reference = (self.reference, self.got) if self.way == AT_LEAST else (self.got, self.reference)
        return got / reference if got > 0 and reference > 0 else (got + 1) / (reference + 1)


@dataclass(frozen=True, slots=True)
class Item:
    """One test of the lab. `message` is several lines, '' when passed; `hint` is the question that the test asks;
    `line` is where to look in the student's file, None where that is not known. `counters` are there whenever the test
    measured cost. `lines` holds the counters of source lines, with `active_lanes` (mean lanes at work, 0 to 32)."""

    test: str
    task: str
    title: str
    points: Number
    max_points: Number
    status: str
    message: str = ""
    hint: str = ""
    line: int | None = None
    hazards: tuple[HazardFound, ...] = ()
    counters: Mapping[str, Cost] = field(default_factory=dict)
    lines: Mapping[int, Mapping[str, Number]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission:
    """The graded file, relative to the folder of submissions; all '' for a missing one. `notes` say what else was
    there."""

    file: str = ""
    language: str = ""
    sha256: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """What became of one student's submission. `reason` is one sentence, '' when graded. `source` is the file's text,
    as far as there is one. `complete` is False while (or where) the run did not come to its end."""

    lab: str
    student: str
    submission: Submission
    status: str
    reason: str
    seed: int
    points: Number
    max_points: Number
    items: tuple[Item, ...]
    source: str
    environment: Mapping[str, str]
    complete: bool

    @property
    def score(self) -> Number:
        """The points that count: none unless the run came to its end."""
        return self.points if self.complete else 0.0

    @property
    def graded(self) -> bool:
        """Whether it was graded to the end: only then do its items tell one test from another."""
        return self.status == GRADED and self.complete

    @property
    def verdict(self) -> str:
        """Why there is no grade, as a sentence; '' for one that was graded to the end."""
        if self.reason:
            return self.reason
        return "" if self.complete else "The grading of this submission was interrupted; grade it again."


# --- what may be wrong -----------------------------------------------------------------------------------------------

Check = Callable[[str, Any], Iterator[str]]


def faults(data: Any) -> list[str]:
    """What keeps plain data from being a record, a sentence each; [] for a good one.

    Never raises, whatever `data` is.
    """
    if not isinstance(data, dict):
        return [f"A record is a JSON object; this is {_kind(data)}."]
    if data.get("format") != FORMAT:
        return [f"The record's format is {data.get('format')!r}; this version of gpukit reads {FORMAT!r}."]
    found = list(_RECORD("", {key: value for key, value in data.items() if key != "format"}))
    return found or list(_contradictions(data))


def _kind(value: Any) -> str:
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def _text(where: str, value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{where} is {_kind(value)}; it must be text."
    elif re.search("[\ud800-\udfff]", value):
        yield f"{where} holds half a character (a lone surrogate); replace it before the record is made."


def _name(where: str, value: Any) -> Iterator[str]:
    yield from _text(where, value)
    if value == "":
        yield f"{where} is empty."


def _line_of_text(where: str, value: Any) -> Iterator[str]:
    yield from _text(where, value)
    if isinstance(value, str) and len(value.splitlines()) > 1:
        yield f"{where} has several lines; it must be one sentence."


def _file(where: str, value: Any) -> Iterator[str]:
    yield from _text(where, value)
    if isinstance(value, str) and (
        PurePosixPath(value).is_absolute() or PureWindowsPath(value).anchor or ".." in re.split(r"[/\\]", value)
    ):
        yield f"{where} is {value!r}; it must be relative to the folder of submissions."


def _one_of(*choices: str) -> Check:
    def check(where: str, value: Any) -> Iterator[str]:
        if value not in choices:
            shown = repr(value) if isinstance(value, str) else _kind(value)
            yield f"{where} is {shown}; it must be {' or '.join(map(repr, choices))}."

    return check


def _true_or_false(where: str, value: Any) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{where} is {_kind(value)}; it must be true or false."


def _number(where: str, value: Any) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"{where} is {_kind(value)}; it must be a number."
    elif not math.isfinite(value) or value < 0:
        yield f"{where} is {value}; it must be 0 or more."


def _whole(where: str, value: Any) -> Iterator[str]:
    yield from _number(where, value)
    if isinstance(value, float):
        yield f"{where} is {value}; it must be a whole number."


def _line_or_none(where: str, value: Any) -> Iterator[str]:
    if value is not None:
        yield from _whole(where, value)


def _sha256(where: str, value: Any) -> Iterator[str]:
    if not isinstance(value, str) or not re.fullmatch("(?:[0-9a-f]{64})?", value):
        yield f"{where} must be 64 digits 0-9 and a-f, or ''."


def _list(of: Check) -> Check:
    def check(where: str, value: Any) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{where} is {_kind(value)}; it must be a list."
            return
        for place, member in enumerate(value):
            yield from of(f"{where}[{place}]", member)

    return check


def _mapping(of: Check, *, line_numbers: bool = False) -> Check:
    def check(where: str, value: Any) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where} is {_kind(value)}; it must be an object."
            return
        for key, member in value.items():
            yield from _name(f"a key of {where}", key)
            if line_numbers and not re.fullmatch("[1-9][0-9]{0,8}", str(key)):
                yield f"{where} has the key {key!r}; its keys are line numbers."
            yield from of(f"{where}.{key}", member)

    return check


def _object(**fields: Check) -> Check:
    def check(where: str, value: Any) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{where} is {_kind(value)}; it must be an object."
            return
        inside = f"{where}." if where else ""
        for key in value.keys() - fields.keys():
            yield f"{inside}{key} is not a key of {FORMAT}."
        for key, of in fields.items():
            if key in value:
                yield from of(f"{inside}{key}", value[key])
            else:
                yield f"{inside}{key} is missing."

    return check


_HAZARD = _object(kind=_name, severity=_one_of(*SEVERITIES), line=_whole, message=_text)
_COST = _object(got=_number, allowed=_number, reference=_number, way=_one_of(*WAYS))
_ITEM = _object(
    test=_name,
    task=_name,
    title=_line_of_text,
    points=_number,
    max_points=_number,
    status=_one_of(*RESULTS),
    message=_text,
    hint=_text,
    line=_line_or_none,
    hazards=_list(_HAZARD),
    counters=_mapping(_COST),
    lines=_mapping(_mapping(_number), line_numbers=True),
)
_RECORD = _object(
    lab=_name,
    student=_name,
    submission=_object(file=_file, language=_one_of(*LANGUAGES, ""), sha256=_sha256, notes=_list(_text)),
    status=_one_of(*STATUSES),
    reason=_line_of_text,
    seed=_whole,
    points=_number,
    max_points=_number,
    items=_list(_ITEM),
    source=_text,
    environment=_mapping(_text),
    complete=_true_or_false,
)


def _contradictions(data: dict[str, Any]) -> Iterator[str]:
    """What does not fit together in a record whose parts are each in order."""
    items = data["items"]
    if data["status"] == GRADED and data["reason"]:
        yield "status is 'graded', but reason is not ''."
    if data["status"] != GRADED and not data["reason"]:
        yield f"status is {data['status']!r}, but reason does not say why."
    if data["status"] != GRADED and (data["points"] or any(item["points"] for item in items)):
        yield f"status is {data['status']!r}, but there are points."
    for name in ("points", "max_points"):
        total = sum(item[name] for item in items)
        if items and not math.isclose(total, data[name], abs_tol=1e-6):
            yield f"{name} is {data[name]:g}, but the items add up to {total:g}."
    tests = [item["test"] for item in items]
    for test in sorted({test for test in tests if tests.count(test) > 1}):
        yield f"there are several items of the test {test!r}."
    if data["points"] > data["max_points"]:
        yield f"points is {data['points']:g}, more than max_points, {data['max_points']:g}."
    for item in items:
        name, points, most = item["test"], item["points"], item["max_points"]
        if item["status"] == PASSED and points != most:
            yield f"{name} is passed, but has {points:g} of {most:g} points."
        if item["status"] == NOT_STARTED and points:
            yield f"{name} is not started, but has {points:g} points."
        if points > most:
            yield f"{name} has {points:g} of {most:g} points."
        if (item["status"] == PASSED) != (item["message"] == ""):
            yield f"{name} is {item['status']}, but its message is {item['message'][:40]!r}."


# --- to and from plain data ------------------------------------------------------------------------------------------


def from_dict(data: Any, where: str = "") -> Record:
    """A record from plain data.

    Raises:
        GpukitError: it is not a record; the message has a sentence per fault. `where` is put before it.
    """
    if found := faults(data):
        raise GpukitError("not a record of a graded submission. " + "\n".join(found), file=where or None)
    items = tuple(
        Item(
            **{
                **item,
                "hazards": tuple(HazardFound(**hazard) for hazard in item["hazards"]),
                "counters": {name: Cost(**cost) for name, cost in item["counters"].items()},
                "lines": {int(number): counters for number, counters in item["lines"].items()},
            }
        )
        for item in data["items"]
    )
    submission = Submission(**{**data["submission"], "notes": tuple(data["submission"]["notes"])})
    rest = {key: value for key, value in data.items() if key != "format"}
    return Record(**{**rest, "submission": submission, "items": items})


def to_dict(record: Record) -> dict[str, Any]:
    """The record as JSON has it."""
    data = asdict(record)
    for item in data["items"]:
        item["hazards"] = list(item["hazards"])
        item["lines"] = {str(number): counters for number, counters in item["lines"].items()}
    data["items"] = list(data["items"])
    data["submission"]["notes"] = list(data["submission"]["notes"])
    return {"format": FORMAT, **data}


def save(record: Record, path: Path) -> None:
    """Write the record, as UTF-8.

    Raises:
        GpukitError: it contradicts itself, or the file cannot be written.
    """
    data = to_dict(record)
    if found := faults(data):
        raise GpukitError("cannot save this record. " + "\n".join(found), file=str(path))
    write_whole(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def load(path: Path) -> Record:
    """Read a record.

    Raises:
        GpukitError: there is no such file, it is no JSON, or no record; the message names the file and every fault.
    """
    try:
        data = json.loads(path.read_bytes().decode())
    except OSError as error:
        raise GpukitError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise GpukitError(f"not UTF-8: {error.reason} at byte {error.start}", file=str(path)) from None
    except json.JSONDecodeError as error:
        raise GpukitError(f"not JSON: {error.msg}", file=str(path), line=error.lineno) from None
    except (RecursionError, ValueError):
        raise GpukitError(
            "not JSON that can be a record: nested too deep, or a number too long", file=str(path)
        ) from None
    return from_dict(data, str(path))
