"""One loop: steps, looks at validation, smaller learning rates on a plateau, early stopping, the best weights.

The same in one process and in many: what differs is in the `Step`, and in the slice of each batch that `Batches` gives.
No step waits for the device: losses add up there, and are read at each look.

Source: a tenth of the learning rate on a plateau and a patience of two looks are FuxiCTR's defaults (reczoo/FuxiCTR).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn

from ..errors import CtrError
from ..guards import check_loss, check_not_squeezed, check_spread
from ..metrics import auc, logloss
from ..storage.log import Part
from .batches import Batches, stretches
from .settings import Settings
from .step import Step

Look = dict[str, float]  # a row of the run's log: step, epoch, losses, learning rates
Say = Callable[[str, int, int], None]


class Stopped(CtrError):
    """A run that was asked to stop, between two steps: all of it is in its checkpoint."""


@dataclass
class Position:
    """Where a run is: `epoch` and `step` of it, `steps` and `seconds` in all; what it has lost since the last look;
    and what its looks have found."""

    epoch: int = 0
    step: int = 0
    steps: int = 0
    seconds: float = 0.0
    lost: float = 0.0
    rows: int = 0
    best: float = float("inf")  # logloss of validation
    waited: int = 0  # looks since then
    looks: list[Look] = field(default_factory=list)
    weights: dict[str, Tensor] | None = None  # those of the best look, on the host


def fit(
    step: Step,
    batches: Batches,
    validation: Part,
    settings: Settings,
    position: Position,
    *,
    save: Callable[[Position], None] = lambda position: None,
    log: Callable[[Position], None] = lambda position: None,
    say: Say = lambda what, done, total: None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Goes on from `position` until the epochs are over or patience is; then the model has the best weights, and ids
    that it has not met have the row of the unknown one. `position` keeps what was trained, to go on from.

    `save` and `log` are called after each look, before anything else happens. `stop` is asked after each step. Raises
    Stopped where it says so, after `save`, and CtrError where the loss is no number any more.
    """
    lost = torch.tensor(position.lost, dtype=torch.float64, device=step.device)
    began = time.perf_counter() - position.seconds
    looks = {round(batches.steps * (k + 1) / settings.evaluations) for k in range(settings.evaluations)}
    while position.epoch < settings.epochs and position.waited < settings.patience:
        what = f"epoch {position.epoch + 1} of {settings.epochs}"
        for batch in batches.epoch(position.epoch, position.step):
            lost += step(batch)
            position.step += 1
            position.steps += 1
            position.rows += len(batch.labels)
            say(what, position.step, batches.steps)
            stopping = stop()
            if stopping or position.step in looks:
                position.seconds = time.perf_counter() - began
                position.lost = float(lost)  # the one place that waits for the device
            if position.step in looks:
                look(step, batches, validation, settings, position)
                lost.zero_()
                log(position)
                save(position)
            if stopping:
                save(position)
                raise Stopped(
                    f"stopped after step {position.steps:,} (epoch {position.epoch + 1}): --resume goes on from there"
                )
            if position.waited >= settings.patience:
                break
        if position.step == batches.steps:
            position.epoch, position.step = position.epoch + 1, 0
    if position.weights is not None:
        step.set_weights(position.weights)
    step.replace_noise()


def look(step: Step, batches: Batches, validation: Part, settings: Settings, position: Position) -> None:
    """Judges the model on the validation part, and divides the learning rates where it has not become better."""
    here = torch.tensor([position.lost, position.rows], dtype=torch.float64, device=step.device)
    lost, rows = step.total(here).tolist()
    check_loss(lost / rows, position.steps)
    p = probabilities(step, validation, settings.batch)
    check_spread(p)
    check_not_squeezed(p, validation.labels)
    found = logloss(validation.labels, p)
    position.looks.append(
        {
            "step": position.steps,
            "epoch": position.epoch + position.step / batches.steps,
            "seconds": position.seconds,
            "train_logloss": lost / rows,
            "validation_logloss": found,
            "validation_auc": auc(validation.labels, p),
            **{f"{name}_rate": rate for name, rate in step.rates().items()},
        }
    )
    position.lost, position.rows = 0.0, 0
    plateau = found > position.best - settings.gain
    if found < position.best:
        position.best, position.weights = found, step.weights()
    position.waited = position.waited + 1 if plateau else 0
    if plateau:
        step.divide_rates(settings.drop)
        if position.weights is not None:
            step.set_weights(position.weights)  # from there smaller steps go on


def probabilities(step: Step, part: Part, size: int) -> np.ndarray:
    """(rows,) float64 of all rows of a part, in every process; the sigmoid is taken in float64."""
    logits = torch.zeros(part.rows, device=step.device)
    for rows, batch in stretches(part, size, step.device, step.rank, step.world):
        logits[rows] = step.logits(batch)
    return expit(step.total(logits).cpu().numpy().astype(np.float64))


def predict(network: nn.Module, part: Part, size: int = 8192) -> np.ndarray:
    """(rows,) float64 probabilities of a part, by one process, where the network is."""
    return probabilities(Step(network, {}, next(network.parameters()).device), part, size)
