"""One embedding table of all fields, of which each process holds a stretch of rows.

A lookup: the ids of the whole batch go to every process (all-gather); each writes the embeddings that lie in its rows
and zeros elsewhere; the sum over processes is the embeddings of all samples, and each process needs those of its own
samples alone (reduce-scatter). Backward, the gradients go to every process (all-gather), and each keeps those of its
rows: a sparse gradient, and the optimizer never speaks to another process.

Rows do not lie in their order. Popular ids are often neighbours (sorted vocabularies, log-uniform ids), so a stretch of
neighbours would leave most of the work to one process: with log-uniform ids of the six fields of world.FACTS,
stretches of the plain order give one of two processes 84% of the lookups. The row r lies at r * step mod rows instead,
with a step near the golden section of rows, which spreads neighbours evenly. This place depends on the number of rows
alone, not on the number of processes, so a checkpoint fits any number of them.

Source: Fibonacci hashing, D. E. Knuth, The Art of Computer Programming 3, 6.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from ..errors import CtrError
from ..model.table import replace_noise
from .processes import Processes

_GOLDEN = (math.sqrt(5) - 1) / 2
_MOST_ROWS = 1 << 31  # their square times the golden section is an int64


@dataclass(frozen=True, slots=True)
class Spread:
    """Where each row of the table lies: a bijection of 0 to rows - 1 onto itself."""

    rows: int
    step: int

    @classmethod
    def of(cls, rows: int) -> Spread:
        if rows > _MOST_ROWS:
            raise CtrError(f"a sharded table has at most {_MOST_ROWS:,} rows, and this one {rows:,}: use fewer ids")
        step = max(1, round(rows * _GOLDEN))
        while math.gcd(step, rows) != 1:
            step += 1
        return cls(rows, step)

    def places(self, rows: Tensor) -> Tensor:
        """int64 rows of the table to where they lie, the same shape."""
        return rows * self.step % self.rows

    def rows_at(self, places: Tensor) -> Tensor:
        """The inverse of `places`."""
        return places * pow(self.step, -1, self.rows) % self.rows


@dataclass(frozen=True, slots=True)
class Route:
    """The lookups of a batch that are this process's.

    lookups (n,) int64: which of the batch's `rows * fields` lookups; own_rows (n,) int64: the row of the own stretch
    that each reads. With a fixed capacity what is left over has lookup `total`, a row that belongs to none.
    """

    lookups: Tensor
    own_rows: Tensor
    total: int
    padded: bool


class ShardedTable(nn.Module):
    """The rows of some fields, or of all: stands in for `model.table.Table` in a network.

    weight (own rows, dim) float32: this process's stretch. offsets (fields,) int64.
    `exchange`: the dtype in which embeddings and gradients travel; float32 adds nothing to rounding, since all but one
    of the summands are zero, and bfloat16 halves the bytes.
    `capacity`: how many lookups of a batch can be this process's. None counts them, which waits for the GPU once a
    step; a number makes all shapes known, as a CUDA graph needs. More than it raise CtrError in `check_capacity`.
    """

    weight: nn.Parameter
    offsets: Tensor
    most_lookups: Tensor

    def __init__(
        self,
        own: Tensor,
        offsets: Tensor,
        rows: int,
        processes: Processes,
        exchange: torch.dtype = torch.float32,
        capacity: int | None = None,
    ):
        super().__init__()
        if processes.count > rows:
            raise CtrError(
                f"{processes.count} processes cannot share a table of {rows} rows: start no more processes than rows"
            )
        self.processes = processes
        self.spread = Spread.of(rows)
        self.dim = own.shape[1]
        self.exchange = exchange
        self.capacity = capacity
        self.weight = nn.Parameter(own)
        torch.sparse.check_sparse_tensor_invariants.disable()  # they are off in any case; unsaid, PyTorch 2.11 warns
        self.register_buffer("offsets", offsets.to(own.device), persistent=False)
        self.register_buffer("most_lookups", torch.zeros((), dtype=torch.int64, device=own.device), persistent=False)

    @classmethod
    def of(
        cls, whole: Tensor, offsets: Tensor, processes: Processes, exchange: torch.dtype = torch.float32
    ) -> ShardedTable:
        """This process's stretch of a whole table (rows, dim) that every process has drawn from the same seed."""
        rows = len(whole)
        stretch = processes.stretch(rows)
        which = Spread.of(rows).rows_at(torch.arange(stretch.start, stretch.stop))
        own = whole[which.to(whole.device)].to(processes.device)
        return cls(own, offsets, rows, processes, exchange)

    @property
    def rows(self) -> int:
        """Of the whole table."""
        return self.spread.rows

    def forward(self, ids: Tensor) -> Tensor:
        """(n, fields) integers to (n, fields * dim) float32, of this process's samples.

        A collective: all processes call it together, with the same n.
        """
        rows = len(ids) * self.processes.count
        route = self.route(self.processes.whole(ids, rows))
        return _Lookup.apply(self.weight, route, rows, self.processes, self.exchange)

    @torch.no_grad()
    def route(self, ids: Tensor) -> Route:
        """(rows, fields) integers of the whole batch to what of it is this process's."""
        stretch = self.processes.stretch(self.rows)
        own_rows = (self.spread.places(ids.long() + self.offsets) - stretch.start).view(-1)
        here = (own_rows >= 0) & (own_rows < stretch.stop - stretch.start)
        total = own_rows.numel()
        if self.capacity is None:
            lookups = here.nonzero().squeeze(1)
            return Route(lookups, own_rows[lookups], total, padded=False)
        nth = here.cumsum(0)
        self.most_lookups.copy_(torch.maximum(self.most_lookups, nth[-1]))
        slot = torch.where(here & (nth <= self.capacity), nth - 1, self.capacity)
        lookups = own_rows.new_full((self.capacity + 1,), total)
        lookups = lookups.index_copy_(0, slot, torch.arange(total, device=ids.device))[:-1]
        used = torch.arange(self.capacity, device=ids.device) < nth[-1]
        lookups = torch.where(used, lookups, total)
        # What is left over reads rows far apart, since its gradients, all zero, are added to them.
        spare = torch.arange(self.capacity, device=ids.device) % len(self.weight)
        own_rows = torch.where(used, own_rows[lookups.clamp(max=total - 1)], spare)
        return Route(lookups, own_rows, total, padded=True)

    def check_capacity(self) -> None:
        """Raises CtrError if a batch had more lookups here than `capacity`, and some were lost. Waits for the GPU."""
        most = int(self.most_lookups)
        if self.capacity is not None and most > self.capacity:
            raise CtrError(
                f"process {self.processes.rank} had {most:,} lookups of one batch in its rows and room for "
                f"{self.capacity:,}: give it more, or let it count them"
            )

    @torch.no_grad()
    def replace_noise(self, sums: Tensor) -> None:
        """As `model.table.replace_noise`, with this process's sums (own rows,): a collective, of `fields` rows."""
        stretch = self.processes.stretch(self.rows)
        places = self.spread.places(self.offsets) - stretch.start
        here = (places >= 0) & (places < stretch.stop - stretch.start)
        unknown = self.weight.new_zeros(len(places), self.dim)
        unknown[here] = self.weight[places[here]]
        rows = self.spread.rows_at(torch.arange(stretch.start, stretch.stop, device=sums.device))
        replace_noise(self.weight, sums, self.offsets, rows, self.processes.whole_sum(unknown))

    def whole_weight(self) -> Tensor:
        """(rows, dim) float32 on the host, in the order of rows, in every process: a collective."""
        whole = self.processes.whole(self.weight.detach(), self.rows).cpu()
        return whole[self.spread.places(torch.arange(self.rows))]

    def dtensor(self, own: Tensor) -> DTensor:
        """(own rows, ...) as a DTensor of the whole: in the order of places, the same for any number of processes."""
        return self.processes.sharded(own, self.rows)


class _Lookup(torch.autograd.Function):
    """The exchange of embeddings, and of their gradients.

    Written out, since the backward of a redistributed DTensor would add up a gradient of the whole table's shape.
    """

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, route: Route, rows: int, processes: Processes, exchange: torch.dtype
    ) -> Tensor:
        ctx.route, ctx.processes, ctx.exchange = route, processes, exchange
        ctx.rows, ctx.shape = rows, weight.shape
        dim = weight.shape[1]
        partial = weight.new_zeros((route.total + 1, dim), dtype=exchange)  # one more, for what belongs to none
        partial.index_copy_(0, route.lookups, weight.detach().index_select(0, route.own_rows).to(exchange))
        width = route.total // rows * dim
        return processes.own_sum(partial[:-1].view(rows, width)).to(weight.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None, None]:
        route: Route = ctx.route
        whole = ctx.processes.whole(gradient.to(ctx.exchange), ctx.rows).view(route.total, -1)
        if route.padded:
            values = whole.index_select(0, route.lookups.clamp(max=route.total - 1)).float()
            values.masked_fill_((route.lookups == route.total)[:, None], 0)
        else:
            values = whole.index_select(0, route.lookups).float()
        # Each process has the mean loss of its own samples. Of the dense gradients DistributedDataParallel takes the
        # mean over processes; of these the sum came together.
        values /= ctx.processes.count
        sparse = torch.sparse_coo_tensor(route.own_rows[None], values, ctx.shape, check_invariants=False)
        return sparse, None, None, None, None
