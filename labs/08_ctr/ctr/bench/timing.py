"""How long a training step takes: many steps between two waits for the device, several times over."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

ROUNDS = 5
PATIENCE = 0.2  # seconds: a step that takes longer is timed in FEW rounds
FEW = 3


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of a step: the median over rounds of `steps` steps each, the fastest and the slowest round."""

    seconds: float
    fastest: float
    slowest: float
    steps: int
    rounds: int

    def to_dict(self, batch: int) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "fastest": self.fastest,
            "slowest": self.slowest,
            "steps": self.steps,
            "rounds": self.rounds,
            "samples_per_second": batch / self.seconds,
        }


def step_time(step: Callable[[], Any], device: torch.device, seconds: float, warm_up: int) -> StepTime:
    """Times a step after `warm_up` steps, in rounds of about `seconds` / ROUNDS each.

    The host waits for the device before a clock starts and before it stops; never within a round, where a queue that
    fills up is part of what is measured.
    """
    for _ in range(warm_up):
        step()
    one = _round(step, device, 1)
    one = _round(step, device, 3) if one < PATIENCE else one
    count = ROUNDS if one < PATIENCE else FEW
    steps = max(1, int(seconds / count / one))
    rounds = [_round(step, device, steps) for _ in range(count)]
    return StepTime(statistics.median(rounds), min(rounds), max(rounds), steps, count)


def _round(step: Callable[[], Any], device: torch.device, steps: int) -> float:
    """Seconds a step."""
    wait(device)
    began = time.perf_counter()
    for _ in range(steps):
        step()
    wait(device)
    return (time.perf_counter() - began) / steps


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
