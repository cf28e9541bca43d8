"""Embedding rows and numbers to the logit of a click, through a small dense network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from ..schema import Schema
from .table import Table


class Network(nn.Module):
    """Table, then a multilayer perceptron of `hidden` widths on its rows and the standardised numbers.

    mean, scale (numbers,) float32: subtracted from, then multiplied with the dense features; 0 and 1 until
    `standardise`. shift, a number: added to the logits of inference, and not to those of training; 0 until
    `recalibrate`. They are part of the state, so that a saved model takes raw numbers and tells true probabilities.
    """

    mean: Tensor
    scale: Tensor
    shift: Tensor

    def __init__(
        self,
        schema: Schema,
        dim: int = 16,
        hidden: Sequence[int] = (256, 128),
        dropout: float = 0.0,
        *,
        sparse: bool = True,
    ):
        super().__init__()
        self.schema = schema
        self.table = Table(schema, dim, sparse=sparse)
        numbers = len(schema.dense)
        self.register_buffer("mean", torch.zeros(numbers))
        self.register_buffer("scale", torch.ones(numbers))
        self.register_buffer("shift", torch.zeros(()))
        widths = [len(schema.fields) * dim + numbers, *hidden]
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.ReLU()]
            if dropout:
                layers.append(nn.Dropout(dropout))
        self.mlp = nn.Sequential(*layers, nn.Linear(widths[-1], 1))

    def forward(self, ids: Tensor, dense: Tensor) -> Tensor:
        """ids (n, fields) integers, dense (n, numbers) float32 to logits (n,): no second axis, no sigmoid."""
        numbers = (dense - self.mean) * self.scale
        logits = self.mlp(torch.cat((self.table(ids), numbers), 1)).squeeze(1)
        return logits if self.training else logits + self.shift

    def standardise(self, mean: np.ndarray, deviation: np.ndarray) -> None:
        """(numbers,) each, of the training rows; a number that never changes is left at its size."""
        self.mean.copy_(torch.as_tensor(mean))
        self.scale.copy_(torch.as_tensor(1 / np.where(deviation > 0, deviation, 1)))

    def start_at(self, rate: float) -> None:
        """Lets the untrained network predict about the click rate `rate` (between 0 and 1, both excluded)."""
        last = self.mlp[-1]
        nn.init.constant_(last.bias, float(np.log(rate / (1 - rate))))

    def recalibrate(self, negative_rate: float) -> None:
        """Where training has this share of the rows without a click: p / (p + (1 - p) / rate), a sum of logits."""
        self.shift.fill_(float(np.log(negative_rate)))

    def dense_parameters(self) -> list[nn.Parameter]:
        """All but the table's weight."""
        return list(self.mlp.parameters())
