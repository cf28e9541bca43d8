"""Figures: what they say, that every text is large enough, on the sheet and clear of others, and how they fail."""

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import gpukit
from gpukit import cuda, plots
from gpukit.errors import GpukitError
from gpukit.gpus import find_gpu
from gpukit.kernels import barriers, coalescing, divergence, reduction
from gpukit.plots import (
    activity,
    bank_map,
    class_results,
    grid_sweep,
    grids,
    roofs,
    sector_map,
    speed_up,
    strips,
    style,
    tree,
    waterfall,
)

# Made up, in the range of an H200.
RUNGS = [
    ("naive", "numba", 412, "a partial sum per block", "start"),
    ("sequential", "numba", 640, "a partial sum per block", "keep"),
    ("shared_interleaved", "numba", 610, "a partial sum per block", "revert"),
    ("shuffle", "numba", 2250, "a partial sum per block", "keep"),
    ("grid_stride", "numba", 3925, "a partial sum per block", "keep"),
    ("cpp:grid_stride", "CUDA C++", 2580, "a partial sum per block", "revert"),
    ("cpp:vectorized", "CUDA C++", 4520, "a partial sum per block", "keep"),
    ("cupy.sum", "host", 4612, "one number", ""),
]
LADDER = [
    {
        "name": name,
        "language": language,
        "bandwidth_gb_s": value,
        "low": 0.98 * value,
        "high": 1.01 * value,
        "produces": produces,
        "verdict": verdict,
    }
    for name, language, value, produces, verdict in RUNGS
]
CEILINGS = {"copy": 4251, "read": 4612, "data sheet": 4800}
SECTORS = "global load sectors per element"
COUNTED = [{"name": name, SECTORS: value} for name, value in (("naive", 0.998), ("sequential", 0.26), ("first", 0.3))]
H200 = {**find_gpu("H200").to_dict(), "copy_gb_s": 4251, "read_gb_s": 4612}
POINTS = [
    {"name": row["name"], "flops_per_byte": 0.25, "bandwidth_gb_s": row["bandwidth_gb_s"]} for row in LADDER[:7]
] + [{"name": "tiled product", "flops_per_byte": 8.0, "bandwidth_gb_s": 1100}]
SWEEP = [
    {"name": name, "blocks": blocks, "bandwidth_gb_s": value * factor, "low": value * 0.97, "high": value * 1.02}
    for name, factor in (("plain", 1.0), ("eight loads", 1.1))
    for blocks, value in ((64, 610), (256, 2100), (1024, 3880), (4096, 3925), (16384, 3930))
]


@cuda.jit
def strided(x, out, stride):
    tile = cuda.shared.array(1024, np.int32)
    tid = cuda.threadIdx.x
    tile[tid * stride] = x[tid]
    cuda.syncthreads()
    out[tid] = tile[tid * stride]


@pytest.fixture(scope="module")
def traces():
    """Traces as plain data, by name."""
    made = {}
    for kernel in (reduction.naive, reduction.compact, reduction.sequential):
        made[kernel.__name__] = gpukit.trace(kernel, 1, 256, np.ones(512, np.int32), np.zeros(1, np.int32))
    for kernel in (divergence.by_lane, divergence.by_warp):
        x = np.arange(64, dtype=np.int32)
        made[kernel.__name__] = gpukit.trace(kernel, 1, 64, x, np.zeros_like(x))
    for stride in (1, 2, 8, 33):
        x, y = np.zeros(4096, np.float32), np.zeros(64, np.float32)
        made[f"stride {stride}"] = gpukit.trace(coalescing.strided, 1, 64, x, y, stride)
    index = np.random.default_rng(1).integers(0, 1 << 20, 64).astype(np.int32)
    made["gather"] = gpukit.trace(
        coalescing.gather, 1, 64, np.zeros(1 << 20, np.float32), index, np.zeros(64, np.float32)
    )
    x = np.ones(32, np.int32)
    for stride in (1, 4, 32):
        made[f"banks {stride}"] = gpukit.trace(strided, 1, 32, x, np.zeros(32, np.int32), stride)
    made["block_sum"] = gpukit.trace(barriers.block_sum, 1, 256, np.ones(256, np.int32), np.zeros(1, np.int32))
    return {name: trace.to_dict() for name, trace in made.items()}


TASKS = [
    {"name": f"5.{number} fold the upper half onto the lower half", "passed": p, "failed": f, "not_started": n}
    for number, (p, f, n) in enumerate([(30, 0, 0), (18, 9, 3), (12, 10, 8), (1, 14, 15)], 1)
]
COSTS = [
    {"name": f"5.{number} global load sectors", "ratios": ratios, "allowed": allowed, "kept": kept}
    for number, ratios, allowed, kept in (
        (2, (0.5, 1, 1, 1, 1.4, 2, 4), 1.0, 4),
        (3, (1, 1, 1, 1, 300), 1.5, 4),
        (4, (0, 0.01, 1, 2), 1.0, 3),
    )
]


FIGURES = {
    "ladder": lambda t: waterfall.figure_of(
        LADDER, ceilings=CEILINGS, device="NVIDIA H200", date="2026-07-01", n=1 << 29
    ),
    "ladder of one": lambda t: waterfall.figure_of(LADDER[:1]),
    "ladder of counters": lambda t: waterfall.figure_of(COUNTED, counter=SECTORS, device="CPU machine", n=1 << 20),
    "roofline": lambda t: roofs.figure_of(POINTS, H200),
    "sweep": lambda t: grid_sweep.figure_of(SWEEP, sms=132, ceiling_gb_s=4251, device="NVIDIA H200", n=1 << 29),
    "amdahl": lambda t: speed_up.figure_of(),
    "lanes": lambda t: activity.figure_of(t["naive"]),
    "lanes of a warp": lambda t: activity.figure_of(t["naive"], warps=[0]),
    "lanes compared": lambda t: activity.figure_of([t["naive"], t["sequential"]], only="+="),
    "lanes of three": lambda t: activity.figure_of([t["naive"], t["compact"], t["sequential"]], only="+="),
    "lanes stacked": lambda t: activity.figure_of([t["by_lane"], t["by_warp"]]),
    "sectors": lambda t: sector_map.figure_of(t["naive"]),
    "sectors of stores": lambda t: sector_map.figure_of(t["sequential"], warp=3, kinds=("store",)),
    "sectors, stride 33": lambda t: sector_map.figure_of(t["stride 33"], array="x"),
    "sectors of a gather": lambda t: sector_map.figure_of(t["gather"], array="x"),
    "banks": lambda t: bank_map.figure_of(t["banks 32"]),
    "class": lambda t: class_results.figure_of(TASKS, COSTS),
    "class of many counters": lambda t: class_results.figure_of(TASKS, 5 * COSTS),
    "class without costs": lambda t: class_results.figure_of(TASKS[:2]),
    "banks without conflict": lambda t: bank_map.figure_of(t["block_sum"]),
}


def texts_of(figure):
    """(text, its box in pixels) of every text that is drawn; tick labels beyond an axis' limits are not."""
    drawn = {}
    draw = Text.draw

    def noted(text, renderer, *rest):
        if text.get_visible() and text.get_text().strip():
            drawn[id(text)] = text
        return draw(text, renderer, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", noted)
        figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    return [(text, Text.get_window_extent(text, renderer)) for text in drawn.values()]


def told(figure):
    """All texts of a figure, as one."""
    return " | ".join(" ".join(text.get_text().split()) for text, _ in texts_of(figure))


def title_of(figure):
    return " ".join(figure.get_suptitle().split())


def assert_tidy(figure):
    """Every text is of 12 points or more, on the sheet, and clear of the others."""
    assert figure.get_figwidth() == 9
    width, height = figure.canvas.get_width_height()
    texts = texts_of(figure)
    assert len(texts) > 5
    for text, box in texts:
        words = text.get_text()
        assert text.get_fontsize() >= 12, words
        assert box.x0 > -1 and box.y0 > -1 and box.x1 < width + 1 and box.y1 < height + 1, f"off the sheet: {words}"
    for (one, a), (other, b) in itertools.combinations(texts, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        down = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 1 or down <= 2, f"on each other: {one.get_text()!r} and {other.get_text()!r}"


@pytest.mark.parametrize("name", FIGURES)
def test_every_text_is_large_enough_on_the_sheet_and_clear_of_the_others(traces, name):
    assert_tidy(FIGURES[name](traces))


@pytest.mark.parametrize("name", FIGURES)
def test_the_title_is_a_finding_and_the_axes_have_names(traces, name):
    figure = FIGURES[name](traces)
    assert len(title_of(figure).split()) >= 5
    assert any(axis.get_xlabel() for axis in figure.axes)


# --- ladder ----------------------------------------------------------------------------------------------------------


def bars_of(axis, place):
    """(left, width, how it looks) of the bars of one row of the ladder, from left to right."""
    return sorted(
        (
            round(b.get_x(), 3),
            round(b.get_width(), 3),
            to_hex(b.get_facecolor(), keep_alpha=True)[:7],
            b.get_hatch() or "",
        )
        for b in axis.patches
        if isinstance(b, Rectangle) and abs(b.get_y() + b.get_height() / 2 - place) < 0.1
    )


def test_the_ladder_splits_each_bar_into_what_was_there_and_what_came_or_went():
    figure = FIGURES["ladder"](None)
    axis, table = figure.axes
    assert bars_of(axis, 0) == [(0, 412, style.BLUE.lower(), "")]
    assert bars_of(axis, 1) == [(0, 412, style.PALE.lower(), ""), (412, 228, style.BLUE.lower(), "")]
    had, lost = bars_of(axis, 2)
    assert had == (0, 610, style.PALE.lower(), "") and lost[:2] == (610, 30) and lost[3]
    assert bars_of(axis, 5) == [(0, 2580, style.BLUE.lower(), "")]  # the first in C++: nothing below it
    assert bars_of(axis, 6) == [(0, 2580, style.PALE.lower(), ""), (2580, 1940, style.BLUE.lower(), "")]
    assert bars_of(axis, 7) == [(0, 4612, style.GREY.lower(), "")]
    assert axis.get_xscale() == "linear" and axis.get_xlim()[0] == 0
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert names[0] == "○ naive (numba)" and names[6] == "○ vectorized (C++)" and names[7] == "● cupy.sum"
    assert [t.get_text() for t in table.texts[3:6]] == ["640", "+55%", "keep"]
    assert table.texts[7].get_text() == "−5%"  # noqa: RUF001
    assert table.texts[10].get_text() == "x 3.7"


def test_the_ladder_has_its_ceilings_its_circumstances_and_its_unit():
    figure = FIGURES["ladder"](None)
    axis = figure.axes[0]
    vertical = {line.get_xdata()[0] for line in axis.lines if len(set(line.get_xdata())) == 1}
    assert set(CEILINGS.values()) <= vertical
    text = told(figure)
    assert all(part in text for part in ("copy 4,251 GB/s", "read 4,612 GB/s", "data sheet 4,800 GB/s"))
    assert "NVIDIA H200, n = 536,870,912, 2026-07-01." in text
    assert "GB/s" in axis.get_xlabel()
    assert title_of(figure) == "'vectorized (C++)' moves 11 times as much a second as 'naive (numba)'"


def test_a_row_may_name_what_it_is_compared_with():
    rows = [dict(row) for row in LADDER]
    rows[3]["against"] = "naive"
    axis = waterfall.figure_of(rows).axes[0]
    assert bars_of(axis, 3)[0][:2] == (0, 412)


def test_the_ladder_of_counters_says_that_they_are_no_times():
    figure = FIGURES["ladder of counters"](None)
    axis = figure.axes[0]
    assert "counters, not times" in told(figure)
    assert axis.get_xlabel() == f"{SECTORS} (less is better)" and axis.get_xscale() == "linear"
    assert title_of(figure) == f"'sequential' needs 3.8 times fewer {SECTORS} than 'naive'"
    assert bars_of(axis, 1)[1][:2] == (0.26, 0.738)  # saved
    assert bars_of(axis, 2)[1][3]  # added again
    assert "GB/s" not in told(figure)


def test_counters_far_apart_get_a_logarithmic_axis_and_zero_is_a_value():
    rows = [{"name": name, "divergent branches": value} for name, value in (("a", 96256), ("b", 64), ("c", 0))]
    figure = waterfall.figure_of(rows, counter="divergent branches")
    assert figure.axes[0].get_xscale() == "log"
    assert title_of(figure) == "'c' needs no divergent branches, 'a' 96,256"
    assert waterfall.figure_of(rows[:1], counter="divergent branches").axes[0].get_xscale() == "linear"


def test_a_ladder_that_gains_nothing_says_so():
    rows = [{"name": "a", "bandwidth_gb_s": 100}, {"name": "b", "bandwidth_gb_s": 90}]
    assert title_of(waterfall.figure_of(rows)) == "No rung does better than the first, 'a'"


# --- roofline, sweep, Amdahl -----------------------------------------------------------------------------------------


def test_the_roofline_has_its_roofs_and_every_point():
    figure = FIGURES["roofline"](None)
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert "FLOP per byte" in axis.get_xlabel() and "GFLOP/s" in axis.get_ylabel()
    roofs_drawn = {line.get_label(): line for line in axis.lines if "GB/s" in str(line.get_label())}
    assert len(roofs_drawn) == 3
    for name, speed in (("memory by data sheet: 4,800 GB/s", 4800), ("copies, measured: 4,251 GB/s", 4251)):
        x, y = roofs_drawn[name].get_data()
        assert np.allclose(np.array(y), np.minimum(np.array(x) * speed, H200["fp32_tflops"] * 1e3))
    marks = [line for line in axis.lines if line.get_marker() not in ("None", "")]
    assert [(m.get_xdata()[0], m.get_ydata()[0]) for m in marks] == [
        (p["flops_per_byte"], p["flops_per_byte"] * p["bandwidth_gb_s"]) for p in POINTS
    ]
    assert len({(m.get_marker(), m.get_color()) for m in marks[:7]}) == 7
    assert title_of(figure) == "'vectorized' reaches 94% of what the H200 can do; its limit is memory"


def test_a_crowd_under_the_roofs_is_named_in_part_and_the_best_always():
    crowd = [
        {"name": f"rung {i}", "flops_per_byte": 0.25, "bandwidth_gb_s": 400 + 110 * i + 7 * (i % 3)} for i in range(39)
    ]
    figure = roofs.figure_of(crowd, H200)
    assert len([line for line in figure.axes[0].lines if line.get_marker() not in ("None", "")]) == 39
    text = told(figure)
    assert "rung 38: " in text and text.count(" GB/s") < 25
    assert_tidy(figure)


def test_the_sweep_is_on_a_log2_axis_with_the_multiples_of_the_multiprocessors():
    figure = FIGURES["sweep"](None)
    (axis,) = figure.axes
    assert axis.get_xscale() == "log" and axis.xaxis.get_transform().base == 2
    assert "GB/s" in axis.get_ylabel() and axis.get_ylim()[0] == 0
    dotted = [line.get_xdata()[0] for line in axis.lines if line.get_linestyle() == ":"]
    assert dotted == [132 * times for times in (1, 2, 4, 8, 16, 32, 64)]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["64", "256", "1,024", "4,096", "16,384"]
    assert title_of(figure).startswith("From 1,024 blocks on 'eight loads' is within 5%")
    assert "132 multiprocessors" in told(figure)


def test_amdahls_curves():
    assert speed_up.speed_up(0.8, 40) == pytest.approx(100 / 22)  # 80 s of filter and 20 s of files
    figure = FIGURES["amdahl"](None)
    (axis,) = figure.axes
    curves = [line for line in axis.lines if len(line.get_xdata()) > 100]
    for line, share in zip(curves, (0.5, 0.9, 0.99), strict=True):
        x, y = line.get_data()
        assert np.allclose(y, 1 / (1 - share + share / np.array(x)))
    text = told(figure)
    for value in ("1.82", "1.95", "5.26", "8.16", "9.17", "28.8", "at most 100 times"):
        assert value in text
    with pytest.raises(GpukitError, match="between 0 and 1"):
        speed_up.figure_of(shares=[1.0])


def test_labels_are_spread_no_further_than_they_must():
    assert style.spread([1.0, 5.0], 1.0, 0.0, 10.0) == [1.0, 5.0]
    assert style.spread([5.0, 5.0], 1.0, 0.0, 10.0) == [4.5, 5.5]
    assert style.spread([5.2, 5.0, 0.1], 1.0, 0.5, 10.0) == pytest.approx([5.6, 4.6, 0.5])
    crowded = style.spread([3.0] * 11, 2.0, 0.0, 10.0)
    assert crowded == pytest.approx(list(range(11)))
    rng = np.random.default_rng(0)
    for _ in range(50):
        wanted = rng.uniform(0, 10, 6)
        places = np.array(style.spread(wanted.tolist(), 1.0, 0.0, 10.0))
        assert (np.diff(np.sort(places)) > 1 - 1e-9).all() and places.min() > -1e-9 and places.max() < 10 + 1e-9
        assert (np.argsort(places) == np.argsort(wanted)).all()


# --- traces ----------------------------------------------------------------------------------------------------------


def images_of(figure):
    return [np.asarray(image.get_array()) for axis in figure.axes for image in axis.images]


def test_lanes_of_naive_and_sequential_side_by_side(traces):
    figure = FIGURES["lanes compared"](traces)
    naive, sequential = images_of(figure)
    assert naive.shape == sequential.shape == (256, 9)
    for turn in range(9):
        assert (np.flatnonzero(naive[:, turn] == activity.ACTIVE) == np.arange(0, 256, 2**turn)).all()
        assert (np.flatnonzero(sequential[:, turn] == activity.ACTIVE) == np.arange(256 >> turn)).all()
    # 511 additions in 55 and in 20 warp steps of 32 lanes.
    assert (naive != activity.WAITING).sum() == 55 * 32 and (sequential != activity.WAITING).sum() == 20 * 32
    assert title_of(figure) == "'sequential' uses 80% of the lanes of its busy warps, 'naive' 29%"
    assert [axis.get_xlabel() for axis in figure.axes] == ["turn of this line"] * 2
    text = told(figure)
    assert "data[start + 2 * tid] += data[start + 2 * tid + stride]" in text
    assert "idle, warp busy (lost)" in text and "done" not in text


def test_a_warp_that_takes_the_other_side_costs_nothing(traces):
    by_lane, by_warp = images_of(FIGURES["lanes stacked"](traces))
    assert (by_lane[:, -1] == np.tile([activity.IDLE, activity.ACTIVE], 32)).all()
    assert (by_warp[:32, -2] == activity.ACTIVE).all() and (by_warp[32:, -2] == activity.WAITING).all()
    assert (by_warp[:32, -1] == activity.DONE).all() and (by_warp[32:, -1] == activity.ACTIVE).all()


def test_the_source_line_of_every_step_is_marked(traces):
    figure = FIGURES["lanes"](traces)
    steps = traces["naive"]["steps"]
    text, marks, _, lanes = figure.axes
    shown = [t.get_text() for t in text.texts]
    assert shown[2:4] == ["while stride <= cuda.blockDim.x:", "    if tid % stride == 0:"]
    assert lanes.images[0].get_array().shape[1] == len(steps)
    marked = {}
    for row, line in enumerate(marks.collections):
        for path in line.get_paths():
            corners = path.get_extents()
            assert (corners.y0, corners.y1) == pytest.approx((row - 0.35, row + 0.35))
            marked[round(corners.x0 + 0.5)] = row
    assert len(marked) == len(steps)
    for column, step in enumerate(steps):
        line = traces["naive"]["lines"][step["line"]]["text"].strip()
        assert line.startswith(shown[marked[column]].strip().removesuffix("…"))


def test_a_long_trace_is_shown_in_part_and_says_so(traces, monkeypatch):
    monkeypatch.setattr(activity, "MAX_STEPS", 30)
    figure = activity.figure_of(traces["naive"])
    assert images_of(figure)[0].shape == (256, 30)
    assert "the first 30 of 50" in told(figure)
    monkeypatch.undo()
    cut = {**traces["naive"], "truncated": True}
    assert "cut off before the end" in told(activity.figure_of(cut))
    assert "cut off before the end" in told(sector_map.figure_of(cut))
    assert "cut off before the end" in told(bank_map.figure_of({**traces["banks 4"], "truncated": True}))


def test_traces_that_use_their_lanes_alike_are_not_ranked(traces):
    figure = activity.figure_of([traces["compact"], traces["sequential"]], only="+=")
    assert title_of(figure) == "'compact' and 'sequential' use 80% of the lanes of their busy warps"


def test_lanes_say_what_they_do_not_find(traces):
    for wrong, sentence in (
        ({"warps": [8]}, "warps 0 to 7"),
        ({"block": 3}, "no block 3"),
        ({"only": "no such text"}, "no such text"),
    ):
        with pytest.raises(GpukitError, match=sentence):
            activity.figure_of(traces["naive"], **wrong)
    with pytest.raises(GpukitError, match="at least one trace"):
        activity.figure_of([])


@pytest.mark.parametrize(("stride", "sectors", "share"), [(1, 4, "100%"), (2, 8, "50%"), (8, 32, "12.5%")])
def test_sectors_of_strided_loads(traces, stride, sectors, share):
    data = traces[f"stride {stride}"]
    (request,) = sector_map.requests_of(data, "global", 0, None, "x", ("load",))
    found = sector_map.sectors_of(data, request)
    assert len(found) == sectors == request["sectors"] and sum(found.values()) == 128
    figure = sector_map.figure_of(data, array="x")
    assert title_of(figure) == f"A load request of 'strided' uses {share} of the bytes that it moves"
    assert f"{sectors} sectors, 128 bytes used of {32 * sectors:,} moved ({share})" in told(figure)


def test_the_sector_map_agrees_with_the_machine(traces):
    for name in ("naive", "sequential", "stride 33", "gather"):
        data = traces[name]
        for request in data["requests"]:
            assert len(sector_map.sectors_of(data, request)) == request["sectors"], name
    figure = FIGURES["sectors"](traces)
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()][:3] == [
        "load, 32 lanes",
        "load, 32 lanes",
        "load, 16 lanes",
    ]
    assert [t.get_text() for t in axis.texts][:4] == ["8", "8", "8", "8"]
    assert "byte of data" in axis.get_xlabel()


def test_sectors_use_less_where_the_first_line_is_not_the_arrays(traces):
    data = {**traces["stride 1"], "arrays": [{**a, "start": 20} for a in traces["stride 1"]["arrays"]]}
    (request,) = sector_map.requests_of(data, "global", 0, None, "x", ("load",))
    assert sector_map.sectors_of(data, request) == {0: 12, 1: 32, 2: 32, 3: 32, 4: 20}


def test_many_requests_are_cut_and_the_caption_says_so(traces):
    requests = traces["naive"]["requests"]
    text = told(sector_map.figure_of({**traces["naive"], "requests": requests * 3}))
    assert "57 load requests" in text and "The first 20 are shown." in text
    wide = {**traces["gather"], "requests": traces["gather"]["requests"] * 2}
    shifted = [{**r, "offsets": [o + 64_000 for o in r["offsets"]]} for r in traces["gather"]["requests"]]
    wide["requests"] = traces["gather"]["requests"] + shifted
    assert "The first 1 are shown." in told(sector_map.figure_of(wide, array="x"))


@pytest.mark.parametrize(("stride", "worst"), [(1, 1), (4, 4), (32, 32)])
def test_banks(traces, stride, worst):
    data = traces[f"banks {stride}"]
    requests = sector_map.requests_of(data, "shared", 0, None, "", ("load", "store"))
    assert [(r["kind"], r["wavefronts"]) for r in requests] == [("store", worst), ("load", worst)]
    for request in requests:
        words = bank_map.words_of(data, request)
        assert words.sum() == 32 and words.max() == worst and words.size == 32
    figure = bank_map.figure_of(data)
    axis = figure.axes[0]
    assert len(axis.patches) == 2 * 32
    assert f"2 requests of warp 0 to tile, {2 * worst} wavefronts." in told(figure)
    if worst == 1:
        assert title_of(figure) == "No bank conflict in 'strided': every request takes one wavefront"
    else:
        assert f"up to {worst} words: {worst} wavefronts" in title_of(figure)


def test_what_a_trace_does_not_have_is_one_sentence(traces):
    with pytest.raises(GpukitError, match="no shared load or store or atomic request"):
        bank_map.figure_of(traces["naive"])
    with pytest.raises(GpukitError, match="request to `y` of warp 0"):
        sector_map.figure_of(traces["naive"], array="y")
    with pytest.raises(GpukitError, match=r"gpukit\.trace"):
        sector_map.figure_of({"rows": []})
    with pytest.raises(GpukitError, match=r"gpukit\.trace"):
        activity.figure_of(3)


# --- files and errors ------------------------------------------------------------------------------------------------


def draw_all(traces, folder: Path, suffix: str):
    plots.ladder(LADDER, folder / f"ladder{suffix}", ceilings=CEILINGS)
    plots.roofline(POINTS, H200, folder / f"roofline{suffix}")
    plots.sweep(SWEEP, folder / f"sweep{suffix}", sms=132)
    plots.amdahl(str(folder / f"amdahl{suffix}"))
    plots.lanes([traces["naive"], traces["sequential"]], folder / f"lanes{suffix}", only="+=")
    plots.sectors(traces["naive"], folder / f"sectors{suffix}")
    plots.banks(traces["banks 4"], folder / f"banks{suffix}")
    plots.grades(TASKS, COSTS, folder / f"grades{suffix}")
    plots.padded_rows([3, 1, 2], folder / f"padded_rows{suffix}")
    plots.lookups([{"name": "x", "ids": [7, 2], "rows": 9, "row_bytes": 4}], folder / f"lookups{suffix}")
    bars = [{"start": 0, "end": 4, "kind": "issue"}, {"start": 4, "end": 20, "kind": "wait"}]
    plots.timeline([{"name": "warp 0", "bars": bars}], folder / f"timeline{suffix}")
    blocks = [{"name": "block 0", "note": "of four warps"}, {"name": "block 1", "note": "of four warps"}]
    plots.boxes({"name": "grid", "note": "<<<2, 128>>>", "boxes": blocks}, folder / f"boxes{suffix}")
    line = [{"name": "GPU", "x": n, "y": 20 + n} for n in (1, 10, 100)]
    plots.lines(line, folder / f"lines{suffix}", x="elements", y="time (us)")
    plots.additions(tree.halving(4), folder / f"additions{suffix}", n=4)
    plots.memory(strips.structures("xy", 4, "y"), folder / f"memory{suffix}")
    plots.tiles([grids.banks("tile", rows=2)], folder / f"tiles{suffix}")


@pytest.mark.parametrize(("suffix", "begins"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_every_figure_is_written_and_the_same_data_give_the_same_file(traces, tmp_path, suffix, begins):
    folders = tmp_path / "one", tmp_path / "two"
    for folder in folders:
        folder.mkdir()
        draw_all(traces, folder, suffix)
    files = sorted(path.name for path in folders[0].iterdir())
    assert files == sorted(f"{name}{suffix}" for name in plots.__all__)
    for name in files:
        content = (folders[0] / name).read_bytes()
        assert content.startswith(begins) and len(content) > 10_000
        assert content == (folders[1] / name).read_bytes()


def test_the_figure_of_a_class_shows_its_counts_and_where_the_limit_is_missed():
    figure = class_results.figure_of(TASKS, COSTS)
    tasks, costs = figure.axes
    assert title_of(figure) == (
        "Task 5.4 fold the upper half onto the lower half is the hardest: 1 of 30 graded submissions passed it"
    )
    widths = [bar.get_width() for bar in tasks.patches]
    assert widths == [30, 18, 9, 3, 12, 10, 8, 1, 14, 15]
    found = {
        (round(bar.get_x() + bar.get_width() / 2), to_hex(bar.get_facecolor()))
        for bar in costs.patches
        if bar.get_y() < 1  # of the first counter
    }
    blue, amber = style.BLUE.lower(), style.AMBER.lower()
    assert found == {(-2, blue), (0, blue), (1, amber), (2, amber), (4, amber)}
    assert [label.get_text() for label in costs.get_xticklabels()][::4] == ["≤ 1/8", "2", "≥ 32"]
    assert "4 of 7" in told(figure)
    everybody = class_results.figure_of(TASKS[:1])
    assert title_of(everybody) == "All 30 graded submissions passed every task"
    many = class_results.figure_of(TASKS, 5 * COSTS)
    assert "Of 15 counters the 8 least kept are shown." in told(many)


def test_a_trace_itself_can_be_drawn(tmp_path):
    trace = gpukit.trace(reduction.naive, 1, 64, np.ones(128, np.int32), np.zeros(1, np.int32))
    plots.lanes(trace, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_paths_that_cannot_be_written_are_one_sentence(tmp_path):
    for path, sentence in (
        (tmp_path / "missing" / "a.png", "there is no folder"),
        (tmp_path / "a.pdf", r"\.png or \.svg"),
        (tmp_path / "a", r"\.png or \.svg"),
    ):
        with pytest.raises(GpukitError, match=sentence):
            plots.amdahl(path)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(GpukitError, match="cannot write"):
        plots.amdahl(tmp_path / "folder.png")


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: waterfall.figure_of([]), "at least one row"),
        (lambda: waterfall.figure_of([{"name": "a"}]), "has no bandwidth_gb_s"),
        (lambda: waterfall.figure_of([{"name": "a", "bandwidth_gb_s": 0}]), "bandwidth_gb_s of a is 0"),
        (lambda: waterfall.figure_of([{"name": "a", "x": -1}], counter="x"), "x of a is -1"),
        (lambda: waterfall.figure_of(LADDER, ceilings={"peak": 1}), "not peak"),
        (lambda: roofs.figure_of(POINTS, {"name": "X"}), "fp32_tflops"),
        (lambda: roofs.figure_of([{**POINTS[0], "flops_per_byte": 0}], H200), "more than 0"),
        (lambda: roofs.figure_of([], H200), "at least one row"),
        (lambda: grid_sweep.figure_of([{"blocks": 1}], sms=132), "has no bandwidth_gb_s"),
        (lambda: grid_sweep.figure_of(SWEEP, sms=0), "more than 0"),
        (lambda: class_results.figure_of([]), "at least one row"),
        (
            lambda: class_results.figure_of([{"name": "1", "passed": 0, "failed": 0, "not_started": 0}]),
            "at least one graded",
        ),
        (lambda: class_results.figure_of(TASKS, [{"name": "x", "ratios": [1]}]), "has no allowed, kept"),
        (lambda: class_results.figure_of(TASKS, [{**COSTS[0], "ratios": [-1]}]), "0 or more"),
    ],
)
def test_wrong_data_are_one_sentence(draw, sentence):
    with pytest.raises(GpukitError, match=sentence):
        draw()


def test_figures_leave_pyplot_and_the_settings_alone(tmp_path):
    program = (
        "import sys, matplotlib\n"
        "def settings():\n"  # to look at the setting of the backend imports pyplot
        "    return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != 'backend'}\n"
        "before = settings()\n"
        "from gpukit import plots\n"
        f"plots.amdahl({str(tmp_path / 'a.svg')!r})\n"
        "assert settings() == before\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
