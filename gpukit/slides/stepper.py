"""A stepper: what some warps of a recorded trace do, step by step, small enough to lie in a page.

`still()` draws one step for print, and theme/stepper.js draws the same picture for any step from `to_dict()`:

    title, kernel
    size      [width, height] of the picture in pixels of a slide
    source    lines of source text, without the indentation that all have
    warps     numbers of the warps
    lanes     of each warp the mask of its lanes that exist
    at        number of the step that is shown at first
    requests  rows that the picture has for requests
    steps     [{l, a, w, d, r}]: the line (an index into source), and of each warp the masks of its lanes that are
              active, wait at a barrier, or are done; bit n is lane n. `w`, `d` and `r` are left out where empty.
              r: [[warp (an index into warps), "load", "x", cost, [first, count, used, ...]]]: a request, its sectors
              and runs of sectors of which as many bytes are used; or, with a sixth entry 1, its wavefronts and runs
              of banks that must give as many words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from gpukit.errors import GpukitError
from gpukit.plots import style
from gpukit.plots.bank_map import words_of
from gpukit.plots.sector_map import SECTOR, sectors_of
from gpukit.plots.style import AMBER, BLUE, GREY, INK, PALE, PAPER, SKY, VERMILION

WIDTH, HEIGHT, KEYS_HEIGHT = 1184, 500, 52  # pixels of a slide; KEYS_HEIGHT is the row of buttons below the picture
MAX_STEPS, MAX_WARPS, MAX_REQUESTS = 400, 4, 3
TEXT, ROW = 24, 30  # pixels
LETTER = 0.602 * TEXT  # width of the monospaced font's letters, about
LANES_LEFT, CELL = 104, 30
STRIP_LEFT, STRIP_CELL = 576, 19
FULL = (1 << 32) - 1
IDLE, MARKS = "url(#idle)", {"w": "w", "d": "·"}
MONO, SANS = "DejaVu Sans Mono, Liberation Mono, Menlo, Consolas, monospace", "DejaVu Sans, Arial, sans-serif"


@dataclass(frozen=True)
class Stepper:
    """A trace to step through. Make one by `Stepper.of`."""

    data: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        trace: Any,
        *,
        warps: Sequence[int] | None = None,
        block: int = 0,
        lines: Sequence[str] | None = None,
        at: int | None = None,
        title: str = "",
    ) -> Stepper:
        """The steps of some warps of a block.

        Args:
            trace: what `gpukit.trace` gives, or its `to_dict()`.
            warps: up to four warps of the block (default: the first two).
            block: number of the thread block.
            lines: texts: only steps of source lines that contain one of them (default: all).
            at: the step that is shown at first, and in print (default: the first in which lanes of a busy warp idle).
            title: what the page calls the stepper.

        Raises:
            GpukitError: this is no trace, or it has no such block, warp, line or step, or too many steps; or on this
                slide there is no room.
        """
        found = style.trace_of(trace)
        shown = tuple(range(min(2, found["warps_per_block"]))) if warps is None else tuple(warps)
        _check(found, shown, block)
        steps = [step for step in found["steps"] if step["block"] == block and _is_of(found, step, shown, lines)]
        if not 1 <= len(steps) <= MAX_STEPS:
            raise GpukitError(
                f"a stepper of {found['kernel']} has 1 to {MAX_STEPS} steps; these warps and lines have {len(steps)}"
            )
        order, source = _source(found, sorted({step["line"] for step in steps}))
        by_step: dict[int, list[Mapping[str, Any]]] = {}
        for request in found["requests"]:
            if request["block"] == block and request["warp"] in shown:
                by_step.setdefault(request["step"], []).append(request)
        made = [_step(found, step, order, shown, by_step.get(step["step"], [])) for step in steps]
        if at is not None and not 0 <= at < len(made):
            raise GpukitError(f"the stepper of {found['kernel']} has steps 0 to {len(made) - 1}; got at={at}")
        requests = max((_rows_of_requests(step) for step in made), default=0)
        height = min(HEIGHT, round(96 * style.sheet_height(99)))
        lanes = [_existing(found, warp) for warp in shown]
        data = {
            "title": title or f"{found['kernel']}, step by step",
            "kernel": found["kernel"],
            "size": [WIDTH, height - KEYS_HEIGHT],
            "source": source,
            "warps": list(shown),
            "lanes": lanes,
            "at": _interesting(made, lanes) if at is None else at,
            "requests": min(requests, MAX_REQUESTS),
            "steps": made,
        }
        if _rows_of_source(data) < 1:
            raise GpukitError(f"the stepper of {found['kernel']} has no room for {len(shown)} warps; show fewer")
        return cls(data)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the module says what is in it."""
        return dict(self.data)

    def still(self, step: int | None = None) -> str:
        """A step as the text of an SVG, as wide as a slide, no text smaller than 24 pixels (18 points).

        Raises:
            GpukitError: there is no such step.
        """
        steps = self.data["steps"]
        number = self.data["at"] if step is None else step
        if not 0 <= number < len(steps):
            raise GpukitError(f"the stepper of {self.data['kernel']} has steps 0 to {len(steps) - 1}; got {number}")
        return _drawn(self.data, number)


# --- from the trace --------------------------------------------------------------------------------------------------


def _check(trace: Mapping[str, Any], warps: Sequence[int], block: int) -> None:
    if block not in trace["blocks"]:
        raise GpukitError(
            f"the trace of {trace['kernel']} has no block {block}; it has {', '.join(map(str, trace['blocks']))}"
        )
    if not 1 <= len(warps) <= MAX_WARPS or not all(0 <= warp < trace["warps_per_block"] for warp in warps):
        raise GpukitError(
            f"a stepper shows 1 to {MAX_WARPS} of the warps 0 to {trace['warps_per_block'] - 1} of {trace['kernel']}; "
            f"got {list(warps)}"
        )


def _is_of(
    trace: Mapping[str, Any], step: Mapping[str, Any], warps: Iterable[int], lines: Sequence[str] | None
) -> bool:
    text = trace["lines"][step["line"]]["text"]
    wanted = lines is None or any(part in text for part in lines)
    return wanted and any(str(warp) in step["active"] for warp in warps)


def _source(trace: Mapping[str, Any], used: Sequence[int]) -> tuple[dict[int, int], list[str]]:
    """(place of each line of the trace among the shown ones, their texts): the lines that run, and those between."""
    table = trace["lines"]
    shown = list(range(used[0], used[-1] + 1))
    # Lines of other functions were added at the end, in the order in which they ran.
    shown = [line for line in shown if line in used or table[line]["file"] == trace["file"]]
    texts = [table[line]["text"].rstrip() for line in shown]
    indent = min((len(text) - len(text.lstrip()) for text in texts if text), default=0)
    return {line: place for place, line in enumerate(shown)}, [text[indent:] for text in texts]


def _step(
    trace: Mapping[str, Any],
    step: Mapping[str, Any],
    order: Mapping[int, int],
    warps: Sequence[int],
    requests: Iterable[Mapping[str, Any]],
) -> dict[str, Any]:
    made: dict[str, Any] = {"l": order[step["line"]], "a": [step["active"].get(str(warp), 0) for warp in warps]}
    for key, name in (("w", "waiting"), ("d", "done")):
        masks = [step.get(name, {}).get(str(warp), 0) for warp in warps]
        if any(masks):
            made[key] = masks
    found = [_request(trace, request, warps) for request in requests if not request.get("part")]
    if found:
        made["r"] = found
    return made


def _request(trace: Mapping[str, Any], request: Mapping[str, Any], warps: Sequence[int]) -> list[Any]:
    name = trace["arrays"][request["array"]]["name"]
    place = warps.index(request["warp"])
    if request["space"] == "global":
        return [place, request["kind"], name, request["sectors"], _runs(sectors_of(trace, request))]
    words = {bank: count for bank, count in enumerate(words_of(trace, request).tolist()) if count}
    return [place, request["kind"], name, request["wavefronts"], _runs(words), 1]


def _runs(counts: Mapping[int, int]) -> list[int]:
    """first, how many, count of each run of neighbours with the same count."""
    runs: list[int] = []
    for place, count in sorted(counts.items()):
        if runs and runs[-3] + runs[-2] == place and runs[-1] == count:
            runs[-2] += 1
        else:
            runs += [place, 1, count]
    return runs


def _existing(trace: Mapping[str, Any], warp: int) -> int:
    """The lanes of a warp that exist: the last warp of a block may be a part of one."""
    return FULL >> max(0, 32 * (warp + 1) - trace["threads_per_block"])


def _interesting(steps: Sequence[Mapping[str, Any]], lanes: Sequence[int]) -> int:
    """The first step in which lanes of a busy warp idle, or else the first with a request, or the first."""
    idle = (
        n for n, step in enumerate(steps) if any(a not in (0, all_) for a, all_ in zip(step["a"], lanes, strict=True))
    )
    asks = (number for number, step in enumerate(steps) if "r" in step)
    return next(idle, next(asks, 0))


# --- onto the slide --------------------------------------------------------------------------------------------------
# theme/stepper.js draws the same; tests compare the two.


def shown_requests(step: Mapping[str, Any]) -> list[Any]:
    """The requests that the picture shows: those of the first warp that has any."""
    requests = step.get("r", [])
    return [request for request in requests if request[0] == requests[0][0]][:MAX_REQUESTS]


def _rows_of_requests(step: Mapping[str, Any]) -> int:
    return len(shown_requests(step))


def _rows_of_source(data: Mapping[str, Any]) -> int:
    """How many lines of source have room."""
    below = 2 * ROW + len(data["warps"]) * (CELL + 8) + ROW + data["requests"] * (ROW + 6) + 12
    return min(len(data["source"]), int((data["size"][1] - below) // ROW))


def states_of(data: Mapping[str, Any], number: int, warp: int) -> str:
    """A letter for each lane of a warp (an index into `warps`): "a" active, "i" idle in a busy warp, "w" waits at a
    barrier, "d" done, "-" not its turn, " " where there is no lane."""
    step = data["steps"][number]
    active, exists = step["a"][warp], data["lanes"][warp]
    waiting, done = (step.get(key, [0] * len(data["warps"]))[warp] for key in "wd")
    letters = []
    for lane in range(32):
        bit = 1 << lane
        if not exists & bit:
            letters.append(" ")
        elif active & bit:
            letters.append("a")
        else:
            letters.append("d" if done & bit else "w" if waiting & bit else "i" if active else "-")
    return "".join(letters)


def sentence(data: Mapping[str, Any], number: int) -> str:
    """A step in words."""
    step = data["steps"][number]
    parts = [f"Step {number + 1} of {len(data['steps'])}: {data['source'][step['l']].strip()}"]
    for place, warp in enumerate(data["warps"]):
        states = states_of(data, number, place)
        active = states.count("a")
        more = [f"{states.count(letter)} {word}" for letter, word in (("w", "at the barrier"), ("d", "done"))]
        rest = [text for text in more if not text.startswith("0 ")]
        parts.append(
            ", ".join([f"warp {warp}: {active} of 32 lanes active" if active else f"warp {warp}: waits", *rest])
        )
    parts += [_told(request, data) for request in shown_requests(step)]
    return ". ".join(parts) + "."


def _told(request: Sequence[Any], data: Mapping[str, Any]) -> str:
    """A request in words."""
    place, kind, name, cost, runs = request[:5]
    unit = "wavefront" if len(request) > 5 else "sector"
    text = f"warp {data['warps'][place]} {kind} {style.shortened(name, 10)}: {cost} {unit}{'' if cost == 1 else 's'}"
    if len(request) > 5:
        return text
    used = sum(many * size for many, size in zip(runs[1::3], runs[2::3], strict=True))
    return f"{text}, {math.floor(1000 * used / (SECTOR * cost) + 0.5) / 10:g}% used"


def _text(x: float, y: float, text: str, **attributes: str) -> str:
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{given}>{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str, **attributes: str) -> str:
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"{given}/>'


def _drawn(data: Mapping[str, Any], number: int) -> str:
    width, height = data["size"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{SANS}" font-size="{TEXT}" fill="{INK}">',
        '<defs><pattern id="idle" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="8" height="8" fill="{AMBER}"/><rect width="2.5" height="8" fill="{INK}"/></pattern></defs>',
    ]
    y = 0.0
    for part in (_source_rows, _lane_rows, _request_rows):
        drawn, y = part(data, number, y)
        parts += drawn
    return "".join([*parts, "</svg>"])


def _source_rows(data: Mapping[str, Any], number: int, y: float) -> tuple[list[str], float]:
    rows, line = _rows_of_source(data), data["steps"][number]["l"]
    first = max(0, min(line - rows // 2, len(data["source"]) - rows))
    letters = int((WIDTH - 50) / LETTER)
    parts = []
    for place, text in enumerate(data["source"][first : first + rows]):
        top = y + ROW * place
        if first + place == line:
            parts.append(_rect(0, top, WIDTH, ROW, PALE))
            parts.append(f'<path d="M8 {top + 6:g}l14 9l-14 9z"/>')
        look = {"font_family": MONO} | ({"font_weight": "bold"} if first + place == line else {})
        shown = style.shortened(text, letters)
        code = shown.lstrip()
        parts.append(_text(34 + LETTER * (len(shown) - len(code)), top + 23, code, **look))
    return parts, y + ROW * rows + 6


def _lane_rows(data: Mapping[str, Any], number: int, y: float) -> tuple[list[str], float]:
    parts = [_text(0, y + 23, "lane")]
    middle = LANES_LEFT + CELL / 2
    parts += [_text(middle + CELL * lane, y + 23, str(lane), text_anchor="middle") for lane in (0, 8, 16, 24, 31)]
    y += ROW
    for place, warp in enumerate(data["warps"]):
        states = states_of(data, number, place)
        parts.append(_text(0, y + 24, f"warp {warp}"))
        for lane, letter in enumerate(states):
            if letter == " ":
                continue
            x, text = LANES_LEFT + CELL * lane, MARKS.get(letter, "")
            # A lane of a busy warp that does nothing is lost, wherever it is.
            quiet = (AMBER if text else IDLE) if "a" in states else PAPER if letter == "d" else PALE
            parts.append(_rect(x + 1, y, CELL - 2, CELL + 2, BLUE if letter == "a" else quiet, stroke=GREY))
            if text:
                ink = style.ink_on(quiet)
                parts.append(_text(x + CELL / 2, y + 24, text, text_anchor="middle", fill=ink))
        count = states.count("a")
        right = f"{count}/32" if count else "waits"
        parts.append(_text(WIDTH, y + 24, right, text_anchor="end", font_weight="bold"))
        y += CELL + 8
    left = LANES_LEFT
    for fill, letter, text in (
        (BLUE, "", "active"),
        (IDLE, "", "idle, warp busy"),
        (PALE, "w", "at the barrier"),
        (PALE, "", "not its turn"),
        (PAPER, "·", "done"),
    ):
        parts.append(_rect(left, y + 4, 24, 24, fill, stroke=GREY))
        if letter:
            parts.append(_text(left + 12, y + 24, letter, text_anchor="middle"))
        parts.append(_text(left + 32, y + 24, text))
        left += 32 + 13 * len(text) + 26
    return parts, y + ROW + 12


def _request_rows(data: Mapping[str, Any], number: int, y: float) -> tuple[list[str], float]:
    parts = []
    for request in shown_requests(data["steps"][number]):
        parts.append(_text(0, y + 24, _told(request, data)))
        parts += _banks(request[4], y) if len(request) > 5 else _sectors(request[4], y)
        y += ROW + 6
    return parts, y


def _sectors(runs: Sequence[int], y: float) -> list[str]:
    """The sectors, neighbours side by side, each filled as far as it is used."""
    triples = list(zip(runs[::3], runs[1::3], runs[2::3], strict=True))
    room, cells = WIDTH - STRIP_LEFT, sum(runs[1::3])
    cell = min(STRIP_CELL, room / cells)
    gaps = sum(first != before[0] + before[1] for before, (first, _, _) in itertools.pairwise(triples))
    gap = min(8.0, (room - cell * cells) / gaps) if gaps else 0.0
    parts: list[str] = []
    x, end = float(STRIP_LEFT), triples[0][0]
    for first, many, used in triples:
        x += gap if first != end else 0
        end = first + many
        for _ in range(many):
            high = (ROW - 2) * used / SECTOR
            parts.append(_rect(x, y + 2 + ROW - 2 - high, cell - 2, high, BLUE if used == SECTOR else AMBER))
            parts.append(_rect(x, y + 2, cell - 2, ROW - 2, "none", stroke=INK))
            x += cell
    return parts


def _banks(runs: Sequence[int], y: float) -> list[str]:
    """The 32 banks, and how many words each must give."""
    words = [0] * 32
    for first, many, count in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
        words[first : first + many] = [count] * many
    parts = []
    for bank, count in enumerate(words):
        x = STRIP_LEFT + STRIP_CELL * bank
        fill = PALE if not count else SKY if count == 1 else VERMILION
        parts.append(_rect(x, y + 2, STRIP_CELL - 2, ROW - 2, fill, stroke=GREY))
        if 0 < count < 10:
            ink = style.ink_on(fill)
            parts.append(_text(x + STRIP_CELL / 2 - 1, y + 25, str(count), text_anchor="middle", fill=ink))
    return parts
