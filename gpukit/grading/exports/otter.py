"""The table of `otter grade`, final_grades.csv: for scripts that read otter-grader's.

Columns and order are those of otter-grader 7: the file, a column per question (here: task), total_points_earned,
percent_correct (a share from 0 to 1, in 4 digits), grading_status; the first row, "points-per-question", has the most
points.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpukit.grading import wording
from gpukit.grading.record import Record
from gpukit.grading.tables import csv_bytes

PATH = "otter.csv"
MAXIMUM = "points-per-question"


def export(records: Sequence[Record]) -> bytes:
    """The table as CSV; `file` is the student where there is no file."""
    tasks = wording.tasks(records)
    most = wording.max_points(records)
    rows: list[list[str]] = [
        ["file", *tasks, "total_points_earned", "percent_correct", "grading_status"],
        [MAXIMUM, *(wording.points(value) for value in tasks.values()), wording.points(most), "1", "--"],
    ]
    for record in sorted(records, key=wording.student_order):
        got = wording.task_points(record)
        share = record.score / record.max_points if record.max_points else 0.0
        rows.append(
            [
                wording.visible(record.submission.file or record.student),
                *(wording.points(got.get(task, 0)) for task in tasks),
                wording.points(record.score),
                f"{round(share, 4):g}",
                wording.visible(record.verdict) or "Completed",
            ]
        )
    return csv_bytes(rows)
