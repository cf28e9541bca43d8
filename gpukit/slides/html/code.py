"""Code, changes and output as HTML: coloured by Pygments, a line of text a line of HTML, marks that do not rest on
colour."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES, Token
from pygments.util import ClassNotFound

PREFIX = "hl-"  # Pygments' own classes are one letter long, and so would meet the theme's
LEXERS = {"cpp": "cuda", "cu": "cuda"}
PLAIN = frozenset({"", "n", "p", "w"})  # names, punctuation and blanks keep the colour of the text
NAMES = {"python": "Python", "cpp": "CUDA C++", "text": "Output", "toml": "TOML", "console": "Commands"}
_INFO = re.compile(r"(?P<language>[\w+-]*)(?P<rest>.*)")
_ATTRIBUTE = re.compile(r"(?P<key>\w+)=(?P<value>[\w,+-]+)")


def fence(content: str, info: str) -> str:
    """A fenced block as HTML.

    `info` is the text behind the fence: "python mark=2,4-5", "diff of=python mark=3", "text". Lines are counted from 1
    in the fence. The characters of the code are all there, in their lines and columns.
    """
    match = _INFO.match(info.strip())
    assert match is not None  # all parts may be empty
    language = match["language"]
    options = dict(_ATTRIBUTE.findall(match["rest"]))
    marked = line_numbers(options.get("mark", ""))
    lines = content.removesuffix("\n").split("\n")
    if language == "diff":
        name = f"A change in {NAMES.get(options.get('of', ''), 'code')}: lines with - are taken away, with + put in"
        rows = _changed(lines, options.get("of", "text"), marked)
        return _figure("diff", name, rows)
    if language in ("", "text", "console"):
        rows = (_row(_output(line), number in marked) for number, line in enumerate(lines, 1))
        return _figure("output", NAMES["text"], rows)
    rows = (_row(line, number in marked) for number, line in enumerate(coloured(lines, language), 1))
    return _figure("code", NAMES.get(language, language), rows)


def line_numbers(text: str) -> frozenset[int]:
    """ "2,4-6" -> {2, 4, 5, 6}."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal():
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def coloured(lines: list[str], language: str) -> list[str]:
    """Each line of a source as HTML. A token of several lines is opened and closed in each."""
    done = [""]
    # A comment to the end of the line needs that end, in the last line too.
    for kind, value in _lexer(language).get_tokens("\n".join(lines) + "\n"):
        css = _css_class(kind)
        for number, piece in enumerate(value.split("\n")):
            if number:
                done.append("")
            if piece:
                text = escape(piece, quote=False)
                done[-1] += f'<span class="{PREFIX}{css}">{text}</span>' if css not in PLAIN else text
    return done[: len(lines)] + [""] * (len(lines) - len(done))


def _lexer(language: str) -> Lexer:
    # Blanks at the ends belong to the code: without these two Pygments takes them away.
    options = {"stripnl": False, "ensurenl": False}
    try:
        return get_lexer_by_name(LEXERS.get(language, language), **options)
    except ClassNotFound:
        return get_lexer_by_name("text", **options)


def _css_class(kind: object) -> str:
    """ "k" for a keyword of any sort, "mi" for an integer: Pygments' short name, of the nearest kind that has one."""
    while kind not in STANDARD_TYPES and kind is not Token:
        kind = kind.parent  # type: ignore[attr-defined]
    return STANDARD_TYPES[kind]


def _changed(lines: list[str], language: str, marked: frozenset[int]) -> Iterable[str]:
    """The rows of a diff. The old and the new text are coloured as a whole each, so that a string of several lines is
    one in both."""
    old = iter(coloured([line[1:] for line in lines if line[:1] != "+"], language))
    new = iter(coloured([line[1:] for line in lines if line[:1] != "-"], language))
    for number, line in enumerate(lines, 1):
        sign = line[:1]
        if sign == "-":
            yield f'<del class="line"><b>-</b>{next(old)}\n</del>'
        elif sign == "+":
            next_line = next(new)
            yield f'<ins class="line"><b>+</b>{next_line}\n</ins>'
        else:
            next(old)
            yield _row((sign or "") + next(new), number in marked)


def _output(line: str) -> str:
    """A line of output; the command that made it begins with "$ "."""
    text = escape(line, quote=False)
    return f'<b class="command">{text}</b>' if line.startswith("$ ") else text


def _row(html: str, marked: bool) -> str:
    return f'<mark class="line">{html}\n</mark>' if marked else f'<span class="line">{html}\n</span>'


def _figure(kind: str, name: str, rows: Iterable[str]) -> str:
    return f'<figure class="{kind}" aria-label="{escape(name)}"><pre><code>{"".join(rows)}</code></pre></figure>\n'
