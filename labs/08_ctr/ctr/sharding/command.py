"""`train`, `measure` and `scaling`, for torchrun."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch

from gpukit import files

from ..errors import CtrError
from ..metrics import auc, logloss
from ..storage.log import open_log
from ..training.loop import probabilities
from ..training.settings import Settings
from ..training.survey import survey
from . import measure as measuring
from . import running
from .processes import TIMEOUT_S, joined, run_and_leave

DEFAULTS = Settings()

device_option = click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cuda", show_default=True)
timeout_option = click.option(
    "--timeout", type=click.FloatRange(min=1), default=TIMEOUT_S, show_default=True, help="Seconds to wait for others."
)


@click.group()
def sharding() -> None:
    """Several processes, which torchrun starts, train one model.

    python -m torch.distributed.run --standalone --nproc-per-node 2 labs/08_ctr/ctr/sharding train LOG
    """


@sharding.command()
@click.argument("log", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("ctr-sharded"), show_default=True)
@click.option("--resume", is_flag=True, help="Go on with the run in --out, with as many processes as there are now.")
@click.option("--exchange", type=click.Choice(list(running.EXCHANGES)), default="float32", show_default=True)
@click.option("--replicate", type=click.IntRange(min=0), default=0, help="Fields of so many rows stay whole.")
@click.option(
    "--batch", type=int, default=DEFAULTS.batch, show_default=True, help="Rows a step, of all processes together."
)
@click.option("--epochs", type=int, default=DEFAULTS.epochs, show_default=True)
@click.option("--dim", type=int, default=DEFAULTS.dim, show_default=True)
@click.option("--seed", type=int, default=DEFAULTS.seed, show_default=True)
@click.option("--deterministic", is_flag=True)
@device_option
@timeout_option
def train(
    log: Path, out: Path, resume: bool, exchange: str, replicate: int, device: str, timeout: float, **given: Any
) -> None:
    """Train on a click log."""
    settings = Settings(device=device, **given)
    opened = open_log(log)
    test = opened.split("test")
    survey(test)
    with joined(device, timeout) as processes:
        result, step = running.train(
            opened, settings, out, processes, exchange=exchange, replicate=replicate, resume=resume
        )
        with torch.no_grad():
            p = probabilities(step, test, settings.batch)
        if processes.rank == 0:
            for look in result.looks:
                click.echo(
                    f"epoch {look['epoch']:.2f}: logloss {look['train_logloss']:.5f} in training, "
                    f"{look['validation_logloss']:.5f} on validation, AUC {look['validation_auc']:.4f}"
                )
            labels = np.asarray(test.labels)
            click.echo(
                f"{processes.count} processes, {result.steps:,} steps in {result.seconds:.1f} s; "
                f"test logloss {logloss(labels, p):.5f}, AUC {auc(labels, p):.4f}"
            )


@sharding.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="JSON of the run.")
@click.option("--batch", type=click.IntRange(min=1), multiple=True, default=measuring.BATCHES, show_default=True)
@click.option("--mode", type=click.Choice(measuring.MODES), multiple=True, default=measuring.MODES, show_default=True)
@click.option("--seconds", type=click.FloatRange(min=0), default=0.3, show_default=True, help="Of a round of steps.")
@click.option("--shrink", type=click.IntRange(min=1), default=1, show_default=True, help="Divides the fields' rows.")
@click.option("--tf32", is_flag=True, help="Matrix products of float32 in TF32.")
@device_option
@timeout_option
def measure(
    out: Path,
    batch: tuple[int, ...],
    mode: tuple[str, ...],
    seconds: float,
    shrink: int,
    tf32: bool,
    device: str,
    timeout: float,
) -> None:
    """Samples a second with the model of model/facts.py."""
    if tf32:
        torch.set_float32_matmul_precision("high")
    options = [f"--out {out.name}", f"--device {device}"]
    options += [f"--batch {size}" for size in batch if batch != measuring.BATCHES]
    options += [f"--mode {name}" for name in mode if mode != measuring.MODES]
    options += [f"--seconds {seconds:g}"] + [f"--shrink {shrink}"] * (shrink > 1) + ["--tf32"] * tf32
    with joined(device, timeout) as processes:
        first = processes.rank == 0
        measuring.measure(
            processes,
            measuring.facts_schema(shrink),
            measuring.settings(batch, mode),
            seconds,
            write=lambda result: files.write_whole(out, json.dumps(result, indent=1) + "\n") if first else None,
            say=click.echo if first else lambda text: None,
            options=" ".join(options),
        )


@sharding.command()
@click.argument("one", type=click.Path(path_type=Path))
@click.argument("many", type=click.Path(path_type=Path))
def scaling(one: Path, many: Path) -> None:
    """Compare a run of one process with one of more."""
    click.echo("   batch  mode   exchange  small fields      one     many M samples/s   times  predicted")
    for row in measuring.scaling(_read(one), _read(many)):
        setting = row.setting
        small = "whole" if setting.replicate else "sharded"
        click.echo(
            f"{setting.batch:>8,}  {setting.mode:<6} {setting.exchange:<9} {small:<9} {row.one / 1e6:>11.3f} "
            f"{row.many / 1e6:>8.3f} {row.times:>19.2f} {row.predicted:>10.2f}"
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CtrError(f"{path} cannot be read ({error}): `measure` makes such a file") from error
    if not isinstance(read, dict):
        raise CtrError(f"{path} is no record of the sharded step: `measure` makes one")
    return read


def main() -> None:
    run_and_leave(sharding)
