"""`gpukit release`: what students get of the labs."""

from __future__ import annotations

from pathlib import Path

import click

from gpukit.cli import output


@click.command(short_help="Make the students' files of the labs, or their whole tree.")
@click.option("--to", type=click.Path(path_type=Path), help="Build the students' tree here: a new or empty folder.")
@click.option("--check", is_flag=True, help="Only prove that the labs can be given out: exit code 1 if not.")
@click.option("--notebooks", is_flag=True, help="With --to: each lab as a Jupyter notebook, too.")
@click.option("--install", help="What students give pip to get gpukit (default: a copy of this one, in the tree).")
@click.option("--course", default="", help="Address of the git repository that the tree will be, for Colab.")
@click.option("--labs", "root", type=click.Path(path_type=Path), help="The folder of the labs (default: labs, here).")
def release(to: Path | None, check: bool, notebooks: bool, install: str | None, course: str, root: Path | None) -> int:
    """Write each lab's student.py (the solution minus its tagged regions) and recorded reference; with --to build the
    tree that students get, without solutions, wrong answers or leaks."""
    from gpukit.labs import folders
    from gpukit.labs import release as making

    if to is None and (notebooks or install or course):
        raise click.UsageError("--notebooks, --install and --course are about the students' tree: add --to DIR.")
    root = root or folders.find_root()
    if check:
        found = list(making.faults(root))
        for fault in found:
            click.echo(fault)
        labs = folders.find_labs(root)
        click.echo(f"{len(found)} fault(s)" if found else f"{len(labs)} labs can be given out")
        return 1 if found else 0
    changed = making.update(root)
    for path in changed:
        click.echo(f"wrote {path}")
    if to is None:
        click.echo(f"{len(changed)} file(s) changed" if changed else "every student file is the solution's")
        return 0
    output.make_folder(to)
    written = making.release(root, to, install=install or "", notebooks=notebooks, course=course)
    click.echo(f"{to}: {len(written)} files, no solution among them")
    return 0
