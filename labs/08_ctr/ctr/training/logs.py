"""The looks of a run as a CSV file and for TensorBoard."""

from __future__ import annotations

import csv
import io
import threading
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
        self._purge = after + 1 if after else None
        self._make = SummaryWriter
        self._hook = threading.excepthook

    def __enter__(self) -> Logs:
        """Raises GpukitError where there is no room, as `write` does."""
        self._hook, threading.excepthook = threading.excepthook, self._thread_failed
        try:
            self._writer: Any = self._make(str(self._folder / EVENTS), purge_step=self._purge)
        except OSError as error:
            threading.excepthook = self._hook
            raise files.unwritable(self._folder / EVENTS, error) from error
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._writer.close()
        except OSError as error:
            if kind is None:
                raise files.unwritable(self._folder / EVENTS, error) from error
        finally:
            threading.excepthook = self._hook

    def _thread_failed(self, about: Any) -> None:
        """TensorBoard's thread hands what fails on to the next that writes, and would print a traceback, too."""
        if not isinstance(about.exc_value, OSError):
            self._hook(about)

    def write(self, position: Position) -> None:
        looks = position.looks
        held = io.StringIO()
        table = csv.DictWriter(held, list(looks[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(looks)
        files.write_whole(self._folder / CSV, held.getvalue())
        newest = looks[-1]
        try:
            for name, value in newest.items():
                if name != "step":
                    self._writer.add_scalar(name, value, int(newest["step"]))
            self._writer.flush()
        except OSError as error:
            raise files.unwritable(self._folder / EVENTS, error) from error
