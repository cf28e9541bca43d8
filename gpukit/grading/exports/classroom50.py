"""Scores and tests of a Classroom 50 result.json ("classroom50/result/v1"), one file per student.

An autograder.py of that system reads it and adds who, when and which commit, which only it knows: classroom,
assignment, submission, commit, release, review and datetime (the runner itself adds owner and assignment_type). The
schema allows whole points only: where a lab has halves, all are counted in halves, so that the share stays right.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from gpukit.grading import wording
from gpukit.grading.record import PASSED, Number, Record

PATH = "classroom50/{student}.json"


def export(records: Sequence[Record]) -> bytes:
    """The result of the one record."""
    (record,) = records
    return (json.dumps(results(record), ensure_ascii=False, indent=1) + "\n").encode()


def scale(record: Record) -> int:
    """How many parts of a point make every score of the record a whole number."""
    values = [value for item in record.items for value in (item.points, item.max_points)]
    return lcm(*(_fraction(value).denominator for value in [*values, record.max_points]))


def results(record: Record) -> dict[str, Any]:
    """The part of the result that a record knows, as plain data."""
    parts = scale(record)
    tests = [
        {
            "test-name": wording.visible(f"{item.task} {item.title} ({item.test})"),
            "passed": item.status == PASSED and record.complete,
            "score": int(_fraction(item.points if record.complete else 0) * parts),
            "max-score": int(_fraction(item.max_points) * parts),
            "message": wording.visible(item.message),
        }
        for item in record.items
    ]
    return {
        "schema": "classroom50/result/v1",
        "score": int(_fraction(record.score) * parts),
        "max-score": int(_fraction(record.max_points) * parts),
        "tests": tests,
    }


def _fraction(value: Number) -> Fraction:
    return Fraction(value).limit_denominator(100)
