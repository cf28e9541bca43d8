"""The two operations on the table that a step needs, by the kernels of kernels.cu or by PyTorch.

Both give the same numbers; PyTorch's are there for a device without CUDA, and to compare with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from .resident import Resident

SOURCE = Path(__file__).parents[1] / "kernels.cu"
THREADS = 256  # of a block
WARP, SPAN = 32, 16  # as in kernels.cu


class Operations(Protocol):
    """Writes into tensors that are there already, and never waits for the host."""

    def batch(self, data: Resident, table: Tensor, first: Tensor, x: Tensor, y: Tensor, keys: Tensor) -> None:
        """The batch of `y.shape[0]` impressions from first[0] on: x (n, width) is embeddings, numbers and zeros; y
        (n,) labels; keys (n, fields) int32 places in the table."""

    def update(
        self, keys: Tensor, order: Tensor, gradient: Tensor, table: Tensor, state: Tensor, rate: float, eps: float
    ) -> None:
        """Row-wise Adagrad: keys (n * fields,) sorted, order (n * fields,) int64 where each was; gradient (n, width) of
        x; state (rows,) float32."""


class TorchOperations:
    """By PyTorch, on any device."""

    def batch(self, data: Resident, table: Tensor, first: Tensor, x: Tensor, y: Tensor, keys: Tensor) -> None:
        n, fields = keys.shape
        these = slice(int(first), int(first) + n)
        inside = fields * table.shape[1]
        numbers = data.dense.shape[1]
        keys.copy_(data.rows[these])
        y.copy_(data.labels[these])
        with torch.no_grad():
            x.zero_()
            x[:, :inside] = table[keys.long().flatten()].view(n, inside).to(x.dtype)
            x[:, inside : inside + numbers] = data.dense[these].to(x.dtype)

    def update(
        self, keys: Tensor, order: Tensor, gradient: Tensor, table: Tensor, state: Tensor, rate: float, eps: float
    ) -> None:
        dim = table.shape[1]
        n = gradient.shape[0]
        fields = keys.shape[0] // n
        each = gradient[:, : fields * dim].float().reshape(-1, dim)[order]
        rows, place = torch.unique_consecutive(keys.long(), return_inverse=True)
        sums = torch.zeros(len(rows), dim, device=table.device).index_add_(0, place, each)
        total = state[rows] + sums.square().mean(1)
        state[rows] = total
        table[rows] -= rate * sums / (total.sqrt() + eps)[:, None]


class CudaOperations:
    """By the kernels of kernels.cu, through CuPy, on PyTorch's current stream."""

    def __init__(self, device: torch.device):
        import cupy

        self.cupy = cupy
        types = {torch.float32: "float", torch.bfloat16: "Bf16"}
        names = [f"{kernel}<{name}>" for kernel in ("batch", "rowwise_adagrad") for name in types.values()]
        with cupy.cuda.Device(device.index or 0):
            module = cupy.RawModule(
                code=SOURCE.read_text(encoding="utf-8"),
                options=("--std=c++17",),
                name_expressions=names,
            )
            self.kernels = {name: module.get_function(name) for name in (*names, "rowwise_adagrad_finish")}
        self.types = types
        self.streams: dict[int, Any] = {}
        self.edges: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def batch(self, data: Resident, table: Tensor, first: Tensor, x: Tensor, y: Tensor, keys: Tensor) -> None:
        (n, fields), width = keys.shape, x.shape[1]
        pointers = (data.rows, data.dense, data.labels, table, first, x, y, keys)
        self._launch(
            f"batch<{self.types[x.dtype]}>",
            n * (width // 4),
            pointers,
            n,
            fields,
            data.dense.shape[1],
            width,
            table.shape[1],
        )

    def update(
        self, keys: Tensor, order: Tensor, gradient: Tensor, table: Tensor, state: Tensor, rate: float, eps: float
    ) -> None:
        ids, dim, width = keys.shape[0], table.shape[1], gradient.shape[1]
        fields, spans = ids // gradient.shape[0], -(-ids // SPAN)
        heads, tails = self._edges(spans, dim, table.device)
        rates = (np.float32(rate), np.float32(eps))
        pointers = (keys, order, gradient, table, state, heads, tails)
        kernel = f"rowwise_adagrad<{self.types[gradient.dtype]}>"
        self._launch(kernel, spans * WARP, pointers, ids, fields, width, dim, *rates)
        finish = (keys, heads, tails, table, state)
        self._launch("rowwise_adagrad_finish", spans * WARP, finish, ids, dim, *rates)

    def _edges(self, spans: int, dim: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Room for the sums that reach over the edges of spans; the same in every step."""
        if (spans, dim) not in self.edges:
            self.edges[spans, dim] = (
                torch.empty(spans, dim, device=device),
                torch.empty(spans, dim, device=device),
            )
        return self.edges[spans, dim]

    def _launch(self, kernel: str, threads: int, tensors: tuple[Tensor, ...], *numbers: Any) -> None:
        pointers = [np.uint64(tensor.data_ptr()) for tensor in tensors]
        sizes = [np.int32(number) if isinstance(number, int) else number for number in numbers]
        arguments = (*pointers, *sizes)
        self.kernels[kernel]((-(-threads // THREADS),), (THREADS,), arguments, stream=self._stream())

    def _stream(self) -> Any:
        address = torch.cuda.current_stream().cuda_stream
        if address not in self.streams:
            self.streams[address] = self.cupy.cuda.ExternalStream(address)
        return self.streams[address]
