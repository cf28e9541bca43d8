"""`gpukit slides lab`: the page in which kernels are edited and run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("lab")
@click.option(
    "--pyodide",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Pyodide's files and NumPy's wheel, which travel in the page.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("slides/build"),
    show_default=True,
    help="The folder that gets lab.html.",
)
def lab(pyodide: Path, out: Path) -> None:
    """Make lab.html: one file in which kernels are edited and run in a browser, without a network."""
    from gpukit.slides.live import page

    made = page.build(Path.cwd(), pyodide, out)
    click.echo(f"{made}: {made.stat().st_size / 1e6:.1f} MB; open it with a double click")
