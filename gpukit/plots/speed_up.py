"""Amdahl's law: what a faster part does for the whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import BLUE, GREEN, INK, MARKS, PURPLE, VERMILION

SHARES = (0.5, 0.9, 0.99)
MARKED = (10, 40)  # speed-ups whose results are written out
COLOURS = (VERMILION, BLUE, GREEN, PURPLE)


def speed_up(share: float, factor: float | np.ndarray) -> Any:
    """How many times faster the whole is when `share` of its time becomes `factor` times faster."""
    return 1 / (1 - share + share / factor)


def draw(path: str | Path, **options: Any) -> None:
    """Write Amdahl's curves to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(**options), path)


def figure_of(*, shares: Sequence[float] = SHARES, title: str = "") -> Figure:
    """The speed-up of the whole over that of the accelerated part, a curve for each share of the time.

    Raises:
        GpukitError: a share is not between 0 and 1, or there are none or more than four.
    """
    if not 1 <= len(shares) <= len(COLOURS) or not all(0 < share < 1 for share in shares):
        raise GpukitError(f"Amdahl's curves are for one to four shares between 0 and 1; got {list(shares)}")
    shares = sorted(shares)
    law = "Amdahl's law: speed-up of the whole = 1 / (1 − p + p / s)."  # noqa: RUF001
    sheet, (axis,) = style.figure(
        title or "What stays as it is sets the limit: with half the time untouched, no GPU makes it twice as fast",
        height=5.06,
        caption=law,
        note=law,
    )
    factor = np.geomspace(1, 1000, 200)
    axis.set_xscale("log")
    axis.set_yscale("log")
    for place, share in enumerate(shares):
        colour, limit = COLOURS[place], 1 / (1 - share)
        axis.plot(factor, speed_up(share, factor), color=colour, linewidth=2.5)
        axis.plot([1, 1000], [limit, limit], ":", color=colour, linewidth=1.2)
        axis.plot(MARKED, [speed_up(share, s) for s in MARKED], MARKS[place], color=colour, markersize=9)
        for s in MARKED:
            axis.annotate(
                f"{speed_up(share, s):.3g}",
                (s, speed_up(share, s)),
                xytext=(4, -6),
                textcoords="offset points",
                va="top",
                fontsize=style.text_size(),
                color=INK,
            )
        axis.annotate(
            f"p = {share:.0%}: at most {limit:,.4g} times",
            (1000, limit),
            xytext=(-4, 3),
            textcoords="offset points",
            ha="right",
            fontsize=style.text_size(),
            color=INK,
        )
    axis.set_xlim(1, 1000)
    axis.set_ylim(1, 1.6 / (1 - shares[-1]))
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(FixedLocator([1, 2, 5, 10, 20, 40, 100, 200, 500, 1000]))
        side.set_minor_locator(NullLocator())
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.grid(color=style.PALE)
    axis.set_axisbelow(True)
    style.label(axis, "speed-up s of the part that runs on the GPU (times)", "speed-up of the whole (times)")
    return sheet
