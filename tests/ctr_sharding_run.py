"""What test_ctr_sharding.py starts with torchrun: every process runs all of it, and the first writes what it found.

python -m torch.distributed.run ... ctr_sharding_run.py SCENARIO LOG FOLDER [DEVICE]
"""

import importlib
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from torch.distributed.tensor import Shard, distribute_tensor

from gpukit import plugins

torch.set_num_threads(1)
plugins.load("ctr")


def module(name):
    return importlib.import_module(f"gpukit_labs.ctr.{name}")


batches, loop, settings = module("training.batches"), module("training.loop"), module("training.settings")
log_of, network_of = module("storage.log").open_log, module("model.network").Network
checkpoint, measure, processes_, running = (
    module(f"sharding.{name}") for name in ("checkpoint", "measure", "processes", "running")
)
split, step_ = module("sharding.split"), module("sharding.step")

SETTINGS = {"dim": 4, "hidden": (8,), "dropout": 0.0, "batch": 60, "epochs": 2, "evaluations": 1, "table_rate": 0.05}
STEPS = 8  # of the curve
SMALL = 5  # rows of a field that is in every process, where small ones are
SMALL_FACTS = 10  # the same of the facts' fields, shrunk


def fresh(log, processes, exchange=torch.float32, replicate=0, **given):
    torch.manual_seed(3)
    chosen = settings.Settings(**(SETTINGS | given))
    network = network_of(log.schema, chosen.dim, chosen.hidden)
    table = split.SplitTable.of(network, processes, exchange, replicate)
    return step_.ShardedStep(network, table, chosen, processes)


def curve(log, processes, step, rows=60):
    """(STEPS,) mean losses over all processes."""
    shared = batches.Batches(log.split("train"), rows, 5, 0.01, step.device, processes.rank, processes.count)
    losses = [step(batch) for batch, _ in zip(shared.epoch(0), range(STEPS), strict=False)]
    return (step.total(torch.stack(losses).double()) / rows).cpu().numpy()


def sums(step):
    """State of the sharded rows, in the order of places."""
    state = step.optimizers["table"].state[step.table.sharded.weight]["sum"]
    return step.processes.whole(state, step.table.sharded.rows).cpu().numpy()


def training(log, processes, folder, resumed):
    """Runs of the whole loop, the second in every number of processes after the first in `resumed`."""
    found = {}
    for name, given in (("plain", {}), ("small", {"replicate": SMALL})):
        place = folder / name
        if processes.count == resumed:
            running.train(log, settings.Settings(**SETTINGS), place, processes, **given)
        longer = settings.Settings(**(SETTINGS | {"epochs": 3}))
        result, step = running.train(log, longer, place, processes, resume=True, **given)
        looks = [[look["train_logloss"], look["validation_logloss"]] for look in result.looks]
        found[f"{name}_looks"], found[f"{name}_end"] = np.array(looks), result.network.table.weight.detach().numpy()
        found[f"{name}_p"] = loop.probabilities(step, log.split("test"), 60)
        found[f"{name}_p_again"] = loop.predict(result.network, log.split("test"))
    return found


def exchanges(log, processes):
    found = {}
    for name, given in (
        ("exact", {}),
        ("sorted", {"deterministic": True}),
        ("small", {"replicate": SMALL}),
        ("bfloat16", {"exchange": torch.bfloat16}),
        ("fixed", {}),
    ):
        step = fresh(log, processes, **given)
        if name == "fixed":
            step.table.sharded.capacity = 150 if processes.count > 1 else 180  # of 180 lookups
        found[f"{name}_curve"] = curve(log, processes, step)
        step.table.sharded.check_capacity()
        found[f"{name}_table"] = step.table.whole_weight().numpy()
        found[f"{name}_sums"] = sums(step)
    step = fresh(log, processes)
    step.table.sharded.capacity = 10
    curve(log, processes, step)
    try:
        step.table.sharded.check_capacity()
    except module("errors").CtrError as error:
        found["full"] = str(error)
    # Seven rows for the first process, none for the last.
    part = log.split("test").take(slice(0, 7 if processes.rank == 0 else 0))
    batch = next(batches.stretches(log.split("test").take(slice(0, 7)), 7 * processes.count, step.device))[1]
    one = batches.Batch(*(tensor[: part.rows] for tensor in (batch.ids, batch.dense, batch.labels)))
    found["uneven"] = np.array([len(step.logits(one))])
    thirteen = torch.arange(13.0, device=processes.device)
    mine = distribute_tensor(thirteen, processes.mesh, [Shard(0)]).to_local()
    found["chunks_agree"] = np.array([torch.equal(mine, thirteen[processes.stretch(13)])])
    found["total"] = processes.whole_sum(torch.tensor([1.0], device=processes.device)).cpu().numpy()
    return found


def refusals(log, processes, folder):
    """What is said of checkpoints that cannot be gone on with."""
    found = {}
    for name, given, spoil in (
        ("cut_table", {}, lambda place: os.truncate(next(place.glob("table/*.distcp")), 100)),
        ("no_table", {}, lambda place: next(place.glob("table/*.distcp")).unlink()),
        ("cut_metadata", {}, lambda place: os.truncate(place / "table" / ".metadata", 100)),
        ("cut_rest", {}, lambda place: os.truncate(place / "rest.pt", 100)),
        ("no_rest", {}, lambda place: (place / "rest.pt").unlink()),
        ("settings", {"seed": 8}, lambda place: None),
        ("replicate", {"replicate": SMALL}, lambda place: None),
    ):
        copy = folder / name
        shutil.copytree(folder / "runs" / "plain", copy)
        spoil(copy / checkpoint.NAME)
        replicate = given.pop("replicate", 0)
        step = fresh(log, processes, replicate=replicate)
        try:
            checkpoint.load(copy, step, settings.Settings(**(SETTINGS | given)), log)
        except module("errors").CtrError as error:
            found[name] = str(error)
    try:
        running.train(log, settings.Settings(**SETTINGS), folder / "runs" / "plain", processes)
    except module("errors").CtrError as error:
        found["there"] = str(error)
    return found


def main():
    scenario, log, folder, *device = sys.argv[1], log_of(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:]
    with processes_.joined(*(device or ["cpu"]), timeout_s=30) as processes:
        first = processes.rank == 0
        if scenario == "dies":
            step = fresh(log, processes)
            curve(log, processes, step)
            if not first:
                os._exit(3)
            curve(log, processes, step)
            return
        found = exchanges(log, processes) | training(log, processes, folder / "runs", resumed=2)
        if processes.count == 1:
            found |= refusals(log, processes, folder)
        text = {name: value for name, value in found.items() if isinstance(value, str)}
        record = measure.measure(
            processes,
            measure.facts_schema(shrink=10_000),
            [
                measure.Setting(16, "float32", 0, "eager"),
                measure.Setting(16, "bfloat16", SMALL_FACTS, "fixed"),
                measure.Setting(16, "float32", 0, "graph"),
            ],
            0.0,
            write=lambda result: None,
            say=lambda line: None,
        )
        if first:
            name = folder / f"of_{processes.count}"
            np.savez(name.with_suffix(".npz"), **{key: value for key, value in found.items() if key not in text})
            name.with_suffix(".json").write_text(json.dumps({"text": text, "record": record}))


if __name__ == "__main__":
    processes_.run_and_leave(main)
