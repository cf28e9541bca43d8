"""One embedding table of all fields: a gather from one weight, instead of a small table and a launch for each field.

Source: one table with offsets is FBGEMM's table-batched embedding (pytorch/FBGEMM); training the unknown id by masking
ids at random is what keeps its row from being noise at inference.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..errors import CtrError
from ..schema import UNKNOWN, Schema

LENGTH = 0.1  # of an embedding before training: small beside standardised numbers


class Table(nn.Module):
    """The rows of all fields, one field after the other; the first row of each is that of unknown ids.

    weight (schema.rows, dim) float32; offsets (fields,) int64, where the rows of each field begin. `sparse`: the
    gradient is a sparse tensor of the rows that were read, so that no step touches the whole table.
    """

    weight: nn.Parameter
    offsets: Tensor

    def __init__(self, schema: Schema, dim: int, *, sparse: bool = True):
        super().__init__()
        self.dim = dim
        self.sparse = sparse
        self.weight = nn.Parameter(_room(schema.rows, dim))
        # Not saved: the schema, which every file of ours keeps, says it.
        self.register_buffer("offsets", torch.from_numpy(schema.offsets), persistent=False)
        self.reset()

    def reset(self) -> None:
        """Draws the weights from torch's generator: vectors whose expected length does not depend on `dim`."""
        nn.init.normal_(self.weight, std=LENGTH / math.sqrt(self.dim))

    def forward(self, ids: Tensor) -> Tensor:
        """(n, fields) integers, each below the rows of its field, to (n, fields * dim) float32.

        Nothing is checked here: `guards.check_ids` does so on the host, before the ids reach a device.
        """
        rows = ids + self.offsets
        return nn.functional.embedding(rows, self.weight, sparse=self.sparse).flatten(1)


def _room(rows: int, dim: int) -> Tensor:
    """Raises CtrError where there is not so much memory."""
    try:
        return torch.empty(rows, dim)
    except RuntimeError as error:
        raise CtrError(
            f"a table of {rows:,} rows of {dim:,} numbers needs {4 * rows * dim / 1e9:,.0f} GB, and there is not so "
            "much memory: hash the fields to fewer rows (`gpukit ctr read --most-rows`), or take a smaller --dim"
        ) from error


def with_unknown(ids: Tensor, draws: Tensor, share: float) -> Tensor:
    """(n, fields) ids, of which each becomes the unknown id where its draw, uniform from 0 to 1, is below `share`."""
    return ids.masked_fill(draws < share, UNKNOWN)


@torch.no_grad()
def replace_noise(
    weight: Tensor, sums: Tensor, offsets: Tensor, rows: Tensor | None = None, unknown: Tensor | None = None
) -> None:
    """Gives the rows that no step has moved, and which are noise since they were drawn, the row of their field's
    unknown id: an id that training has not met then predicts what an unknown one does.

    weight (n, dim); sums (n,), the state of `RowwiseAdagrad`, 0 where nothing came; offsets (fields,) int64. Where
    `weight` is not a whole table in its order: `rows` (n,) int64 of it, and `unknown` (fields, dim).
    """
    rows = torch.arange(len(weight), device=weight.device) if rows is None else rows
    unknown = weight[offsets] if unknown is None else unknown
    unmoved = (sums == 0).nonzero().squeeze(1)
    weight[unmoved] = unknown[torch.searchsorted(offsets, rows[unmoved], right=True) - 1]
