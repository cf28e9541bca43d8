"""A run on disk: all that it needs to go on as if it had not stopped, in one file that is whole or not there.

The file is read with PyTorch's `weights_only`: it holds tensors and plain values, and reading runs no code of it. It is
followed by its own SHA-256, so that a file that was cut short or changed is refused and not half believed.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from gpukit import files

from ..errors import CtrError, in_short
from ..schema import Schema, difference
from ..storage.log import ClickLog
from .loop import Position
from .settings import MAY_CHANGE, Settings
from .step import Step

FORMAT = 1
NAME = "checkpoint.pt"
PARTS = {"settings", "schema", "log", "position", "generators", "model", "optimizers"}
_DIGEST = hashlib.sha256().digest_size


def fingerprint(log: ClickLog) -> str:
    """SHA-256 of what a log's manifest says of its rows: the checksums of its shards, its schema, its splits."""
    said = {"schema": log.schema.to_dict(), "rows": log.rows, "splits": log.splits, "shards": log.shards}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def save(path: Path, step: Step, position: Position, settings: Settings, log: ClickLog) -> None:
    """Raises GpukitError where the file cannot be written; the one that was there stays."""
    content = {
        "format": FORMAT,
        "settings": settings.to_dict(),
        "schema": log.schema.to_dict(),
        "log": fingerprint(log),
        "position": dict(vars(position)),
        "generators": _generators(),
        **step.state(),
    }
    held = io.BytesIO()
    torch.save(content, held)
    whole = held.getvalue()
    files.write_whole(path, whole + hashlib.sha256(whole).digest())


def read(path: Path) -> dict[str, Any]:
    """What `save` wrote, on the host. Raises CtrError for a file that is missing, not whole, or of another kind."""
    try:
        whole = path.read_bytes()
    except OSError as error:
        raise CtrError(
            f"{path} cannot be read ({error.strerror}): there is no run to go on with, `gpukit ctr train` begins one"
        ) from error
    content, digest = whole[:-_DIGEST], whole[-_DIGEST:]
    if hashlib.sha256(content).digest() != digest:
        raise CtrError(
            f"{path} is no whole checkpoint ({len(whole):,} bytes): it was cut short or changed; copy it again, or "
            "start a new run in another folder"
        )
    try:
        read = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        if not isinstance(read, dict):
            raise TypeError
        if read["format"] != FORMAT:
            raise CtrError(f"{path} is of format {read['format']}, and this reads {FORMAT}: start a new run")
        if lacking := PARTS - read.keys():
            raise KeyError(min(lacking))
        return read
    except (RuntimeError, KeyError, TypeError, EOFError, pickle.UnpicklingError) as error:
        raise CtrError(
            f"{path} is no checkpoint of a training run ({type(error).__name__}): start a new run in another folder"
        ) from error


def refuse_changes(path: Path, read: dict[str, Any], settings: Settings, log: ClickLog) -> None:
    """Raises CtrError where a run would go on with another log, schema or setting than it began with."""
    rest = "give what the run began with, or start a new one in another folder (this one stays as it is)"
    if read["schema"] != log.schema.to_dict():
        differ = difference(Schema.from_dict(read["schema"]), log.schema)
        raise CtrError(f"{path} was trained with another schema than that of {log.folder}: {differ}; {rest}")
    if read["log"] != fingerprint(log):
        raise CtrError(
            f"{path} was trained on another log than {log.folder}, whose shards have other checksums: {rest}"
        )
    before, now = read["settings"], settings.to_dict()
    for name in sorted({*before, *now}):
        if name not in MAY_CHANGE and before.get(name) != now.get(name):
            raise CtrError(f"{path} was trained with {name} = {before.get(name)}, and not {now.get(name)}: {rest}")


def restore(path: Path, read: dict[str, Any], step: Step) -> Position:
    """Weights, optimizers and generators as they were; the position in the data. Raises CtrError where they do not fit
    the network of the settings."""
    with of_its_settings(path):
        if read["position"]["weights"] is not None:
            step.set_weights(read["position"]["weights"])  # wanted later, and said now if they do not fit
        step.load_state({"model": read["model"], "optimizers": read["optimizers"]})
        torch.set_rng_state(read["generators"]["cpu"])
        if step.device.type == "cuda" and read["generators"]["cuda"]:
            torch.cuda.set_rng_state_all(read["generators"]["cuda"])
        return Position(**read["position"])


@contextmanager
def of_its_settings(path: Path) -> Iterator[None]:
    """Raises CtrError in place of what PyTorch says of weights and states that belong to another network."""
    try:
        yield
    except (RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise CtrError(
            f"{path} holds another network than its settings and schema say ({in_short(error)}): copy it again, or "
            "start a new run in another folder"
        ) from error


def _generators() -> dict[str, Any]:
    """PyTorch's, for dropout. Batches need none: they follow from the seed."""
    return {
        "cpu": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
    }
