"""Numbers and tables of the deck on divergence."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import gpukit
from gpukit.kernels import purchases
from gpukit.resources import data_file
from gpukit.slides import Measured, Table

FOLDER = "data/results"
CUSTOMERS = 256
SEED = 2


# --- recorded --------------------------------------------------------------------------------------------------------


def two_sides() -> Table:
    """The two sides of one `if`, three ways in two languages."""
    rows = []
    for one in recorded("divergence")["rungs"]:
        if one["language"] != "host":
            values = one["counters"]["values"]
            rows.append(
                [
                    one["key"],
                    f"{values['divergent_branches']:,}",
                    f"{values['active_lanes_per_instruction']:.1f}",
                    f"{values['global_store_requests']:,}",
                    f"{one['timing']['median_s'] * 1e6:,.0f} us",
                ]
            )
    header = ["rung", "divergent branches", "active lanes", "store requests", "time"]
    return Table(header, rows, [path("divergence")], numeric=[1, 2, 3, 4])


def kinds() -> Table:
    """The k-way branch, in both languages."""
    rows = []
    for one in recorded("switch")["rungs"]:
        values = one["counters"]["values"]
        rows.append(
            [
                one["key"],
                f"{values['divergent_branches']:,}",
                f"{values['active_lanes_per_instruction']:.1f}",
                f"{values['warp_instructions']:,}",
                f"{one['timing']['median_s'] * 1e3:,.2f} ms",
            ]
        )
    header = ["rung", "divergent branches", "active lanes", "warp instructions", "time"]
    return Table(header, rows, [path("switch")], numeric=[1, 2, 3, 4])


def customers() -> Table:
    """Loops of different length, in both languages."""
    rows = []
    for one in recorded("purchases")["rungs"]:
        if one["language"] != "host":
            values = one["counters"]["values"]
            decision = one["log"]["decision"]
            rows.append(
                [
                    one["key"],
                    f"{values['active_lanes_per_instruction']:.1f}",
                    f"{values['warp_instructions']:,}",
                    f"{values['global_load_sectors']:,}",
                    f"{one['timing']['median_s'] * 1e6:,.0f} us",
                    decision or "",
                ]
            )
    header = ["rung", "active lanes", "warp instructions", "load sectors", "time", "decision"]
    return Table(header, rows, [path("purchases")], numeric=[1, 2, 3, 4], strong=[len(rows) - 1])


def kinds_slower() -> Measured:
    """How many times slower 32 kinds in a warp are than one."""
    return Measured(f"{seconds('switch', 'kinds_32') / seconds('switch', 'kinds_1'):.0f}", path("switch"))


def kinds_slower_cpp() -> Measured:
    return Measured(f"{seconds('switch', 'cpp:kinds_32') / seconds('switch', 'cpp:kinds_1'):.0f}", path("switch"))


def by_warp_gain() -> Measured:
    """How much less time by_warp takes than by_lane, percent."""
    gain = 1 - seconds("divergence", "by_warp") / seconds("divergence", "by_lane")
    return Measured(f"{gain:.0%}".replace("%", " %"), path("divergence"))


def grouped_gain() -> Measured:
    gain = seconds("purchases", "customer_per_thread") / seconds("purchases", "grouped")
    return Measured(f"{gain:.1f}", path("purchases"))


def recorded(family: str) -> dict[str, Any]:
    return json.loads(data_file(path(family).removeprefix("data/")).read_text(encoding="utf-8"))


def seconds(family: str, key: str) -> float:
    return next(one["timing"]["median_s"] for one in recorded(family)["rungs"] if one["key"] == key)


def path(family: str) -> str:
    return f"{FOLDER}/bench_h200_{family}.json"


# --- counted ---------------------------------------------------------------------------------------------------------


def lanes_before() -> str:
    """Active lanes per instruction, one block of 256 customers as they came."""
    return f"{_lanes(grouped=False):.1f}"


def lanes_after() -> str:
    return f"{_lanes(grouped=True):.1f}"


def idle_before() -> str:
    """The share of lanes that are idle, as they came."""
    return f"{1 - _lanes(grouped=False) / 32:.0%}".replace("%", " %")


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
