"""Questions to the room: the options of a slide become buttons of which a reader marks one."""

from __future__ import annotations

from html import escape

from markdown_it.token import Token

from gpukit.slides.html.markdown import Block, Writer, raw

# What ends so is a question or a sentence to answer, and no option among which one chooses.
QUESTION = (".", "?", ":")


def with_polls(blocks: list[Block], kind: str, name: str, writer: Writer) -> list[Block]:
    """The blocks of a slide of kind predict or check, with lists of options as groups of radio buttons.

    Numbered lists are options; where there is none, the others are. On a check slide a list of questions stays one,
    and options may stand below each question. `name` tells this slide's buttons from others'.
    """
    tokens = [token for block in blocks for token in block]
    lists = [found for found in _lists(tokens) if _is_leaf(tokens, *found)]
    if kind == "check":
        lists = [found for found in lists if not _asks(tokens, *found)]
    numbered = [found for found in lists if tokens[found[0]].type == "ordered_list_open"]
    chosen = numbered or lists
    return [_replaced(block, [tokens[first] for first, _ in chosen], name, writer) for block in blocks]


def _lists(tokens: Block) -> list[tuple[int, int]]:
    """Where lists begin and end."""
    found, begun = [], []
    for i, token in enumerate(tokens):
        if token.type in ("ordered_list_open", "bullet_list_open"):
            begun.append(i)
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            found.append((begun.pop(), i))
    return found


def _is_leaf(tokens: Block, first: int, last: int) -> bool:
    """Whether each item is a line of text, and nothing else."""
    inside = {"list_item_open", "list_item_close", "paragraph_open", "paragraph_close", "inline"}
    return all(token.type in inside for token in tokens[first + 1 : last])


def _asks(tokens: Block, first: int, last: int) -> bool:
    return any(token.content.rstrip().endswith(QUESTION) for token in tokens[first:last] if token.type == "inline")


def _replaced(block: Block, lists: list[Token], name: str, writer: Writer) -> Block:
    done: Block = []
    i = 0
    while i < len(block):
        number = next((n for n, each in enumerate(lists, 1) if each is block[i]), 0)
        if number:
            last = next(end for first, end in _lists(block) if first == i)
            done.append(raw(_poll(block[i : last + 1], f"{name}-{number}", writer)))
            i = last
        else:
            done.append(block[i])
        i += 1
    return done


def _poll(block: Block, name: str, writer: Writer) -> str:
    numbered = block[0].type == "ordered_list_open"
    start = int(block[0].attrGet("start") or 1)
    rows = []
    for number, token in enumerate([token for token in block if token.type == "inline"]):
        sign = str(start + number) if numbered else chr(ord("A") + number)
        rows.append(
            f'<label><input type="radio" name="{escape(name)}" value="{sign}" autocomplete="off">'
            f"<b>{sign}</b><span>{writer.inline(token.content)}</span></label>"
        )
    return "\n".join(['<fieldset class="poll"><legend class="sr">What do you say?</legend>', *rows, "</fieldset>\n"])
