"""The page that all others lead back to: decks in order, labs, and how to study alone."""

from __future__ import annotations

from html import escape

from gpukit.slides.html import page
from gpukit.slides.html.site import LIVE_CELLS, Entry, LabEntry, Link, Site

STUDY = (
    "Take the decks in order; 00 says how. <strong>Read</strong> shows all slides of a deck with what a lecturer says "
    "to them, <strong>Slides</strong> one at a time.",
    "Where a slide says <strong>Predict</strong>, mark an answer before you look. A wrong guess is what makes the rest "
    "stick.",
    "Where it says <strong>Run</strong>, run it: in the browser, or on your computer by the command that stands there.",
    "At <strong>Exercise</strong> go to the lab, do the task, and come back. <strong>Check</strong> asks what should "
    "have stayed.",
)
INTRODUCTION = (
    "Every kernel here runs on any computer, in the browser too. Code, numbers and figures are taken from what runs, "
    "and each number says where it was measured."
)


def index_page(site: Site) -> str:
    """The index."""
    total = sum(deck.minutes for deck in site.decks)
    steps = "".join(f"<li>{step}</li>\n" for step in STUDY)
    live = LIVE_CELLS
    body = f"""<h1>GPU programming, in {len(site.decks)} decks and {len(site.labs)} labs</h1>
<p>{INTRODUCTION}</p>
<h2 id="alone">How to study alone</h2>
<ol>
{steps}</ol>
<h2 id="decks">Decks</h2>
<p>{sum(deck.slides for deck in site.decks)} slides, {total / 60:.0f} hours in class.</p>
<ol class="decks">
{"".join(_deck(deck, site) for deck in site.decks)}</ol>
<h2 id="labs">Labs</h2>
<p>In gpukit's folder, once: <code>python -m pip install -e ".[labs]"</code>. Then <code>pytest labs/</code> says what
is next.</p>
<ul>
{"".join(_lab(lab) for lab in site.labs)}</ul>
<p><a href="{live.address}">{live.text}</a>: change a kernel, run it, and see what it costs.</p>
"""
    places = [Link("#alone", "How to study alone"), Link("#decks", "Decks"), Link("#labs", "Labs"), live]
    header = page.bar("On this page", places)
    return page.page("GPU programming: decks and labs", INTRODUCTION, body, "text", header)


def _deck(deck: Entry, site: Site) -> str:
    lab = site.lab(deck.lab)
    about = [f"{deck.slides} slides", f"{deck.minutes:.0f} min"]
    links = [f'<a href="{deck.page}?article">Read</a>', f'<a href="{deck.page}?slides">Slides</a>']
    if lab:
        links.append(f'<a href="{lab.page}">Lab {lab.number}: {escape(lab.title)}</a>')
    spans = "".join(f"<span>{one}</span>" for one in (*links, *about))
    return (
        f'<li><span class="count" aria-hidden="true">{deck.name[:2]}</span><div><h3><a href="{deck.page}">'
        f'{escape(deck.title)}</a></h3><p>{escape(deck.description)}</p><p class="about">{spans}</p></div></li>\n'
    )


def _lab(lab: LabEntry) -> str:
    return f'<li><a href="{lab.page}">Lab {lab.number}: {escape(lab.title)}</a></li>\n'
