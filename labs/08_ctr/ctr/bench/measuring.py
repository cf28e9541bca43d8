"""Runs the ladder: every rung timed, the ends of it trained and tested. Plain data, as it is recorded."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ..errors import in_short
from ..fast.making import make, operations
from ..fast.operations import Operations
from ..fast.resident import resident
from ..fast.switches import Rung, Switches, ladder, turned_back
from ..metrics import bayes_auc, bayes_logloss
from ..model.facts import DIM, HIDDEN
from ..storage.log import ClickLog
from ..training.running import new_network
from ..training.settings import Settings
from ..training.survey import survey
from ..world import truth_of
from .cost import Cost, cost
from .profile import profile
from .quality import Trained, train
from .timing import step_time

WARM_UP = {"rows": 2, "batches": 3, "prefetch": 3, "resident": 15}  # steps; a graph is captured after 11
ON_HOST = 1 << 21  # training rows that loaders of the host read: a stretch of the log, which they hold in memory
SEED = 7

Say = Callable[[str], None]
Keep = Callable[[dict[str, Any]], None]


class Ladder:
    """One log and one network to start from, on one device, and what was found of them so far."""

    def __init__(
        self,
        log: ClickLog,
        device: torch.device,
        say: Say,
        seconds: float = 1.5,
        seed: int = SEED,
        keep: Keep = lambda result: None,
    ):
        """seconds: how long a rung is timed, about. keep: given the result so far whenever it has grown."""
        self.log, self.device, self.say, self.seconds, self.seed, self.keep = log, device, say, seconds, seed, keep
        train_part = log.split("train")
        found = survey(train_part)
        self.network = new_network(log, Settings(dim=DIM, hidden=HIDDEN, dropout=0.0, seed=seed), found)
        self.host = train_part.take(slice(0, ON_HOST))
        self.data = resident(train_part, self.network, device)
        test_part = log.split("test")
        survey(test_part)  # an id that a table has not would end everything on a GPU, and say nothing of where
        self.test = resident(test_part, self.network, device)
        truth = truth_of(log, test_part)
        self.operations: Operations = operations(device, DIM)
        self.result: dict[str, Any] = {
            "model": {
                "fields": {field.name: field.rows for field in log.schema.fields},
                "numbers": len(log.schema.dense),
                "dim": DIM,
                "hidden": list(HIDDEN),
            },
            "log": {
                "rows": log.rows,
                "train": train_part.rows,
                "test": self.test.size,
                "clicks": found.rate,
                "bayes_logloss": None if truth is None else bayes_logloss(truth),
                "bayes_auc": None if truth is None else bayes_auc(truth),
                "about": log.about,
            },
            "ladder": [],
            "turned_back": [],
            "quality": [],
            "profiles": [],
        }

    # --- speed -------------------------------------------------------------------------------------------------------

    def time(self, batch: int, large: int, gb_s: float, tflops: dict[str, float], only: Sequence[str] = ()) -> None:
        """Every rung at one batch, against bandwidth and rates of matrix products ("float32", "bfloat16")."""
        for rung in ladder(batch, large):
            if not only or rung.name in only:
                self._found("ladder", self._rung(rung, gb_s, tflops))
        for rung in turned_back(batch) if not only or "graph" in only else ():
            self._found("turned_back", self._rung(rung, gb_s, tflops))

    def _rung(self, rung: Rung, gb_s: float, tflops: dict[str, float]) -> dict[str, Any]:
        switches = rung.switches
        found: dict[str, Any] = {
            "batch": switches.batch,
            "name": rung.name,
            "change": rung.change,
            "why": rung.why,
            "switches": switches.to_dict(),
        }
        try:
            step = self._make(switches)
            took = step_time(step, self.device, self.seconds, WARM_UP[switches.loader])
        except Exception as error:
            # Whatever a compiler or a driver says: one rung that a device cannot do is no reason to lose the others.
            found["error"] = in_short(error)
            self.say(f"{switches.batch:>8,} {rung.name:<10} {found['error']}")
            return found
        finally:
            step = None
            self._tidy()
        costs = self.cost(switches)
        floor = costs.floor_seconds(gb_s, tflops[switches.precision]) * switches.batch
        found |= {
            **took.to_dict(switches.batch),
            "cost": costs.to_dict(),
            "floor_seconds": floor,
            "fraction": floor / took.seconds,
        }
        self.say(f"{switches.batch:>8,} {rung.name:<10} {found['samples_per_second'] / 1e6:9.3f} M samples/s")
        return found

    def cost(self, switches: Switches) -> Cost:
        """Of an impression, with the distinct rows of a batch as they are in this log."""
        dense = switches.optimizer in ("dense", "fused")
        return cost(
            fields=self.data.rows.shape[1],
            dim=DIM,
            numbers=self.data.dense.shape[1],
            hidden=HIDDEN,
            element=2 if switches.precision == "bfloat16" else 4,
            distinct=self.distinct(switches.batch),
            dense_rows_per_sample=self.log.schema.rows / switches.batch if dense else 0.0,
        )

    def distinct(self, batch: int) -> float:
        """Distinct rows over ids, of the first batches of one order."""
        shares = []
        generator = torch.Generator(self.device).manual_seed(self.seed)
        for _ in range(4):
            places = torch.randint(self.data.size, (batch,), generator=generator, device=self.device)
            rows = self.data.rows[places]
            shares.append(len(torch.unique(rows)) / rows.numel())
        return sum(shares) / len(shares)

    def _found(self, what: str, entry: dict[str, Any]) -> None:
        self.result[what].append(entry)
        self.keep(self.result)

    def _make(self, switches: Switches) -> Any:
        return make(switches, self.network, self.host, self.data, self.seed, self.operations)

    def _tidy(self) -> None:
        """Tables of a gigabyte are not left for the collector to find, nor compiled code: PyTorch compiles a function
        for eight objects at most."""
        torch.compiler.reset()
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    # --- quality -----------------------------------------------------------------------------------------------------

    def quality(self, batch: int, samples: int, ways: Sequence[tuple[str, str]], reference: str) -> None:
        """Trains ways (what it is called, its rung) at one batch, the one called `reference` first, and tests them."""
        rungs = {rung.name: rung.switches for rung in ladder(batch, batch)}
        compared: Trained | None = None
        for name, rung in sorted(ways, key=lambda way: way[0] != reference):
            try:
                step = self._make(replace(rungs[rung], batch=batch))
                found = train(name, step, batch, samples, self.test, self.device)
            except Exception as error:
                self._found("quality", {"rung": rung, "name": name, "batch": batch, "error": in_short(error)})
                continue
            finally:
                step = None
                self._tidy()
            compared = found if name == reference else compared
            self._found("quality", {"rung": rung, **found.to_dict(compared if found is not compared else None)})
            self.say(f"{batch:>8,} {name}: test logloss {found.figures['logloss']:.5f}, AUC {found.figures['auc']:.4f}")

    # --- where the time goes -----------------------------------------------------------------------------------------

    def profile(self, batch: int, rung: str) -> None:
        switches = next(found.switches for found in ladder(batch, batch) if found.name == rung)
        try:
            step = self._make(switches)
            for _ in range(WARM_UP["resident"]):
                step()
            found = profile(step)  # soon after the start: shuffling for a next epoch is no part of a step
            found["us_of_step"] = step_time(step, self.device, self.seconds / 3, 0).seconds * 1e6
        except Exception as error:
            found = {"error": in_short(error)}
        finally:
            step = None
            self._tidy()
        self._found("profiles", {"batch": batch, "rung": rung, **found})


def matrix_tflops(device: torch.device, size: int = 8192) -> dict[str, float]:
    """Measured rates of square matrix products on random numbers, 1e12 FLOP/s: "float32" and "bfloat16"."""
    found = {}
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
        took = step_time(partial(torch.matmul, a, b), device, 0.3, 3)
        found[name] = 2 * size**3 / took.seconds / 1e12
    return found
