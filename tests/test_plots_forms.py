"""Diagrams from plain data: what they say, that they fit on sheets and slides, in our colours, and how they fail."""

import io
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import gpukit
from gpukit.bench.figures import timed_rows
from gpukit.errors import GpukitError
from gpukit.kernels import barriers, coalescing, reduction
from gpukit.plots import (
    activity,
    bank_map,
    board,
    curves,
    gantt,
    gathers,
    grids,
    nested,
    padding,
    roofs,
    sector_map,
    speed_up,
    strips,
    style,
    tree,
    waterfall,
)

LENGTHS = [3, 1, 8, 2, 4, 2, 1, 7, 2, 3, 1, 2]
IDS = [17, 803, 5, 803, 990, 412, 77, 260]
LOOKUPS = [
    {"name": "embedding[id]", "ids": IDS, "rows": 1000, "row_bytes": 64},
    {"name": "x[indices[j]]", "ids": IDS, "rows": 1000, "row_bytes": 4},
]
STREAMS = [
    {
        "name": "default stream",
        "group": "one stream",
        "bars": [
            {"start": 0, "end": 4, "kind": "copy in", "text": "copy in"},
            {"start": 4, "end": 7, "kind": "kernel", "text": "kernel"},
            {"start": 7, "end": 11, "kind": "copy out", "text": "copy out"},
        ],
    },
    *(
        {
            "name": f"stream {s}",
            "group": "two streams",
            "bars": [
                {"start": 2 * s, "end": 2 * s + 2, "kind": "copy in"},
                {"start": 2 * s + 2, "end": 2 * s + 3.5, "kind": "kernel"},
                {"start": 2 * s + 3.5, "end": 2 * s + 5.5, "kind": "copy out"},
            ],
        }
        for s in range(2)
    ),
]
WARPS = [
    {
        "name": f"warp {w}",
        "bars": [
            {"start": 4 * w, "end": 4 * w + 4, "kind": "issue"},
            {"start": 4 * w + 4, "end": 4 * w + 20, "kind": "wait", "text": "waits for memory"},
        ],
    }
    for w in range(4)
]
GRID = {
    "name": "grid",
    "note": "<<<1000, 256>>>: 256,000 threads",
    "boxes": [
        {
            "name": "block 0",
            "wide": 3,
            "columns": 1,
            "boxes": [
                {"name": "warp 0", "high": 2, "boxes": [{"name": str(lane), "fill": "sky"} for lane in range(8)]},
                {"name": "warp 1", "fill": "pale"},
            ],
        },
        {"name": "block 1", "fill": "hatched"},
    ],
}
NS = [2**k for k in range(8, 27, 2)]
CROSSING = [{"name": "CPU", "x": n, "y": 0.001 * n} for n in NS] + [
    {"name": "GPU", "x": n, "y": 20 + 0.0001 * n, "low": 19, "high": 22 + 0.0001 * n} for n in NS
]
LADDER = [
    {"name": name, "bandwidth_gb_s": value, "low": 0.98 * value, "high": value, "best": 1.01 * value}
    for name, value in (("naive", 400), ("compact", 430), ("sequential", 640), ("shuffle", 2060))
]


def transposed():
    cells = [[f"{row}{column}" for column in range(8)] for row in range(8)]
    row = [["touched" if place == 2 else "" for _ in range(8)] for place in range(8)]
    return [
        {"name": "matrix", "cells": cells, "fills": row, "then": "rows in", "note": "a warp reads a row"},
        {"name": "tile", "cells": cells, "fills": row, "then": "columns out"},
        {"name": "transposed", "cells": cells},
    ]


FORMS = {
    "padding": lambda: padding.figure_of(LENGTHS),
    "padding of two": lambda: padding.figure_of([4, 65, 3, 70], formats=("ell", "permuted"), slices=[2, 2]),
    "gathers": lambda: gathers.figure_of(LOOKUPS),
    "streams": lambda: gantt.figure_of(STREAMS, unit="ms", saving=True),
    "warps": lambda: gantt.figure_of(WARPS),
    "boxes": lambda: nested.figure_of(GRID),
    "crossing": lambda: curves.figure_of(CROSSING, x="elements", y="time (us)", log_y=True, crossing=True),
    "lines": lambda: curves.figure_of(CROSSING, x="elements", y="time (us)", base=2, limits={"a frame": 20_000}),
    "tree": lambda: tree.figure_of(tree.doubling(8), n=8, values=[3, 1, 7, 0, 4, 1, 6, 3]),
    "tree of lanes": lambda: tree.figure_of(tree.butterfly(32), n=32, name="lane", in_place=True),
    "strips": lambda: strips.figure_of(strips.structures("xyz", 8, "x")),
    "banks of a tile": lambda: grids.figure_of(
        [grids.banks("tile[8][8]"), grids.banks("tile[8][9]", padding=1)],
        key={"conflict": "the same bank", "touched": "a bank of its own", "padding": "padding"},
    ),
    "transposed tile": lambda: grids.figure_of(transposed()),
    "ladder so far": lambda: waterfall.figure_of(LADDER, newest="sequential", ceilings={"copy": 4277, "goal": 3849}),
}


def traced(kernel, *args):
    return gpukit.trace(kernel, 1, 64, *args).to_dict()


@pytest.fixture(scope="module")
def older():
    """The forms that reports have, as a slide would show them."""
    naive = traced(reduction.naive, np.ones(128, np.int32), np.zeros(1, np.int32))
    sequential = traced(reduction.sequential, np.ones(128, np.int32), np.zeros(1, np.int32))
    shared = traced(barriers.block_sum, np.ones(64, np.int32), np.zeros(1, np.int32))
    strided = traced(coalescing.strided, np.zeros(4096, np.float32), np.zeros(64, np.float32), 8)
    h200 = {"name": "H200", "fp32_tflops": 67.0, "bandwidth_gb_s": 4800, "copy_gb_s": 4251}
    points = [{"name": row["name"], "flops_per_byte": 0.25, "bandwidth_gb_s": row["bandwidth_gb_s"]} for row in LADDER]
    return {
        "lanes": lambda: activity.figure_of(naive),
        "lanes of a warp": lambda: activity.figure_of(naive, warps=[0]),
        "lanes stacked": lambda: activity.figure_of([naive, sequential], warps=[0]),
        "lanes compared": lambda: activity.figure_of([naive, sequential], only="+="),
        "sectors": lambda: sector_map.figure_of(naive),
        "sectors at stride 8": lambda: sector_map.figure_of(strided, array="x"),
        "banks": lambda: bank_map.figure_of(shared),
        "roofline": lambda: roofs.figure_of(points, h200),
        "amdahl": lambda: speed_up.figure_of(),
        "ladder": lambda: waterfall.figure_of(LADDER, ceilings={"copy": 4251}),
    }


OLDER = ("lanes", "lanes of a warp", "lanes stacked", "lanes compared", "sectors", "sectors at stride 8", "banks")
OLDER += ("roofline", "amdahl", "ladder")


def told(figure):
    return " | ".join(" ".join(text.get_text().split()) for text in style.texts_of(figure))


def assert_tidy(figure, points):
    """Every text has so many points, is on the sheet, and clear of the others."""
    texts = style.texts_of(figure)
    assert min(text.get_fontsize() for text in texts) == points
    width, height = figure.canvas.get_width_height()
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in texts]
    for words, box in boxes:
        assert box.x0 > -1 and box.y0 > -1 and box.x1 < width + 1 and box.y1 < height + 1, f"off the sheet: {words}"
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        across, down = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 2 or down <= 3, f"on each other: {one!r} and {other!r}"


PALETTE = {
    getattr(style, name).lower() for name in dir(style) if re.fullmatch("#[0-9A-F]{6}", str(getattr(style, name)))
}


def assert_in_our_colours(figure):
    file = io.BytesIO()
    style.write(figure, file, "svg")
    text = file.getvalue().decode()
    assert {colour.lower() for colour in re.findall(r"#[0-9a-fA-F]{6}\b", text)} <= PALETTE
    assert "<image" not in text
    assert len(text) < 400_000


@pytest.mark.parametrize("name", FORMS)
def test_on_a_sheet_every_text_is_large_enough_and_clear_of_the_others(name):
    figure = FORMS[name]()
    assert figure.get_figwidth() == 9 and len(figure.get_suptitle()) > 3
    assert_tidy(figure, 12)


@pytest.mark.parametrize("name", [*FORMS, *OLDER])
def test_on_a_slide_too_and_only_in_colours_that_the_page_knows(name, older):
    with style.on_slide():
        figure = (FORMS | older)[name]()
    assert figure.get_figwidth() * 96 == pytest.approx(1184) and figure.get_figheight() <= 5.6
    assert not figure.get_suptitle()
    assert_tidy(figure, 18)
    assert_in_our_colours(figure)


def fills_of(figure):
    """How many rectangles there are of each colour."""
    colours = [
        to_hex(patch.get_facecolor()).upper() for patch in figure.axes[0].patches if isinstance(patch, Rectangle)
    ]
    return {colour: colours.count(colour) for colour in colours}


def test_padding_counts_and_draws_every_slot():
    for form, slots in (("csr", 36), ("ell", 96), ("sliced", 4 * 8 + 4 * 7 + 4 * 3), ("permuted", 4 * 2 + 4 * 3 + 32)):
        found = padding.layout(LENGTHS, form)
        assert sum(found.widths) == slots
        assert padding.padding(LENGTHS, found) == pytest.approx(1 - 36 / slots)
        fills = fills_of(padding.figure_of(LENGTHS, formats=[form]))
        assert fills[style.BLUE] == 36 + 1  # one in the key
        assert fills[style.AMBER] == slots - 36 + 1
    assert padding.layout([4, 65, 3, 70], "permuted", [2, 2]).rows == (2, 0, 1, 3)
    assert "62.5%" in told(padding.figure_of(LENGTHS, formats=["ell"]))


def test_gathers_count_sectors_as_the_machine_does():
    assert len(gathers.sectors_of(IDS, 64)) == 14  # eight ids, two of them the same
    small = gathers.sectors_of(IDS, 4)
    assert len(small) == 7 and sum(small.values()) == 28
    x, index, y = np.zeros(1000, np.float32), np.array(IDS * 4, np.int32), np.zeros(32, np.float32)
    trace = gpukit.trace(coalescing.gather, 1, 32, x, index, y).to_dict()
    (request,) = sector_map.requests_of(trace, "global", 0, None, "x", ("load",))
    assert request["sectors"] == len(gathers.sectors_of(IDS * 4, 4))
    text = told(gathers.figure_of(LOOKUPS))
    assert "8 lanes: 14 sectors, 448 of 448 bytes used | (100%)" in text
    assert "8 lanes: 7 sectors, 28 of 224 bytes used (12.5%)" in text


def test_the_timeline_has_its_bars_on_one_axis_and_says_what_is_saved():
    figure = gantt.figure_of(STREAMS, unit="ms", saving=True)
    (axis,) = figure.axes
    bars = {(p.get_x(), p.get_width()) for p in axis.patches}
    assert {(0, 4), (4, 3), (7, 4), (2, 2), (5.5, 2)} <= bars
    assert (7.5, 3.5) in bars  # shaded
    text = told(figure)
    assert "one stream: 11 ms" in text and "two streams: 7.5 ms, 3.5 ms saved" in text and "time (ms)" in text


def test_lines_cross_where_they_do():
    figure = FORMS["crossing"]()
    mark = figure.axes[0].lines[-1]
    exact = 20 / 0.0009
    assert mark.get_xdata()[0] == pytest.approx(exact, rel=0.1)
    assert "about 23,000" in told(figure)
    assert [label.get_text() for label in FORMS["lines"]().axes[0].get_xticklabels()][-1] == "64 Mi"


def test_trees_do_what_reductions_do():
    rng = np.random.default_rng(3)
    for n in (2, 8, 32):
        for steps in (tree.halving(n), tree.doubling(n), tree.butterfly(n)):
            values = rng.integers(0, 9, n).tolist()
            total = sum(values)
            for pairs in steps:
                before = list(values)
                for to, source in pairs:
                    values[to] += before[source]
            assert values[0] == total
    assert sum(map(len, tree.halving(16))) == 15
    figure = tree.figure_of(tree.scan(8), n=8, values=[1] * 8)
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert [str(value) for value in range(1, 9)] == [text for text in shown[-10:] if text.isdigit()]
    assert fills_of(tree.figure_of(tree.halving(8), n=8))[style.BLUE] == 7


def test_strips_know_the_sectors_of_both_layouts():
    text = told(strips.figure_of(strips.structures("xyz", 32, "x")))
    assert "12 sectors, 33.3% used" in text and "4 sectors, 100% used" in text
    fills = fills_of(strips.figure_of(strips.structures("xyz", 8, "x")))
    assert fills[style.BLUE] == 8 + 8 + 1 and fills[style.AMBER] == 16 + 1 and fills[style.PALE] == 16 + 1


def test_a_padded_tile_has_no_bank_conflict():
    plain, padded = (
        grids.banks("a", rows=32, columns=32, banks=32),
        grids.banks("b", rows=32, columns=32, banks=32, padding=1),
    )
    assert plain["note"] == "32-way bank conflict: 32 wavefronts" and padded["note"] == "no bank conflict: 1 wavefront"
    assert [row[0] for row in plain["cells"]] == ["0"] * 32
    assert [row[0] for row in padded["cells"]] == [str(row) for row in range(32)]


def test_a_ladder_so_far_is_pale_up_to_the_new_rung_and_has_room_for_the_rest():
    figure = FORMS["ladder so far"]()
    axis, table = figure.axes
    assert [to_hex(bar.get_facecolor()).upper() for bar in axis.patches] == [style.PALE, style.PALE, style.BLUE]
    assert [bar.get_width() for bar in axis.patches] == [400, 430, 640]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["naive", "compact", "sequential", "shuffle"]
    assert [text.get_text() for text in table.texts[-3:]] == ["640", "+49%", "15% of copy"]
    assert "goal 3,849 GB/s" in told(figure)
    with pytest.raises(GpukitError, match="no row 'warp'"):
        waterfall.figure_of(LADDER, newest="warp")


def test_a_recorded_ladder_is_drawn():
    recorded = json.loads(Path("data/results/bench_h200_reduction.json").read_text())
    rows = [row for row in timed_rows(recorded) if row["language"] == "numba"][:8]
    assert all(row["best"] >= row["bandwidth_gb_s"] for row in rows)
    with style.on_slide():
        figure = waterfall.figure_of(rows, newest=rows[-1]["name"], ceilings={"copy": recorded["ceilings"]["copy"]})
    assert_tidy(figure, 18)


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: padding.figure_of([]), "1 to 64 rows"),
        (lambda: padding.figure_of([3, -1]), "0 or more elements"),
        (lambda: padding.figure_of([3], formats=["coo"]), "got coo"),
        (lambda: padding.figure_of([3, 4], slices=[1]), "slices of 1 rows do not make 2"),
        (lambda: gathers.figure_of([{**LOOKUPS[0], "ids": [1000]}]), "ids from 0 to 999"),
        (lambda: gathers.figure_of(LOOKUPS * 2), "at most 2 panels"),
        (lambda: gathers.figure_of([{"name": "x"}]), "has no ids, rows, row_bytes"),
        (lambda: gantt.figure_of([{"name": "a", "bars": [{"start": 1, "end": 1, "kind": "issue"}]}]), "ends after"),
        (lambda: gantt.figure_of([{"name": "a", "bars": [{"start": 0, "end": 1, "kind": "nap"}]}]), "got nap"),
        (lambda: gantt.figure_of(WARPS, saving=True), "between groups"),
        (lambda: gantt.figure_of(WARPS * 9), "no room for 36 rows"),
        (lambda: nested.figure_of([]), "at least one box"),
        (lambda: nested.figure_of({"name": "a", "colour": "red"}), "a nested box has"),
        (lambda: nested.figure_of([{"name": "warp scheduler"}] * 14), "no room for 'warp scheduler'"),
        (lambda: curves.figure_of([{"name": "a", "x": 0, "y": 1}], x="n", y="t"), "values above 0"),
        (lambda: curves.figure_of(CROSSING[:3], x="n", y="t", crossing=True), "does not cross"),
        (lambda: tree.figure_of([[(0, 9)]], n=8), r"pair \(0, 9\)"),
        (lambda: tree.figure_of([[(0, 1)]], n=8, values=[1]), "8 elements and 1 values"),
        (lambda: tree.figure_of([], n=8), "1 to 6 steps"),
        (lambda: tree.halving(12), "power of two"),
        (lambda: strips.figure_of(strips.structures("xyz", 64, "x")), "at most 5 of 16 sectors"),
        (lambda: strips.figure_of([{"name": "a", "values": "xy", "bytes": 4, "used": [2]}]), "values 0 to 1"),
        (lambda: grids.figure_of([{"name": "a", "cells": [["1"], []]}]), "as many cells each"),
        (lambda: grids.figure_of([{"name": "a", "cells": [["1"]], "fills": [["red"]]}]), "not red"),
        (lambda: grids.figure_of([{"name": "a", "cells": [["1"]], "fills": [[]]}]), "another shape"),
    ],
)
def test_wrong_data_are_one_sentence(draw, sentence):
    with pytest.raises(GpukitError, match=sentence):
        draw()


def test_what_does_not_fit_on_a_slide_is_refused():
    with (
        style.on_slide(height=2),
        pytest.raises(GpukitError, match=r"needs .* inches of height, and the slide gives it 2\.0"),
    ):
        tree.figure_of(tree.halving(32), n=32)
    with style.on_slide(height=1.2), pytest.raises(GpukitError, match="no room"):
        nested.figure_of(GRID)


def test_a_board_is_as_large_as_its_sheet():
    assert board.width() == 9 and board.room() is None
    with style.on_slide(height=3):
        assert board.width() == pytest.approx(1184 / 96 / 1.5) and board.room() == 2
