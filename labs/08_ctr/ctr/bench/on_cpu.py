"""`gpukit bench ctr --machine cpu`: rungs that must learn the same, what our kernels ask of the memory, what an
impression costs; no times, which would say nothing of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpukit.bench import running
from gpukit.devices import Device
from gpukit.gpus import DEFAULT_GPU, find_gpu
from gpukit.registry import CPP

from ..errors import CtrError
from ..fast.making import Step, make
from ..fast.operations import MachineOperations
from ..fast.switches import ladder
from . import accesses
from .asked import BATCHES, Asked
from .logs import given_or_made
from .measuring import DIM, Ladder

BATCH, STEPS = 512, 12  # of the comparison
STEPS_OF_MACHINE = 2  # of our kernels on the CPU machine, which takes a second for each
CLOSE = 1e-4  # of sums of float32 in another order: of the largest change of a weight, and of a loss
BF16_TFLOPS = 989.5  # of an H200's tensor cores, dense: its data sheet gives 1,979 with sparsity

# Rungs that must learn the same, each with the one that it is held against. The others shuffle by themselves, calculate
# in bfloat16, or need a GPU.
DENSE = ("dense Adam", "resident", ("no_reads", "one_table", "fused"))
ROWWISE = ("row-wise Adagrad", "rowwise", ("kernels",))


def measure(
    folder: Path | None,
    device: Device,
    asked: Asked,
    *,
    say: Callable[[str], None],
    keep: Callable[[dict[str, Any]], None],
) -> None:
    """`asked`: batches and rungs of the costs. `keep` is given the result so far whenever it has grown.

    Raises CtrError for a log that is too small.
    """
    here = torch.device("cpu")
    runs = Ladder(given_or_made(folder, "small", say), here, say)
    gpu = find_gpu(DEFAULT_GPU)
    assert gpu.bandwidth_gb_s is not None and gpu.fp32_tflops is not None
    found: dict[str, Any] = {
        "model": runs.result["model"],
        "log": runs.result["log"],
        "ceilings": {
            "copy": gpu.bandwidth_gb_s,
            "tflops": {"float32": gpu.fp32_tflops, "bfloat16": BF16_TFLOPS},
            "of": f"{gpu.name}, data sheet",
        },
        "costs": [],
        "compared": [],
        "accesses": [],
        "differs": False,
    }
    for batch in asked.batches or BATCHES:
        if batch > runs.data.size:
            raise CtrError(f"a batch of {batch:,} impressions is more than {runs.data.size:,}: use smaller batches")
        found["costs"] += _costs(runs, batch, asked.rungs, found["ceilings"])
        keep(found)
    no_compiler = running.no_compiler(CPP, device)
    if asked.quality:
        steps = STEPS if asked.samples is None else max(1, asked.samples // BATCH)
        for one in _compared(runs, steps, say, machine=not no_compiler):
            found["compared"].append(one)
            found["differs"] = found["differs"] or not one["same"]
            keep(found)
    if no_compiler:
        say(f"our kernels in C++ are not run: {no_compiler}")
    elif asked.profiles:
        say("counts what our kernels ask of the memory")
        found["accesses"] = list(accesses.measure())
    keep(found)


def _costs(runs: Ladder, batch: int, rungs: Sequence[str], ceilings: dict[str, Any]) -> list[dict[str, Any]]:
    """What an impression costs in each rung, and the floor of a step."""
    found = []
    for rung in ladder(batch, batch)[:-1]:
        if not rungs or rung.name in rungs:
            cost = runs.cost(rung.switches)
            floor = cost.floor_seconds(ceilings["copy"], ceilings["tflops"][rung.switches.precision]) * batch
            found.append(
                {
                    "batch": batch,
                    "name": rung.name,
                    "change": rung.change,
                    "why": rung.why,
                    "cost": cost.to_dict(),
                    "floor_seconds": floor,
                }
            )
    return found


# --- what is learned -------------------------------------------------------------------------------------------------


def _compared(runs: Ladder, steps: int, say: Callable[[str], None], *, machine: bool) -> list[dict[str, Any]]:
    found = []
    for name, reference, others in (DENSE, ROWWISE):
        say(f"compares rungs of {name}")
        losses, weight = _learned(_step(runs, reference), steps)
        for other in others:
            theirs = _learned(_step(runs, other), steps)
            found.append(_difference(runs, name, reference, other, (losses, weight), theirs))
    if machine:
        say("compares our kernels, on the CPU machine")
        few = min(steps, STEPS_OF_MACHINE)
        ours = _learned(_step(runs, "kernels", MachineOperations(DIM)), few)
        expected = _learned(_step(runs, "rowwise"), few)
        found.append(_difference(runs, ROWWISE[0], "rowwise", "kernels, kernels.cu", expected, ours))
    return found


def _step(runs: Ladder, rung: str, by: Any = None) -> Step:
    switches = next(one.switches for one in ladder(BATCH, BATCH) if one.name == rung)
    return make(switches, runs.network, runs.host, runs.data, runs.seed, by or runs.operations)


def _learned(step: Step, steps: int) -> tuple[Tensor, Tensor]:
    """(the loss of each step, all weights after the last in one vector)."""
    sums = [0.0]
    for _ in range(steps):
        step()
        sums.append(float(step.loss_sum))
    return torch.tensor(sums).diff(), torch.cat([p.detach().flatten() for p in step.network().parameters()])


def _difference(
    runs: Ladder,
    group: str,
    reference: str,
    rung: str,
    expected: tuple[Tensor, Tensor],
    found: tuple[Tensor, Tensor],
) -> dict[str, Any]:
    """The largest differences of losses and of weights, the latter over the largest change that training made."""
    start = torch.cat([p.detach().flatten() for p in runs.network.parameters()])
    moved = float((expected[1] - start).abs().max())
    loss, weight = (float((one - other).abs().max()) for one, other in zip(found, expected, strict=True))
    return {
        "group": group,
        "rung": rung,
        "reference": reference,
        "steps": len(found[0]),
        "batch": BATCH,
        "loss": loss,
        "weight": weight,
        "moved": moved,
        "same": loss <= CLOSE and weight <= CLOSE * moved,
    }
