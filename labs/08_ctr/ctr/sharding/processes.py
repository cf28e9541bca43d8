"""The processes that torchrun started: who they are, and the two exchanges between them.

Both exchanges are redistributions of a DTensor, so the transport is PyTorch's: gloo between CPUs, NCCL between GPUs.

Source: torch.distributed.tensor (DTensor, its placements Shard, Replicate and Partial) and torchrun's environment
variables, in PyTorch's documentation.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard

from gpukit.errors import GpukitError

from ..errors import CtrError

ENVIRONMENT = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
TIMEOUT_S = 120.0  # how long one process waits for the others before it gives up
# What gloo, which has no exception of its own, says where another process is gone or late.
_LOST = ("gloo", "Connection closed", "Connection reset", "Broken pipe", "Timed out", "timed out")


@dataclass(frozen=True, slots=True)
class Processes:
    """This process, `rank` of `count`, its device, and the mesh that all of them form."""

    rank: int
    count: int
    device: torch.device
    mesh: DeviceMesh

    def stretch(self, rows: int) -> slice:
        """The rows of `rows` that are this process's, as DTensor's Shard(0) and torch.chunk split: the last processes
        may have fewer, or none."""
        size = -(-rows // self.count)
        first = min(self.rank * size, rows)
        return slice(first, min(first + size, rows))

    def whole(self, own: Tensor, rows: int) -> Tensor:
        """Every process's stretch, one after the other: (own rows, ...) to (rows, ...). An all-gather."""
        return self._redistribute(own, rows, Shard(0), Replicate())

    def own_sum(self, partial: Tensor) -> Tensor:
        """This process's stretch of the sum over processes: (rows, ...) to (own rows, ...). A reduce-scatter."""
        return self._redistribute(partial, len(partial), Partial(), Shard(0))

    def whole_sum(self, partial: Tensor) -> Tensor:
        """The sum over processes, in each of them. An all-reduce."""
        return self._redistribute(partial, len(partial), Partial(), Replicate())

    def most(self, number: int) -> int:
        """The largest of the processes' numbers, in each of them. Waits for all."""
        return int(self.whole(torch.tensor([number], device=self.device), self.count).max())

    def wait(self) -> None:
        """For all."""
        self.most(0)

    def sharded(self, own: Tensor, rows: int) -> DTensor:
        """The tensor of `rows` rows of which each process holds its stretch."""
        return self._dtensor(own, rows, Shard(0))

    def _dtensor(self, local: Tensor, rows: int, placement: Placement) -> DTensor:
        shape = torch.Size((rows, *local.shape[1:]))
        stride = torch.empty(shape, device="meta").stride()  # from_local cannot know it where stretches differ
        return DTensor.from_local(local, self.mesh, [placement], run_check=False, shape=shape, stride=stride)

    def _redistribute(self, local: Tensor, rows: int, now: Placement, then: Placement) -> Tensor:
        with torch.no_grad():
            result = self._dtensor(local.contiguous(), rows, now).redistribute(placements=[then]).to_local()
        wait = getattr(result, "wait", None)  # what is still on its way has one
        return result if wait is None else wait()


@contextmanager
def joined(device: str, timeout_s: float = TIMEOUT_S) -> Iterator[Processes]:
    """The processes of this run, on "cpu" (gloo) or "cuda" (NCCL, a GPU each).

    Raises CtrError without torchrun's environment, without a GPU for each process, where the processes do not find one
    another within `timeout_s`, and where inside the block another one stops or does not answer for so long.
    """
    rank, count, local_rank = _environment()
    if device == "cuda":
        _check_gpus(local_rank)
        torch.cuda.set_device(local_rank)
        place = torch.device("cuda", local_rank)
    else:
        place = torch.device("cpu")
    try:
        dist.init_process_group(
            "nccl" if device == "cuda" else "gloo",
            timeout=timedelta(seconds=timeout_s),
            device_id=place if device == "cuda" else None,
        )
        mesh = init_device_mesh(device, (count,))
    except (RuntimeError, ValueError) as error:  # DistError is a RuntimeError
        raise CtrError(
            f"process {rank} of {count} did not find the others at {os.environ['MASTER_ADDR']}:"
            f"{os.environ['MASTER_PORT']} within {timeout_s:g} s ({_first_line(error)}): start all of them with one "
            "torchrun"
        ) from error
    try:
        yield Processes(rank, count, place, mesh)
    except RuntimeError as error:
        if not _lost(error):
            raise
        raise CtrError(
            f"process {rank} of {count} lost the others ({_first_line(error)}): one of them stopped, and says why "
            "above or below; start again from the last checkpoint"
        ) from error
    dist.destroy_process_group()


def run_and_leave(command: Callable[[], None]) -> NoReturn:
    """Runs a command of one of several processes, and ends this process: with status 1 and the sentence after a
    GpukitError, with the traceback after another exception.

    It leaves without Python's own farewell. On the way through that, a thread of gloo that lets go of its last
    exchange sometimes ends the process with "terminate called without an active exception" (seen with PyTorch 2.11 and
    2.13), and NCCL waits for processes that are gone.
    """
    status = 0
    try:
        command()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except GpukitError as error:
        status = 1
        sys.stderr.write(f"gpukit: {error}\n")  # in one piece, since the others write there, too
    except BaseException:
        status = 1
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _environment() -> tuple[int, int, int]:
    """RANK, WORLD_SIZE and LOCAL_RANK."""
    missing = [name for name in ENVIRONMENT if name not in os.environ]
    if missing:
        raise CtrError(
            f"the environment has no {missing[0]}: start with torchrun, such as `python -m torch.distributed.run "
            "--standalone --nproc-per-node 2 SCRIPT`"
        )
    try:
        return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_RANK"])
    except ValueError as error:
        raise CtrError(
            f"RANK, WORLD_SIZE and LOCAL_RANK must be whole numbers ({error}): start with torchrun"
        ) from error


def _check_gpus(local_rank: int) -> None:
    if not torch.cuda.is_available():
        raise CtrError("NCCL needs a GPU for each process, and PyTorch finds none here: use --device cpu (gloo)")
    if local_rank >= torch.cuda.device_count():
        raise CtrError(
            f"process {local_rank} of this machine has no GPU of its own, since there are {torch.cuda.device_count()}: "
            f"start with --nproc-per-node {torch.cuda.device_count()}, or use --device cpu (gloo)"
        )


def _lost(error: RuntimeError) -> bool:
    return isinstance(error, dist.DistError) or any(word in str(error) for word in _LOST)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:200]
