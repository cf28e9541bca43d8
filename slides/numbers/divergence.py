"""Numbers and tables of the deck on divergence."""

from __future__ import annotations

import numpy as np

import gpukit
from gpukit.kernels import purchases
from gpukit.slides import Table

from . import common

CUSTOMERS = 256
SEED = 2


# --- recorded --------------------------------------------------------------------------------------------------------


def two_sides() -> Table:
    """The two sides of one `if`, three ways in two languages."""
    counters = ("divergent_branches", "active_lanes_per_instruction", "global_store_requests")
    rows = []
    for key, one in common.rungs("divergence").items():
        if one["language"] != "host":
            time = common.millis(one["timing"]["median_s"])
            rows.append([key, *common.counted("divergence", key, *counters), time])
    header = ["rung", "divergent branches", "active lanes", "store requests", "time"]
    return Table(header, rows, numeric=[1, 2, 3, 4])


def kinds() -> Table:
    """The k-way branch, in both languages."""
    counters = ("divergent_branches", "active_lanes_per_instruction", "warp_instructions")
    rows = []
    for key, one in common.rungs("switch").items():
        time = f"{one['timing']['median_s'] * 1e3:,.2f} ms"
        rows.append([key, *common.counted("switch", key, *counters), time])
    header = ["rung", "divergent branches", "active lanes", "warp instructions", "time"]
    return Table(header, rows, numeric=[1, 2, 3, 4])


def customers() -> Table:
    """Loops of different length, in both languages."""
    counters = ("active_lanes_per_instruction", "warp_instructions", "global_load_sectors")
    rows = []
    for key, one in common.rungs("purchases").items():
        if one["language"] != "host":
            time = common.millis(one["timing"]["median_s"])
            rows.append([key, *common.counted("purchases", key, *counters), time, one["log"]["decision"] or ""])
    header = ["rung", "active lanes", "warp instructions", "load sectors", "time", "decision"]
    return Table(header, rows, numeric=[1, 2, 3, 4], strong=[len(rows) - 1])


def kinds_slower() -> str:
    """How many times slower 32 kinds in a warp are than one."""
    return f"{common.seconds('switch', 'kinds_32') / common.seconds('switch', 'kinds_1'):.0f}"


def kinds_slower_cpp() -> str:
    return f"{common.seconds('switch', 'cpp:kinds_32') / common.seconds('switch', 'cpp:kinds_1'):.0f}"


def by_warp_gain() -> str:
    """How much less time by_warp takes than by_lane, percent."""
    gain = 1 - common.seconds("divergence", "by_warp") / common.seconds("divergence", "by_lane")
    return common.percent(gain)


def grouped_gain() -> str:
    gain = common.seconds("purchases", "customer_per_thread") / common.seconds("purchases", "grouped")
    return f"{gain:.1f}"


# --- counted ---------------------------------------------------------------------------------------------------------


def lanes_before() -> str:
    """Active lanes per instruction, one block of 256 customers as they came."""
    return f"{_lanes(grouped=False):.1f}"


def lanes_after() -> str:
    return f"{_lanes(grouped=True):.1f}"


def idle_before() -> str:
    """The share of lanes that are idle, as they came."""
    return common.percent(1 - _lanes(grouped=False) / 32)


def _lanes(grouped: bool) -> float:
    rng = np.random.default_rng(SEED)
    offsets = np.concatenate(([0], np.cumsum(purchases.lengths_of(CUSTOMERS, rng)))).astype(np.int32)
    amounts, totals = np.ones(offsets[-1], np.int32), np.zeros(CUSTOMERS, np.int32)
    if grouped:
        order = purchases.order_of_groups(offsets)
        report = gpukit.profile(purchases.grouped, 1, CUSTOMERS, offsets, amounts, order, totals, hazards=False)
    else:
        report = gpukit.profile(purchases.customer_per_thread, 1, CUSTOMERS, offsets, amounts, totals, hazards=False)
    return report.counters["active_lanes_per_instruction"]
