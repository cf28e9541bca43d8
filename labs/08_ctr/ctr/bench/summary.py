"""What a ladder says when its rungs are held against each other: pure functions of the plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Result = dict[str, Any]
Entry = dict[str, Any]

EAGER = "one_table"  # dense Adam, operation by operation, all data on the GPU: what the ladder is held against
LARGE = "large"
# Impressions a second that the ladder is to reach, by its batch: an H200 and the model of model/facts.py.
WANTED = {8_192: 30e6, 65_536: 120e6}


def ladders(result: Result) -> dict[int, list[Entry]]:
    """The rungs by the batch of their ladder, in order; the last rung, at a larger batch, is its ladder's."""
    found: dict[int, list[Entry]] = {}
    batch = 0
    for entry in result["ladder"]:
        batch = batch if entry["name"] == LARGE and batch else entry["batch"]
        found.setdefault(batch, []).append(entry)
    return found


def over_the_one_above(rungs: Sequence[Entry]) -> list[float | None]:
    """How many times as many impressions a second as the rung above that was timed; None where there is none."""
    found: list[float | None] = []
    above: float | None = None
    for rung in rungs:
        speed = rung.get("samples_per_second")
        found.append(speed / above if speed and above else None)
        above = speed or above
    return found


def best(rungs: Sequence[Entry]) -> Entry | None:
    """The fastest rung at the ladder's own batch; None where none was timed."""
    timed = [rung for rung in rungs if "samples_per_second" in rung and rung["name"] != LARGE]
    return max(timed, key=lambda rung: rung["samples_per_second"]) if timed else None


def over_eager(rungs: Sequence[Entry]) -> float | None:
    """How many times as fast as the eager loop with dense Adam the best rung is."""
    eager = next((rung for rung in rungs if rung["name"] == EAGER), None)
    fastest = best(rungs)
    if fastest is None or eager is None or "samples_per_second" not in eager:
        return None
    return fastest["samples_per_second"] / eager["samples_per_second"]


def costs(rungs: Sequence[Entry]) -> list[Entry]:
    """The first rung of each cost: what an impression moves and calculates changes with a few switches alone."""
    found: list[Entry] = []
    for rung in rungs:
        if "cost" in rung and all(rung["cost"] != other["cost"] for other in found):
            found.append(rung)
    return found


def profiles(result: Result) -> dict[int, list[Entry]]:
    """By batch."""
    found: dict[int, list[Entry]] = {}
    for entry in result["profiles"]:
        found.setdefault(entry["batch"], []).append(entry)
    return found
