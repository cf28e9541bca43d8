"""Which ways are measured, with which options, and which of them nobody wants to wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from .. import products
from ..errors import MatrixError
from ..formats import Csr, ell
from ..libraries.references import too_long, too_padded

MOST_SLOTS = 4_000_000  # of a padded format on the CPU machine: two seconds


@dataclass(frozen=True)
class Variant:
    """A way with its options; `key` is how tables and records call it."""

    way: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.way}({told})" if told else self.way

    def without_defaults(self) -> Variant:
        """The same without options that have the value they have anyway."""
        way = products.WAYS[self.way]
        known = {**signature(way.launches).parameters, **signature(way.convert).parameters}
        return Variant(self.way, {name: value for name, value in self.options.items() if value != known[name].default})


# Every way as it comes, and those options that make another kernel of it.
VARIANTS = (
    Variant("csr_thread"),
    Variant("csr_warp"),
    *(Variant("csr_subwarp", {"lanes": lanes}) for lanes in (2, 4, 8, 16)),
    Variant("ell"),
    Variant("sliced_ell"),
    Variant("sliced_ell", {"sigma": 256}),
    Variant("hybrid"),
    Variant("merge_path"),
)


def variants(ways: Sequence[str] = ()) -> list[Variant]:
    """The variants of these ways, or of all. Raises MatrixError for a way that there is not."""
    for way in ways:
        if way not in products.WAYS:
            raise MatrixError(f"there is no way {way!r} to multiply; choose one of: {', '.join(products.WAYS)}")
    return [one for one in VARIANTS if one.way in products.WAYS and (not ways or one.way in ways)]


def too_much(variant: Variant, csr: Csr, timed: bool) -> str:
    """Why nobody wants to wait for a variant on a matrix; "" if one may. What is `timed` must be a
    competitor; what is counted on the CPU machine, small enough."""
    longest = int(csr.lengths.max()) if csr.rows else 0
    options, slots = variant.options, csr.nnz
    if variant.way == "ell":
        slots = ell.ell_slots(csr.lengths)
    elif variant.way == "sliced_ell":
        slots = ell.slots_of(csr.lengths, options.get("height", 32), options.get("sigma", 1))
    if not timed:
        return f"{slots:,} slots are too many for the CPU machine" if slots > MOST_SLOTS else ""
    lanes = products.lanes_of_a_row(variant.way, csr, options)
    return (too_long(longest, lanes) if lanes else "") or too_padded(csr.nnz, slots)
