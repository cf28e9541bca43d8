"""How long an answer takes on a GPU beside the reference: information, never a mark.

The two take turns, so that whatever else the GPU does falls on both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from gpukit.timing import benchmark, in_units

ROUNDS, REPEATS = 9, 3  # a round has that many repeats of each


@dataclass(frozen=True)
class Times:
    """Seconds of one launch, medians of ROUNDS x REPEATS repeats. `reference` is None where there is no solution."""

    test: str
    call: str
    seconds: float
    reference: float | None = None
    bytes_moved: int | None = None

    def __str__(self) -> str:
        text = f"{self.call}: {in_units(self.seconds)}"
        if self.bytes_moved:
            text += f", {self.bytes_moved / self.seconds / 1e9:,.0f} GB/s"
        if self.reference:
            text += f"; the reference {in_units(self.reference)}, {self.seconds / self.reference:.2f} times as long"
        return text


def take_turns(calls: Mapping[str, Callable[[], None]], restore: Callable[[], None] | None) -> dict[str, float]:
    """The median seconds of each call on the GPU. `restore` is called before every call, and is not timed."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(ROUNDS):
        # The one that begins is another in every round: it finds what the other has left in the caches.
        order = list(calls) if turn % 2 == 0 else list(calls)[::-1]
        for name in order:
            warmup = 2 if turn == 0 else 0
            timing = benchmark(calls[name], machine="gpu", repeats=REPEATS, warmup=warmup, restore=restore, name=name)
            seconds[name] += timing.seconds
    return {name: float(np.median(found)) for name, found in seconds.items()}
