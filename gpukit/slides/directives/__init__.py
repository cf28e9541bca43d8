"""What a comment in a deck is replaced by. One module a kind; its name is the directive's, and `expand` carries it out.

code      a function of a .py file or a kernel of a .cu file
fig       a figure, drawn by a function
stepper   a recorded trace of the machine to step through
number    a value of a recording, or one that a function counts
table     rows of such values
output    a command of gpukit, and what it prints
cell      a link to a live cell
lab       a link to a lab's task
covers    which rows of the curriculum the slide teaches
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpukit.registry import nearest
from gpukit.slides import objects, recordings
from gpukit.slides.errors import SlidesError
from gpukit.slides.model import Asset
from gpukit.slides.recordings import Source

_ATTRIBUTE = re.compile(r"\s(?P<name>[a-z]+)=\"(?P<value>[^\"]*)\"\s*\Z")


@dataclass
class Page:
    """The slide that is being made: what its directives may look up, and what they leave.

    root: the repository's root. run: carries out a command of gpukit, given its words, and returns what it prints.
    """

    root: Path
    deck: str
    results: Mapping[str, str]
    run: Callable[[list[str]], str]
    assets: dict[str, Asset]
    sources: list[Source] = field(default_factory=list)
    covers: list[str] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    labs: list[str] = field(default_factory=list)
    counted: bool = False  # the last call read no recording

    def call(self, target: str) -> Any:
        """What a function of slides/ returns; the recordings that it reads are sources of this slide."""
        function = objects.function(self.root, target)  # before `reading`: a file is imported once, for all slides
        with recordings.reading(self.root) as sources:
            found = objects.call(function, target)
        for source in sources:
            self.add_source(source)
        self.counted = not sources
        return found

    def add_source(self, source: Source) -> None:
        if source not in self.sources:
            self.sources.append(source)


@dataclass(frozen=True)
class Directive:
    """`<!-- name: target attribute="value" -->`. Its errors name the deck's file and line."""

    name: str
    target: str
    attributes: Mapping[str, str]
    file: str
    line: int

    def error(self, message: str) -> SlidesError:
        return SlidesError(message, file=self.file, line=self.line)

    def allow(self, *names: str) -> None:
        """Refuse attributes that this directive has not, and an empty target."""
        for name in self.attributes:
            if name not in names:
                may = ", ".join(names) or "none"
                raise self.error(f"`{self.name}` has no attribute {name}{nearest(name, names)}; it may have: {may}")
        if not self.target:
            raise self.error(f"`{self.name}:` says nothing: name what it shows")


def directive(text: str, name: str, file: str, line: int) -> Directive:
    """The directive `name` that a comment holds."""
    rest = " " + " ".join(text.split()).removeprefix(f"{name}:").strip()
    attributes: dict[str, str] = {}
    while found := _ATTRIBUTE.search(rest):
        attributes[found["name"]] = found["value"]
        rest = rest[: found.start()]
    return Directive(name, rest.strip(), dict(reversed(attributes.items())), file, line)
