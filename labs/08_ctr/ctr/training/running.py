"""A training run: a log and settings to a network, in a folder that keeps its checkpoint and logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from ..cold import unseen_to_unknown
from ..errors import CtrError
from ..model.network import Network
from ..model.table import replace_noise
from ..schema import Schema
from ..storage.log import ClickLog
from . import checkpoint
from .batches import Batches
from .claim import claimed
from .logs import Logs
from .loop import Look, Position, Say, fit
from .settings import Settings
from .step import step_of
from .survey import Survey, survey


@dataclass(frozen=True)
class Result:
    """The network with the best weights, where ids that training has not met have the row of the unknown one; the looks
    at validation that led there; `seconds` of training in all."""

    network: Network
    looks: list[Look]
    steps: int
    seconds: float


def train(
    log: ClickLog,
    settings: Settings,
    folder: Path,
    *,
    resume: bool = False,
    say: Say = lambda what, done, total: None,
    stop: Callable[[], bool] = lambda: False,
) -> Result:
    """Trains on the log's training rows, judged on its validation rows; the test rows are not looked at.

    `resume` goes on with the checkpoint in `folder`. Raises CtrError for rows or settings that cannot be used, for a
    checkpoint of another run, and Stopped where `stop` says so.
    """
    path = folder / checkpoint.NAME
    before = None
    if resume:
        before = checkpoint.read(path)
        checkpoint.refuse_changes(path, before, settings, log)
    elif path.exists():
        raise CtrError(f"{folder} holds a run already: --resume goes on with it, --out takes another folder")
    device = device_of(settings.device)
    part, later = log.split("train"), log.split("validation")
    batches = Batches(part, settings.batch, settings.seed, settings.unknown, device)
    say("checking the rows", 0, 1)
    found = survey(part)
    survey(later)
    validation = unseen_to_unknown(part, later)
    with determinism(settings.deterministic):
        network = new_network(log, settings, found)
        step = step_of(network, settings, device)
        position = Position() if before is None else checkpoint.restore(path, before, step)
        with claimed(folder), Logs(folder, position.steps) as logs:
            fit(
                step,
                batches,
                validation,
                settings,
                position,
                save=lambda at: checkpoint.save(path, step, at, settings, log),
                log=logs.write,
                say=say,
                stop=stop,
            )
    return Result(network.eval(), position.looks, position.steps, position.seconds)


def new_network(log: ClickLog, settings: Settings, found: Survey) -> Network:
    """Drawn from the seed, and told what the survey of the training rows found and how many negatives they lack."""
    torch.manual_seed(settings.seed)
    network = Network(log.schema, settings.dim, settings.hidden, settings.dropout)
    network.standardise(found.mean, found.deviation)
    network.start_at(found.rate)
    network.recalibrate(negative_rate(log))
    return network


def negative_rate(log: ClickLog) -> float:
    """The share of the rows without a click that the training rows of a log have. Raises CtrError where a manifest that
    was edited says what is none."""
    options = log.about.get("options")
    rate = options.get("negative_rate", 1) if isinstance(options, dict) else 1
    if not isinstance(rate, int | float) or not 0 < rate <= 1:
        raise CtrError(f"{log.folder} says that it kept {rate!r} of its rows without a click: make the log again")
    return float(rate)


def best_network(path: Path) -> tuple[Network, Settings]:
    """The network of a checkpoint, as `train` returns it. Raises CtrError where no look has judged it yet."""
    read = checkpoint.read(path)
    settings = Settings.from_dict(read["settings"])
    weights = read["position"]["weights"]
    if weights is None:
        raise CtrError(f"{path} has not been judged on validation yet: go on with --resume")
    network = Network(Schema.from_dict(read["schema"]), settings.dim, settings.hidden, settings.dropout)
    with checkpoint.of_its_settings(path):
        network.load_state_dict(weights)
        replace_noise(network.table.weight, read["optimizers"]["table"]["state"][0]["sum"], network.table.offsets)
    return network.eval(), settings


def device_of(name: str) -> torch.device:
    """Raises CtrError for a device that is not there."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise CtrError(f"there is no device {name!r}: give cpu, cuda or cuda:1") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise CtrError("this PyTorch sees no NVIDIA GPU: take --device cpu, or ask `gpukit doctor` what is missing")
    if device.type not in ("cpu", "cuda"):
        raise CtrError(f"training runs on cpu and cuda, not on {name!r}")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise CtrError(
            f"there is no device {name!r}: this computer has {torch.cuda.device_count()} GPUs, from cuda:0 on"
        )
    return device


@contextmanager
def determinism(wanted: bool) -> Iterator[None]:
    """Lets PyTorch use operations alone that give the same bits every time, and refuse those that have no such form."""
    if not wanted:
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS reads it when a GPU is first used
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
