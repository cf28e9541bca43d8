"""Numbers of the deck on warp primitives, and the small kernels that it shows beside those of the kit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import gpukit
from gpukit import cuda
from gpukit.slides import Table
from gpukit.timing import in_units

from . import common

FULL = 0xFFFFFFFF
PAYMENTS = (3, 1, 4, 1, 5, 9, 2, 6)  # of the first lanes, as in the figures; the others have 0
CUSTOMERS = (7, 7, 7, 2, 2, 5, 5, 5)


def _table(family: str, counters: Sequence[str], names: Sequence[str], without: Sequence[str] = ()) -> Table:
    """A row for each rung but some: its counters and its time."""
    rows = []
    for key, rung in common.rungs(family).items():
        if key in without:
            continue
        cells = common.counted(family, key, *counters)
        rows.append([key, *cells, in_units(rung["timing"]["median_s"])])
    return Table(["rung", *names, "time"], rows, numeric=range(1, len(counters) + 2))


def warp_reduce() -> Table:
    counters = ("shared_load_requests", "shared_store_requests", "warp_synchronisations")
    return _table("warp_reduce", counters, ("shared loads", "shared stores", "warp syncs"))


def warp_scan() -> Table:
    counters = ("shared_load_requests", "shared_store_requests", "barriers")
    return _table("warp_scan", counters, ("shared loads", "shared stores", "barriers"))


def warp_segmented() -> Table:
    counters = ("global_atomics", "atomic_max_contention", "warp_synchronisations")
    return _table("warp_segmented", counters, ("atomics", "lanes at one address", "warp syncs"))


def warp_compaction() -> Table:
    counters = ("global_atomics", "global_load_requests", "warp_synchronisations")
    return _table("warp_compaction", counters, ("atomics", "load requests", "warp syncs"), ("cpp:ballot",))


# --- votes and matches -----------------------------------------------------------------------------------------------


@cuda.jit
def votes(payment, mask, some, every, many):
    """What the votes of a warp give each lane.

    payment: int32 (32,). mask: uint32 (32,), some, every and many: int32 (32,), set.
    """
    lane = cuda.laneid
    large = payment[lane] > 2
    mask[lane] = cuda.ballot_sync(FULL, large)
    some[lane] = cuda.any_sync(FULL, large)
    every[lane] = cuda.all_sync(FULL, large)
    many[lane] = cuda.popc(mask[lane])


def voted() -> Table:
    """What lane 0 has after `votes`, and what each vote is for."""
    payment = np.zeros(32, np.int32)
    payment[: len(PAYMENTS)] = PAYMENTS
    mask, (some, every, many) = np.zeros(32, np.uint32), np.zeros((3, 32), np.int32)
    gpukit.launch(votes, 1, 32, payment, mask, some, every, many)
    rows = [
        ["ballot_sync", f"{mask[0]:#b}", "who: a bit per lane, lane 0 on the right"],
        ["popc", int(many[0]), "how many"],
        ["any_sync", bool(some[0]), "is there work left?"],
        ["all_sync", bool(every[0]), "are all done?"],
    ]
    return Table(["vote", "every lane gets", "for"], rows)


@cuda.jit
def matches(customer, same):
    """The lanes that hold the same customer, as a mask. customer: int32 (32,). same: uint32 (32,), set."""
    same[cuda.laneid] = cuda.match_any_sync(FULL, customer[cuda.laneid])


def matched() -> Table:
    """What `matches` gives the first lanes."""
    customer = np.zeros(32, np.int32)
    customer[: len(CUSTOMERS)] = CUSTOMERS
    same = np.zeros(32, np.uint32)
    gpukit.launch(matches, 1, 32, customer, same)
    rows = []
    for lane in (0, 1, 3, 4, 5, 7):
        members = [other for other in range(32) if same[lane] >> other & 1]
        rows.append([lane, int(customer[lane]), f"{same[lane]:#010b}", ", ".join(map(str, members)), len(members)])
    return Table(["lane", "customer", "match_any_sync", "lanes", "popc"], rows, numeric=[0, 1, 4])


# --- what is wrong ---------------------------------------------------------------------------------------------------


@cuda.jit
def mixed(x, out):
    """WRONG: reads of shared memory and a shuffle in one expression. x, out: float32 (32,)."""
    tile = cuda.shared.array(32, np.float32)
    lane = cuda.laneid
    tile[lane] = x[lane]
    out[lane] = tile[31 - lane] + cuda.shfl_xor_sync(FULL, tile[lane], 1)


@cuda.jit
def ordered(x, out):
    """`mixed` with an order: write, wait, read, exchange. x, out: float32 (32,)."""
    tile = cuda.shared.array(32, np.float32)
    lane = cuda.laneid
    tile[lane] = x[lane]
    cuda.syncwarp()
    mirrored = tile[31 - lane]
    neighbour = cuda.shfl_xor_sync(FULL, tile[lane], 1)
    out[lane] = mirrored + neighbour
