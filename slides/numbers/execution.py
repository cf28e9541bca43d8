"""Numbers and tables of the deck on execution."""

from __future__ import annotations

import numpy as np

import gpukit
from gpukit.occupancy import occupancy
from gpukit.plots import style
from gpukit.slides import Table, gpu

from . import common

LADDER = ("vector_add", "one_thread_per_block", "one_warp_per_block", "add_2d", "grid_stride", "too_small_grid")
BLOCK = 256
ELEMENTS = 700  # in blocks of 256: the last block is a part of one, and so is the last warp with work


# --- 700 elements in blocks of 256 -----------------------------------------------------------------------------------


def blocks() -> int:
    return -(-ELEMENTS // BLOCK)


def threads() -> int:
    return _marked().threads


def warps() -> int:
    return _marked().warps


def idle_threads() -> int:
    report = _marked()
    return report.threads - report.counters["global_store_bytes"] // 4


def busy_warps() -> int:
    return _marked().counters["global_store_requests"]


def idle_warps() -> int:
    return warps() - busy_warps()


def _marked() -> gpukit.Report:
    mark = common.given("01_execution")["mark"]
    return gpukit.profile(mark, blocks(), BLOCK, np.zeros(ELEMENTS, np.int32), hazards=False)


# --- the recorded ladder ---------------------------------------------------------------------------------------------


def counters() -> Table:
    """What the machine counts for three launches of one kernel, at 2^20 elements."""
    keys = ("global_load_requests", "global_load_sectors", "warp_instructions", "active_lanes_per_instruction")
    rows = []
    for name in LADDER[:3]:
        values = common.counters("execution", name)
        rows.append([name, *(f"{values[key]:,}" for key in keys[:3]), f"{values[keys[3]]:.0f} of 32"])
    header = ["launch", "load requests", "load sectors", "warp instructions", "active lanes"]
    return Table(header, rows, numeric=[1, 2, 3, 4], strong=[1])


def starts() -> Table:
    """How many blocks each SM starts in a microsecond."""
    data = common.bench("execution")
    rows = []
    for name, threads_a_block in (("vector_add", BLOCK), ("one_warp_per_block", 32), ("one_thread_per_block", 1)):
        seconds = common.seconds("execution", name)
        count = -(-data["n"] // threads_a_block)
        rate = count / seconds / 1e6 / data["machine"]["sms"]
        rows.append([name, threads_a_block, f"{count:,}", f"{seconds * 1e3:.2f} ms", f"{rate:.1f}"])
    header = ["launch", "threads a block", "blocks", "time", "blocks an SM starts in 1 us"]
    return Table(header, rows, numeric=[1, 2, 3, 4], strong=[1, 2])


def cycles_a_block() -> str:
    """Cycles of an SM from the start of one block to that of the next, where blocks are as small as can be."""
    data = common.bench("execution")
    blocks_an_sm = data["n"] / data["machine"]["sms"]
    cycles = common.seconds("execution", "one_thread_per_block") * data["machine"]["sm_mhz"] * 1e6 / blocks_an_sm
    return f"{cycles:.0f}"


def slower(name: str) -> float:
    return common.seconds("execution", name) / common.seconds("execution", "vector_add")


def one_thread_slower() -> str:
    return f"{slower('one_thread_per_block'):.0f}"


def one_warp_slower() -> str:
    return f"{slower('one_warp_per_block'):.1f}"


def warps_by_grid() -> Table:
    """Bandwidth of the grid-stride loop by the warps that each SM has, up to a full card."""
    data = common.bench("execution")
    sms, block_warps = data["machine"]["sms"], data["block"] // 32
    rows = []
    for row in data["sweep"]["rows"]:
        if row["rung"] == "grid_stride" and row["blocks"] % sms == 0:  # as many blocks on every SM
            resident = row["blocks"] // sms * block_warps
            rows.append(
                [
                    f"{row['blocks']:,}",
                    resident,
                    style.percent(resident / gpu("H200").max_warps_per_sm).replace("%", " %"),
                    f"{row['bandwidth_gb_s']:,.0f} GB/s",
                    common.percent(row["fraction_of_copy"]),
                ]
            )
    header = ["blocks of 256", "warps an SM", "occupancy", "bandwidth", "of a copy"]
    return Table(header, rows, numeric=[0, 1, 2, 3, 4], strong=[len(rows) - 1])


# --- what an SM holds ------------------------------------------------------------------------------------------------


def residents() -> Table:
    """Occupancy on an H200 for a few blocks, and what limits it first."""
    rows = []
    for threads_a_block, registers, shared_kb in (
        (256, 32, 0),
        (32, 32, 0),
        (256, 64, 0),
        (256, 128, 0),
        (256, 32, 48),
        (768, 24, 0),
    ):
        found = occupancy(threads_a_block, shared_kb << 10, registers, gpu("H200"))
        rows.append(
            [
                f"{threads_a_block} threads",
                registers,
                f"{shared_kb} KB" if shared_kb else "none",
                found.blocks_per_sm,
                f"{found.warps_per_sm} of {found.max_warps_per_sm}",
                common.percent(found.occupancy),
                found.limited_by[0].partition(" ")[0],
            ]
        )
    header = ["block", "registers", "shared", "blocks an SM", "resident warps", "occupancy", "limit"]
    return Table(header, rows, numeric=[1, 2, 3, 4, 5])
