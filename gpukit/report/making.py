"""From a finished run to its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpukit.gpus import find_gpu
from gpukit.machine.counters import summarise
from gpukit.machine.hazards.findings import find
from gpukit.report.model import LineReport, Number, Report

if TYPE_CHECKING:
    from gpukit.machine.executor import Run
    from gpukit.machine.hazards import Hazard
    from gpukit.machine.program import Launch, Program

_RATIO = "_per_instruction", "_per_request", "_efficiency"
_LARGEST = "atomic_max_contention"


def report_of(made: Launch, run: Run, hazards: bool, gpu: str | None, seconds: float) -> Report:
    """The report of a launch that has run.

    `hazards` is whether they were looked for, `gpu` the name of a GPU whose roofline the findings should mention,
    `seconds` how long the launch took on this computer.
    """
    program, geometry = made.program, run.geometry
    analysis = run.compiled.analysis
    counters, by_line = summarise(program, analysis.blocks, analysis.level, run.counts)
    work = run.counts.work
    ridge = find_gpu(gpu).to_dict() if gpu is not None else None
    findings = [*run.findings, *find(program, made, counters, by_line, work, ridge)]
    by_place = _by_place(program, by_line)
    told: dict[Place, list[Hazard]] = {}
    for hazard in (*run.hazards, *findings):
        told.setdefault((hazard.file, hazard.line), []).append(hazard)
    lines: list[LineReport] = []
    for line in program.source:
        place = line.file, line.number
        lines.append(_line(*place, line.text, by_place.pop(place, {}), told.get(place, [])))
    return Report(
        kernel=program.kernel_name,
        file=program.file,
        grid=made.grid,
        block=made.block,
        threads=geometry.n_blocks * geometry.threads_per_block,
        warps=geometry.n_blocks * geometry.warps_per_block,
        shared_bytes=program.static_shared_bytes + made.shared_bytes,
        level=program.level,
        arguments=made.arguments,
        counters=counters,
        lines=lines,
        folded=_folded(by_place),
        hazards=[h for h in run.hazards if h.severity != "note"],
        findings=[h for h in run.hazards if h.severity == "note"] + findings,
        seconds=seconds,
        output=run.output,
        hazards_checked=hazards,
        imbalance=work.block_imbalance,
    )


Place = tuple[str, int]


def _by_place(program: Program, by_line: Mapping[int, Mapping[str, Number]]) -> dict[Place, dict[str, Number]]:
    """Counters by (file, line number)."""
    places: dict[Place, list[Mapping[str, Number]]] = {}
    for index, counted in by_line.items():
        line = program.lines[index]
        places.setdefault((line.file, line.number), []).append(counted)
    return {place: _sum(parts) for place, parts in places.items()}


def _folded(by_place: Mapping[Place, Mapping[str, Number]]) -> list[LineReport]:
    """One entry per file of the lines that the report does not show."""
    files: dict[str, list[Mapping[str, Number]]] = {}
    for (file, _), counted in by_place.items():
        files.setdefault(file, []).append(counted)
    folded = []
    for file, parts in files.items():
        entry = _line(file, 0, f"{len(parts):,} {'line' if len(parts) == 1 else 'lines'}", _sum(parts), [])
        if entry.counters:
            folded.append(entry)
    return folded


def _sum(parts: Iterable[Mapping[str, Number]]) -> dict[str, Number]:
    """Counters of several lines together; the ratio of active lanes is made anew, other ratios are left out."""
    parts = list(parts)
    if len(parts) == 1:
        return dict(parts[0])
    total: dict[str, Number] = {}
    for part in parts:
        for name, value in part.items():
            if name == _LARGEST:
                total[name] = max(total.get(name, 0), value)
            elif not name.endswith(_RATIO):
                total[name] = total.get(name, 0) + value
    if total.get("warp_instructions"):
        total["active_lanes_per_instruction"] = total["thread_instructions"] / total["warp_instructions"]
    return total


def _line(file: str, number: int, text: str, counted: Mapping[str, Number], here: list[Hazard]) -> LineReport:
    shown = {name: value for name, value in counted.items() if value}
    return LineReport(file, number, text, shown, counted.get("active_lanes_per_instruction") or None, here)
