"""C++ kernels whose results and counters were read on a GPU, from the same PTX and inputs that the CPU machine runs.

The launches are those of tests/compiled/kernels and the hundred kernels of kernel_corpus.py. Here, with NVRTC of a
version that the GPU's driver knows (CUDA 13.0 for driver 580), compile them:

    python data/probes/compiled_kernels.py --prepare .probe/kernels    # PTX, inputs and a list of launches

On a machine with an NVIDIA GPU, CuPy and Nsight Compute, which needs nothing but this file and the folder:

    python data/probes/compiled_kernels.py --record .probe/kernels --out results

Anywhere, run the same folder on the CPU machine and compare:

    python data/probes/compiled_kernels.py --machine .probe/kernels --out results
    python data/probes/compiled_kernels.py --compare results/gpu.json results/machine.json

and write the record, with the PTX that was run beside it:

    python data/probes/compiled_kernels.py --publish results/gpu.json results/machine.json --from .probe/kernels
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

# A copy of a part of gpukit/gpu/metrics.py: this file must run where nothing else of gpukit is.
METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global_reduction_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "global_reduction_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "global_atomic_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "global_atomic_op_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_load_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed.sum",
}
# Asked for where this Nsight Compute has them: they explain differences and are compared with nothing.
MORE_METRICS = {
    "local_load_requests": "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "local_store_requests": "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "shared_atomic_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "copies_to_shared_instructions": "smsp__inst_executed_op_ldgsts.sum",
    "shared_atomic_instructions": "smsp__inst_executed_op_shared_atom.sum",
}
# What must be equal: the memory counters. The CPU machine does not split atomics by whether the old value is used.
COMPARED = (
    *("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors"),
    *("global_atomics", "global_atomic_sectors"),
    *("shared_load_requests", "shared_store_requests", "shared_load_wavefronts", "shared_store_wavefronts"),
    *("shared_load_bank_conflicts", "shared_store_bank_conflicts"),
)
ROOT = Path(__file__).parents[2]

Arguments = list[Any]


# --- the folder: what to launch ------------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    """Write PTX, inputs and the list of launches."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]
    import kernel_corpus
    from compiled.kernels.launches import LAUNCHES

    from gpukit.compilers.nvrtc import compile_cuda

    folder.mkdir(parents=True, exist_ok=True)
    inputs: dict[str, np.ndarray] = {}
    entries: list[dict] = []
    written: dict[Any, str] = {}
    versions = set()

    def ptx(key: Any, name: str, code: str, options: tuple[str, ...], file: str) -> str:
        if key not in written:
            made = compile_cuda(code, options=options, name=file)
            versions.add(made.version)
            written[key] = f"{name}.ptx"
            (folder / written[key]).write_text(made.text)
        return written[key]

    def enter(entry: dict, args: tuple) -> None:
        for position, value in enumerate(args):
            inputs[f"{entry['name']}/{position}"] = np.asarray(value)
        entries.append(entry | {"arguments": len(args)})

    for launch in LAUNCHES.values():
        suffix = "".join(option.replace("-D", "_").replace("=", "_") for option in launch.options)
        relative = str(launch.file.relative_to(ROOT))
        file = ptx(
            (launch.file, launch.options), launch.file.stem + suffix, launch.file.read_text(), launch.options, relative
        )
        of_launch = ("name", "kernel", "grid", "block", "shared_bytes", "cooperative", "polls", "exact")
        entry = {field: getattr(launch, field) for field in of_launch} | {"ptx": file, "source": relative}
        enter(entry | {"grid": three(launch.grid), "block": three(launch.block)}, launch.args())
    for kernel in kernel_corpus.kernels():
        file = ptx(kernel.name, kernel.name, kernel.source, (), f"{kernel.name}.cu")
        entry = {"name": kernel.name, "kernel": kernel.name, "shared_bytes": 0, "cooperative": False, "polls": False}
        entry |= {"grid": three(kernel_corpus.BLOCKS), "block": three(kernel_corpus.THREADS), "exact": kernel.exact}
        enter(entry | {"ptx": file, "source": "data/probes/kernel_corpus.py"}, kernel_corpus.arguments())
    np.savez_compressed(folder / "inputs.npz", **inputs)
    listed = {"nvrtc": ".".join(map(str, versions.pop())), "date": date.today().isoformat(), "launches": entries}
    (folder / "launches.json").write_text(json.dumps(listed, indent=1))
    print(f"{len(entries)} launches of {len(written)} modules, NVRTC {listed['nvrtc']}")


def three(shape: int | tuple[int, ...]) -> tuple[int, int, int]:
    """A shape with all three axes."""
    x, y, z = (*((shape,) if isinstance(shape, int) else shape), 1, 1)[:3]
    return x, y, z


def listed(folder: Path) -> tuple[dict, Iterator[tuple[dict, Arguments]]]:
    """What `prepare` wrote: its facts, and each launch with its arguments, arrays and NumPy scalars."""
    facts = json.loads((folder / "launches.json").read_text())

    def launches() -> Iterator[tuple[dict, Arguments]]:
        with np.load(folder / "inputs.npz") as inputs:
            for entry in facts["launches"]:
                values = (inputs[f"{entry['name']}/{k}"] for k in range(entry["arguments"]))
                yield entry, [value[()] if value.ndim == 0 else value for value in values]

    return facts, launches()


def digest(array: np.ndarray) -> str:
    """The contents as a short hash; all NaNs count as one."""
    if array.dtype.kind in "fc":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def outputs_of(entry: dict, before: Arguments, after: Arguments) -> dict[str, np.ndarray]:
    """The arrays that a launch changed, by "name/position"."""
    return {
        f"{entry['name']}/{k}": new
        for k, (old, new) in enumerate(zip(before, after, strict=True))
        if isinstance(old, np.ndarray) and old.tobytes() != new.tobytes()
    }


# --- the GPU -------------------------------------------------------------------------------------------------------


def gpu_launcher() -> Callable[[dict, Path, Arguments], Arguments]:
    """A function that launches on the GPU and gives the arguments as they are afterwards."""
    import cupy

    modules: dict[tuple[str, bool], Any] = {}

    def value(argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return cupy.asarray(argument)
        if isinstance(argument, np.void):  # CuPy passes 16 bytes by value as a complex number
            return np.frombuffer(argument.tobytes(), np.complex128)[0]
        return argument

    def launch(entry: dict, folder: Path, arguments: Arguments) -> Arguments:
        key = entry["ptx"], entry["cooperative"]
        if key not in modules:
            modules[key] = cupy.RawModule(path=str(folder / key[0]), enable_cooperative_groups=key[1])
        given = [value(argument) for argument in arguments]
        kernel = modules[key].get_function(entry["kernel"])
        kernel(tuple(entry["grid"]), tuple(entry["block"]), tuple(given), shared_mem=entry["shared_bytes"])
        cupy.cuda.runtime.deviceSynchronize()
        return [cupy.asnumpy(v) if isinstance(v, cupy.ndarray) else v for v in given]

    return launch


def run_on_gpu(folder: Path, out: Path | None) -> None:
    """Launch everything once, in order; with `out`, keep what the launches changed in out/gpu.npz."""
    launch = gpu_launcher()
    kept: dict[str, np.ndarray] = {}
    failed: dict[str, str] = {}
    for entry, arguments in listed(folder)[1]:
        try:
            kept |= outputs_of(entry, arguments, launch(entry, folder, arguments))
        except Exception as error:  # the launches after it are worth having
            failed[entry["name"]] = f"{type(error).__name__}: {error}"
            print(entry["name"], failed[entry["name"]], file=sys.stderr)
    if out is not None:
        np.savez_compressed(out / "gpu.npz", **kept)
        (out / "failed.json").write_text(json.dumps(failed))


def record(folder: Path, out: Path) -> None:
    """Outputs, then counters, on this machine's GPU: out/gpu.npz and out/gpu.json."""
    out.mkdir(parents=True, exist_ok=True)
    run = [sys.executable, __file__, "--run", str(folder)]
    subprocess.run([*run, "--out", str(out)], check=True)
    metrics = METRICS | known(MORE_METRICS)
    table = out / "counters.csv"
    ncu = ["ncu", "--clock-control", "none", "--print-units", "base", "--csv"]
    ncu += ["--metrics", ",".join(metrics.values()), "--log-file", str(table)]
    if subprocess.run([*ncu, *run], stdout=subprocess.DEVNULL).returncode:
        sys.exit(f"Nsight Compute stopped; the outputs are in {out}; it says: {table.read_text()[-2000:]}")
    failed = json.loads((out / "failed.json").read_text())
    facts, launches = listed(folder)
    entries = [entry for entry, _ in launches if entry["name"] not in failed]
    counters = collected(table, [(entry["name"], entry["kernel"]) for entry in entries], metrics)
    with np.load(out / "gpu.npz") as outputs:
        result = {
            "machine": gpu_machine() | {"nvrtc of the PTX": facts["nvrtc"]},
            "command": " ".join([*ncu[:-1], "counters.csv", "python", *sys.argv[:1], *run[2:]]),
            "failed": failed,
            "launches": {
                entry["name"]: marked(entry, counters[entry["name"]], digests(outputs, entry["name"]))
                for entry in entries
            },
        }
    write(out / "gpu.json", result)


def known(metrics: dict[str, str]) -> dict[str, str]:
    """Those that this Nsight Compute has."""
    said = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True).stdout
    return {name: metric for name, metric in metrics.items() if metric.rsplit(".", 1)[0] in said}


def collected(table: Path, launches: list[tuple[str, str]], metrics: dict[str, str]) -> dict[str, dict[str, int]]:
    """Counters that are not 0 by launch, from Nsight Compute's CSV file, in which launches have their order."""
    rows = csv.DictReader(line for line in table.read_text().splitlines() if line.startswith('"'))
    names = {metric: name for name, metric in metrics.items()}
    readings: dict[int, dict[str, int]] = defaultdict(dict)
    kernels: dict[int, str] = {}
    for row in rows:
        number = int(row["ID"])
        kernels[number] = row["Kernel Name"]
        reading = int(float(row["Metric Value"].replace(",", "")))
        if reading:
            readings[number][names[row["Metric Name"]]] = reading
    found = {}
    for (name, kernel), number in zip(launches, sorted(kernels), strict=True):
        assert kernels[number].split("(")[0] == kernel, (kernel, kernels[number])
        found[name] = readings[number]
    return found


def gpu_machine() -> dict[str, str]:
    """GPU, driver, versions, date."""
    import cupy

    def said(*words: str) -> str:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    gpu, capability, driver = said(
        "nvidia-smi", "--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader"
    ).split(", ")
    return {
        "gpu": gpu,
        "compute_capability": capability,
        "driver": driver,
        "ncu": said("ncu", "--version").splitlines()[-1].split()[1],
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "cupy": cupy.__version__,
        "date": date.today().isoformat(),
    }


# --- the CPU machine -----------------------------------------------------------------------------------------------


def run_on_machine(folder: Path, out: Path) -> None:
    """The same launches on the CPU machine: out/machine.npz and out/machine.json."""
    sys.path.insert(0, str(ROOT))
    import gpukit

    out.mkdir(parents=True, exist_ok=True)
    facts, launches = listed(folder)
    modules: dict[str, Any] = {}
    kept: dict[str, np.ndarray] = {}
    results: dict[str, dict] = {}
    failed: dict[str, str] = {}
    for entry, arguments in launches:
        after = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        try:
            if entry["ptx"] not in modules:
                modules[entry["ptx"]] = gpukit.RawModule(path=str(folder / entry["ptx"]))
            kernel = modules[entry["ptx"]].get_function(entry["kernel"])
            report = gpukit.profile(
                kernel, entry["grid"], entry["block"], *after, shared_bytes=entry["shared_bytes"], hazards=False
            )
        except gpukit.GpukitError as error:
            failed[entry["name"]] = f"{type(error).__name__}: {error}"
            continue
        kept |= outputs_of(entry, arguments, after)
        counters = {name: report.counters.get(name, 0) for name in (*COMPARED, "warp_instructions")}
        made = digests(kept, entry["name"])
        results[entry["name"]] = marked(entry, {name: count for name, count in counters.items() if count}, made)
    np.savez_compressed(out / "machine.npz", **kept)
    write(
        out / "machine.json", {"machine": {"nvrtc of the PTX": facts["nvrtc"]}, "failed": failed, "launches": results}
    )


def marked(entry: dict, counters: dict[str, int], outputs: dict[str, str]) -> dict:
    """The result of a launch. `polls`: a loop waits for other blocks, so counters depend on time; `approximate`: so do
    last bits on the hardware's own functions, or on the order of atomics."""
    flags = {"polls": entry["polls"], "approximate": not entry["exact"]}
    return {"counters": counters, "outputs": outputs} | {name: True for name, is_so in flags.items() if is_so}


def digests(outputs: Any, name: str) -> dict[str, str]:
    """The hashes of a launch's outputs by position."""
    return {key.rsplit("/", 1)[1]: digest(outputs[key]) for key in outputs if key.rsplit("/", 1)[0] == name}


def write(path: Path, result: dict) -> None:
    """JSON with a launch a line."""
    launches = ",\n".join(f"{json.dumps(name)}: {json.dumps(it)}" for name, it in result["launches"].items())
    head = ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in result.items() if key != "launches")
    path.write_text(f'{{{head},\n"launches": {{\n{launches}\n}}}}\n')
    print(f"{path}: {len(result['launches'])} launches, {len(result.get('failed', ()))} failed")


# --- comparing -----------------------------------------------------------------------------------------------------


def compared(counters: dict[str, int]) -> dict[str, int]:
    """The counters both sides have, under the CPU machine's names."""
    made = dict(counters)
    if "global_reduction_requests" in made or "global_atomic_requests" in made:
        made["global_atomics"] = made.get("global_reduction_requests", 0) + made.get("global_atomic_requests", 0)
        made["global_atomic_sectors"] = made.get("global_reduction_sectors", 0) + made.get(
            "global_atomic_op_sectors", 0
        )
    return {name: made.get(name, 0) for name in COMPARED}


def compare(gpu_path: Path, machine_path: Path) -> int:
    """Print what differs; the number of launches in which anything does that should not."""
    gpu, machine = (json.loads(path.read_text()) for path in (gpu_path, machine_path))
    arrays = [np.load(path.with_suffix(".npz")) for path in (gpu_path, machine_path)]
    totals: Counter[str] = Counter()
    unequal = 0
    for name, reading in gpu["launches"].items():
        if name not in machine["launches"]:
            print(f"{name}: not run here ({machine['failed'].get(name, 'not in the list')})")
            totals["not run"] += 1
            continue
        here = machine["launches"][name]
        hardware, counted = compared(reading["counters"]), compared(here["counters"])
        differs = {k: (v, counted[k]) for k, v in hardware.items() if v != counted[k]}
        remark = " (it polls)" if reading.get("polls") else ""
        wrong = [k for k in reading["outputs"].keys() | here["outputs"].keys()
                 if reading["outputs"].get(k) != here["outputs"].get(k)]  # fmt: skip
        totals["counters equal" if not differs else f"counters differ{remark}"] += 1
        loose = " (approximate)" if reading.get("approximate") else ""
        totals["outputs equal" if not wrong else f"outputs differ{loose}"] += 1
        unequal += bool((differs and not remark) or (wrong and not loose))
        for counter, (hardware_count, count) in differs.items():
            print(f"{name}{remark}: {counter}: {hardware_count} on the GPU, {count} here")
        for position in sorted(wrong):
            print(f"{name}{loose}: argument {position}: {difference(*(a.get(f'{name}/{position}') for a in arrays))}")
    print(dict(totals))
    return unequal


# Why counters of a launch differ from the hardware's. What is not here must be equal.
REASONS = {
    "tickets": "the order of atomics decides which lanes store together; the hardware's own count varies between runs",
    "coalesced": "the order of atomics decides where lanes store; the hardware's own count varies between runs",
    "talk": "printf: the hardware counts the driver's buffer, into which each call writes its arguments",
    "jumps": "lanes that leave the loop for code that ends the thread do not wait there: they store round by round",
    "half2_atomics": "ptxas makes the atomics on halves of loops around a 32-bit compare-and-swap, whose number of "
    "rounds varies between runs",
    "corpus_036_warps": "ptxas finds that one of the three values loaded is not needed and drops its load",
    "corpus_086_warps": "ptxas finds that one of the four values loaded is not needed and drops its load",
    "compaction": "3 bank conflicts that the addresses do not have; not explained, the same in two runs",
    "corpus_037_tiles": "1 bank conflict of a store that the addresses do not have; not explained, the same in two "
    "runs",
}


def publish(gpu_path: Path, machine_path: Path, folder: Path) -> None:
    """Write data/results/h200_compiled_kernels.json and the PTX beside it. Refuses differences without a reason."""
    gpu, machine = (json.loads(path.read_text()) for path in (gpu_path, machine_path))
    launches, unexplained = {}, []
    for name, reading in gpu["launches"].items():
        here = machine["launches"][name]
        hardware, counted = compared(reading["counters"]), compared(here["counters"])
        entry = reading | {"counters": {k: v for k, v in hardware.items() if v}}
        differs = {k: counted[k] for k, v in hardware.items() if v != counted[k]}
        if differs and not reading.get("polls"):
            entry |= {"cpu_machine": differs, "reason": REASONS.get(name, "")}
        outputs_differ = reading["outputs"] != here["outputs"] and not reading.get("approximate")
        if (differs and not reading.get("polls") and name not in REASONS) or outputs_differ:
            unexplained.append(name)
        launches[name] = entry
    if unexplained:
        sys.exit(f"no reason is known for what differs in: {', '.join(unexplained)}")
    facts = json.loads((folder / "launches.json").read_text())
    different = [name for name, entry in launches.items() if "reason" in entry]
    summary = {
        "launches": len(launches),
        "kernels": len({(entry["ptx"], entry["kernel"]) for entry in facts["launches"]}),
        "all_counters_equal": sum("reason" not in e and not e.get("polls") for e in launches.values()),
        "counters_differ_with_a_reason": different,
        "poll_so_counters_depend_on_time": [name for name, entry in launches.items() if entry.get("polls")],
        "outputs_equal_bit_for_bit": sum(
            entry["outputs"] == machine["launches"][name]["outputs"] for name, entry in launches.items()
        ),
        "outputs_approximate": [name for name, entry in launches.items() if entry.get("approximate")],
    }
    out = ROOT / "data/results/h200_compiled_kernels.json"
    record = {"machine": gpu["machine"], "command": gpu["command"], "summary": summary, "launches": launches}
    write(out, record)
    with zipfile.ZipFile(
        out.with_name("h200_compiled_kernels_ptx.zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=9
    ) as z:
        for path in sorted([*folder.glob("*.ptx"), folder / "launches.json"]):
            # A fixed time stamp: the same contents make the same file.
            z.writestr(zipfile.ZipInfo(path.name, (2026, 1, 1, 0, 0, 0)), path.read_bytes(), zipfile.ZIP_DEFLATED)
    print(json.dumps(summary, indent=1))


def difference(there: np.ndarray | None, here: np.ndarray | None) -> str:
    """How two outputs differ."""
    if there is None or here is None:
        return "changed on one side only"
    places = (there != here) & ~((there != there) & (here != here))
    first = int(np.flatnonzero(places)[0])
    pair = f"first at {first}: {there.ravel()[first]} on the GPU, {here.ravel()[first]} here"
    many = f"{int(places.sum())} of {there.size} elements"
    if there.dtype.kind != "f":
        return f"{many}, {pair}"
    with np.errstate(all="ignore"):
        units = np.abs(there.astype(np.float64) - here)[places] / np.spacing(np.abs(there[places])).astype(np.float64)
    return f"{many}, up to {np.nanmax(units):.3g} units in the last place, {pair}"


def main() -> None:
    """What the text at the top says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    step = parser.add_mutually_exclusive_group(required=True)
    step.add_argument("--prepare", type=Path, metavar="FOLDER", help="write PTX, inputs and the list of launches")
    step.add_argument("--record", type=Path, metavar="FOLDER", help="outputs and counters on this machine's GPU")
    step.add_argument("--run", type=Path, metavar="FOLDER", help="launch everything once on the GPU (used by --record)")
    step.add_argument("--machine", type=Path, metavar="FOLDER", help="the same launches on the CPU machine")
    step.add_argument("--compare", type=Path, nargs=2, metavar=("GPU", "MACHINE"), help="list what differs")
    step.add_argument("--publish", type=Path, nargs=2, metavar=("GPU", "MACHINE"), help="write the record")
    parser.add_argument("--from", type=Path, dest="folder", metavar="FOLDER", help="with --publish: what was run")
    parser.add_argument("--out", type=Path, help="folder for the results")
    given = parser.parse_args()
    if given.prepare:
        prepare(given.prepare)
    elif given.record:
        record(given.record, given.out or Path("results"))
    elif given.run:
        run_on_gpu(given.run, given.out)
    elif given.machine:
        run_on_machine(given.machine, given.out or Path("results"))
    elif given.publish:
        publish(*given.publish, given.folder)
    else:
        sys.exit(1 if compare(*given.compare) else 0)


if __name__ == "__main__":
    main()
