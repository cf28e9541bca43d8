"""The roofline: how fast a kernel could be with the work it does per byte, and how fast it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.style import BLUE, GREY, INK, MARKS, PAPER, SERIES, VERMILION

Point = Mapping[str, Any]
HEIGHT = 5.06  # inches
ROOFS = (  # key of the GPU's figures, name, its short form for a slide, where all stand in one row, line, colour
    ("bandwidth_gb_s", "memory by data sheet", "data sheet", "-", INK),
    ("read_gb_s", "reads, measured", "reads", "-.", BLUE),
    ("copy_gb_s", "copies, measured", "copies", "--", VERMILION),
)


def draw(points: Sequence[Point], gpu: Mapping[str, Any], path: str | Path, **options: Any) -> None:
    """Write the roofline to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(points, gpu, **options), path)


def figure_of(points: Sequence[Point], gpu: Mapping[str, Any], *, title: str = "") -> Figure:
    """The roofline of a GPU and kernels under it, both axes logarithmic.

    Args:
        points: "name", "flops_per_byte" (operations per byte of global memory) and "bandwidth_gb_s" of each kernel.
        gpu: its figures as `Gpu.to_dict()` gives them: "name", "fp32_tflops", "bandwidth_gb_s", and, where measured,
            "copy_gb_s" and "read_gb_s".
        title: instead of the one that says how close the best kernel comes.

    Raises:
        GpukitError: a figure of the GPU or of a point is missing or not positive.
    """
    found = style.need(points, ("name", "flops_per_byte", "bandwidth_gb_s"), "the roofline")
    for point in found:
        if min(point["flops_per_byte"], point["bandwidth_gb_s"]) <= 0:
            raise GpukitError(f"the roofline: the figures of {point['name']} must be more than 0")
    missing = [key for key in ("name", "fp32_tflops", "bandwidth_gb_s") if not gpu.get(key)]
    if missing:
        raise GpukitError(f"the roofline needs {', '.join(missing)} of the GPU; its specifications do not have it")
    peak, bandwidth = gpu["fp32_tflops"] * 1e3, gpu["bandwidth_gb_s"]
    ridge = peak / bandwidth
    x = np.array([point["flops_per_byte"] for point in found])
    y = x * [point["bandwidth_gb_s"] for point in found]
    left, right = min(x.min() / 4, ridge / 40), max(x.max() * 18, ridge * 8)
    sheet, (axis,) = style.figure(title or _title(found, gpu), height=HEIGHT)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(left, right)
    axis.set_ylim(min(y.min() / 2, left * bandwidth), peak * 2.2)
    for key, name, short, line, colour in ROOFS:
        if speed := gpu.get(key):
            knee = peak / speed
            axis.plot(
                [left, knee],
                [left * speed, peak],
                line,
                color=colour,
                label=f"{short if style.is_slide() else name}: {speed:,.0f} GB/s",
            )
    axis.plot([ridge, right], [peak, peak], "-", color=INK)
    axis.text(
        right,
        peak * 1.12,
        f"fp32 peak: {gpu['fp32_tflops']:g} TFLOP/s",
        ha="right",
        fontsize=style.text_size(),
        color=INK,
    )
    axis.plot([ridge, ridge], [axis.get_ylim()[0], peak], ":", color=GREY, linewidth=1, zorder=0)
    for form in (axis.xaxis, axis.yaxis):
        form.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    _points(sheet, axis, found, gpu, x, y)
    style.label(axis, "arithmetic intensity (FLOP per byte of global memory)", "performance (GFLOP/s)")
    roofs = axis.get_legend_handles_labels()[0]
    if style.is_slide():  # names on a slide are large: they need the corners
        style.legend(axis, roofs, len(roofs), columnspacing=1.0)
    else:
        style.legend(axis, roofs, 1, loc="lower right", bbox_to_anchor=(1, 0))
    axis.annotate(
        f"ridge: {ridge:.1f} FLOP/byte",
        (ridge, peak),
        xytext=(6, -8),
        textcoords="offset points",
        va="top",
        fontsize=style.text_size(),
        color=INK,
    )
    return sheet


def _points(
    sheet: Figure, axis: Axes, points: Sequence[Point], gpu: Mapping[str, Any], x: np.ndarray, y: np.ndarray
) -> None:
    """The kernels, each with its name to the right; names of kernels close to each other are spread upwards, and
    where there are too many, some go without."""
    low, high = np.log10(axis.get_ylim())
    gap = (high - low) * (0.068 if style.is_slide() else 0.062) * style.scale() * HEIGHT / sheet.get_figheight()
    low, high = low + gap / 2, high - 2 * gap
    labels: dict[int, float] = {}
    for column in _columns(x):
        named = _named(column, y, int((high - low) / gap) + 1, gap)
        labels |= zip(named, style.spread([float(np.log10(y[place])) for place in named], gap, low, high), strict=True)
    for place, point in enumerate(points):
        look: dict[str, Any] = {"color": SERIES[place % len(SERIES)], "markeredgecolor": PAPER}
        axis.plot(x[place], y[place], MARKS[place % len(MARKS)], markersize=9, zorder=4, **look)
        if place in labels:
            axis.annotate(
                f"{style.kernel_name(point)}: {_speed(point, gpu)}",
                (x[place], y[place]),
                xytext=(x[place] * 1.45, 10 ** labels[place]),
                va="center",
                fontsize=style.text_size(),
                color=INK,
                arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 4},
                bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 0.8},
                zorder=5,
            )


def _speed(point: Point, gpu: Mapping[str, Any]) -> str:
    """How fast a kernel is, in the unit of the roof above it."""
    speed, intensity = point["bandwidth_gb_s"], point["flops_per_byte"]
    if intensity * gpu["bandwidth_gb_s"] > gpu["fp32_tflops"] * 1e3:
        return f"{speed * intensity / 1e3:,.3g} TFLOP/s"
    return f"{speed:,.0f} GB/s"


def _named(column: np.ndarray, y: np.ndarray, room: int, gap: float) -> list[int]:
    """Which points of a column have their name shown: all, or from the fastest down those that are apart."""
    order = sorted(column.tolist(), key=lambda place: -y[place])
    if len(order) <= room:
        return order
    named: list[int] = []
    for place in order:
        if not named or np.log10(y[named[-1]] / y[place]) >= gap:
            named.append(place)
    return named[:room]


def _columns(x: np.ndarray) -> list[np.ndarray]:
    """Points whose names would lie above each other: those less than a factor of 30 from the one before."""
    order = np.argsort(x, kind="stable")
    breaks = np.flatnonzero(x[order][1:] > 30 * x[order][:-1]) + 1
    return np.split(order, breaks)


def _title(points: Sequence[Point], gpu: Mapping[str, Any]) -> str:
    peak, bandwidth = gpu["fp32_tflops"] * 1e3, gpu["bandwidth_gb_s"]

    def share(point: Point) -> float:
        return point["bandwidth_gb_s"] / min(bandwidth, peak / point["flops_per_byte"])

    best = max(points, key=share)
    side = "memory" if best["flops_per_byte"] < peak / bandwidth else "arithmetic"
    reached = f"reaches {share(best):.0%} of what the {gpu['name']} can do"
    return f"'{style.kernel_name(best)}' {reached}; its limit is {side}"
