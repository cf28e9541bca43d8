"""Samples a second of the sharded step, with the model of model/facts.py.

Each process has its own batches on its own device (weak scaling): ids are log-uniform. Nothing is
read from a host, and labels are coins. What is measured is one run of one number of processes; `scaling` compares two.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

from gpukit.provenance import gpu_facts, provenance

from ..errors import CtrError, in_short
from ..model.facts import DIM, HIDDEN
from ..model.network import Network
from ..model.table import LENGTH
from ..schema import Field, Schema
from ..training.batches import Batch
from ..training.settings import Settings
from ..world import FACTS, schema_of
from .prediction import Model, exchanged_bytes, step_seconds
from .processes import Processes
from .running import EXCHANGES
from .split import ReplicatedTable, SplitTable, offsets, split
from .step import ShardedStep
from .table import ShardedTable

FORMAT = 1
BATCHES = (8_192, 65_536, 262_144)  # of one process
MODES = ("eager", "fixed", "graph")
RESIDENT = 4  # batches that take turns
SMALL = 4_096  # rows of a field that is not sharded where small ones are in every process
WARM_UP = 12  # steps; DistributedDataParallel asks for 11 before a graph is recorded
ROUNDS = 5
SPARE = 1.05  # times the lookups of the fullest batch: room of a step of fixed sizes
# How a run is made again; the number of processes and the options follow.
COMMAND = "python -m torch.distributed.run --standalone --nproc-per-node {count} labs/08_ctr/ctr/sharding measure"


@dataclass(frozen=True, slots=True)
class Setting:
    """batch: of one process. exchange: "float32" or "bfloat16". replicate: fields of so many rows or fewer are in every
    process. mode: "eager", which counts a process's lookups and waits for the number; "fixed", with room for a fixed
    number; "graph", that as one CUDA graph."""

    batch: int
    exchange: str
    replicate: int
    mode: str


def settings(batches: tuple[int, ...], modes: tuple[str, ...]) -> list[Setting]:
    """What is measured, the surest first."""
    return [
        Setting(batch, exchange, replicate, mode)
        for mode, batch, replicate, exchange in product(modes, batches, (0, SMALL), EXCHANGES)
    ]


def facts_schema(shrink: int = 1) -> Schema:
    """The facts' columns, with the rows of fields divided by `shrink`, but for no fewer than 10."""
    whole = schema_of(FACTS)
    return Schema(tuple(Field(field.name, max(10, field.rows // shrink)) for field in whole.fields), whole.dense)


def measure(
    processes: Processes,
    schema: Schema,
    wanted: list[Setting],
    seconds: float,
    write: Callable[[dict[str, Any]], None],
    say: Callable[[str], None],
    options: str = "",
) -> dict[str, Any]:
    """Measures what is wanted, one after the other: a collective. Plain data.

    `seconds`: of one round of steps, about. `write` gets all that is known after each of them, so that what comes later
    can fail without loss; what fails is recorded with its error.
    """
    result = {
        "format": FORMAT,
        **about(processes, options),
        "processes": processes.count,
        "model": {
            "fields": {field.name: field.rows for field in schema.fields},
            "numbers": len(schema.dense),
            "dim": DIM,
            "hidden": list(HIDDEN),
        },
        "settings": [],
    }
    for setting in wanted:
        found: dict[str, Any] = asdict(setting)
        try:
            found |= _measured(processes, schema, setting, seconds)
        except Exception as error:
            # Whatever a driver says: one setting that a device cannot do is no reason to lose the others.
            found["error"] = in_short(error)
        _tidy(processes.device)
        result["settings"].append(found)
        write(result)
        speed = found.get("error") or f"{found['samples_per_second'] / 1e6:9.3f} M samples/s"
        small = "small fields whole" if setting.replicate else "all fields sharded"
        say(f"{setting.batch:>8,} {setting.mode:<6} {setting.exchange:<9} {small}  {speed}")
        if "error" in found and processes.device.type == "cuda":
            torch.cuda.synchronize()  # a device that is lost says so here, and not in every setting that is left
    return result


def about(processes: Processes, options: str) -> dict[str, Any]:
    """Where and when: as of gpukit.provenance, with what several GPUs add."""
    command = " ".join((COMMAND.format(count=processes.count), options)).strip()
    found = provenance(command) | {"device": processes.device.type, "torch": torch.__version__}
    if processes.device.type == "cuda":
        found |= gpu_facts()
        found["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
        found["nccl_nvls_enable"] = os.environ.get("NCCL_NVLS_ENABLE")
        found["torch_cuda"] = torch.version.cuda
        found["gpus"] = [torch.cuda.get_device_name(place) for place in range(torch.cuda.device_count())]
        found["float32_matmul"] = torch.get_float32_matmul_precision()
    return found


# --- one setting -----------------------------------------------------------------------------------------------------


def _measured(processes: Processes, schema: Schema, setting: Setting, seconds: float) -> dict[str, Any]:
    if setting.mode == "graph" and processes.device.type != "cuda":
        raise CtrError("a CUDA graph needs a GPU: measure the other modes here")
    if setting.mode != "graph":
        return _timed(processes, schema, setting, seconds)
    side = torch.cuda.Stream()  # where DistributedDataParallel must be made and warmed up for a graph of it
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        return _timed(processes, schema, setting, seconds)


def _timed(processes: Processes, schema: Schema, setting: Setting, seconds: float) -> dict[str, Any]:
    step = _step(processes, schema, setting)
    batches = _batches(processes, schema, setting.batch)
    sharded = step.table.sharded
    own = max(
        len(sharded.route(processes.whole(ids, len(ids) * processes.count)).lookups) for ids in _large(step, batches)
    )
    most = processes.most(own)
    if setting.mode != "eager":
        sharded.capacity = math.ceil(most * SPARE) if processes.count > 1 else most
    if setting.mode == "graph":
        for group in step.optimizers["dense"].param_groups:
            group["capturable"] = True
    run = _turns(step, batches)
    for _ in range(WARM_UP):
        run()
    if setting.mode == "graph":
        run = _recorded(processes, step, batches)
        run()
    rounds = _rounds(processes, run, seconds)
    sharded.check_capacity()
    took = statistics.median(rounds)
    element = EXCHANGES[setting.exchange].itemsize
    model = Model(fields=len(step.table.large), dim=DIM)
    lookups = setting.batch * model.fields * processes.count
    return {
        "seconds": took,
        "rounds": rounds,
        "samples_per_second": setting.batch * processes.count / took,
        "exchanged_bytes_per_sample": exchanged_bytes(model, processes.count, element),
        "most_lookups_share": most / lookups,  # 1 / processes would be even
        "memory_bytes": torch.cuda.max_memory_allocated() if processes.device.type == "cuda" else None,
        "predicted_seconds": step_seconds(
            model, setting.batch, processes.count, element, eager=setting.mode != "graph"
        ),
    }


def _step(processes: Processes, schema: Schema, setting: Setting) -> ShardedStep:
    """The facts' model; no process ever holds the whole table."""
    device = processes.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    torch.manual_seed(1)
    # A row a field: the network's own table, which is made on the host, is replaced.
    network = Network(Schema(tuple(Field(field.name, 1) for field in schema.fields), schema.dense), DIM, HIDDEN)
    large, small = split(schema, setting.replicate)

    def drawn(rows: int) -> Tensor:
        return torch.randn(rows, DIM, device=device) * (LENGTH / math.sqrt(DIM))

    rows = sum(schema.fields[place].rows for place in large)
    stretch = processes.stretch(rows)
    own = drawn(stretch.stop - stretch.start)
    sharded = ShardedTable(own, offsets(schema, large), rows, processes, EXCHANGES[setting.exchange])
    rest = sum(schema.fields[place].rows for place in small)
    replicated = ReplicatedTable(drawn(rest), offsets(schema, small)) if small else None
    table = SplitTable(schema, sharded, replicated, setting.replicate)
    return ShardedStep(network, table, Settings(dim=DIM, hidden=HIDDEN), processes)


def _batches(processes: Processes, schema: Schema, batch: int) -> list[Batch]:
    """RESIDENT batches of this process: ids log-uniform in their fields, numbers normal, labels coins."""
    device = processes.device
    generator = torch.Generator(device).manual_seed(100 + processes.rank)
    rows = torch.tensor([field.rows for field in schema.fields], dtype=torch.float64, device=device)
    found = []
    for _ in range(RESIDENT):
        uniform = torch.rand(batch, len(rows), generator=generator, device=device, dtype=torch.float64)
        ids = torch.minimum(((rows + 1) ** uniform).floor() - 1, rows - 1).to(torch.int32)
        dense = torch.randn(batch, len(schema.dense), generator=generator, device=device)
        labels = torch.randint(0, 2, (batch,), generator=generator, device=device).float()
        found.append(Batch(ids, dense, labels))
    return found


def _large(step: ShardedStep, batches: list[Batch]) -> list[Tensor]:
    return [batch.ids.index_select(1, step.table.large) for batch in batches]


def _turns(step: ShardedStep, batches: list[Batch]) -> Callable[[], Any]:
    turn = 0

    def run() -> None:
        nonlocal turn
        step(batches[turn % len(batches)])
        turn += 1

    return run


def _recorded(processes: Processes, step: ShardedStep, batches: list[Batch]) -> Callable[[], Any]:
    """The step on each batch as a graph: a step is one launch."""
    graphs = []
    for batch in batches:
        processes.wait()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # NCCL's watchdog asks for events in a thread of its own, which a capture of all threads would forbid.
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream(), capture_error_mode="thread_local"):
            step(batch)
        graphs.append(graph)
    turn = 0

    def run() -> None:
        nonlocal turn
        graphs[turn % len(graphs)].replay()
        turn += 1

    return run


def _rounds(processes: Processes, run: Callable[[], Any], seconds: float) -> list[float]:
    """Seconds a step in each of ROUNDS rounds, of the slowest process; all processes make as many steps."""
    one = processes.most(round(_round(processes, run, 3) * 1e9)) / 1e9
    steps = max(1, min(5000, int(seconds / one)))
    return [processes.most(round(_round(processes, run, steps) * 1e9)) / 1e9 for _ in range(ROUNDS)]


def _round(processes: Processes, run: Callable[[], Any], steps: int) -> float:
    """Seconds a step, by CUDA events where there is a GPU; nothing waits within the round but the steps themselves."""
    processes.wait()
    if processes.device.type != "cuda":
        began = time.perf_counter()
        for _ in range(steps):
            run()
        return (time.perf_counter() - began) / steps
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(steps):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3 / steps


def _tidy(device: torch.device) -> None:
    """Tables of a gigabyte are not left for the collector to find."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


# --- two runs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scaling:
    """How many times the samples of one process `count` processes train in the same time, at the same batch in each."""

    setting: Setting
    count: int
    one: float  # samples a second
    many: float
    predicted: float

    @property
    def times(self) -> float:
        return self.many / self.one


def scaling(one: dict[str, Any], many: dict[str, Any]) -> list[Scaling]:
    """The settings that both runs have measured, in their order. Raises CtrError for runs that cannot be compared."""
    try:
        if one["processes"] != 1 or many["processes"] < 2:
            raise CtrError(
                f"scaling needs a run of one process and one of more, not of {one['processes']} and {many['processes']}"
            )
        for what in ("format", "model", "device", "torch", "gpu", "driver", "nccl", "nccl_nvls_enable"):
            if one.get(what) != many.get(what):
                raise CtrError(
                    f"these runs differ in {what} ({one.get(what)} and {many.get(what)}): measure both in one place"
                )
        alone = {_setting(found): found for found in one["settings"] if "error" not in found}
        count = int(many["processes"])
        rows = []
        for found in many["settings"]:
            setting = _setting(found)
            if "error" not in found and setting in alone:
                before = alone[setting]
                predicted = count * before["predicted_seconds"] / found["predicted_seconds"]
                speeds = (float(before["samples_per_second"]), float(found["samples_per_second"]))
                rows.append(Scaling(setting, count, *speeds, predicted))
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise CtrError(f"this is no record of the sharded step ({error!r}): `measure` makes one") from error
    if not rows:
        raise CtrError("these runs have no setting in common that both could measure")
    return rows


def _setting(found: dict[str, Any]) -> Setting:
    return Setting(int(found["batch"]), str(found["exchange"]), int(found["replicate"]), str(found["mode"]))
