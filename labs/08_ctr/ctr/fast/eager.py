"""The step as PyTorch does it, operation by operation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from ..model.network import Network
from ..model.optimizers import RowwiseAdagrad
from .resident import Resident

Rows = tuple[Tensor, Tensor, Tensor]  # of a batch: places in the one table (n, fields), dense, labels

EPS = 1e-8
RATE_OF_TABLE = 0.02  # row-wise Adagrad
RATE = 1e-3  # Adam


class FieldTables(nn.Module):
    """An embedding module for each field, with the rows of a Table; takes places in the one table, as the others do."""

    def __init__(self, network: Network):
        super().__init__()
        weight, offsets = network.table.weight.detach(), network.table.offsets.tolist()
        ends = [*offsets[1:], weight.shape[0]]
        self.starts = offsets
        self.tables = nn.ModuleList(
            nn.Embedding.from_pretrained(weight[start:end].clone(), freeze=False)
            for start, end in zip(offsets, ends, strict=True)
        )

    def forward(self, rows: Tensor) -> Tensor:
        looked_up = (
            table(rows[:, field] - start)
            for field, (table, start) in enumerate(zip(self.tables, self.starts, strict=True))
        )
        return torch.cat(tuple(looked_up), 1)


class OneTable(nn.Module):
    """One weight for all fields; its gradient is sparse, or a tensor as large as itself."""

    def __init__(self, network: Network, sparse: bool):
        super().__init__()
        self.weight = nn.Parameter(network.table.weight.detach().clone())
        self.sparse = sparse

    def forward(self, rows: Tensor) -> Tensor:
        return nn.functional.embedding(rows, self.weight, sparse=self.sparse).flatten(1)


class EagerStep:
    """One training step, made anew by PyTorch every time it is called.

    Args:
        network: where training starts: it is copied to `device`, and stays what it is.
        batches: an endless iterator of `Rows` on the device.
        table, optimizer, read_loss: as of `Switches`.
    """

    def __init__(
        self,
        network: Network,
        batches: Iterator[Rows],
        device: torch.device,
        *,
        table: str,
        optimizer: str,
        read_loss: bool,
    ):
        start = copy.deepcopy(network).to(device)
        sparse = optimizer == "rowwise"
        self.batches, self.read_loss = batches, read_loss
        self.table = FieldTables(start) if table == "fields" else OneTable(start, sparse)
        self.mlp = start.mlp
        self.start = start
        self.loss_sum = torch.zeros((), device=device)
        fused = optimizer != "dense"
        self.optimizers: list[torch.optim.Optimizer]
        if sparse:
            adam = torch.optim.Adam(self.mlp.parameters(), RATE, fused=fused)
            self.optimizers = [RowwiseAdagrad(self.table.parameters(), RATE_OF_TABLE, EPS), adam]
        else:
            parameters = [*self.table.parameters(), *self.mlp.parameters()]
            self.optimizers = [torch.optim.Adam(parameters, RATE, fused=fused)]

    def __call__(self) -> None:
        rows, dense, labels = next(self.batches)
        logits = self.mlp(torch.cat((self.table(rows), dense), 1)).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in self.optimizers:
            optimizer.step()
        self.loss_sum += loss.item() if self.read_loss else loss.detach()

    def network(self) -> Network:
        """What was learned so far."""
        if isinstance(self.table, FieldTables):
            weight = torch.cat([table.weight.detach() for table in self.table.tables])
        else:
            weight = self.table.weight.detach()
        return learned(self.start, weight)


def learned(start: Network, weight: Tensor) -> Network:
    """A network with a table's weight, and all else of `start`."""
    with torch.no_grad():
        start.table.weight.copy_(weight)
    return start


def from_resident(data: Resident, batch: int, shuffle: Callable[[Resident, int], Resident]) -> Iterator[Rows]:
    """Batches of resident data: views, in the order that `shuffle(data, epoch)` gives them."""
    epoch = 0
    while True:
        now = shuffle(data, epoch)
        for first in range(0, now.batches(batch) * batch, batch):
            these = slice(first, first + batch)
            yield now.rows[these], now.dense[these], now.labels[these]
        epoch += 1


def from_host(batches: Iterator[Rows], network: Network, device: torch.device) -> Iterator[Rows]:
    """Batches of ids and raw numbers that a loader brought to the device, as places and standardised numbers."""
    offsets = network.table.offsets.to(device, torch.int32)
    mean, scale = network.mean.to(device), network.scale.to(device)
    for ids, dense, labels in batches:
        yield ids + offsets, (dense - mean) * scale, labels
