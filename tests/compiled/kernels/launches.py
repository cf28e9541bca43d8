"""All launches: importing this enters every topic's into `LAUNCHES`."""

import importlib

from compiled.kernels.table import HERE, LAUNCHES, Launch, Near

TOPICS = ("reduction", *sorted(path.stem for path in HERE.glob("*.cu")))

for _topic in TOPICS:
    importlib.import_module(f"compiled.kernels.{_topic}")

__all__ = ["LAUNCHES", "Launch", "Near"]
