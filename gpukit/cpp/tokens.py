"""C++ as tokens: enough of it to find functions and their parameters, with macros left as they stand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

WORD, NUMBER, STRING, PUNCTUATION, DIRECTIVE = "word", "number", "string", "punctuation", "directive"

_PATTERN = re.compile(
    r"""
      (?P<comment>   //(?:[^\n\\]|\\.|\\\n)*  |  /\*.*?(?:\*/|\Z) )
    | (?P<directive> (?:(?<=\n)|\A)[ \t]*\#(?:[^\n\\/]|\\.|\\\n|/\*.*?\*/|/(?![/*]))* )
    | (?P<raw>       (?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)" )
    | (?P<string>    (?:u8|[uUL])?"(?:[^"\\\n]|\\.|\\\n)*"  |  (?:u8|[uUL])?'(?:[^'\\\n]|\\.)+' )
    | (?P<word>      [A-Za-z_$]\w* )
    | (?P<number>    \.?\d(?:[eEpP][+-]|'\w|[\w.])* )
    | (?P<punctuation> ::|->|\.\.\.|<<<|>>>|[^\s\w] )
    """,
    re.DOTALL | re.VERBOSE,
)

OPENING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Token:
    """`start` and `end` are positions in the text; `kind` is one of the names above."""

    kind: str
    text: str
    start: int
    end: int


def tokens(code: str) -> list[Token]:
    """The tokens of C++ text, without comments. A preprocessor directive is one token. Of `#if ... #else ... #endif`
    only the first branch is kept (of `#if 0` the second), so that brackets match."""
    return list(_first_branches(_all(code)))


def directives(code: str) -> list[Token]:
    """The preprocessor directives of C++ text, those of all branches."""
    return [token for token in _all(code) if token.kind == DIRECTIVE]


_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^)\n]*\))?[ \t]+((?:[^\\\n]|\\.|\\\n)*)", re.MULTILINE)


def macros_of(texts: Iterable[str], words: Collection[str]) -> dict[str, str]:
    """Name -> text of the macros that stand for one of `words`, by themselves or through another macro."""
    known = {name: body for text in texts for name, body in _DEFINITION.findall(text)}
    found: dict[str, str] = {}
    wanted = set(words)
    while True:
        new = {n: b for n, b in known.items() if n not in found and not wanted.isdisjoint(re.findall(r"\w+", b))}
        if not new:
            return found
        found |= new
        wanted |= set(new)


def _all(code: str) -> Iterator[Token]:
    for found in _PATTERN.finditer(code):
        kind = found.lastgroup or ""
        if kind == "fence":
            kind = "raw"
        if kind != "comment":
            yield Token(STRING if kind == "raw" else kind, found.group(), found.start(), found.end())


_CONDITION = re.compile(r"\s*#\s*(\w+)\s*(.*)", re.DOTALL)


def _first_branches(items: Iterator[Token]) -> Iterator[Token]:
    open_conditions: list[tuple[bool, bool]] = []  # (this branch is kept, one was kept already)
    for token in items:
        found = _CONDITION.match(token.text) if token.kind == DIRECTIVE else None
        word = found[1] if found else ""
        if word in ("if", "ifdef", "ifndef"):
            kept = not (found and word == "if" and found[2].strip() in ("0", "false"))
            open_conditions.append((kept, kept))
        elif word in ("else", "elif", "elifdef", "elifndef") and open_conditions:
            done = open_conditions[-1][1]
            open_conditions[-1] = (not done, True)
        elif word == "endif" and open_conditions:
            open_conditions.pop()
        elif all(kept for kept, _ in open_conditions):
            yield token


def group_end(items: Sequence[Token], start: int) -> int:
    """Index behind the bracket that closes the one at `start`; the end of the text if nothing does."""
    stack = []
    for i in range(start, len(items)):
        text = items[i].text
        if items[i].kind == PUNCTUATION:
            if text in OPENING:
                stack.append(OPENING[text])
            elif stack and text == stack[-1]:
                stack.pop()
                if not stack:
                    return i + 1
    return len(items)


def angle_end(items: Sequence[Token], start: int) -> int:
    """Index behind the `>` that closes the `<` at `start`; `start` itself if that is no template bracket."""
    depth = 0
    i = start
    while i < len(items):
        text = items[i].text
        if text in OPENING:
            i = group_end(items, i)
            continue
        if text == "<":
            depth += 1
        elif text in (">", ">>>"):
            depth -= len(text)
            if depth <= 0:
                return i + 1
        elif text in (";", "}", ")", "<<<"):
            return start
        i += 1
    return start
