"""Predictors on the same rows: how much of what can be known each has learned, and whether the best is calibrated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpukit.plots import style

from ..metrics import Evaluation

COMPARISON, CALIBRATION = "predictors.png", "calibration.png"


def comparison(found: Mapping[str, Evaluation], path: Path) -> None:
    """A bar for each predictor, in their order: of the way from the best constant to the true probabilities, how much
    its logloss has gone; or its AUC, where the truth is not known."""
    last = list(found)[-1]
    first = next(iter(found.values()))
    names, colours = list(found), [style.GREY] * (len(found) - 1) + [style.BLUE]
    learned = {name: one.bayes.learned for name, one in found.items() if one.bayes is not None}
    if all(value is not None for value in learned.values()) and learned:
        values = [100 * max(learned[name] or 0, 0) for name in names]
        title = f"{last} learns {values[-1]:.0f}% of what can be known"
        label, form = "way from the best constant to the true probabilities, by logloss", "{:.0f}%"
    else:
        values = [one.auc for one in found.values()]
        title = f"{last} has AUC {values[-1]:.4f}"
        label, form = "AUC (0.5: no order at all)", "{:.4f}"
    caption = f"{first.rows:,} test rows, click rate {first.click_rate:.3f}."
    sheet, (axis,) = style.figure(title, height=1.9 + 0.42 * len(names), caption=caption)
    style.bars(axis, names, values, colours, label, form)
    style.save(sheet, path)


def calibration(name: str, one: Evaluation, path: Path) -> None:
    """Predicted and real clicks in tenths of the rows, with two standard errors."""
    title = f"{name}: predicted clicks are {one.calibration:.3f} of the real ones"
    caption = f"{one.rows:,} test rows in tenths by what was predicted; bars are two standard errors."
    sheet, (axis,) = style.figure(title, height=4.6, caption=caption)
    predicted, clicked = ([getattr(part, what) for part in one.deciles] for what in ("predicted", "clicked"))
    low, high = 0.8 * min(predicted), 1.25 * max(*predicted, *clicked)
    axis.plot([low, high], [low, high], color=style.GREY, linestyle="--", linewidth=1.5, label="calibrated")
    errors = [2 * part.error for part in one.deciles]
    axis.errorbar(predicted, clicked, errors, color=style.BLUE, marker="o", linestyle="", capsize=3, label=name)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("predicted probability", fontsize=style.TEXT)
    axis.set_ylabel("share of clicks", fontsize=style.TEXT)
    axis.legend(fontsize=style.TEXT, frameon=False)
    style.save(sheet, path)
