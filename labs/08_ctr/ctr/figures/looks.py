"""The looks of a run as a figure: what training and validation lost, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from matplotlib.ticker import MaxNLocator

from gpukit.plots import style

from ..training.loop import Look

NAME = "looks.png"
LITTLE = 1e-3  # of a logloss


def draw(looks: Sequence[Look], path: Path, bayes: float | None = None) -> None:
    """`bayes`: the logloss of the true probabilities on the validation rows, where they are known."""
    epochs = [look["epoch"] for look in looks]
    sheet, (axis,) = style.figure(_title(looks), height=4.2, caption=_caption(looks))
    for name, colour, mark in (("train", style.AMBER, "s"), ("validation", style.BLUE, "o")):
        values = [look[f"{name}_logloss"] for look in looks]
        axis.plot(epochs, values, color=colour, marker=mark, linewidth=2, label=name)
    if bayes is not None:
        axis.axhline(bayes, color=style.INK, linestyle="--", linewidth=1.5, label="true probabilities, on validation")
    for before, after in pairwise(looks):
        if after["dense_rate"] < before["dense_rate"]:
            axis.axvline(after["epoch"], color=style.GREY, linestyle=":", linewidth=1.5)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.set_xlabel("epoch", fontsize=style.TEXT)
    axis.set_ylabel("logloss", fontsize=style.TEXT)
    axis.legend(fontsize=style.TEXT, frameon=False)
    style.save(sheet, path)


def _title(looks: Sequence[Look]) -> str:
    best = min(look["validation_logloss"] for look in looks)
    near = next(look for look in looks if look["validation_logloss"] <= best + LITTLE)
    last = looks[-1]
    if last is near:
        return f"After epoch {last['epoch']:g} validation still gains"
    if last["train_logloss"] < near["train_logloss"] - LITTLE:
        return f"After epoch {near['epoch']:g} the model learns its training rows, and validation gains little"
    return f"After epoch {near['epoch']:g} neither training nor validation gains much"


def _caption(looks: Sequence[Look]) -> str:
    dropped = any(after["dense_rate"] < before["dense_rate"] for before, after in pairwise(looks))
    said = "The loss of training is its mean over the epoch, with ids hidden at random."
    return said + (" Dotted: from here on smaller learning rates." if dropped else "")
