"""What `gpukit ctr` prints of a run: the predictors side by side, the best one in detail, where the time went."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from .experiment import OURS, Outcome
from .metrics import Evaluation, table


def outcome(found: Outcome) -> RenderableType:
    """Of `gpukit ctr train`."""
    return Group(evaluations(found.evaluations), Text(), Text(_training(found)), Text(_seconds(found.seconds)))


def evaluations(found: Mapping[str, Evaluation]) -> RenderableType:
    """Predictors side by side, and the details of ours."""
    return Group(table.comparison(found), Text(), table.details(found[OURS]))


def _training(found: Outcome) -> str:
    looks = found.looks
    best = min(looks, key=lambda look: look["validation_logloss"])
    last = looks[-1]
    said = f"Best on validation after epoch {best['epoch']:g} of {last['epoch']:g}"
    if last is not best and last["train_logloss"] < best["train_logloss"]:
        said += (
            f": since then the loss of training fell from {best['train_logloss']:.4f} to {last['train_logloss']:.4f}, "
            f"and that of validation went from {best['validation_logloss']:.4f} to {last['validation_logloss']:.4f}"
        )
    return said + ". The weights are those of the best."


def _seconds(seconds: Mapping[str, float]) -> str:
    parts = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    return f"{sum(seconds.values()):.0f} s in all: {parts}."
