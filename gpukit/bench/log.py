"""The engineering log, one entry a rung: what was changed, what was hoped for, what came of it, and what to do with it.

On a GPU the clock decides: a rung is kept if it is faster than the one it is compared with by more than the spread of
both. The CPU machine's times mean nothing for a GPU; there the counters decide: whether they moved as the rung says,
and whether one of them shows that something costs less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpukit.bench import running
from gpukit.bench.running import GPU_CLOCK, HAZARD, HOST_CLOCK, NOT_RUN, RACE
from gpukit.bench.units import counter_name, number
from gpukit.registry import Rung
from gpukit.timing import in_units

KEEP, REVERT, WRONG = "keep", "revert", "wrong"
Entry = dict[str, Any]
MORE_IS_BETTER = ("active_lanes_per_instruction", "load_efficiency", "store_efficiency")
_FELL, _ROSE, _STAYED = "was to fall", "was to rise", "was to stay"


def of(rung: Rung, entries: Mapping[str, Entry], device: str) -> dict[str, Any]:
    """The log's entry for a rung, from what was measured of it and of the one it is compared with.

    `decision` is "keep", "revert", "wrong", or None where there is nothing to decide; `why` says why.
    """
    entry = entries[rung.key]
    below = entries.get(rung.against)
    ratio = _speed_up(entry, below)
    decision, why = _decide(rung, entry, below, device)
    return {
        "version": entry["version"],
        "change": entry["change"] or entry["effect"],
        "hypothesis": entry["expect"],
        "result": _result(rung, entry, below),
        "time": _median(entry),
        "speed_up": ratio,
        "bandwidth": entry["bandwidth_gb_s"],
        "decision": decision,
        "why": why,
    }


# --- what came of it -------------------------------------------------------------------------------------------------


def moves(rung: Rung, entry: Entry, below: Entry | None) -> list[tuple[str, str, float, float, bool]]:
    """(counter, what it was to do, before, after, whether it did) of the counters that a rung speaks of."""
    before, after = _values(below), _values(entry)
    if before is None or after is None:
        return []
    found = []
    for names, was_to, came in (
        (rung.falls, _FELL, lambda new, old: new < old),
        (rung.rises, _ROSE, lambda new, old: new > old),
        (rung.stays, _STAYED, lambda new, old: new == old),
    ):
        found += [(name, was_to, before[name], after[name], came(after[name], before[name])) for name in names]
    return found


def _result(rung: Rung, entry: Entry, below: Entry | None) -> str:
    """The times, where the same clock took them, and the counters that were to move."""
    pieces = []
    new = _median(entry)
    if new is not None and _comparable(entry, below):
        old = _median(below)
        assert old is not None
        pieces.append(f"{in_units(old)} -> {in_units(new)} ({old / new:.2f}x)")
    elif new is not None and _is_real(entry):
        pieces.append(in_units(new))
    stayed = []
    for name, was_to, before, after, came in moves(rung, entry, below):
        if before == after:
            stayed.append(counter_name(name) + ("" if came else f" ({was_to})"))
        else:
            change = f"{counter_name(name)} {number(before)} -> {number(after)}"
            pieces.append(change + ("" if came else f" ({was_to})"))
    unchanged = f"unchanged: {', '.join(stayed)}" if stayed else ""
    # Who leaves more to do is not to be compared by the clock alone.
    unlike = below is not None and entry["produces"] != below["produces"]
    leaves = f"it leaves {entry['produces']}, {below['key']} {below['produces']}" if below and unlike else ""
    return "; ".join(part for part in (", ".join(pieces), unchanged, leaves) if part)


# --- what to do with it ----------------------------------------------------------------------------------------------


def _decide(rung: Rung, entry: Entry, below: Entry | None, device: str) -> tuple[str | None, str]:
    status = entry["status"]
    if status == NOT_RUN:
        return None, f"not run: {entry['reason']}"
    if status == running.WRONG:
        return WRONG, entry["reason"]
    if status in (RACE, HAZARD):
        answer = "and the answer is wrong" if "wrong_for_its_hazard" in entry else "although the answer is right here"
        return REVERT, f"a {status}, {answer}: {entry['reason']}"
    if below is None:
        return None, "compared with no other: where a ladder starts, or what others are measured by"
    if below["status"] in (NOT_RUN, running.WRONG):
        return None, f"{below['key']}, which it is compared with, {_what_happened(below)}"
    if _comparable(entry, below):
        return _by_the_clock(entry, below)
    if device == "gpu":
        return None, f"{below['key']} is timed by another clock ({below['clock']}): no difference can be taken"
    return _by_the_counters(rung, entry, below)


def _what_happened(below: Entry) -> str:
    return "is wrong" if below["status"] == running.WRONG else "was not run"


def _by_the_clock(entry: Entry, below: Entry) -> tuple[str, str]:
    new, old = _median(entry), _median(below)
    assert new is not None and old is not None
    noise = sum(timed["spread"] * timed["median_s"] for timed in (entry["timing"], below["timing"]))
    gain = old - new
    if gain > noise:
        return KEEP, f"faster by {in_units(gain)}, more than the spread of both ({in_units(noise)})"
    if -gain > noise:
        return REVERT, f"slower by {in_units(-gain)}"
    return REVERT, f"no faster: {in_units(abs(gain))} apart, within the spread of both ({in_units(noise)})"


def _by_the_counters(rung: Rung, entry: Entry, below: Entry) -> tuple[str | None, str]:
    seen = moves(rung, entry, below)
    if not seen:
        return None, "no counters to go by"
    missed = [f"{counter_name(name)} {was_to}" for name, was_to, *_, came in seen if not came]
    if missed:
        return REVERT, f"counters only: {', '.join(missed)}, and did not"
    if not any(is_gain(name, old, new) for name, _, old, new, _ in seen):
        return REVERT, "counters only: they moved as expected, and nothing costs less"
    return KEEP, "counters only: they moved as expected"


def is_gain(counter: str, before: float, after: float) -> bool:
    """Whether a counter moved to where less is done for the same answer."""
    return after > before if counter in MORE_IS_BETTER else after < before


def _speed_up(entry: Entry, below: Entry | None) -> float | None:
    """Time of the rung it is compared with over its own; None where the clocks differ or are the CPU machine's."""
    new, old = _median(entry), _median(below)
    return old / new if new and old and _comparable(entry, below) else None


def _comparable(entry: Entry, below: Entry | None) -> bool:
    """Whether two times may be set against each other: taken by the same clock, and not by the CPU machine's."""
    return below is not None and below["clock"] == entry["clock"] and _is_real(entry) and _median(below) is not None


def _is_real(entry: Entry) -> bool:
    return entry["clock"] in (GPU_CLOCK, HOST_CLOCK)


def _median(entry: Entry | None) -> float | None:
    return entry["timing"]["median_s"] if entry and entry["timing"] else None


def _values(entry: Entry | None) -> dict[str, float] | None:
    return (entry["counters"] or {}).get("values") if entry else None
