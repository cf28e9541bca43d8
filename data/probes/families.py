"""The rungs of gpukit's families on a GPU: hardware counters of each launch, and what compute-sanitizer says.

On a machine with an NVIDIA GPU, CuPy, numba-cuda, Nsight Compute and compute-sanitizer, from the top of a checkout:

    PYTHONPATH=. python data/probes/families.py --record results          # results/counters.json, results/verdicts.json

Anywhere, with the compilers of the `compiled` extra, count the same launches on the CPU machine, print what differs and
write the record, in which every difference must have a reason (REASONS below):

    python data/probes/families.py --compare results
    python data/probes/families.py --publish results         # data/results/h200_families.json

Times are not taken here but by `gpukit bench FAMILY --machine gpu --out FILE`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import gpukit
from gpukit import checking, devices, registry
from gpukit.bench import counting
from gpukit.gpu import metrics, ncu
from gpukit.gpu.metrics import METRICS
from gpukit.provenance import provenance
from gpukit.registry import Family, Plan, Problem, Rung

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "data/results/h200_families.json"
# What must be equal: the memory counters. Local memory is the registers' business, instructions the assembler's.
COMPARED = tuple(name for name in metrics.COMPARED if name.startswith(("global_", "shared_")))
# The sanitizer's tools; small sizes, since each access is followed.
TOOLS = ("memcheck", "synccheck")
SANITIZED_N = 5_000
LONG_NAME = re.compile(r"gpukit::kernels::\w+::(\w+)\[.*?\]\(.*?\)(?=\+0x)")  # numba's, with its argument types
# Families read a second time: they show bank conflicts that the addresses do not have, and whose number varies.
TWICE, AGAIN = ("reduction", "transpose"), " (again)"
STRAY = 0.05  # of the wavefronts at most
SUMMARY = re.compile(r"(?:ERROR|RACECHECK|SYNCCHECK) SUMMARY: (.*)")


# --- what is launched ------------------------------------------------------------------------------------------------


def rungs() -> Iterator[tuple[Family, Rung]]:
    """Every rung that is a kernel and runs on both machines, in order."""
    for family in registry.own_families().values():
        for rung in family.rungs.values():
            if rung.kernel is not None and {"cpu", "gpu"} <= set(rung.machines):
                yield family, rung


def problem_on_host(family: Family, n: int) -> Problem:
    """The same numbers on every machine: drawn by NumPy."""
    return family.problem(n, family.kinds[-1], np.random.default_rng(0), devices.device("cpu"))


def plans(
    n: int | None, device: devices.Device, only: str | None = None
) -> Iterator[tuple[str, Family, Rung, Problem, Plan]]:
    """(name, family, rung, problem, plan) of every rung, at the family's size for the CPU machine or at n."""
    of: tuple[str, Problem] | None = None
    for family, rung in rungs():
        if only is not None and f"{family.name}.{rung.key}" != only:
            continue
        if of is None or of[0] != family.name:
            made = problem_on_host(family, n or family.cpu_n)
            arrays = {name: device.xp.asarray(array) for name, array in made.arrays.items()}
            of = family.name, replace(made, arrays=arrays)
        yield f"{family.name}.{rung.key}", family, rung, of[1], rung.plan(of[1], family.block, device)


def launch_names(name: str, plan: Plan) -> list[str]:
    """What each launch of a plan is called in the record."""
    return [name] if len(plan.launches) == 1 else [f"{name}/{k + 1}" for k in range(len(plan.launches))]


# --- on the GPU ------------------------------------------------------------------------------------------------------


def run(n: int | None, out: Path | None, only: str | None) -> None:
    """Launch everything once on the GPU, with Nsight Compute's profiler on for the launches and nothing else."""
    import cupy

    gpu = devices.device("gpu")
    launched: list[str] = []
    failed: dict[str, str] = {}
    raced: dict[str, str] = {}
    listed = [(*of_rung, "") for of_rung in plans(n, gpu, only)]
    again = [(*of_rung, AGAIN) for *of_rung, _ in listed if of_rung[1].name in TWICE]
    for name, family, rung, problem, plan, suffix in (*listed, *(again if only is None else ())):
        devices.poison(plan)
        devices.restore(plan)
        gpu.synchronize()
        try:
            cupy.cuda.profiler.start()
            devices.run(plan, gpu)
            gpu.synchronize()
            cupy.cuda.profiler.stop()
        except gpukit.GpukitError as error:
            failed[name] = str(error)
            continue
        wrong = checking.compare(rung, problem, family.block, np.asarray(plan.answer()))
        if wrong is not None:
            (raced if rung.hazard else failed)[name + suffix] = str(wrong)
        launched += [launch + suffix for launch in launch_names(name, plan)]
    if out is not None:
        out.write_text(json.dumps({"launched": launched, "wrong": failed, "wrong_for_a_race": raced}, indent=1))
    print(f"{len(launched)} launches, wrong: {failed}, wrong for a race: {raced}")


def record(out: Path) -> None:
    """Counters and verdicts of this machine's GPU."""
    out.mkdir(parents=True, exist_ok=True)
    run_again = [sys.executable, __file__, "--run", str(out / "launched.json")]
    table = out / "counters.csv"
    asked = ncu.command("ncu", [*METRICS.values()], str(table), run_again)
    if subprocess.run(asked, stdout=subprocess.DEVNULL).returncode:
        sys.exit(f"Nsight Compute stopped: {table.read_text()[-2000:] if table.exists() else ''}")
    listed = json.loads((out / "launched.json").read_text())
    version = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.splitlines()[-1].split()[1]
    command = " ".join(ncu.command("ncu", [*METRICS.values()], "counters.csv", ["python", "families.py", "--run", "-"]))
    machine = provenance(command, devices.device("gpu")) | {"ncu": version}
    result = {"machine": machine, "wrong": listed["wrong"]}
    result |= {"wrong_for_a_race": listed["wrong_for_a_race"], "launches": collected(table, listed["launched"])}
    (out / "counters.json").write_text(json.dumps(result, indent=1))
    print(f"counters of {len(result['launches'])} launches")
    sanitize(out)


def collected(table: Path, names: list[str]) -> dict[str, dict[str, int]]:
    """Counters that are not 0 by launch, from Nsight Compute's CSV file, in which launches have their order."""
    readings = ncu.parse(table.read_text())
    return {
        name: {counter: value for counter, value in reading.counters.items() if value}
        for name, reading in zip(names, readings, strict=True)
    }


def sanitize(out: Path) -> None:
    """What racecheck says of each rung that is there to show a hazard and of those that differ from it in one thing;
    what the other tools say of all rungs. Written after each answer, so that a run that is stopped leaves the rest."""
    asked: list[tuple[str, str | None]] = []
    for family, rung in rungs():
        racy = [r for r in family.rungs.values() if r.hazard]
        if any(rung is r or rung.against == r.key or r.against == rung.key for r in racy):
            asked.append(("racecheck", f"{family.name}.{rung.key}"))
    asked += [(tool, None) for tool in TOOLS]
    version = subprocess.run(["compute-sanitizer", "--version"], capture_output=True, text=True).stdout
    verdicts: dict[str, dict[str, Any]] = defaultdict(dict)
    result = {
        "tool": next((line for line in version.splitlines() if "ersion" in line), "compute-sanitizer"),
        "command": f"compute-sanitizer --tool TOOL python families.py --n {SANITIZED_N} --only RUNG --run -",
        "verdicts": verdicts,
    }
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        waited = {pool.submit(sanitized, *pair): pair for pair in asked}
        for done in concurrent.futures.as_completed(waited):
            tool, only = waited[done]
            verdicts[only or "all rungs"][tool] = done.result()
            (out / "verdicts.json").write_text(json.dumps(result, indent=1))
            print(only or "all rungs", tool, done.result(), flush=True)


def sanitized(tool: str, only: str | None) -> dict[str, Any]:
    """One run under a tool: its summary line, and its first messages."""
    words = ["compute-sanitizer", "--tool", tool, "--print-limit", "20"]
    words += ["--report-api-errors", "no"] if tool == "memcheck" else []  # CuPy asks for functions a driver may lack
    words += [sys.executable, __file__]
    words += ["--n", str(SANITIZED_N), *(["--only", only] if only else []), "--run", "-"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=400)
    text = done.stdout + done.stderr
    found = SUMMARY.findall(text)
    messages = [
        LONG_NAME.sub(r"\1", line.removeprefix("=========").strip())
        for line in text.splitlines()
        if re.match(r"=+ +(Error|Warning|Invalid|Uninit|Barrier)", line)
    ]
    return {"summary": found[-1] if found else text[-400:], "messages": messages[:6]}


# --- on the CPU machine ----------------------------------------------------------------------------------------------


def counted(plan: Plan, level: str | None) -> list[dict[str, int]]:
    """Counters of each launch of a plan that are compared."""
    return [compared(report.counters) for report in counting.profile(plan, hazards=False, level=level)]


def compared(counters: Mapping[str, int | float]) -> dict[str, int]:
    """The counters that are compared; what is not there was 0."""
    return {name: int(counters.get(name, 0)) for name in COMPARED}


# Rung -> level -> why its counters differ from the hardware's. What is not here must be equal.
ORDER = "the order of the atomics decides which lanes store side by side; it varies between runs of the hardware"
UNROLLED = "the compiler unrolls the loop by four: lanes with different numbers of rounds are then in different rounds"
WIDE = "the assembler loads four neighbouring elements of the tile at a time"
POLLS = "blocks wait for each other by loads of a counter, as many as the wait takes"
REASONS: dict[str, dict[str, str]] = {
    "divergence.by_lane": {"source": "both sides load x[i]; the compiler loads it once, before the branch"},
    "matmul.tiled_16": {"source": WIDE},
    "matmul.tiled_32": {"source": WIDE},
    "purchases.customer_per_thread": {"source": UNROLLED},
    "purchases.grouped": {"source": UNROLLED},
    "purchases.grouped_copy": {"source": UNROLLED},
    "reduction.last_warp_volatile": {
        "source": "the compiler keeps the lane's own sum in a register and loads it no more"
    },
    "reduction.finish_grid_sync": {
        "source": "the barrier of the grid is one step here, and atomics and waiting loads on a GPU: " + POLLS,
        "compiled": "the barrier of the grid is a library's function, one step here: " + POLLS,
    },
    "reduction.cpp:finish_grid_sync": {"compiled": POLLS},
    "warp_compaction.atomic_each": {
        "source": "the assembler makes one atomic a warp of them, and: " + ORDER,
        "compiled": ORDER,
    },
    "warp_compaction.ballot": {"source": ORDER, "compiled": ORDER},
    "warp_compaction.cpp:ballot": {"compiled": ORDER},
}


def reason(launch: str, level: str) -> str:
    """Why a launch differs; "" where no reason is known."""
    return REASONS.get(launch.split("/")[0], {}).get(level, "")


def compare(out: Path) -> dict[str, Any]:
    """The record: readings, and what each level of the CPU machine counts differently."""
    readings = json.loads((out / "counters.json").read_text())
    launches: dict[str, Any] = {}
    cpu = devices.device("cpu")
    for name, _, rung, _, plan in plans(None, cpu):
        levels = ("source", "compiled") if rung.language == registry.NUMBA else ("compiled",)
        of_level = {level: counted(plan, level) for level in levels}
        for k, launch in enumerate(launch_names(name, plan)):
            if launch not in readings["launches"]:
                print(f"{launch}: not read on the GPU")
                continue
            there = compared(readings["launches"][launch])
            entry: dict[str, Any] = {
                "language": rung.language,
                "counters": {counter: value for counter, value in there.items() if value},
                "instructions": readings["launches"][launch].get("warp_instructions", 0),
            }
            stray = stray_conflicts(there, of_level["compiled"][k])
            if stray:
                twice = compared(readings["launches"].get(launch + AGAIN, {}))
                entry["stray_conflicts"] = stray
                if launch + AGAIN in readings["launches"]:
                    entry["stray_conflicts_again"] = stray_conflicts(twice, of_level["compiled"][k])
            there = without(there, stray)
            for level in levels:
                here = of_level[level][k]
                differs = {counter: here[counter] for counter in COMPARED if here[counter] != there[counter]}
                if differs:
                    entry[level] = {"counts": differs, "reason": reason(launch, level)}
                    pairs = {counter: f"{there[counter]:,} / {value:,}" for counter, value in differs.items()}
                    print(f"{launch} ({level}), hardware / CPU machine: {pairs} {entry[level]['reason']}")
            launches[launch] = entry
    verdicts = json.loads((out / "verdicts.json").read_text())
    kept = {key: readings[key] for key in ("machine", "wrong", "wrong_for_a_race")}
    return {**kept, "sanitizer": verdicts, "launches": launches}


def stray_conflicts(there: dict[str, int], here: dict[str, int]) -> dict[str, int]:
    """Bank conflicts that an H200 counts beyond those of the addresses, as "shared_load" or "shared_store": as many
    wavefronts more and conflicts more, a few for a hundred; the number is another one in the next run."""
    found = {}
    for kind in ("shared_load", "shared_store"):
        more, wavefronts = f"{kind}_bank_conflicts", f"{kind}_wavefronts"
        stray = there[more] - here[more]
        if 0 < stray <= STRAY * there[wavefronts] and there[wavefronts] - here[wavefronts] == stray:
            found[kind] = stray
    return found


def without(counters: dict[str, int], stray: dict[str, int]) -> dict[str, int]:
    """Counters less the stray conflicts in them."""
    less = {f"{kind}_{what}": n for kind, n in stray.items() for what in ("wavefronts", "bank_conflicts")}
    return {name: value - less.get(name, 0) for name, value in counters.items()}


def publish(out: Path) -> None:
    """Write the record. Refuses a difference without a reason."""
    made = compare(out)
    unexplained = [
        f"{launch} ({level})"
        for launch, entry in made["launches"].items()
        for level in ("source", "compiled")
        if level in entry and not entry[level]["reason"]
    ]
    if unexplained or made["wrong"]:
        sys.exit(f"no reason is known for: {', '.join(unexplained)}; wrong: {made['wrong']}")
    launches = made.pop("launches")
    made["summary"] = summary(launches)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in launches.items())
    head = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in made.items())
    RECORD.write_text(f'{{{head},\n"launches": {{\n{lines}\n}}}}\n')
    print(json.dumps(made["summary"], indent=1))


def summary(launches: dict[str, Any]) -> dict[str, Any]:
    """How many launches were read, and how many agree at each level."""
    numba = [entry for entry in launches.values() if entry["language"] == registry.NUMBA]
    return {
        "launches": len(launches),
        "numba": len(numba),
        "CUDA C++": len(launches) - len(numba),
        "launches_with_stray_bank_conflicts": sum("stray_conflicts" in entry for entry in launches.values()),
        "compiled_level_agrees": sum("compiled" not in entry for entry in launches.values()),
        "source_level_agrees": sum("source" not in entry for entry in numba),
    }


def main() -> None:
    """What the text at the top says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    step = parser.add_mutually_exclusive_group(required=True)
    step.add_argument("--record", type=Path, metavar="FOLDER", help="counters and verdicts of this machine's GPU")
    step.add_argument("--run", type=Path, metavar="FILE", help="launch everything once on the GPU (used by --record)")
    step.add_argument("--compare", type=Path, metavar="FOLDER", help="print what the CPU machine counts differently")
    step.add_argument("--publish", type=Path, metavar="FOLDER", help="write the record")
    parser.add_argument("--n", type=int, help="with --run: another size than the family's")
    parser.add_argument("--only", help="with --run: one rung, FAMILY.RUNG")
    given = parser.parse_args()
    if given.record:
        record(given.record)
    elif given.run:
        run(given.n, None if str(given.run) == "-" else given.run, given.only)
    elif given.compare:
        compare(given.compare)
    else:
        publish(given.publish)


if __name__ == "__main__":
    main()
