"""`gpukit slides lab`: the page in which kernels are edited and run."""

from __future__ import annotations

from pathlib import Path

import click

from gpukit.slides.live import PYODIDE


@click.command("lab", short_help="Make the page in which kernels are edited and run.")
@click.option(
    "--pyodide",
    type=click.Path(path_type=Path),
    required=True,
    envvar=PYODIDE,
    show_envvar=True,
    metavar="FOLDER",
    help="Pyodide's files and NumPy's wheel, which travel in the page.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for lab.html (default: slides/build).",
)
def lab(pyodide: Path, out: Path | None) -> None:
    """Make lab.html alone: one file in which kernels are edited and run in a browser, without a network. `build` and
    `serve` make it, too, with Python inside if they are told the folder."""
    from gpukit.slides.html import site as sites
    from gpukit.slides.live import page

    root = sites.find_root()
    made = page.build(root, pyodide, out or root / sites.SLIDES / sites.BUILD)
    click.echo(f"{made}: {made.stat().st_size / 1e6:.1f} MB; open it with a double click")
