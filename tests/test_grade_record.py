"""Records: what is one, what is not and why, and that a file gives back what was saved."""

import copy
import json

import grade_records
import pytest
from grade_records import HARD_NAMES, classroom, everything_right, hostile, interrupted, racing, refused

from gpukit.errors import GpukitError
from gpukit.grading import record as records
from gpukit.grading.record import AT_LEAST, Cost

GOOD = records.to_dict(racing("ada"))


def changed(path, value):
    """The good record with something else at a path of keys; a deletion if the value is `...`."""
    data = copy.deepcopy(GOOD)
    *way, last = path
    place = data
    for key in way:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


def test_a_class_of_records_is_in_order():
    made = classroom()
    assert {r.status for r in made} == set(records.STATUSES)
    assert {item.status for r in made for item in r.items} == set(records.RESULTS)
    assert {r.student for r in made} >= set(HARD_NAMES)
    for one in made:
        assert records.faults(records.to_dict(one)) == []


FAULTS = [
    (("format",), "gpukit-grade/2", "this version of gpukit reads 'gpukit-grade/1'"),
    (("lab",), ..., "lab is missing."),
    (("lab",), "", "lab is empty."),
    (("student",), 7, "student is a number; it must be text."),
    (("student",), "a\ud800", "student holds half a character"),
    (("extra",), 1, "extra is not a key of gpukit-grade/1."),
    (("submission", "file"), "/home/ada/student.py", "must be relative to the folder of submissions"),
    (("submission", "file"), "C:\\ada\\student.py", "must be relative to the folder of submissions"),
    (("submission", "file"), "../x", "must be relative to the folder of submissions"),
    (("submission", "sha256"), "abc", "submission.sha256 must be 64 digits"),
    (("submission", "language"), "Rust", "submission.language is 'Rust'; it must be 'Python' or 'CUDA C++' or ''."),
    (("submission", "notes"), ["a", 3], "submission.notes[1] is a number"),
    (("submission",), [], "submission is a list; it must be an object."),
    (("status",), "fine", "status is 'fine'; it must be 'graded' or"),
    (("status",), ["graded"], "status is a list"),
    (("status",), "refused", "reason does not say why"),
    (("reason",), "because", "status is 'graded', but reason is not ''."),
    (("reason",), "two\nlines", "reason has several lines"),
    (("seed",), 1.5, "seed is 1.5; it must be a whole number."),
    (("seed",), True, "seed is true or false; it must be a number."),
    (("points",), float("nan"), "points is nan; it must be 0 or more."),
    (("points",), -1, "points is -1; it must be 0 or more."),
    (("points",), 9.0, "points is 9, but the items add up to 2."),
    (("max_points",), 11.0, "max_points is 11, but the items add up to 10."),
    (("items",), {}, "items is an object; it must be a list."),
    (("items", 0), None, "items[0] is nothing (null); it must be an object."),
    (("items", 0, "hint"), ..., "items[0].hint is missing."),
    (("items", 0, "title"), "a\nb", "items[0].title has several lines"),
    (("items", 0, "line"), "4", "items[0].line is text; it must be a number."),
    (("items", 0, "status"), "passed", "test_5_1_steps is passed, but has 0 of 1 points."),
    (("items", 0, "message"), "", "test_5_1_steps is failed, but its message is ''."),
    (("items", 0, "points"), 3.0, "test_5_1_steps has 3 of 1 points."),
    (("items", 5, "points"), 1.0, "test_5_10_cost is not started, but has 1 points."),
    (("items", 1, "test"), "test_5_1_steps", "there are several items of the test 'test_5_1_steps'."),
    (("items", 1, "hazards", 0, "severity"), "bad", "items[1].hazards[0].severity is 'bad'"),
    (("items", 4, "counters", "global_atomics", "way"), "about", "items[4].counters.global_atomics.way is 'about'"),
    (("items", 4, "counters", "global_atomics", "got"), "9", "items[4].counters.global_atomics.got is text"),
    (("items", 1, "lines"), {"x": {}}, "items[1].lines has the key 'x'; its keys are line numbers."),
    (("items", 1, "lines"), {"3": {"a": None}}, "items[1].lines.3.a is nothing (null)"),
    (("environment",), {"python": 3}, "environment.python is a number"),
    (("complete",), 1, "complete is a number; it must be true or false."),
]


@pytest.mark.parametrize(("path", "value", "said"), FAULTS, ids=lambda value: str(value)[:40])
def test_each_fault_has_a_sentence(path, value, said):
    found = records.faults(changed(path, value))
    assert any(said in sentence for sentence in found), found
    assert all("\n" not in sentence and sentence.endswith(".") for sentence in found)
    with pytest.raises(GpukitError) as raised:
        records.from_dict(changed(path, value), "ada.json")
    assert said in str(raised.value) and "ada.json" in str(raised.value)


@pytest.mark.parametrize("data", [None, 3, "x", [], {}, {"format": None}, [[[]]], True])
def test_anything_at_all_may_be_asked_about(data):
    assert len(records.faults(data)) == 1


def test_several_faults_are_all_told():
    data = changed(("lab",), 3)
    data["seed"], data["items"][0]["task"] = None, ""
    assert len(records.faults(data)) == 3


def test_a_file_gives_back_the_record_and_the_same_bytes(tmp_path):
    for number, one in enumerate(classroom()):
        path = tmp_path / f"{number}.json"
        records.save(one, path)
        again = records.load(path)
        assert again == one
        first = path.read_bytes()
        records.save(again, path)
        assert path.read_bytes() == first
        assert json.loads(first)["format"] == records.FORMAT


def test_what_contradicts_itself_is_not_saved(tmp_path):
    wrong = grade_records.record("ada", [grade_records.item("test_5_1_steps")], points=3.0)
    with pytest.raises(GpukitError, match="points is 3, but the items add up to 1"):
        records.save(wrong, tmp_path / "ada.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{\n", "2: not JSON"),
        (b"\xff{}", "not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"a": ' + b"9" * 5000 + b"}", "a number too long"),
        (b"[]", "A record is a JSON object; this is a list."),
    ],
    ids=["cut off", "not UTF-8", "deep", "long number", "list"],
)
def test_a_bad_file_is_an_error_that_names_it(tmp_path, content, said):
    path = tmp_path / "ada.json"
    path.write_bytes(content)
    with pytest.raises(GpukitError) as raised:
        records.load(path)
    assert said in str(raised.value) and str(path) in str(raised.value)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(GpukitError, match="cannot read"):
        records.load(tmp_path / "nobody.json")
    with pytest.raises(GpukitError, match="cannot write"):
        records.save(racing("ada"), tmp_path / "no folder" / "ada.json")


def test_only_a_complete_record_scores():
    assert interrupted("ada").points == 1.0 and interrupted("ada").score == 0.0
    assert everything_right("ada").score == 10.0
    assert "interrupted" in interrupted("ada").verdict
    assert refused("ada").verdict == refused("ada").reason and everything_right("ada").verdict == ""


@pytest.mark.parametrize(
    ("cost", "ratio", "kept"),
    [
        (Cost(1024, 1024, 1024), 1.0, True),
        (Cost(4096, 1024, 1024), 4.0, False),
        (Cost(512, 1024, 1024), 0.5, True),
        (Cost(0, 0, 0), 1.0, True),
        (Cost(3, 0, 0), 4.0, False),
        (Cost(0, 8, 7), 0.125, True),
        (Cost(16.0, 30.0, 32.0, AT_LEAST), 2.0, False),
        (Cost(32.0, 30.0, 32.0, AT_LEAST), 1.0, True),
    ],
)
def test_a_cost_is_compared_with_the_reference_and_the_limit(cost, ratio, kept):
    assert cost.ratio == ratio
    assert cost.kept is kept
    assert (cost.verdict == "kept") is kept


def test_a_limit_that_is_missed_is_named_by_its_side():
    assert Cost(2, 1, 1).verdict == "over the limit"
    assert Cost(1, 2, 2, AT_LEAST).verdict == "below the limit"


def test_hostile_text_is_a_good_record():
    assert records.faults(records.to_dict(hostile())) == []
