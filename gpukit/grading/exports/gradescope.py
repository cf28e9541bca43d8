"""Gradescope's results.json, one per student: what an autograder leaves in /autograder/results/.

Every number in it comes from counters of the CPU machine: Gradescope's containers have no GPU. All of it is visible to
the student, since one hidden test hides the total.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gpukit.grading import wording
from gpukit.grading.leaderboard import is_right
from gpukit.grading.record import PASSED, Item, Record

PATH = "gradescope/{student}/results.json"


def export(records: Sequence[Record]) -> bytes:
    """The results of the one record, whatever its status: Gradescope fails a submission that leaves no file."""
    (record,) = records
    return (json.dumps(results(record), ensure_ascii=False, indent=1) + "\n").encode()


def results(record: Record) -> dict[str, Any]:
    """The results as plain data."""
    notes = [wording.visible(text) for text in (record.verdict, *record.submission.notes) if text]
    return {
        "score": _rounded(record.score),
        "output": "\n".join(notes),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(item, record.complete) for item in record.items],
        "leaderboard": _leaderboard(record),
        "extra_data": {"lab": record.lab, "status": record.status, "seed": record.seed},
    }


def _test(item: Item, complete: bool) -> dict[str, Any]:
    return {
        "name": wording.visible(f"{item.title} ({item.test})"),
        "number": item.task,
        "status": "passed" if item.status == PASSED else "failed",
        "score": _rounded(item.points if complete else 0),
        "max_score": _rounded(item.max_points),
        "output": _output(item),
        "output_format": "text",
        "visibility": "visible",
    }


def _output(item: Item) -> str:
    parts = []
    if item.status != PASSED:
        parts.append(wording.visible(item.message))
        if item.hint:
            parts.append(f"Hint: {wording.visible(item.hint)}")
    for name, cost in item.counters.items():
        parts.append(
            f"{wording.counter(name)}: {wording.number(cost.got)} ({wording.limit(cost)}; "
            f"the reference solution: {wording.number(cost.reference)})"
        )
    return "\n".join(parts)


def _leaderboard(record: Record) -> list[dict[str, Any]]:
    """What each counter is relative to the reference's; of submissions without a wrong answer alone."""
    if not is_right(record):
        return []
    return [
        {
            "name": f"{item.task} {wording.counter(name)} (reference: 1)",
            "value": round(cost.ratio, 4),
            "order": "asc",
        }
        for item in record.items
        for name, cost in item.counters.items()
    ]


def _rounded(value: int | float) -> float:
    return round(float(value), 5)
