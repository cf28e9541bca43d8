"""All checks in a browser over a folder of pages: one browser, as many tabs as there are cores, each used again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpukit.slides.checks.browser import contrast, keys, looks, paper, pictures, session
from gpukit.slides.checks.finding import Finding
from gpukit.slides.model import Deck

DECK = "() => document.documentElement.classList.contains('deck')"
# In which views axe looks at a deck. The others have the same colours, light or dark.
VIEWS = {"light": ("slides", "overview", "article"), "dark": ("article",)}


def check(
    pages: Sequence[Path],
    decks: Mapping[str, Deck],
    folder_of_pictures: Path | None = None,
    say: Callable[[str], None] = lambda name: None,
) -> list[Finding]:
    """What is wrong with pages, given by their files.

    decks: by the name of their page ("04_coalescing.html"); findings about their slides name the deck's source.
    folder_of_pictures: where each slide goes as PNG, if anywhere. say: told the name of each page that is done.

    Raises:
        SlidesError: there is no browser, or a package that drives it is missing.
    """
    return asyncio.run(_check(pages, decks, folder_of_pictures, say))


async def _check(
    pages: Sequence[Path], decks: Mapping[str, Deck], folder: Path | None, say: Callable[[str], None]
) -> list[Finding]:
    waiting = sorted(pages, key=lambda file: -file.stat().st_size)  # the longest first, so that all end together
    found: list[Finding] = []
    async with session.browser() as chromium:

        async def work() -> None:
            async with session.tab(chromium) as tab:
                while waiting:
                    file = waiting.pop(0)
                    for slide, sentence in await of_page(tab, file, folder):
                        found.append(_placed(file, decks.get(file.name), slide, sentence))
                    say(file.name)

        await asyncio.gather(*(work() for _ in range(min(os.cpu_count() or 1, 4, len(waiting)))))
    return sorted(set(found))


async def of_page(tab: session.Tab, file: Path, folder: Path | None = None) -> list[tuple[int, str]]:
    """Number of the slide (0: none) and what is wrong with it, for one page."""
    found: list[tuple[int, str]] = []
    await tab.page.emulate_media(color_scheme="light")
    await tab.open(file)
    try:
        if await tab.page.evaluate(DECK):
            await _of_deck(tab, file.stem, folder, found)
        else:
            await _of_text(tab, found)
    except session.Stuck as stuck:
        found.append((0, str(stuck)))
    return [*found, *((0, sentence) for sentence in tab.heard)]


async def _of_deck(tab: session.Tab, name: str, folder: Path | None, found: list[tuple[int, str]]) -> None:
    for scheme in session.SCHEMES:
        await tab.page.emulate_media(color_scheme=scheme)
        found += [(slide, f"{fault}, in {scheme}") for slide, fault in await looks.faults(tab)]
        for view in VIEWS[scheme]:
            found += [(slide, f"as {view}, in {scheme}: {fault}") for slide, fault in await contrast.faults(tab, view)]
        if folder is not None:
            await pictures.take(tab, name, scheme, folder)
    await tab.page.emulate_media(color_scheme="light")
    found += await keys.faults(tab)
    await tab.view("slides")
    found += await paper.faults(tab, await tab.page.locator("section.slide").count())


async def _of_text(tab: session.Tab, found: list[tuple[int, str]]) -> None:
    for scheme in session.SCHEMES:
        await tab.page.emulate_media(color_scheme=scheme)
        found += [(0, f"in {scheme}: {fault}") for _, fault in await contrast.faults(tab)]


def _placed(file: Path, deck: Deck | None, slide: int, sentence: str) -> Finding:
    if deck is None:
        return Finding(file, 0, f"slide {slide}: {sentence}" if slide else sentence)
    if not slide or slide > len(deck.slides):
        return Finding(deck.path, 0, sentence)
    return Finding(deck.path, deck.slides[slide - 1].line, f"slide {slide}: {sentence}")
