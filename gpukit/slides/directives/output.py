"""`output`: a command of gpukit, carried out while the slides are built, and what it prints."""

from __future__ import annotations

import shlex

from gpukit.errors import GpukitError
from gpukit.slides.directives import Directive, Page
from gpukit.slides.directives.code import WIDEST, chosen, fence, marked


def expand(it: Directive, page: Page) -> str:
    """A fence with the command as one types it, and the chosen lines of its output."""
    it.allow("from", "to", "mark", "shown")
    words = shlex.split(it.target)
    if words[:1] != ["gpukit"]:
        raise it.error(f"`output` shows commands of gpukit, not {it.target!r}")
    try:
        printed = page.run(words[1:])
    except GpukitError as error:
        raise it.error(f"the command failed: {error}") from error
    lines = chosen(printed.rstrip().splitlines(), it)
    while lines and not lines[0].strip():
        lines = lines[1:]
    if max(map(len, lines), default=0) > WIDEST:
        raise it.error(f"this command prints lines of more than {WIDEST} characters, which a slide has no room for")
    shown = f"$ {it.attributes.get('shown', it.target)}"
    return fence([shown, *lines], "text", [number + 1 for number in marked(lines, it)], it)
