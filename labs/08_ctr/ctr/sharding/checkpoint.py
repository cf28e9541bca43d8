"""A run of several processes on disk, with which any number of processes can go on.

    FOLDER/sharded/table/     the table, its state and its best weights: each process writes its rows
    FOLDER/sharded/rest.pt    settings, log, the dense network, its optimizer, and how far training was

A checkpoint is written beside the one before, and takes its place when it is whole.

Source: torch.distributed.checkpoint, which reads DTensors for another number of processes than wrote them (PyTorch's
documentation).
"""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
from torch import Tensor

from ..errors import CtrError, in_short
from ..storage.log import ClickLog
from ..training import checkpoint
from ..training.loop import Position
from ..training.settings import Settings
from .step import ShardedStep

FORMAT = 1
NAME, TABLE, REST = "sharded", "table", "rest.pt"
BEST = "table.sharded.weight"  # of the best look's weights, what is sharded


def save(folder: Path, step: ShardedStep, position: Position, settings: Settings, log: ClickLog) -> None:
    """A collective. Raises CtrError where it cannot be written; the checkpoint that was there stays."""
    place = folder / NAME
    new, old = (place.with_name(f"{NAME}.{which}") for which in ("new", "old"))
    lost = torch.tensor([position.lost, position.rows], dtype=torch.float64, device=step.device)
    lost = step.total(lost).tolist()
    try:
        if step.rank == 0:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
        step.processes.wait()
        with _quiet():
            dcp.save(_table(step, position.weights), checkpoint_id=new / TABLE)
        if step.rank == 0:
            torch.save(_rest(step, position, lost, settings, log), new / REST)
            shutil.rmtree(old, ignore_errors=True)
            if place.exists():
                place.rename(old)
            new.rename(place)
            shutil.rmtree(old, ignore_errors=True)
        step.processes.wait()
    except (OSError, dcp.api.CheckpointException) as error:
        raise CtrError(f"{place} cannot be written ({_why(error)}): make room, or give another folder") from error


def exists(folder: Path) -> bool:
    return (folder / NAME / REST).exists()


def load(folder: Path, step: ShardedStep, settings: Settings, log: ClickLog) -> Position:
    """Puts a checkpoint into a step, of however many processes: a collective.

    Raises CtrError for one that is missing, not whole, or of another log or other settings.
    """
    place = folder / NAME
    if not exists(folder):
        raise CtrError(f"there is no {place / REST}: there is no run to go on with")
    try:
        read = torch.load(place / REST, map_location="cpu", weights_only=True)
        if read["format"] != FORMAT:
            raise CtrError(f"{place} is of format {read['format']}, and this reads {FORMAT}: start a new run")
        checkpoint.refuse_changes(place, read, settings, log)
        if read["replicate"] != step.table.replicate:
            raise CtrError(
                f"{place} was trained with fields of up to {read['replicate']:,} rows in every process, and not "
                f"{step.table.replicate:,}: give --replicate {read['replicate']}"
            )
        best: dict[str, Tensor] | None = read["position"]["weights"]
        if best is not None:
            best[BEST] = torch.empty_like(step.table.sharded.weight, device="cpu")
        with _quiet():
            dcp.load(_table(step, best), checkpoint_id=place / TABLE)
        step.mlp.load_state_dict(read["mlp"])
        replicated = step.table.replicated_weight
        if replicated is not None:
            with torch.no_grad():
                replicated.copy_(read["replicated"]["weight"])
            step.sums(replicated).copy_(read["replicated"]["sum"])
        step.optimizers["dense"].load_state_dict(read["dense"])
        for group in step.optimizers["table"].param_groups:
            group["lr"] = read["table_rate"]
        position = Position(**read["position"])
        if step.rank != 0:  # what was lost since the last look is known as a sum over processes
            position.lost, position.rows = 0.0, 0
        return position
    except CtrError:
        raise
    except (Exception, dcp.api.CheckpointException) as error:  # whatever torch.load and dcp.load make of a broken file
        raise CtrError(
            f"{place} is no whole checkpoint ({_why(error)}): it was cut short or changed; copy it again, or start a "
            "new run in another folder"
        ) from error


def _table(step: ShardedStep, best: dict[str, Tensor] | None) -> dict[str, Any]:
    """DTensors over the tensors themselves, so that reading fills them."""
    table = step.table.sharded
    found = {"weight": table.dtensor(table.weight.detach()), "sum": table.dtensor(step.sums(table.weight))}
    if best is not None:
        found["best"] = table.dtensor(best[BEST])
    return found


def _rest(
    step: ShardedStep, position: Position, lost: list[float], settings: Settings, log: ClickLog
) -> dict[str, Any]:
    best = position.weights
    at = asdict(position) | {"lost": lost[0], "rows": int(lost[1])}
    at["weights"] = None if best is None else {name: tensor for name, tensor in best.items() if name != BEST}
    replicated = step.table.replicated_weight
    return {
        "format": FORMAT,
        "replicate": step.table.replicate,
        "replicated": None if replicated is None else {"weight": replicated.detach(), "sum": step.sums(replicated)},
        "settings": settings.to_dict(),
        "schema": log.schema.to_dict(),
        "log": checkpoint.fingerprint(log),
        "position": at,
        "mlp": step.mlp.state_dict(),
        "dense": step.optimizers["dense"].state_dict(),
        "table_rate": step.rates()["table"],
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what PyTorch warns of on the way to a file, and the tracebacks, by the root logger, of what it raises."""
    logger = logging.getLogger()
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(level)


def _why(error: BaseException) -> str:
    if isinstance(error, dcp.api.CheckpointException) and error.failures:
        error, _ = next(iter(error.failures.values()))  # of one process
    return in_short(error)
