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


def said(sheet):
    """Its title and its caption, on one line each."""
    return (" ".join(text.split()) for text in (sheet.get_suptitle(), sheet.get_supxlabel()))


@pytest.mark.parametrize(
    ("with_truth", "title", "losses"),
    [(True, "ours: 100% of the way from a constant to the truth", "regret"), (False, "ours has AUC 0.", "logloss")],
)
def test_predictors_side_by_side(sheets, with_truth, title, losses):
    found = evaluations(with_truth)
    quality.comparison(found, "predictors.png")
    left, right = sheets[0].axes
    assert title in sheets[0].get_suptitle() and left.get_title(loc="left") == losses
    assert [label.get_text() for label in left.get_yticklabels()] == ["constant", "worse", "ours"]
    assert [bar.get_width() for bar in right.patches] == pytest.approx([one.auc - 0.5 for one in found.values()])
    written = {text.get_text() for text in right.texts}
    assert {f"{one.auc:.4f}" for one in found.values()} <= written
    lines = [line.get_xdata()[0] for line in right.lines]
    assert lines == ([found["ours"].bayes.empirical_auc - 0.5] if with_truth else [])


@pytest.mark.parametrize(
    ("last", "title"), [("leaking", "leaking has seen labels"), ("nothing", "nothing: a constant is better")]
)
def test_predictors_that_leak_and_that_are_worse_than_a_constant(sheets, last, title):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 6, 3000)
    labels = (rng.random(3000) < p).astype(np.uint8)
    predicted = {"honest": p, "leaking": np.clip(p + 0.3 * labels, 0, 1), "nothing": np.zeros(3000)}
    found = {name: metrics.evaluate(labels, one, p_true=p) for name, one in predicted.items()}
    found[last] = found.pop(last)  # to the end
    quality.comparison(found, "predictors.png")
    above, below = said(sheets[0])
    assert title in above and "Has seen labels of the rows it predicts: leaking." in below


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
def test_figures_of_one_probability_for_all(tmp_path, p):
    one = metrics.evaluate(np.array([0, 1, 0, 0]), np.full(4, p))
    quality.comparison({"constant": one}, tmp_path / "predictors.png")
    quality.calibration("constant", one, tmp_path / "calibration.png")
    assert len(list(tmp_path.iterdir())) == 2


def test_calibration_shows_tenths_of_the_rows(sheets):
    one = evaluations(True)["ours"]
    quality.calibration("ours", one, "calibration.png")
    assert f"predicted clicks are {one.calibration:.3f} of the real ones" in " ".join(sheets[0].get_suptitle().split())
    points = sheets[0].axes[0].lines[1]
    assert list(points.get_xdata()) == [part.predicted for part in one.deciles]
    assert list(points.get_ydata()) == [part.clicked for part in one.deciles]
