"""All checks over the decks of a repository: of their sources, of what they expand to, of pages, of a second build."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from gpukit.errors import GpukitError
from gpukit.slides import source
from gpukit.slides.checks import curriculum, form, names, pages, typed
from gpukit.slides.checks.browser import checking
from gpukit.slides.checks.finding import Finding
from gpukit.slides.errors import SlidesError
from gpukit.slides.html import build as building
from gpukit.slides.html import site as sites
from gpukit.slides.html.site import Site
from gpukit.slides.live import PYODIDE, cells
from gpukit.slides.live import page as live
from gpukit.slides.model import Deck

_PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+): (?P<said>.*)", re.DOTALL)


@dataclass(frozen=True)
class Wanted:
    """What to check, and how.

    files: of the decks. command, main: gpukit's command line, which parses commands and carries them out. jobs:
    processes that build. browser: look at the pages in one. built: a folder with pages that were built before, which
    must be what is built now; without one the decks are built twice. pictures: where each slide goes as PNG.
    say: told what is done.
    """

    root: Path
    files: Sequence[Path]
    command: click.Command
    main: Callable[[Sequence[str]], int]
    jobs: int = 1
    browser: bool = False
    built: Path | None = None
    pictures: Path | None = None
    say: Callable[[str], None] = field(default=lambda line: None)


@dataclass(frozen=True)
class Checked:
    decks: Sequence[Deck]
    findings: Sequence[Finding]


def check(wanted: Wanted) -> Checked:
    """Build the decks in a folder of its own, and find all that is wrong with them.

    Raises:
        SlidesError: the curriculum cannot be read, a deck has no front matter, or there is no browser.
    """
    site = sites.read(wanted.root)
    with tempfile.TemporaryDirectory(prefix="gpukit-slides-") as temporary:
        out, again = Path(temporary) / "first", Path(temporary) / "second"
        decks, findings = _built(wanted, site, out)
        findings += of_sources(wanted, site, decks)
        chosen = {f"{deck.name}.html" for deck in decks}
        known = [*(deck.page for deck in site.decks), *(lab.page for lab in site.labs)]
        findings += pages.check(out, () if _all(wanted, site) else chosen, known)
        if decks:
            with _second_build(wanted, again):
                if wanted.browser:
                    files = [out / name for name in sorted(chosen)]
                    files += [out / sites.INDEX, *(out / lab.page for lab in site.labs)] if _all(wanted, site) else []
                    by_page = {f"{deck.name}.html": deck for deck in decks}
                    findings += checking.check(files, by_page, wanted.pictures, wanted.say)
            findings += _differences(out, wanted.built or again, chosen, len(decks) == len(site.decks))
        findings = [_kept(finding, wanted, out) for finding in findings]
    return Checked(decks, sorted(set(findings)))


def _kept(finding: Finding, wanted: Wanted, out: Path) -> Finding:
    """A finding about a page that is gone afterwards, by where a build puts it."""
    if not finding.file.is_relative_to(out):
        return finding
    return replace(finding, file=wanted.root / sites.SLIDES / sites.BUILD / finding.file.relative_to(out))


def of_sources(wanted: Wanted, site: Site, decks: Sequence[Deck]) -> Iterator[Finding]:
    """What the sources and the expanded decks say, without any page."""
    yield from typed.check([source.read(path, wanted.root) for path in wanted.files])
    yield from form.check(decks)
    yield from names.check(decks, wanted.root, wanted.command, [deck.name for deck in site.decks])
    file = wanted.root / curriculum.FILE
    there = {deck.name for deck in decks}
    elsewhere = {
        row for path in sites.deck_files(wanted.root) if path.stem not in there for row in _covered(path, wanted)
    }
    yield from curriculum.check(decks, curriculum.read(file), file, elsewhere)


def _covered(path: Path, wanted: Wanted) -> Iterator[str]:
    """The rows that a deck covers which is not built here, or cannot be."""
    deck = source.read(path, wanted.root)
    for slide in deck.slides:
        for comment in source.comments(slide, deck.shown):
            if comment.text.startswith("covers:"):
                yield from comment.text.removeprefix("covers:").split()


def _all(wanted: Wanted, site: Site) -> bool:
    return len(wanted.files) == len(site.decks)


def _built(wanted: Wanted, site: Site, out: Path) -> tuple[list[Deck], list[Finding]]:
    """The decks, and why there is none of a file."""
    decks, findings = [], []
    paths = {path.stem: path for path in wanted.files}
    for done in building.build(site, out, wanted.files, wanted.jobs, wanted.main):
        if done.error:
            findings.append(_not_built(done.error, paths.get(done.name, wanted.root / cells.CELLS), wanted.root))
        elif done.deck is not None:
            decks.append(done.deck)
    return sorted(decks, key=lambda deck: deck.name), findings


def _not_built(error: str, file: Path, root: Path) -> Finding:
    """Why a deck cannot be built, at the place that the error names."""
    named = _PLACE.match(error)
    if named is None:
        return Finding(file, 0, f"it cannot be built: {error}")
    return Finding(root / named["file"], int(named["line"]), f"this stops the build: {named['said']}")


@contextmanager
def _second_build(wanted: Wanted, out: Path) -> Iterator[None]:
    """Build the same in another process meanwhile, where sets have another order; unless there is a build already."""
    if wanted.built is not None:
        yield
        return
    command = [sys.executable, "-m", "gpukit", "slides", "build", "--jobs", "1", "--out", str(out)]
    command += [path.stem for path in wanted.files]
    environment = {**os.environ, "PYTHONHASHSEED": "1", PYODIDE: ""}  # without Python, as the first
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=wanted.root, env=environment, stdout=said, stderr=said)
        try:
            yield
            if process.wait() not in (0, 1):  # 1: a deck cannot be built, which is said already
                said.seek(0)
                raise SlidesError(f"the second build does not come to its end: {said.read().strip()[-300:]}")
        finally:
            process.kill()
            process.wait()


def _differences(first: Path, second: Path, chosen: set[str], everything: bool) -> Iterator[Finding]:
    # Python is inside only where somebody has put it.
    but = (sites.LIVE,) if live.has_python(second / sites.LIVE) else ()
    ours = (sites.LIVE, *(page.removesuffix(".html") for page in chosen))
    for finding in pages.differences(first, second, but):
        if everything or finding.file.name.startswith(ours):
            yield finding


def browser_or_reason() -> str:
    """Why there is no browser to look at the pages with; "" where there is one."""
    from gpukit.slides.checks.browser import session

    try:
        session.chromium()
    except GpukitError as error:
        return str(error)
    return ""
