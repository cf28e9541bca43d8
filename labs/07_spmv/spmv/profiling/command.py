"""`gpukit spmv`: what every kernel does with one matrix, and which of them it should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..formats import Csr

LANGUAGES, MACHINES = ("python", "cpp", "both"), ("cpu", "gpu", "both")
FULL = "full"


class _Rows(click.ParamType):
    """A number of rows, or "full"."""

    name = "N|full"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if isinstance(value, int):
            return value
        if value.lower() == FULL:
            return FULL
        text = value.replace("_", "").replace(",", "")
        if not text.isdecimal() or int(text) < 1:
            self.fail(f"{value!r} is no number of rows; write a whole number such as 20000, or {FULL}.", param, ctx)
        return int(text)


def _choice(name: str, values: tuple[str, ...], about: str) -> Any:
    return click.option(name, type=click.Choice(values), default=values[0], show_default=True, help=about)


@click.command(short_help="Profile every kernel on a sparse matrix, and recommend one.")
@click.argument("source", metavar="FILE.mtx|FILE.npz|NAME")
@_choice("--language", LANGUAGES, "Kernels in Python (numba.cuda), in CUDA C++, or both.")
@_choice("--machine", MACHINES, "cpu: count on the CPU machine. gpu: time on an NVIDIA GPU, beside CuPy.")
@_choice("--dtype", ("float32", "float64"), "Of values and vectors.")
@_choice("--pointer", ("int32", "int64"), "Of the row pointer.")
@click.option("--rows", type=_Rows(), help="Of a matrix that is made (default: few, but full for a GPU).")
@click.option("--block", type=int, metavar="THREADS", help="Threads per block (default: 128).")
@click.option("--gpu", default="H200", show_default=True, help="GPU whose bandwidth bounds the times.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of x, and of what is made.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="FOLDER", help="Draw figures there.")
@click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON ('-': print that alone).")
def spmv(
    source: str,
    language: str,
    machine: str,
    dtype: str,
    pointer: str,
    rows: int | str | None,
    block: int | None,
    gpu: str,
    seed: int,
    plot: Path | None,
    json_file: str | None,
) -> int:
    """Profile every kernel for y = A x on a sparse matrix: how long its rows are, what padding costs, what each kernel
    asks of memory and how many lanes it leaves idle. Check each answer, and recommend one.

    \b
        gpukit spmv matrix.mtx
        gpukit spmv webbase-1M --plot figures
        gpukit spmv matrix.npz --machine gpu --language both

    A file is Matrix Market, or what scipy.sparse.save_npz wrote. NAME is a matrix that can be made; one that is not
    known lists them. Exit code 1 if an answer is wrong.
    """
    from gpukit import devices, gpus
    from gpukit.cli import output
    from gpukit.progress import step_progress

    from .. import products
    from . import measuring

    gpus.find_gpu(gpu)  # a misspelt name shows before a long run, not after it
    if json_file not in (None, "-"):
        output.refuse_unwritable(Path(json_file))
    if plot is not None:
        output.make_folder(plot)
    device = devices.device("gpu") if machine != "cpu" else None
    with step_progress(f"spmv {Path(source).name}") as say:
        say("the matrix", 0, 1)
        csr, name = matrix(source, rows or (None if device is None else FULL), seed, dtype, pointer)
        found = measuring.profile(
            csr,
            name,
            languages=measuring.LANGUAGES[language],
            cpu=machine != "gpu",
            device=device,
            gpu=gpu,
            block=products.BLOCK if block is None else block,
            seed=seed,
            say=say,
        )
    if json_file is not None:
        output.write(json_file, json.dumps(found.to_dict(), indent=1) + "\n")
    if json_file != "-":
        from . import terminal

        terminal.show(found, output.console())
    if plot is not None:
        from . import figures

        for path in figures.draw(found, csr, plot):
            click.echo(f"wrote {path}", err=json_file == "-")
    return 1 if found.wrong else 0


def matrix(source: str, rows: int | str | None, seed: int, dtype: str, pointer: str) -> tuple[Csr, str]:
    """(matrix, what to call it) of a file, or of a name of those that can be made: few rows, so many, or FULL.

    Raises MatrixError for what cannot be read or made.
    """
    from gpukit.registry import nearest

    from .. import matrices
    from ..errors import MatrixError
    from ..matrices import reading

    path = Path(source)
    if source not in matrices.MATRICES:
        if not (path.suffix or path.exists() or len(path.parts) > 1):
            known = ", ".join(matrices.MATRICES)
            guess = nearest(source, matrices.MATRICES)
            raise MatrixError(f"there is no file and no matrix {source!r}{guess}; those that can be made: {known}")
        if isinstance(rows, int):
            raise MatrixError(f"{source} has the rows it has: --rows goes with the name of a matrix that can be made")
        return reading.read(path, dtype=dtype, pointer=pointer), path.name
    named = matrices.MATRICES[source]
    few = named.rows if named.kind == matrices.REAL else named.small
    wanted = few if rows is None else named.rows if isinstance(rows, str) else rows
    made = matrices.make(source, rows=wanted, seed=seed).astype(dtype, pointer)
    if named.kind == matrices.REAL:
        return made, source
    part = f", {made.rows:,} of {named.rows:,} rows" if wanted != named.rows else ""
    return made, f"{source} ({named.kind}{part})"
