"""Building: from the decks' files to a folder of pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from gpukit.errors import GpukitError
from gpukit.files import write_whole
from gpukit.slides import commands, expand
from gpukit.slides.html.deck import deck_page
from gpukit.slides.html.index import index_page
from gpukit.slides.html.labs import lab_page
from gpukit.slides.html.marp import marp_markdown
from gpukit.slides.html.site import INDEX, LIVE, Site
from gpukit.slides.live import page as live
from gpukit.slides.model import Deck

Main = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class Built:
    """What became of a deck, or of the page of live cells, which has none: `error` says why there is no page. `seconds`
    it took."""

    name: str
    seconds: float
    deck: Deck | None = None
    error: str = ""


def build(
    site: Site,
    out: Path,
    decks: Sequence[Path],
    jobs: int,
    main: Main,
    *,
    pyodide: Path | None = None,
    apart: bool = False,
) -> Iterator[Built]:
    """Build the page of live cells and decks in so many processes, each as it is done; and before them the index and
    the labs' pages.

    `main` is gpukit's command line, which decks show the output of. A deck that is wrong stops no other. `pyodide`: the
    folder with Python for the live cells, if they are to run. `apart`: not in this process, however few there are.
    """
    write_texts(site, out)
    if not apart and (jobs <= 1 or len(decks) <= 1):
        yield built_live(site, out, pyodide)
        for path in decks:
            yield built(site, out, path, main)
        return
    # A limit of tasks makes the pool's processes new ones everywhere: a copy of this one would have its threads' locks
    # and not its threads. None of them reaches the limit.
    tasks = len(decks) + 1
    with ProcessPoolExecutor(min(jobs, tasks), max_tasks_per_child=tasks + 1) as pool:
        waiting = [pool.submit(built, site, out, path, main) for path in decks]
        for future in as_completed([pool.submit(built_live, site, out, pyodide), *waiting]):
            yield future.result()


def built(site: Site, out: Path, path: Path, main: Main) -> Built:
    """Build one deck."""
    begun = time.perf_counter()
    try:
        deck = expand.read(path, site.root, commands.runner(main, site.root))
        write_deck(site, out, deck)
    except GpukitError as error:
        return Built(path.stem, time.perf_counter() - begun, error=str(error))
    return Built(path.stem, time.perf_counter() - begun, deck)


def built_live(site: Site, out: Path, pyodide: Path | None) -> Built:
    """Build the page of live cells."""
    begun = time.perf_counter()
    error = ""
    try:
        live.build(site.root, pyodide, out)
    except GpukitError as raised:
        error = str(raised)
    return Built(Path(LIVE).stem, time.perf_counter() - begun, error=error)


def write_deck(site: Site, out: Path, deck: Deck) -> None:
    """The page of a deck, and for Marp its Markdown and pictures."""
    write_whole(out / f"{deck.name}.html", deck_page(deck, site.deck_neighbours(deck.name)), parents=True)
    write_whole(out / f"{deck.name}.marp.md", marp_markdown(deck))
    for old in (out / "figures").glob(f"{deck.name}-*.svg"):
        if f"figures/{old.name}" not in deck.assets:
            old.unlink()
    for name, asset in deck.assets.items():
        write_whole(out / name, asset.svg, parents=True)


def write_texts(site: Site, out: Path) -> None:
    """The index and the labs' pages."""
    write_whole(out / INDEX, index_page(site), parents=True)
    for lab in site.labs:
        write_whole(out / lab.page, lab_page(site, lab))
