"""The gathers as a family of gpukit: a thread a row, a thread a number, 16 bytes a thread, and ids in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.inputs import random_floats, random_integers
from gpukit.registry import Array, Family, Launch, Plan, PlanOf, Problem, comment_above, launchable

from . import kernels

SOURCE = Path(__file__).with_name("kernels.cu")
WHOLE, RANDOM, SKEWED = "whole numbers", "random ids", "skewed ids"
DIM = 16  # numbers of a row: two sectors
LARGEST = 1 << 28  # ids, which are 16 GB of rows
PRODUCES = "a row for each id"
REQUESTS, LOADED, STORED = "global_load_requests", "global_load_sectors", "global_store_sectors"


# --- the problem -----------------------------------------------------------------------------------------------------


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n ids of a table of n / 2 rows of 16 float32, and the order that sorts them.

    "whole numbers": ids at random, the numbers of the table count up from 0. "random ids": every row as likely, numbers
    in [0, 1). "skewed ids": as that, and the k-th row is asked for as often as 1 / k says, the rows shuffled.

    Raises GpukitError for more ids than are reasonable.
    """
    if n > LARGEST:
        raise GpukitError(f"{n:,} ids are more than this family gathers: use at most {LARGEST:,}")
    xp, rows = device.xp, max(n // 2, 1)
    ids = skewed_ids(n, rows, rng, device) if kind == SKEWED else random_integers(n, rows, rng, device)
    if kind == WHOLE:
        table = (xp.arange(rows * DIM, dtype=np.int32) % (1 << 24)).astype(np.float32)
    else:
        table = random_floats(rows * DIM, rng, device)
    table = table.reshape(rows, DIM)
    order = xp.argsort(ids)
    arrays = {"ids": ids, "table": table, "in_order": ids[order], "order": order}
    return Problem(n, kind, arrays, device.to_host(table[ids]))


def skewed_ids(n: int, rows: int, rng: np.random.Generator, device: Device) -> Array:
    """(n,) int32 below `rows`: ranks drawn with a density of 1 / rank, through a permutation."""
    rank = rows ** random_floats(n, rng, device).astype(np.float64) - 1
    return device.xp.argsort(random_floats(rows, rng, device))[rank.astype(np.int64)].astype(np.int32)


def gathered(numbers_a_thread: int, in_order: bool = False) -> PlanOf:
    """The plan of one way. A thread has so many numbers of a row; `in_order`: ids are sorted, before anything is timed,
    and the answer is put back."""

    def plan(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
        table, order = problem.arrays["table"], problem.arrays["order"]
        ids = problem.arrays["in_order" if in_order else "ids"]
        out = device.xp.empty((problem.n, DIM), np.float32)

        def answer() -> np.ndarray:
            found = device.to_host(out)
            if not in_order:
                return found
            back = np.empty_like(found)
            back[device.to_host(order)] = found
            return back

        launches: tuple[Launch, ...] = ()
        if problem.n:
            made, args = launchable(kernel, (ids, table, out), problem.n, DIM)
            launches = (Launch(made, -(-problem.n * DIM // (numbers_a_thread * block)), block, args),)
        distinct = int(device.xp.unique(ids).size)
        moved = 4 * (problem.n + DIM * (problem.n + distinct))
        return Plan(answer=answer, launches=launches, outputs=(out,), bytes_moved=moved)

    return plan


FAMILY = Family(
    __package__,
    problem,
    kinds=(WHOLE, RANDOM, SKEWED),
    lengths=(0, 1, 31, 33, 257, 3073),
    blocks=(32, 256, 1024),
    counters=(
        REQUESTS,
        LOADED,
        "load_sectors_per_request",
        "load_efficiency",
        STORED,
        "warp_instructions",
    ),
    cpu_n=1 << 13,
    gpu_n=1 << 24,
    size="ids",
)


# --- the ladder ------------------------------------------------------------------------------------------------------

IN_ORDER = """Ids in order, which is sorted before it is timed: neighbouring lanes ask for the same row, or the next.

Versus: {against}: the same kernel on sorted ids, where they came as the impressions did.

Expect: load sectors fall where one request has several rows, since ids that are the same or next to each other share
    sectors; stores stay as they are.
{args}
Source: sorting indices before a gather or a scatter is what FBGEMM's EXACT optimizers do.
"""
ARGS = """
Args:
    ids, table, out: as in gather_thread.
"""


def ladder() -> None:
    """Every way in both languages, documented where the kernel stands. Counters are those of skewed ids."""
    FAMILY.kernel(gathered(DIM), produces=PRODUCES)(kernels.gather_thread)
    apart: dict[str, Any] = {"against": "gather_thread", "falls": (LOADED, STORED), "rises": (REQUESTS,)}
    FAMILY.kernel(gathered(1), produces=PRODUCES, **apart)(kernels.gather_lane)
    in_order: dict[str, Any] = {"falls": (LOADED,), "stays": (STORED, REQUESTS)}
    FAMILY.kernel(
        gathered(1, in_order=True),
        name="gather_in_order",
        document=IN_ORDER.format(against="gather_lane", args=ARGS),
        against="gather_lane",
        produces=PRODUCES,
        **in_order,
    )(kernels.gather_lane)
    in_cpp("gather_thread", DIM)
    in_cpp("gather_lane", 1, **{**apart, "against": "cpp:gather_thread"})
    in_cpp("gather_vector", 4, against="cpp:gather_lane", falls=(REQUESTS, LOADED, "warp_instructions"))
    FAMILY.cpp(
        "gather_in_order",
        gathered(4, in_order=True),
        file=str(SOURCE),
        kernel="gather_vector",
        document=IN_ORDER.format(against="gather_vector", args=""),
        against="cpp:gather_vector",
        produces=PRODUCES,
        **in_order,
    )


def in_cpp(name: str, numbers_a_thread: int, **moves: Any) -> None:
    document = comment_above(SOURCE, name)
    plan = gathered(numbers_a_thread)
    FAMILY.cpp(name, plan, file=str(SOURCE), document=document, produces=PRODUCES, **moves)


ladder()
