"""The counters of whole numba kernels against an H200: every reading of data/results/h200_numba_kernels.json.

Where the compiler changes what the source says, the source level has a number of its own, given here with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gpukit

DATA = Path(__file__).parent.parent / "data"
READINGS = json.loads((DATA / "results" / "h200_numba_kernels.json").read_text())["launches"]

# Launch -> (what the source level counts instead, why hardware counts something else).
EFFECTS = {
    "merged: one element read twice": (
        {"global_load_requests": 12, "global_load_sectors": 36},
        "x[i] * x[i] loads x[i] once",
    ),
    "merged: a sum kept in memory": (
        {"global_load_requests": 96, "global_load_sectors": 330},
        "out[i] += ... in a loop stores every time, but loads out[i] only before the loop",
    ),
    "merged: loads that an outer loop repeats": (
        {"global_load_requests": 279, "global_load_sectors": 813},
        "the inner loop's loads are the same in every round of the outer one and done once",
    ),
    "merged: the two parts of a complex field": (
        {"global_store_requests": 45, "global_store_sectors": 879},
        "a field of a record aligned to 8 bytes is known to be aligned, so one store writes both parts of a complex64",
    ),
    "split: fields of packed records": (
        {"global_load_requests": 30, "global_load_sectors": 307},
        "without align=True numba lets a float32 field lie at any byte, so it is loaded as 4 bytes",
    ),
    "unrolled: grid-stride loop, last round partly filled": (
        {"global_load_sectors": 126, "global_store_sectors": 126},
        "the loop is unrolled by 4, odd rounds first: lanes with 6 and with 7 rounds are then in different rounds",
    ),
    "unrolled: sparse matrix, a row a thread": (
        {"global_load_sectors": 1743},
        "unrolled as above: rows of different length are in different rounds",
    ),
    "unrolled: stores to shared memory, lane 0 one round more": (
        {
            "global_load_requests": 39,
            "global_load_sectors": 129,
            "shared_store_requests": 39,
            "shared_store_wavefronts": 39,
        },
        "unrolled as above: lane 0 does its 4 rounds when the others have done their 3",
    ),
}


@pytest.mark.parametrize("name", READINGS)
def test_reading(probe, name):
    launch = probe.LAUNCHES[name]
    arguments = launch.args()
    report = gpukit.profile(
        launch.kernel, launch.grid, launch.block, *arguments, shared_bytes=launch.shared_bytes, hazards=False
    )
    counted = {counter: report.counters[counter] for counter in probe.METRICS}
    measured = dict.fromkeys(probe.METRICS, 0) | READINGS[name]["counters"]
    own, _ = EFFECTS.get(name, ({}, ""))
    assert all(own[counter] != measured[counter] for counter in own)
    assert counted == measured | own


def test_every_launch_was_read_and_most_agree(probe):
    assert list(READINGS) == list(probe.LAUNCHES)
    assert set(EFFECTS) == {name for name in READINGS if name.startswith(("merged: ", "unrolled: ", "split: "))}
    assert len(READINGS) - len(EFFECTS) == 99


def test_kernels_are_free_of_hazards(probe):
    """A race would let the GPU read other numbers the next time."""
    for name, launch in probe.LAUNCHES.items():
        report = gpukit.profile(
            launch.kernel, launch.grid, launch.block, *launch.args(), shared_bytes=launch.shared_bytes
        )
        assert not report.errors, name
