"""The command `gpukit bench ctr`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gpukit import files
from gpukit.cli import output
from gpukit.resources import newest_recording

from ..extras import need_torch
from .asked import Asked

RECORDINGS = "results/*ctr_h200*.json"
WHAT = "gpukit bench ctr"
NOTHING = {"machine": "cpu", "log": None, **asdict(Asked())}  # what is given where nothing is


@click.command(name="ctr", short_help="Train a model of clicks: the ladder of speed, one switch after the other.")
@click.option(
    "--machine",
    type=click.Choice(["cpu", "gpu"]),
    default="cpu",
    show_default=True,
    help="cpu: a small log, what is learned and counters, no times; gpu: an NVIDIA GPU.",
)
@click.option("--log", type=click.Path(path_type=Path), metavar="FOLDER", help="A click log; one is made without it.")
@click.option(
    "--batch",
    "batches",
    type=click.IntRange(min=1),
    multiple=True,
    metavar="N",
    help="Impressions of a step; may be repeated. On a GPU 8192 and 65536 without it.",
)
@click.option("--rung", "rungs", multiple=True, metavar="NAME", help="Only this rung; may be repeated.")
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    help="Impressions that each way is trained on before it is tested; all training rows once without it.",
)
@click.option(
    "--seconds", type=click.FloatRange(min=0.01), default=1.5, show_default=True, help="For the times of a rung."
)
@click.option("--quality/--no-quality", default=True, help="Train and test the ends of the ladder.")
@click.option("--profile/--no-profile", "profiles", default=True, help="See where the time of a step goes.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write everything as JSON.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FOLDER", help="Draw figures there.")
@click.option("--why", is_flag=True, help="Say of each rung why it should help.")
@click.option("--recorded", is_flag=True, help="Show the newest recording on a GPU, and measure nothing.")
def bench(out: Path | None, plot: Path | None, why: bool, recorded: bool, **given: Any) -> int:
    """Train a model of clicks: each rung of the ladder turns one switch.

    On a GPU every rung is timed and held against a floor of bytes and operations, the ends of the ladder are trained
    and tested, and a profile says where the time goes. On the CPU machine rungs that must learn the same are compared,
    and our kernels' accesses are counted. Exit code 1 if rungs differ that must learn the same.
    """
    if recorded and given != NOTHING:
        raise click.UsageError("a recording is as it was made: --recorded goes with --out, --plot and --why alone.")
    if given["machine"] == "cpu" and given["seconds"] != NOTHING["seconds"]:
        raise click.UsageError("--seconds are for times, and the CPU machine has none.")
    if out is not None:
        output.refuse_unwritable(out)
    if plot is not None:
        output.make_folder(plot)
    from . import table

    console = output.console()
    if recorded:
        result, file = newest_recording(RECORDINGS, WHAT)
        table.show_recorded(result, file, console, why)
    else:
        machine, log = given.pop("machine"), given.pop("log")
        result = _measured(out, machine, log, Asked(**given))
        table.show(result, console, why)
    if out is not None:
        _write(out, result)
    if plot is not None:
        from . import figures

        for path in figures.draw(result, plot, _say):
            click.echo(f"wrote {path}")
    return 1 if result.get("differs") else 0


def _measured(out: Path | None, machine: str, log: Path | None, asked: Asked) -> dict[str, Any]:
    """Measured here and now. What is there after each rung is in the file already."""
    need_torch()
    from gpukit import devices, provenance

    device = devices.device(machine)
    result: dict[str, Any] = {
        "what": WHAT,
        "format": 1,
        "device": machine,
        "machine": provenance.provenance(output.typed(), device),
    }

    def keep(found: dict[str, Any]) -> None:
        result.update(found)
        if out is not None:
            _write(out, result)

    if machine == "gpu":
        from . import on_gpu

        on_gpu.measure(log, device, asked, say=_say, keep=keep)
    else:
        from . import on_cpu

        on_cpu.measure(log, device, asked, say=_say, keep=keep)
    return result


def _say(text: str) -> None:
    click.echo(f"gpukit: {text}", err=True)


def _write(out: Path, result: dict[str, Any]) -> None:
    files.write_whole(out, json.dumps(result, indent=1) + "\n")
