"""A part of a log, wholly on one device, as the steps read it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import CtrError
from ..model.network import Network
from ..storage.log import Part

AT_ONCE = 1 << 22  # rows that are copied, or shuffled, at a time


@dataclass(frozen=True, slots=True)
class Resident:
    """rows (n, fields) int32: ids with their field's offset added, places in the one table; dense (n, numbers)
    float32, standardised; labels (n,) float32. All contiguous, on one device."""

    rows: Tensor
    dense: Tensor
    labels: Tensor

    @property
    def size(self) -> int:
        return self.labels.shape[0]

    def batches(self, batch: int) -> int:
        """Whole batches that are in it; what is left over waits for another order."""
        return self.size // batch

    def shuffled(self, generator: torch.Generator) -> Resident:
        """A copy in an order drawn from a generator of the same device."""
        order = torch.randperm(self.size, generator=generator, device=self.labels.device)
        return Resident(self.rows[order], self.dense[order], self.labels[order])


def resident(part: Part, network: Network, device: torch.device) -> Resident:
    """A part copied to a device; offsets, mean and scale are the network's."""
    n, fields, numbers = part.rows, len(part.schema.fields), len(part.schema.dense)
    rows = torch.empty((n, fields), dtype=torch.int32, device=device)
    dense = torch.empty((n, numbers), dtype=torch.float32, device=device)
    labels = torch.empty(n, dtype=torch.float32, device=device)
    offsets = network.table.offsets.to(device, torch.int32)
    mean, scale = network.mean.to(device), network.scale.to(device)
    for first in range(0, n, AT_ONCE):
        these = slice(first, first + AT_ONCE)
        rows[these] = torch.tensor(part.ids[these]).to(device) + offsets
        dense[these] = (torch.tensor(part.dense[these]).to(device) - mean) * scale
        labels[these] = torch.tensor(part.labels[these]).to(device)
    return Resident(rows, dense, labels)


def refuse_small(rows: int, batch: int) -> None:
    """Raises CtrError where rows hold no whole batch: an epoch of none would never end."""
    if rows < batch:
        raise CtrError(f"{rows:,} impressions hold no batch of {batch:,}: use a smaller batch")
