"""`fig`: a figure that a function draws while the slides are built."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from matplotlib.figure import Figure

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.slides import objects
from gpukit.slides.directives import Directive, Page
from gpukit.slides.model import Asset

WIDTH, LEAST_TEXT = 1184, 18.0  # CSS pixels between the margins of a slide; points


def expand(it: Directive, page: Page) -> str:
    """A Markdown image; the picture itself goes to the deck's assets."""
    it.allow("alt", "height", "width")
    alt = alt_of(it)
    share = _share(it)
    with on_slide(it, share):
        drawn = page.call(it.target)
        svg = _svg(drawn, it)
    return add(page, it, Asset(svg, alt), share)


@contextmanager
def on_slide(it: Directive, share: float = 1.0) -> Iterator[None]:
    """Figures made inside are for a slide, as high as `height` (inches) says. Raises SlidesError."""
    text = it.attributes.get("height")
    with ExitStack() as stack:
        try:
            stack.enter_context(style.on_slide(float(text) if text else None, share))
        except (ValueError, GpukitError) as error:
            raise it.error(f'height="{text}" width="{share:.0%}": {error}') from None
        yield


def alt_of(it: Directive) -> str:
    """The words for those who do not see the picture. Raises SlidesError when there are none."""
    alt = it.attributes.get("alt", "").strip()
    if not alt:
        raise it.error(f'{it.target} has no alt="...": say in a sentence what the picture shows')
    if any(character in alt for character in "[]<>\\"):
        raise it.error(
            f"the alt of {it.target} holds one of [ ] < > \\, which Markdown's images cannot: say it without"
        )
    return alt


def add(page: Page, it: Directive, asset: Asset, share: float) -> str:
    """The image in Markdown, under a name that tells where it was drawn."""
    path, name = objects.split(it.target)
    stem = f"{page.deck}-{path.rpartition('/')[2].removesuffix('.py')}-{name}"
    known = f"figures/{stem}.svg"
    copies = 2
    while known in page.assets and page.assets[known] != asset:
        known, copies = f"figures/{stem}-{copies}.svg", copies + 1
    page.assets[known] = asset
    size = f"w:{round(WIDTH * share)} " if share < 1 else ""
    return f"![{size}{asset.alt}]({known})"


def _share(it: Directive) -> float:
    text = it.attributes.get("width", "100%")
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = 0.0
    if not text.endswith("%") or not 0.2 <= share <= 1:
        raise it.error(f'width="{text}" is no share of a slide\'s width: write 20% to 100%')
    return share


def _svg(drawn: object, it: Directive) -> str:
    if isinstance(drawn, Figure):
        small = style.smallest_text(drawn)
        if small < LEAST_TEXT - 0.05:
            raise it.error(f"{it.target} has text of {small:.1f} points; on a slide none may be under {LEAST_TEXT:.0f}")
        out = io.BytesIO()
        style.write(drawn, out, "svg")
        return out.getvalue().decode()
    if isinstance(drawn, str) and drawn.lstrip().startswith("<svg"):
        return drawn
    raise it.error(f"{it.target} gives a {type(drawn).__name__}: return a matplotlib Figure or the text of an SVG")
