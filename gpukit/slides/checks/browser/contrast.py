"""What axe finds: contrast, names, roles, order. It finds a part of what is wrong, and that part must be none."""

from __future__ import annotations

from functools import cache
from typing import Any

from gpukit.slides.checks.browser.session import Tab
from gpukit.slides.errors import SlidesError

# All slides at once, one below the other, as they look when each is shown alone.
ALL_SLIDES = """
() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`section.slide { display: block !important; position: relative !important; height: 720px; }
    section.slide .stage { position: absolute !important; transform: none !important; }
    html, body { height: auto !important; overflow: visible !important; }`);
  document.adoptedStyleSheets = [sheet];
}
"""
ONE_SLIDE = "() => { document.adoptedStyleSheets = []; }"
# What lies in a picture is one picture to those who hear it, told by its alt. Axe takes longer for the hundreds of
# paths there than for all else, even where it is told to leave them out.
RUN = """
async () => {
  const pictures = [...document.querySelectorAll("svg[role=img]")].map((svg) => [svg, [...svg.childNodes]]);
  pictures.forEach(([svg]) => svg.replaceChildren());
  const found = await axe.run(document, { resultTypes: ["violations"] });
  pictures.forEach(([svg, inside]) => svg.replaceChildren(...inside));
  return found.violations.map((one) => [one.id, one.help, one.nodes.map((node) => {
    const slide = document.querySelector(node.target[0])?.closest?.("section.slide");
    return [slide ? Number(slide.id) : 0, node.target.join(" "), node.any[0]?.message || node.failureSummary || ""];
  })]);
}
"""


@cache
def _axe() -> str:
    try:
        from axe_playwright_python.base import AXE_SCRIPT
    except ImportError:
        raise SlidesError("the checks in a browser need axe: python -m pip install axe-playwright-python") from None
    return str(AXE_SCRIPT)


async def faults(tab: Tab, view: str = "") -> list[tuple[int, str]]:
    """Number of the slide (0: none) and what axe says of it, in a view of the deck, or of a page without views."""
    page = tab.page
    if view:
        await tab.view(view)
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(_axe())
    if view == "slides":
        await page.evaluate(ALL_SLIDES)
    found: list[Any] = await page.evaluate(RUN)
    if view == "slides":
        await page.evaluate(ONE_SLIDE)
    return [
        (slide, f"{help} ({name}): {target}: {' '.join(why.split())}")
        for name, help, nodes in found
        for slide, target, why in nodes
    ]
