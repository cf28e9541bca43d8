"""A deck as one page: slides to present, and the same slides one under the other with their notes, to read."""

from __future__ import annotations

import ast
import re

from gpukit.slides.errors import SlidesError
from gpukit.slides.html import page, polls, svg
from gpukit.slides.html.markdown import Block, Writer, comment
from gpukit.slides.html.site import Neighbours
from gpukit.slides.model import COLUMNS, Deck, Slide

TAGS = {
    "question": "Question",
    "predict": "Predict",
    "run": "Run",
    "picture": "Picture",
    "why": "Why",
    "fix": "Fix",
    "row": "Ladder row",
    "exercise": "Exercise",
    "check": "Check",
}
ASKING = ("predict", "check")
_WIDTH = re.compile(r"(?:w|width):(?P<width>\d+%?)(?:px)?(?:\s+|$)")
_ANSWER = re.compile(r"\bAnswer: .+?(?:\n[ \t]*\n|\Z)", re.DOTALL)


def deck_page(deck: Deck, neighbours: Neighbours) -> str:
    """The page of a deck: HTML that needs no other file. The same deck gives the same bytes.

    Raises:
        SlidesError: a picture or a formula cannot be shown; it names the deck's file and the line of the slide.
    """
    players = any(asset.player for asset in deck.assets.values())
    slides = []
    for slide in deck.slides:
        try:
            slides.append(_Slide(deck, slide).html())
        except SlidesError as error:
            if error.file:
                raise
            raise SlidesError(error.message, file=str(deck.path), line=slide.line) from None
    return page.page(
        title=deck.title,
        description=deck.meta.get("description", ""),
        body="\n".join(slides),
        kind="deck",
        header=page.header(neighbours),
        scripts=("deck.js", *(("stepper.js",) if players else ())),
        styles=("stepper.css",) if players else (),
    )


class _Slide:
    """One slide while it is written."""

    def __init__(self, deck: Deck, slide: Slide):
        self.deck, self.slide = deck, slide
        self.writer = Writer(self._image)
        self.pictures = 0
        self.footer = ""

    def html(self) -> str:
        slide, number = self.slide, self.slide.number
        blocks = [block for block in self.writer.blocks(slide.markdown) if not self._comment(block)]
        heads = [block for block in blocks if block[0].type == "heading_open"]
        blocks = [block for block in blocks if block[0].type != "heading_open"]
        if slide.kind in ASKING:
            blocks = polls.with_polls(blocks, slide.kind, f"poll-{number}", self.writer)
        for head in heads:
            head[0].attrSet("id", f"heading-{number}")
        tag = TAGS.get(slide.kind)
        inside = [
            f'<p class="tag">{tag}</p>' if tag else "",
            self.writer.html(heads).strip(),
            f'<div class="body">\n{self._body(blocks)}</div>',
            self._facts() if slide.kind == "title" else "",
            f'<footer><p class="source">{self.writer.inline(self.footer)}</p>'
            f'<p class="number">{number}<span> / {len(self.deck.slides)}</span></p></footer>',
        ]
        stage = "\n".join(filter(None, inside))
        return (
            f'<section class="slide {" ".join(slide.classes)}" id="{number}" role="group" aria-roledescription="slide"'
            f' aria-labelledby="heading-{number}" data-minutes="{slide.minutes:g}">\n'
            f'<div class="stage">\n{stage}\n</div>\n{self._notes()}</section>'
        )

    def _comment(self, block: Block) -> bool:
        """Whether a block is a comment; that for the footer is kept."""
        text = comment(block)
        if text is None:
            return False
        # Marp's directives for a slide may stand in one comment, a line each.
        for line in text.splitlines():
            if line.startswith("_footer:"):
                self.footer = _unquoted(line.removeprefix("_footer:").strip())
        return True

    def _body(self, blocks: list[Block]) -> str:
        answer = self._answer()
        if COLUMNS in self.slide.classes and len(blocks) > 1:
            left, right = self.writer.html(blocks[:1]), self.writer.html(blocks[1:])
            return f'<div class="left">\n{left}</div>\n<div class="right">\n{right}{answer}</div>\n'
        return self.writer.html(blocks) + answer

    def _answer(self) -> str:
        if not self.slide.answer:
            return ""
        # "8. In each warp ..." begins with the answer, and no list.
        text = self.writer.text(re.sub(r"^(\d+)([.)])", r"\1\\\2", self.slide.answer))
        return f'<details class="answer"><summary>Answer</summary>\n<div>{text}</div>\n</details>\n'

    def _notes(self) -> str:
        """What is said; the answer stands on the slide, and only the speaker's window shows it before it is asked."""
        rest = _ANSWER.sub("\n\n", self.slide.notes).strip() if self.slide.answer else self.slide.notes
        text = self.writer.text(rest)
        return f'<div class="notes">\n{text}</div>\n' if text else ""

    def _facts(self) -> str:
        facts = [f"{len(self.deck.slides)} slides", f"{self.deck.minutes:.0f} minutes"]
        return f'<p class="facts">{" · ".join(facts)}</p>'

    def _image(self, address: str, alt: str) -> str:
        asset = self.deck.assets.get(address)
        if asset is None:
            known = ", ".join(self.deck.assets) or "none"
            raise SlidesError(f"this slide shows {address}, which is no figure of this deck; it has {known}")
        size = _WIDTH.match(alt)
        self.pictures += 1
        prefix = f"s{self.slide.number}f{self.pictures}-"
        drawn = svg.inline(asset.svg, asset.alt, prefix, size["width"] if size else "")
        if not drawn:
            raise SlidesError(f"{address} is no SVG: the function that draws it must return a Figure or <svg> text")
        if asset.player is None:
            return f'<span class="figure">{drawn}</span>'
        return page.player(drawn, asset.player)


def _unquoted(text: str) -> str:
    """A value of YAML in quotes, as the front of the slide writes it."""
    if text[:1] not in ("'", '"'):
        return text
    try:
        return str(ast.literal_eval(text))
    except (SyntaxError, ValueError):
        return text
