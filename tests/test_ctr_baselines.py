"""What a model must beat: that the baselines are what they say they are.

That each beats the one before it on a generated log is a gate of quality (test_ctr_gates.py).
"""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from gpukit import plugins

torch = pytest.importorskip("torch")
plugins.load("ctr")
baselines, factorized, features, history, logistic, metrics, schemas, logs = (
    importlib.import_module(f"gpukit_labs.ctr.{name}")
    for name in (
        *("baselines", "baselines.factorized", "baselines.features", "baselines.history", "baselines.logistic"),
        *("metrics", "schema", "storage.log"),
    )
)


def part(rows, seed=0, dense=("ad_ctr", "age"), first=0):
    """Clicks that depend on the member and a number."""
    rng = np.random.default_rng(seed)
    schema = schemas.Schema((schemas.Field("member", 9), schemas.Field("ad", 5)), dense)
    ids = np.stack([rng.integers(1, 8, rows), rng.integers(1, 5, rows)], axis=1).astype(np.int32)
    numbers = rng.uniform(0.02, 0.4, (rows, len(dense))).astype(np.float32)
    level = np.linspace(-2.5, 0.5, 9)[ids[:, 0]] + 2 * (numbers[:, 0] if dense else 0)
    labels = (rng.random(rows) < 1 / (1 + np.exp(-level))).astype(np.uint8)
    return logs.Part(schema, ids, numbers, labels, np.arange(first, first + rows), first)


# --- histories --------------------------------------------------------------------------------------------------------


def test_histories_are_the_recorded_ones_where_the_log_has_them():
    train = part(50)
    found = history.histories(train)
    assert found.names == ("ad_ctr",)
    np.testing.assert_array_equal(found.of(train)[:, 0], train.dense[:, 0].astype(np.float64))


def test_counted_histories_know_the_rows_before_and_never_their_own_label():
    train, later = part(60, dense=()), part(20, seed=1, dense=(), first=60)
    found = history.histories(train)
    prior, weight = train.labels.mean(), history.SMOOTHING
    for place in range(2):
        for row in range(train.rows):
            before = train.ids[:row, place] == train.ids[row, place]
            wanted = (train.labels[:row][before].sum() + weight * prior) / (before.sum() + weight)
            assert found.of(train)[row, place] == pytest.approx(wanted, rel=1e-6)
        for row in range(later.rows):
            same = train.ids[:, place] == later.ids[row, place]
            wanted = (train.labels[same].sum() + weight * prior) / (same.sum() + weight)
            assert found.of(later)[row, place] == pytest.approx(wanted)
    turned = replace(train, labels=1 - train.labels)
    again = history.histories(replace(turned, labels=np.r_[train.labels[:-1], turned.labels[-1:]]))
    ratio = again.of(again.train)[-1] - found.of(train)[-1]
    assert np.abs(ratio).max() < 0.02, "the last row's own click moves the prior of all rows alone"


def test_the_historical_baseline_is_the_rate_that_validation_likes_best():
    train, validation = part(4_000, dense=("ad_ctr", "member_ctr")), part(500, 1, ("ad_ctr", "member_ctr"))
    true = np.linspace(-2.5, 0.5, 9)[validation.ids[:, 0]] + 2 * validation.dense[:, 0]
    validation.dense[:, 1] = 1 / (1 + np.exp(-true))
    predicted = baselines.BASELINES[baselines.HISTORICAL](train, validation, 0)(validation)
    np.testing.assert_array_equal(predicted, validation.dense[:, 1])


# --- logistic regression and factorization machine --------------------------------------------------------------------


def test_newtons_weights_are_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    design = np.c_[np.ones(3_000), rng.normal(0, 1, (3_000, 3))]
    labels = (rng.random(3_000) < expit(design @ [-1.5, 1, -0.5, 0])).astype(float)
    wanted = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10).fit(design, labels).coef_[0]
    assert logistic.newton(design, labels) == pytest.approx(wanted, abs=1e-4)
    constant = np.c_[design, np.zeros(3_000)]
    assert logistic.newton(constant, labels)[-1] == 0, "a column that never changes is no trouble"


def test_the_factorization_machine_is_its_sum_over_pairs():
    model = factorized.Factorized(9, np.array([0, 5]), 2, 3, 0.2, seed=0).double()
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.copy_(torch.randn(tensor.shape, generator=torch.Generator().manual_seed(3)))
    ids, numbers = torch.tensor([[2, 7]], dtype=torch.int32), torch.tensor([[0.5, -2.0]], dtype=torch.float64)
    parts = torch.cat((model.table[[2, 7]], model.numbers * numbers[0][:, None]))
    logit = model.constant + parts[:, 0].sum()
    for one in range(4):
        for other in range(one):
            logit = logit + parts[one, 1:] @ parts[other, 1:]
    assert model(ids, numbers).item() == pytest.approx(logit.item(), rel=1e-12)
    alone = factorized.Factorized(9, np.array([0, 5]), 2, 0, 0.2, seed=0)
    assert alone(ids, numbers.float()).item() == pytest.approx(np.log(0.2 / 0.8), abs=1e-6)


@pytest.mark.parametrize("name", baselines.BASELINES)
def test_every_baseline_gives_probabilities_and_the_same_ones_for_the_same_seed(name):
    train, validation, test = part(3_000), part(500, 1), part(500, 2)
    fit = baselines.BASELINES[name]
    first, second = (fit(train, validation, 5)(test) for _ in range(2))
    assert first.shape == (500,) and first.dtype == np.float64 and first.min() > 0 and first.max() < 1
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", [baselines.LR_HISTORY, baselines.LR, baselines.FM])
def test_a_log_without_histories_has_the_same_baselines(name):
    train, validation, test = (part(3_000, seed, dense=()) for seed in range(3))
    predicted = baselines.BASELINES[name](train, validation, 0)(test)
    ceiling = metrics.auc(test.labels, test.ids[:, 0])  # a member with a larger id clicks more
    assert metrics.auc(test.labels, predicted) > ceiling - 0.02


def test_ids_that_training_never_saw_add_nothing():
    train, validation, test = part(3_000), part(500, 1), part(4, 2)
    test.ids[:, 0] = (8, 0, 8, 0)  # training has members 1 to 7
    test.ids[:, 1], test.dense[:] = 1, 0.2
    rows = features.Features.of(train).rows(test)
    assert rows.ids[:, 0].tolist() == [0, 0, 0, 0] and rows.ids[:, 1].tolist() == [10, 10, 10, 10]
    for name in (baselines.LR, baselines.FM):
        predicted = baselines.BASELINES[name](train, validation, 0)(test)
        assert len(set(predicted)) == 1
