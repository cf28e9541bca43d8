"""The switches of a training step, and the ladder that turns them one at a time."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from ..errors import CtrError

LOADERS = ("rows", "batches", "prefetch", "resident")
TABLES = ("fields", "one")
OPTIMIZERS = ("dense", "fused", "rowwise", "kernels")
PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True, slots=True)
class Switches:
    """How a step is made.

    loader: "rows", a DataLoader that fetches impression by impression; "batches", one that fetches a batch at once, in
        worker processes; "prefetch", that with pinned memory and copies on a stream of their own; "resident", all data
        on the GPU.
    read_loss: `loss.item()` after every step, for which the host waits.
    table: "fields", an embedding module a field; "one", all in one weight.
    optimizer: of the table: "dense", Adam over all of its rows; "fused", the same in one kernel; "rowwise", row-wise
        Adagrad in PyTorch on a sparse gradient; "kernels", the same with the kernels of kernels.cu.
    precision: of the dense network's matrix products; its weights and the table stay float32.
    compiled: the network and its backward pass by torch.compile. graph: the whole step as one CUDA graph.
    """

    batch: int = 8192
    loader: str = "rows"
    read_loss: bool = True
    table: str = "fields"
    optimizer: str = "dense"
    precision: str = "float32"
    compiled: bool = False
    graph: bool = False

    def __post_init__(self) -> None:
        for name, known in (
            ("loader", LOADERS),
            ("table", TABLES),
            ("optimizer", OPTIMIZERS),
            ("precision", PRECISIONS),
        ):
            if getattr(self, name) not in known:
                raise CtrError(f"the switch {name} is {getattr(self, name)!r}: it can be {', '.join(known)}")
        if self.batch < 1:
            raise CtrError(f"a batch of {self.batch} impressions is none")
        if self.optimizer == "kernels" and (self.loader != "resident" or self.table != "one"):
            raise CtrError("our own kernels need resident data and one table: they read both where they lie")
        if (self.graph or self.compiled or self.precision == "bfloat16") and self.optimizer != "kernels":
            raise CtrError(
                "bfloat16, torch.compile and CUDA graphs stand on our own kernels: the ladder has that order"
            )
        if self.graph and self.read_loss:
            raise CtrError("a CUDA graph holds no read of the loss: the host takes no part in it")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Rung:
    """One switch more than the rung before: its name, what is changed, and why that should help."""

    name: str
    change: str
    why: str
    switches: Switches


def ladder(batch: int, large: int) -> tuple[Rung, ...]:
    """The rungs in order, at one batch; the last one is at a `large` batch."""
    rungs: list[Rung] = []
    now = Switches(batch=batch)

    def turn(name: str, change: str, why: str, **switches: Any) -> None:
        nonlocal now
        now = replace(now, **switches)
        rungs.append(Rung(name, change, why, now))

    turn("rows", "DataLoader, row by row", "Python indexes every impression; the GPU waits for it")
    turn(
        "batches",
        "whole batches, workers",
        "one index a batch instead of one an impression; other processes do it",
        loader="batches",
    )
    turn(
        "prefetch",
        "pinned, copied ahead",
        "copies from pinned memory on a stream of their own overlap with the step before",
        loader="prefetch",
    )
    turn(
        "resident",
        "data on the GPU",
        "no copy at all: 80 bytes an impression fit by the hundred million",
        loader="resident",
    )
    turn(
        "no_reads", "no loss.item()", "each read waits until the queue is empty, and then it is empty", read_loss=False
    )
    turn("one_table", "one table", "one gather and one scatter for all fields, not one each", table="one")
    turn(
        "fused",
        "fused dense Adam",
        "Adam reads and writes the whole table once instead of once an operation",
        optimizer="fused",
    )
    turn(
        "rowwise",
        "row-wise update",
        "only rows of the batch are touched, not all 11 million of them",
        optimizer="rowwise",
    )
    turn(
        "kernels",
        "own kernels",
        "gather, concatenation and update in three launches and a sort; nothing waits for the host",
        optimizer="kernels",
    )
    turn(
        "bfloat16",
        "bfloat16 MLP",
        "matrix products on tensor cores; half the bytes of activations",
        precision="bfloat16",
    )
    turn(
        "compiled", "torch.compile", "bias, ReLU and their backward fused: fewer launches, fewer passes", compiled=True
    )
    turn("graph", "CUDA graph", "one launch a step, where the host had to make dozens", graph=True)
    turn(
        "large",
        f"batch {large:,}",
        "the same launches for more impressions; the quality is looked at again",
        batch=large,
    )
    return tuple(rungs)


def turned_back(batch: int) -> tuple[Rung, ...]:
    """The rung "graph", the last at this batch, with one earlier switch turned back: what that one is worth there.

    On its own rung a switch may seem to cost time, since the launches that it adds are what the step waits for.
    """
    last = next(rung.switches for rung in ladder(batch, batch) if rung.name == "graph")
    return (
        Rung(
            "no_bfloat16",
            "float32 MLP again",
            "without launches to wait for, the network's arithmetic and activations count",
            replace(last, precision="float32"),
        ),
        Rung(
            "no_compile",
            "no torch.compile",
            "a graph makes launches cheap, and no pass over activations shorter",
            replace(last, compiled=False),
        ),
    )
