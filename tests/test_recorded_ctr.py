"""What was recorded of lab 8 on H200s: the ladder (data/results/ctr_h200.json, by `gpukit bench ctr --machine gpu`),
and the sharded step on one and on two of them (ctr_sharded_h200_*.json)."""

import importlib
import json
from pathlib import Path

import pytest

from gpukit import plugins

plugins.load("ctr")
costs = importlib.import_module("gpukit_labs.ctr.bench.cost")
summary = importlib.import_module("gpukit_labs.ctr.bench.summary")

sharding = importlib.import_module("gpukit_labs.ctr.sharding.measure")

RESULTS = Path(__file__).parents[1] / "data" / "results"
FOUND = json.loads((RESULTS / "ctr_h200.json").read_text())
SHARDED = [json.loads((RESULTS / f"ctr_sharded_h200_{count}.json").read_text()) for count in (1, 2)]
LADDERS = summary.ladders(FOUND)
PAGE = Path(costs.__file__).parents[1] / "README.md"
REFERENCE, ALL = "row-wise, float32, eager", "all switches"


def rung(batch, name):
    return next(one for one in LADDERS[batch] if one["name"] == name)


def speed(batch, name):
    """Samples a second."""
    return rung(batch, name)["samples_per_second"]


def test_the_record_says_where_and_when():
    machine = FOUND["machine"]
    assert machine["gpu"] == "NVIDIA H200" and FOUND["what"] == "gpukit bench ctr"
    assert {"driver", "date", "command", "commit", "torch", "cupy-cuda13x"} <= machine.keys()


def test_the_model_is_that_of_the_baselines():
    model = FOUND["model"]
    assert model["fields"] == {
        "member": 10_000_000,
        "ad": 1_000_000,
        "campaign": 100_000,
        "device": 10,
        "country": 250,
        "slot": 1_000,
    }
    assert (model["numbers"], model["dim"], model["hidden"]) == (13, 32, [256, 128])


def test_every_rung_was_timed_at_both_batches():
    assert list(LADDERS) == [8_192, 65_536]
    for batch, large in ((8_192, 65_536), (65_536, 262_144)):
        assert [one["batch"] for one in LADDERS[batch]] == [batch] * 12 + [large]
        assert all("error" not in one for one in LADDERS[batch])
        for one in LADDERS[batch]:
            assert one["fastest"] <= one["seconds"] <= one["slowest"]
            assert one["samples_per_second"] == pytest.approx(one["batch"] / one["seconds"])
            assert 0 < one["fraction"] < 1, "nothing is faster than its floor"


def test_the_targets_are_reached():
    for batch, wanted in summary.WANTED.items():
        assert summary.best(LADDERS[batch])["samples_per_second"] >= wanted


def test_floors_are_those_of_the_formula():
    tflops, copy = FOUND["ceilings"]["tflops"], FOUND["ceilings"]["copy"]
    rows = sum(FOUND["model"]["fields"].values())
    for found in LADDERS.values():
        for one in found:
            switches, recorded = one["switches"], one["cost"]
            dense = switches["optimizer"] in ("dense", "fused")
            made = costs.cost(
                fields=6,
                dim=32,
                numbers=13,
                hidden=(256, 128),
                element=2 if switches["precision"] == "bfloat16" else 4,
                distinct=recorded["gather"] / (6 * 32 * 4),
                dense_rows_per_sample=rows / one["batch"] if dense else 0.0,
            )
            assert made.to_dict() == pytest.approx(recorded)
            floor = made.floor_seconds(copy, tflops[switches["precision"]]) * one["batch"]
            assert one["floor_seconds"] == pytest.approx(floor)
            assert one["fraction"] == pytest.approx(floor / one["seconds"])


def test_all_switches_learn_what_the_reference_in_float32_does():
    """Within half a standard error of the test logloss, at every batch."""
    for batch in (8_192, 65_536, 262_144):
        ways = {entry["name"]: entry for entry in FOUND["quality"] if entry["batch"] == batch}
        assert ways[ALL]["reference"] == REFERENCE and ways[ALL]["rung"] == "graph"
        assert ways[ALL]["samples"] == ways[REFERENCE]["samples"] > FOUND["log"]["train"] - batch
        assert abs(ways[ALL]["logloss"] - ways[REFERENCE]["logloss"]) <= 0.5 * ways[REFERENCE]["standard_error"]
        assert ways[ALL]["logloss"] > FOUND["log"]["bayes_logloss"]


def test_kernels_in_a_profile_are_those_of_its_groups():
    assert {(one["batch"], one["rung"]) for one in FOUND["profiles"]} >= {(8_192, "graph"), (65_536, "graph")}
    for one in FOUND["profiles"]:
        assert "error" not in one
        sums = dict.fromkeys(one["groups"], 0.0)
        for kernel in one["kernels"]:
            sums[kernel["group"]] += kernel["us"]
        assert sums == pytest.approx({name: group["us"] for name, group in one["groups"].items()})
        assert one["us_of_kernels"] == pytest.approx(sum(sums.values()))


def test_bfloat16_and_compiling_are_worth_something_where_launches_are_not_waited_for():
    for batch in LADDERS:
        back = {entry["name"]: entry for entry in FOUND["turned_back"] if entry["batch"] == batch}
        assert set(back) == {"no_bfloat16", "no_compile"}
        assert min(entry["seconds"] for entry in back.values()) > 1.4 * rung(batch, "graph")["seconds"]


def test_most_of_a_captured_step_is_what_the_floor_counts_and_little_is_waiting():
    """Matrix products, gather and update; the rest are passes over activations. Sort and Adam run beside."""
    for entry in FOUND["profiles"]:
        if entry["rung"] == "graph" and entry["batch"] == 65_536:
            us = {name: group["us"] for name, group in entry["groups"].items()}
            counted = us["matrix products"] + us["gather"] + us["update"]
            assert counted > 0.5 * entry["us_of_step"]
            assert counted + us["elementwise passes"] > 0.8 * entry["us_of_step"]


def test_the_page_says_what_was_recorded():
    """Speeds and shares in README.md of the package, and no others."""
    page = " ".join(PAGE.read_text().split())
    for batch in LADDERS:
        best, over = summary.best(LADDERS[batch]), summary.over_eager(LADDERS[batch])
        told = f"{best['samples_per_second'] / 1e6:.1f} million at batch {batch:,}, {over:.0f} times the eager loop"
        assert told in page, told
    for before, after, words in (
        ("fused", "rowwise", "the row-wise update"),
        ("rowwise", "kernels", "our kernels"),
        ("compiled", "graph", "the CUDA graph"),
    ):
        times = [speed(batch, after) / speed(batch, before) for batch in LADDERS]
        told = f"{words} {times[0]:.2f} and {times[1]:.2f} times"
        assert told in page, told
    fractions = [rung(batch, "graph")["fraction"] for batch in LADDERS]
    told = f"{100 * fractions[0]:.0f} % and {100 * fractions[1]:.0f} % of the floor"
    assert told in page, told
    worst = max(
        abs(entry["difference"]) / entry["standard_error"] for entry in FOUND["quality"] if entry["name"] == ALL
    )
    told = f"at most {worst:.2f} standard errors"
    assert told in page, told
    for what, name in (("it is worth", "no_bfloat16"), ("torch.compile", "no_compile")):
        back = {entry["batch"]: entry["seconds"] for entry in FOUND["turned_back"] if entry["name"] == name}
        times = [back[batch] / rung(batch, "graph")["seconds"] for batch in LADDERS]
        told = f"{what} {times[0]:.2f} and {times[1]:.2f} times"
        assert told in page, told


# --- the sharded step ------------------------------------------------------------------------------------------------


def scaled(batch, exchange, replicate, mode="graph"):
    """Times one GPU, at the same batch in each."""
    wanted = sharding.Setting(batch, exchange, replicate, mode)
    return next(row for row in sharding.scaling(*SHARDED) if row.setting == wanted)


def test_the_sharded_records_say_where_and_when():
    for count, record in enumerate(SHARDED, 1):
        assert (record["processes"], record["gpu"], record["gpus"]) == (count, "NVIDIA H200", ["NVIDIA H200"] * 2)
        assert record["model"]["fields"] == FOUND["model"]["fields"]
        assert {"driver", "date", "command", "commit", "torch", "nccl"} <= record.keys()
        assert all("error" not in setting for setting in record["settings"])


def test_two_gpus_are_worth_1_7_of_one_at_large_batches():
    for batch in (65_536, 262_144):
        assert scaled(batch, "bfloat16", sharding.SMALL).times >= 1.7
        assert scaled(batch, "float32", sharding.SMALL).times >= 1.7


def test_the_page_says_how_two_gpus_scale():
    page = " ".join(PAGE.read_text().split())
    times = [scaled(batch, "bfloat16", sharding.SMALL).times for batch in (65_536, 262_144, 8_192)]
    assert f"train {times[0]:.2f} times as much as one at batch 65,536 each, and {times[1]:.2f} times" in page
    assert f"At 8,192 it is {times[2]:.2f} times" in page
    assert f"in float32 {scaled(65_536, 'float32', 0).times:.2f} times at 65,536" in page
    assert f"{scaled(262_144, 'bfloat16', sharding.SMALL).many / 1e6:.1f} million" in page
