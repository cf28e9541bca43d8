"""A training run of several processes: the loop, the settings and the rows of one process's."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import torch

from ..cold import unseen_to_unknown
from ..errors import CtrError
from ..storage.log import ClickLog
from ..training.batches import Batches
from ..training.logs import Logs
from ..training.loop import Position, Say, fit
from ..training.running import Result, determinism, new_network
from ..training.settings import Settings
from ..training.survey import survey
from . import checkpoint
from .processes import Processes
from .split import SplitTable
from .step import ShardedStep

EXCHANGES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def train(
    log: ClickLog,
    settings: Settings,
    folder: Path,
    processes: Processes,
    *,
    exchange: str = "float32",
    replicate: int = 0,
    resume: bool = False,
    say: Say = lambda what, done, total: None,
) -> tuple[Result, ShardedStep]:
    """As `training.running.train`, called by all processes together: `settings.batch` rows a step in all of them.

    With the same settings the losses are those of one process within rounding, but for dropout, which every process
    draws for itself. Raises CtrError as it does.
    """
    if not resume and checkpoint.exists(folder):
        raise CtrError(f"{folder} holds a run already: --resume goes on with it, --out takes another folder")
    part, later = log.split("train"), log.split("validation")
    batches = Batches(
        part, settings.batch, settings.seed, settings.unknown, processes.device, processes.rank, processes.count
    )
    found = survey(part)
    survey(later)
    validation = unseen_to_unknown(part, later)
    with determinism(settings.deterministic):
        network = new_network(log, settings, found)
        table = SplitTable.of(network, processes, EXCHANGES[exchange], replicate)
        step = ShardedStep(network, table, settings, processes)
        torch.manual_seed(settings.seed + processes.rank)  # so that dropout differs
        position = checkpoint.load(folder, step, settings, log) if resume else Position()
        first = processes.rank == 0
        with Logs(folder, position.steps) if first else nullcontext() as logs:
            fit(
                step,
                batches,
                validation,
                settings,
                position,
                save=lambda at: checkpoint.save(folder, step, at, settings, log),
                log=logs.write if logs is not None else lambda at: None,
                say=say if first else lambda what, done, total: None,
            )
    whole = step.whole_network(settings.dim, settings.hidden, settings.dropout)
    return Result(whole, position.looks, position.steps, position.seconds), step
