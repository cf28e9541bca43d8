"""The two operations on the table that a step needs, by the kernels of kernels.cu or by PyTorch.

Both give the same numbers; PyTorch's are there for a device without CUDA, and to compare with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

import gpukit

from ..errors import CtrError
from .resident import Resident

SOURCE = Path(__file__).parents[1] / "kernels.cu"
THREADS = 256  # of a block, as kernels.cu has it for the last kernel
SPAN = 8  # as in kernels.cu
LANES = (2, 4, 8, 16, 32)  # of a row of 4 numbers each
MOST = 2**31 - 1  # threads of a launch
TYPES = {torch.float32: "float", torch.bfloat16: "Bf16"}


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


class KernelOperations:
    """By the kernels of kernels.cu; who launches them is left open.

    dim: the numbers of a row. Raises CtrError for a dim that the kernels do not have.
    """

    def __init__(self, dim: int):
        self.lanes = dim // 4
        if dim % 4 or self.lanes not in LANES:
            raise CtrError(
                f"our kernels take rows of {', '.join(str(4 * lanes) for lanes in LANES)} numbers, not of {dim}"
            )
        self.names = [f"rowwise_adagrad_finish<{self.lanes}>"]
        for name in TYPES.values():
            self.names += [f"batch<{name}>", f"rowwise_adagrad<{name}, {self.lanes}>"]
        self.edges: dict[int, tuple[Tensor, Tensor]] = {}

    def batch(self, data: Resident, table: Tensor, first: Tensor, x: Tensor, y: Tensor, keys: Tensor) -> None:
        (n, fields), width = keys.shape, x.shape[1]
        pointers = (data.rows, data.dense, data.labels, table, first, x, y, keys)
        sizes = (n, fields, data.dense.shape[1], width, table.shape[1])
        self._launch(f"batch<{TYPES[x.dtype]}>", n * (width // 4), *pointers, *sizes)

    def update(
        self, keys: Tensor, order: Tensor, gradient: Tensor, table: Tensor, state: Tensor, rate: float, eps: float
    ) -> None:
        ids, (n, width) = keys.shape[0], gradient.shape
        spans = -(-ids // SPAN)
        heads, tails = self._edges(spans, table)
        pointers = (keys, order, gradient, table, state, heads, tails)
        kernel = f"rowwise_adagrad<{TYPES[gradient.dtype]}, {self.lanes}>"
        self._launch(kernel, spans * self.lanes, *pointers, ids, ids // n, width, rate, eps)
        kernel = f"rowwise_adagrad_finish<{self.lanes}>"
        self._launch(kernel, spans * self.lanes, keys, heads, tails, table, state, ids, rate, eps)

    def _edges(self, spans: int, table: Tensor) -> tuple[Tensor, Tensor]:
        """Room for the sums that reach over the edges of spans; the same in every step."""
        if spans not in self.edges:
            self.edges[spans] = (table.new_empty(spans, 4 * self.lanes), table.new_empty(spans, 4 * self.lanes))
        return self.edges[spans]

    def _launch(self, kernel: str, threads: int, *arguments: Tensor | int | float) -> None:
        """Starts so many threads, or a few more, in blocks of THREADS."""
        if threads > MOST:
            raise CtrError(f"a batch that needs {threads:,} threads is too large for one launch: use a smaller batch")
        self._start(kernel, (-(-threads // THREADS),), (THREADS,), arguments)

    def _start(
        self, kernel: str, grid: tuple[int], block: tuple[int], arguments: tuple[Tensor | int | float, ...]
    ) -> None:
        raise NotImplementedError


class CudaOperations(KernelOperations):
    """On a GPU: through CuPy, on PyTorch's current stream."""

    def __init__(self, device: torch.device, dim: int):
        super().__init__(dim)
        import cupy

        self.cupy = cupy
        with cupy.cuda.Device(device.index or 0):
            source = SOURCE.read_text(encoding="utf-8")
            module = cupy.RawModule(code=source, options=("--std=c++17",), name_expressions=self.names)
            self.kernels = {name: module.get_function(name) for name in self.names}
        self.streams: dict[int, Any] = {}

    def _start(
        self, kernel: str, grid: tuple[int], block: tuple[int], arguments: tuple[Tensor | int | float, ...]
    ) -> None:
        packed = tuple(_number(one) if isinstance(one, int | float) else np.uint64(one.data_ptr()) for one in arguments)
        self.kernels[kernel](grid, block, packed, stream=self._stream())

    def _stream(self) -> Any:
        address = torch.cuda.current_stream().cuda_stream
        if address not in self.streams:
            self.streams[address] = self.cupy.cuda.ExternalStream(address)
        return self.streams[address]


class MachineOperations(KernelOperations):
    """On gpukit's CPU machine, which is slow, counts, and finds what is wrong with a kernel."""

    def __init__(self, dim: int):
        super().__init__(dim)
        module = gpukit.RawModule(code=SOURCE.read_text(encoding="utf-8"), name_expressions=self.names)
        self.kernels = {name: module.get_function(name) for name in self.names}

    def _start(
        self, kernel: str, grid: tuple[int], block: tuple[int], arguments: tuple[Tensor | int | float, ...]
    ) -> None:
        packed = tuple(_number(one) if isinstance(one, int | float) else _array(one) for one in arguments)
        self.kernels[kernel](grid, block, packed)


def _number(value: int | float) -> np.generic:
    """As a kernel takes it: an int or a float of C++."""
    return np.int32(value) if isinstance(value, int) else np.float32(value)


def _array(tensor: Tensor) -> np.ndarray:
    """The memory of a tensor on the host; NumPy, which has no bfloat16, has its bits."""
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).detach().numpy()
