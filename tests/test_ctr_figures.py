"""Figures of lab 8's runs: the sentence above each says what its data say."""

import importlib

import numpy as np
import pytest

from gpukit import plugins

pytest.importorskip("torch")

plugins.load("ctr")
looks = importlib.import_module("gpukit_labs.ctr.figures.looks")
quality = importlib.import_module("gpukit_labs.ctr.figures.quality")
metrics = importlib.import_module("gpukit_labs.ctr.metrics")


def seen(train, validation, rates=None):
    rates = rates or [0.1] * len(train)
    return [
        {"epoch": k + 1.0, "train_logloss": one, "validation_logloss": other, "dense_rate": rate}
        for k, (one, other, rate) in enumerate(zip(train, validation, rates, strict=True))
    ]


@pytest.fixture
def sheets(monkeypatch):
    """Figures in place of their files."""
    made = []
    for module in (looks, quality):
        monkeypatch.setattr(module.style, "save", lambda sheet, path: made.append(sheet))
    return made


@pytest.mark.parametrize(
    ("train", "validation", "title"),
    [
        ([0.29], [0.28], "After epoch 1 validation still gains"),
        ([0.29, 0.27], [0.28, 0.27], "After epoch 2 validation still gains"),
        ([0.29, 0.27, 0.25], [0.28, 0.27, 0.29], "After epoch 2 the model learns its training rows"),
        ([0.29, 0.2699, 0.2698], [0.28, 0.27, 0.2699], "After epoch 2 neither training nor validation"),
    ],
)
def test_the_title_of_looks(sheets, train, validation, title):
    looks.draw(seen(train, validation), "looks.png")
    assert title in " ".join(sheets[0].get_suptitle().split())


def test_looks_show_the_best_possible_and_where_rates_fell(sheets):
    looks.draw(seen([0.3, 0.2, 0.1], [0.3, 0.3, 0.3], [0.1, 0.1, 0.01]), "looks.png", bayes=0.15)
    (axis,) = sheets[0].axes
    flat = [line for line in axis.lines if line.get_linestyle() == "--"]
    upright = [line for line in axis.lines if line.get_linestyle() == ":"]
    assert [line.get_ydata()[0] for line in flat] == [0.15]
    assert [line.get_xdata()[0] for line in upright] == [3]


def evaluations(with_truth):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 6, 3000)
    labels = (rng.random(3000) < p).astype(np.uint8)
    truth = p if with_truth else None
    worse = np.clip(p + 0.1 * rng.random(3000), 0.01, 0.99)
    found = {"constant": np.full(3000, labels.mean()), "worse": worse, "ours": p}
    return {name: metrics.evaluate(labels, one, p_true=truth) for name, one in found.items()}


@pytest.mark.parametrize(
    ("with_truth", "title"), [(True, "ours learns 100% of what can be known"), (False, "ours has AUC 0.")]
)
def test_predictors_side_by_side(sheets, with_truth, title):
    found = evaluations(with_truth)
    quality.comparison(found, "predictors.png")
    (axis,) = sheets[0].axes
    assert title in sheets[0].get_suptitle()
    assert [label.get_text() for label in axis.get_yticklabels()] == ["constant", "worse", "ours"]
    widths = [bar.get_width() for bar in axis.patches]
    assert widths == sorted(widths)


def test_calibration_shows_tenths_of_the_rows(sheets):
    one = evaluations(True)["ours"]
    quality.calibration("ours", one, "calibration.png")
    assert f"predicted clicks are {one.calibration:.3f} of the real ones" in " ".join(sheets[0].get_suptitle().split())
    points = sheets[0].axes[0].lines[1]
    assert list(points.get_xdata()) == [part.predicted for part in one.deciles]
    assert list(points.get_ydata()) == [part.clicked for part in one.deciles]
