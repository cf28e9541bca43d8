"""Metrics of click predictions: against scikit-learn, against every pair counted, and against wrong ones."""

import importlib
import io
import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from sklearn import metrics as sklearn_metrics

from gpukit import plugins

plugins.load("ctr")
errors, metrics, table, schemas, logs = (
    importlib.import_module(f"gpukit_labs.ctr.{name}")
    for name in ("errors", "metrics", "metrics.table", "schema", "storage.log")
)
CtrError = errors.CtrError


def world(rows, seed=0, noise=0.5):
    """True probabilities, labels drawn from them, and honest predictions with ties."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-2, 1.2, rows)
    p_true = 1 / (1 + np.exp(-logit))
    predicted = 1 / (1 + np.exp(-(0.8 * logit - 0.4 + rng.normal(0, noise, rows))))
    return p_true, (rng.random(rows) < p_true).astype(np.uint8), np.round(predicted, 3)


def pairs_auc(labels, scores):
    """Every pair of a click and a non-click, counted."""
    won = [
        (a > b) + (a == b) / 2
        for (a, y), (b, z) in itertools.product(zip(scores, labels, strict=True), repeat=2)
        if y and not z
    ]
    return sum(won) / len(won)


scored_rows = st.lists(st.tuples(st.integers(0, 1), st.integers(-3, 3)), min_size=2, max_size=14).filter(
    lambda rows: len({label for label, _ in rows}) == 2
)


# --- against scikit-learn ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decimals", [1, 3, 12])
def test_equal_to_scikit_learn(decimals):
    _, labels, _ = world(20_000, seed=decimals)
    predicted = np.round(world(20_000, seed=decimals)[2] + 0, decimals)
    assert metrics.auc(labels, predicted) == pytest.approx(sklearn_metrics.roc_auc_score(labels, predicted), abs=1e-12)
    average_precision = sklearn_metrics.average_precision_score(labels, predicted)
    assert metrics.pr_auc(labels, predicted) == pytest.approx(average_precision, abs=1e-12)
    assert metrics.logloss(labels, predicted) == pytest.approx(sklearn_metrics.log_loss(labels, predicted), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(scored_rows)
def test_auc_is_the_share_of_pairs_won(rows):
    labels, scores = (np.array(column, float) for column in zip(*rows, strict=True))
    assert metrics.auc(labels, scores) == pytest.approx(pairs_auc(labels, scores), abs=1e-12)
    assert metrics.auc(labels, scores) == pytest.approx(sklearn_metrics.roc_auc_score(labels, scores), abs=1e-12)
    assert metrics.auc(labels, -scores) == pytest.approx(1 - metrics.auc(labels, scores), abs=1e-12)
    assert metrics.auc(labels, np.exp(scores)) == metrics.auc(labels, scores), "only the order counts"
    assert metrics.expected_auc(labels, scores) == pytest.approx(metrics.auc(labels, scores), abs=1e-12)
    average_precision = sklearn_metrics.average_precision_score(labels, scores)
    assert metrics.pr_auc(labels, scores) == pytest.approx(average_precision, abs=1e-12)


def test_logloss_from_logits_does_not_round():
    labels = np.array([0, 1, 1, 0])
    logits = np.array([40.0, -2.0, 800.0, -800.0])
    assert metrics.logloss_of_logits(labels, logits) == pytest.approx((40 + np.log1p(np.exp(2))) / 4, rel=1e-12)
    probabilities = 1 / (1 + np.exp(-np.clip(logits, -700, 700)))
    assert metrics.logloss(labels, probabilities) < 10, "a probability of 1 is clamped, and its loss with it"
    assert metrics.logloss_of_logits(labels[1:], logits[1:]) == pytest.approx(
        metrics.logloss(labels[1:], probabilities[1:]), rel=1e-9
    )


def test_normalized_entropy_is_1_for_the_best_constant_and_the_entropy_is_its_base():
    _, labels, predicted = world(5_000)
    rate = labels.mean()
    assert metrics.normalized_entropy(labels, np.full(5_000, rate)) == pytest.approx(1, abs=1e-12)
    assert metrics.normalized_entropy(labels, np.full(5_000, 1.2 * rate)) > 1
    base = -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)
    assert metrics.normalized_entropy(labels, predicted) == pytest.approx(metrics.logloss(labels, predicted) / base)


# --- E[AUC], Bayes, leaks ---------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.05, 0.95), st.integers(0, 3)), min_size=2, max_size=7))
def test_expected_auc_is_that_of_all_labels_weighted_by_their_pairs(rows):
    p, scores = (np.array(column, float) for column in zip(*rows, strict=True))
    won = pairs = 0.0
    for labels in itertools.product((0, 1), repeat=len(p)):
        y = np.array(labels, float)
        count = y.sum() * (1 - y).sum()
        if count:
            weight = np.prod(np.where(y == 1, p, 1 - p))
            won += weight * count * pairs_auc(y, scores)
            pairs += weight * count
    assert metrics.expected_auc(p, scores) == pytest.approx(won / pairs, abs=1e-12)
    assert metrics.bayes_auc(p) >= metrics.expected_auc(p, scores) - 1e-12, "nothing orders better than p"


def test_expected_auc_and_its_error_are_those_of_drawn_labels():
    rng = np.random.default_rng(1)
    p_true, _, predicted = world(400, seed=2)
    drawn = [metrics.auc(rng.random(400) < p_true, predicted) for _ in range(2_000)]
    error = metrics.expected_auc_error(p_true, predicted)
    assert np.mean(drawn) == pytest.approx(metrics.expected_auc(p_true, predicted), abs=0.1 * error)
    assert np.std(drawn) == pytest.approx(error, rel=0.06)


def test_nobody_predicts_better_than_the_true_probability():
    p_true, labels, predicted = world(200_000)
    assert metrics.logloss(labels, p_true) == pytest.approx(
        metrics.bayes_logloss(p_true), abs=3 * metrics.logloss_error(labels, p_true)
    )
    assert metrics.auc(labels, p_true) == pytest.approx(
        metrics.bayes_auc(p_true), abs=3 * metrics.auc_error(labels, p_true)
    )
    regret = metrics.regret(labels, predicted, p_true)
    divergence = p_true * np.log(p_true / predicted) + (1 - p_true) * np.log((1 - p_true) / (1 - predicted))
    assert regret.value == pytest.approx(divergence.mean(), abs=3 * regret.error)
    assert regret.value > 10 * regret.error
    assert regret.error < metrics.logloss_error(labels, predicted) / 2, "the luck of the labels is shared"
    assert metrics.regret(labels, p_true, p_true) == metrics.Difference(0, 0)


def test_the_leak_test_finds_scores_that_know_their_own_label():
    p_true, labels, predicted = world(50_000)
    assert abs(metrics.leak(labels, predicted, p_true)) < metrics.LEAK
    leaking = np.clip(predicted + 0.02 * labels, 0, 1)
    assert metrics.leak(labels, leaking, p_true) > 5
    assert metrics.leak_sentence("the model", 0.8, 0.7, metrics.LEAK) is None
    sentence = metrics.leak_sentence("the model", 0.8, 0.7, 5.4)
    assert sentence.startswith("the model has AUC 0.8000, 5 standard errors above the 0.7000 that")
    assert "it has seen labels of the rows it predicts" in sentence


def test_honest_scores_pass_the_leak_test_as_often_as_they_should():
    found = []
    for seed in range(300):
        p_true, labels, predicted = world(1_000, seed)
        found.append(metrics.leak(labels, predicted, p_true))
    assert np.mean(found) == pytest.approx(0, abs=0.2)
    assert np.std(found) == pytest.approx(1, abs=0.15)
    assert metrics.leak(labels, np.zeros(1_000), p_true) == 0, "a constant orders nothing"


# --- standard errors --------------------------------------------------------------------------------------------------


def test_standard_errors_are_the_spread_over_samples():
    samples = [world(2_000, seed) for seed in range(400)]
    claims = {
        "auc": metrics.auc_error,
        "logloss": metrics.logloss_error,
        "normalized_entropy": metrics.normalized_entropy_error,
        "calibration": metrics.calibration_error,
    }
    for name, error in claims.items():
        values = [getattr(metrics, name)(labels, predicted) for _, labels, predicted in samples]
        said = np.mean([error(labels, predicted) for _, labels, predicted in samples[:50]])
        assert np.std(values) == pytest.approx(said, rel=0.12), name
    for name in ("auc", "logloss"):
        between = [getattr(metrics, f"{name}_difference")(labels, predicted, p) for p, labels, predicted in samples]
        assert np.std([one.value for one in between]) == pytest.approx(
            np.mean([one.error for one in between]), rel=0.12
        )
        assert between[0].error < claims[name](samples[0][1], samples[0][2]) / 1.5, "the rows are the same"


def test_delongs_error_of_a_small_example():
    """Two clicks at 3 and 1, three others at 2, 1 and 0: placements 1 and 1/2, and 1/2, 3/4, 1."""
    labels, scores = np.array([1, 1, 0, 0, 0]), np.array([3.0, 1, 2, 1, 0])
    assert metrics.auc(labels, scores) == 0.75
    wanted = np.sqrt(np.var([1, 0.5], ddof=1) / 2 + np.var([0.5, 0.75, 1], ddof=1) / 3)
    assert metrics.auc_error(labels, scores) == pytest.approx(wanted, rel=1e-12)
    paired = metrics.auc_difference(labels, scores, -scores)
    assert paired.value == pytest.approx(0.5) and paired.error == pytest.approx(2 * wanted)


# --- calibration ------------------------------------------------------------------------------------------------------


def test_calibration_deciles_and_ece_of_honest_and_of_inflated_probabilities():
    p_true, labels, _ = world(200_000)
    ratio = metrics.calibration(labels, p_true)
    assert ratio == pytest.approx(1, abs=3 * metrics.calibration_error(labels, p_true))
    assert metrics.calibration(labels, 0.9 * p_true) == pytest.approx(0.9 * ratio)
    assert metrics.auc(labels, 0.9 * p_true) == metrics.auc(labels, p_true), "AUC does not see it"
    assert metrics.ece(labels, p_true) < 0.004 < 0.01 < metrics.ece(labels, 0.9 * p_true)
    found = metrics.deciles(labels, p_true)
    assert [one.group for one in found] == list(range(10)) and {one.rows for one in found} == {20_000}
    edges = np.sort(p_true).reshape(10, -1)
    assert [one.predicted for one in found] == pytest.approx(edges.mean(1))
    assert all(abs(one.clicked - one.predicted) < 4 * one.error for one in found)


def test_rows_with_one_prediction_share_a_bin():
    labels = np.array([0, 1] * 50)
    assert len(metrics.deciles(labels, np.full(100, 0.5))) == 1
    assert metrics.ece(labels, np.full(100, 0.5)) == 0
    two = metrics.deciles(labels, np.repeat([0.2, 0.9], [95, 5]))
    assert [(one.rows, one.predicted) for one in two] == [(95, pytest.approx(0.2)), (5, pytest.approx(0.9))]


def test_calibration_by_campaign_tells_who_is_promised_too_much():
    labels = np.array([1, 0, 0, 0, 1, 1, 0, 0, 0])
    campaign = np.array([7, 7, 7, 7, 3, 3, 3, 9, 9])
    big, middle, small = metrics.by_group(campaign, labels, np.full(9, 0.5))
    assert (big.group, big.rows, big.ratio) == (7, 4, 2.0)
    assert (middle.group, middle.ratio) == (3, pytest.approx(0.75))
    assert (small.group, small.ratio) == (9, None), "no click to divide by"


# --- AUC by member ----------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=20))
def test_gauc_is_the_mean_of_members_weighted_by_their_impressions(rows):
    members, labels, scores = (np.array(column) for column in zip(*rows, strict=True))
    total, kept, skipped = 0.0, 0, 0
    for member in np.unique(members):
        own = members == member
        if len(set(labels[own])) == 2:
            total += own.sum() * pairs_auc(labels[own], scores[own])
            kept += own.sum()
        else:
            skipped += 1
    found = metrics.gauc(members, labels, scores)
    assert (found.groups, found.skipped) == (len(np.unique(members)), skipped)
    assert found.skipped_share == pytest.approx(1 - kept / len(rows))
    assert found.value == (pytest.approx(total / kept) if kept else None)


def test_gauc_does_not_reward_knowing_who_clicks_often():
    rng = np.random.default_rng(3)
    members = rng.integers(0, 50, 20_000)
    rate = rng.uniform(0.02, 0.6, 50)[members]
    labels = rng.random(20_000) < rate
    assert metrics.auc(labels, rate) > 0.7
    assert metrics.gauc(members, labels, rate).value == 0.5


# --- wrong metrics are other numbers ----------------------------------------------------------------------------------


def test_the_mean_of_batches_is_not_auc():
    p_true, labels, _ = world(20_000)
    hour = np.repeat(np.linspace(-2, 2, 20), 1_000)  # the level of the scores moves from batch to batch
    scores = np.log(p_true / (1 - p_true)) + hour
    batches = [metrics.auc(labels[k : k + 1_000], scores[k : k + 1_000]) for k in range(0, 20_000, 1_000)]
    assert abs(np.mean(batches) - metrics.auc(labels, scores)) > 0.05


def test_an_auc_that_breaks_ties_by_order_is_not_auc():
    def by_order(labels, scores):
        ranks = np.empty(len(scores))
        ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
        clicks = labels.sum()
        return (ranks[labels == 1].sum() - clicks * (clicks + 1) / 2) / (clicks * (len(labels) - clicks))

    labels = np.repeat([0, 1], [700, 300])
    assert by_order(labels, np.zeros(1_000)) == 1, "rows without a click came first, and it takes that for skill"
    assert metrics.auc(labels, np.zeros(1_000)) == 0.5
    distinct = np.random.default_rng(4).random(1_000)
    assert by_order(labels, distinct) == pytest.approx(metrics.auc(labels, distinct), abs=1e-12)


def test_accuracy_prefers_the_predictor_that_never_promises_a_click():
    rng = np.random.default_rng(5)
    p_true = rng.uniform(0, 0.45, 20_000)
    labels = rng.random(20_000) < p_true
    constant = np.full(20_000, labels.mean())
    accuracy = [np.mean((p > 0.5) == labels) for p in (p_true, constant)]
    assert accuracy[0] == accuracy[1]
    assert metrics.auc(labels, p_true) > 0.7 and metrics.auc(labels, constant) == 0.5


# --- what is no input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [np.zeros(9), np.ones(9)])
@pytest.mark.parametrize(
    "metric", ["auc", "pr_auc", "normalized_entropy", "auc_error", "normalized_entropy_error", "calibration_error"]
)
def test_labels_of_one_class_are_a_sentence(metric, labels):
    with pytest.raises(CtrError, match=r"^all 9 labels are [01]: .* needs clicks and rows without one; evaluate more"):
        getattr(metrics, metric)(labels, np.full(9, 0.5))


def test_bins_that_are_none():
    for metric in (metrics.deciles, metrics.ece):
        with pytest.raises(CtrError, match="0 bins hold no rows"):
            metric([0, 1], [0.5, 0.5], 0)


def test_no_click_no_calibration_and_no_pair_no_expectation():
    with pytest.raises(CtrError, match="none of 9 rows was clicked"):
        metrics.calibration(np.zeros(9), np.full(9, 0.5))
    with pytest.raises(CtrError, match="9 true probabilities allow no pair"):
        metrics.expected_auc(np.zeros(9), np.arange(9))


@pytest.mark.parametrize(
    ("labels", "p", "sentence"),
    [
        ([], [], "there are no rows to evaluate"),
        ([[0, 1]], [0.5], r"labels have the shape \(1, 2\), where \(rows,\) belongs"),
        ([0, 2], [0.5, 0.5], "the label at row 1 is 2, and must be 1 for a click or 0"),
        ([0, np.nan], [0.5, 0.5], "the label at row 1 is nan"),
        (["no", "yes"], [0.5, 0.5], "labels must be numbers, and not <U3"),
        ([0, 1], ["a", "b"], "predictions must be numbers, and not <U1"),
        ([0, 1], [[0.5], [0.5]], r"of shape \(2, 1\) for 2 rows: a column of \(rows, 1\) needs"),
        ([0, 1], [0.5], r"of shape \(1,\) for 2 rows: give one a row"),
        ([0, 1], [0.5, np.nan], "at row 1 is nan: look for the first NaN"),
        ([0, 1], [0.5, 2.5], "2.5 at row 1 is no probability: apply the sigmoid to logits, once"),
    ],
)
def test_what_is_no_label_or_probability_is_a_sentence(labels, p, sentence):
    for metric in (metrics.logloss, metrics.evaluate):
        with pytest.raises(CtrError, match=sentence):
            metric(np.array(labels), np.array(p))


# --- everything at once -----------------------------------------------------------------------------------------------


def evaluated(rows=20_000):
    rng = np.random.default_rng(6)
    p_true, labels, predicted = world(rows)
    schema = schemas.Schema(
        (schemas.Field("member", 101), schemas.Field("ad", 21), schemas.Field("campaign", 6)), ("dense",)
    )
    ids = np.stack([rng.integers(1, field.rows, rows) for field in schema.fields], 1).astype(np.int32)
    ids[:5, 1] = 0  # an ad that no vocabulary holds
    old = ids[(ids[:, 0] > 10) & (ids[:, 1] != 20)]
    empty = np.zeros((len(old), 1), np.float32), np.zeros(len(old), np.uint8), np.zeros(len(old), np.int64)
    train = logs.Part(schema, old, *empty)
    return labels, predicted, {"schema": schema, "ids": ids, "p_true": p_true, "train": train}


def test_an_evaluation_holds_what_the_metrics_say_and_is_json():
    labels, predicted, more = evaluated()
    found = metrics.evaluate(labels, predicted, **more)
    ids, p_true = more["ids"], more["p_true"]
    assert found.auc == metrics.auc(labels, predicted) and found.logloss == metrics.logloss(labels, predicted)
    assert found.gauc == metrics.gauc(ids[:, 0], labels, predicted) and len(found.campaigns) == 5
    assert found.bayes.regret == metrics.regret(labels, predicted, p_true)
    assert found.bayes.auc_gap == pytest.approx(metrics.bayes_auc(p_true) - metrics.expected_auc(p_true, predicted))
    assert 0 < found.bayes.learned < 1 and not found.bayes.leaks
    cold_member, cold_ad = ids[:, 0] <= 10, np.isin(ids[:, 1], (0, 20))
    assert {name: part.rows for name, part in found.slices.items()} == {
        "warm": np.sum(~cold_member & ~cold_ad),
        "cold member": np.sum(cold_member),
        "cold ad": np.sum(cold_ad),
    }
    assert found.slices["cold ad"].auc == metrics.auc(labels[cold_ad], predicted[cold_ad])
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert read["auc"] == found.auc and read["deciles"][0]["ratio"] == found.deciles[0].ratio


def test_an_evaluation_without_truth_or_ids_has_what_is_left():
    labels, predicted, _ = evaluated(2_000)
    found = metrics.evaluate(labels, predicted)
    assert (found.bayes, found.gauc, found.campaigns, found.slices) == (None, None, (), {})


def test_a_slice_of_one_class_has_no_auc_and_the_rest_stands():
    labels, predicted, more = evaluated(2_000)
    labels = labels.copy()
    labels[more["ids"][:, 1] == 20] = labels[:5] = 0
    part = metrics.evaluate(labels, predicted, **more).slices["cold ad"]
    assert (part.auc, part.calibration) == (None, None) and part.logloss > 0


def printed(renderable):
    console = Console(width=80, file=io.StringIO())
    console.print(renderable)
    return console.file.getvalue()


def test_the_tables_fit_80_columns_and_name_the_leak():
    labels, predicted, more = evaluated()
    honest = metrics.evaluate(labels, predicted, **more)
    leaking = metrics.evaluate(labels, np.clip(predicted + 0.1 * labels, 0, 1), **more)
    text = printed(table.comparison({"logistic regression on it": honest, "embedding + MLP": honest}))
    assert "Leak test: clean" in text and "Bayes (true p)" in text and f"{honest.auc:.4f}" in text
    assert "Leak: clever has AUC" in printed(table.comparison({"clever": leaking, "honest": honest}))
    text += printed(table.details(honest))
    assert "cold member" in text and "AUC by member" in text and "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    without = printed(table.comparison({"any": metrics.evaluate(labels, predicted)}))
    assert "Bayes" not in without and "regret" not in without
    with pytest.raises(CtrError, match="no evaluation to print"):
        table.comparison({})
