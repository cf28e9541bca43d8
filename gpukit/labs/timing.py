"""How long an answer takes on a GPU beside the reference: information, never a mark.

The two take turns, so that whatever else the GPU does falls on both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpukit.timing import Timing, benchmark, in_units

ROUNDS, REPEATS = 15, 5  # a round has that many repeats of each
# A GPU that had nothing to do raises its clocks within the first tenths of a second.
WARM_CALLS, WARM_SECONDS = 10_000, 0.3


@dataclass(frozen=True)
class Times:
    """One launch, ROUNDS x REPEATS repeats. `reference` is None where there is no solution."""

    test: str
    call: str
    answer: Timing
    reference: Timing | None = None

    def __str__(self) -> str:
        text = f"{self.call}: {in_units(self.answer.median)}"
        if self.answer.bandwidth_gb_s:
            text += f", {self.answer.bandwidth_gb_s:,.0f} GB/s"
        if self.reference:
            ratio = self.reference.speedup_over(self.answer)
            told = f"{ratio:.2f} times as long" if self.answer.differs_from(self.reference) else "no difference"
            text += f"; the reference {in_units(self.reference.median)}: {told}"
        return text


def take_turns(
    calls: Mapping[str, Callable[[], None]], restore: Callable[[], None] | None, bytes_moved: int | None
) -> dict[str, Timing]:
    """The times of each call on the GPU. `restore` is called before every call, and is not timed."""

    def timed(name: str, repeats: int, warmup: int, max_seconds: float) -> Timing:
        return benchmark(
            calls[name],
            machine="gpu",
            repeats=repeats,
            warmup=warmup,
            max_seconds=max_seconds,
            restore=restore,
            bytes_moved=bytes_moved,
            name=name,
        )

    for name in calls:
        timed(name, repeats=1, warmup=WARM_CALLS, max_seconds=WARM_SECONDS)
    found: dict[str, Timing] = {}
    for turn in range(ROUNDS):
        # The one that begins is another in every round: it finds what the other has left in the caches.
        for name in list(calls) if turn % 2 == 0 else list(calls)[::-1]:
            made = timed(name, repeats=REPEATS, warmup=0, max_seconds=5.0)
            before = found[name].seconds if name in found else ()
            found[name] = replace(made, seconds=(*before, *made.seconds))
    return found
