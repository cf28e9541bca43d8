"""The training step of one of several processes, for the loop of `training`.

The dense network is DistributedDataParallel's: each process has all of it, and its gradients are means over processes.
The table is a `SplitTable`: the gradients of sharded rows stay where the rows are.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..model.network import Network
from ..model.optimizers import RowwiseAdagrad, dense_adam
from ..model.table import replace_noise
from ..training.batches import Batch
from ..training.settings import Settings
from ..training.step import Step
from .processes import Processes
from .split import SplitTable
from .update import UnsortedRowwiseAdagrad


class ShardedStep(Step):
    """As `Step`, of which each process calls everything together with the others.

    `network` is drawn from the same seed in every process, and gives its parts: `table` takes the place of its own,
    and its dense network is moved to the process's device and wrapped.
    """

    def __init__(self, network: Network, table: SplitTable, settings: Settings, processes: Processes):
        self.processes = processes
        self.table = table
        network.table = self.table
        network.to(processes.device)
        self.mlp: nn.Module = network.mlp  # without the wrapper
        network.mlp = DistributedDataParallel(self.mlp)
        # Sorting fixes the order of sums, and nothing else is gained by it.
        adagrad = RowwiseAdagrad if settings.deterministic else UnsortedRowwiseAdagrad
        optimizers = {
            "table": adagrad(self.table.parameters(), settings.table_rate),
            "dense": dense_adam(self.mlp.parameters(), settings.dense_rate, settings.weight_decay, processes.device),
        }
        super().__init__(network, optimizers, processes.device, processes.rank, processes.count)
        self.network = network

    @torch.no_grad()
    def logits(self, batch: Batch) -> Tensor:
        """(n,) as inference makes them; the processes may have different n, and some of them none."""
        self.model.eval()
        n = len(batch.labels)
        missing = self.processes.most(n) - n
        ids, dense = (nn.functional.pad(tensor, (0, 0, 0, missing)) for tensor in (batch.ids, batch.dense))
        return self.model(ids, dense)[:n]

    def total(self, tensor: Tensor) -> Tensor:
        return self.processes.whole_sum(tensor.reshape(-1)).view(tensor.shape)

    def replace_noise(self) -> None:
        """A collective."""
        sharded, replicated = self.table.sharded, self.table.replicated
        sharded.replace_noise(self.sums(sharded.weight))
        if replicated is not None:
            table = replicated.module
            replace_noise(table.weight, self.sums(table.weight), table.offsets)

    def whole_network(self, dim: int, hidden: tuple[int, ...], dropout: float) -> Network:
        """What was learned, as a network for one process on the host, with the whole table: in every process."""
        whole = Network(self.network.schema, dim, hidden, dropout)
        state = {f"mlp.{name}": value for name, value in self.mlp.state_dict().items()}
        state |= dict(self.network.named_buffers(recurse=False))
        whole.load_state_dict({**state, "table.weight": self.table.whole_weight()})
        return whole.eval()
