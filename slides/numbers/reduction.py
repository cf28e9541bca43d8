"""Numbers of the deck on the ladder of reductions: what each change moved, from the recording on an H200.

Counters are the CPU machine's for 2^20 elements and blocks of 256 threads, times an H200's for 2^29; both stand in the
recording.
"""

from __future__ import annotations

import numpy as np

import gpukit
from gpukit.kernels import reduction
from gpukit.slides import Table
from gpukit.timing import in_units

from . import common

# --- what one change moved -------------------------------------------------------------------------------------------


def moved(before: str, after: str, *counters: str) -> Table:
    """A row for each counter of two rungs, and one for their times."""
    rows = []
    for counter in counters:
        old, new = (common.counters("reduction", key)[counter] for key in (before, after))
        rows.append([counter.replace("_", " "), f"{old:,}", f"{new:,}", _change(old, new)])
    old, new = (_seconds(key) for key in (before, after))
    rows.append(["time of 2 GiB", in_units(old), in_units(new), faster(old, new)])
    return Table(["", before, after, ""], rows, numeric=[1, 2], strong=[len(rows) - 1])


def faster(old: float, new: float) -> str:
    """What two times say of each other, in words."""
    return f"{old / new:.2f} times faster" if new < old else f"{new / old:.2f} times slower"


def _change(old: float, new: float) -> str:
    if old == new:
        return "the same"
    if not old or not new:
        return "from none" if new else "none left"
    return f"{old / new:.1f} times fewer" if old > new else f"{new / old:.1f} times more"


def compact() -> Table:
    return moved("naive", "compact", "divergent_branches", "global_load_requests", "global_load_sectors")


def sequential() -> Table:
    return moved("compact", "sequential", "global_load_requests", "global_load_sectors")


def shared_interleaved() -> Table:
    return moved("naive", "shared_interleaved", "global_load_requests", "shared_load_requests", "barriers")


def shared_strided() -> Table:
    return moved(
        "shared_interleaved",
        "shared_strided",
        "divergent_branches",
        "shared_load_requests",
        "shared_load_bank_conflicts",
    )


def shared_sequential() -> Table:
    return moved("shared_strided", "shared_sequential", "shared_load_requests", "shared_load_bank_conflicts")


def first_add() -> Table:
    return moved("shared_sequential", "first_add", "global_load_requests", "barriers", "shared_load_requests")


def last_warp_syncwarp() -> Table:
    return moved("last_warp_volatile", "last_warp_syncwarp", "barriers", "warp_synchronisations")


def last_warp_shuffle() -> Table:
    return moved(
        "last_warp_syncwarp",
        "last_warp_shuffle",
        "warp_synchronisations",
        "shared_load_requests",
    )


def unrolled() -> Table:
    return moved("last_warp_shuffle", "unrolled", "warp_instructions", "barriers", "global_load_requests")


def shuffle() -> Table:
    return moved("last_warp_shuffle", "shuffle", "barriers", "shared_load_requests", "warp_synchronisations")


def vectorized() -> Table:
    return moved("cpp:grid_stride", "cpp:vectorized", "global_load_requests", "global_load_sectors")


# --- whole tables ----------------------------------------------------------------------------------------------------


def baseline() -> Table:
    """What is there already, on both sides, and the time that the memory alone would take."""
    named = {
        "cpu_loop": "a sequential loop, one thread",
        "numpy_sum": "NumPy",
        "parallel_loop": f"a parallel loop of Numba, {common.bench('reduction')['machine']['cores']} cores",
        "cupy_sum": "CuPy, which calls CUB",
        "torch_sum": "torch.sum",
    }
    rungs = common.rungs("reduction")
    rows = [[rungs[key]["timing"]["machine"].upper(), what, _time(key)] for key, what in named.items()]
    rows.insert(3, ["GPU", "2 GiB at the bandwidth of a copy", floor()])
    return Table(["", "how", "time of 2 GiB"], rows, numeric=[2], strong=[3])


def floor() -> str:
    """The time of 2 GiB at the bandwidth of a copy."""
    record = common.bench("reduction")
    return in_units(4 * record["n"] / (record["ceilings"]["copy"] * 1e9))


def fold_cost() -> Table:
    """`grid_stride` on 2^20 elements with fewer and fewer blocks: what the folds cost, counted."""
    n, block = 1 << 20, 256
    data = np.ones(n, np.float32)
    rows = []
    for each in (2, 16, 64, 256):
        blocks = n // (block * each)
        counters = gpukit.profile(reduction.grid_stride, blocks, block, data, np.zeros(blocks, np.float32)).counters
        counted = (counters[name] for name in ("global_load_requests", "barriers", "warp_synchronisations"))
        rows.append([each, f"{blocks:,}", *(f"{value:,}" for value in counted)])
    header = ["elements a thread", "blocks", "load requests", "barriers", "shuffles"]
    return Table(header, rows, numeric=range(5), strong=[3])


def finishes() -> Table:
    """The five ways to end, and what they leave."""
    named = {
        "grid_stride": "none: the host adds, not timed",
        "finish_on_host": "copy the partial sums, the host adds",
        "finish_second_launch": "a second launch, of one block",
        "finish_atomic": "one atomic a block",
        "finish_last_block": "the last block done adds",
        "finish_grid_sync": "a grid sync, a cooperative launch",
    }
    rungs = common.rungs("reduction")
    rows = [
        [key, how, rungs[key]["produces"].replace("a partial sum per block", "partial sums"), _time(key)]
        for key, how in named.items()
    ]
    return Table(["rung", "how it ends", "produces", "time"], rows, numeric=[3])


def _time(key: str) -> str:
    return in_units(_seconds(key))


def _seconds(key: str) -> float:
    return common.seconds("reduction", key)


# --- numbers ---------------------------------------------------------------------------------------------------------


def divergent_in_tree() -> int:
    """Warp branches of one block of 256 threads that split in the tree of `naive`, not at its last `if`."""
    report = gpukit.profile(reduction.naive, 1, 256, np.ones(512, np.int32), np.zeros(1, np.int32))
    return sum(line.counters.get("divergent_branches", 0) for line in report.lines if "tid % stride" in line.text)


def races() -> int:
    """Races that the check finds in one block of `last_warp_volatile`."""
    data, partial = np.ones(512, np.float32), np.zeros(1, np.float32)
    report = gpukit.profile(reduction.last_warp_volatile, 1, 256, data, partial, shared_bytes=1024)
    return len(report.errors)


def whole_ladder() -> str:
    """From the first rung to the best one of numba."""
    return f"{_seconds('naive') / _seconds('coarsened'):.0f}"
