"""What one impression costs at least: bytes, operations, and the seconds that a GPU needs for them.

The gather and the update move bytes and calculate next to nothing; the network's matrix products calculate and move
next to nothing that must be moved. One waits for the other, so the floor of a step is the sum of both times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

FLOAT, ID, LABEL = 4, 4, 4  # bytes; of a row's state, too
PASSES = 3  # matrix products of a layer in training: forward, gradient of its input, gradient of its weight


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one impression. `distinct`: rows of the table that a batch reads, over its ids; a row that several
    impressions of a batch share comes from memory once.

    gather, input, gradient, update, data: bytes of the rows read, of the network's input written, of its gradient read,
    of rows and state read and written, of ids, numbers and label. flops: of the network, forward and backward.
    dense_optimizer: bytes of an optimizer over the whole table, over the impressions of a batch; 0 for a row-wise one.
    """

    gather: float
    input: float
    gradient: float
    update: float
    data: float
    flops: float
    dense_optimizer: float = 0.0

    @property
    def bytes(self) -> float:
        return self.gather + self.input + self.gradient + self.update + self.data + self.dense_optimizer

    def floor_seconds(self, gb_s: float, tflops: float) -> float:
        """Of one impression, at a bandwidth (1e9 bytes per second) and a rate of matrix products (1e12 FLOP/s)."""
        return self.bytes / (gb_s * 1e9) + self.flops / (tflops * 1e12)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "bytes": self.bytes}


def cost(
    *,
    fields: int,
    dim: int,
    numbers: int,
    hidden: Sequence[int],
    element: int,
    distinct: float,
    dense_rows_per_sample: float = 0.0,
) -> Cost:
    """Args:
    element: bytes of a number of the network's input and its gradient (4 or 2).
    dense_rows_per_sample: rows of the whole table over the batch, for Adam over all of them: weight, gradient and two
        moments, of which three are read and written and the gradient is read.
    """
    embedded = fields * dim
    row = distinct * embedded * FLOAT
    state = distinct * fields * FLOAT
    widths = [embedded + numbers, *hidden, 1]
    return Cost(
        gather=row,
        input=(embedded + numbers) * element,
        gradient=embedded * element,
        update=2 * row + 2 * state if not dense_rows_per_sample else 0.0,
        data=fields * ID + numbers * FLOAT + LABEL,
        flops=2 * PASSES * sum(before * after for before, after in pairwise(widths)),
        dense_optimizer=dense_rows_per_sample * dim * FLOAT * 7,
    )
