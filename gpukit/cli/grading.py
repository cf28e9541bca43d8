"""`gpukit grade`: a folder of submissions to grades and all that is made of them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

import click

from gpukit.cli import output


@click.command(short_help="Grade a folder of submissions.")
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--lab", "lab_name", required=True, help="Which lab: 5, 05_reduction or reduction.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for records, feedback and tables.")
@click.option("--labs", "root", type=click.Path(path_type=Path), help="The folder of the labs (default: labs, here).")
@click.option("--seed", type=click.IntRange(min=0), help="Of the inputs (default: from the lab, always the same).")
@click.option("--jobs", type=click.IntRange(min=1), help="Submissions at a time (default: as many as there are cores).")
@click.option("--seconds", type=click.FloatRange(min=1), default=120.0, show_default=True, help="Of one submission.")
@click.option("--deadline", type=click.DateTime(), help="Note what was changed after it (by the file's date).")
@click.option("--gradebook", type=click.Path(path_type=Path), help="A gradebook that Canvas exported, to be filled.")
@click.option("--again", is_flag=True, help="Grade what is graded already, too.")
def grade(
    submissions: Path,
    lab_name: str,
    out: Path,
    root: Path | None,
    seed: int | None,
    jobs: int | None,
    seconds: float,
    deadline: datetime | None,
    gradebook: Path | None,
    again: bool,
) -> int:
    """Grade SUBMISSIONS, a folder with a file (.py, .cu or .ipynb) or a folder for each student.

    No student's Python is run: kernels are read, and the CPU machine runs them. A batch that was stopped goes on
    where it was when it is started again."""
    from gpukit.grading import batch, collecting, outputs
    from gpukit.labs import folders
    from gpukit.progress import step_progress

    lab = folders.find_lab(root or folders.find_root(), lab_name)
    found = collecting.collect(submissions, lab.name, deadline)
    output.make_folder(out)
    seed = batch.seed_of(lab) if seed is None else seed
    click.echo(f"{lab.name}: {len(found)} submissions, seed {seed}")
    with step_progress("grading") as say:
        records = batch.grade(lab, found, out, seed, jobs=jobs, seconds=seconds, again=again, progress=say)
    written = outputs.write(records, out, title=f"{lab.name}", gradebook=gradebook)
    for line in report(records):
        click.echo(line)
    click.echo(f"{out}: {len(written)} files; begin with {out / 'summary.html'}")
    return 0


def report(records: list) -> list[str]:
    """What came of a batch, in a few lines."""
    statuses = Counter(record.status for record in records)
    graded = [record.score for record in records if record.status == "graded"]
    lines = [", ".join(f"{number} {status}" for status, number in sorted(statuses.items()))]
    if graded:
        lines.append(f"mean {sum(graded) / len(graded):.1f} of {records[0].max_points:g} points")
    lines += [
        f"  {record.student}: {record.status}, {record.reason}" for record in records if record.status != "graded"
    ]
    return lines
