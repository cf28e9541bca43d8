"""The step with our own kernels: nothing in it waits for the host, so that all of it can be one CUDA graph.

    batch        embeddings, numbers and labels of the batch, in one launch
    sort         the batch's rows in order, on a stream of its own beside the network
    network      matrix products by PyTorch, forward and backward
    update       the sorted rows stepped by row-wise Adagrad: two launches, no atomics
    Adam         the network's weights, in one launch, beside the update

Source: PyTorch issue 82886 on why `nn.Embedding` cannot be captured above 3,072 indices; the documentation of
torch.cuda.graph on warming up, and on static memory.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..errors import CtrError
from ..model.network import Network
from .eager import EPS, RATE, RATE_OF_TABLE, learned
from .operations import Operations
from .resident import Resident, refuse_small

ALIGNED = 16  # numbers: the width of the network's input is a multiple, for the matrix products' sake
WARM_UP = 11  # steps before a capture: PyTorch allocates and CuPy loads in the first ones

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Mlp(nn.Module):
    """The network of `Network`, on an input that is padded with zeros. Weights are float32; all products but the last
    layer's are made in the input's type."""

    def __init__(self, mlp: nn.Sequential, width: int, compiled: bool = False):
        super().__init__()
        self.compiled = compiled
        layers = [layer for layer in mlp if isinstance(layer, nn.Linear)]
        if len(layers) < 2 or any(isinstance(layer, nn.Dropout) for layer in mlp):
            raise CtrError("the fast step knows networks of linear layers with a ReLU between, without dropout")
        self.weights = nn.ParameterList(nn.Parameter(layer.weight.detach().clone()) for layer in layers)
        self.biases = nn.ParameterList(nn.Parameter(layer.bias.detach().clone()) for layer in layers)
        self.inside = layers[0].in_features
        padded = torch.zeros(layers[0].out_features, width, device=self.weights[0].device)
        padded[:, : self.inside] = self.weights[0].detach()
        self.weights[0] = nn.Parameter(padded)

    def forward(self, x: Tensor) -> Tensor:
        """(n, width) to logits (n,) float32."""
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            x = nn.functional.relu(nn.functional.linear(x, weight.to(x.dtype), bias.to(x.dtype)))
        weight, bias = last
        if self.compiled:  # as a sum it is fused with its neighbours; a matrix product with one column is not
            return (x.float() * weight).sum(1) + bias
        return nn.functional.linear(x.float(), weight, bias).squeeze(1)

    @torch.no_grad()
    def write_to(self, mlp: nn.Sequential) -> None:
        """The weights, into the layers that this was made of."""
        layers = [layer for layer in mlp if isinstance(layer, nn.Linear)]
        for layer, weight, bias in zip(layers, self.weights, self.biases, strict=True):
            layer.weight.copy_(weight[:, : layer.in_features])
            layer.bias.copy_(bias)


class KernelStep:
    """One training step on resident data, in the order of its rows.

    Args:
        network: where training starts: it is copied to the data's device, and stays what it is.
        data: of at least one whole batch.
        shuffle: (data, epoch) -> the data of this epoch.
        precision, compiled, graph, batch: as of `Switches`.
    """

    def __init__(
        self,
        network: Network,
        data: Resident,
        operations: Operations,
        *,
        batch: int,
        shuffle: Callable[[Resident, int], Resident],
        precision: str = "float32",
        compiled: bool = False,
        graph: bool = False,
    ):
        refuse_small(data.size, batch)
        device = data.labels.device
        fields, numbers = data.rows.shape[1], data.dense.shape[1]
        self.start = copy.deepcopy(network).to(device)
        self.table = self.start.table.weight.detach()
        dim = self.table.shape[1]
        width = -(-(fields * dim + numbers) // ALIGNED) * ALIGNED
        self.operations, self.shuffle, self.batch = operations, shuffle, batch
        self.original, self.data, self.epoch = data, shuffle(data, 0), 0
        self.mlp = Mlp(self.start.mlp, width, compiled)
        self.adam = torch.optim.Adam(
            self.mlp.parameters(), RATE, fused=device.type == "cuda", capturable=device.type == "cuda"
        )
        self.state = torch.zeros(self.table.shape[0], device=device)
        self.x = torch.zeros(batch, width, dtype=PRECISIONS[precision], device=device, requires_grad=True)
        self.y = torch.empty(batch, device=device)
        self.keys = torch.empty(batch, fields, dtype=torch.int32, device=device)
        self.first = torch.zeros(1, dtype=torch.int64, device=device)
        self.loss_sum = torch.zeros((), device=device)
        self.loss = torch.compile(self._loss, dynamic=False, fullgraph=True) if compiled else self._loss
        self.beside = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.wants_graph, self.replay = graph, None
        self.done = 0  # steps of this epoch

    def __call__(self) -> None:
        if self.done == self.data.batches(self.batch):
            self._next_epoch()
        if self.wants_graph and self.replay is None and self._steps >= WARM_UP:
            self._capture()
        if self.replay is None:
            self._step()
        else:
            self.replay()
        self.done += 1

    @property
    def _steps(self) -> int:
        return self.epoch * self.data.batches(self.batch) + self.done

    def _next_epoch(self) -> None:
        """The captured graph reads the data where they lay, so the new order is copied there."""
        self.epoch, self.done = self.epoch + 1, 0
        order = self.shuffle(self.original, self.epoch)
        for old, new in (
            (self.data.rows, order.rows),
            (self.data.dense, order.dense),
            (self.data.labels, order.labels),
        ):
            old.copy_(new)
        self.first.zero_()

    def _step(self) -> None:
        self.operations.batch(self.data, self.table, self.first, self.x, self.y, self.keys)
        keys, order = self._sorted()
        self.x.grad = None
        self.adam.zero_grad(set_to_none=True)
        loss = self.loss(self.x, self.y)
        loss.backward()
        self._join()
        self._fork()
        with torch.cuda.stream(self.beside):  # a few blocks for a long time: beside the update it costs nothing
            self.adam.step()
        self.operations.update(keys, order, self.x.grad, self.table, self.state, RATE_OF_TABLE, EPS)
        self._join()
        self.first += self.batch
        self.loss_sum += loss.detach()

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.binary_cross_entropy_with_logits(self.mlp(x), y)

    def _sorted(self) -> tuple[Tensor, Tensor]:
        """The batch's keys in order, equal ones as they came, and where each was; ready after `_join`."""
        self._fork()
        with torch.cuda.stream(self.beside):
            # Kept until the next step: memory of this stream, which the update reads on the other.
            self.in_order = torch.sort(self.keys.flatten(), stable=True)
        return self.in_order

    def _fork(self) -> None:
        """What is put on the stream beside from here on waits for all that was put on this one."""
        if self.beside is not None:
            self.beside.wait_stream(torch.cuda.current_stream())

    def _join(self) -> None:
        """What is put on this stream from here on waits for all that was put on the one beside."""
        if self.beside is not None:
            torch.cuda.current_stream().wait_stream(self.beside)

    def _capture(self) -> None:
        """Records the step without running it. Its memory is the graph's own from here on."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            self._step()
        self.graph, self.replay = graph, graph.replay

    def network(self) -> Network:
        """What was learned so far."""
        self.mlp.write_to(self.start.mlp)
        return learned(self.start, self.table)
