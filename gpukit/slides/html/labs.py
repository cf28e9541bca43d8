"""A lab's README.md as a page to read. Nothing else of a lab's folder is looked at: the rest is the student's, or the
instructor's."""

from __future__ import annotations

import re
from html import escape

from markdown_it.token import Token

from gpukit.slides.html import page
from gpukit.slides.html.markdown import Block, Writer, raw
from gpukit.slides.html.site import LIVE_CELLS, LabEntry, Link, Neighbours, Site
from gpukit.slides.model import page_of_lab

_TASK = re.compile(r"\*\*(?P<task>\d+\.\d+)\*\* ")
_LAB = re.compile(r"(?:\.\./|labs/)(?P<name>\d\d_\w+)(?:/(?:README\.md)?)?")
_ELSEWHERE = re.compile(r"https?://|#|mailto:")


def lab_page(site: Site, lab: LabEntry) -> str:
    """The page of a lab; each task has an anchor, "task-5.3", and says which slides send to it."""
    writer = Writer()
    blocks = writer.blocks(lab.path.read_text(encoding="utf-8"))
    for block in blocks:
        _tasks(block, site, lab)
        for token in block:
            _links(token)
    senders = [deck for deck in site.decks if any(name == lab.name for name, _, _ in deck.labs) or deck.lab == lab.name]
    decks = tuple(Link(deck.page, f"Deck: {deck.title}") for deck in senders)
    around = site.lab_neighbours(lab.name)
    header = page.header(Neighbours(around.before, around.after, (*decks, LIVE_CELLS)))
    return page.page(f"Lab {lab.number}: {lab.title}", "", writer.html(blocks), "text", header)


def _tasks(block: Block, site: Site, lab: LabEntry) -> None:
    """List items that begin with a task's number get an anchor, and links back to the slides that send to them."""
    for item, inline in zip(block, block[2:], strict=False):
        if item.type != "list_item_open" or inline.type != "inline" or not (found := _TASK.match(inline.content)):
            continue
        task = found["task"]
        item.attrSet("id", f"task-{task}")
        item.attrSet("class", "task")
        children = list(inline.children or ())
        ask = next((i for i, child in enumerate(children) if child.type == "softbreak"), len(children))
        children[ask : ask + 1] = [raw("</span>")]
        inline.children = [raw('<span class="ask">'), *children, *_senders(site, lab, task)]


def _senders(site: Site, lab: LabEntry, task: str) -> list[Token]:
    links = [
        f'<a href="{escape(deck.page)}#{number}">{escape(deck.title)}, slide {number}</a>'
        for deck in site.decks
        for name, wanted, number in deck.labs
        if name == lab.name and wanted == task
    ]
    return [raw(f'<span class="from">Slides: {", ".join(links)}</span>')] if links else []


def _links(token: Token) -> None:
    """Links to other labs lead to their pages; what is not among the pages is no link here."""
    dropped = False
    for child in token.children or ():
        if child.type == "link_open":
            address = str(child.attrs.get("href", ""))
            if lab := _LAB.fullmatch(address):
                child.attrs = {"href": page_of_lab(lab["name"])}
            dropped = not lab and not _ELSEWHERE.match(address)
        if dropped and child.type in ("link_open", "link_close"):
            child.type = "raw"
            child.content = ""
