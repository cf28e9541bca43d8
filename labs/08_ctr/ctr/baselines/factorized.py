"""Logistic regression on one-hot ids and numbers, and the factorization machine, which adds products of pairs.

    logit = constant + sum of w[id] + numbers . a + sum over pairs of <v[one], v[other]>

The vectors v have `factors` numbers; with none of them this is logistic regression. Ids and numbers both have vectors,
as in libFM, so that a pair may be two ids, two numbers, or one of each.

Adam on shuffled batches with a rate that falls to 0; the weights kept are those of the epoch with the best logloss on
validation. How much weights are shrunk is chosen on validation, too. The unknown id of a field starts at 0 and stays
there where training has none of it.

Source: Rendle, Factorization Machines (ICDM 2010): the sum over pairs is half of (square of sum - sum of squares).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, embedding

from ..metrics import logloss
from ..storage.log import Part
from .features import Features, Rows
from .interface import Predictor

BATCH = 8192
RATE = 0.03  # of the first step
START = 0.05  # standard deviation of the vectors
CHUNK = 1 << 17  # rows that are predicted at once


class Factorized(nn.Module):
    """table (rows, 1 + factors) float32: w and v of each id; numbers (m, 1 + factors): a and v of each number."""

    def __init__(self, rows: int, offsets: np.ndarray, numbers: int, factors: int, rate: float, seed: int):
        super().__init__()
        random = torch.Generator().manual_seed(seed)
        self.table = nn.Parameter(START * torch.randn(rows, 1 + factors, generator=random))
        self.numbers = nn.Parameter(START * torch.randn(numbers, 1 + factors, generator=random))
        self.constant = nn.Parameter(torch.tensor(float(np.log(rate / (1 - rate)))))
        with torch.no_grad():
            self.table[:, 0] = 0
            self.numbers[:, 0] = 0
            self.table[torch.from_numpy(offsets)] = 0

    def forward(self, ids: Tensor, numbers: Tensor) -> Tensor:
        """ids (n, fields) int32, numbers (n, m) float32 to logits (n,)."""
        found = embedding(ids, self.table)
        total = found.sum(1) + numbers @ self.numbers
        logits = self.constant + total[:, 0]
        if self.table.shape[1] == 1:
            return logits
        squares = found[:, :, 1:].square().sum(1) + numbers.square() @ self.numbers[:, 1:].square()
        return logits + (total[:, 1:].square() - squares).sum(1) / 2


def fit(train: Part, validation: Part, seed: int, *, factors: int, epochs: int, shrinks: Sequence[float]) -> Predictor:
    """`shrinks`: the weights of the squared weights in the loss of a row that validation chooses from."""
    features = Features.of(train)
    rows, held_out = features.rows(train), features.rows(validation)
    rate = float(np.clip(rows.labels.mean(), 1e-6, 1 - 1e-6))
    tried = []
    for shrink in shrinks:
        model = Factorized(train.schema.rows, train.schema.offsets, rows.numbers.shape[1], factors, rate, seed)
        tried.append((_train(model, rows, held_out, shrink, epochs, seed), model))
    _, best = min(tried, key=lambda one: one[0])
    return lambda part: expit(_logits(best, features.rows(part)))


logistic_on_everything = partial(fit, factors=0, epochs=3, shrinks=(1e-6, 1e-5))
factorization_machine = partial(fit, factors=8, epochs=6, shrinks=(1e-6, 1e-5, 1e-4))


def _train(model: Factorized, rows: Rows, held_out: Rows, shrink: float, epochs: int, seed: int) -> float:
    """Leaves the weights that are best on the held out rows in the model; their logloss there."""
    optimizer = torch.optim.Adam(model.parameters(), RATE, weight_decay=shrink)
    batches = -(-len(rows.labels) // BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / (epochs * batches))
    best, weights = np.inf, model.state_dict()
    for epoch in range(epochs):
        order = np.random.default_rng([seed, epoch]).permutation(len(rows.labels))
        for which in np.array_split(order, batches):
            logits = model(torch.from_numpy(rows.ids[which]), torch.from_numpy(rows.numbers[which]))
            loss = binary_cross_entropy_with_logits(logits, torch.from_numpy(rows.labels[which]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        found = logloss(held_out.labels, expit(_logits(model, held_out)))
        if found < best:
            best, weights = found, {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(weights)
    return best


@torch.no_grad()
def _logits(model: Factorized, rows: Rows) -> np.ndarray:
    """(rows,) float64."""
    found = np.empty(len(rows.labels))
    for first in range(0, len(found), CHUNK):
        which = slice(first, first + CHUNK)
        found[which] = model(torch.from_numpy(rows.ids[which]), torch.from_numpy(rows.numbers[which])).numpy()
    return found
