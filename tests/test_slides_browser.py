"""Each check in a browser fails for its reason on a small deck, written by the real renderer and then spoilt."""

import asyncio
import io
import os
import re
import shutil
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gpukit.slides import source
from gpukit.slides.checks.browser import checking, contrast, keys, looks, paper, pictures, session
from gpukit.slides.errors import SlidesError
from gpukit.slides.expand import expand
from gpukit.slides.html.deck import deck_page
from gpukit.slides.html.site import Neighbours

ROOT = Path(__file__).parents[1]
PATHS = '<svg role="img" aria-label="A" style="width:400px" viewBox="0 0 888 200"><path d="M0 0h9v9z"/></svg>'
TEXT = (
    '<svg role="img" aria-label="A" style="width:400px" viewBox="0 0 800 99"><text y="50" font-size="30">A</text></svg>'
)
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
# A stepper that counts the keys it hears, and never goes back.
COUNTER = "<span data-stepper></span><script>addEventListener('keydown', () => " \
    "{ document.querySelector('[data-stepper]').textContent += 'x'; })</script>"  # fmt: skip
DECK = """---
marp: true
title: Made
---

<!-- _class: title -->
# Made

For a test.

<!-- 1 min. Say so. -->

---

<!-- _class: predict -->
## How many lanes has a warp?

1. 16
2. 32

<!--
2 min. Hands up.

Answer: 32 lanes.
-->

---

<!-- _class: why -->
## What is said last

Words that are said.

<!-- 1 min. Say so. -->
"""


def missing(reason):
    if os.environ.get("GPUKIT_NEEDS_BROWSER"):
        pytest.fail(reason)
    pytest.skip(reason)


class Look:
    """A tab of a browser that is started once, and the made deck's page, to be spoilt."""

    def __init__(self, runner, tab, folder):
        self.runner, self.tab, self.folder = runner, tab, folder
        file = ROOT / "slides" / "90_made.md"
        self.deck = expand(source.parse(DECK, file, "slides/90_made.md"), ROOT, str)
        self.text = deck_page(self.deck, Neighbours())

    def file(self, *changes):
        """The page's file, with texts replaced."""
        text = self.text
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        file = self.folder / "90_made.html"
        file.write_text(text)
        return file

    def __call__(self, look, *changes, scheme="light"):
        """What one of the checks, given by its function of a tab, says of the page."""

        async def found():
            await self.tab.page.emulate_media(color_scheme=scheme)
            await self.tab.open(file)
            return [f"slide {slide}: {fault}" for slide, fault in await look(self.tab)]

        file = self.file(*changes)
        return self.runner.run(found())

    def whole(self, *changes):
        """What all checks say of the page."""
        return self.runner.run(checking.of_page(self.tab, self.file(*changes)))


@pytest.fixture(scope="module")
def look(tmp_path_factory):
    try:
        contrast._axe()
        session.chromium()
    except SlidesError as error:
        missing(str(error))
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        browser = runner.run(stack.enter_async_context(session.browser()))
        tab = runner.run(stack.enter_async_context(session.tab(browser)))
        yield Look(runner, tab, tmp_path_factory.mktemp("pages"))
        runner.run(stack.aclose())


def test_nothing_is_wrong_with_the_page_that_the_others_spoil(look):
    assert look.whole() == []


WORDS = "<p>Words that are said.</p>"


@pytest.mark.parametrize("scheme", session.SCHEMES)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(WORDS, WORDS * 14)], r"slide 3: <p> .* runs \d+.* px over the bottom"),
        ([(WORDS, '<p style="margin-left:1100px;white-space:nowrap">Words that are said.</p>')], r"over the right"),
        ([(WORDS, '<p style="margin-top:-90px">Words that are said.</p>')], r"<h2> .* and <p> .* overlap by"),
        ([(WORDS, '<pre style="width:300px;overflow:hidden">' + "x" * 60 + "</pre>")], r"cut off: \d+ px of its width"),
        ([(WORDS, '<p>Words <span style="font-size:20px">that</span></p>')], r"text of 20 px, and 24 are the least"),
        ([(WORDS, PATHS)], r"drawn at 3\d % of the size"),
        ([(WORDS, TEXT)], r"text of 15 px"),
        ([("What is said last", "What is said last " * 5)], r"slide 3: its heading takes 2 lines"),
        ([("bottom: 4px;", "bottom: 40px;")], r"slide 2: the tool bar covers \d+.* px of <summary> \"\+? ?Answer\""),
        ([("32 lanes.", "32 lanes. " * 300)], r"slide 2: its answer, opened, is cut off"),
        (
            [("bottom: 0; max-height", "bottom: 380px; max-height")],
            r"slide 2: its answer, opened, covers \d+.* px of <label>",
        ),
        ([('class="slide why"', 'class="slide why" hidden')], r"slide 3: it does not show"),
    ],
)
def test_what_does_not_look_well_is_found(look, changes, said, scheme):
    found = look(looks.faults, *changes, scheme=scheme)
    assert any(re.search(said, sentence) for sentence in found), found


def test_what_may_be_small_is_not_found(look):
    formula = "<p>2<sup>20</sup> <math><msup><mi>x</mi><mn>2</mn></msup></math></p>"
    assert look(looks.faults, (WORDS, formula)) == []


@pytest.mark.parametrize("view", checking.VIEWS["light"])
@pytest.mark.parametrize("scheme", session.SCHEMES)
def test_what_axe_finds(look, view, scheme):
    spoilt = (WORDS, f'<p style="color:#aaa">Words.</p><img src="{PIXEL}">')
    found = look(lambda tab: contrast.faults(tab, view), spoilt, scheme=scheme)
    assert any(re.match(r"slide 3: .*\(image-alt\)", sentence) for sentence in found), found
    if scheme == "light" and view != "overview":  # which shows the same slides, too small for axe to tell colours
        assert any(re.match(r"slide 3: .*\(color-contrast\): .* contrast of 2\.", sentence) for sentence in found), (
            found
        )


def test_axe_leaves_pictures_as_they_are_and_finds_one_without_a_name(look):
    async def inside(tab):
        await tab.view("article")
        before = await tab.page.content()
        found = await contrast.faults(tab, "article")
        assert await tab.page.content() == before and "<text y" in before
        return found

    assert look(inside, (WORDS, TEXT)) == []
    assert any("(svg-img-alt)" in sentence for sentence in look(inside, (WORDS, TEXT.replace(' aria-label="A"', ""))))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([("</main>", "</main><script>console.error('it went wrong')</script>")], "the console says: it went wrong"),
        ([("</main>", "</main><script>undefined.x</script>")], "a script fails: Cannot read properties of undefined"),
        ([("img-src data:", "img-src *"), (WORDS, '<img alt="A" src="http://127.0.0.1:9/a.png">')],
         "it asks for http://127.0.0.1:9/a.png"),
    ],
)  # fmt: skip
def test_what_a_page_logs_and_fetches_is_found(look, changes, said):
    async def nothing(tab):
        return []

    look(nothing, *changes)
    assert any(sentence.startswith(said) for sentence in look.tab.heard), look.tab.heard


async def on_paper(tab):
    return await paper.faults(tab, 3)


@pytest.mark.parametrize(
    ("style", "said"),
    [
        ("</style>", []),
        ("@media print { .why { display: none !important } }</style>", ["slide 0: its PDF has 2 pages for 3 slides"]),
        ("@media print { .why * { visibility: hidden !important } }</style>", ["slide 3: page 3 of its PDF is blank"]),
    ],
)
def test_paper(look, style, said):
    assert look(on_paper, ("</style>", style)) == said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("ArrowRight: () => go(now + 1),", ""), "slide 0: after ArrowRight slide 1 shows, and not 2"),
        (("Home: () => go(0),", ""), "slide 0: after Home slide 3 shows, and not 1"),
        (('["o",', '["q",'), "slide 0: after o the view is slides, and not overview"),
        (("if (tell) send();", ""), "slide 0: the speaker's window does not follow the slides"),
        (("else answer();", ""), "slide 2: enter does not show its answer"),
        ((WORDS, f"{WORDS}<span data-stepper></span>"), "slide 3: its stepper does not play"),
        ((WORDS, f"{WORDS}{COUNTER}"), "slide 3: its stepper does not go back"),
    ],
)
def test_keys_that_do_nothing_are_found(look, change, said, monkeypatch):
    monkeypatch.setattr(keys, "SECONDS", 300)
    found = look(keys.faults, change)
    assert any(sentence.startswith(said) for sentence in found), found


def test_who_reads_goes_on_reading_in_the_next_page_of_the_tab(look):
    other = look.folder / "91_made.html"

    async def views(query):
        page, found = look.tab.page, []
        await look.tab.open(file, query)
        for address in (other.as_uri(), f"{file.as_uri()}#3", f"{file.as_uri()}?slides#2", other.as_uri()):
            found.append(await page.evaluate(session.VIEW))
            await page.goto(address)
        return [*found, await page.evaluate(session.VIEW)]

    file = look.file()
    other.write_text(file.read_text())
    assert look.runner.run(views("?article")) == ["article", "article", "article", "slides", "slides"]
    assert look.runner.run(views("")) == ["slides"] * 5


def test_a_page_that_cannot_be_looked_at_is_said(look, monkeypatch):
    monkeypatch.setattr(session, "SECONDS", 300)
    found = look.whole(('["a",', '["q",'))
    assert (0, "its keys do not lead to the view article") in found


def test_findings_and_pictures_of_a_folder(look, tmp_path):
    """All checks as `gpukit slides check` runs them: findings name the deck's source; every slide is a picture."""
    from PIL import Image

    file, seen, done = look.file((WORDS, WORDS * 14)), tmp_path / "seen", []
    found = checking.check([file], {file.name: look.deck}, seen, done.append)
    assert {(finding.file, finding.line) for finding in found} == {(look.deck.path, look.deck.slides[2].line)}
    assert done == [file.name]
    names = {path.relative_to(seen).as_posix() for path in seen.rglob("*.png")}
    slides = {f"90_made/{n:02}-{scheme}.png" for n in (1, 2, 3) for scheme in session.SCHEMES}
    assert names == slides | {"90_made-light-1.png", "90_made-dark-1.png"}
    light, dark = (Image.open(seen / "90_made" / f"01-{scheme}.png").convert("RGB") for scheme in session.SCHEMES)
    assert light.size == dark.size == (1280, 720)
    assert sum(light.getpixel((1200, 300))) > 600 and sum(dark.getpixel((1200, 300))) < 200
    with Image.open(seen / "90_made-light-1.png") as sheet:
        assert sheet.size == (3 * 648 + 8, 368 + 8)


def test_more_than_twelve_pictures_take_two_sheets(tmp_path):
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (1280, 720)).save(out, "png")
    pictures.sheets([out.getvalue()] * 13, tmp_path, "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x-1.png", "x-2.png"]


# --- the PDF, without a browser --------------------------------------------------------------------------------------


def test_a_blank_untagged_upright_pdf_is_found():
    pypdf = pytest.importorskip("pypdf")
    writer, out = pypdf.PdfWriter(), io.BytesIO()
    writer.add_blank_page(width=960, height=540)
    writer.add_blank_page(width=595, height=842)
    writer.write(out)
    assert paper.of_pdf(out.getvalue(), 3) == [
        (0, "its PDF has 2 pages for 3 slides"),
        (0, "its PDF has no tags, by which a screen reader finds headings and pictures"),
        (1, "page 1 of its PDF is blank"),
        (2, "page 2 of its PDF is blank"),
        (2, "page 2 of its PDF is 595 x 842 points, and not 16:9"),
    ]


# --- without a browser -----------------------------------------------------------------------------------------------


def test_no_chromium_is_one_sentence(monkeypatch):
    pytest.importorskip("playwright")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SlidesError, match=r"^the checks in a browser need Chromium: install it \(apt-get install"):
        checking.check([Path(__file__)], {})


def test_no_playwright_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(SlidesError, match=r"^the checks in a browser need Playwright: python -m pip install"):
        checking.check([Path(__file__)], {})


def test_a_browser_that_does_not_start_is_one_sentence(monkeypatch, tmp_path):
    pytest.importorskip("playwright")
    fake = tmp_path / "chromium"
    fake.write_text("#!/bin/sh\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(fake))
    with pytest.raises(SlidesError, match=r"chromium does not start: "):
        checking.check([Path(__file__)], {})
