"""Training with several processes: DistributedDataParallel for the dense network, the sharded table for the ids.

The loss is the mean over the whole batch. Each process has `count / rows of the batch` times the sum over its samples:
DistributedDataParallel takes the mean over processes of the dense gradients, which makes it the mean over the batch, and
the table divides its own gradients by `count`. So stretches of different sizes weigh as they should.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.parallel import DistributedDataParallel

from ..model.network import Network
from ..model.optimizers import RowwiseAdagrad, dense_adam
from ..storage.log import Part
from . import batches
from .processes import Processes
from .table import ShardedTable
from .update import UnsortedRowwiseAdagrad


@dataclass(frozen=True, slots=True)
class Rates:
    """Learning rates of the table (row-wise Adagrad) and of the dense network (Adam), and the latter's decay."""

    table: float = 0.02
    dense: float = 1e-3
    weight_decay: float = 0.0


class ShardedTrainer:
    """A network in several processes, and its optimizers.

    `network` is drawn from the same seed in every process; its table becomes a `ShardedTable`, its dense network is
    moved to the process's device and wrapped. `sorting`: the table is updated by `RowwiseAdagrad`, which is slower on
    a GPU, and fixes the order of sums.
    """

    def __init__(
        self,
        network: Network,
        processes: Processes,
        rates: Rates | None = None,
        *,
        exchange: torch.dtype = torch.float32,
        sorting: bool = False,
    ):
        rates = rates or Rates()
        self.processes = processes
        self.schema = network.schema
        table = ShardedTable.of(network.table, processes, exchange)
        network.table = table
        self.table = table
        self.network = network.to(processes.device)
        self.mlp: nn.Module = network.mlp  # what a checkpoint holds, without the wrapper
        network.mlp = DistributedDataParallel(self.mlp)
        self.dense_optimizer = dense_adam(self.mlp.parameters(), rates.dense, rates.weight_decay, processes.device)
        adagrad = RowwiseAdagrad if sorting else UnsortedRowwiseAdagrad
        self.table_optimizer = adagrad([table.weight], lr=rates.table)

    def step(self, ids: Tensor, dense: Tensor, labels: Tensor, rows: int) -> Tensor:
        """One step on a batch of `rows` rows, of which the tensors are this process's stretch, on its device.

        ids (n, fields) integers, dense (n, numbers) float32, labels (n,) float32; n may be 0. Returns this process's
        part of the mean loss of the batch, (): the parts of all processes add up to it. Nothing waits for the GPU.
        """
        self.table.batch_rows = rows
        logits = self.network(ids, dense)
        share = binary_cross_entropy_with_logits(logits, labels, reduction="sum") / rows
        self.table_optimizer.zero_grad(set_to_none=True)
        self.dense_optimizer.zero_grad(set_to_none=True)
        (share * self.processes.count).backward()
        self.table_optimizer.step()
        self.dense_optimizer.step()
        return share.detach()

    def epoch(self, part: Part, batch: int, seed: int, epoch: int) -> np.ndarray:
        """Trains on every row of a part once, `batch` rows a step. (steps,) float64: the mean loss of each batch."""
        self.network.train()
        shares = [
            self.step(*self._tensors(own), rows)
            for rows, own in batches.shuffled(part, batch, seed, epoch, self.processes)
        ]
        return self.processes.whole_sum(torch.stack(shares).double()).cpu().numpy()

    @torch.no_grad()
    def predict(self, part: Part, batch: int) -> np.ndarray:
        """(rows,) float64 probabilities of all rows of a part, each predicted once, in every process."""
        self.network.eval()
        found = []
        for rows, own in batches.in_turn(part, batch, self.processes):
            ids, dense, _ = self._tensors(own)
            self.table.batch_rows = rows
            found.append(self.processes.whole(torch.sigmoid(self.network(ids, dense).double()), rows))
        return torch.cat(found).cpu().numpy()

    def _tensors(self, own: Part) -> tuple[Tensor, Tensor, Tensor]:
        to = self.processes.device
        ids = torch.from_numpy(np.array(own.ids, np.int32)).to(to)  # a copy: a memory map cannot be written
        dense = torch.from_numpy(np.array(own.dense, np.float32)).to(to)
        return ids, dense, torch.from_numpy(own.labels.astype(np.float32)).to(to)
