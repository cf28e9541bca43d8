"""What was recorded of the CTR ladder on an H200 (data/results/ctr_h200.json, by `gpukit bench ctr --machine gpu`)."""

import importlib
import json
from pathlib import Path

import pytest

from gpukit import plugins

plugins.load("ctr")
costs = importlib.import_module("gpukit_labs.ctr.bench.cost")
summary = importlib.import_module("gpukit_labs.ctr.bench.summary")

FILE = Path(__file__).parents[1] / "data" / "results" / "ctr_h200.json"
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="nothing is recorded yet")
FOUND = json.loads(FILE.read_text()) if FILE.is_file() else {"ladder": [], "quality": [], "profiles": []}
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
