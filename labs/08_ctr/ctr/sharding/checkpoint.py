"""Checkpoints that any number of processes can go on from.

    FOLDER/table/     the table and its optimizer's state, by torch.distributed.checkpoint: each process writes its rows
    FOLDER/dense.pt   schema, dense network, its optimizer, and how far training was

A checkpoint is written beside the old one and takes its place when it is whole.

Source: torch.distributed.checkpoint reshards DTensors on reading (PyTorch's documentation).
"""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

from ..errors import CtrError
from .trainer import ShardedTrainer

TABLE = "table"
DENSE = "dense.pt"


def save(folder: Path, trainer: ShardedTrainer, epochs: int) -> None:
    """Writes a checkpoint after so many `epochs`: a collective. Raises CtrError where it cannot be written."""
    new = folder.with_name(folder.name + ".new")
    first = trainer.processes.rank == 0
    try:
        if first:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(parents=True)
        dist.barrier()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on what DTensors are made of inside PyTorch
            dcp.save(_table(trainer), checkpoint_id=new / TABLE)
        if first:
            torch.save(_dense(trainer, epochs), new / DENSE)
            old = folder.with_name(folder.name + ".old")
            shutil.rmtree(old, ignore_errors=True)
            if folder.exists():
                folder.rename(old)
            new.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        dist.barrier()
    except (OSError, dcp.api.CheckpointException) as error:
        raise CtrError(f"the checkpoint {folder} cannot be written ({_why(error)}): make room, or name another") from error


def load(folder: Path, trainer: ShardedTrainer) -> int:
    """Puts a checkpoint into a trainer, of however many processes: a collective. Returns its epochs.

    Raises CtrError for a checkpoint that is missing, cut short, or of another model.
    """
    try:
        read = torch.load(folder / DENSE, map_location="cpu", weights_only=True)
        if read["schema"] != trainer.schema.to_dict() or read["dim"] != trainer.table.dim:
            raise CtrError(
                f"{folder} was trained with other fields, rows or width than this network has: resume with the log and "
                "the settings that it began with, or train from the start"
            )
        table = _table(trainer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on what DTensors are made of inside PyTorch
            dcp.load(table, checkpoint_id=folder / TABLE)
        trainer.mlp.load_state_dict(read["mlp"])
        trainer.network.mean.copy_(read["mean"])
        trainer.network.scale.copy_(read["scale"])
        trainer.dense_optimizer.load_state_dict(read["optimizer"])
        return int(read["epochs"])
    except CtrError:
        raise
    except Exception as error:  # torch.load and dcp.load raise whatever a broken file makes of them
        raise CtrError(f"the checkpoint {folder} cannot be read ({_why(error)}): train from the start") from error


def _table(trainer: ShardedTrainer) -> dict[str, Any]:
    """The table and its state as DTensors over the tensors themselves, so that reading fills them."""
    table = trainer.table
    state = trainer.table_optimizer.state[table.weight]
    if not state:
        state["sum"] = table.weight.new_zeros(len(table.weight))
    return {"weight": table.sharded(table.weight.detach()), "sum": table.sharded(state["sum"])}


def _dense(trainer: ShardedTrainer, epochs: int) -> dict[str, Any]:
    return {
        "schema": trainer.schema.to_dict(),
        "dim": trainer.table.dim,
        "epochs": epochs,
        "mlp": trainer.mlp.state_dict(),
        "mean": trainer.network.mean,
        "scale": trainer.network.scale,
        "optimizer": trainer.dense_optimizer.state_dict(),
    }


def _why(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
