"""A step from its switches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from ..model.network import Network
from ..storage.log import Part
from .eager import EagerStep, Rows, from_host, from_resident
from .kernel_step import KernelStep
from .loaders import ahead, copied, endless, loader, on_host
from .operations import CudaOperations, Operations, TorchOperations
from .resident import Resident, refuse_small
from .switches import Switches


class Step(Protocol):
    """Each call is one training step; `loss_sum` (scalar tensor) is the sum of their mean losses."""

    loss_sum: Tensor

    def __call__(self) -> None: ...
    def network(self) -> Network: ...


class InOrder:
    """Shuffles epochs by a seed: the same orders for every step that is made with it."""

    def __init__(self, seed: int):
        self.seed = seed

    def __call__(self, data: Resident, epoch: int) -> Resident:
        generator = torch.Generator(data.labels.device).manual_seed(self.seed * 1000 + epoch)
        return data.shuffled(generator)


def operations(device: torch.device, dim: int) -> Operations:
    """Our kernels where there is CUDA, and PyTorch's operations where there is none."""
    return CudaOperations(device, dim) if device.type == "cuda" else TorchOperations()


def make(
    switches: Switches, network: Network, part: Part, data: Resident, seed: int, by: Operations | None = None
) -> Step:
    """The step that these switches make, from the weights of `network`.

    Args:
        part: training rows for the loaders of the host. data: training rows on the device for all others.
        by: operations on the table, for steps with our kernels.

    Raises CtrError where the rows hold no whole batch.
    """
    device = data.labels.device
    if switches.optimizer == "kernels":
        return KernelStep(
            network,
            data,
            by or operations(device, network.table.dim),
            batch=switches.batch,
            shuffle=InOrder(seed),
            precision=switches.precision,
            compiled=switches.compiled,
            graph=switches.graph,
        )
    batches: Iterator[Rows]
    refuse_small(data.size if switches.loader == "resident" else part.rows, switches.batch)
    if switches.loader == "resident":
        batches = from_resident(data, switches.batch, InOrder(seed))
    else:
        from_loader = endless(loader(switches.loader, on_host(part), switches.batch))
        move = ahead if switches.loader == "prefetch" else copied
        batches = from_host(move(from_loader, device), network.to(device), device)
    return EagerStep(
        network,
        batches,
        device,
        table=switches.table,
        optimizer=switches.optimizer,
        read_loss=switches.read_loss,
    )
