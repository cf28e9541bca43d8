"""`gpukit bench spmv`: every way to multiply, and every library, on every matrix, as plain data.

An answer must be right before it is timed. On a GPU each kernel first multiplies whole numbers, whose sums are exact,
then the matrix itself, which is held against the rounding bound. All that is right is then timed by turns, one product
of each after the other, with an L2 cache that has been emptied. On the CPU machine, smaller
matrices are multiplied once and what a kernel asks of the memory is counted; its times would say nothing.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import signature
from typing import Any

import numpy as np

from gpukit import provenance, timing
from gpukit.bench import counting, running
from gpukit.bench.plain import plain
from gpukit.bench.running import NOT_RUN, RIGHT, WRONG
from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.registry import CPP, NUMBA, Plan

from .. import choosing, products
from ..errors import MatrixError
from ..formats import Csr
from ..formats.arrays import Array
from ..libraries.cusparse import first_line
from ..libraries.references import REFERENCES, Prepared
from . import summary
from .cases import Case, whole_numbers
from .variants import Variant, too_much, variants

FORMAT = 1
LANGUAGES = (CPP, NUMBA)
LARGE = 200_000_000  # bytes: below it a bandwidth may be a cache's
SECONDS_EACH = 0.3  # for the repeats of each contender on a matrix
HOST_REPEATS = 2
# What is counted on the CPU machine, in the order of its tables.
COUNTERS = (
    "global_load_requests",
    "global_load_sectors",
    "global_store_requests",
    "global_store_sectors",
    "active_lanes_per_instruction",
    "divergent_branches",
    "warp_instructions",
)
BYTES = (
    "GB/s are of v nnz + 4 nnz + p (rows + 1) + v rows + v columns bytes, v of a value and p of a row pointer: CSR, x "
    "once and y once, whatever a kernel moves; own GB/s are of the bytes of its own format, x once and y once"
)
CACHE = (
    "before every repeat the L2 cache was emptied, by writing and then reading twice its size, so that nothing is left "
    "in it, nor to be written back; warm_gb_s is without that"
)
TURNS = "all contenders on a matrix were timed by turns, one product of each after the other"
Say = Callable[[str, int, int], None]


def measure(
    cases: Iterable[Case],
    device: Device,
    *,
    count: int,
    ways: Sequence[str] = (),
    dtype: str = "float32",
    pointer: str = "int32",
    block: int = products.BLOCK,
    command: str = "",
    say: Say = lambda what, done, total: None,
    keep: Callable[[dict[str, Any]], None] = lambda result: None,
) -> dict[str, Any]:
    """Everything about these matrices on a device, ready for JSON; data/README.md describes it.

    Args:
        cases: the matrices, `count` of them; each is made when its turn comes, so that they need not fit together.
        ways: those to measure; by default all.
        dtype, pointer: of the values and of the row pointer, for the record.
        block: threads per block.
        command: what was typed, for the record.
        say: told what is being done, with the steps done and the steps in all.
        keep: given the result so far after every matrix, for a run that may be stopped.

    Raises MatrixError for a way that there is not.
    """
    chosen = variants(ways)
    gpu = device.name == "gpu"
    machine = provenance.provenance(command or "gpukit bench spmv", device)
    ceilings: dict[str, float | None] = {"copy": None, "read": None}
    if gpu:
        say("the bandwidth of a copy and of a read", 0, count)
        ceilings = {
            "copy": timing.copy_ceiling(device).bandwidth_gb_s,
            "read": timing.read_ceiling(device).bandwidth_gb_s,
        }
    result: dict[str, Any] = {
        "what": "gpukit bench spmv",
        "format": FORMAT,
        "machine": machine,
        "device": device.name,
        "dtype": dtype,
        "pointer": pointer,
        "block": block,
        "ways": {name: way.title for name, way in products.WAYS.items()},
        **({"bytes": BYTES, "cache": CACHE, "turns": TURNS} if gpu else {}),
        "counters": [] if gpu else list(COUNTERS),
        "ceilings": ceilings,
        "matrices": [],
    }
    for place, case in enumerate(cases):
        tell = partial(_tell, say, place, count)
        bench = _Bench(case, device, chosen, block, ceilings["copy"], tell)
        result["matrices"].append(bench.measured())
        result["summary"] = summary.summary(result)
        keep(result)
        del bench, case
        gc.collect()
        if gpu:
            device.xp.get_default_memory_pool().free_all_blocks()
    return result


def _tell(say: Say, done: int, total: int, what: str) -> None:
    say(what, done, total)


@dataclass
class _Contender:
    """Something that multiplies: its part of the result, and, while it may still be timed, how it is run."""

    entry: dict[str, Any]
    run: Callable[[], Any] | None = None
    answer: Callable[[], Array] | None = None
    keeps: Any = None


@dataclass
class _Bench:
    """One matrix on a device."""

    case: Case
    device: Device
    variants: Sequence[Variant]
    block: int
    copy_gb_s: float | None
    say: Callable[[str], None]
    conversions: dict[str, float] = field(default_factory=dict)

    def measured(self) -> dict[str, Any]:
        """The matrix's part of the result."""
        self.say(f"{self.case.name}: to the device")
        csr = self.csr
        choice = self._choice()
        chosen = Variant(choice["way"], choice["options"]).without_defaults()
        listed = [*self.variants, *([chosen] if self._is_another(chosen) else [])]
        contenders = [
            self._kernel(variant, language, variant.key == chosen.key) for variant in listed for language in LANGUAGES
        ]
        if self._is_another(chosen):  # all matrices' in one column
            for one in contenders[-len(LANGUAGES) :]:
                one.entry["column"] = f"{chosen.way}, as chosen"
        contenders += [self._library(name) for name in REFERENCES]
        if self.device.name == "gpu":
            self._time(contenders)
        entries = [one.entry for one in contenders]
        longest = int(self.case.lengths.max()) if csr.rows else 0
        bytes_ = products.csr_bytes(csr)
        made = {
            "name": self.case.name,
            "about": self.case.about,
            "rows": csr.rows,
            "columns": csr.columns,
            "nnz": csr.nnz,
            "lengths": {
                "mean": csr.nnz / csr.rows if csr.rows else 0.0,
                "std": float(self.case.lengths.std()) if csr.rows else 0.0,
                "median": float(np.median(self.case.lengths)) if csr.rows else 0.0,
                "max": longest,
                "empty": int((self.case.lengths == 0).sum()),
            },
            "made_s": self.case.seconds,
            "csr_bytes": bytes_,
            "large": bytes_ >= LARGE,
            "choice": choice,
            "entries": entries,
        }
        summary.compare(made, self.copy_gb_s)
        if self.device.name == "gpu":
            self._time_warm(made, contenders)
        return plain(made)

    def _is_another(self, chosen: Variant) -> bool:
        """Whether what was chosen is not among the variants: a way that was asked for, with options of its own."""
        ways = {one.way for one in self.variants}
        return chosen.way in ways and all(one.key != chosen.key for one in self.variants)

    # --- on the device -----------------------------------------------------------------------------------------------

    @cached_property
    def csr(self) -> Csr:
        return self.case.csr.on(self.device.xp)

    @cached_property
    def x(self) -> Array:
        return self.device.xp.asarray(self.case.x)

    @cached_property
    def whole(self) -> tuple[Csr, Array]:
        """The matrix with whole numbers in place of its own, and such a vector."""
        return whole_numbers(self.csr, self.device.xp)

    @cached_property
    def expected(self) -> tuple[Array, Array, Array]:
        """(answer, its bound, answer in whole numbers), float64."""
        xp = self.device.xp
        return xp.asarray(self.case.expected), xp.asarray(self.case.bound), xp.asarray(self.case.whole_expected)

    def _off(self, answer: Array, whole: bool) -> str:
        """What is wrong with an answer; "" if it is right."""
        expected, bound, whole_expected = self.expected
        xp, wanted = self.device.xp, whole_expected if whole else expected
        if answer.shape != wanted.shape:
            return f"the answer has the shape {answer.shape}"
        off = xp.abs(answer.astype(np.float64) - wanted)
        right = off == 0 if whole else off <= bound
        if bool(right.all()):
            return ""
        row, wrong = int((~right).argmax()), int((~right).sum())
        return (
            f"{wrong:,} of {wanted.size:,} rows are wrong: row {row:,}, of {int(self.case.lengths[row]):,} entries, is "
            f"{float(answer[row]):.9g} and must be {float(wanted[row]):.9g}{' exactly' if whole else ''}"
        )

    def _seconds(self, call: Callable[[], Any]) -> float:
        """The least of a few times of what the host and the device do together."""
        found = []
        for _ in range(HOST_REPEATS):
            self.device.synchronize()
            began = time.perf_counter()
            made = call()
            self.device.synchronize()
            found.append(time.perf_counter() - began)
            del made
        return min(found)

    def _choice(self) -> dict[str, Any]:
        choice = choosing.choose_format(self.csr)
        seconds = self._seconds(lambda: choosing.choose_format(self.csr))
        told = {
            "way": choice.way,
            "options": dict(choice.options),
            "why": choice.why,
            "rejected": dict(choice.rejected),
        }
        return told | {"seconds": seconds}

    # --- kernels -----------------------------------------------------------------------------------------------------

    def _kernel(self, variant: Variant, language: str, chosen: bool) -> _Contender:
        """A variant in a language, checked and, on the CPU machine, counted."""
        self.say(f"{self.case.name}: {variant.key}, {language}")
        entry = _entry("kernel", variant.key, products.WAYS[variant.way].title)
        entry |= {"way": variant.way, "options": dict(variant.options), "language": language, "chosen": chosen}
        contender = _Contender(entry)
        why = self._why_not(variant, language)
        if why:
            entry.update(status=NOT_RUN, reason=why)
            return contender
        with _verdict(entry):
            if self.device.name == "gpu":
                self._check(contender, variant, language)
            else:
                self._count(contender, variant, language)
        return contender

    def _why_not(self, variant: Variant, language: str) -> str:
        """Why a variant is not run on this matrix: no compiler, no memory, no patience."""
        reason = running.no_compiler(language, self.device)
        return reason or too_much(variant, self.csr, self.device.name == "gpu")

    def _product(self, variant: Variant, language: str, csr: Csr, x: Array, y: Array) -> products.Product:
        where: dict[str, Any] = {"language": language, "device": self.device, "block": self.block}
        return products.product(variant.way, csr, x, y, **where, **variant.options)

    def _y(self) -> Array:
        """A vector in which nothing is right yet."""
        return self.device.xp.full(self.csr.rows, np.nan, self.csr.dtype)

    def _check(self, contender: _Contender, variant: Variant, language: str) -> None:
        """Whole numbers, then the matrix itself, on a GPU."""
        entry = contender.entry
        csr, x = self.whole
        y = self._y()
        self._product(variant, language, csr, x, y).run(self.device)
        self.device.synchronize()
        wrong = self._off(y, whole=True)
        y = self._y()
        product = self._product(variant, language, self.csr, self.x, y)
        product.run(self.device)
        self.device.synchronize()
        wrong = wrong or self._off(y, whole=False)
        self._describe(entry, product)
        if wrong:
            entry.update(status=WRONG, reason=wrong)
            return
        if product.form is not self.csr:
            entry["conversion_s"] = self._conversion(variant)
        contender.run, contender.answer, contender.keeps = lambda: product.run(self.device), lambda: y, product

    def _conversion(self, variant: Variant) -> float:
        """Seconds of a variant's conversion on the device, which is the same for each language."""
        if variant.key not in self.conversions:
            convert = products.WAYS[variant.way].convert
            options = {name: value for name, value in variant.options.items() if name in signature(convert).parameters}
            self.conversions[variant.key] = self._seconds(lambda: convert(self.csr, **options))
        return self.conversions[variant.key]

    def _count(self, contender: _Contender, variant: Variant, language: str) -> None:
        """One product on the CPU machine: its counters, and whether it is right."""
        y = self._y()
        product = self._product(variant, language, self.csr, self.x, y)
        reports = counting.profile(Plan(answer=lambda: y, launches=product.launches), hazards=False)
        counted = counting.together(reports)
        contender.entry["counters"] = {name: counted[name] for name in COUNTERS}
        self._describe(contender.entry, product)
        if wrong := self._off(y, whole=False):
            contender.entry.update(status=WRONG, reason=wrong)

    def _describe(self, entry: dict[str, Any], product: products.Product) -> None:
        slots = getattr(product.form, "slots", None)
        entry |= {
            "own_bytes": product.bytes_moved,
            "padding": slots / max(self.csr.nnz, 1) if slots is not None else 1.0,
            "conversion_s": 0.0,
        }

    # --- libraries ---------------------------------------------------------------------------------------------------

    def _library(self, name: str) -> _Contender:
        """A reference, prepared and checked."""
        reference = REFERENCES[name]
        self.say(f"{self.case.name}: {reference.title}")
        entry = _entry(reference.group, name, reference.title)
        contender = _Contender(entry)
        why = reference.why_not(self.device)
        if why:
            entry.update(status=NOT_RUN, reason=why)
            return contender
        on_host = reference.on == "host"
        csr, x, y = (self.case.csr, self.case.x, np.empty(0)) if on_host else (self.csr, self.x, self._y())
        with _verdict(entry):
            made: Prepared = reference.prepare(csr, x, y)
            made.run()
            self.device.synchronize()
            wrong = self._off(self.device.xp.asarray(made.answer()), whole=False)
            moved = made.nbytes + self.case.x.nbytes + self.case.expected.size * self.csr.dtype.itemsize
            entry |= {"own_bytes": moved, "conversion_s": made.seconds, "notes": made.notes, "on_host": on_host}
            if wrong:
                entry.update(status=WRONG, reason=wrong)
            else:
                contender.run, contender.answer, contender.keeps = made.run, made.answer, made
        return contender

    # --- time --------------------------------------------------------------------------------------------------------

    def _time(self, contenders: Sequence[_Contender]) -> None:
        """Everything that was right, by turns; what the processor does, by its own clock, after that."""
        self.say(f"{self.case.name}: time")
        alive = {k: one for k, one in enumerate(contenders) if one.run is not None}
        there = {str(k): one.run for k, one in alive.items() if not one.entry.get("on_host") and one.run is not None}
        timings = timing.benchmark_in_turns(there, machine="gpu", flush_l2=True, max_seconds=SECONDS_EACH)
        for key, one in alive.items():
            if one.entry.get("on_host"):
                assert one.run is not None
                timings[str(key)] = timing.benchmark(one.run, machine="cpu", repeats=HOST_REPEATS, warmup=1)
            one.entry["timing"] = told(timings[str(key)])

    def _time_warm(self, made: dict[str, Any], contenders: Sequence[_Contender]) -> None:
        """The chosen kernel, CuPy and the best of cuSPARSE once more, with what the last product left in the cache."""
        keys = {made["chosen"], "cupyx", made["best_cusparse"]}
        alive = {
            str(k): one
            for k, one in enumerate(contenders)
            if one.run is not None and one.entry["key"] in keys and one.entry.get("language") in (None, CPP)
        }
        runs = {key: one.run for key, one in alive.items() if one.run is not None}
        for key, timed in timing.benchmark_in_turns(runs, machine="gpu", max_seconds=SECONDS_EACH).items():
            alive[key].entry["warm_gb_s"] = made["csr_bytes"] / timed.median / 1e9


def _entry(group: str, key: str, title: str) -> dict[str, Any]:
    """A contender before anything is known of it."""
    return {
        "group": group,
        "key": key,
        "column": key,
        "title": title,
        "status": RIGHT,
        "reason": "",
        "timing": None,
        "counters": None,
        "own_bytes": None,
        "conversion_s": None,
    }


@contextmanager
def _verdict(entry: dict[str, Any]) -> Iterator[None]:
    """An error in a contender is its own: a kernel that fails is wrong; what refuses a matrix was not run."""
    ours = entry["group"] == "kernel"
    try:
        yield
    except (MatrixError, MemoryError) as error:
        entry.update(status=NOT_RUN, reason=first_line(error) if isinstance(error, MemoryError) else str(error))
    except GpukitError as error:
        entry.update(status=WRONG if ours else NOT_RUN, reason=str(error))
    except Exception as error:  # a library's own; a mistake of ours must be seen
        if ours:
            raise
        entry.update(status=NOT_RUN, reason=first_line(error))


def told(timed: timing.Timing) -> dict[str, Any]:
    """A timing without the seconds of every repeat, which are many."""
    return {name: value for name, value in timed.to_dict().items() if name in _TOLD}


_TOLD = ("n", "median_s", "spread", "minimum_s", "host_s", "remarks")


def is_wrong(result: dict[str, Any]) -> bool:
    """Whether a kernel of ours gave a wrong answer."""
    return any(
        entry["status"] == WRONG and entry["group"] == "kernel"
        for matrix in result["matrices"]
        for entry in matrix["entries"]
    )
