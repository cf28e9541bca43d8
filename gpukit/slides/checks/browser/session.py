"""Chromium, as this computer has it, driven by Playwright; what its pages log and fetch is kept."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gpukit.slides.errors import SlidesError

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
WIDTH, HEIGHT = 1280, 720
SECONDS = 5_000  # milliseconds that a page may take to do what a key says
LOCAL = ("file:", "data:", "blob:", "about:")
VIEW = "() => document.documentElement.dataset.view"
CURRENT = "() => [...document.querySelectorAll('section.slide')].findIndex((s) => s.classList.contains('current')) + 1"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def chromium() -> str:
    """The browser's path. Raises SlidesError where there is none, and for a Python without Playwright."""
    try:
        import playwright.async_api  # noqa: F401
    except ImportError:
        raise SlidesError('the checks in a browser need Playwright: python -m pip install -e ".[test]"') from None
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise SlidesError(
            "the checks in a browser need Chromium: install it (apt-get install chromium), or --no-browser"
        )
    return found


class Stuck(Exception):
    """A page does not do what must be done to look at it; the message says what."""


@dataclass
class Tab:
    """A page of the browser that is used again and again. `heard`: what was logged and fetched since `open`."""

    page: Page
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listen(self.page)

    def listen(self, page: Page) -> None:
        """Keep errors of a page's console and scripts, and requests for anything that is not on this computer."""
        page.on("console", lambda message: self._say(message.type == "error", f"the console says: {message.text}"))
        page.on("pageerror", lambda error: self._say(True, f"a script fails: {error}"))
        page.on("request", lambda sent: self._say(not sent.url.startswith(LOCAL), f"it asks for {sent.url}"))

    def _say(self, wrong: bool, sentence: str) -> None:
        if wrong and (short := " ".join(sentence.split())[:300]) not in self.heard:
            self.heard.append(short)

    async def open(self, file: Path, query: str = "") -> None:
        """Show a page from its file, as somebody does who opens it by a double click."""
        self.heard.clear()
        # What a tab remembers, a new one does not know; an empty one has nothing to remember with.
        await self.page.evaluate("() => { try { sessionStorage.clear(); } catch (error) {} }")
        await self.page.goto("about:blank")  # a place in the page that is open would not load it again
        await self.page.goto(file.resolve().as_uri() + query, wait_until="load")

    async def view(self, name: str) -> None:
        """Change the deck's view by its keys. Raises Stuck where they do not."""
        from playwright.async_api import TimeoutError

        if await self.page.evaluate(VIEW) == name:
            return
        await self.page.keyboard.press("Escape")  # leaves the overview
        if await self.page.evaluate(VIEW) == "article":
            await self.page.keyboard.press("a")
        if name != "slides":
            await self.page.keyboard.press({"article": "a", "overview": "o"}[name])
        try:
            await self.page.wait_for_function(f"name => ({VIEW})() === name", arg=name, timeout=SECONDS)
        except TimeoutError:
            raise Stuck(f"its keys do not lead to the view {name}") from None

    async def go(self, number: int) -> None:
        """Show a slide by its address. Raises Stuck where it does not show."""
        from playwright.async_api import TimeoutError

        await self.page.evaluate("(number) => { location.hash = '#' + number; }", number)
        try:
            await self.page.wait_for_function(f"number => ({CURRENT})() === number", arg=number, timeout=SECONDS)
        except TimeoutError:
            raise Stuck(f"#{number} in its address does not lead to slide {number}") from None


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """A browser, closed at the end. Raises SlidesError where there is none, or it does not start."""
    path = chromium()
    from playwright.async_api import Error, async_playwright

    async with async_playwright() as playwright:
        try:
            started = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        except Error as error:
            raise SlidesError(f"{path} does not start: {error.message.splitlines()[0]}") from None
        try:
            yield started
        finally:
            await started.close()


@asynccontextmanager
async def tab(of: Browser) -> AsyncIterator[Tab]:
    """A page in a context of its own (its own storage), of the size of a slide."""
    context: BrowserContext = await of.new_context(
        viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce", locale="en-US"
    )
    try:
        yield Tab(await context.new_page())
    finally:
        await context.close()
