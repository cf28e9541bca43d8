"""Row-wise Adagrad without sorting the rows and without waiting for the GPU.

`coalesce` sorts, counts the distinct rows (the host waits for the number), and adds up each row's gradients one after
the other. With two processes a popular row gets the gradients of twice as many samples, all in the one process that
holds it: this sum alone would take twice as long (of 10 devices with log-uniform ids, 29% of all samples have one).
Here the lookups of a row choose one of themselves, and the gradients of all of them are added there with atomics.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from ..model.optimizers import RowwiseAdagrad


class UnsortedRowwiseAdagrad(RowwiseAdagrad):
    """The same weights as `RowwiseAdagrad` within rounding: on a GPU the order of a row's gradients is not fixed.

    4 bytes more for each row of the table.
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 0.02, eps: float = 1e-8):
        super().__init__(params, lr, eps)
        self._chosen: dict[Tensor, Tensor] = {}

    def _update(self, weight: Tensor, gradient: Tensor, lr: float, eps: float) -> None:
        if not gradient.is_sparse:
            return super()._update(weight, gradient, lr, eps)
        if weight not in self._chosen:
            self._chosen[weight] = torch.zeros(weight.shape[0], dtype=torch.int32, device=weight.device)
        total, chosen = self.sums(weight), self._chosen[weight]
        rows, values = gradient._indices()[0], gradient._values()
        # Lookups of one row all write here, one of them stays, and all of them read which.
        chosen.index_copy_(0, rows, torch.arange(len(rows), dtype=torch.int32, device=rows.device))
        which = chosen.index_select(0, rows)
        summed = torch.zeros_like(values).index_add_(0, which, values).index_select(0, which)
        # From here on the lookups of one row compute and write the same numbers, so it does not matter which is last.
        sums = total.index_select(0, rows) + summed.square().mean(1)
        moved = weight.index_select(0, rows).addcdiv_(summed, (sums.sqrt() + eps)[:, None], value=-lr)
        total.index_copy_(0, rows, sums)
        weight.index_copy_(0, rows, moved)
