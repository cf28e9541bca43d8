"""What moves the weights: row-wise Adagrad for the table, Adam for the rest.

Source: FBGEMM's exact_row_wise_adagrad (pytorch/FBGEMM, lookup_rowwise_adagrad): repeated ids are summed first, one
number of state a row, the mean of the squares of a row's gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class RowwiseAdagrad(torch.optim.Optimizer):
    """For each row of a matrix with gradient g (dim,):

        state[row] += mean of g * g
        weight[row] -= lr * g / (sqrt(state[row]) + eps)

    A sparse gradient (`Table(sparse=True)`) costs what its rows cost; a dense one gives the same weights and touches
    them all. State is "sum" (rows,) float32, from zero.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 0.02, eps: float = 1e-8):
        super().__init__(params, {"lr": lr, "eps": eps})

    def sums(self, weight: Tensor) -> Tensor:
        """The state of a parameter, (rows,) float32, also before its first step: 0 for a row that nothing moved."""
        state = self.state[weight]
        if not state:
            state["sum"] = weight.new_zeros(weight.shape[0])
        return state["sum"]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:
        """Once for all parameters that have a gradient; there is nothing that would need a closure."""
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, weight.grad, group["lr"], group["eps"])

    def _update(self, weight: Tensor, gradient: Tensor, lr: float, eps: float) -> None:
        total = self.sums(weight)
        if not gradient.is_sparse:
            total += gradient.square().mean(1)
            weight -= lr * gradient / (total.sqrt() + eps)[:, None]
            return
        gradient = gradient.coalesce()  # repeated ids add up before they are squared
        rows, values = gradient.indices()[0], gradient.values()
        sums = total[rows] + values.square().mean(1)
        total[rows] = sums
        weight.index_add_(0, rows, -lr * values / (sums.sqrt() + eps)[:, None])


def dense_adam(params: Iterable[Tensor], lr: float, weight_decay: float, device: torch.device) -> torch.optim.AdamW:
    """AdamW as one kernel for all parameters where PyTorch has one, so that a step is few launches and reads nothing
    back."""
    fused = device.type in ("cpu", "cuda")
    return torch.optim.AdamW(params, lr=lr, weight_decay=weight_decay, fused=fused)
