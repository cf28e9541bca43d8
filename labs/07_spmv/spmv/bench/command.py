"""The command `gpukit bench spmv`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from gpukit import files
from gpukit.cli import output
from gpukit.resources import newest_recording

RECORDINGS = "results/*spmv*.json"
WHAT = "gpukit bench spmv"
# What is given where nothing is.
NOTHING = {"machine": "cpu", "matrices": (), "ways": (), "dtype": "float32", "pointer": "int32", "seed": 0}


@click.command(name="spmv", short_help="Sparse matrix times vector: every format and kernel on many matrices.")
@click.option(
    "--machine",
    type=click.Choice(["cpu", "gpu"]),
    default="cpu",
    show_default=True,
    help="cpu: small matrices, counters and no times; gpu: an NVIDIA GPU.",
)
@click.option("--matrix", "matrices", multiple=True, metavar="NAME", help="Only this matrix; may be repeated.")
@click.option("--way", "ways", multiple=True, metavar="NAME", help="Only the kernels of this way; may be repeated.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float32", show_default=True)
@click.option(
    "--pointer", type=click.Choice(["int32", "int64"]), default="int32", show_default=True, help="Of the row pointer."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of random matrices.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write everything as JSON.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FOLDER", help="Draw figures there.")
@click.option("--recorded", is_flag=True, help="Show the newest recording on a GPU, and measure nothing.")
def bench(out: Path | None, plot: Path | None, recorded: bool, **given: Any) -> int:
    """Sparse matrix times vector: every format and kernel, and on a GPU every library, on many matrices.

    Every answer is checked first; one that is wrong is not timed. Exit code 1 if a kernel is wrong.
    """
    if recorded and given != NOTHING:
        raise click.UsageError("a recording is as it was made: --recorded goes with --out and --plot alone.")
    if out is not None:
        output.refuse_unwritable(out)
    if plot is not None:
        output.make_folder(plot)
    from . import measuring, table

    console = output.console()
    if recorded:
        result, file = newest_recording(RECORDINGS, WHAT)
        table.show_recorded(result, file, console)
    else:
        result = _measured(out, **given)
        table.show(result, console)
    if out is not None:
        _write(out, result)
    if plot is not None:
        from . import figures

        for path in figures.draw(result, plot, lambda text: click.echo(f"gpukit: {text}", err=True)):
            click.echo(f"wrote {path}")
    return 1 if measuring.is_wrong(result) else 0


def _measured(
    out: Path | None, machine: str, matrices: tuple[str, ...], ways: tuple[str, ...], seed: int, **types: Any
) -> dict[str, Any]:
    """Measured here and now, with the `types` "dtype" and "pointer". What is there after each matrix is in the file
    already."""
    from gpukit import devices
    from gpukit.progress import step_progress

    from . import cases, measuring
    from .variants import variants

    names = cases.chosen(matrices, machine)
    variants(ways)
    device = devices.device(machine)
    with step_progress("bench spmv") as say:
        return measuring.measure(
            cases.make_all(names, machine, seed=seed, **types),
            device,
            count=len(names),
            ways=ways,
            **types,
            command=output.typed(),
            say=say,
            keep=lambda result: _write(out, result) if out is not None else None,
        )


def _write(out: Path, result: dict[str, Any]) -> None:
    files.write_whole(out, json.dumps(result, indent=1) + "\n")
