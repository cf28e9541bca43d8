"""Predictors side by side and how far each is from Bayes; and whether probabilities are what they promise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from gpukit.plots import style

from ..metrics import Evaluation

COMPARISON, CALIBRATION = "predictors.png", "calibration.png"
LEAST = 1e-4  # the axes do not go below
LIMITS = 2  # standard errors of a bin's share of clicks, shown as a bar


def comparison(found: Mapping[str, Evaluation], path: Path) -> None:
    """Bars of every predictor, in their order: regret (or logloss, where nobody knows the truth) and AUC, with the line
    of Bayes. The last one is what the figure is about."""
    names = list(found)
    ours = names[-1]
    bayes = found[ours].bayes
    leaks = [name for name, one in found.items() if one.bayes and one.bayes.leaks]
    colours = [style.VERMILION if name in leaks else style.BLUE if name == ours else style.GREY for name in names]
    caption = f"{found[ours].rows:,} rows."
    if bayes is not None:
        caption += " Regret: logloss above that of the true probabilities. Dashed: their AUC."
    if leaks:
        caption += f" Has seen labels of the rows it predicts: {', '.join(leaks)}."
    height = 1.8 + 0.42 * max(len(names), 4)
    sheet, (left, right) = style.figure(_title(found, ours), 2, height, caption=caption)
    losses = [one.logloss if one.bayes is None else one.bayes.regret.value for one in found.values()]
    _bars(left, losses, losses, colours, "logloss" if bayes is None else "regret")
    left.set_yticks(range(len(names)), names)
    aucs = [one.auc for one in found.values()]
    best = None if bayes is None else bayes.empirical_auc
    _bars(right, [one - 0.5 for one in aucs], aucs, colours, "AUC, from 0.5", best and best - 0.5)
    if best is not None:
        below = right.get_xaxis_transform()  # of the data along x, and of the axes along y
        look: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": style.TEXT, "color": style.INK}
        right.text(best - 0.5, -0.01, f"{best:.4f}", transform=below, **look)
    style.save(sheet, path)


def _bars(
    axis: Axes, lengths: list[float], values: list[float], colours: list[str], label: str, line: float | None = None
) -> None:
    """Horizontal bars from 0, first on top, with their values in a column to the right of all of them and of `line`."""
    longest = max(*lengths, line or 0, 1e-6)
    axis.barh(range(len(lengths)), [max(length, 0) for length in lengths], color=colours, height=0.62)
    axis.set_xlim(0, longest * 1.35)
    axis.set_ylim(len(lengths) - 0.4, -0.6)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines["bottom"].set_visible(False)
    axis.set_title(label, loc="left", fontsize=style.TEXT + 0.5, color=style.INK)
    if line is not None:
        axis.axvline(line, color=style.INK, linestyle="--", linewidth=1.5)
    for place, value in enumerate(values):
        axis.text(longest * 1.34, place, f"{value:.4f}", ha="right", va="center", fontsize=style.TEXT, color=style.INK)


def _title(found: Mapping[str, Evaluation], ours: str) -> str:
    mine = found[ours]
    if mine.bayes is not None and mine.bayes.leaks:
        return f"{ours} has seen labels of the rows it predicts: its numbers mean nothing"
    if mine.bayes is not None and mine.bayes.learned is not None:
        if mine.bayes.learned < 0:
            return f"{ours}: a constant is better"
        return f"{ours}: {round(100 * mine.bayes.learned)}% of the way from a constant to the truth"
    return f"{ours} has AUC {mine.auc:.4f} and logloss {mine.logloss:.4f}"


def calibration(name: str, found: Evaluation, path: Path) -> None:
    """The share of clicks against the mean prediction, of each tenth of the rows; both axes are logarithmic."""
    bins = found.deciles
    predicted = [max(one.predicted, LEAST) for one in bins]
    clicked = [max(one.clicked, LEAST) for one in bins]
    off = [one for one in bins if abs(one.clicked - one.predicted) > LIMITS * one.error]
    each = f"{len(bins)} bins of {bins[0].rows:,} rows" if len(bins) > 1 else f"One bin of {bins[0].rows:,} rows"
    sheet, (axis,) = style.figure(
        f"{name}: predicted clicks are {found.calibration:.3f} of the real ones",
        height=5.06,
        caption=f"{each}, by predicted probability, with {LIMITS} standard errors. {_off(len(off), len(bins))} "
        f"Dashed: as many clicks as predicted. Expected calibration error {found.ece:.4f}.",
    )
    low, high = min(predicted + clicked) / 1.4, min(1.0, max(predicted + clicked) * 1.4)
    axis.plot([low, high], [low, high], color=style.GREY, linestyle="--", linewidth=1.5)
    axis.errorbar(
        predicted,
        clicked,
        yerr=[LIMITS * one.error for one in bins],
        color=style.BLUE,
        marker="o",
        markersize=7,
        linewidth=2,
        elinewidth=1.5,
        capsize=4,
    )
    for line in ("x", "y"):
        getattr(axis, f"set_{line}scale")("log")
        getattr(axis, f"set_{line}lim")(low, high)
    ticks = [
        tick for tick in (0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if low <= tick <= high
    ]
    for side in (axis.xaxis, axis.yaxis):
        side.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        side.set_ticks([], minor=True)
    axis.grid(color=style.PALE)
    axis.set_axisbelow(True)
    style.label(axis, "mean predicted probability", "share of clicks")
    style.save(sheet, path)


def _off(bins: int, of: int) -> str:
    if not bins:
        return "No bin is farther off."
    return f"{bins} of {of} {'is' if bins == 1 else 'are'} farther off."
