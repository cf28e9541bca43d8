"""What all figures have in common: the sheet they are drawn on, colours, sizes of text, and how they are saved.

Figures are for a report: 9 inches wide with text of 12 points or more, the title a sentence that states the finding.
Inside of `on_slide()` they are for a slide: as wide as the slide leaves room, text of 18 points or more, and no title,
for the slide has one. The colours are from Okabe and Ito's palette, told apart with any kind of colour vision, and only
repeat what words, shapes or positions say. INK, GREY, PALE and PAPER are those that a dark page turns round; the others
stay, and what is written on a colour must do what it does: `ink_on`. Every figure has a canvas of its own: nothing
here touches pyplot or matplotlib's settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import blended_transform_factory

from gpukit.errors import GpukitError

BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, AMBER = "#56B4E9", "#E69F00"
INK, GREY, PALE, PAPER = "#222222", "#767676", "#E6E6E6", "#FFFFFF"
ON_DARK, ON_LIGHT = "#FEFEFE", "#111111"  # text on the colours above
MARKS = "osD^vPX"  # one per series, so that colour is not all that tells them apart
SERIES = (BLUE, VERMILION, GREEN, PURPLE, SKY, AMBER, INK)
WIDTH = 9.0  # inches
DPI = 150
TITLE, TEXT = 15.0, 12.0  # points
SUFFIXES = (".png", ".svg")
MARGIN = 0.1  # inches, left and right of title and caption
SLIDE_WIDTH, SLIDE_HEIGHT = 1184 / 96, 5.6  # inches, at 96 pixels an inch: what a slide has room for
SLIDE_TEXT = 18.0  # points
TITLE_ROOM, CAPTION_ROOM = 0.4, 0.22  # inches that a report's figure gives to its title, and to a line of its caption


@dataclass(frozen=True)
class _Slide:
    """The room that a figure has on a slide, in inches; `height` None: as high as it likes, up to SLIDE_HEIGHT."""

    width: float
    height: float | None


_SLIDE: ContextVar[_Slide | None] = ContextVar("slide", default=None)


@contextmanager
def on_slide(height: float | None = None, width: float = 1.0) -> Iterator[None]:
    """Figures that are made inside are for a slide: 1184 pixels wide at 96 an inch, text of 18 points or more, without
    title and caption.

    Args:
        height: inches, at most 5.6; None: as high as the figure likes, up to that.
        width: share of the slide's width, for columns.

    Raises:
        GpukitError: a size is beyond what a slide has room for.
    """
    if not 0.2 <= width <= 1 or (height is not None and not 1 <= height <= SLIDE_HEIGHT):
        raise GpukitError(
            f"a figure on a slide is 1 to {SLIDE_HEIGHT} inches high and 0.2 to 1 of its width; got {height}, {width:g}"
        )
    token = _SLIDE.set(_Slide(SLIDE_WIDTH * width, height))
    try:
        yield
    finally:
        _SLIDE.reset(token)


def is_slide() -> bool:
    """Whether figures are made for a slide."""
    return _SLIDE.get() is not None


def width() -> float:
    """Inches that a figure is wide."""
    slide = _SLIDE.get()
    return slide.width if slide else WIDTH


def text_size() -> float:
    """Points of a figure's text."""
    return SLIDE_TEXT if is_slide() else TEXT


def scale() -> float:
    """How much larger text is than in a report; rows and columns that hold text grow alike."""
    return text_size() / TEXT


def sheet_height(wanted: float, caption: str = "") -> float:
    """Inches that a figure gets which wants so many in a report, with this caption."""
    slide = _SLIDE.get()
    if not slide:
        return wanted
    if slide.height:
        return slide.height
    unused = TITLE_ROOM + (CAPTION_ROOM * len(wrapped(caption, TEXT).splitlines()) if caption else 0)
    return min(scale() * (wanted - unused), SLIDE_HEIGHT)


def rows_that_fit(most: int, frame: float, row: float) -> int:
    """How many rows of `row` inches a figure has room for beside `frame` inches (both as in a report): `most` there."""
    if not is_slide():
        return most
    return max(1, min(most, int((sheet_height(99) / scale() - frame + TITLE_ROOM) / row)))


def ink_on(fill: str) -> str:
    """Colour of text on a filled area: one that a dark page turns round where it does the fill, else one that stays."""
    if fill in (PAPER, PALE):
        return INK
    if fill in (INK, GREY):
        return PAPER
    return max(ON_DARK, ON_LIGHT, key=lambda ink: contrast(ink, fill))


def contrast(one: str, other: str) -> float:
    """How much two colours differ in luminance, from 1 to 21; text should have 4.5.

    Source: WCAG 2.2, "contrast ratio" and "relative luminance".
    """
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def figure(
    title: str,
    columns: int = 1,
    height: float = 3.6,
    widths: Sequence[float] | None = None,
    *,
    rows: int = 1,
    heights: Sequence[float] | None = None,
    caption: str = "",
    note: str = "",
    title_size: float = TITLE,
    text_size: float = TEXT,
) -> tuple[Figure, list[Axes]]:
    """A sheet `height` inches high and its axes, row by row, of relative `widths` and `heights`.

    All sizes are those of a report. On a slide text and height grow, the title goes, and `note` takes the caption's
    place: what the slide's heading, text and footer cannot say.
    """
    text_size *= scale()
    sheet = Figure(figsize=(width(), sheet_height(height, caption)), dpi=DPI, layout="constrained", facecolor=PAPER)
    FigureCanvasAgg(sheet)
    place: dict[str, Any] = {"x": 0.01, "ha": "left", "color": INK}
    if is_slide():
        caption = note
    else:
        sheet.suptitle(wrapped(title, title_size, "bold"), fontsize=title_size, fontweight="bold", **place)
    if caption:
        sheet.supxlabel(wrapped(caption, text_size), fontsize=text_size, **place)
    axes = sheet.subplots(rows, columns, width_ratios=widths, height_ratios=heights, squeeze=False)
    for axis in axes.flat:
        axis.set_facecolor(PAPER)
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(GREY)
        axis.tick_params(colors=INK, labelsize=text_size, length=0, pad=3.5 * scale())
        axis.tick_params(which="minor", color=INK)
    return sheet, list(axes.flat)


def bars(
    axis: Axes,
    names: list[str],
    values: list,
    colours: list[str],
    label: str,
    form: str = "{:,.0f}",
    text_size: float = TEXT,
) -> None:
    """Horizontal bars, first on top, each with its number at its end."""
    text_size *= scale()
    axis.barh(range(len(names)), values, color=colours, height=0.62)
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xlim(0, max(values) * 1.28)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    axis.set_title(label, loc="left", fontsize=text_size + 0.5, color=INK)
    for place, value in enumerate(values):
        axis.text(value, place, "  " + form.format(value), va="center", fontsize=text_size, color=INK)


def label(axis: Axes, x: str = "", y: str = "") -> None:
    """Name the axes, with their units."""
    if y and is_slide():
        sheet = axis.get_figure(root=True)
        assert sheet is not None
        y = wrapped(y, text_size(), inches=sheet.get_figheight() - 1.6)
    axis.set_xlabel(x, fontsize=text_size(), color=INK)
    axis.set_ylabel(y, fontsize=text_size(), color=INK)


def legend(axis: Axes, handles: Sequence[Any], columns: int, *, at_edge: bool = False, **options: Any) -> Legend:
    """A legend above the axes, from their left side or the sheet's (`at_edge`), or where `options` put it."""
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.3}
    look: dict[str, Any] = {"framealpha": 1.0, "facecolor": PAPER, "edgecolor": "none"}
    look |= {"columnspacing": 1.4, "handlelength": 1.6, "fontsize": text_size(), "labelcolor": INK}
    if at_edge:
        sheet = axis.get_figure(root=True)
        assert sheet is not None
        place |= {"bbox_transform": blended_transform_factory(sheet.transFigure, axis.transAxes)}
        # Wider than the axes, it must not push them aside: an empty heading keeps its room above them.
        rows = -(-len(handles) // columns)
        axis.set_title("\n".join([" "] * rows), fontsize=1.4 * text_size(), pad=14 if is_slide() else None)
    made = axis.legend(handles=handles, ncols=columns, **{**look, **place, **options})
    made.set_in_layout(not at_edge)
    return made


def percent(share: float) -> str:
    """A share as a percentage, with a decimal where that is not 0."""
    return f"{share:.1%}".replace(".0%", "%")


def number(value: float) -> str:
    """A value in three digits, or as many as its whole part has."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def kernel_name(row: Mapping[str, Any]) -> str:
    """The name of a row, as figures show it: the language is told elsewhere."""
    return plain(str(row["name"]).removeprefix("cpp:"))


def wrapped(text: str, size: float, weight: str = "normal", inches: float | None = None) -> str:
    """Text broken into lines that fit (default: on the sheet); shown as it is."""
    inches = width() - 2 * MARGIN if inches is None else inches
    font = FontProperties(size=size, weight=weight)
    measure = FigureCanvasAgg(Figure(dpi=DPI)).get_renderer().get_text_width_height_descent
    lines: list[str] = []
    for paragraph in text.splitlines():
        lines.append("")
        for word in paragraph.split():
            longer = f"{lines[-1]} {word}" if lines[-1] else word
            if lines[-1] and measure(longer, font, False)[0] > inches * DPI:
                lines.append(word)
            else:
                lines[-1] = longer
    return plain("\n".join(lines))


def plain(text: str) -> str:
    """Text to be shown as it is: a dollar sign begins no formula."""
    return text.replace("$", r"\$")


def shortened(text: str, length: int) -> str:
    """Text of at most so many characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as may be to the wanted ones, in their order, `gap` apart or more, from `low` to `high`.

    Where there is no room for that many, they are spread evenly.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    if len(wanted) > 1 and gap * (len(wanted) - 1) > high - low:
        gap = (high - low) / (len(wanted) - 1)
    groups: list[list[float]] = []  # [sum of what the first place of the group should be, members]
    for rank, i in enumerate(order):
        groups.append([wanted[i] - rank * gap, 1])
        # Members of a group touch; a group that would begin before the one below it ends joins that one.
        while len(groups) > 1 and groups[-1][0] / groups[-1][1] < groups[-2][0] / groups[-2][1]:
            total, members = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += members
    places = [0.0] * len(wanted)
    rank = 0
    top = high - gap * (len(wanted) - 1)
    for total, members in groups:
        first = min(max(total / members, low), max(low, top))
        for _ in range(int(members)):
            places[order[rank]] = first + rank * gap
            rank += 1
    return places


# --- what can be read -----------------------------------------------------------------------------------------------


class _Noting(RendererAgg):
    """A renderer that notes which texts are drawn."""

    def __init__(self, sheet: Figure):
        super().__init__(*sheet.canvas.get_width_height(), sheet.dpi)
        self.texts: dict[int, Text] = {}

    def draw_text(self, *where: Any, **more: Any) -> None:
        text = more.get("mtext")
        if text is not None and where[3].strip():  # graphics context, x, y, the string, ...
            self.texts[id(text)] = text
        super().draw_text(*where, **more)


def texts_of(sheet: Figure) -> list[Text]:
    """Every text that is drawn and not empty; tick labels beyond the ends of an axis are not."""
    noting = _Noting(sheet)
    sheet.draw(noting)
    return list(noting.texts.values())


def smallest_text(sheet: Figure) -> float:
    """Points of the smallest text that is drawn and not empty; infinite where a figure has no text."""
    return min((float(text.get_fontsize()) for text in texts_of(sheet)), default=float("inf"))


# --- data in, file out -----------------------------------------------------------------------------------------------


def need(rows: Iterable[Mapping[str, Any]], keys: Sequence[str], what: str) -> list[Mapping[str, Any]]:
    """The rows as a list. Raises GpukitError when there is none, or one lacks a key."""
    found = list(rows)
    if not found:
        raise GpukitError(f"{what} needs at least one row; there is none")
    for number, row in enumerate(found, 1):
        missing = [key for key in keys if row.get(key) is None]
        if missing:
            raise GpukitError(f"{what}: row {number} ({row.get('name', 'without a name')}) has no {', '.join(missing)}")
    return found


def trace_of(trace: Any) -> Mapping[str, Any]:
    """A trace as plain data, from that or from a `gpukit.Trace`."""
    data = trace if isinstance(trace, Mapping) else getattr(trace, "to_dict", dict)()
    if "steps" not in data or "requests" not in data:
        raise GpukitError("this figure draws a trace: what gpukit.trace(...).to_dict() gives")
    return data


def cut_off(trace: Mapping[str, Any]) -> str:
    """What a caption adds for a trace that does not go to the end."""
    return " The trace was cut off before the end." if trace.get("truncated") else ""


def write(sheet: Figure, to: Path | IO[bytes], form: str) -> None:
    """Write a figure as "png" or "svg" into a file, by its path or open. The same figure gives the same bytes: no date,
    and names that do not depend on chance."""
    if form == "svg":
        with matplotlib.rc_context({"svg.hashsalt": "gpukit"}):
            sheet.savefig(to, format="svg", metadata={"Date": None})
    else:
        sheet.savefig(to, format="png")


def save(sheet: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG, by the suffix of the path.

    Raises:
        GpukitError: the suffix is another, or the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise GpukitError(f"cannot draw {path}: the name of a figure ends in {' or '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise GpukitError(f"cannot draw {path}: there is no folder {path.parent}; make it first, or choose another")
    try:
        write(sheet, path, suffix.removeprefix("."))
    except OSError as error:
        raise GpukitError(f"cannot write {path}: {error.strerror or error}; choose another file") from None


def save_all(
    figures: Mapping[str, Callable[[], Figure | None]], folder: Path, say: Callable[[str], None]
) -> list[Path]:
    """Draw figures by name, and write each as folder/name.png; the paths written. None is a figure of nothing.

    `say` is told of those that cannot be drawn or written, and why.
    """
    made = []
    for name, draw in figures.items():
        try:
            sheet = draw()
            if sheet is not None:
                save(sheet, path := folder / f"{name}.png")
                made.append(path)
        except GpukitError as error:
            say(f"no {name}: {error}")
    return made
