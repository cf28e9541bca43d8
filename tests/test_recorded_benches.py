"""The benchmarks recorded on an H200 (data/results/bench_h200_*.json): complete, plausible, good enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpukit import registry
from gpukit.gpus import find_gpu

FILES = sorted((Path(__file__).parents[1] / "data" / "results").glob("bench_h200_*.json"))
RECORDS = {path.stem.removeprefix("bench_h200_"): json.loads(path.read_text()) for path in FILES}
PEAK = find_gpu("H200").bandwidth_gb_s


def bandwidths(family):
    """GB/s of the rungs of a family that were timed."""
    return {entry["key"]: entry["bandwidth_gb_s"] for entry in RECORDS[family]["rungs"] if entry["timing"]}


def test_every_family_was_measured():
    assert set(RECORDS) == set(registry.own_families())


@pytest.mark.parametrize("family", RECORDS)
def test_a_record_says_where_it_is_from_and_has_every_rung(family):
    record = RECORDS[family]
    machine = record["machine"]
    assert (machine["gpu"], record["family"], record["device"]) == ("NVIDIA H200", family, "gpu")
    named = ("driver", "date", "commit", "numba-cuda", "cupy-cuda13x", "sm_mhz", "memory_mhz")
    assert all(machine[key] for key in named)
    assert machine["command"] == f"gpukit bench {family} --machine gpu --out bench_h200_{family}.json"
    assert [entry["key"] for entry in record["rungs"]] == list(registry.find_family(family).rungs)


@pytest.mark.parametrize("family", RECORDS)
def test_nothing_is_wrong_or_too_good_to_be_true(family):
    rungs = registry.find_family(family).rungs
    for entry in RECORDS[family]["rungs"]:
        rung = rungs[entry["key"]]
        assert entry["status"] in ({"race"} if rung.hazard else {"right"}) or "gpu" not in rung.machines, entry["key"]
        if entry["timing"]:
            assert entry["check"]["cases"] > 0 and not entry["check"]["failures"]
            assert entry["timing"]["n"] >= 3
            assert not any("miscounted" in remark for remark in entry["timing"]["remarks"])
            assert not entry["bandwidth_gb_s"] or entry["bandwidth_gb_s"] < PEAK


def test_the_ladder_was_measured_well_past_the_cache():
    record = RECORDS["reduction"]
    assert record["n"] * 4 == 2 << 30 > 30 * record["machine"]["l2_bytes"]


def test_the_fastest_rung_reaches_the_libraries():
    measured = bandwidths("reduction")
    library = max(measured["cupy_sum"], measured["torch_sum"])
    kernels = {key: value for key, value in measured.items() if key not in ("cupy_sum", "torch_sum")}
    assert max(kernels.values()) >= 0.97 * library
    assert max(value for key, value in kernels.items() if not key.startswith("cpp:")) >= 0.92 * library


def test_the_race_has_a_right_sum_on_the_h200_all_the_same():
    volatile = {entry["key"]: entry for entry in RECORDS["reduction"]["rungs"] if "volatile" in entry["key"]}
    assert set(volatile) == {"last_warp_volatile", "cpp:last_warp_volatile"}
    for entry in volatile.values():
        assert (entry["status"], entry["log"]["decision"]) == ("race", "revert")
        assert "wrong_for_its_hazard" not in entry


def test_the_grid_was_swept():
    swept = {(row["rung"], row["blocks"]) for row in RECORDS["reduction"]["sweep"]["rows"]}
    blocks = (64, 256, 1024, 4096, 16384)
    assert swept == {(rung, n) for rung in registry.find_family("reduction").sweep.rungs for n in blocks}


def test_the_figures_of_the_kernels_readme_are_the_recorded_ones():
    data = FILES[0].parent
    text = (data.parents[1] / "gpukit" / "kernels" / "README.md").read_text()
    words = " ".join(text.split())
    measured = bandwidths("reduction")
    told = ("naive", "compact", "sequential", "shared_sequential", "first_add", "last_warp_shuffle", "unrolled")
    told += (
        "shuffle",
        "grid_stride",
        "coarsened",
        "cpp:vectorized",
        "cpp:vectorized_unrolled",
        "cupy_sum",
        "torch_sum",
    )
    table = words[words.index("## The sum of 2 GiB") : words.index("## Where published")]
    for key in (*told, "cpp:grid_stride", "cpp:grid_stride_signed"):
        assert f"{measured[key]:,.0f}" in table, key
    for ceiling in RECORDS["reduction"]["ceilings"].values():
        assert f"{ceiling:,.0f}" in table
    rows = json.loads((data / "h200_launch_cost.json").read_text())["rows"]
    for n, names in ((1 << 29, ("held_gb_s", "free_gb_s")), (1 << 28, ("held_gb_s", "free_gb_s"))):
        (row,) = (row for row in rows if (row["rung"], row["n"]) == ("grid_stride", n))
        assert all(f"{row[name]:,.0f}" in table for name in names)
    counted = json.loads((data / "h200_families.json").read_text())["summary"]
    launches, numba, agree = counted["launches"], counted["numba"], counted["compiled_level_agrees"]
    assert f"all {launches} launches, {numba} in numba and {counted['CUDA C++']} in CUDA C++" in words
    assert f"counts in {agree}; in the other {launches - agree} the" in words
    assert f"agrees in {counted['source_level_agrees']} of {numba};" in words
    assert f"In {counted['launches_with_stray_bank_conflicts']} launches" in words


def test_one_atomic_a_block_is_free_for_few_blocks_and_not_for_many():
    """h200_block_atomics.json, made by data/probes/block_atomics.py; deck 7 shows it."""
    record = json.loads((Path(__file__).parents[1] / "data/results/h200_block_atomics.json").read_text())
    assert record["machine"]["gpu"] == "NVIDIA H200" and record["machine"]["date"]
    small = {row["blocks"]: row for row in record["rows"] if (row["n"], row["dtype"]) == (1 << 20, "float32")}
    assert sorted(small) == [160, 1_024, 4_096, 16_384, 32_768]

    def cost(blocks):
        return small[blocks]["finish_atomic"]["median_s"] / small[blocks]["grid_stride"]["median_s"]

    assert cost(160) < 1.01 and cost(32_768) > 2.5
    many = small[32_768]
    assert many["every_thread"]["median_s"] > 20 * many["finish_atomic"]["median_s"]
