"""`gpukit bench FAMILY`: every rung checked, counted and timed, as plain data.

A rung must be right before it is timed. First the CPU machine runs it once, to count and to look for hazards; so a wild
address is found there and does not break a GPU's context. Then its answers are checked, on the device that is
measured, over every kind of input, awkward lengths and every block size; then at the size that is measured; then it is
timed, among the others, on the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit import checking, devices, provenance, timing
from gpukit.bench import counting, log, memory, recorded, running
from gpukit.bench.plain import plain
from gpukit.bench.running import CPU_CLOCK, GPU_CLOCK, HAZARD, HOST_CLOCK, NOT_RUN, RACE, RIGHT, WRONG
from gpukit.devices import CpuMachine, Device
from gpukit.errors import GpukitError
from gpukit.gpus import MAX_THREADS_PER_BLOCK
from gpukit.registry import HOST, Family, Plan, Problem, Rung, find_rung

FORMAT = 1
# On the CPU machine a length beyond this is checked with one block size; on a GPU with all of them.
LONG = 1 << 16
CPU_REPEATS, CPU_SECONDS, GPU_SECONDS = 3, 1.0, 3.0
SHOWN_FAILURES = 5

Say = Callable[[str, int, int], None]  # what is done now, steps done, steps in all


def measure(
    family: Family,
    device: Device,
    *,
    n: int | None = None,
    block: int | None = None,
    rungs: Sequence[str] = (),
    seed: int = 0,
    repeats: int | None = None,
    command: str = "",
    say: Say = lambda what, done, total: None,
) -> dict[str, Any]:
    """Everything that is known of a family's rungs on a device; data/README.md describes the result, ready for JSON.

    Args:
        n: the size to measure, in the family's unit; by default the one the family has for the device.
        block: threads per block to measure, by default the family's.
        rungs: keys of those to measure, with those they are compared with; by default all.
        seed: of the random input.
        repeats: timed runs of each rung; by default as many as the clock asks for.
        command: what was typed, for the record.
        say: told what is being done, with the steps done and the steps in all.

    Raises:
        GpukitError: there is no such rung; the size is none that the family can do, or too large for the memory; the
            block is none.
    """
    chosen = _chosen(family, rungs)
    size = _size(family, device, n)
    threads = _threads(family, block)
    runnable = [rung for rung in chosen if not running.why_not(rung, device).text]
    if runnable:
        memory.refuse_too_large(family, runnable, size, threads, device)
    bench = _Bench(family, chosen, device, size, threads, seed, repeats, say)
    with memory.errors_as_sentences(family, size, device):
        return bench.measured(command)


def _chosen(family: Family, keys: Sequence[str]) -> list[Rung]:
    """The rungs asked for and those they are compared with, in the ladder's order."""
    if not keys:
        return list(family.rungs.values())
    wanted = {find_rung(family, key).key for key in keys}
    wanted |= {family.rungs[key].against for key in wanted}
    return [rung for rung in family.rungs.values() if rung.key in wanted]


def _size(family: Family, device: Device, n: int | None) -> int:
    if n is None:
        return family.cpu_n if device.name == "cpu" else family.gpu_n
    if n < 1:
        raise GpukitError(f"n = {n:,} {family.size} leave nothing to measure: give 1 or more")
    return n


def _threads(family: Family, block: int | None) -> int:
    if block is None:
        return family.block
    if not 1 <= block <= MAX_THREADS_PER_BLOCK:
        raise GpukitError(f"a block of {block:,} threads cannot be: it has 1 to {MAX_THREADS_PER_BLOCK:,} of them")
    return block


@dataclass
class _Bench:
    """One measurement while it is made; `entries` are the rungs' part of the result, by key."""

    family: Family
    rungs: list[Rung]
    device: Device
    n: int
    block: int
    seed: int
    repeats: int | None
    say: Say

    def measured(self, command: str) -> dict[str, Any]:
        """The whole result."""
        self.entries = {rung.key: self._entry(rung) for rung in self.rungs}
        lengths = [n for n in self.family.lengths if n != self.n]
        kinds = len(self.family.kinds)
        self._steps, self._done = len(self._alive()) * (1 + kinds * len(lengths) + kinds + 1), 0
        self._count()
        self._check(lengths)
        gpu = self.device.name == "gpu" and bool(self._alive())
        ceilings: dict[str, float | None] = {"copy": None, "read": None}
        if gpu:
            ceilings["copy"] = timing.copy_ceiling(self.device).bandwidth_gb_s
            ceilings["read"] = timing.read_ceiling(self.device).bandwidth_gb_s
        self._time(ceilings)
        entries = list(self.entries.values())
        for entry in entries:
            entry["log"] = log.of(self.family.rungs[entry["key"]], self.entries, self.device.name)
        result = {
            "what": "gpukit bench",
            "format": FORMAT,
            "machine": provenance.provenance(command or f"gpukit bench {self.family.name}", self.device),
            "device": self.device.name,
            "family": self.family.name,
            "about": self.family.document.strip().partition("\n")[0],
            "n": self.n,
            "size": self.family.size,
            "kind": self.family.kinds[-1],
            "block": self.block,
            "seed": self.seed,
            "family_counters": list(self.family.counters),
            "ceilings": ceilings,
            "rungs": entries,
            "sweep": self._sweep,
        }
        if not any("cpu" in rung.machines for rung in self.rungs) and self.device.name == "cpu":
            result["recorded"] = recorded.newest(self.family.name)
        return plain(result)

    def _entry(self, rung: Rung) -> dict[str, Any]:
        """A rung before anything is known of it."""
        sections = rung.sections
        why = running.why_not(rung, self.device)
        return {
            "version": 1 + list(self.family.rungs).index(rung.key),
            "key": rung.key,
            "name": rung.name,
            "language": rung.language,
            "effect": sections["effect"],
            "versus": rung.against,
            "change": sections.get("versus", ""),
            "expect": sections.get("expect", ""),
            "produces": rung.produces,
            "declares": rung.hazard,
            "status": NOT_RUN if why.text else RIGHT,
            "reason": why.text,
            "short_reason": why.short,
            "check": {"cases": 0, "failures": []},
            "counters": None,
            "hazards": None,
            "timing": None,
            "clock": None,
            "bytes_moved": None,
            "flops": None,
            "bandwidth_gb_s": None,
            "fraction_of_copy": None,
            "fraction_of_read": None,
        }

    # --- steps -------------------------------------------------------------------------------------------------------

    def _alive(self) -> list[Rung]:
        """The rungs that nothing is known against yet."""
        return [rung for rung in self.rungs if self.entries[rung.key]["status"] in (RIGHT, RACE, HAZARD)]

    def _each(self, what: str) -> Iterator[Rung]:
        """The rungs that are still right, one after the other, with a step of progress for each."""
        for rung in self._alive():
            self.say(f"{rung.key}: {what}", min(self._done, self._steps), self._steps)
            self._done += 1
            yield rung

    def _problem(self, n: int, kind: str, device: Device) -> Problem:
        return self.family.problem(n, kind, np.random.default_rng([self.seed, n]), device)

    def _wrong(self, rung: Rung, why: str) -> None:
        entry = self.entries[rung.key]
        failures = entry["check"]["failures"]
        if len(failures) < SHOWN_FAILURES:
            failures.append(why)
        entry.update(status=WRONG, reason=failures[0], short_reason=WRONG)

    @contextmanager
    def _verdict(self, rung: Rung, where: str) -> Iterator[None]:
        """An error in a rung is its own: the rung is wrong, and the others go on."""
        try:
            yield
        except GpukitError as error:
            self._wrong(rung, f"{where}: {error}")

    # --- counters and hazards ----------------------------------------------------------------------------------------

    def _count(self) -> None:
        """Counters and hazards of one run of each rung on the CPU machine."""
        cpu = self.device if self.device.name == "cpu" else CpuMachine()
        n = self.n if self.device.name == "cpu" else self.family.cpu_n
        problem = None
        for rung in self._each("counters and hazards on the CPU machine"):
            entry = self.entries[rung.key]
            why = running.why_not(rung, cpu)
            if rung.language == HOST or why.text:
                entry["counters"] = {"missing": why.text or "what the host does is not counted"}
                continue
            if problem is None:
                problem = self._problem(n, self.family.kinds[-1], cpu)
            plan = self._planned(rung, problem, cpu)
            if plan is None:
                continue
            with self._verdict(rung, f"n = {n:,}, {self.block} threads a block"):
                counted = counting.count(rung, plan)
                about = {"level": counted.level, "n": n, "block": self.block}
                entry["counters"] = about | {"values": counted.counters}
                entry["hazards"] = counted.hazards
                self._judge(rung, checking.compare(rung, problem, self.block, np.asarray(plan.answer())), cpu)
                self._judge_hazards(rung, counted.hazards)

    def _planned(self, rung: Rung, problem: Problem, device: Device) -> Plan | None:
        """The rung's plan at the block that is measured; None, and not run, where it cannot have that block."""
        try:
            return rung.plan(problem, self.block, device)
        except GpukitError as error:
            self.entries[rung.key].update(status=NOT_RUN, reason=str(error), short_reason="cannot")
            return None

    def _judge_hazards(self, rung: Rung, hazards: list[dict[str, Any]]) -> None:
        """A hazard that a rung is there to show is said; any other makes it wrong."""
        for hazard in hazards:
            if hazard["kind"] != rung.hazard:
                self._wrong(rung, f"{_told(hazard)} (a hazard that it does not declare)")
        entry = self.entries[rung.key]
        if hazards and entry["status"] == RIGHT:
            is_race = hazards[0]["kind"].startswith("race")
            entry.update(status=RACE if is_race else HAZARD, reason=_told(hazards[0]))

    def _judge(self, rung: Rung, failure: checking.Failure | None, device: Device) -> None:
        self.entries[rung.key]["check"]["cases"] += 1
        if failure is not None and rung.hazard and device.name == "gpu":  # what its hazard may do there
            self.entries[rung.key].setdefault("wrong_for_its_hazard", str(failure).removeprefix(f"{rung.key}: "))
        elif failure is not None:
            self._wrong(rung, str(failure).removeprefix(f"{rung.key}: "))

    # --- right answers -----------------------------------------------------------------------------------------------

    def _check(self, lengths: Sequence[int]) -> None:
        """Every kind of input and length, with every block size."""
        for n in lengths:
            all_blocks = self.device.name == "gpu" or n <= LONG
            blocks = self.family.blocks if all_blocks else (self.family.block,)
            for kind in self.family.kinds:
                problem = self._problem(n, kind, self.device) if self._alive() else None
                for rung in self._each(f"right for n = {n:,}, {kind}?"):
                    assert problem is not None
                    for block in blocks:
                        with self._verdict(rung, f"n = {n:,}, {kind}, {block} threads a block"):
                            self._judge(rung, checking.check_case(rung, problem, block, self.device), self.device)

    # --- time --------------------------------------------------------------------------------------------------------

    def _time(self, ceilings: dict[str, float | None]) -> None:
        """The size that is measured: checked with every kind, timed with the last one."""
        self._sweep: dict[str, Any] | None = None
        for kind in self.family.kinds:
            problem = self._problem(self.n, kind, self.device) if self._alive() else None
            for rung in self._each(f"right for n = {self.n:,}, {kind}?"):
                assert problem is not None
                with self._verdict(rung, f"n = {self.n:,}, {kind}, {self.block} threads a block"):
                    self._judge(rung, checking.check_case(rung, problem, self.block, self.device), self.device)
        for rung in self._each("time"):
            assert problem is not None
            if "wrong_for_its_hazard" in self.entries[rung.key]:
                continue  # the time of a wrong answer is nobody's business
            watched = running.Watched(self.device)
            plan = self._planned(rung, problem, watched)
            if plan is not None:
                with self._verdict(rung, "while it was timed"):
                    if rung.language == HOST:
                        checking.answer_of(plan, watched)
                    clock = running.clock(rung, plan, self.device, watched.launched)
                    self.entries[rung.key] |= self._timed(rung.key, plan, clock, ceilings)
        if self.family.sweep is not None and problem is not None:
            self._sweep = self._swept(problem, ceilings)

    def _timed(self, name: str, plan: Plan, clock: str, ceilings: dict[str, float | None]) -> dict[str, Any]:
        """The part of a rung's entry that a clock gives."""

        def run() -> None:
            devices.run(plan, self.device)
            if clock == HOST_CLOCK:  # which would not see what goes on after the call
                self.device.synchronize()

        timed = timing.benchmark(
            run,
            machine="gpu" if clock == GPU_CLOCK else "cpu",
            restore=(lambda: devices.restore(plan)) if plan.restores else None,
            bytes_moved=plan.bytes_moved or None,
            name=name,
            **self._patience(clock),
        )
        bandwidth = timed.bandwidth_gb_s if clock != CPU_CLOCK else None
        measured: dict[str, Any] = {
            "timing": timed.to_dict(),
            "clock": clock,
            "bytes_moved": plan.bytes_moved or None,
            "flops": plan.flops or None,
            "bandwidth_gb_s": bandwidth,
        }
        if clock == GPU_CLOCK and bandwidth:
            for name, ceiling in ceilings.items():
                measured[f"fraction_of_{name}"] = bandwidth / ceiling if ceiling else None
        return measured

    def _patience(self, clock: str) -> dict[str, Any]:
        """How often to run what is timed."""
        if clock == CPU_CLOCK:
            return {"repeats": self.repeats or CPU_REPEATS, "warmup": 0, "max_seconds": CPU_SECONDS}
        return {"repeats": self.repeats, "max_seconds": GPU_SECONDS if self.device.name == "gpu" else CPU_SECONDS}

    # --- the grid's size ---------------------------------------------------------------------------------------------

    def _swept(self, problem: Problem, ceilings: dict[str, float | None]) -> dict[str, Any]:
        """The swept rungs with each number of blocks: right or not, time, and on the CPU machine counters."""
        sweep = self.family.sweep
        assert sweep is not None
        rows = []
        for rung in self._alive():
            if rung.key not in sweep.rungs:
                continue
            for blocks in sweep.blocks:
                self.say(f"{rung.key} with {blocks:,} blocks", self._steps, self._steps)
                row: dict[str, Any] = {"rung": rung.key, "blocks": blocks, "failure": ""}
                try:
                    plan = sweep.plan(rung.kernel, problem, self.block, self.device, blocks)
                    if self.device.name == "cpu":  # its times mean nothing
                        row["counters"] = counting.count(rung, plan, hazards=False).counters
                        answer = np.asarray(plan.answer())
                    else:
                        answer = checking.answer_of(plan, self.device)
                    failure = checking.compare(rung, problem, self.block, answer)
                    if failure is not None:
                        row["failure"] = str(failure)
                    elif self.device.name == "gpu":
                        row |= self._timed(f"{rung.key}, {blocks} blocks", plan, GPU_CLOCK, ceilings)
                except GpukitError as error:
                    row["failure"] = str(error)
                rows.append(row)
        return {"n": self.n, "block": self.block, "rows": rows}


def _told(hazard: dict[str, Any]) -> str:
    place = f"line {hazard['line']}: "
    return f"{hazard['kind']}, {place}{hazard['message'].removeprefix(place)}"
