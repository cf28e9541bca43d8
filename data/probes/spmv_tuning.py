"""What `choose_format` of the SpMV lab is made of: the hybrid with other steps and windows, timed on a GPU.

    python data/probes/spmv_tuning.py OUT.json [MATRIX]...

Each matrix at full size, float32 and int32, CUDA C++, L2 emptied before every repeat. Needs an NVIDIA GPU and CuPy.
"""

import importlib
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from gpukit import devices, plugins, provenance, timing
from gpukit.registry import CPP

plugins.load("spmv")
matrices, products, choosing = (
    importlib.import_module(f"gpukit_labs.spmv.{name}") for name in ("matrices", "products", "choosing")
)
STEPS = (8, 16, 32, 64)
WINDOWS = (1, 1024, 16384, None)  # rows sorted together; None for all
REPEATS = 9
WORKERS = 6


def names(wanted: list[str]) -> list[str]:
    kinds = matrices.GENERATED, matrices.TWIN
    return wanted or [name for name, named in matrices.MATRICES.items() if named.kind in kinds]


def measured(csr, device) -> dict:
    """Seconds of every setting, and of the one that is chosen."""
    csr = csr.on(device.xp)
    x = device.xp.ones(csr.columns, csr.dtype)
    y = device.xp.empty(csr.rows, csr.dtype)
    choice = choosing.choose_format(csr)
    found, seen = [], set()
    for steps in STEPS:
        for window in WINDOWS:
            sigma = min(window or csr.rows, csr.rows)
            if (steps, sigma) in seen:
                continue
            seen.add((steps, sigma))
            made = products.product("hybrid", csr, x, y, language=CPP, device=device, steps=steps, sigma=sigma)
            timed = timing.benchmark(lambda made=made: made.run(device), machine="gpu", repeats=REPEATS, flush_l2=True)
            row = {"steps": steps, "sigma": sigma, "padding": made.form.slots / csr.nnz, "median_s": timed.median}
            found.append(row | {"own_bytes": made.bytes_moved})
            del made
    best = min(found, key=lambda row: row["median_s"])
    ours = next((row for row in found if row["steps"] == choice.options.get("steps")
                 and row["sigma"] == choice.options.get("sigma")), None)  # fmt: skip
    loss = ours["median_s"] / best["median_s"] if ours else None
    return {"rows": csr.rows, "nnz": csr.nnz, "chosen": choice.options, "chosen_over_best": loss, "settings": found}


def made(name: str):
    return matrices.make(name)


def main() -> None:
    out, *wanted = sys.argv[1:]
    device = devices.device("gpu")
    command = f"python data/probes/spmv_tuning.py {Path(out).name}"
    result = {"what": __doc__.splitlines()[0], "machine": provenance.provenance(command, device), "matrices": {}}
    with ProcessPoolExecutor(WORKERS, get_context("spawn"), plugins.load, ("spmv",)) as pool:
        listed = names(wanted)
        for name, csr in zip(listed, pool.map(made, listed), strict=True):
            result["matrices"][name] = measured(csr, device)
            device.xp.get_default_memory_pool().free_all_blocks()
            print(name, result["matrices"][name]["chosen"], result["matrices"][name]["chosen_over_best"], flush=True)
            losses = [one["chosen_over_best"] for one in result["matrices"].values() if one["chosen_over_best"]]
            result["chosen_over_best"] = {"median": float(np.median(losses)), "worst": max(losses)} if losses else {}
            Path(out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
