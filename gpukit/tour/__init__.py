"""`gpukit tour`: what a GPU does to a kernel, seen on this machine's CPU in under 20 seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from gpukit.errors import GpukitError

if TYPE_CHECKING:
    from rich.console import Console

DEFAULT_FOLDER = Path("gpukit-tour")


def run(out: Path, console: Console) -> None:
    """Run the tour: print its tables to `console` and write its figures to the folder `out`, made if missing.

    Raises:
        GpukitError: the folder cannot be written.
    """
    from gpukit.tour import figures, launches, matrix, tables

    out = Path(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GpukitError(f"cannot make the folder {out}: {error.strerror}; choose another with --out") from None
    began = time.perf_counter()

    def heading(number: int, question: str, remark: str) -> None:
        console.print(f"\n[bold]{number}. {question}[/]", highlight=False)
        console.print(remark, style="dim", highlight=False)

    heading(
        1,
        "Do the lanes of a warp take the same way?",
        "2^20 integers; two kinds of work, shared out by lane or by warp",
    )
    steps = launches.branches()
    console.print(tables.branch_table(steps))
    figures.branches(steps, out / "1-divergence.png")

    heading(2, "Do the lanes of a warp read side by side?", "2^18 threads, each reads one of 2^20 floats")
    steps = launches.reads()
    console.print(tables.read_table(steps))
    figures.reads(steps, out / "2-coalescing.png")

    heading(3, "Does it match a GPU?", "the sum of 2^20 integers in place, three times, beside the counters of an H200")
    steps = launches.reductions()
    console.print(tables.reduction_table(steps))
    figures.reductions(steps, out / "3-reduction.png")

    words = matrix.load()
    lengths = words.row_lengths
    heading(
        4,
        "Does every lane have as much to do?",
        f"sparse matrix times vector: which word follows which in Moby-Dick, {words.rows:,} rows, "
        f"{words.nonzeros:,} non-zeros, {lengths.min()} to {lengths.max():,} in a row",
    )
    steps = launches.sparse_products(words)
    console.print(tables.sparse_table(steps, words))
    figures.sparse_products(steps, words, out / "4-sparse.png")

    heading(
        5, "Is it right, or only lucky?", "the sum of a block in shared memory, with one barrier left out and put back"
    )
    for check in launches.checks():
        console.print(tables.check_verdict(check), highlight=False)

    console.print(
        f"\n4 figures in {out}{'' if out.is_absolute() else '/'}, {time.perf_counter() - began:.1f} s", highlight=False
    )
    console.print(
        "next: gpukit profile FILE.py:kernel, gpukit check SCRIPT.py, gpukit --help", style="dim", highlight=False
    )
