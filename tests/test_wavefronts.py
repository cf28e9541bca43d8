"""The bank model against hardware: every reading of the shared-memory probe on an H200, to the digit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gpukit.machine.counters import count_wavefronts
from gpukit.machine.lanes import Geometry, LaneSet, Wave

READINGS = json.loads((Path(__file__).parent.parent / "data/results/h200_shared_wavefronts.json").read_text())
WARPS = 3


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("way", ["load", "store"])
def test_every_reading(way, width):
    wave = Wave(Geometry((1, 1, 1), (32 * WARPS, 1, 1)), 0, 1)
    compared = 0
    for name, pattern in READINGS["patterns"].items():
        active = np.array([bool(pattern["mask"] >> lane & 1) for lane in range(32)])
        unit = np.array(pattern["unit"])
        # The same pattern in several warps at once, so that warps are not mixed up either.
        lanes = LaneSet(wave, np.flatnonzero(np.tile(active, WARPS)))
        address = np.tile(unit[active] * width, WARPS)
        wavefronts, least = count_wavefronts(address, width, lanes, load=way == "load")
        measured, conflicts = pattern[way][str(width)]
        assert (wavefronts, wavefronts - least) == (WARPS * measured, WARPS * conflicts), name
        compared += 1
    assert compared == 283
