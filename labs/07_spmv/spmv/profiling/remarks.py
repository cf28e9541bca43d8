"""What the counters of each way say against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import products
from ..formats import Csr
from .model import Counted, sectors

LANES = 32  # of a warp
FEW_LANES = 0.6  # of a warp
MUCH_PADDING = 1.25  # slots per entry
MANY = 1.5  # times as many as the best


def remark(found: Sequence[Counted], csr: Csr) -> None:
    """Write what each way's counters say against it, beside the best of the same language."""
    for language in dict.fromkeys(one.language for one in found):
        own = [one for one in found if one.language == language and one.counters]
        for one in own:
            one.remarks = list(_remarks(one, own, csr))


def _remarks(one: Counted, all_ways: Sequence[Counted], csr: Csr) -> Iterator[str]:
    active = one.counters["active_lanes_per_instruction"]
    if active < FEW_LANES * LANES:
        yield f"{active:.1f} of {LANES} lanes work"
    best = min(all_ways, key=lambda other: sectors(other.counters))
    times = sectors(one.counters) / max(sectors(best.counters), 1)
    if times > MANY:
        yield f"{times:.1f} times the sectors of {best.way}"
    best = min(all_ways, key=lambda other: other.counters["warp_instructions"])
    times = one.counters["warp_instructions"] / max(best.counters["warp_instructions"], 1)
    if times > MANY:
        yield f"{times:.1f} times the warp instructions of {best.way}"
    if one.slots > MUCH_PADDING:
        yield f"{one.slots:,.1f} slots for each entry"
    steps, mean = longest_walk(csr, one.way, one.options), csr.nnz / max(csr.rows, 1)
    if steps > 1024 and steps > 64 * mean:
        yield f"one lane takes {steps:,} steps, which no other work hides"


def longest_walk(csr: Csr, way: str, options: dict[str, Any]) -> int:
    """Steps of the lane that takes the most; 0 for ways that bound them by themselves."""
    lanes = products.lanes_of_a_row(way, csr, options)
    return -(-int(csr.lengths.max(initial=0)) // lanes) if lanes else 0
