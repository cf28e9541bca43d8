"""Rows of a log to tensors: shuffled batches for training, stretches of rows for evaluation.

What a batch holds depends on (seed, epoch, number of the batch) alone, so a run that goes on in the middle of an epoch
needs no state of a generator, and several processes share the batches of one: each takes its slice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..errors import CtrError
from ..model.table import with_unknown
from ..storage.log import Part


@dataclass(frozen=True, slots=True)
class Batch:
    """ids (n, fields) int32, dense (n, numbers) float32, labels (n,) float32, on one device."""

    ids: Tensor
    dense: Tensor
    labels: Tensor


@dataclass(frozen=True)
class Batches:
    """Shuffled batches of `size` rows in all processes together; the rows left over by an epoch wait for another.

    The permutation of an epoch needs 8 bytes a row. Raises CtrError where a batch has more rows than the part, or
    cannot be shared by `world` processes.
    """

    part: Part
    size: int
    seed: int
    unknown: float  # the share of ids that are hidden
    device: torch.device
    rank: int = 0
    world: int = 1

    def __post_init__(self) -> None:
        if self.size < 1:
            raise CtrError(f"a batch of {self.size} rows is none: give 1 or more")
        if self.part.rows < self.size:
            raise CtrError(
                f"a batch of {self.size:,} rows cannot be made of {self.part.rows:,}: take a smaller one (--batch)"
            )
        if self.size % self.world:
            raise CtrError(f"a batch of {self.size:,} rows cannot be shared by {self.world} processes: give a multiple")

    @property
    def steps(self) -> int:
        """Batches of an epoch."""
        return self.part.rows // self.size

    def epoch(self, epoch: int, first: int = 0) -> Iterator[Batch]:
        """The batches of an epoch from number `first` on."""
        order = np.random.default_rng([self.seed, epoch]).permutation(self.part.rows)
        share = self.size // self.world
        mine = slice(self.rank * share, (self.rank + 1) * share)
        for step in range(first, self.steps):
            rows = np.sort(order[step * self.size : (step + 1) * self.size])[mine]  # in the order of the file
            batch = _tensors(self.part, rows)
            ids = with_unknown(batch.ids, self._draws(epoch, step)[mine], self.unknown)
            yield _to(Batch(ids, batch.dense, batch.labels), self.device)

    def _draws(self, epoch: int, step: int) -> Tensor:
        seed = np.random.SeedSequence([self.seed, epoch, step]).generate_state(1, np.uint64)[0]
        generator = torch.Generator().manual_seed(int(seed >> np.uint64(1)))
        return torch.rand((self.size, len(self.part.schema.fields)), generator=generator)


def stretches(
    part: Part, size: int, device: torch.device, rank: int = 0, world: int = 1
) -> Iterator[tuple[slice, Batch]]:
    """All rows in their order, `size` at a time in all processes together: this one's rows of the part, and the batch.

    Every process gets as many, the last of them perhaps without a row.
    """
    share = -(-size // world)
    for first in range(0, part.rows, share * world):
        mine = slice(*(min(first + share * (rank + k), part.rows) for k in (0, 1)))
        yield mine, _to(_tensors(part, mine), device)


def _tensors(part: Part, rows: np.ndarray | slice) -> Batch:
    ids, dense, labels = (np.array(column[rows]) for column in (part.ids, part.dense, part.labels))
    return Batch(torch.from_numpy(ids), torch.from_numpy(dense), torch.from_numpy(labels.astype(np.float32)))


def _to(batch: Batch, device: torch.device) -> Batch:
    return Batch(*(tensor.to(device) for tensor in (batch.ids, batch.dense, batch.labels)))
