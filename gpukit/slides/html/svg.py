"""Figures as part of a page: SVG text inline, with a name for those who do not see it, ids of its own, and colours that
follow the theme."""

from __future__ import annotations

import re
from html import escape

_PROLOGUE = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)
_ROOT = re.compile(r"<svg\b(?P<attributes>[^>]*)>")
_NAMESPACE = re.compile(r'\s+xmlns(?::\w+)?="[^"]*"')
_SIZE = re.compile(r'\b(?P<key>width|height|viewBox)="(?P<value>[^"]*)"')
_DROPPED = re.compile(r'\s+(?:role|aria-label|aria-labelledby|width|height|version|id|class|style)="[^"]*"')
_ID = re.compile(r'(?P<before>\bid="|url\(#|href="#)(?P<id>[^")]+)')
# matplotlib's only style sheet. In a page it would be everybody's; on the root it is inherited.
_GLOBAL_STYLE = re.compile(r"<defs>\s*<style[^>]*>\s*\*\s*\{(?P<css>[^}]*)\}\s*</style>\s*</defs>")
_STYLE = re.compile(r"(<style[^>]*>)(.*?)(</style>)", re.DOTALL)
_COLOUR = re.compile(
    r'(?P<before>(?:\b(?:fill|stroke|stop-color|color)\s*[:=]\s*"?\s*))'
    r"(?P<colour>#[0-9a-fA-F]{6}\b|#[0-9a-fA-F]{3}\b|black\b|white\b)"
)
# What a dark page turns round, as gpukit.plots.style says; all other colours, and what is written on them, stay.
VARIABLES = {
    "#222222": "--fig-ink",
    "#767676": "--fig-grey",
    "#e6e6e6": "--fig-pale",
    "#ffffff": "--fig-paper",
    "#000000": "--fig-ink",
}
_SHORT = {"black": "#000000", "white": "#ffffff", "#fff": "#ffffff", "#000": "#000000", "#222": "#222222"}


def inline(svg: str, alt: str, prefix: str, width: str = "") -> str:
    """The <svg> element of a figure, to stand in HTML.

    `prefix` makes its ids its own. `width`: "592" in pixels of a slide, "50%" or "" for its natural size.
    """
    svg = _PROLOGUE.sub("", svg).strip()
    svg = svg.replace("xlink:href=", "href=")
    inherited = _GLOBAL_STYLE.search(svg)
    svg = _GLOBAL_STYLE.sub("", svg)
    root = _ROOT.search(svg)
    if root is None:
        return ""
    size = {match["key"]: match["value"] for match in _SIZE.finditer(root["attributes"])}
    attributes = _DROPPED.sub("", _NAMESPACE.sub("", root["attributes"]))
    if "viewBox" not in size:
        attributes += f' viewBox="0 0 {_number(size.get("width", "1184"))} {_number(size.get("height", "540"))}"'
    style = [f"width:{width}px" if width.isdecimal() else f"width:{width}"] if width else []
    if not width and "width" in size:
        style.append(f"width:{_pixels(size['width'])}")
    if inherited:
        style.append(" ".join(inherited["css"].split()).rstrip(";"))
    opening = f'<svg role="img" aria-label="{escape(alt)}" style="{";".join(style)}"{attributes}>'
    body = svg[root.end() :]
    body = _STYLE.sub(lambda m: f"{m[1]}#{prefix}svg{{{m[2]}}}{m[3]}", body)
    body = _ID.sub(lambda m: f"{m['before']}{prefix}{m['id']}", body)
    if "<style" in body:
        opening = opening.replace("<svg", f'<svg id="{prefix}svg"', 1)
    return themed(_NAMESPACE.sub("", opening + body))


def _number(size: str) -> str:
    return re.sub(r"[^\d.]", "", size) or "100"


def _pixels(size: str) -> str:
    """A width of SVG as CSS has it: matplotlib's points are 4/3 pixels."""
    if size.endswith("pt"):
        return f"{float(size[:-2]) * 4 / 3:.6g}px"
    return f"{size}px" if re.fullmatch(r"[\d.]+", size) else size


def themed(svg: str) -> str:
    """The colours of paper, ink and greys as variables of the theme, with the colour itself where there are none."""

    def variable(match: re.Match[str]) -> str:
        colour = match["colour"].lower()
        name = VARIABLES.get(_SHORT.get(colour, colour))
        return f"{match['before']}var({name}, {match['colour']})" if name else match[0]

    return _COLOUR.sub(variable, svg)
