"""Click models that learn wrong, or break far from the cause; none of them is a launch of a kernel.

Source: unseen ids: DeepCTR-Torch issues 95 and 295, DeepCTR issue 24 (shenweichen); logarithms of counts:
facebookresearch/dlrm issue 363, meta-pytorch/torchrec pull 2150, aksnzhy/xlearn issue 158; (n, 1) against (n,):
pytorch/pytorch issues 1939 and 16045, PaddlePaddle/models issue 486; sigmoid twice: NVIDIA-Merlin/models pull 1175,
yudi-mars/daisyRec pull 15.
"""

import numpy as np

# --- ids that training has not seen ----------------------------------------------------------------------------------

SEEN, NEW = ["ad7", "ad2", "ad7", "ad9", "ad2"], ["ad2", "ad11", "ad9"]


def ids_of_both_in_a_table_of_one():
    """Ids are given to the words of training and test, and rows to those of training."""
    place = {word: k for k, word in enumerate(sorted({*SEEN, *NEW}))}
    return {"ids": np.array([[place[word]] for word in SEEN + NEW]), "rows": len(set(SEEN))}


def unknown_ids_have_a_row():
    place = {word: k + 1 for k, word in enumerate(sorted(set(SEEN)))}
    return {"ids": np.array([[place.get(word, 0)] for word in SEEN + NEW]), "rows": len(place) + 1}


def ids_minus_one_for_missing():
    return {"ids": np.array([[0], [2], [-1]]), "rows": 3}


# --- numbers that are not finite -------------------------------------------------------------------------------------

COUNTS = np.array([[0, 5], [1, -3], [12, 40], [3, -1], [7, 2], [0, 0], [2, 9], [30, -3]], np.float32)
CLICKS = np.array([0, 1, 1, 0, 1, 0, 0, 1], np.float32)


def logarithm_of_counts():
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"dense": np.log(COUNTS + 3)}


def logarithm_of_clipped_counts():
    return {"dense": np.log1p(np.clip(COUNTS, 0, None))}


def mean_of_nothing():
    """A historical click rate without a prior: clicks over impressions, of an ad that has none."""
    with np.errstate(invalid="ignore"):
        return {"dense": np.float32([[0, 1], [3, 12]]) / np.float32([[0, 4], [9, 40]])}


def _loss_after_training(dense):
    import torch

    torch.manual_seed(0)
    x, y = torch.from_numpy(np.float32(dense)), torch.from_numpy(CLICKS)
    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {"loss": loss.item(), "step": 5}


def trained_on_logarithms():
    return _loss_after_training(logarithm_of_counts()["dense"])


def trained_on_clipped_logarithms():
    return _loss_after_training(logarithm_of_clipped_counts()["dense"])


# --- losses of every row against every label -------------------------------------------------------------------------


def _linear_model(squeeze, steps=200, n=512):
    """(losses before their mean, labels, logits) of logistic regression with a loss written by hand."""
    import torch

    rng = np.random.default_rng(7)
    features = rng.standard_normal((n, 6), np.float32)
    truth = 1 / (1 + np.exp(-(features @ np.float32([1.5, -2, 1, 0, 0.5, -0.5]))))
    x, y = torch.from_numpy(features), torch.from_numpy((rng.random(n) < truth).astype(np.float32))
    weight, bias = torch.zeros(6, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
    for _ in range(steps):
        logits = x @ weight + bias
        logits = logits.squeeze(1) if squeeze else logits
        losses = torch.nn.functional.softplus(logits) - logits * y
        for parameter, gradient in zip((weight, bias), torch.autograd.grad(losses.mean(), (weight, bias)), strict=True):
            parameter.data -= 0.5 * gradient
    return losses.detach(), y, logits.detach().flatten()


def loss_of_a_column():
    losses, labels, _ = _linear_model(squeeze=False, steps=1)
    return {"loss": losses, "labels": labels}


def loss_of_a_vector():
    losses, labels, _ = _linear_model(squeeze=True, steps=1)
    return {"loss": losses, "labels": labels}


def logits_of_a_column():
    return {"loss": np.zeros((512, 1)), "labels": np.zeros(512)}


def trained_on_a_column():
    return {"scores": _linear_model(squeeze=False)[2]}


def trained_on_a_vector():
    return {"scores": _linear_model(squeeze=True)[2]}


# --- a sigmoid too many, or too few ----------------------------------------------------------------------------------

LOGITS, LABELS = np.array([-20.0, 20, -20, 20]), np.array([0, 1, 0, 1])


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


def sigmoid_twice():
    return {"p": _sigmoid(_sigmoid(LOGITS)), "labels": LABELS}


def sigmoid_once():
    return {"p": _sigmoid(LOGITS), "labels": LABELS}


def _rare_clicks(rate, n=4000):
    rng = np.random.default_rng(3)
    p = _sigmoid(np.log(rate / (1 - rate)) + rng.standard_normal(n))
    return p, (rng.random(n) < p).astype(np.uint8)


def sigmoid_twice_of_rare_clicks():
    p, labels = _rare_clicks(0.05)
    return {"p": _sigmoid(p), "labels": labels}


def sigmoid_twice_of_frequent_clicks():
    """The click rate is one that squeezed probabilities can have; their halves are not."""
    p, labels = _rare_clicks(0.6)
    return {"p": _sigmoid(p), "labels": labels}


def probabilities_between_a_half_and_three_quarters():
    """What a squeezed model would say, and right."""
    rng = np.random.default_rng(4)
    p = rng.uniform(0.5, 0.73, 4000)
    return {"p": p, "labels": (rng.random(4000) < p).astype(np.uint8)}


def no_sigmoid():
    return {"p": LOGITS}


def probabilities():
    return {"p": _sigmoid(LOGITS)}


# --- labels ----------------------------------------------------------------------------------------------------------


def ratings_as_labels():
    return {"labels": np.array([0, 1, 4, 5])}


def minus_one_for_no_click():
    return {"labels": np.array([1, -1, 1])}


def missing_labels():
    return {"labels": np.array([0, 1, np.nan])}


def clicks_as_labels():
    return {"labels": np.array([0, 1, 1], np.uint8)}


# check: the guard that is asked. say: words of its sentence; none where it must say nothing.
# --- a log that is not in the order of time --------------------------------------------------------------------------


def days_one_after_the_other_as_files_are_named():
    """Day 10 comes before day 2 by name, and the split looks ahead."""
    return {"times": np.array([1, 10, 2]) * 86_400}


def days_in_order():
    return {"times": np.array([1, 2, 2, 10]) * 86_400}


CASES = {
    "unseen ids": {
        "give": ids_of_both_in_a_table_of_one,
        "check": "check_ids",
        "say": ["id 3 of field 'ad' at row 3 is outside 0 to 2", "give 0, the unknown id"],
    },
    "negative ids": {
        "give": ids_minus_one_for_missing,
        "check": "check_ids",
        "say": ["id -1 of field 'ad' at row 2 is outside 0 to 2"],
    },
    "unseen ids, cured": {"give": unknown_ids_have_a_row, "check": "check_ids", "say": []},
    "logarithm of counts": {
        "give": logarithm_of_counts,
        "check": "check_dense",
        "say": ["row 1 of 'I2' is -inf, row 7 of 'I2' is -inf", "logarithm of 0 or less", "no learning rate helps"],
    },
    "mean of nothing": {"give": mean_of_nothing, "check": "check_dense", "say": ["row 0 of 'I1' is nan"]},
    "logarithm of counts, cured": {"give": logarithm_of_clipped_counts, "check": "check_dense", "say": []},
    "training on logarithms": {
        "give": trained_on_logarithms,
        "check": "check_loss",
        "say": ["the loss is nan", "checkpoint"],
    },
    "training on logarithms, cured": {"give": trained_on_clipped_logarithms, "check": "check_loss", "say": []},
    "loss of a column": {
        "give": loss_of_a_column,
        "check": "check_loss_shape",
        "say": ["262,144 elements", "512 labels", "squeeze the logits"],
    },
    "logits of a column": {
        "give": logits_of_a_column,
        "check": "check_loss_shape",
        "say": ["(512, 1)", "(512,)", "squeeze the logits"],
    },
    "loss of a column, cured": {"give": loss_of_a_vector, "check": "check_loss_shape", "say": []},
    "training on a column": {"give": trained_on_a_column, "check": "check_spread", "say": ["all 512 rows"]},
    "training on a column, cured": {"give": trained_on_a_vector, "check": "check_spread", "say": []},
    "sigmoid twice": {
        "give": sigmoid_twice,
        "check": "check_not_squeezed",
        "say": ["no probability is below one half", "0.731", "second one", "return logits", "calibration"],
    },
    "sigmoid twice, rare clicks": {
        "give": sigmoid_twice_of_rare_clicks,
        "check": "check_not_squeezed",
        "say": ["no probability is below one half", "return logits"],
    },
    "sigmoid twice, frequent clicks": {
        "give": sigmoid_twice_of_frequent_clicks,
        "check": "check_not_squeezed",
        "say": ["no probability is below one half", "return logits"],
    },
    "sigmoid twice, cured": {"give": sigmoid_once, "check": "check_not_squeezed", "say": []},
    "probabilities that look squeezed": {
        "give": probabilities_between_a_half_and_three_quarters,
        "check": "check_not_squeezed",
        "say": [],
    },
    "no sigmoid": {"give": no_sigmoid, "check": "check_probabilities", "say": ["-20 at row 0", "sigmoid"]},
    "no sigmoid, cured": {"give": probabilities, "check": "check_probabilities", "say": []},
    "ratings as labels": {"give": ratings_as_labels, "check": "check_labels", "say": ["label at row 2 is 4"]},
    "-1 for no click": {"give": minus_one_for_no_click, "check": "check_labels", "say": ["label at row 1 is -1"]},
    "missing labels": {"give": missing_labels, "check": "check_labels", "say": ["label at row 2 is nan"]},
    "labels, cured": {"give": clicks_as_labels, "check": "check_labels", "say": []},
    "days by their names": {
        "give": days_one_after_the_other_as_files_are_named,
        "check": "check_times",
        "say": ["time 172800 at row 2 comes after 864000", "sort the log by time"],
    },
    "days in order": {"give": days_in_order, "check": "check_times", "say": []},
}
