"""A deck when its directives have been carried out: plain data that every renderer and check reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = ("title", "question", "predict", "run", "picture", "why", "fix", "row", "exercise", "check", "text")
# Classes beside the kind.
LIVE = "lab.html"  # the page of live cells
COLUMNS = "columns"  # the first block left, the rest right
LARGE = "large"  # little text, in larger letters


def page_of_lab(name: str) -> str:
    """The page of a lab, by the name of its folder."""
    return f"lab_{name}.html"


@dataclass(frozen=True)
class Asset:
    """A picture: its SVG, what it shows in words, and the data of a stepper that plays it, if there is one."""

    svg: str
    alt: str
    player: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Slide:
    """One slide as Marp Markdown. `number` is 1 for the first; `line` is where it begins in the deck's file.

    classes: its kind first. notes: what the speaker says, without the minutes; `answer`: what they say after
    "Answer:", or nothing. covers: rows of slides/curriculum.toml. sources: where its numbers are from, in words.
    """

    number: int
    line: int
    classes: tuple[str, ...]
    heading: str
    markdown: str
    notes: str
    minutes: float
    answer: str = ""
    covers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    labs: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.classes[0]


@dataclass(frozen=True)
class Deck:
    """A deck: `path` of its file, `name` ("04_coalescing"), front matter, slides, and pictures by their file's name."""

    path: Path
    name: str
    meta: Mapping[str, str]
    slides: tuple[Slide, ...]
    assets: Mapping[str, Asset] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return self.meta["title"]

    @property
    def minutes(self) -> float:
        return sum(slide.minutes for slide in self.slides)

    def markdown(self, style: str = "") -> str:
        """The whole deck as Marp Markdown, with `style` (CSS for Marp) in its front matter."""
        front = [f"{key}: {_yaml(value)}" for key, value in self.meta.items() if key in MARP_KEYS]
        if style:
            front += ["style: |", *(f"  {line}".rstrip() for line in style.splitlines())]
        slides = "\n\n---\n\n".join(slide.markdown for slide in self.slides)
        return "\n".join(["---", *front, "---", "", slides, ""])


MARP_KEYS = ("marp", "title", "description", "paginate", "math", "theme", "size")


def _yaml(value: str) -> str:
    plain = value in ("true", "false") or value.replace("_", "").isalnum()
    return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
