"""Batches that come from the host: (ids int32 (batch, fields), dense (batch, numbers), labels (batch,)) on the device.

Source: PyTorch issues 4959 and 106704 on fetching a TensorDataset row by row; issue 113282 on `record_stream`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler, TensorDataset

from ..storage.log import Part

WORKERS = min(4, os.cpu_count() or 1)  # processes

Batch = tuple[Tensor, Tensor, Tensor]


def on_host(part: Part) -> TensorDataset:
    """A part in memory: ids int32, dense float32, labels float32."""
    return TensorDataset(torch.tensor(part.ids), torch.tensor(part.dense), torch.tensor(part.labels).float())


class _Batches(Dataset):
    """Indexed by many rows at once."""

    def __init__(self, data: TensorDataset):
        self.tensors = data.tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, rows: Tensor) -> Batch:
        return tuple(tensor[rows] for tensor in self.tensors)


class _Shuffled(Sampler):
    """The rows of whole batches, in an order that PyTorch's generator draws."""

    def __init__(self, rows: int, batch: int):
        self.rows, self.batch = rows, batch

    def __iter__(self) -> Iterator[Tensor]:
        order = torch.randperm(self.rows)
        return iter(order[: self.rows // self.batch * self.batch].split(self.batch))

    def __len__(self) -> int:
        return self.rows // self.batch


def loader(kind: str, data: TensorDataset, batch: int, workers: int = WORKERS) -> DataLoader:
    """A DataLoader of `Switches.loader`: "rows", "batches" or "prefetch", which is "batches" in pinned memory."""
    if kind == "rows":
        return DataLoader(data, batch, shuffle=True, drop_last=True)
    options: dict[str, Any] = {"sampler": _Shuffled(len(data), batch), "batch_size": None, "num_workers": workers}
    if workers:
        options["persistent_workers"] = True
    return DataLoader(_Batches(data), pin_memory=kind == "prefetch", **options)


def endless(batches: DataLoader) -> Iterator[Batch]:
    """Epoch after epoch."""
    while True:
        yield from batches


def copied(batches: Iterator[Batch], device: torch.device) -> Iterator[Batch]:
    """Each batch copied when it is asked for, which waits for the copy."""
    for batch in batches:
        yield tuple(tensor.to(device) for tensor in batch)


def ahead(batches: Iterator[Batch], device: torch.device) -> Iterator[Batch]:
    """Each batch copied while the one before is used: pinned memory, and a stream of its own."""
    stream = torch.cuda.Stream(device)

    def copy() -> Batch:
        batch = next(batches)
        with torch.cuda.stream(stream):
            return tuple(tensor.to(device, non_blocking=True) for tensor in batch)

    coming = copy()
    while True:
        using = torch.cuda.current_stream(device)
        using.wait_stream(stream)
        batch = coming
        for tensor in batch:
            tensor.record_stream(using)  # its memory stays until it is read
        coming = copy()
        yield batch
