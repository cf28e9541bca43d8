"""What every way to multiply does with one matrix: counted on the CPU machine, timed on a GPU; as plain data.

The machine counts lane by lane. A matrix of more than so much work is counted on a sample of it: blocks of consecutive
rows, spread evenly, with their order and lengths. Statistics, padding, bytes and the recommendation are always those
of the whole matrix.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gpukit
from gpukit.bench import counting
from gpukit.bench.running import RIGHT, WRONG
from gpukit.devices import CpuMachine, Device
from gpukit.gpus import find_gpu
from gpukit.registry import CPP, NUMBA, Plan

from .. import checks, choosing, products
from ..choosing import Choice
from ..errors import MatrixError
from ..formats import Csr
from ..formats.ell import ell_slots
from ..matrices.reading import memory_bytes
from ..matrices.statistics import ell_fill, sliced_fill, statistics
from .model import Counted, Profile, Timed
from .remarks import longest_walk, remark
from .sampling import sampled

LANGUAGES = {"python": (NUMBA,), "cpp": (CPP,), "both": (NUMBA, CPP)}
SLICE = 32  # rows
SIGMA = 256  # rows that sliced ELL sorts together, where nobody chose another number

# What a lane does by itself, since all other warps have ended, takes 50 to 100 us a step on two cores.
MOST_STEPS = 60_000  # of one lane
MOST_BYTES = 256 << 20  # of a padded matrix that is counted
# Bytes that a profile takes at its peak for each row and entry, measured at 1e7 rows and at 5e6 entries, and for each
# column, guessed.
ROW_BYTES, ENTRY_BYTES, COLUMN_BYTES = 85, 145, 40


# --- measuring -------------------------------------------------------------------------------------------------------

Say = Callable[[str, int, int], None]


def nobody(what: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def profile(
    csr: Csr,
    name: str,
    *,
    languages: Sequence[str] = (NUMBA,),
    cpu: bool = True,
    device: Device | None = None,
    gpu: str = "H200",
    block: int = products.BLOCK,
    seed: int = 0,
    say: Say = nobody,
) -> Profile:
    """Every way there is on a matrix of the host, as `Profile`.

    languages: NUMBA, CPP. cpu: whether the CPU machine counts. device: the GPU to time on, if any. gpu: the one whose
    bandwidth bounds a time. seed: of x. Raises GpukitError for a block that is none, without a compiler for CPP, and
    for a matrix that takes more than this machine's memory.
    """
    _refuse_too_large(csr)
    stats = statistics(csr)
    spec = find_gpu(gpu)
    choice = choosing.choose_format(csr)
    found = Profile(
        name=name,
        dtype=csr.dtype.name,
        pointer=np.dtype(csr.indptr.dtype).name,
        statistics=stats,
        choice=choice,
        csr_bytes=products.csr_bytes(csr),
        gpu=spec.name,
        peak_gb_s=spec.bandwidth_gb_s,
        padding=padding(csr),
    )
    runs = [(way, options, language) for way, options in variants(choice).items() for language in languages]
    total = len(runs) * (cpu + (device is not None))
    if cpu:
        counted, found.sample = sampled(csr)
        sizes: dict[str, dict[str, Any]] = {}
        for done, (way, options, language) in enumerate(runs):
            say(f"{way}, {language}", done, total)
            if way not in sizes:
                sizes[way] = size(csr, way, options)
            one = Counted(way, products.WAYS[way].title, language, options, **sizes[way])
            _count(one, counted, block, seed)
            found.counted.append(one)
        remark(found.counted, counted)
    if device is not None:
        found.timed_on = getattr(device, "card", "") or "a GPU"
        found.timed = list(_time(csr, device, runs, block, seed, say, total))
    return found


def _refuse_too_large(csr: Csr) -> None:
    """Raises MatrixError instead of a process that the system ends."""
    needed, memory = ROW_BYTES * csr.rows + ENTRY_BYTES * csr.nnz + COLUMN_BYTES * csr.columns, memory_bytes()
    if memory is not None and needed > memory:
        raise MatrixError(
            f"{csr.rows:,} rows, {csr.columns:,} columns and {csr.nnz:,} entries take some {needed / 1e9:,.0f} GB to "
            f"profile, and this machine has {memory / 1e9:,.0f} GB: take a part of the matrix"
        )


def variants(choice: Choice) -> dict[str, dict[str, Any]]:
    """Way -> options: as chosen, or else those that a way is most often used with."""
    usual: dict[str, dict[str, Any]] = {"sliced_ell": {"height": SLICE, "sigma": SIGMA}}
    return {way: choice.options if way == choice.way else usual.get(way, {}) for way in products.WAYS}


def padding(csr: Csr) -> dict[str, float]:
    """Slots per entry: "ELL", and sliced ELL by the rows sorted together, "1", "64", ... and "all"."""
    lengths = csr.lengths
    sigmas = [sigma for sigma in (1, 64, 256, 2048, 16384) if sigma < max(csr.rows, 2)]
    found = {str(sigma): sliced_fill(lengths, SLICE, sigma) for sigma in sigmas}
    return {"ELL": ell_fill(lengths), **found, "all": sliced_fill(lengths, SLICE, max(csr.rows, 1))}


def size(csr: Csr, way: str, options: dict[str, Any]) -> dict[str, Any]:
    """What is known of a matrix in a way's format: `nbytes`, `bytes_moved` and `slots` of `Counted`."""
    if way == "ell":  # seldom fits where it is worst
        nbytes = padded_bytes(csr)
        vectors = (csr.rows + csr.columns) * csr.dtype.itemsize
        return {"slots": ell_fill(csr.lengths), "nbytes": nbytes, "bytes_moved": nbytes + vectors}
    made = products.product(way, csr, *_vectors(csr, 0), **options)
    slots = getattr(made.form, "slots", csr.nnz) / csr.nnz if csr.nnz else float("nan")
    return {"slots": slots, "nbytes": made.form.nbytes, "bytes_moved": made.bytes_moved}


def padded_bytes(csr: Csr) -> int:
    """Bytes of the matrix in ELL."""
    return ell_slots(csr.lengths) * (4 + csr.dtype.itemsize)


# --- on the CPU machine ----------------------------------------------------------------------------------------------


def _count(one: Counted, csr: Csr, block: int, seed: int) -> None:
    """Count a way on a matrix, and check its answer."""
    one.why = _too_long(csr, one.way, one.options)
    if one.why:
        return
    x, y = _vectors(csr, seed)
    cpu = CpuMachine()
    made = products.product(one.way, csr, x, y, language=one.language, device=cpu, block=block, **one.options)
    began = time.perf_counter()
    reports = counting.profile(Plan(lambda: y, made.launches, outputs=(y,)), hazards=False)
    one.seconds = time.perf_counter() - began
    one.counters = counting.together(reports) if reports else {}
    one.faults = checks.faults(csr, x, y)
    one.status = WRONG if one.faults else RIGHT


def _vectors(csr: Csr, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """x of both signs, and a y that nobody has written."""
    x = np.random.default_rng(seed).uniform(-1, 1, csr.columns).astype(csr.dtype)
    return x, np.full(csr.rows, np.nan, csr.dtype)


def _too_long(csr: Csr, way: str, options: dict[str, Any]) -> str:
    """Why the machine does not count a way; "" where it does."""
    steps = longest_walk(csr, way, options)
    if steps > MOST_STEPS:
        return f"not counted here: one lane would walk {steps:,} entries by itself"
    if way == "ell" and padded_bytes(csr) > MOST_BYTES:
        return f"not counted here: {csr.rows:,} rows would be padded to {steps:,} entries each"
    return ""


# --- on a GPU --------------------------------------------------------------------------------------------------------


def _time(
    csr: Csr,
    device: Device,
    runs: Sequence[tuple[str, dict[str, Any], str]],
    block: int,
    seed: int,
    say: Say,
    total: int,
) -> Iterator[Timed]:
    """Each way, then CuPy's own product, on the whole matrix; every answer is checked before its time is taken."""
    from ..libraries import references

    there = csr.on(device.xp)
    x, y = _vectors(csr, seed)
    x_there, y_there = device.xp.asarray(x), device.xp.asarray(y)
    moved = products.csr_bytes(csr)

    def timed(one: Timed, run: Callable[[], Any], answer: Callable[[], Any]) -> Timed:
        run()
        device.synchronize()
        one.faults = checks.faults(csr, x, device.to_host(answer()))
        one.status = WRONG if one.faults else RIGHT
        if not one.faults:
            timing = gpukit.benchmark(run, machine=device.name, flush_l2=True, bytes_moved=moved, name=one.way)
            one.seconds, one.gb_s, one.remarks = timing.median, timing.bandwidth_gb_s, list(timing.remarks)
        return one

    for done, (way, options, language) in enumerate(runs):
        say(f"{way}, {language}, on the GPU", total - len(runs) + done, total)
        one = Timed(way, products.WAYS[way].title, language)
        if way == "ell" and padded_bytes(csr) > (device.memory_bytes or 0) // 4:  # converting takes some more
            one.why = f"padding to the longest row makes {padded_bytes(csr) / 1e9:,.1f} GB"
            yield one
            continue
        y_there[...] = np.nan
        try:
            device.synchronize()
            began = time.perf_counter()
            made = products.product(
                way, there, x_there, y_there, language=language, device=device, block=block, **options
            )
            device.synchronize()
            one.conversion_seconds = time.perf_counter() - began
            yield timed(one, lambda made=made: made.run(device), lambda: y_there)  # type: ignore[misc]
        except MemoryError:  # CuPy's OutOfMemoryError is one
            one.why = "the GPU has not enough memory for this format"
            yield one
    reference = references.REFERENCES["cupyx"]
    one = Timed(reference.name, reference.title, "", why=reference.why_not(device))
    if not one.why:
        prepared = reference.prepare(there, x_there, y_there)
        one = timed(one, prepared.run, prepared.answer)
    yield one
