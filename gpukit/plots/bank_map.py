"""Banks: how many words each bank of shared memory must give for a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from gpukit.plots import style
from gpukit.plots.sector_map import requests_of
from gpukit.plots.style import AMBER, INK, PALE, SKY, VERMILION

Trace = Mapping[str, Any]
BANKS, WORD = 32, 4
MAX_ROWS = 18
FRAME_INCHES, ROW_INCHES = 2.6, 0.26
HEAVY = 8  # words of one bank from which a conflict counts as heavy


def draw(trace: Any, path: str | Path, **options: Any) -> None:
    """Write the bank map to `path` (.png or .svg); arguments and errors as for `figure_of`."""
    style.save(figure_of(trace, **options), path)


def figure_of(
    trace: Any,
    *,
    warp: int = 0,
    block: int | None = None,
    array: str = "",
    kinds: Sequence[str] = ("load", "store", "atomic"),
    title: str = "",
) -> Figure:
    """A row for each shared-memory request of a warp, a column for each of the 32 banks, with the number of different
    words that the bank must give; to the right the wavefronts that the request takes.

    Args:
        trace: what `Trace.to_dict()` gives.
        warp, block: whose requests (default: warp 0 of the first block that was recorded).
        array: name of the shared array (default: the one with most requests).
        kinds: "load", "store" and "atomic", as wanted.
        title: instead of the one that states the worst conflict.

    Raises:
        GpukitError: this is no trace, or it has no such requests.
    """
    data = style.trace_of(trace)
    requests = requests_of(data, "shared", warp, block, array, kinds)
    name = data["arrays"][requests[0]["array"]]["name"]
    shown = requests[: style.rows_that_fit(MAX_ROWS, FRAME_INCHES, ROW_INCHES)]
    words = [words_of(data, request) for request in requests]
    worst = max(request["wavefronts"] for request in requests)
    wavefronts = sum(request["wavefronts"] for request in requests)
    caption = (
        f"{len(requests):,} request{'s' if len(requests) > 1 else ''} of warp {warp} to {name}, "
        f"{wavefronts:,} wavefronts. "
        "The number in a bank is how many different 4-byte words it must give; lanes that want one word share it."
    )
    if len(shown) < len(requests):
        caption += f" The first {len(shown)} are shown."
    caption += style.cut_off(data)
    sheet, (axis,) = style.figure(
        title or _title(data["kernel"], requests, words, worst),
        height=FRAME_INCHES + ROW_INCHES * len(shown),
        caption=caption,
        note="The number in a bank: different words that it must give."
        + (f" The first {len(shown)} of {len(requests)} requests." if len(shown) < len(requests) else ""),
    )
    for place in range(len(shown)):
        for bank, count in enumerate(words[place].tolist()):
            axis.add_patch(Rectangle((bank + 0.04, place - 0.44), 0.92, 0.88, facecolor=_colour(count), linewidth=0))
            if count:
                weight = "bold" if count > 1 else "normal"
                ink = style.ink_on(_colour(count))
                # A large number does not fit into its bank across.
                upright = 90 if style.is_slide() and count > 9 else 0
                look: dict[str, Any] = {"fontsize": style.text_size(), "fontweight": weight, "rotation": upright}
                axis.text(bank + 0.5, place, str(count), ha="center", va="center", color=ink, **look)
    axis.set_xlim(0, BANKS)
    axis.set_ylim(len(shown) - 0.4, -0.6)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.set_xticks([bank + 0.5 for bank in range(0, BANKS, 4)], [str(bank) for bank in range(0, BANKS, 4)])
    axis.set_yticks(range(len(shown)), [_row_name(data, request) for request in shown])
    across = axis.get_yaxis_transform()
    for place, request in enumerate(shown):
        axis.text(
            1.015,
            place,
            str(request["wavefronts"]),
            transform=across,
            va="center",
            fontsize=style.text_size(),
            color=INK,
        )
    axis.text(
        1.015, 1.01, "wave-\nfronts", transform=axis.transAxes, va="bottom", fontsize=style.text_size(), color=INK
    )
    style.label(axis, f"bank ({WORD} bytes wide)")
    counts = np.concatenate(words[: len(shown)])
    kinds_of_banks = (
        (SKY, "1 word", counts == 1),
        (AMBER, f"2 to {HEAVY - 1} words", (counts > 1) & (counts < HEAVY)),
        (VERMILION, f"{HEAVY} words or more", counts >= HEAVY),
        (PALE, "not asked", counts == 0),
    )
    handles = [Patch(color=colour, label=name) for colour, name, there in kinds_of_banks if there.any()]
    style.legend(axis, handles, columns=4, bbox_to_anchor=(0, 1.02))
    return sheet


def words_of(data: Trace, request: Mapping[str, Any]) -> np.ndarray:
    """How many different words each bank must give for a request, int (32,)."""
    first = np.array(request["offsets"]) + data["arrays"][request["array"]]["start"]
    words = np.unique((first[:, None] + np.arange(request["width"])) // WORD)
    return np.bincount(words % BANKS, minlength=BANKS)


def _colour(count: int) -> str:
    return PALE if not count else SKY if count == 1 else AMBER if count < HEAVY else VERMILION


def _row_name(data: Trace, request: Mapping[str, Any]) -> str:
    number = data["lines"][request["line"]]["number"]
    return f"{request['kind']}, line {number}"


def _title(kernel: str, requests: Sequence[Mapping[str, Any]], words: Sequence[np.ndarray], worst: int) -> str:
    if worst == 1:
        return f"No bank conflict in '{kernel}': every request takes one wavefront"
    most = max(int(count.max()) for count in words)
    if most < 2 or any(request["width"] > WORD for request in requests):
        return f"A request of '{kernel}' takes up to {worst} wavefronts"
    return f"One bank of '{kernel}' must give up to {most} words: {worst} wavefronts instead of 1"
