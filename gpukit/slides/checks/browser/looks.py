"""How slides look at 1280 by 720 pixels: nothing runs over, nothing overlaps, nothing is too small to read."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from gpukit.slides.checks.browser.session import Tab

LIMITS = {
    "text": 24,  # CSS pixels of the smallest text: 18 points
    "tolerance": 1,  # pixels
    "scale": 4 / 3 * 0.985,  # pixels a point of a figure
}


@cache
def script() -> str:
    return files("gpukit.slides.checks.browser").joinpath("measure.js").read_text(encoding="utf-8")


async def faults(tab: Tab) -> list[tuple[int, str]]:
    """Number of the slide, and what is wrong with its looks, for all slides of the deck that is open."""
    await tab.view("slides")
    found: list[dict[str, Any]] = await tab.page.evaluate(script(), LIMITS)
    return [(int(each["slide"]), fault) for each in found for fault in each["faults"]]
