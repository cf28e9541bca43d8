"""The kernels as a family of gpukit: every way in numba and in CUDA C++, one change a rung, on made matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.inputs import random_floats, random_integers
from gpukit.registry import CPP, NUMBA, Array, Family, Plan, PlanOf, Problem, comment_above

from . import checks, kernels, products
from .formats import Csr

WHOLE, EVEN, SKEWED = "whole numbers", "even rows", "skewed rows"
EVEN_LENGTH, LONGEST = 24, 256  # entries of a row
LARGEST = 1 << 23  # rows: 256 slots each, which is what ELL makes of skewed rows, are 2^31
PRODUCES = "y = A x"


# --- the problem -----------------------------------------------------------------------------------------------------


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """A CSR matrix of n rows, float32 and int32, in columns drawn at random, and x.

    "whole numbers": rows as in "skewed rows", 2n/3 + 1 columns, values and x from -2 to 2: sums are exact.
    "even rows": n columns, 24 entries in every row, values and x in [0, 1). "skewed rows": as that, with 0 to 256
    entries in a row, half of the rows with 2 or fewer, as many matrices of graphs are.

    Raises GpukitError for more rows than ELL has room for.
    """
    if n > LARGEST:
        raise GpukitError(
            f"{n:,} rows of up to {LONGEST} entries are more than ELL has room for: use at most {LARGEST:,}"
        )
    columns = 2 * n // 3 + 1 if kind == WHOLE else max(n, 1)
    indptr = row_pointer(n, kind, rng, device)
    nnz = int(indptr[-1])
    indices = random_integers(nnz, columns, rng, device)
    if kind == WHOLE:
        data, x = ((random_integers(size, 5, rng, device) - 2).astype(np.float32) for size in (nnz, columns))
    else:
        data, x = random_floats(nnz, rng, device), random_floats(columns, rng, device)
    csr = Csr((n, columns), indptr, indices, data)
    arrays = {"indptr": indptr, "indices": indices, "data": data, "x": x}
    bound = 0.0 if kind == WHOLE else checks.bound(csr, x)
    return Problem(n, kind, arrays, checks.reference(csr, x), bound)


def row_pointer(n: int, kind: str, rng: np.random.Generator, device: Device) -> Array:
    """(n + 1,) int32 for rows as long as the kind says."""
    xp = device.xp
    if kind == EVEN:
        return xp.arange(n + 1, dtype=np.int32) * EVEN_LENGTH
    drawn = 1 - random_floats(n, rng, device)  # in (0, 1], so that a Pareto tail can be made of it
    lengths = xp.minimum(3 * (drawn ** np.float32(-1 / 1.2) - 1), LONGEST).astype(np.int32)
    indptr = xp.zeros(n + 1, np.int32)
    xp.cumsum(lengths, out=indptr[1:])
    return indptr


def multiplied(way: str, language: str) -> PlanOf:
    """The plan of one way: the matrix in its format, and y, which is written alone."""

    def plan(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
        indptr, indices, data, x = (problem.arrays[name] for name in ("indptr", "indices", "data", "x"))
        y = device.xp.empty(problem.n, data.dtype)
        csr = Csr((problem.n, x.size), indptr, indices, data)
        product = products.product(way, csr, x, y, language=language, device=device, block=block)
        return Plan(
            answer=lambda: device.to_host(y),
            launches=product.launches,
            outputs=(y,),
            bytes_moved=product.bytes_moved,
            flops=product.flops,
        )

    return plan


FAMILY = Family(
    __package__,
    problem,
    kinds=(WHOLE, EVEN, SKEWED),
    lengths=(0, 1, 31, 33, 257, 1000),
    blocks=(32, 128, 1024),
    block=128,
    counters=(
        "global_load_requests",
        "global_load_sectors",
        "load_sectors_per_request",
        "load_efficiency",
        "global_store_sectors",
        "warp_instructions",
    ),
    cpu_n=1 << 13,
    gpu_n=1 << 22,
    size="rows",
)


# --- the ladder ------------------------------------------------------------------------------------------------------


def ladder() -> None:
    """Every way in both languages, documented where the kernel stands. Counters are those of skewed rows."""
    requests, sectors, stores = "global_load_requests", "global_load_sectors", "global_store_requests"
    for way, against, moves in (
        ("csr_thread", "", {}),
        ("csr_warp", "csr_thread", {"falls": (requests, sectors), "rises": (stores, "load_efficiency")}),
        ("csr_subwarp", "csr_warp", {"falls": ("warp_instructions", stores), "rises": (requests, sectors)}),
        ("ell", "csr_thread", {"rises": ("load_efficiency", requests, sectors)}),
        ("sliced_ell", "ell", {"falls": (requests, sectors)}),
        ("hybrid", "sliced_ell", {"falls": (requests, sectors)}),
        (
            "merge_path",
            "csr_thread",
            {"falls": (requests, sectors), "rises": ("active_lanes_per_instruction", stores)},
        ),
    ):
        register(way, against, **moves)


def register(way: str, against: str, **moves: Any) -> None:
    """One way in numba and in C++, compared with `against` in its own language."""
    kernel = getattr(kernels, way)
    FAMILY.kernel(multiplied(way, NUMBA), against=against, produces=PRODUCES, **moves)(kernel)
    FAMILY.cpp(
        way,
        multiplied(way, CPP),
        file=str(products.SOURCE),
        kernel=products.WAYS[way].instance,
        document=comment_above(products.SOURCE, way),
        against=f"cpp:{against}" if against else "",
        produces=PRODUCES,
        **moves,
    )


ladder()
