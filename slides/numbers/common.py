"""What functions of several decks need: rungs of the H200's benches, and how their values are written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gpukit
from gpukit.slides import recording

# --- recorded benches, by the name of the family ---------------------------------------------------------------------


def bench(family: str) -> Mapping[str, Any]:
    """The recording of a family's bench. Its counters are for `counters`, so that the slide's foot says who counted."""
    return recording(_path(family))


def rungs(family: str) -> Mapping[str, Mapping[str, Any]]:
    """The rungs by their keys."""
    return {one["key"]: one for one in bench(family)["rungs"]}


def rung(family: str, key: str) -> Mapping[str, Any]:
    return recording(_path(family), f"rungs[key={key}]")


def seconds(family: str, key: str) -> float:
    """The median time of a rung."""
    return rung(family, key)["timing"]["median_s"]


def counters(family: str, key: str) -> Mapping[str, float]:
    """What the CPU machine counted for a rung; nothing for one that runs on an NVIDIA GPU only."""
    return recording(_path(family), f"rungs[key={key}].counters").get("values", {})


def counted(family: str, key: str, *names: str) -> list[str]:
    """Counters of a rung as cells of a table: "65,536", "23.4"; "-" for what was not counted."""
    found = counters(family, key)
    values = [found.get(name) for name in names]
    return ["-" if one is None else f"{one:,}" if isinstance(one, int) else f"{one:.1f}" for one in values]


def _path(family: str) -> str:
    return f"data/results/bench_h200_{family}.json"


# --- labs ------------------------------------------------------------------------------------------------------------


def given(lab: str) -> Any:
    """The kernels that a lab gives, by the name of its folder."""
    return gpukit.load(str(Path(__file__).parents[2] / "labs" / lab / "given.py"))


# --- words -----------------------------------------------------------------------------------------------------------


def percent(share: float) -> str:
    """ "12 %" """
    return f"{share:.0%}".replace("%", " %")


def times(factor: float) -> str:
    """ "2.4x", "1,234x" """
    return f"{factor:,.0f}x" if factor >= 10 else f"{factor:.1f}x"


def millis(time: float) -> str:
    """Seconds in whole microseconds up to a millisecond: "505 us", "1.63 ms"."""
    return f"{1e6 * time:,.0f} us" if time < 1e-3 else f"{1e3 * time:.2f} ms"
