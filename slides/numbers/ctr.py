"""Numbers and tables of the deck on click-through rates: what an H200 made of lab 8's training."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gpukit.slides import Table, recording

from . import common

RECORDED = "data/results/ctr_h200.json"
SHARDED = "data/results/ctr_sharded_h200_{}.json"
BATCH, LARGE, LARGEST = 8192, 65_536, 262_144


# --- the ladder ------------------------------------------------------------------------------------------------------


def ladder(batch: int = BATCH) -> dict[str, dict[str, Any]]:
    """Rungs of one batch by name, in order, each with `step_over`, how many times as fast as the rung above."""
    found, before = {}, None
    for rung in recording(RECORDED)["ladder"]:
        if rung["batch"] != batch or rung["name"] == "large":
            continue
        found[rung["name"]] = {**rung, "step_over": before and before["seconds"] / rung["seconds"]}
        before = rung
    return found


def of_the_floor() -> str:
    """How much of its floor the step with one table reaches."""
    return common.percent(ladder()["one_table"]["fraction"])


def graph_gain() -> str:
    return f"{ladder()['graph']['step_over']:.0f}"


def rowwise_gain() -> str:
    return f"{ladder()['rowwise']['step_over']:.1f}"


def kernels_gain() -> str:
    return f"{ladder()['kernels']['step_over']:.2f}"


def all_gain() -> str:
    """All rungs together against the first."""
    rungs = ladder()
    return f"{rungs['rows']['seconds'] / rungs['graph']['seconds']:,.0f}"


def step(name: str) -> str:
    seconds = ladder()[name]["seconds"]
    return f"{seconds * 1e3:,.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:,.0f} us"


def step_of_batches() -> str:
    return step("batches")


def step_of_graph() -> str:
    return step("graph")


def floor_of_graph() -> str:
    return f"{ladder()['graph']['floor_seconds'] * 1e6:.0f} us"


def switches() -> Table:
    """What a switch is worth on its own rung, and once the step is one graph."""
    back = {(one["name"], one["batch"]): one for one in recording(RECORDED)["turned_back"]}
    rows = []
    for name, what, reverted in (
        ("bfloat16", "bf16 in the MLP", "no_bfloat16"),
        ("compiled", "torch.compile (fusion)", "no_compile"),
    ):
        row = [what]
        for batch in (BATCH, LARGE):
            rungs = ladder(batch)
            row.append(f"{rungs[name]['step_over']:.2f}x")
            row.append(f"{back[reverted, batch]['seconds'] / rungs['graph']['seconds']:.2f}x")
        rows.append(row)
    header = ["switch", "8,192: own rung", "in the graph", "65,536: own rung", "in the graph"]
    return Table(header, rows, numeric=[1, 2, 3, 4])


# --- where the time goes ---------------------------------------------------------------------------------------------


def busy() -> dict[str, tuple[float, float]]:
    """Of the rungs that were profiled at the small batch: share of the step with a kernel, and launches.

    Kernels that run side by side count each for itself, so that the share may pass 1.
    """
    return {
        one["rung"]: (one["us_of_kernels"] / one["us_of_step"], one["launches"])
        for one in recording(RECORDED)["profiles"]
        if one["batch"] == BATCH
    }


def busy_with_dense_adam() -> str:
    return common.percent(busy()["one_table"][0])


def idle_of_kernels() -> str:
    """How much of a step of the rung `kernels` no kernel runs."""
    return common.percent(1 - busy()["kernels"][0])


def launches_of_kernels() -> str:
    return f"{busy()['kernels'][1]:.0f}"


def rows_of_table() -> str:
    return f"{sum(recording(RECORDED)['model']['fields'].values()):,}"


# --- quality ---------------------------------------------------------------------------------------------------------


def quality() -> Table:
    """Test loss after the same impressions: all switches against the plain reference, at three batches."""
    rows = []
    entries = recording(RECORDED)["quality"]
    rates = _rates()
    for batch in (BATCH, LARGE, LARGEST):
        found = {one["rung"]: one for one in entries if one["batch"] == batch}
        plain, fast = found["rowwise"], found["graph"]
        off = abs(fast["difference_in_standard_errors"])
        rows.append(
            [
                f"{batch:,}",
                f"{rates[batch]:.0f}",
                f"{plain['logloss']:.4f}",
                f"{fast['logloss']:.4f}",
                f"{off:.2f} s.e.",
                f"{fast['auc']:.3f}",
                f"{fast['calibration']:.3f}",
            ]
        )
    header = ["batch", "M/s", "logloss, plain", "all switches", "apart", "AUC", "calibration"]
    return Table(header, rows, numeric=[0, 1, 2, 3, 4, 5, 6])


def _rates() -> dict[int, float]:
    """Million impressions a second with all switches, by batch."""
    found = {
        rung["batch"]: rung["samples_per_second"] / 1e6
        for rung in recording(RECORDED)["ladder"]
        if rung["name"] == "large"
    }
    return {BATCH: ladder()["graph"]["samples_per_second"] / 1e6, **found}


def by_batch() -> list[tuple[int, float, float]]:
    """(batch, million impressions a second, AUC) with all switches."""
    auc = {one["batch"]: one["auc"] for one in recording(RECORDED)["quality"] if one["rung"] == "graph"}
    return [(batch, rate, auc[batch]) for batch, rate in sorted(_rates().items())]


def best_auc() -> str:
    """What the true probabilities reach."""
    return f"{recording(RECORDED)['log']['bayes_auc']:.3f}"


# --- a leak ----------------------------------------------------------------------------------------------------------


@functools.cache
def leak() -> dict[str, float]:
    """AUC of a member's click rate as the only feature, where every click is a coin's: no feature can know anything.

    Of 40,000 impressions of 10,000 members, in order of time; clicks are drawn with 10 %, whoever sees the ad.
    """
    rng = np.random.default_rng(0)
    members, clicks = rng.integers(0, 10_000, 40_000), rng.random(40_000) < 0.1
    seen, clicked = np.zeros(10_000), np.zeros(10_000)
    before = np.empty(members.size)
    for place, (member, click) in enumerate(zip(members, clicks, strict=True)):
        before[place] = (clicked[member] + 2) / (seen[member] + 20)
        seen[member] += 1
        clicked[member] += click
    whole = (clicked[members] + 2) / (seen[members] + 20)
    return {"of the past": auc(clicks, before), "of the whole log": auc(clicks, whole)}


def auc_of_the_past() -> str:
    return f"{leak()['of the past']:.2f}"


def auc_of_the_whole_log() -> str:
    return f"{leak()['of the whole log']:.2f}"


def auc(clicks: np.ndarray, scores: np.ndarray) -> float:
    """The chance that an impression with a click has a higher score than one without; ties count half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    won = int(clicks.sum())
    return float((rank[clicks].sum() - won * (won + 1) / 2) / (won * (clicks.size - won)))


# --- two GPUs --------------------------------------------------------------------------------------------------------


def sharding() -> Table:
    """One H200 and two, table sharded by rows: small fields whole in each, bfloat16 exchanged, a graph a step."""
    one, two = (_setting(gpus) for gpus in (1, 2))
    rows = []
    for batch in (BATCH, LARGE, LARGEST):
        alone, both = one[batch], two[batch]
        rows.append([f"{batch:,}", f"{alone / 1e6:.1f}", f"{both / 1e6:.1f}", f"{both / alone:.2f}x"])
    header = ["batch of a GPU", "one, M/s", "two, M/s", "gain"]
    return Table(header, rows, numeric=[0, 1, 2, 3])


def _setting(gpus: int) -> dict[int, float]:
    result = recording(SHARDED.format(gpus))
    return {
        one["batch"]: one["samples_per_second"]
        for one in result["settings"]
        if one["exchange"] == "bfloat16" and one["replicate"] and one["mode"] == "graph"
    }
