"""Does a problem fit? Asked before anything is allocated, so that a size too large is a sentence and not a crash."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from gpukit.devices import CpuMachine, Device
from gpukit.errors import GpukitError
from gpukit.registry import Family, Plan, Problem, Rung

# Sizes at which the arrays of a problem are weighed; how they grow from one to the other tells the rest.
SMALL, DOUBLE = 256, 512


def refuse_too_large(family: Family, rungs: Sequence[Rung], n: int, block: int, device: Device) -> None:
    """Raise GpukitError, with the bytes needed and free, if the arrays of a problem do not fit the device."""
    free = device.memory_bytes
    if free is None:
        return
    needed = bytes_needed(family, rungs, n, block)
    if needed > free:
        where = "the GPU" if device.name == "gpu" else "this computer"
        raise GpukitError(
            f"n = {n:,} {family.size} need about {_shown(needed)} of memory and {where} has {_shown(free)} free: "
            "give a smaller --n"
        )


def bytes_needed(family: Family, rungs: Sequence[Rung], n: int, block: int) -> int:
    """Bytes of the arrays of a problem of size n: those of the problem, a copy of them against which the inputs are
    checked, and those of the most demanding plan. Made out from two small problems; 0 where the family has none."""
    small, double = (_problem(family, size) for size in (SMALL, DOUBLE))
    if small is None or double is None or not _bytes(small.arrays.values()):
        return 0
    inputs = _bytes(double.arrays.values())
    power = math.log2(inputs / _bytes(small.arrays.values()))
    exponent = math.log2(2 * inputs + _of_plans(double, rungs, block)) + power * math.log2(n / DOUBLE)
    return int(2.0 ** min(exponent, 1000.0))


def _problem(family: Family, n: int) -> Problem | None:
    """A problem that any computer has room for; None where the family cannot do that size."""
    try:
        return family.problem(n, family.kinds[-1], np.random.default_rng(0), CpuMachine())
    except GpukitError:
        return None


def _of_plans(problem: Problem, rungs: Sequence[Rung], block: int) -> int:
    """Bytes that the most demanding plan allocates besides the problem."""
    inputs = _bytes(problem.arrays.values())
    found = []
    for rung in rungs:
        # What cannot be planned here (another block, a library that wants a GPU) is not weighed.
        with suppress(GpukitError, ImportError, AttributeError, TypeError):
            found.append(_bytes(_arrays(problem, rung.plan(problem, block, CpuMachine()))) - inputs)
    return max(found, default=inputs)


def _arrays(problem: Problem, plan: Plan) -> Iterator[Any]:
    yield from problem.arrays.values()
    yield from plan.outputs
    for array, original in plan.restores:
        yield from (array, original)
    for launch in plan.launches:
        yield from launch.args


def _bytes(values: Iterable[Any]) -> int:
    """Bytes of the distinct arrays among some values; a view counts as what it is a view of."""
    bases: dict[int, int] = {}
    for value in values:
        while isinstance(getattr(value, "base", None), np.ndarray):
            value = value.base
        if isinstance(value, np.ndarray):
            bases[id(value)] = value.nbytes
    return sum(bases.values())


@contextmanager
def errors_as_sentences(family: Family, n: int, device: Device) -> Iterator[None]:
    """Memory that runs out all the same (CuPy's OutOfMemoryError is a MemoryError, too) is a sentence."""
    try:
        yield
    except MemoryError:
        where = "the GPU" if device.name == "gpu" else "this computer"
        free = device.memory_bytes
        left = f", which has {_shown(free)} free" if free is not None else ""
        raise GpukitError(
            f"n = {n:,} {family.size} do not fit into the memory of {where}{left}: give a smaller --n"
        ) from None


def _shown(number: float) -> str:
    """Bytes for a reader: 1.5 GB."""
    for unit, size in (("EB", 1e18), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number:,.0f} bytes"
