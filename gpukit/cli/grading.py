"""`gpukit grade`: a folder of submissions to grades and all that is made of them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpukit import files
from gpukit.cli import output
from gpukit.errors import GpukitError

if TYPE_CHECKING:
    from gpukit.grading.collecting import Submission
    from gpukit.grading.record import Record
    from gpukit.labs.folders import Lab


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
@click.option("--title", help="What the pages and Canvas call the lab (default: its README's heading).")
@click.option("--weak-sandbox", is_flag=True, help="Grade host code and C++ although walls are missing here.")
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
    title: str | None,
    weak_sandbox: bool,
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
    refuse_missing_packages(lab)
    refuse_weak_walls(lab, found, weak_sandbox)
    output.make_folder(out)
    seed = batch.seed_of(lab) if seed is None else seed
    click.echo(f"{lab.name}: {len(found)} submissions, seed {seed}")
    with step_progress("grading") as say:
        records = batch.grade(lab, found, out, seed, jobs=jobs, seconds=seconds, again=again, progress=say)
    written = outputs.write(records, out, title=title or lab.heading, gradebook=gradebook)
    for line in report(records):
        click.echo(line)
    if gradebook is not None:
        click.echo((out / outputs.CANVAS_NOTES).read_text(encoding="utf-8"), nl=False)
    click.echo(f"{out}: {len(written)} files; begin with {out / 'summary.html'}")
    return 0


@click.command(short_help="Make the autograder of a lab for Gradescope.")
@click.argument("lab_name", metavar="LAB")
@click.option("--to", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The .zip file to write.")
@click.option("--labs", "root", type=click.Path(path_type=Path), help="The folder of the labs (default: labs, here).")
def autograder(lab_name: str, to: Path, root: Path | None) -> None:
    """Write the .zip file that Gradescope takes as autograder for LAB (5, 05_reduction or reduction). It holds gpukit
    and the lab with its solution, and grades as `gpukit grade` does."""
    from gpukit.grading import autograder as making
    from gpukit.labs import folders

    lab = folders.find_lab(root or folders.find_root(), lab_name)
    files.write_whole(to, making.autograder(lab.path))
    click.echo(f"{to}: upload it as the autograder of {lab.heading}")


def refuse_missing_packages(lab: Lab) -> None:
    """Raise GpukitError where nobody's answer could be run: that is not the students' fault."""
    from gpukit.sandbox import host, running

    if "ctr" in lab.extras and not running.installed("torch"):
        raise GpukitError(host.NO_TORCH)


def refuse_weak_walls(lab: Lab, found: list[Submission], allowed: bool) -> None:
    """Say which walls stand around what is run of the students; raise GpukitError where one is missing that this lab
    needs, unless that is `allowed`."""
    from gpukit.labs.regions import SUFFIXES
    from gpukit.sandbox import gauge

    needed: tuple[str, ...] = gauge.FOR_HOST_CODE if lab.host else ()
    if any(one.path is not None and one.path.suffix.lower() == SUFFIXES["CUDA C++"] for one in found):
        needed += gauge.FOR_CPP
    if not needed:
        return
    walls = gauge.strength()
    if walls.missing(needed) and not allowed:
        raise GpukitError(
            f"{walls.sentence}; grade on Linux, or in a container or a virtual machine that holds nothing else and add "
            "--weak-sandbox"
        )
    click.echo(walls.sentence)


def report(records: list[Record]) -> list[str]:
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
