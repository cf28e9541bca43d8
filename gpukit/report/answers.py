"""The questions of the tuning checklist, in its order, answered from the counters of a report.

What is bad enough to act on is decided in one place, the findings: an answer is "look" where a finding or a hazard of
its kind exists, "ok" where the counter is perfect, and "info" in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpukit.gpus import DEFAULT_GPU, WARP_SIZE, find_gpu
from gpukit.machine.counters import SECTOR_BYTES
from gpukit.report.model import LineReport, Report

if TYPE_CHECKING:
    from gpukit.machine.hazards import Hazard

OK, INFO, LOOK = "ok", "info", "look"

IDEAL_SECTORS_PER_REQUEST = 4  # 32 lanes x 4 bytes side by side
FULLY_USED = 0.99  # the last sector of an array is seldom full

# Why a line that a "look" answer points at deserves the look.
COMPLAINTS = {
    "Coalesced?": "its lanes touch memory that is far apart",
    "Divergent?": "lanes of its warps wait for each other",
    "Bank conflicts?": "its lanes queue at the same shared-memory banks",
    "Imbalance?": "some of its blocks or warps work much longer than others",
    "Barriers?": "not every thread reaches this barrier",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A source line to look at."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Answer:
    """`verdict` answers `question` in a word; `proof` is the number behind it; `place` is where to look first."""

    question: str
    verdict: str
    proof: str
    state: str
    place: Place | None = None


def answers(report: Report, gpu: str = DEFAULT_GPU) -> list[Answer]:
    """The questions this report can answer, in the order to ask them."""
    asked = (
        _parallelism(report, gpu),
        _coalescing(report),
        _divergence(report),
        _bank_conflicts(report),
        _imbalance(report),
        _barriers(report),
    )
    return [answer for answer in asked if answer is not None]


def look_first(report: Report, gpu: str = DEFAULT_GPU) -> tuple[Place, str] | None:
    """The line to look at first and why: a wrong result before a slow one, then the order of the questions."""
    for hazard in (*report.errors, *report.warnings):
        place = _place(report, hazard)
        if place is not None:
            reason = "the result is wrong or undefined" if hazard.severity == "error" else "this is usually a bug"
            return place, f"{reason} ({hazard.kind})"
    for answer in answers(report, gpu):
        if answer.state == LOOK and answer.place is not None:
            return answer.place, COMPLAINTS[answer.question]
    return None


def _parallelism(report: Report, gpu: str) -> Answer:
    spec = find_gpu(gpu)
    fits = report.occupancy(gpu)
    question = "Enough parallelism?"
    if fits.blocks_per_sm == 0:
        return Answer(question, "no", f"a block does not fit on an SM: too much {fits.limited_by[0]}", LOOK)
    per_sm = f"{fits.warps_per_sm} of {fits.max_warps_per_sm} per SM"
    if fits.warps_per_sm < fits.max_warps_per_sm:
        per_sm += f", limited by {' and '.join(fits.limited_by)}"
    has = f"{count(report.blocks, 'block')}, {count(report.warps, 'warp')}"
    if spec.sms is None or fits.resident_warps is None:
        return Answer(question, "unknown", f"{has}; {spec.name} holds {per_sm}", INFO)
    if report.blocks < spec.sms:
        proof = f"{has}; {spec.sms - report.blocks} of the {spec.sms} SMs of the {spec.name} have nothing to do"
        return Answer(question, "no", proof, LOOK)
    proof = f"{has}; {spec.name} holds {fits.resident_warps:,} warps at a time ({per_sm})"
    if report.warps < fits.resident_warps:
        return Answer(question, "partly", proof, INFO)
    return Answer(question, "yes", proof, OK)


def _coalescing(report: Report) -> Answer | None:
    parts: list[str] = []
    few = True
    for what in ("load", "store"):
        requests = report.counters.get(f"global_{what}_requests", 0)
        if requests:
            each = report.counters[f"global_{what}_sectors"] / requests
            needed = report.counters.get(f"global_{what}_bytes", 0) / SECTOR_BYTES / requests  # 8 for 8-byte elements
            few = few and FULLY_USED * each <= max(needed, IDEAL_SECTORS_PER_REQUEST)
            parts.append(f"{each:.1f} sectors per {what} request" if not parts else f"{each:.1f} per {what}")
    if not parts:
        return None
    loads = report.counters.get("global_load_requests", 0)
    efficiency = report.counters.get("load_efficiency") if loads else None
    if efficiency is not None:
        # Lanes that read the same bytes use each of them several times.
        used = f"{efficiency:.0%} of loaded bytes used" if efficiency <= 1 else f"each byte used {efficiency:.1f} times"
        parts.append(used)
    place, found = _worst(report, ("uncoalesced",), sectors)
    if found:
        return Answer("Coalesced?", "no", ", ".join(parts), LOOK, place)
    if few and (efficiency is None or efficiency >= FULLY_USED):
        return Answer("Coalesced?", "yes", ", ".join(parts), OK)
    return Answer("Coalesced?", "not fully", ", ".join(parts), INFO)


def _divergence(report: Report) -> Answer | None:
    branches = report.counters.get("branches", 0)
    split = report.counters.get("divergent_branches", 0)
    lanes = report.counters.get("active_lanes_per_instruction")
    parts: list[str] = []
    if branches:
        parts.append(f"{split:,} of {branches:,} warp branches split ({split / branches:.1%})")
    if lanes:
        parts.append(f"{lanes:.1f} of {WARP_SIZE} lanes at work")
    if not parts:
        return None
    # A branch that splits is the cause, lines with few lanes are its effect: point at the branch where there is one.
    place, found = _worst(report, ("divergence",), lambda line: line.counters.get("divergent_branches", 0))
    if not found:
        place, found = _worst(report, ("low_lane_utilisation",), idle_lanes)
    if found:
        return Answer("Divergent?", "yes" if split else "no, but lanes idle", ", ".join(parts), LOOK, place)
    if split:
        return Answer("Divergent?", "costs little", ", ".join(parts), INFO)
    return Answer("Divergent?", "no", ", ".join(parts), OK if lanes is None or lanes >= WARP_SIZE else INFO)


def _bank_conflicts(report: Report) -> Answer | None:
    counters = report.counters
    requests = counters.get("shared_load_requests", 0) + counters.get("shared_store_requests", 0)
    if not requests:
        return None
    extra = bank_conflicts(counters)
    wavefronts = counters.get("shared_load_wavefronts", 0) + counters.get("shared_store_wavefronts", 0)
    proof = f"{wavefronts:,} wavefronts for {requests:,} shared requests, {extra:,} of them conflicts"
    place, found = _worst(report, ("bank_conflicts",), lambda line: bank_conflicts(line.counters))
    if found:
        return Answer("Bank conflicts?", "yes", proof, LOOK, place)
    return Answer("Bank conflicts?", "few" if extra else "none", proof, INFO if extra else OK)


def _imbalance(report: Report) -> Answer | None:
    place, found = _worst(report, ("load_imbalance",), lambda line: line.counters.get("warp_instructions", 0))
    if report.imbalance is not None:
        proof = f"the busiest block does {report.imbalance:.1f} times the work of the average block"
    elif found:
        proof = found[0].message
    else:
        return None
    return Answer("Imbalance?", "yes", proof, LOOK, place) if found else Answer("Imbalance?", "no", proof, OK)


def _barriers(report: Report) -> Answer | None:
    barriers = report.counters.get("barriers", 0)
    kinds = ("barrier_divergence", "barrier_with_exited_threads")
    place, found = _worst(report, kinds, lambda line: line.counters.get("barriers", 0))
    if not barriers and not found:
        return None
    per_block = barriers / report.blocks
    proof = f"{barriers:,} in {count(report.blocks, 'block')} ({per_block:,.1f} per block)"
    if found:
        return Answer("Barriers?", "broken", f"{proof}; not every thread reaches them", LOOK, place)
    if report.hazards_checked:
        return Answer("Barriers?", "fine", f"{proof}; every thread reaches them", OK)
    return Answer("Barriers?", "not checked", proof, INFO)


# --- what a line costs -----------------------------------------------------------------------------------------------


def sectors(line: LineReport) -> float:
    return line.counters.get("global_load_sectors", 0) + line.counters.get("global_store_sectors", 0)


def idle_lanes(line: LineReport) -> float:
    """Lane slots that were issued and did nothing."""
    issued = line.counters.get("warp_instructions", 0) * WARP_SIZE
    return issued - line.counters.get("thread_instructions", 0)


def bank_conflicts(counters: dict[str, int | float]) -> int | float:
    return counters.get("shared_load_bank_conflicts", 0) + counters.get("shared_store_bank_conflicts", 0)


def _worst(
    report: Report, kinds: tuple[str, ...], cost: Callable[[LineReport], float]
) -> tuple[Place | None, list[Hazard]]:
    """The most expensive line that has a hazard or finding of these kinds, and all of those."""
    found = [hazard for hazard in (*report.hazards, *report.findings) if hazard.kind in kinds]
    costs = {Place(line.file, line.number): cost(line) for line in report.lines}
    places = [place for hazard in found if (place := _place(report, hazard)) is not None]
    return max(places, key=lambda place: costs.get(place, 0), default=None), found


def _place(report: Report, hazard: Hazard) -> Place | None:
    return Place(hazard.file or report.file, hazard.line) if hazard.line else None


def count(number: int, noun: str, plural: str = "") -> str:
    """1 block, 2,048 blocks."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
