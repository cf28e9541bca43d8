"""A deck for Marp: the same Markdown, with a style sheet that makes its slides look alike."""

from __future__ import annotations

from gpukit.slides.html import page
from gpukit.slides.html.deck import TAGS
from gpukit.slides.model import Deck


def marp_markdown(deck: Deck) -> str:
    """The text of NAME.marp.md; its pictures lie in figures/ beside it."""
    return deck.markdown(page.theme("marp.css") + _kinds())


def _kinds() -> str:
    """The tag of each kind of slide, in the colours that deck.css gives them."""
    colours = {name.removeprefix("--"): light for name, light, _ in page.colours("base.css")}
    rules = (
        f'section.{kind} {{ --kind: {colours[kind]} }} section.{kind}::before {{ content: "{tag}" }}\n'
        for kind, tag in TAGS.items()
    )
    return "".join(rules)
