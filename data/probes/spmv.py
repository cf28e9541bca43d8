"""Every kernel of the SpMV lab on a GPU: what the hardware counts in each launch, next to the CPU machine.

On a machine with an NVIDIA GPU, CuPy, numba-cuda and Nsight Compute, from the top of a checkout:

    PYTHONPATH=. python data/probes/spmv.py --record results        # results/counters.json, by one process under ncu

Anywhere, with the compilers of the `compiled` extra, count the same launches on the CPU machine at compiled level:

    python data/probes/spmv.py --publish results                    # data/results/h200_spmv_counters.json

Times are not taken here but by `gpukit bench spmv --machine gpu --out FILE`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gpukit import devices, plugins
from gpukit.bench import counting
from gpukit.gpu import metrics, ncu
from gpukit.levels import COMPILED
from gpukit.provenance import provenance
from gpukit.registry import Plan

plugins.load("spmv")
measuring, variants, checks, formats, matrices, products = (
    importlib.import_module(f"gpukit_labs.spmv.{name}")
    for name in ("bench.measuring", "bench.variants", "checks", "formats", "matrices", "products")
)
ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "data" / "results" / "h200_spmv_counters.json"
# What must be equal: requests and sectors of memory. Instructions are the assembler's, and recorded besides.
COMPARED = tuple(name for name in metrics.COMPARED if name.startswith(("global_", "shared_")))
INSTRUCTIONS = ("warp_instructions", "thread_instructions")
MATRICES = {"poisson2d": 1600, "webbase-1M": 2500, "half_empty": 2000, "pwtk": 200}  # name -> rows
PARETO = "pareto"  # that of the earlier readings (spmv in data/results/h200.json)


# --- what is launched ------------------------------------------------------------------------------------------------


def pareto() -> Any:
    """The matrix of tests/sparse_products.py."""
    sys.path.insert(0, str(ROOT / "tests"))
    (indptr, indices, data, _), _ = importlib.import_module("sparse_products").pareto_matrix()
    return formats.Csr((indptr.size - 1,) * 2, indptr, indices, data)


def problems(names: list[str] | None = None) -> Iterator[tuple[str, Any, np.ndarray]]:
    """(name, matrix, x) on the host, the same numbers on every machine."""
    for name in names or [*MATRICES, PARETO]:
        csr = pareto() if name == PARETO else matrices.make(name, rows=MATRICES[name])
        yield name, csr, np.random.default_rng(0).uniform(-1, 1, csr.columns).astype(csr.dtype)


def launched(device: Any, names: list[str] | None = None) -> Iterator[tuple[str, str, Any, Any, Any, Any]]:
    """(name, language, product, matrix on the host, x, y) of every variant in both languages."""
    for name, csr, x in problems(names):
        there, vector = csr.on(device.xp), device.xp.asarray(x)
        for variant in variants.VARIANTS:
            if variants.too_much(variant, csr, timed=False):
                continue
            for language in measuring.LANGUAGES:
                y = device.xp.full(csr.rows, np.nan, csr.dtype)
                where = {"language": language, "device": device, **variant.options}
                product = products.product(variant.way, there, vector, y, **where)
                yield f"{name}/{variant.key}/{language}", language, product, csr, x, y


def launch_names(name: str, product: Any) -> list[str]:
    """What each launch of a product is called in the record."""
    many = len(product.launches) > 1
    return [f"{name}/{k + 1}" if many else name for k in range(len(product.launches))]


# --- on the GPU ------------------------------------------------------------------------------------------------------


def run(device: Any, start: Callable[[], None], stop: Callable[[], None]) -> dict[str, Any]:
    """Launch everything once, the profiler on for the launches alone: their names in order, and what was wrong."""
    listed: list[str] = []
    wrong: dict[str, list[str]] = {}
    for name, _, product, csr, x, y in launched(device):
        device.synchronize()
        start()
        product.run(device)
        device.synchronize()
        stop()
        listed += launch_names(name, product)
        if found := checks.faults(csr, x, device.to_host(y)):
            wrong[name] = found
    return {"launched": listed, "wrong": wrong}


def run_on_gpu(out: Path) -> None:
    """The process that ncu watches."""
    import cupy

    done = run(devices.device("gpu"), cupy.cuda.profiler.start, cupy.cuda.profiler.stop)
    out.write_text(json.dumps(done, indent=1))
    print(f"{len(done['launched'])} launches, wrong: {done['wrong']}")


def record(out: Path) -> None:
    """Counters of this machine's GPU."""
    out.mkdir(parents=True, exist_ok=True)
    tool, table = ncu.find(), out / "counters.csv"
    if tool is None:
        sys.exit(f"Nsight Compute (ncu) is not on this computer: {ncu.INSTALL}")
    program = [sys.executable, __file__, "--run", str(out / "launched.json")]
    asked = ncu.command(tool, [*metrics.METRICS.values()], str(table), program)
    if subprocess.run(asked, stdout=subprocess.DEVNULL).returncode:
        sys.exit(f"Nsight Compute stopped: {table.read_text()[-2000:] if table.exists() else ''}")
    done = json.loads((out / "launched.json").read_text())
    readings = ncu.parse(table.read_text())
    counters = {name: reading.counters for name, reading in zip(done["launched"], readings, strict=True)}
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.splitlines()[-1].split()[1]
    machine = provenance("python data/probes/spmv.py --record results", devices.device("gpu")) | {"ncu": version}
    made = {"machine": machine, "wrong": done["wrong"], "launches": counters}
    (out / "counters.json").write_text(json.dumps(made, indent=1))
    print(f"counters of {len(counters)} launches, wrong: {done['wrong']}")


# --- on the CPU machine ----------------------------------------------------------------------------------------------


def counted(names: list[str] | None = None) -> Iterator[tuple[str, str, dict[str, int | float]]]:
    """(launch, language, counters at compiled level) of each launch on the CPU machine."""
    for name, language, product, _, _, y in launched(devices.CpuMachine(), names):
        plan = Plan(answer=lambda y=y: y, launches=product.launches)
        reports = counting.profile(plan, hazards=False, level=COMPILED)
        for launch, report in zip(launch_names(name, product), reports, strict=True):
            yield launch, language, report.counters


def compared(there: dict[str, int], here: dict[str, int | float]) -> dict[str, dict[str, Any]]:
    """Each counter that either has: the hardware's, the CPU machine's, and whether they are equal."""
    found = {}
    for name in COMPARED:
        pair = {"gpu": int(there.get(name, 0)), "cpu": int(here.get(name, 0))}
        if any(pair.values()):
            found[name] = {**pair, "equal": pair["gpu"] == pair["cpu"]}
    return found


def made_of(readings: dict[str, Any], here: Iterator[tuple[str, str, dict[str, int | float]]]) -> dict[str, Any]:
    """The record: every launch that both machines counted."""
    launches = {}
    for launch, language, counters in here:
        there = readings["launches"].get(launch)
        if there is None:
            print(f"{launch}: not read on the GPU")
            continue
        entry: dict[str, Any] = {"language": language, "counters": compared(there, counters)}
        for machine, of in (("gpu", there), ("cpu", counters)):
            warp, thread = (int(of.get(name, 0)) for name in INSTRUCTIONS)
            entry[f"{machine}_instructions"] = {"warp": warp, "thread_per_warp": round(thread / max(warp, 1), 3)}
        unequal = {name: pair for name, pair in entry["counters"].items() if not pair["equal"]}
        if unequal:
            print(launch, {name: f"{pair['gpu']:,} / {pair['cpu']:,}" for name, pair in unequal.items()})
        launches[launch] = entry
    pairs = [pair for entry in launches.values() for pair in entry["counters"].values()]
    summary = {
        "launches": len(launches),
        "matrices": len({launch.split("/")[0] for launch in launches}),
        "counters": len(pairs),
        "equal": sum(pair["equal"] for pair in pairs),
        "launches_that_agree": sum(
            all(pair["equal"] for pair in entry["counters"].values()) for entry in launches.values()
        ),
    }
    return {"machine": readings["machine"], "wrong": readings["wrong"], "summary": summary, "launches": launches}


def publish(out: Path) -> None:
    """Write the record."""
    made = made_of(json.loads((out / "counters.json").read_text()), counted())
    launches = made.pop("launches")
    head = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in made.items())
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in launches.items())
    RECORD.write_text(f'{{{head},\n"launches": {{\n{lines}\n}}}}\n')
    print(json.dumps(made["summary"], indent=1))


def main() -> None:
    """What the text at the top says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    step = parser.add_mutually_exclusive_group(required=True)
    step.add_argument("--record", type=Path, metavar="FOLDER", help="counters of this machine's GPU")
    step.add_argument("--run", type=Path, metavar="FILE", help="launch everything once on the GPU (used by --record)")
    step.add_argument("--publish", type=Path, metavar="FOLDER", help="count on the CPU machine and write the record")
    given = parser.parse_args()
    if given.record:
        record(given.record)
    elif given.run:
        run_on_gpu(given.run)
    else:
        publish(given.publish)


if __name__ == "__main__":
    main()
