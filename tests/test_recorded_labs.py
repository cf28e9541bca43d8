"""What was recorded of the labs: on an H200 (h200_labs.json, by data/probes/labs.py), and of grading a class of 300
(grading.json, by data/probes/grading.py)."""

import json
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[1] / "data" / "results"
RECORD = json.loads((RESULTS / "h200_labs.json").read_text())
GRADING = json.loads((RESULTS / "grading.json").read_text())


def test_every_solution_passed_on_the_gpu():
    assert {test["status"] for test in RECORD["tests"]} == {"passed"}
    assert len({(test["lab"], test["language"]) for test in RECORD["tests"]}) == 12
    assert len(RECORD["tests"]) == 217


def test_the_record_says_where_and_when():
    assert RECORD["machine"]["gpu"] == "NVIDIA H200"
    assert {"driver", "date", "command", "commit", "numba-cuda", "cupy-cuda13x"} <= RECORD["machine"].keys()


def apart(found):
    """How far the two times are from each other, over the reference's."""
    return abs(found["answer"]["median_s"] / found["reference"]["median_s"] - 1)


@pytest.mark.parametrize("found", RECORD["times"], ids=lambda found: f"{found['language']}-{found['time']}")
def test_an_answer_that_is_the_reference_takes_as_long(found):
    """The two times are those of one kernel, in turns: what lies between them is what such times cannot tell. It is
    3 %, or the width of the quartiles where something else disturbed the GPU."""
    low, high = found["reference"]["quartiles_s"]
    assert found["said"].endswith("no difference")
    assert apart(found) <= max(0.03, (high - low) / found["reference"]["median_s"])
    assert found["answer"]["repeats"] == found["reference"]["repeats"] == 75


def test_hardly_a_time_was_disturbed():
    assert sum(apart(found) > 0.03 for found in RECORD["times"]) <= 1


def test_a_class_of_300_is_graded_in_ten_minutes_and_twice_alike():
    assert (GRADING["submissions"], GRADING["machine"]["cores"]) == (300, 2)
    assert max(GRADING["seconds"]) < 600
    assert GRADING["same_bytes"] is True
    assert GRADING["points_by_kind"]["right"] == {"28": GRADING["kinds"]["right"]}
    assert GRADING["points_by_kind"]["untouched"] == {"0": GRADING["kinds"]["untouched"]}
    assert max(map(float, GRADING["points_by_kind"]["wrong"])) < 28
    assert {"right", "wrong", "hostile", "empty"} <= GRADING["kinds"].keys()
