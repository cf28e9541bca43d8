"""A gradebook for spreadsheets: a row per student, a column per task and the total, the most points in the first row.

The columns are called "task 5.1": a bare 5.1 would be read as a date in half of Europe. The file begins with a
byte order mark (see `tables`).
"""

from __future__ import annotations

from collections.abc import Sequence

from gpukit.grading import wording
from gpukit.grading.record import Record
from gpukit.grading.tables import csv_bytes

PATH = "gradebook.csv"
MAXIMUM = "(most points)"


def export(records: Sequence[Record]) -> bytes:
    """The gradebook as CSV. A task that a refused submission has no item of counts 0."""
    tasks = wording.tasks(records)
    most = wording.max_points(records)
    rows: list[list[str]] = [
        ["student", *(f"task {task}" for task in tasks), "total", "status", "reason"],
        [MAXIMUM, *(wording.points(value) for value in tasks.values()), wording.points(most), "", ""],
    ]
    for record in sorted(records, key=wording.student_order):
        got = wording.task_points(record)
        rows.append(
            [
                wording.visible(record.student),
                *(wording.points(got.get(task, 0)) for task in tasks),
                wording.points(record.score),
                record.status if record.complete else "interrupted",
                wording.visible(record.verdict),
            ]
        )
    return csv_bytes(rows, for_spreadsheets=True)
