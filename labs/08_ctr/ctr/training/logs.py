"""The looks of a run as a CSV file and for TensorBoard."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from gpukit import files

from ..errors import CtrError
from ..extras import INSTALL
from .loop import Position

CSV, EVENTS = "looks.csv", "tensorboard"


class Logs:
    """Writes to a folder after each look: the CSV whole, so that a run that goes on leaves no row twice.

    with Logs(folder, after=position.steps) as logs: ...
    """

    def __init__(self, folder: Path, after: int = 0):
        """`after`: the steps of the run so far; what an interrupted run told TensorBoard of later ones is dropped."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise CtrError(f"logs need {error.name}: {INSTALL}") from error
        self._folder = folder
        self._writer: Any = SummaryWriter(str(folder / EVENTS), purge_step=after + 1 if after else None)

    def __enter__(self) -> Logs:
        return self

    def __exit__(self, *error: object) -> None:
        self._writer.close()

    def write(self, position: Position) -> None:
        looks = position.looks
        held = io.StringIO()
        table = csv.DictWriter(held, list(looks[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(looks)
        files.write_whole(self._folder / CSV, held.getvalue())
        newest = looks[-1]
        for name, value in newest.items():
            if name != "step":
                self._writer.add_scalar(name, value, int(newest["step"]))
        self._writer.flush()
