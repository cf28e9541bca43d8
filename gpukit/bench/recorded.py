"""What was measured before: files of `gpukit bench FAMILY --out`, and figures that others have published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpukit.resources import data_files


def newest(family: str, device: str = "gpu") -> dict[str, Any] | None:
    """The newest recording of a family on a device (data/results/bench_*.json); None if there is none.

    It is what `gpukit bench FAMILY --out` wrote, with "file", its name.
    """
    found = [
        made for made in _read("results/bench_*.json") if (made.get("family"), made.get("device")) == (family, device)
    ]
    return max(found, key=lambda made: made["machine"].get("date", ""), default=None)


def published(family: str) -> list[dict[str, Any]]:
    """Ladders of a family that others published (data/results/published_FAMILY*.json), each with its GPU, size, unit
    and source, and "values" by the keys of our rungs."""
    return [ladder for made in _read(f"results/published_{family}*.json") for ladder in made["ladders"]]


def _read(pattern: str) -> Iterator[dict[str, Any]]:
    for path in data_files(pattern):
        made = json.loads(Path(path).read_text(encoding="utf-8"))
        if isinstance(made, dict):
            yield {**made, "file": path.name}
