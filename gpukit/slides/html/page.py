"""The frame of every page: one file, nothing from elsewhere, light and dark, with a way back to the index."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from gpukit.slides.html.site import INDEX, Link, Neighbours

# The browser loads nothing and sends nothing, whatever a deck might hold.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
# Before anything is drawn: the theme that was chosen last, and that there is a script.
EARLY = (
    "document.documentElement.classList.add('js');"
    "try{document.documentElement.dataset.theme=localStorage.getItem('gpukit-theme')||''}catch(e){}"
)
_LIGHT_DARK = re.compile(r"^\s*(?P<name>--[\w-]+):\s*light-dark\((?P<light>[^(),]+),(?P<dark>[^(),]+)\);", re.MULTILINE)


def page(
    title: str,
    description: str,
    body: str,
    kind: str,
    header: str,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
) -> str:
    """A whole page. `kind`: "deck" or "text", its style sheet; `scripts` and `styles`: files of theme/ that it
    has beside them."""
    more = "".join(map(style, styles))
    code = "".join(f"<script>\n{theme(name)}</script>\n" for name in scripts)
    return f"""<!doctype html>
<html lang="en" class="{kind}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="{escape(description)}">
<title>{escape(title)}</title>
<script>{EARLY}</script>
<style>
{style("base.css")}{style(kind + ".css")}{more}</style>
</head>
<body>
<a class="skip" href="#{"1" if kind == "deck" else "main"}">Skip to the {"slides" if kind == "deck" else "text"}</a>
{header}
<main id="main" tabindex="-1">
{body}
</main>
{code}</body>
</html>
"""


def header(neighbours: Neighbours) -> str:
    """The line of links on each page: the index, what belongs to it, and what comes before and after."""
    links = [Link(INDEX, "All decks"), *neighbours.others]
    if neighbours.before:
        links.append(Link(neighbours.before.address, f"← {neighbours.before.text}"))
    if neighbours.after:
        links.append(Link(neighbours.after.address, f"{neighbours.after.text} →"))
    return bar("Decks and labs", links)


def bar(name: str, links: Sequence[Link]) -> str:
    """A line of links at the top of a page; `name` says what they are to those who hear them."""
    inside = "".join(f'<a href="{escape(link.address)}">{escape(link.text)}</a>' for link in links)
    return f'<header class="bar"><nav aria-label="{escape(name)}">{inside}</nav></header>'


def player(still: str, data: Mapping[str, Any]) -> str:
    """A stepper: its still picture, and what theme/stepper.js plays in its place."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    return (
        f'<span class="figure stepper" data-stepper>{still}</span>'
        f'<script type="application/json" class="stepper-data">{text}</script>'
    )


@cache
def theme(name: str) -> str:
    """A file of theme/."""
    return files("gpukit.slides.html").joinpath("theme", name).read_text(encoding="utf-8")


@cache
def style(name: str) -> str:
    """A style sheet of theme/. Browsers that do not know light-dark() get the light colours."""
    found = colours(name)
    if not found:
        return theme(name)
    light = "".join(f"{name}:{one};" for name, one, _ in found)
    both = "".join(f"{name}:light-dark({one},{two});" for name, one, two in found)
    rest = _LIGHT_DARK.sub("", theme(name))
    return f":root{{{light}}}\n@supports (color:light-dark(#000,#fff)){{:root{{{both}}}}}\n{rest}"


@cache
def colours(name: str) -> list[tuple[str, str, str]]:
    """The colours that a style sheet defines: (variable, light, dark)."""
    return [
        (match["name"], match["light"].strip(), match["dark"].strip()) for match in _LIGHT_DARK.finditer(theme(name))
    ]


def forget() -> None:
    """Read the files of theme/ anew."""
    for cached in (theme, style, colours):
        cached.cache_clear()
