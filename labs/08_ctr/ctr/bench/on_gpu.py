"""`gpukit bench ctr --machine gpu`: every rung timed, the ends of the ladder tested, and where the time goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from gpukit import timing
from gpukit.devices import Device

from ..errors import CtrError
from .asked import BATCHES, Asked
from .logs import given_or_made
from .measuring import Ladder, matrix_tflops

TIMES = 4  # the batch of the last rung is the next one, and after the largest so many times it
# What the ends of the ladder do to the quality: what it is called, and its rung.
REFERENCE = "row-wise, float32, eager"
WAYS = (("dense Adam, eager", "one_table"), (REFERENCE, "rowwise"), ("all switches", "graph"))
PROFILED = ("one_table", "rowwise", "kernels", "bfloat16", "graph")


def measure(
    folder: Path | None,
    device: Device,
    asked: Asked,
    *,
    say: Callable[[str], None],
    keep: Callable[[dict[str, Any]], None],
) -> None:
    """`folder`: of a log; one is made without it. A test of quality without `asked.samples` has all training rows once.
    `keep` is given the result so far whenever it has grown.

    Raises CtrError for a log that is too small for the batches.
    """
    if not torch.cuda.is_available():
        raise CtrError("PyTorch sees no GPU: install a PyTorch that is built for CUDA, or use --machine cpu")
    here = torch.device("cuda")
    larger = with_larger(asked.batches or BATCHES)
    tested = sorted({batch for pair in larger for batch in pair})
    log = given_or_made(folder, "facts", say)
    rows = log.split("train").rows
    samples = rows if asked.samples is None else asked.samples
    smallest = min(rows, samples) if asked.quality else rows
    if smallest < tested[-1]:
        raise CtrError(f"a batch of {tested[-1]:,} impressions is more than {smallest:,}: use smaller batches")
    copy, tflops = timing.copy_ceiling(device).bandwidth_gb_s, matrix_tflops(here)
    assert copy is not None  # its bytes are known
    device.xp.get_default_memory_pool().free_all_blocks()
    found = {"ceilings": {"copy": copy, "tflops": tflops}, "samples": samples}
    runs = Ladder(log, here, say, asked.seconds, keep=lambda result: keep(found | result))
    for batch, large in larger:
        runs.time(batch, large, copy, tflops, asked.rungs)
    if asked.quality:
        for batch in tested:
            runs.quality(batch, samples, WAYS, REFERENCE)
    if asked.profiles:
        for batch, _ in larger:
            for rung in PROFILED:
                runs.profile(batch, rung)
    keep(found | runs.result)


def with_larger(batches: Sequence[int]) -> list[tuple[int, int]]:
    """Each batch, from the smallest on, and the one of its last rung.

    >>> with_larger([65_536, 8_192])
    [(8192, 65536), (65536, 262144)]
    """
    ordered = sorted(set(batches))
    return list(zip(ordered, [*ordered[1:], TIMES * ordered[-1]], strict=True))
