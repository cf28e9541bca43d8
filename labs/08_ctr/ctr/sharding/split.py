"""Large fields sharded by rows, small ones in every process.

A field of few rows gains nothing by being sharded: its embeddings would travel for every sample, while the gradient of
all its rows is smaller than that, and its rows are the most popular, so the process that holds one would add up
gradients of everybody's samples. In every process it is a part of the dense network: DistributedDataParallel takes the
mean of its gradients.

Source: data-parallel tables beside row-wise sharded ones are TorchRec's (meta-pytorch/torchrec, ShardingType), hybrid
embeddings by popularity HugeCTR's.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..errors import CtrError
from ..model.network import Network
from ..schema import Schema
from .processes import Processes
from .table import ShardedTable


class ReplicatedTable(nn.Module):
    """The rows of some fields, all of them in every process: weight (rows, dim) float32; offsets (fields,) int64."""

    offsets: Tensor

    def __init__(self, whole: Tensor, offsets: Tensor):
        super().__init__()
        self.weight = nn.Parameter(whole)
        self.register_buffer("offsets", offsets.to(whole.device), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """(n, fields) integers to (n, fields * dim)."""
        # Its backward adds with atomics; that of `embedding` sorts, for which a CUDA graph cannot be recorded.
        rows = (ids.long() + self.offsets).view(-1)
        return self.weight.index_select(0, rows).view(len(ids), -1)


class SplitTable(nn.Module):
    """Stands in for `model.table.Table` in a network.

    Args:
        sharded, replicated: of the fields of the schema whose rows are more than `replicate`, and of the others, each
            in the schema's order; None where there are no others.
    """

    large: Tensor
    small: Tensor
    order: Tensor

    def __init__(self, schema: Schema, sharded: ShardedTable, replicated: ReplicatedTable | None, replicate: int):
        super().__init__()
        self.schema, self.replicate = schema, replicate
        self.sharded = sharded
        self.replicated = None if replicated is None else DistributedDataParallel(replicated)
        places = split(schema, replicate)
        device = sharded.weight.device
        for name, value in zip(("large", "small"), places, strict=True):
            self.register_buffer(name, torch.tensor(value, dtype=torch.int64, device=device), persistent=False)
        order = torch.argsort(torch.cat((self.large, self.small)))
        self.register_buffer("order", order, persistent=False)

    @classmethod
    def of(
        cls, network: Network, processes: Processes, exchange: torch.dtype = torch.float32, replicate: int = 0
    ) -> SplitTable:
        """The table of a network that every process has drawn from the same seed, whole in each of them until then."""
        schema, whole = network.schema, network.table.weight.detach()
        large, small = split(schema, replicate)
        own = _fields(whole, schema, large) if small else whole
        sharded = ShardedTable.of(own, offsets(schema, large), processes, exchange)
        if not small:
            return cls(schema, sharded, None, replicate)
        rest = ReplicatedTable(_fields(whole, schema, small).to(processes.device), offsets(schema, small))
        return cls(schema, sharded, rest, replicate)

    @property
    def replicated_weight(self) -> nn.Parameter | None:
        return None if self.replicated is None else self.replicated.module.weight

    def forward(self, ids: Tensor) -> Tensor:
        """(n, fields) integers to (n, fields * dim) float32: a collective, as of `ShardedTable`."""
        if self.replicated is None:
            return self.sharded(ids)
        large, small = ids.index_select(1, self.large), ids.index_select(1, self.small)
        found = torch.cat((self.sharded(large), self.replicated(small)), 1).view(*ids.shape, -1)
        return found.index_select(1, self.order).flatten(1)

    def whole_weight(self) -> Tensor:
        """(rows, dim) float32 on the host, in the order of the schema, in every process: a collective."""
        rows = torch.tensor([field.rows for field in self.schema.fields])
        parts = [(self.large.cpu(), self.sharded.whole_weight())]
        if self.replicated_weight is not None:
            parts.append((self.small.cpu(), self.replicated_weight.detach().cpu()))
        found: dict[int, Tensor] = {}
        for places, weight in parts:
            found |= dict(zip(places.tolist(), weight.split(rows[places].tolist()), strict=True))
        return torch.cat([found[place] for place in range(len(rows))])


def split(schema: Schema, replicate: int) -> tuple[list[int], list[int]]:
    """The places of the fields with more rows than `replicate`, and of the others.

    Raises CtrError where there is nothing to shard.
    """
    large = [place for place, field in enumerate(schema.fields) if field.rows > replicate]
    if not large:
        most = max(field.rows for field in schema.fields)
        raise CtrError(
            f"no field has more than {most:,} rows, so with --replicate {replicate} none is sharded: give less"
        )
    return large, [place for place in range(len(schema.fields)) if place not in large]


def _fields(whole: Tensor, schema: Schema, places: list[int]) -> Tensor:
    """The rows of some fields of a table of all."""
    starts = schema.offsets.tolist()
    return torch.cat([whole[starts[place] : starts[place] + schema.fields[place].rows] for place in places])


def offsets(schema: Schema, places: list[int]) -> Tensor:
    """(places,) int64: where the rows of some fields begin in a table of these alone."""
    rows = torch.tensor([schema.fields[place].rows for place in places])
    return rows.cumsum(0) - rows
