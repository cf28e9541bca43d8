"""A timeline: who does what from when to when, on one axis of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from gpukit.errors import GpukitError
from gpukit.plots import board, style
from gpukit.plots.style import AMBER, BLUE, GREEN, GREY, INK, PALE, PAPER, SKY

Row = Mapping[str, Any]
# kind: fill, hatch
KINDS: dict[str, tuple[str, str]] = {
    "issue": (BLUE, ""),
    "wait": (PAPER, board.HATCH),
    "copy in": (SKY, ""),
    "kernel": (BLUE, ""),
    "copy out": (AMBER, "\\\\\\"),
    "host": (PALE, ""),
    "launch": (GREY, ""),
}
ROW_INCHES, FRAME_INCHES, HEADING_ROWS = 0.34, 1.5, 0.9
MAX_ROWS = 24


def draw(rows: Sequence[Row], path: str | Path, **options: Any) -> None:
    """Write the timeline to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(rows, **options), path)


def figure_of(
    rows: Sequence[Row], *, unit: str = "cycles", saving: bool = False, caption: str = "", title: str = ""
) -> Figure:
    """A bar for each thing done, a row for each who does it (a warp, a stream), one time axis for all.

    Args:
        rows: first on top, each with "name" and "bars": a list of {"start", "end", "kind"} (of "issue", "wait",
            "copy in", "kernel", "copy out", "host", "launch") and, where wanted, "text" (shown where it fits). Rows
            with the same "group" stand together under that heading.
        unit: of time.
        saving: shade what the group that ends first saves against the one that ends last, and say how much.
        caption: below the figure; not on a slide.
        title: instead of the one that says which group ends when.

    Raises:
        GpukitError: there are no rows, too many, a bar has no length, or its kind is unknown.
    """
    found = style.need(rows, ("name", "bars"), "the timeline")
    for row in found:
        for bar in style.need(row["bars"], ("start", "end", "kind"), f"the timeline of {row['name']}"):
            if bar["kind"] not in KINDS or not 0 <= bar["start"] < bar["end"]:
                raise GpukitError(
                    f"the timeline of {row['name']}: a bar is of {', '.join(KINDS)} and ends after it starts; got "
                    f"{bar['kind']} from {bar['start']:g} to {bar['end']:g}"
                )
    groups = list(dict.fromkeys(str(row.get("group") or "") for row in found))
    ends = {
        group: max(bar["end"] for row in found if str(row.get("group") or "") == group for bar in row["bars"])
        for group in groups
    }
    if saving and len(groups) < 2:
        raise GpukitError("the timeline shows a saving between groups; its rows have fewer than two")
    places, headings = _places(found)
    bottom = max(places) + 0.55
    if len(found) > style.rows_that_fit(MAX_ROWS, FRAME_INCHES + ROW_INCHES * HEADING_ROWS * len(headings), 0.24):
        raise GpukitError(f"the timeline has no room for {len(found)} rows; show fewer")
    kinds = [kind for kind in KINDS if any(bar["kind"] == kind for row in found for bar in row["bars"])]
    sheet, (axis,) = style.figure(
        title or _title(ends, unit), height=FRAME_INCHES + ROW_INCHES * (bottom + 0.5), caption=caption
    )
    longest = max(ends.values())
    axis.set_xlim(0, longest * 1.01)
    axis.set_ylim(bottom, -0.55)
    axis.set_yticks(places, [style.plain(str(row["name"])) for row in found])
    axis.spines["left"].set_visible(False)
    axis.xaxis.set_major_locator(MaxNLocator(8))
    for text, place in headings:
        board_text: dict[str, Any] = {"fontsize": style.text_size(), "fontweight": "bold", "color": INK, "va": "center"}
        saved = max(ends.values()) - ends[text] if saving else 0
        more = f", {style.number(saved)} {unit} saved" if saved else ""
        axis.text(0, place, style.plain(f"{text}: {style.number(ends[text])} {unit}{more}"), **board_text)
    if saving:
        _saving(axis, found, places, ends)
    label_inches = 0.2 + max(board.text_width(str(row["name"])) for row in found)
    inches_a_unit = (board.width() - label_inches - 0.2) / (longest * 1.01)
    for row, place in zip(found, places, strict=True):
        for bar in row["bars"]:
            _bar(axis, bar, place, inches_a_unit)
    style.label(axis, f"time ({unit})")
    if len(headings) == 0 or len(kinds) > 1:
        handles = [board.patch(*KINDS[kind], kind) for kind in kinds]
        handles += [Patch(facecolor=PAPER, edgecolor=GREEN, hatch="..", label="saved")] if saving else []
        style.legend(axis, handles, columns=len(handles), bbox_to_anchor=(0, 1.02))
    return sheet


def _places(rows: Sequence[Row]) -> tuple[list[float], list[tuple[str, float]]]:
    """(place of each row, [(heading, its place)]) from the top down: a group's heading takes a row of its own."""
    places: list[float] = []
    headings: list[tuple[str, float]] = []
    group, place = "", 0.0
    for row in rows:
        own = str(row.get("group") or "")
        if own and own != group:
            headings.append((own, place + (0.15 if places else 0)))
            place += HEADING_ROWS + (0.15 if places else 0)
            group = own
        places.append(place)
        place += 1
    return places, headings


def _bar(axis: Axes, bar: Row, place: float, inches_a_unit: float) -> None:
    fill, hatch = KINDS[bar["kind"]]
    length = bar["end"] - bar["start"]
    look: dict[str, Any] = {"facecolor": fill, "edgecolor": INK, "linewidth": 0.8, "hatch": hatch}
    axis.add_patch(Rectangle((bar["start"], place - 0.38), length, 0.76, zorder=2, **look))
    text = str(bar.get("text") or "")
    if text and board.text_width(text) + 0.06 <= length * inches_a_unit:
        middle = bar["start"] + length / 2
        made = axis.text(middle, place, style.plain(text), ha="center", va="center_baseline", zorder=3)
        made.set(fontsize=style.text_size(), color=style.ink_on(fill))
        if hatch:
            made.set_bbox({"facecolor": fill, "edgecolor": "none", "pad": 1.5})


def _saving(axis: Axes, rows: Sequence[Row], places: Sequence[float], ends: Mapping[str, float]) -> None:
    """Shade, beside the rows of the group that ends first, the time until the last group ends."""
    first, last = min(ends, key=lambda group: ends[group]), max(ends.values())
    own = [place for row, place in zip(rows, places, strict=True) if str(row.get("group") or "") == first]
    saved = last - ends[first]
    if not saved:
        return
    top, bottom = min(own) - 0.45, max(own) + 0.45
    look: dict[str, Any] = {"facecolor": PAPER, "edgecolor": GREEN, "hatch": "..", "linewidth": 1.5}
    axis.add_patch(Rectangle((ends[first], top), saved, bottom - top, zorder=1, **look))


def _title(ends: Mapping[str, float], unit: str) -> str:
    if len(ends) == 1:
        return f"All is done after {style.number(next(iter(ends.values())))} {unit}"
    first, last = min(ends, key=lambda group: ends[group]), max(ends, key=lambda group: ends[group])
    return f"{first}: {style.number(ends[first])} {unit}, {last}: {style.number(ends[last])} {unit}"
