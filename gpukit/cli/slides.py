"""`gpukit slides`: build the decks, and serve them while they are written; `check` and `lab` have their own modules."""

from __future__ import annotations

import importlib.util
import os
import time
from pathlib import Path

import click

from gpukit.cli import output
from gpukit.cli.slides_checking import check
from gpukit.cli.slides_lab import lab
from gpukit.errors import GpukitError
from gpukit.slides.live import PYODIDE

# What the extra `slides` brings, by the name that it is imported by.
PACKAGES = {
    "markdown_it": "markdown-it-py",
    "mdit_py_plugins": "mdit-py-plugins",
    "pygments": "Pygments",
    "latex2mathml": "latex2mathml",
}
INSTALL = 'python -m pip install -e ".[slides]"'

out_option = click.option(
    "--out", type=click.Path(path_type=Path), help="The folder for the pages (default: slides/build)."
)
pyodide_option = click.option(
    "--pyodide",
    type=click.Path(path_type=Path),
    envvar=PYODIDE,
    show_envvar=True,
    metavar="FOLDER",
    help="Pyodide's files and NumPy's wheel, so that the live cells run; without it they show what they give.",
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1), help="Processes that build decks (default: one for each core)."
)


@click.group(short_help="Build the course's slides, check them, and serve them while you write.")
def slides() -> None:
    """The course's slides: decks of Markdown in slides/, whose code, numbers and figures are taken from what runs."""
    need_packages()


slides.add_command(check)
slides.add_command(lab)


@slides.command(short_help="Build decks, the index, the labs' pages and the live cells.")
@click.argument("decks", nargs=-1)
@out_option
@pyodide_option
@jobs_option
def build(decks: tuple[str, ...], out: Path | None, pyodide: Path | None, jobs: int | None) -> int:
    """Build each DECK (04, coalescing; all by default) into one HTML file, with the index, the labs' pages and the live
    cells (lab.html) beside it, and the same decks as Markdown for Marp. Exit code 1 if one cannot be built."""
    from gpukit.cli import main
    from gpukit.slides.html import build as building
    from gpukit.slides.html import site as sites

    begun = time.perf_counter()
    root = sites.find_root()
    files = sites.chosen(root, decks)
    site = sites.read(root)
    out = out or root / sites.SLIDES / sites.BUILD
    output.make_folder(out)
    errors, built = [], 0
    for done in building.build(site, out, files, jobs or os.cpu_count() or 1, main, pyodide=pyodide):
        if done.error:
            errors.append(done.error)
            what = "not built"
        elif done.deck is None:
            what = f"{'live cells' if pyodide else 'live cells, no Python':<20} {done.seconds:>6.1f} s"
        else:
            built += 1
            what = f"{len(done.deck.slides):>3} slides {done.deck.minutes:>5.0f} min {done.seconds:>6.1f} s"
        click.echo(f"{done.name:<22} {what}")
    for error in errors:
        click.echo(f"gpukit: {error}", err=True)
    decks_of = "deck" if len(files) == 1 else "decks"
    seconds = time.perf_counter() - begun
    click.echo(f"{built} of {len(files)} {decks_of} in {seconds:.1f} s: {_near(out / sites.INDEX)}")
    absent = sum(not (out / deck.page).exists() for deck in site.decks)
    if absent and not errors:
        click.echo(f"Decks of the index that are not built yet: {absent} (gpukit slides build)")
    return 1 if errors else 0


@slides.command(short_help="Build the decks, show them, and build again what changes.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free.")
@out_option
@pyodide_option
@jobs_option
def serve(port: int, out: Path | None, pyodide: Path | None, jobs: int | None) -> int:
    """Show the slides at http://127.0.0.1:PORT, and build a deck again when its Markdown, its figures or the theme
    change; the page reloads by itself. Ctrl-C ends it."""
    from gpukit.cli import main
    from gpukit.slides.html import serving
    from gpukit.slides.html import site as sites

    root = sites.find_root()
    out = out or root / sites.SLIDES / sites.BUILD
    output.make_folder(out)
    try:
        serving.serve(serving.Show(root, out.absolute(), jobs or os.cpu_count() or 1, main, click.echo, pyodide), port)
    except KeyboardInterrupt:
        click.echo("stopped.")
    return 0


def need_packages() -> None:
    """Raise GpukitError now, in one sentence, where a package is missing."""
    missing = [name for module, name in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise GpukitError(f"the slides need {', '.join(missing)}: {INSTALL}")


def _near(path: Path) -> str:
    from gpukit.report.layout import near_path

    return near_path(str(path.absolute()))
