"""Which ways are measured, with which options, and which of them nobody wants to wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from .. import products
from ..errors import MatrixError
from ..formats import ell
from ..formats.arrays import Array
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


def too_much(variant: Variant, lengths: Array, timed: bool) -> str:
    """Why nobody wants to wait for a variant on rows of these lengths; "" if one may. What is `timed` must be a
    competitor; what is counted on the CPU machine, small enough."""
    longest, nnz = (int(lengths.max()), int(lengths.sum())) if lengths.size else (0, 0)
    options = dict(variant.options)
    slots = nnz
    if variant.way == "ell":
        slots = longest * int(lengths.size)
    elif variant.way == "sliced_ell":
        slots = ell.slots_of(lengths, int(options.get("height", 32)), int(options.get("sigma", 1)))
    if not timed:
        return f"{slots:,} slots are too many for the CPU machine" if slots > MOST_SLOTS else ""
    lanes = {"csr_thread": 1, "ell": 1, "sliced_ell": 1, "csr_warp": 32, "csr_subwarp": int(options.get("lanes", 2))}
    walked = too_long(longest, lanes[variant.way]) if variant.way in lanes else ""
    return walked or too_padded(nnz, slots)
