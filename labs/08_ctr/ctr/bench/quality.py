"""What a way of training does to the model: it is trained for as many impressions as the others, and tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..fast.making import Step
from ..fast.resident import Resident
from ..metrics import auc, auc_error, calibration, normalized_entropy
from ..metrics.losses import losses as loss_of_each
from ..metrics.uncertainty import of_mean
from ..model.network import Network
from .timing import wait

AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Trained:
    """A way of training: what it is called, the loss of each test impression, and what they say together."""

    name: str
    batch: int
    losses: np.ndarray  # (test impressions,)
    figures: dict[str, float]

    def to_dict(self, reference: Trained | None = None) -> dict[str, Any]:
        """`reference`: a way of training that this one is compared with, impression by impression."""
        found: dict[str, Any] = {"name": self.name, "batch": self.batch, **self.figures}
        if reference is not None:
            difference = self.losses - reference.losses
            found |= {
                "reference": reference.name,
                "difference": float(difference.mean()),
                "difference_in_standard_errors": float(abs(difference.mean()) / reference.figures["standard_error"]),
                "paired_standard_error": of_mean(difference),
            }
        return found


def train(name: str, step: Step, batch: int, samples: int, test: Resident, device: torch.device) -> Trained:
    """Trains for `samples` impressions, rounded down to whole batches, and tests."""
    steps = samples // batch
    for _ in range(steps):
        step()
    wait(device)
    p = probabilities(step.network(), test)
    labels = test.labels.cpu().numpy()
    losses = loss_of_each(labels, p)
    figures = {
        "samples": steps * batch,
        "train_loss": float(step.loss_sum) / steps,
        "logloss": float(losses.mean()),
        "standard_error": of_mean(losses),
        "normalized_entropy": normalized_entropy(labels, p),
        "auc": auc(labels, p),
        "auc_standard_error": auc_error(labels, p),
        "calibration": calibration(labels, p),
    }
    return Trained(name, batch, losses, figures)


@torch.no_grad()
def probabilities(network: Network, data: Resident) -> np.ndarray:
    """(n,) float64, by a network in float32, on places and standardised numbers."""
    found = []
    for first in range(0, data.size, AT_ONCE):
        these = slice(first, first + AT_ONCE)
        rows = torch.nn.functional.embedding(data.rows[these], network.table.weight).flatten(1)
        logits = network.mlp(torch.cat((rows, data.dense[these]), 1)).squeeze(1)
        found.append(torch.sigmoid(logits.double()).cpu().numpy())
    return np.concatenate(found)
