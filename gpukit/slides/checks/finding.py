"""What a check says: where, and what is wrong there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpukit.slides.model import Deck, Slide


@dataclass(frozen=True, order=True)
class Finding:
    """One sentence about a line of a file; line 0 is the file as a whole."""

    file: Path
    line: int
    sentence: str

    def shown(self, root: Path) -> str:
        """As a line of output: slides/04_coalescing.md:123: what is wrong."""
        file = self.file.relative_to(root) if self.file.is_relative_to(root) else self.file
        return f"{file.as_posix()}:{self.line}: {self.sentence}" if self.line else f"{file.as_posix()}: {self.sentence}"


def on(deck: Deck, slide: Slide, sentence: str) -> Finding:
    """A finding about a slide, at the line of the deck's file that it begins at."""
    return Finding(deck.path, slide.line, f"slide {slide.number} ({slide.heading}): {sentence}")


def about(deck: Deck, sentence: str) -> Finding:
    """A finding about a deck as a whole."""
    return Finding(deck.path, 0, sentence)
