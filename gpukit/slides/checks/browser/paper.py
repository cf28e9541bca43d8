"""A deck on paper: as many pages as slides, none of them blank, and tags for those who hear it."""

from __future__ import annotations

import asyncio
import io
import re
from typing import Any

from gpukit.slides.checks.browser.session import Tab
from gpukit.slides.errors import SlidesError

_SHOWS_TEXT = re.compile(rb"\bT[jJ]\b")


async def faults(tab: Tab, slides: int) -> list[tuple[int, str]]:
    """Number of the page and what is wrong with it; 0 for the PDF as a whole."""
    data = await tab.page.pdf(prefer_css_page_size=True, print_background=True, tagged=True)
    return await asyncio.to_thread(of_pdf, data, slides)


def of_pdf(data: bytes, slides: int) -> list[tuple[int, str]]:
    """What is wrong with a PDF that should have a page for each slide."""
    reader = _reader(data)
    found = []
    if len(reader.pages) != slides:
        found.append((0, f"its PDF has {len(reader.pages)} pages for {slides} slides"))
    catalog = reader.trailer["/Root"]
    if not catalog.get("/MarkInfo", {}).get("/Marked") or "/StructTreeRoot" not in catalog:
        found.append((0, "its PDF has no tags, by which a screen reader finds headings and pictures"))
    for number, page in enumerate(reader.pages, 1):
        contents = page.get_contents()
        if contents is None or not _SHOWS_TEXT.search(contents.get_data()):
            found.append((number, f"page {number} of its PDF is blank"))
        width, height = page.mediabox.width, page.mediabox.height
        if abs(width / height - 16 / 9) > 0.01:
            found.append((number, f"page {number} of its PDF is {width:.0f} x {height:.0f} points, and not 16:9"))
    return found


def _reader(data: bytes) -> Any:
    try:
        from pypdf import PdfReader
    except ImportError:
        raise SlidesError("the checks of the PDF need pypdf: python -m pip install pypdf") from None
    return PdfReader(io.BytesIO(data))
