"""Markdown -> HTML blocks: what slides, notes and the labs' pages have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping, Sequence
from html import escape
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from gpukit.slides.errors import SlidesError
from gpukit.slides.html import code

Block = list[Token]
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_DECK = re.compile(r"(?:\./)?(?P<name>\d\d_\w+)\.md(?P<anchor>#\S+)?")
_NAMESPACE = re.compile(r' xmlns="[^"]*"')


class Writer:
    """Reads Markdown and writes HTML. `image` gives the HTML of an image: (address, alt) -> HTML."""

    def __init__(self, image: Callable[[str, str], str] | None = None):
        self._image = image
        self._md = MarkdownIt("commonmark").enable("table")
        self._md.use(dollarmath_plugin, allow_space=False, allow_digits=False, renderer=_math)
        renderer = self._md.renderer
        assert isinstance(renderer, RendererHTML)
        self._renderer = renderer
        rules: dict[str, Any] = {  # functions will do, whatever markdown-it-py says of their type
            "fence": self._fence,
            "code_block": self._code_block,
            "image": self._picture,
            "html_block": _html,
            "html_inline": _html,
            "table_open": lambda *_: '<div class="table"><table>\n',
            "table_close": lambda *_: "</table></div>\n",
            "raw": lambda tokens, i, *_: tokens[i].content,
        }
        renderer.rules.update(rules)

    def blocks(self, text: str) -> list[Block]:
        """The blocks of a text, each as the tokens of markdown-it, with addresses as the built pages have them."""
        found: list[Block] = []
        depth = 0
        for token in self._md.parse(text):
            if depth == 0:
                found.append([])
            found[-1].append(token)
            depth += token.nesting
            for child in token.children or ():
                if child.type == "link_open":
                    _link(child)
        for block in found:
            _headers(block)
        return found

    def html(self, blocks: Sequence[Block]) -> str:
        tokens = [token for block in blocks for token in block]
        return self._renderer.render(tokens, self._md.options, {})

    def text(self, markdown: str) -> str:
        """A whole text."""
        return self.html(self.blocks(markdown))

    def inline(self, markdown: str) -> str:
        """A line of text, without a paragraph around it."""
        return self._md.renderInline(markdown)

    def _fence(self, tokens: Sequence[Token], i: int, *_: Any) -> str:
        return code.fence(tokens[i].content, tokens[i].info)

    def _code_block(self, tokens: Sequence[Token], i: int, *_: Any) -> str:
        return code.fence(tokens[i].content, "")

    def _picture(self, tokens: Sequence[Token], i: int, options: Any, env: MutableMapping) -> str:
        token = tokens[i]
        alt = self._renderer.renderInlineAsText(token.children, options, env)
        if self._image is None:
            return escape(alt)
        return self._image(str(token.attrs["src"]), alt)


def raw(html: str) -> Token:
    """A token that is written as it is."""
    return Token("raw", "", 0, content=html)


def comment(block: Block) -> str | None:
    """What a block says that is a comment and nothing else."""
    if len(block) == 1 and block[0].type == "html_block":
        found = _COMMENT.fullmatch(block[0].content.strip())
        return found[0][4:-3].strip() if found else None
    return None


def _html(tokens: Sequence[Token], i: int, *_: Any) -> str:
    """Comments are not shown; other HTML is shown as text, for Markdown is all that a deck may hold."""
    return escape(_COMMENT.sub("", tokens[i].content).strip())


def _link(token: Token) -> None:
    """Decks link to each other's files, and are read as pages. Links say what they lead to by their class."""
    address = str(token.attrs.get("href", ""))
    if deck := _DECK.fullmatch(address):
        token.attrSet("href", f"{deck['name']}.html{deck['anchor'] or ''}")
    elif address.startswith("lab.html"):
        token.attrSet("class", "cell")
    elif address.startswith("lab_"):
        token.attrSet("class", "lab")
    elif "://" in address:
        token.attrSet("rel", "noreferrer")


def _headers(block: Block) -> None:
    """An empty cell above a column is no header: nobody could say of what."""
    for begin, text, end in zip(block, block[1:], block[2:], strict=False):
        if begin.type == "th_open" and not text.content:
            begin.tag = end.tag = "td"


def _math(content: str, options: dict[str, Any]) -> str:
    """TeX as MathML, which browsers set by themselves and screen readers read."""
    try:
        made = convert(content, display="block" if options.get("display_mode") else "inline")
    except Exception as error:  # latex2mathml has no common base for what it raises
        raise SlidesError(f"the formula ${content}$ cannot be read: {error}") from None
    return _NAMESPACE.sub("", made)
