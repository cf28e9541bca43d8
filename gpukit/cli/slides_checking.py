"""`gpukit slides check`: what must hold for the decks, each finding with its file and line."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click


@click.command(short_help="Find what is wrong with decks: stale, missing, unreadable, not taught.")
@click.argument("decks", nargs=-1)
@click.option(
    "--browser/--no-browser", default=None, help="Look at the pages in Chromium (default: where there is one)."
)
@click.option(
    "--built",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder with pages that were built before: they must be what is built now. Without it all is built twice.",
)
@click.option(
    "--pictures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write every slide as PNG into this folder, light and dark, and sheets of twelve to look through.",
)
@click.option("--jobs", type=click.IntRange(1), help="Processes that build decks (default: one for each core).")
def check(
    decks: tuple[str, ...], browser: bool | None, built: Path | None, pictures: Path | None, jobs: int | None
) -> int:
    """Build each DECK (04, coalescing; all by default) and find all that is wrong with it: form, code and figures that
    were typed, names of things that are not there, rows of slides/curriculum.toml that no slide teaches, what pages
    fetch, other bytes in a second build; and in Chromium what runs over, overlaps or is too small, console, keys,
    contrast, PDF. Exit code 1 if there is anything."""
    from gpukit.cli import cli, main
    from gpukit.slides.checks import running
    from gpukit.slides.errors import SlidesError
    from gpukit.slides.html import site as sites

    begun = time.perf_counter()
    reason = "" if browser is False else running.browser_or_reason()
    if reason and (browser or pictures):
        raise SlidesError(reason)
    if pictures and browser is False:
        raise click.UsageError("--pictures are taken in a browser: leave out --no-browser.")
    root = sites.find_root()
    files = sites.chosen(root, decks)
    done = running.check(
        running.Wanted(
            root=root,
            files=files,
            command=cli,
            main=main,
            jobs=jobs or os.cpu_count() or 1,
            browser=browser is not False and not reason,
            built=built,
            pictures=pictures,
        )
    )
    for finding in done.findings:
        click.echo(finding.shown(root))
    if reason:
        click.echo(f"Not looked at in a browser: {reason}")
    slides = sum(len(deck.slides) for deck in done.decks)
    count = f"{len(done.decks)} deck{'s' * (len(done.decks) != 1)}, {slides} slides"
    found = f"{len(done.findings) or 'no'} finding{'s' * (len(done.findings) != 1)}"
    click.echo(f"{count}: {found} in {time.perf_counter() - begun:.1f} s")
    return 1 if done.findings else 0
