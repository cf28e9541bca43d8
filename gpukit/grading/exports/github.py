"""Results of a GitHub autograding action, version 3, one file per student: for autograding-grading-reporter.

An action hands them on as base64 in its output `result`. The reporter adds up `score`, compares with `max_score`, and
shows `message`; it fails on a file without `tests`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gpukit.grading import wording
from gpukit.grading.record import PASSED, Item, Record

PATH = "github/{student}.json"
OUTPUT_LIMIT = 500  # characters, as the action's own


def export(records: Sequence[Record]) -> bytes:
    """The results of the one record."""
    (record,) = records
    return (json.dumps(results(record), ensure_ascii=False, indent=1) + "\n").encode()


def results(record: Record) -> dict[str, Any]:
    """The results as plain data. A record without items has one test that stands for the submission."""
    passed = record.complete and bool(record.items) and all(item.status == PASSED for item in record.items)
    tests = [_test(item, record) for item in record.items] or [_whole(record)]
    status = "error" if record.verdict else "pass" if passed else "fail"
    return {
        "version": 3,
        "status": status,
        "max_score": record.max_points,
        "message": wording.visible(record.verdict) or None,
        "tests": tests,
    }


def _test(item: Item, record: Record) -> dict[str, Any]:
    message = wording.visible(item.message)
    return {
        "name": wording.visible(f"{item.task} {item.title} ({item.test})"),
        "status": "pass" if item.status == PASSED else "error" if record.verdict else "fail",
        "message": message or None,
        "test_code": "",
        "filename": wording.visible(record.submission.file),
        "line_no": item.line or 0,
        "score": item.points if record.complete else 0,
        "output": f"Hint: {wording.visible(item.hint)}"[:OUTPUT_LIMIT] if message and item.hint else "",
    }


def _whole(record: Record) -> dict[str, Any]:
    return {
        "name": "submission",
        "status": "error" if record.verdict else "pass",
        "message": wording.visible(record.verdict) or None,
        "test_code": "",
        "filename": wording.visible(record.submission.file),
        "line_no": 0,
        "score": 0,
        "output": "",
    }
