"""Records for other programs: each format against a validator of its own, and against files written down here."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

import pytest
from grade_records import (
    HARD_NAMES,
    classroom,
    everything_right,
    hostile,
    interrupted,
    missing,
    not_begun,
    racing,
    refused,
    stopped,
)
from hypothesis import given
from hypothesis import strategies as st

from gpukit.errors import GpukitError
from gpukit.grading import exports, names, outputs, tables
from gpukit.grading.autograder import autograder
from gpukit.grading.exports import canvas, classroom50, github, gradebook, gradescope, junit, nbgrader, otter
from gpukit.grading.record import NOT_STARTED, Record

CLASS = classroom()
SMALL = [everything_right("ada"), racing("Müller, Jürgen"), refused('=cmd|"/C calc"!A0'), interrupted("bob")]


def table(content: bytes, encoding="utf-8"):
    return list(csv.reader(io.StringIO(content.decode(encoding), newline=""), strict=True))


def test_the_folder_is_the_list_of_formats():
    found = exports.formats()
    assert set(found) == {"classroom50", "github", "gradebook", "gradescope", "junit", "nbgrader", "otter"}
    for name, form in found.items():
        assert form.about.endswith((".", ":")) or len(form.about) > 20, name
        assert form.per_student == ("{student}" in form.path)


@pytest.mark.parametrize("form", exports.formats().values(), ids=lambda form: form.name)
def test_a_format_depends_on_the_records_alone_and_not_on_their_order(form):
    if form.per_student:
        assert [form.export([one]) for one in CLASS] == [form.export([one]) for one in classroom()]
    else:
        assert form.export(CLASS) == form.export(CLASS[::-1])
        assert form.export([])


# --- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1+cmd", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x"],
)
def test_what_would_be_a_formula_is_text(text):
    assert tables.safe(text) == f"'{text}"


@pytest.mark.parametrize("text", ["ada", "Ann-Marie", "a=b", "--", "", "5.1", "'", "学"])
def test_what_is_no_formula_stays(text):
    assert tables.safe(text) == text


@pytest.mark.parametrize("form", [gradebook, otter, nbgrader], ids=lambda form: form.PATH)
def test_no_cell_of_a_table_is_a_formula_and_every_row_is_whole(form):
    rows = table(form.export(CLASS), "utf-8-sig")
    assert len({len(row) for row in rows}) == 1
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if re.match(r"\s*[=+@]|-[^-]|[\t\r\n]", cell)]
    assert any(cell.startswith("'=cmd") for cell in cells) or form is otter  # which names files, not students


def test_the_gradebook():
    assert gradebook.export(SMALL).decode("utf-8-sig") == (
        "student,task 5.1,task 5.2,task 5.3,task 5.10,total,status,reason\n"
        "(most points),1,3.5,3.5,2,10,,\n"
        '"\'=cmd|""/C calc""!A0",0,0,0,0,0,refused,'
        "student.py:1: os is not among the modules that a kernel file may import; remove the line.\n"
        "ada,1,3.5,3.5,2,10,graded,\n"
        "bob,0,0,0,0,0,interrupted,The grading of this submission was interrupted; grade it again.\n"
        '"Müller, Jürgen",0,0,2,0,2,graded,\n'
    )


def test_the_gradebook_is_for_excel_and_those_for_programs_are_not():
    assert gradebook.export(SMALL).startswith(b"\xef\xbb\xbf")
    assert not otter.export(SMALL).startswith(b"\xef\xbb\xbf")
    assert not nbgrader.export(SMALL).startswith(b"\xef\xbb\xbf")


def test_the_gradebook_has_everybody_once():
    rows = table(gradebook.export(CLASS), "utf-8-sig")
    assert len(rows) == 2 + len(CLASS)
    assert sum(row[0].lstrip("'") in HARD_NAMES for row in rows) >= len(HARD_NAMES) - 1  # one has an override in it


def test_the_table_of_otter():
    rows = table(otter.export(SMALL))
    assert rows[0] == ["file", "5.1", "5.2", "5.3", "5.10", "total_points_earned", "percent_correct", "grading_status"]
    assert rows[1] == ["points-per-question", "1", "3.5", "3.5", "2", "10", "1", "--"]
    for row in rows[1:]:
        points = [float(cell) for cell in row[1:5]]
        assert sum(points) == float(row[5])
        assert 0 <= float(row[6]) <= 1
    by_file = {row[0]: row for row in rows[2:]}
    assert by_file[SMALL[0].submission.file][6:] == ["1", "Completed"]
    assert by_file[SMALL[2].submission.file][7] == SMALL[2].reason


def test_who_has_no_file_is_in_the_table_of_otter_by_name():
    rows = table(otter.export([missing("eve"), everything_right("ada")]))
    assert ["eve", "0", "0", "0", "0", "0", "0", "There is no student.py in the folder."] in rows


def test_the_table_of_nbgrader():
    assert nbgrader.export(SMALL[:2]).decode() == (
        "assignment,duedate,timestamp,student_id,last_name,first_name,email,raw_score,late_submission_penalty,score,"
        "max_score\n"
        "05_reduction,,,ada,,,,10.0,0.0,10.0,10.0\n"
        '05_reduction,,,"Müller, Jürgen",,,,2.0,0.0,2.0,10.0\n'
    )


# --- Gradescope ------------------------------------------------------------------------------------------------------

FORMATS = {"text", "html", "simple_format", "md", "ansi"}
VISIBILITIES = {"hidden", "after_due_date", "after_published", "visible"}


def gradescope_faults(data):
    """What the specification of results.json does not allow (gradescope-autograders.readthedocs.io, specs)."""
    numbers = (int, float)
    top = {"score": numbers, "execution_time": numbers, "output": str, "tests": list, "leaderboard": list}
    top |= {"extra_data": dict, "output_format": FORMATS, "test_output_format": FORMATS, "test_name_format": FORMATS}
    top |= {"visibility": VISIBILITIES, "stdout_visibility": VISIBILITIES}
    test = {"score": numbers, "max_score": numbers, "status": {"passed", "failed"}, "name": str, "number": str}
    test |= {"output": str, "output_format": FORMATS, "name_format": FORMATS, "tags": list, "extra_data": dict}
    test |= {"visibility": VISIBILITIES}
    leader = {"name": str, "value": (int, float, str), "order": {"asc", "desc"}}

    def check(where, value, allowed):
        for key, member in value.items():
            kinds = allowed.get(key)
            if kinds is None:
                yield f"{where}.{key} is unknown"
            elif member not in kinds if isinstance(kinds, set) else not isinstance(member, kinds):
                yield f"{where}.{key} is {member!r}"

    found = list(check("results", data, top))
    if "score" not in data and not all("score" in one for one in data.get("tests", [{}])):
        found.append("no score")
    for place, one in enumerate(data.get("tests", [])):
        found += check(f"tests[{place}]", one, test)
    for place, one in enumerate(data.get("leaderboard", [])):
        found += check(f"leaderboard[{place}]", one, leader)
    return found


def test_the_validator_of_gradescope_finds_faults():
    good = json.loads(gradescope.export([racing("ada")]))
    assert gradescope_faults(good) == []
    for change in (
        {"score": "2"},
        {"visibility": "secret"},
        {"grade": 1},
        {"tests": [{"status": "not started"}]},
        {"leaderboard": [{"name": "x", "value": 1, "order": "up"}]},
    ):
        assert gradescope_faults({**good, **change}), change


@pytest.mark.parametrize("one", CLASS, ids=lambda one: names.safe_name(one.student))
def test_gradescope_gets_a_good_file_for_every_submission(one):
    data = json.loads(gradescope.export([one]))
    assert gradescope_faults(data) == []
    assert data["score"] == one.score
    assert sum(test["score"] for test in data["tests"]) == data["score"]
    assert one.verdict == "" or data["output"]
    assert "\r" not in json.dumps(data)


def test_gradescope_gets_message_hint_and_counters():
    data = json.loads(gradescope.export([racing("ada")]))
    right, cost = data["tests"][1], data["tests"][4]
    assert right["number"] == "5.2" and right["status"] == "failed"
    assert "no barrier stands between them" in right["output"] and "Hint: Who has to be done" in right["output"]
    assert "global atomics: 256 (at most 8; the reference solution: 8)" in cost["output"]
    assert data["tests"][5]["status"] == "failed" and data["tests"][5]["score"] == 0
    assert data["output"] == "two files: student.py is graded, old.py is not"


def test_the_leaderboard_of_gradescope_is_for_right_answers_and_less_is_better():
    leaders = json.loads(gradescope.export([everything_right("ada", 4.0)]))["leaderboard"]
    assert leaders[0] == {"name": "5.2 global load sectors (reference: 1)", "value": 4.0, "order": "asc"}
    assert {leader["order"] for leader in leaders} == {"asc"}
    for one in (racing("ada"), refused("ada"), stopped("ada"), interrupted("ada"), not_begun("ada"), missing("ada")):
        assert json.loads(gradescope.export([one]))["leaderboard"] == []


# --- GitHub ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("one", CLASS, ids=lambda one: names.safe_name(one.student))
def test_the_github_reporter_can_read_every_result(one):
    data = json.loads(github.export([one]))
    assert data["version"] == 3 and data["status"] in ("pass", "fail", "error")
    assert data["tests"]  # the reporter fails without
    assert sum(test["score"] for test in data["tests"]) == one.score
    assert data["max_score"] == one.max_points
    for test in data["tests"]:
        assert test["status"] in ("pass", "fail", "error") and test["name"]
        assert test["message"] or test["status"] == "pass"
        assert isinstance(test["line_no"], int) and len(test["output"]) <= 500
    assert (data["status"] == "error") == bool(one.verdict)
    assert (data["status"] == "pass") == (one.score == one.max_points)


def classroom50_faults(data):
    """What the schema classroom50/result/v1 does not allow of the keys that a record fills."""
    found = [f"{key} missing" for key in ("schema", "score", "max-score", "tests") if key not in data]
    found += [f"{key} unknown" for key in data.keys() - {"schema", "score", "max-score", "tests"}]
    for part in (data, *data.get("tests", [])):
        for key in ("score", "max-score"):
            if type(part.get(key)) is not int or part[key] < 0:
                found.append(f"{key} is {part.get(key)!r}")
        if not found and part["score"] > part["max-score"]:
            found.append("more than the most")
    for test in data.get("tests", []):
        if type(test.get("passed")) is not bool or not test.get("test-name"):
            found.append(f"{test} is no test")
    return found


@pytest.mark.parametrize("one", CLASS, ids=lambda one: names.safe_name(one.student))
def test_classroom_50_gets_whole_points_in_the_same_share(one):
    data = json.loads(classroom50.export([one]))
    assert classroom50_faults(data) == []
    assert data["score"] / data["max-score"] == one.score / one.max_points
    assert sum(test["score"] for test in data["tests"]) == data["score"]


def test_the_validator_of_classroom_50_finds_faults():
    good = json.loads(classroom50.export([racing("ada")]))
    for change in ({"score": 1.5}, {"score": 99}, {"tests": [{"test-name": "x", "passed": 1, "score": 0}]}, {"x": 1}):
        assert classroom50_faults({**good, **change}), change


# --- JUnit -----------------------------------------------------------------------------------------------------------


def junit_faults(content: bytes):
    """What readers of JUnit XML stumble over: counts that do not fit, tests without a name, more than one outcome."""
    root = ElementTree.fromstring(content)
    found = [] if root.tag == "testsuites" else ["no testsuites"]
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    for parent, suites in ((root, list(root)), *((suite, [suite]) for suite in root)):
        cases = [case for suite in suites for case in suite]
        if int(parent.get("tests")) != len(cases):
            found.append("tests")
        for name, tag in kinds.items():
            if int(parent.get(name)) != sum(case.find(tag) is not None for case in cases):
                found.append(name)
    for case in root.iter("testcase"):
        if not case.get("name") or not case.get("classname") or len(case) > 1:
            found.append(f"testcase {case.attrib}")
    return found


def test_junit_is_xml_whatever_is_in_the_messages():
    content = junit.export(CLASS)
    assert junit_faults(content) == []
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(content)}
    assert len(suites) == len(CLASS)
    assert "李小龍 🐉" in suites and "Müller, Jürgen" in suites


def test_the_validator_of_junit_finds_faults():
    content = junit.export(SMALL)
    assert junit_faults(content.replace(b'failures="', b'failures="1', 1))
    with pytest.raises(ElementTree.ParseError):
        junit_faults(content.replace(b"no barrier", b"no \x00 barrier"))


def test_junit_says_what_became_of_each_test():
    (suite,) = ElementTree.fromstring(junit.export([racing("ada")]))
    cases = {case.get("name"): case for case in suite}
    assert cases["test_5_10_cost"].find("skipped").get("message").startswith("TODO 5.10")
    assert cases["test_5_3_right"].find("*") is None
    failure = cases["test_5_2_right"].find("failure")
    assert failure.get("message") == "product[8, 128](x, partial) has a hazard"
    assert "[race_shared]" in failure.text and "Hint: Who" in failure.text


@pytest.mark.parametrize("make", [refused, stopped, missing, interrupted], ids=lambda make: make.__name__)
def test_in_junit_a_submission_without_a_grade_is_an_error(make):
    (suite,) = ElementTree.fromstring(junit.export([make("ada")]))
    assert suite.get("errors") == "1" and suite.get("failures") == "0"
    assert int(suite.get("skipped")) == len(make("ada").items)
    assert suite[0].find("error").get("message") == make("ada").verdict


# --- Canvas ----------------------------------------------------------------------------------------------------------

EXPORTED = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Lab 4 (76),Lab 5: Reduction (77),Current Score,Final Score\r\n"
    ",,,,,Manual Posting,,,\r\n"
    "    Points Possible,,,,,8,10.0,(read only),(read only)\r\n"
    '"Lovelace, Ada",101,u-101,ada,"GPU, A",8,,80,80\r\n'
    '"Müller, Jürgen",102,u-102,jm,"GPU ""A""",07.50,3,"9,5",\r\n'
    '"Hopper, Grace",103,u-103,grace@navy.mil,B,,"",,\r\n'
    '"Student, Test",999,,5f3a,,,,,\r\n'
)


def filled(records, exported=EXPORTED, column="Lab 5: Reduction"):
    return canvas.fill(records, exported.encode(), column, file="course.csv")


def test_canvas_gets_one_column_and_all_else_stays_byte_for_byte():
    made = filled([everything_right("ada"), racing("Mu\u0308ller, Ju\u0308rgen"), everything_right("103", 4.0)])
    expected = (
        EXPORTED.replace('"GPU, A",8,,80', '"GPU, A",8,10,80')
        .replace('07.50,3,"9,5"', '07.50,2,"9,5"')
        .replace('B,,"",,', "B,,8.5,,")
    )
    assert made.csv.decode() == expected
    assert made.notes == []


@pytest.mark.parametrize("student", ["ada", "ADA", " ada ", "101", "u-101", "Lovelace, Ada", "lovelace, ada"])
def test_a_student_is_found_by_login_number_or_name(student):
    made = filled([everything_right(student)])
    assert '"GPU, A",8,10,80' in made.csv.decode()
    assert not [note for note in made.notes if "not found" in note]


def test_who_is_not_found_and_who_has_no_record_is_said():
    made = filled([everything_right("nobody"), everything_right("ada")])
    assert made.notes == [
        "'nobody' was not found (10 points).",
        "'Müller, Jürgen' is in the gradebook, but has no record.",
        "'Hopper, Grace' is in the gradebook, but has no record.",
    ]


def test_a_name_that_fits_two_rows_is_left_alone():
    twins = EXPORTED.replace("Hopper, Grace", "Lovelace, Ada")
    made = filled([everything_right("Lovelace, Ada")], twins)
    assert made.csv.decode() == twins
    assert "'Lovelace, Ada' fits 2 rows; none was filled in." in made.notes


@pytest.mark.parametrize("students", [("Ada", "ada"), ("ada", "101")])
def test_two_records_never_fill_one_row(students):
    wrong, right = students if students[1] == "ada" else students[::-1]
    made = filled([racing(wrong), everything_right(right)])
    assert '"GPU, A",8,10,80' in made.csv.decode()
    assert f"{wrong!r} fits the row of 'ada', which was filled in; decide which one counts." in made.notes


def test_other_points_in_canvas_are_told_and_not_rescaled():
    made = filled([everything_right("ada")], EXPORTED.replace("8,10.0,(read", "8,100,(read"))
    assert (
        "Canvas has 100 points for 'Lab 5: Reduction (77)', the lab has 10: the points were not rescaled." in made.notes
    )
    assert '"GPU, A",8,10,80' in made.csv.decode()


@pytest.mark.parametrize("separator", [";", "\t"])
def test_the_separator_and_the_byte_order_mark_are_those_of_the_file(separator):
    exported = f"Student,ID,SIS Login ID,Lab (1),Final\n{'Ada'},1,ada,,7\n".replace(",", separator)
    made = canvas.fill([everything_right("ada", 4.0)], b"\xef\xbb\xbf" + exported.encode(), "lab (1)")
    assert made.csv == b"\xef\xbb\xbf" + exported.replace(f"ada{separator}", f"ada{separator}8.5").encode()


@pytest.mark.parametrize(
    ("exported", "column", "said"),
    [
        (EXPORTED, "Lab 6", "there is no assignment called 'Lab 6'; its assignments are: 'Lab 4 (76)', 'Lab 5"),
        (EXPORTED, "Final Score", "there is no assignment called 'Final Score'"),
        (EXPORTED.replace("Lab 4 (76)", "Lab 5: Reduction (76)"), "Lab 5: Reduction", "several columns are called"),
        ("name,points\nada,3\n", "Lab", "not a gradebook that Canvas exported"),
        ("", "Lab", "not a gradebook that Canvas exported"),
        ('Student,ID,Lab (1)\n"Ada,1,\n', "Lab", "course.csv:2: a cell opens with a quote that is not closed"),
    ],
)
def test_a_gradebook_that_does_not_fit_is_an_error(exported, column, said):
    with pytest.raises(GpukitError) as raised:
        filled([everything_right("ada")], exported, column)
    assert said in str(raised.value)


def test_a_gradebook_that_is_not_utf_8_is_an_error():
    with pytest.raises(GpukitError, match="not UTF-8"):
        canvas.fill([], "Student,ID,Müller".encode("latin-1"), "Lab")


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(st.lists(st.lists(CELL, min_size=2, max_size=4), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_cells_are_read_as_the_csv_module_reads_them(rows, end):
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerow(["Student", "ID", "x"])
    writer.writerows(rows)
    text = buffer.getvalue()
    found = canvas.cells(text)
    assert [[cell.text for cell in row] for row in found] == [["Student", "ID", "x"], *rows]
    assert all(
        text[cell.start : cell.end] == f'"{cell.text.replace(chr(34), chr(34) * 2)}"' for r in found for cell in r
    )


# --- the folder ------------------------------------------------------------------------------------------------------


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_everything_is_written_and_again_the_same(tmp_path):
    out = tmp_path / "out"
    course = tmp_path / "course.csv"
    course.write_bytes(EXPORTED.encode())
    paths = outputs.write(CLASS, out, title="Lab 5: Reduction", gradebook=course)
    first = tree(out)
    assert {path.relative_to(out).as_posix() for path in paths} == set(first)
    single = {name for name in first if "/" not in name}
    assert single == {
        *("gradebook.csv", "otter.csv", "nbgrader.csv", "junit.xml", "canvas.csv", "canvas_notes.txt"),
        *("summary.html", "summary.md", "summary.png", "summary.svg", "look.html", "look.md"),
        *("leaderboard.md", "leaderboard.csv", "leaderboard_salt.txt"),
    }
    for folder, per_student in (("feedback", 2), ("gradescope", 1), ("github", 1), ("classroom50", 1)):
        assert sum(name.startswith(f"{folder}/") for name in first) == per_student * len(CLASS)
    outputs.write(CLASS[::-1], out, title="Lab 5: Reduction", gradebook=course)
    assert tree(out) == first


def test_another_class_has_other_pseudonyms_unless_it_has_the_salt(tmp_path):
    one, two, three = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    outputs.write(SMALL, one, title="Lab", formats=["leaderboard"])
    outputs.write(SMALL, two, title="Lab", formats=["leaderboard"])
    assert (one / "leaderboard.md").read_bytes() != (two / "leaderboard.md").read_bytes()
    three.mkdir()
    shutil.copy(one / "leaderboard_salt.txt", three)
    outputs.write(SMALL, three, title="Lab", formats=["leaderboard"])
    assert (one / "leaderboard.md").read_bytes() == (three / "leaderboard.md").read_bytes()


def test_a_salt_that_is_none_is_an_error(tmp_path):
    (tmp_path / "leaderboard_salt.txt").write_text("short\n")
    with pytest.raises(GpukitError, match="holds no salt"):
        outputs.write(SMALL, tmp_path, title="Lab")
    assert [path.name for path in tmp_path.iterdir()] == ["leaderboard_salt.txt"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"formats": ["gradebook", "moodle"]}, "unknown format 'moodle'; there are feedback, summary"),
        ({"formats": ["canvas"]}, "give its file"),
    ],
)
def test_a_wish_that_cannot_be_met_writes_nothing(tmp_path, options, said):
    with pytest.raises(GpukitError) as raised:
        outputs.write(SMALL, tmp_path / "out", title="Lab", **options)
    assert said in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_gradebook_that_does_not_fit_writes_nothing(tmp_path):
    with pytest.raises(GpukitError, match="cannot read"):
        outputs.write(SMALL, tmp_path / "out", title="Lab", gradebook=tmp_path / "none.csv")
    (tmp_path / "course.csv").write_text("x\n")
    with pytest.raises(GpukitError, match="not a gradebook"):
        outputs.write(SMALL, tmp_path / "out", title="Lab", gradebook=tmp_path / "course.csv")
    assert not (tmp_path / "out").exists()


def test_two_records_of_a_student_are_an_error(tmp_path):
    with pytest.raises(GpukitError, match="several records of 'ada'"):
        outputs.write([racing("ada"), refused("ada")], tmp_path / "out", title="Lab")


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(GpukitError, match="cannot write"):
        outputs.write(SMALL, tmp_path / "file", title="Lab", formats=["gradebook"])


def test_no_records_make_no_trouble(tmp_path):
    outputs.write([], tmp_path / "out", title="Lab 5")
    assert "No submission could be graded." in (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")


def test_a_class_of_which_nobody_could_be_graded_makes_no_trouble(tmp_path):
    outputs.write([refused("a"), missing("b"), interrupted("c")], tmp_path, title="Lab 5")
    assert "3 submissions" not in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert not (tmp_path / "summary.png").exists()


# --- names of files --------------------------------------------------------------------------------------------------


def test_hard_names_make_safe_files_that_differ_even_without_case():
    made = [names.safe_name(one.student) for one in CLASS]
    assert len({name.casefold() for name in made}) == len(CLASS)
    for name in made:
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[0-9a-f]{12})?", name), name
        assert len(name) <= 60
        assert not re.fullmatch(r"(?i)con|prn|aux|nul|com\d|lpt\d", name.split(".")[0])


def test_a_plain_name_stays_and_stays_apart_from_its_likes():
    assert names.safe_name("ada") == "ada"
    assert names.safe_name("Ada") != names.safe_name("ADA") != names.safe_name("ada")
    assert names.safe_name("con") != "con"


@given(st.text(min_size=1))
def test_any_name_makes_one_part_of_a_path(student):
    name = names.safe_name(student)
    assert not set(name) & set('/\\:*?"<>|\0') and name not in (".", "..") and 0 < len(name) <= 60


@given(st.text(min_size=1, max_size=3), st.text(min_size=1, max_size=3))
def test_two_students_never_share_a_file(one, two):
    assert one == two or names.safe_name(one).casefold() != names.safe_name(two).casefold()


# --- the autograder for Gradescope -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labs") / "05_reduction"
    (folder / "wrong").mkdir(parents=True)
    for name in ("test_lab.py", "solution.py", "reference.json", "student.py", "wrong/race.py"):
        (folder / name).write_text("\n")
    return folder


@pytest.fixture(scope="module")
def archive(lab):
    return zipfile.ZipFile(io.BytesIO(autograder(lab)))


def test_the_autograder_has_what_gradescope_wants_at_its_root(archive):
    found = {entry.filename: entry for entry in archive.infolist()}
    for name in ("setup.sh", "run_autograder"):
        assert found[name].external_attr >> 16 == 0o100755
        assert archive.read(name).startswith(b"#!/usr/bin/env bash\n") and b"\r" not in archive.read(name)
    assert {"pyproject.toml", "gpukit/__main__.py", "data/gpus.toml", "labs/05_reduction/test_lab.py"} <= set(found)
    assert not [name for name in found if "__pycache__" in name or "/wrong/" in name or name.endswith("student.py")]
    assert b'"/autograder/source"' in archive.read("setup.sh")


def test_a_lab_in_cpp_gets_the_compiler(lab, tmp_path):
    copy = shutil.copytree(lab, tmp_path / "06_cpp")
    (copy / "solution.cu").write_text("\n")
    made = zipfile.ZipFile(io.BytesIO(autograder(copy)))
    assert b'"/autograder/source[compiled]"' in made.read("setup.sh")


def test_the_same_lab_makes_the_same_autograder(lab):
    assert autograder(lab) == autograder(lab)


def test_what_is_no_lab_makes_no_autograder(tmp_path):
    with pytest.raises(GpukitError, match="no lab: it has no test_lab"):
        autograder(tmp_path)


GRADER = """#!{python}
import pathlib, sys
words, out = sys.argv[1:], pathlib.Path(sys.argv[10])
assert words[:3] == ["-m", "gpukit", "grade"] and words[4:9:2] == ["--lab", "--labs", "--out"], words
assert words[10:] == ["--weak-sandbox"], words
assert (pathlib.Path(words[7]) / words[5] / "test_lab.py").is_file()
assert (pathlib.Path(words[3]) / "student" / "my work.py").is_file()
(out / "gradescope" / "ada").mkdir(parents=True)
{then}
(out / "gradescope" / "ada" / "results.json").write_text('{{"score": 7}}')
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="run_autograder is a bash script")
@pytest.mark.parametrize(("then", "score"), [("", 7), ("raise SystemExit(3)", 0), ("import os; os.abort()", 0)])
def test_run_autograder_leaves_a_result_whatever_happens(archive, tmp_path, then, score):
    root = tmp_path / "auto grader"
    for name in ("source/labs/05_reduction", "submission", "venv/bin"):
        (root / name).mkdir(parents=True)
    (root / "source/labs/05_reduction/test_lab.py").write_text("")
    (root / "submission" / "my work.py").write_text("")
    python = root / "venv/bin/python"
    python.write_text(GRADER.format(python=sys.executable, then=then))
    python.chmod(0o755)
    script = root / "run_autograder"
    script.write_bytes(archive.read("run_autograder"))
    environment = {"GPUKIT_AUTOGRADER_ROOT": str(root), "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", str(script)], env=environment, capture_output=True, timeout=60)
    result = json.loads((root / "results" / "results.json").read_text())
    assert result["score"] == score
    assert gradescope_faults(result) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="setup.sh is a bash script")
@pytest.mark.parametrize("name", ["setup.sh", "run_autograder"])
def test_the_scripts_are_good_bash(archive, name):
    done = subprocess.run(["bash", "-n"], input=archive.read(name), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_state_of_an_item_is_in_the_class():
    assert any(item.status == NOT_STARTED for one in CLASS for item in one.items)
    assert isinstance(hostile(), Record)
