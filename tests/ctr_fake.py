"""A made-up result of `gpukit bench ctr --machine gpu`: the shape of a real one, numbers of nobody."""

from __future__ import annotations

import importlib
from typing import Any

from gpukit import plugins

plugins.load("ctr")
costs = importlib.import_module("gpukit_labs.ctr.bench.cost")
ladders = importlib.import_module("gpukit_labs.ctr.fast.switches")

GB_S, TFLOPS = 4_250.0, {"float32": 50.0, "bfloat16": 750.0}
ROWS = 11_101_260
# us a step at batch 8,192 and at 65,536, rung by rung.
TIMES = {
    "rows": (60_000, 480_000),
    "batches": (9_800, 22_000),
    "prefetch": (9_200, 14_000),
    "resident": (9_000, 9_900),
    "no_reads": (8_900, 9_800),
    "one_table": (8_600, 9_400),
    "fused": (4_100, 4_800),
    "rowwise": (1_150, 2_100),
    "kernels": (420, 900),
    "bfloat16": (450, 640),
    "compiled": (330, 520),
    "graph": (190, 450),
    "large": (450, 1_500),
}
PROFILED = {
    "one_table": {"Adam": 0.8, "elementwise passes": 0.12, "matrix products": 0.02},
    "rowwise": {"update": 0.4, "sort": 0.1, "gather": 0.05, "matrix products": 0.1, "elementwise passes": 0.1},
    "kernels": {"matrix products": 0.4, "elementwise passes": 0.2, "sort": 0.1, "gather": 0.1, "update": 0.05},
    "graph": {"matrix products": 0.35, "elementwise passes": 0.25, "gather": 0.1, "update": 0.1, "sort": 0.3},
}


def entry(rung: Any, us: float, ladder_batch: int) -> dict[str, Any]:
    """A rung as `Ladder.time` records it."""
    switches = rung.switches
    dense = switches.optimizer in ("dense", "fused")
    cost = costs.cost(
        fields=6,
        dim=32,
        numbers=13,
        hidden=(256, 128),
        element=2 if switches.precision == "bfloat16" else 4,
        distinct=0.4,
        dense_rows_per_sample=ROWS / switches.batch if dense else 0.0,
    )
    floor = cost.floor_seconds(GB_S, TFLOPS[switches.precision]) * switches.batch
    seconds = us * 1e-6
    return {
        "batch": switches.batch,
        "name": rung.name,
        "change": rung.change,
        "why": rung.why,
        "switches": switches.to_dict(),
        "seconds": seconds,
        "fastest": 0.98 * seconds,
        "slowest": 1.02 * seconds,
        "steps": 10,
        "rounds": 5,
        "samples_per_second": switches.batch / seconds,
        "cost": cost.to_dict(),
        "floor_seconds": floor,
        "fraction": floor / seconds,
    }


def quality(batch: int) -> list[dict[str, Any]]:
    found = []
    for name, rung, difference in (
        ("row-wise, float32, eager", "rowwise", None),
        ("dense Adam, eager", "one_table", 0.0031),
        ("all switches", "graph", -0.00004),
    ):
        entry = {
            "rung": rung,
            "name": name,
            "batch": batch,
            "samples": 14_000_000,
            "train_loss": 0.29,
            "logloss": 0.29 + (difference or 0.0),
            "standard_error": 0.00028,
            "normalized_entropy": 0.89,
            "auc": 0.741,
            "auc_standard_error": 0.0004,
            "calibration": 1.001,
        }
        if difference is not None:
            entry |= {
                "reference": "row-wise, float32, eager",
                "difference": difference,
                "difference_in_standard_errors": abs(difference) / 0.00028,
                "paired_standard_error": 0.00001,
            }
        found.append(entry)
    return found


def profile(batch: int, rung: str, us: float) -> dict[str, Any]:
    groups = {name: {"us": share * us, "launches": 3.0} for name, share in PROFILED[rung].items()}
    return {
        "batch": batch,
        "rung": rung,
        "steps": 20,
        "us_of_step": us,
        "us_of_kernels": sum(group["us"] for group in groups.values()),
        "launches": 3.0 * len(groups),
        "groups": groups,
        "kernels": [],
    }


def result() -> dict[str, Any]:
    """Both ladders, three batches tested, four rungs profiled at each batch; one rung failed."""
    rungs = []
    for column, (batch, large) in enumerate(((8_192, 65_536), (65_536, 262_144))):
        rungs += [entry(rung, TIMES[rung.name][column], batch) for rung in ladders.ladder(batch, large)]
    failed = next(one for one in rungs if one["name"] == "prefetch" and one["batch"] == 65_536)
    kept = {key: failed[key] for key in ("batch", "name", "change", "why", "switches")}
    failed.clear()
    failed.update(kept, error="RuntimeError: no pinned memory is left")
    return {
        "what": "gpukit bench ctr",
        "format": 1,
        "device": "gpu",
        "machine": {"gpu": "NVIDIA H200", "date": "2026-11-30", "command": "gpukit bench ctr --machine gpu"},
        "ceilings": {"copy": GB_S, "tflops": TFLOPS},
        "samples": 14_000_000,
        "model": {
            "fields": {
                "member": 10_000_000,
                "ad": 1_000_000,
                "campaign": 100_000,
                "device": 10,
                "country": 250,
                "slot": 1_000,
            },
            "numbers": 13,
            "dim": 32,
            "hidden": [256, 128],
        },
        "log": {
            "rows": 20_000_000,
            "train": 14_000_000,
            "test": 4_000_000,
            "clicks": 0.1,
            "bayes_logloss": 0.28321,
            "bayes_auc": 0.7654,
            "about": {},
        },
        "ladder": rungs,
        "quality": [one for batch in (8_192, 65_536, 262_144) for one in quality(batch)],
        "profiles": [
            profile(batch, rung, TIMES[rung][column])
            for column, batch in enumerate((8_192, 65_536))
            for rung in PROFILED
        ],
    }
