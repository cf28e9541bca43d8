"""Figures of a measured family, drawn by `gpukit.plots` from what `measure` returned and from traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gpukit import devices
from gpukit.bench import log, running
from gpukit.bench.running import HAZARD, RACE, RIGHT
from gpukit.devices import CpuMachine
from gpukit.errors import GpukitError
from gpukit.registry import HOST, Family, Rung

# A trace of so many elements fills a few blocks, and a figure still shows each lane.
TRACED_N = 4096
TRACED_BLOCK = 64


def draw(result: dict[str, Any], family: Family, folder: Path, say: Callable[[str], None]) -> list[Path]:
    """Write the figures that a result has the data for into a folder; their paths.

    ladder.png (bandwidth on a GPU, the family's first counter on the CPU machine), roofline.png and sweep.png (a GPU),
    lanes.png and sectors_*.png (the family's first rung against a later one). What cannot be drawn is left out, and
    `say` is told why.

    """
    made: list[Path] = []
    for name, figure in (("ladder", _ladder), ("roofline", _roofline), ("sweep", _sweep)):
        path = folder / f"{name}.png"
        try:
            if figure(result, path):
                made.append(path)
        except GpukitError as error:
            say(f"no {name}: {error}")
    return made + _of_traces(result, family, folder, say)


# --- of the result ---------------------------------------------------------------------------------------------------


def _facts(result: dict[str, Any]) -> dict[str, Any]:
    made = result["machine"]
    device = made.get("gpu", "an NVIDIA GPU") if result["device"] == "gpu" else "CPU machine"
    return {"device": device, "date": made["date"], "n": result["n"]}


def timed_rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Rungs with a bandwidth, as rows."""
    rows = []
    for entry in result["rungs"]:
        if not entry["bandwidth_gb_s"]:
            continue
        timing, moved = entry["timing"], entry["bytes_moved"]
        half = timing["spread"] * timing["median_s"] / 2
        rows.append(
            {
                "name": entry["key"],
                "language": entry["language"],
                "bandwidth_gb_s": entry["bandwidth_gb_s"],
                "low": moved / (timing["median_s"] + half) / 1e9,
                "high": moved / max(timing["median_s"] - half, timing["minimum_s"] / 2) / 1e9,
                "best": moved / timing["minimum_s"] / 1e9,
                "produces": entry["produces"],
                "verdict": _verdict(entry),
                "flops_per_byte": (entry["flops"] or 0) / moved,
                **({"against": entry["versus"]} if entry["versus"] else {}),
            }
        )
    return rows


def _verdict(entry: dict[str, Any]) -> str:
    decision = entry["log"]["decision"]
    return (
        entry["status"] if entry["status"] in (RACE, HAZARD) else decision if decision in (log.KEEP, log.REVERT) else ""
    )


def _ladder(result: dict[str, Any], path: Path) -> bool:
    from gpukit import plots

    if result["device"] == "gpu":
        rows = timed_rows(result)
        known = {name: speed for name, speed in result["ceilings"].items() if speed}
        if rows:
            plots.ladder(rows, path, ceilings=known, **_facts(result))
        return bool(rows)
    counter = next((name for name in result["family_counters"] if name not in log.MORE_IS_BETTER), "")
    shown = counter.replace("_", " ")
    counted = [
        {"name": e["key"], "language": e["language"], shown: e["counters"]["values"][counter]}
        | {"produces": e["produces"], "verdict": _verdict(e)}
        | ({"against": e["versus"]} if e["versus"] else {})
        for e in result["rungs"]
        if counter in (e["counters"] or {}).get("values", {})
    ]
    if counted:
        plots.ladder(counted, path, counter=shown, **_facts(result))
    return bool(counted)


def _roofline(result: dict[str, Any], path: Path) -> bool:
    from gpukit import plots
    from gpukit.gpus import gpu_called

    points = [row for row in timed_rows(result) if row["flops_per_byte"]]
    if result["device"] != "gpu" or not points:
        return False
    name = result["machine"].get("gpu", "")
    known = gpu_called(name)
    if known is None:
        raise GpukitError(f"gpukit has no specifications of {name or 'this GPU'}")
    gpu = known.to_dict()
    gpu |= {f"{name}_gb_s": speed for name, speed in result["ceilings"].items() if speed}
    plots.roofline(points, gpu, path)
    return True


def _sweep(result: dict[str, Any], path: Path) -> bool:
    from gpukit import plots

    rows = [row for row in (result["sweep"] or {"rows": []})["rows"] if row.get("bandwidth_gb_s")]
    if not rows:
        return False
    shown = [{"name": row["rung"], "blocks": row["blocks"], "bandwidth_gb_s": row["bandwidth_gb_s"]} for row in rows]
    plots.sweep(shown, path, sms=result["machine"]["sms"], ceiling_gb_s=result["ceilings"]["copy"], **_facts(result))
    return True


# --- of traces -------------------------------------------------------------------------------------------------------


def _of_traces(result: dict[str, Any], family: Family, folder: Path, say: Callable[[str], None]) -> list[Path]:
    """The lanes of the first rung beside a later one, and the sectors of each."""
    from gpukit import plots

    made: list[Path] = []
    traces = [(rung, trace) for rung in _pair(result, family) if (trace := _trace(rung, family, say)) is not None]
    if not traces:
        return made
    jobs: list[tuple[str, Callable[[Path], None]]] = [
        ("lanes", lambda path: plots.lanes([trace for _, trace in traces], path, block=0))
    ]
    for rung, trace in traces:
        jobs.append((f"sectors_{rung.name}", lambda path, trace=trace: plots.sectors(trace, path)))  # type: ignore[misc]
    for name, job in jobs:
        path = folder / f"{name}.png"
        try:
            job(path)
        except GpukitError as error:
            say(f"no {name}: {error}")
        else:
            made.append(path)
    return made


def _pair(result: dict[str, Any], family: Family) -> list[Rung]:
    """The first kernel of the family in Python, and the last of the steps that build on it one by one."""
    sound = {entry["key"] for entry in result["rungs"] if entry["status"] in (RIGHT, RACE, HAZARD)}
    cpu = CpuMachine()
    rungs = [
        rung
        for rung in family.rungs.values()
        if rung.key in sound and rung.language != HOST and not running.why_not(rung, cpu).text
    ]
    if not rungs:
        return []
    first = rungs[0]
    last, found = first, [first]
    for rung in rungs[1:]:
        if rung.against == last.key:
            last = rung
    return found if last is first else [first, last]


def _trace(rung: Rung, family: Family, say: Callable[[str], None]) -> dict[str, Any] | None:
    """What thread block 0 of a rung's first launch does on a small problem."""
    from gpukit.tracing import trace

    cpu = CpuMachine()
    try:
        problem = family.problem(min(TRACED_N, family.cpu_n), family.kinds[-1], np.random.default_rng(0), cpu)
        block = TRACED_BLOCK if TRACED_BLOCK in family.blocks else min(family.blocks)
        plan = rung.plan(problem, block, cpu)
        devices.restore(plan)
        launch = plan.launches[0]
        return trace(
            *(launch.kernel, launch.grid, launch.block, *launch.args), shared_bytes=launch.shared_bytes, blocks=(0,)
        ).to_dict()
    except GpukitError as error:
        say(f"no trace of {rung.key}: {error}")
        return None
