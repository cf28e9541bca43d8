"""What a training run depends on, in one frozen object that its checkpoint keeps."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..errors import CtrError

# What may differ when a run goes on: how long it may take.
MAY_CHANGE = ("epochs", "patience")


@dataclass(frozen=True, slots=True)
class Settings:
    """Raises CtrError for a value that cannot be.

    `unknown`: the share of ids that each batch hides. `evaluations`: how often an epoch looks at validation.
    `patience`: so many looks in a row whose logloss is not better by `gain` end the run; each of them divides both
    learning rates by `drop`, and goes back to the best weights.
    """

    dim: int = 16
    hidden: tuple[int, ...] = (128, 64)
    dropout: float = 0.1
    batch: int = 4096
    epochs: int = 10
    table_rate: float = 0.1
    dense_rate: float = 0.002
    weight_decay: float = 1e-5
    unknown: float = 0.01
    evaluations: int = 1
    patience: int = 2
    gain: float = 1e-4
    drop: float = 10.0
    seed: int = 1
    deterministic: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        for field in fields(self):
            self._check_kind(field.name, getattr(self, field.name), type(field.default))
        for name in ("dim", "batch", "epochs", "evaluations", "patience"):
            if getattr(self, name) < 1:
                raise CtrError(f"{name} = {getattr(self, name)} cannot be: give 1 or more")
        if any(width < 1 for width in self.hidden):
            raise CtrError(f"hidden = {min(self.hidden)} cannot be: give 1 or more")
        for name, value in (("dropout", self.dropout), ("unknown", self.unknown)):
            if not 0 <= value < 1:
                raise CtrError(f"{name} = {value} is a share of all: give 0 or more, and less than 1")
        for name, value in (("table_rate", self.table_rate), ("dense_rate", self.dense_rate)):
            if not (value > 0 and math.isfinite(value)):
                raise CtrError(f"{name} = {value} learns nothing: give a positive number")
        if not (self.weight_decay >= 0 and self.gain >= 0 and self.drop > 1 and self.seed >= 0):
            raise CtrError("weight_decay, gain and seed are 0 or more, and drop is more than 1")

    @staticmethod
    def _check_kind(name: str, value: Any, kind: type) -> None:
        """`kind`: of the default. A whole number is a number, too."""
        fits = {
            float: type(value) in (int, float),
            tuple: type(value) is tuple and all(type(width) is int for width in value),
        }
        if not fits.get(kind, type(value) is kind):
            words = {int: "a whole number", float: "a number", bool: "true or false", str: "a name"}
            raise CtrError(f"{name} = {value!r} is not {words.get(kind, 'a tuple of whole numbers')}")

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "hidden": list(self.hidden)}

    @classmethod
    def from_dict(cls, read: Any) -> Settings:
        """What `to_dict` made. Raises CtrError for anything else."""
        names = {field.name for field in fields(cls)}
        if not isinstance(read, dict) or set(read) != names:
            raise CtrError("these are no settings of a training run of this version of the course")
        hidden = read["hidden"]
        return cls(**{**read, "hidden": tuple(hidden) if isinstance(hidden, list) else hidden})
