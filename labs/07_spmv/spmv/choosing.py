"""Which way to multiply a matrix, from one pass over its row pointer and the first column of every row, and why.

On an H200 the hybrid as chosen here was the fastest of our ways, or within 4 % of it, on each of 36 matrices
(data/results/spmv_h200.json), so what is left to choose is whether a conversion pays at all, how many lanes rows get,
and whether sorting them is worth what it costs in locality.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .formats import Csr, ell
from .formats.arrays import Array
from .formats.hybrid import LANES, MOST_ROWS, least_share, slots_of
from .products import lanes_for

# Products after which choosing and converting have paid for themselves over the best kernel for CSR, on an H200: 1,113
# in the median of 36 matrices, 33 to 661 where that kernel is merge path (data/results/spmv_h200.json).
PAYS_AFTER, PAYS_AFTER_IF_SKEWED = 1000, 300
# Warps that keep a GPU of 132 multiprocessors busy: fewer slices than that, and rows get more lanes.
WARPS = 132 * 40
STEPS = (32, 16, 8)
# Padding that costs less than sorting does, as a part of the slots, and in slots per row: sorted rows need a map to
# their places, write y here and there, and read x from farther apart.
LITTLE_PADDING = 0.05
FEW_SLOTS = 2
# Rows sorted together: enough to even them out, few enough for their part of x and y to stay in the L2 cache.
SIGMA = 16384
SHORT = 4  # entries of a mean row that one thread takes
# Rows that are even enough for a warp to share its lanes among them: the longest, in means.
EVEN = 16
# What is said against the others: entries between lanes that matter, a part of the lanes that is as good as all, and
# slots for each entry that are as good as one.
APART, BUSY, FITS = 1.5, 0.9, 1.25


@dataclass(frozen=True)
class Choice:
    """way, options: what `products.product` takes. why: a sentence. rejected: why not, by way. seconds: it took."""

    way: str
    options: dict[str, Any]
    why: str
    rejected: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


def choose_format(csr: Csr, products: int | None = None) -> Choice:
    """The way to multiply this matrix, on the device where it lies.

    products: how many the matrix is used for; None for more than a conversion takes to pay.
    """
    began = time.perf_counter()
    lengths = csr.lengths
    rows, nnz = csr.rows, csr.nnz
    longest = int(lengths.max()) if rows else 0
    mean = nnz / rows if rows else 0.0
    if not nnz:
        made = Choice("csr_thread", {}, "there is no entry, so that every way only scales y")
    elif products is not None and products < _pays_after(mean, longest):
        made = _without_conversion(csr, products, mean, longest)
    else:
        made = _hybrid(csr, lengths, mean, longest)
    if nnz:
        made.rejected.update(_rejected(csr, mean, longest, made))
    return Choice(made.way, made.options, made.why, made.rejected, time.perf_counter() - began)


def _is_skewed(mean: float, longest: int) -> bool:
    return longest > EVEN * max(mean, LANES)


def _pays_after(mean: float, longest: int) -> int:
    return PAYS_AFTER_IF_SKEWED if _is_skewed(mean, longest) else PAYS_AFTER


def _without_conversion(csr: Csr, products: int, mean: float, longest: int) -> Choice:
    few = f"a conversion pays after some {_pays_after(mean, longest):,} products, and there are {products:,}"
    if _is_skewed(mean, longest):
        return Choice(
            "merge_path",
            {},
            f"{few}; the longest row has {longest:,} entries and the mean one {mean:.1f}, so threads get equal parts",
        )
    if mean <= SHORT:
        return Choice("csr_thread", {}, f"{few}; a row has {mean:.1f} entries on average, and one thread is enough")
    lanes = lanes_for(csr)
    return Choice(
        "csr_subwarp", {"lanes": lanes}, f"{few}; a row has {mean:.1f} entries on average, and gets {lanes} lanes"
    )


def _hybrid(csr: Csr, lengths: Array, mean: float, longest: int) -> Choice:
    rows, nnz = csr.rows, csr.nnz
    steps = next((steps for steps in STEPS if nnz >= WARPS * LANES * steps), STEPS[-1])
    least = least_share(csr, 1)
    slots = slots_of(lengths, steps, 1, least)
    padding = 1 - nnz / slots
    sigma = 1
    order = f"{padding:.0%} padding in the order they have"
    if padding > LITTLE_PADDING and slots - nnz > FEW_SLOTS * rows and rows > MOST_ROWS:
        sigma = min(SIGMA, rows)
        least = least_share(csr, sigma)
        left = 1 - nnz / slots_of(lengths, steps, sigma, least)
        order = f"{left:.0%} padding with {sigma:,} rows sorted together, {order}"
    share = {1: "two lanes at least", 0: "one lane at least", -1: "half a lane", -2: "a quarter of a lane"}
    if rows < MOST_ROWS and padding > LITTLE_PADDING:
        order += ", since so few rows do not fill a slice"
    cut = f"; the longest row, {longest:,} entries, is cut into pieces" if longest > LANES * steps else ""
    why = (
        f"rows of {mean:.1f} entries on average get lanes so that none takes more than {steps} steps, the shortest "
        f"{share[least]}; {order}{cut}"
    )
    return Choice("hybrid", {"steps": steps, "sigma": sigma, "least": least}, why)


def _rejected(csr: Csr, mean: float, longest: int, made: Choice) -> dict[str, str]:
    """Why not the others, by what their warps would do and what they would read."""
    lengths, nnz, way = csr.lengths, csr.nnz, made.way
    slots = ell.slots_of(lengths, LANES)  # what the lanes of one thread per row wait for, too
    warps = int((-(-lengths.astype(np.int64) // LANES)).sum())
    reasons = {
        "csr_thread": _against_thread(mean, nnz / slots),
        "csr_warp": _against_warp(mean, longest, nnz / (LANES * warps), made),
        "csr_subwarp": _against_subwarp(mean, way),
        "ell": _against_padding(
            csr, ell.ell_slots(lengths) / nnz, f"every row is as wide as the longest, {longest:,}", made
        ),
        "sliced_ell": _against_padding(csr, slots / nnz, "every row is as wide as the longest of 32", made),
        "merge_path": "every thread searches for its start first, and a second launch adds what rows are still lacking",
        "hybrid": f"its conversion takes some hundred products' time and pays after {_pays_after(mean, longest):,}",
    }
    return {name: reason for name, reason in reasons.items() if name != way}


READS_CSR = "reads a row pointer and 4 bytes a column"


def _against_thread(mean: float, busy: float) -> str:
    apart = f"neighbouring lanes read {mean:.1f} entries apart" if mean > APART else READS_CSR
    return apart if busy > BUSY else f"{apart}, and {busy:.0%} of the lanes are at work"


def _against_warp(mean: float, longest: int, busy: float, made: Choice) -> str:
    if made.options.get("lanes") == LANES:
        return f"does what {made.way} does with {LANES} lanes"
    if busy > BUSY:
        return f"{READS_CSR}, and one warp takes {-(-longest // LANES):,} steps for the longest row"
    return f"{busy:.0%} of the lanes are at work on rows of {mean:.1f} entries"


def _against_subwarp(mean: float, way: str) -> str:
    if way == "csr_thread":
        return f"rows of {mean:.1f} entries are too short to share among lanes"
    waits = "a warp waits for the longest of its rows"
    return f"{READS_CSR}, and {waits}" if way == "hybrid" else waits


def _against_padding(csr: Csr, fill: float, why: str, made: Choice) -> str:
    """Of a format with so many slots for each entry."""
    if fill > FITS:
        return f"{fill:,.1f} slots for each entry: {why}"
    fits = f"fits, with {fill:.2f} slots for each entry"
    if made.way != "hybrid":
        return f"{fits}, but has to be converted to first"
    if made.options["least"] < 0:  # neighbouring rows read x near each other
        size = csr.dtype.itemsize
        return f"{fits}, but a slot takes {size + 4} bytes, and {size + 2} in the hybrid, where columns are near"
    return f"{fits}, but every row has one lane, however long it is"
