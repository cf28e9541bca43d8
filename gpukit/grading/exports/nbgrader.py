"""The table of `nbgrader export`: for scripts and gradebooks that read nbgrader's.

The columns are those of nbgrader 0.9. A record knows no dates, names or penalties: those stay empty, the penalty 0.0.
Unlike nbgrader's own, the file quotes a name that has a comma in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpukit.grading import wording
from gpukit.grading.record import Record
from gpukit.grading.tables import csv_bytes

PATH = "nbgrader.csv"
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


def export(records: Sequence[Record]) -> bytes:
    """The table as CSV."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for record in sorted(records, key=wording.student_order):
        student, score = wording.visible(record.student), str(float(record.score))
        most = str(float(record.max_points))
        rows.append((wording.visible(record.lab), "", "", student, "", "", "", score, "0.0", score, most))
    return csv_bytes(rows)
