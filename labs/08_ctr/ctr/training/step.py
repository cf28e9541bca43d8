"""One step: logits, loss, gradients, both optimizers. What the loop knows of a model is this."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from ..guards import check_loss_shape
from ..model.network import Network
from ..model.optimizers import RowwiseAdagrad, dense_adam
from ..model.table import replace_noise
from .batches import Batch
from .settings import Settings


class Step:
    """Trains `model` (ids, dense) -> logits. In several processes each makes one, with its `rank` of `world`, and
    overrides `total`; its gradients are then means over all of them.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizers: dict[str, torch.optim.Optimizer],
        device: torch.device,
        rank: int = 0,
        world: int = 1,
    ):
        self.model = model
        self.optimizers = optimizers
        self.device = device
        self.rank = rank
        self.world = world

    def __call__(self, batch: Batch) -> Tensor:
        """The sum of the losses of this process's rows, a number on the device; nothing waits for it."""
        self.model.train()
        for optimizer in self.optimizers.values():
            optimizer.zero_grad(set_to_none=True)
        logits = self.model(batch.ids, batch.dense)
        check_loss_shape(logits, batch.labels)
        loss = binary_cross_entropy_with_logits(logits, batch.labels)
        loss.backward()
        for optimizer in self.optimizers.values():
            optimizer.step()
        return loss.detach() * len(batch.labels)

    @torch.no_grad()
    def logits(self, batch: Batch) -> Tensor:
        """(n,) as inference makes them."""
        self.model.eval()
        return self.model(batch.ids, batch.dense)

    def total(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        return tensor

    def divide_rates(self, by: float) -> None:
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] /= by

    def rates(self) -> dict[str, float]:
        return {name: optimizer.param_groups[0]["lr"] for name, optimizer in self.optimizers.items()}

    def weights(self) -> dict[str, Tensor]:
        """A copy on the host."""
        return {name: tensor.detach().to("cpu", copy=True) for name, tensor in self.model.state_dict().items()}

    def set_weights(self, weights: dict[str, Tensor]) -> None:
        self.model.load_state_dict(weights)

    def sums(self, weight: Tensor) -> Tensor:
        """What `RowwiseAdagrad` keeps of a table, 0 for a row that no step has moved."""
        optimizer = self.optimizers["table"]
        assert isinstance(optimizer, RowwiseAdagrad)
        return optimizer.sums(weight)

    def replace_noise(self) -> None:
        """As `model.table.replace_noise`, for the whole table: training is over."""
        table = self.model.table
        replace_noise(table.weight, self.sums(table.weight), table.offsets)

    def state(self) -> dict[str, Any]:
        """All that `load_state` needs to go on, without copies: to be saved at once."""
        return {
            "model": self.model.state_dict(),
            "optimizers": {name: optimizer.state_dict() for name, optimizer in self.optimizers.items()},
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(state["optimizers"][name])


def step_of(network: Network, settings: Settings, device: torch.device) -> Step:
    """The step of one process: row-wise Adagrad for the table, Adam for the rest."""
    network.to(device)
    optimizers = {
        "table": RowwiseAdagrad([network.table.weight], settings.table_rate),
        "dense": dense_adam(network.dense_parameters(), settings.dense_rate, settings.weight_decay, device),
    }
    return Step(network, optimizers, device)
