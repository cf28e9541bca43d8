"""The summary of a class: its figures, what to talk about, equal files, no names for the class; and the leaderboard."""

import ast
import re

import pytest
from grade_records import (
    ATOMIC,
    HARD_NAMES,
    RACE,
    SOURCE,
    classroom,
    everything_right,
    hostile,
    interrupted,
    item,
    missing,
    not_begun,
    racing,
    record,
    refused,
    renamed,
    stopped,
    unreadable,
)
from test_grade_feedback import MARKDOWN_TAGS, RENDER, Page, assert_sound

from gpukit.grading import leaderboard, outputs
from gpukit.grading.record import FAILED, NOT_STARTED, Cost, HazardFound
from gpukit.grading.summary import html, markdown, similarity, summarize

MIXED = [
    everything_right("a"),
    everything_right("b", 4.0, SOURCE + "# b\n\nX = 1\n"),
    racing("c"),
    racing("d", SOURCE + "Y = 2\n"),
    not_begun("e"),
    not_begun("f"),
    refused("g"),
    stopped("h"),
    unreadable("i"),
    missing("j"),
    interrupted("k"),
]


# --- figures ---------------------------------------------------------------------------------------------------------


def test_statuses_and_scores_are_counted():
    found = summarize(MIXED, "Lab 5")
    assert found.statuses == {
        **{"graded": 6, "refused": 1, "unreadable": 1, "missing": 1, "stopped": 1},
        "interrupted": 1,
    }
    assert found.scores == (0.0, 0.0, 2.0, 2.0, 8.5, 10.0)
    assert found.headline() == "6 submissions graded: the median is 2 of 10 points, 1 has full points."
    assert found.others() == "Besides: 1 refused, 1 unreadable, 1 missing, 1 stopped, 1 interrupted."


def test_tasks_are_counted_by_submission():
    rates = {rate.task: rate for rate in summarize(MIXED).tasks}
    assert list(rates) == ["5.1", "5.2", "5.3", "5.10"]
    assert [(r.passed, r.failed, r.not_started) for r in rates.values()] == [(2, 2, 2), (1, 3, 2), (2, 2, 2), (2, 0, 4)]
    assert all(rate.total == 6 for rate in rates.values())


def test_hazards_are_counted_by_submission_and_have_a_line():
    race, contention = summarize(MIXED).hazards
    assert (race.kind, race.students, race.tasks, race.code) == ("race_shared", 2, ("5.2",), "s[tid] *= s[tid + step]")
    assert race.message.startswith("thread 0 reads")  # the line number is of one student's file
    assert (contention.kind, contention.students) == ("atomic_contention", 2)
    assert contention.code == SOURCE.splitlines()[ATOMIC - 1].strip()


def test_the_example_of_a_hazard_is_the_line_that_most_have():
    def at(student, line):
        found = HazardFound("race_shared", "error", line, f"line {line}: a race")
        return record(student, [item("test_5_2_right", FAILED, hazards=(found,))])

    (rate,) = summarize([at("a", ATOMIC), at("b", RACE), at("c", RACE)]).hazards
    assert rate.code == "s[tid] *= s[tid + step]"


def test_costs_are_relative_to_the_reference():
    rates = {(rate.task, rate.counter): rate for rate in summarize(MIXED).costs}
    sectors = rates["5.2", "global_load_sectors"]
    assert (sectors.ratios, sectors.allowed, sectors.kept) == ((1.0, 4.0), 1.0, 1)
    assert rates["5.2", "active_lanes_per_instruction"].ratios == (1.0, 4.0028)  # 28.5 lanes against 7.12
    assert rates["5.2", "active_lanes_per_instruction"].allowed == 1.14
    assert rates["5.3", "global_atomics"].ratios == (1.0, 1.0, 32.0, 32.0)
    assert list(rates)[:3] == [
        ("5.2", name) for name in ("global_load_sectors", "shared_load_bank_conflicts", "active_lanes_per_instruction")
    ]


def test_what_to_talk_about_is_what_most_did_not_pass():
    talks = summarize(MIXED).talks
    assert [talk.heading.split()[0] for talk in talks] == ["5.2", "5.1", "5.3"]
    assert talks[0].evidence == (
        "5 of 6 did not pass, 2 of them did not begin.",
        "2 submissions with race_shared: thread 0 reads s[32] that thread 32 writes, and no barrier stands between "
        "them",
        "1 of 2 measured are over the limit of global load sectors.",
        "Ask: Who has to be done before thread 0 reads its partner's value?",
    )
    assert talks[0].code == "s[tid] *= s[tid + step]"


def test_there_is_nothing_to_talk_about_where_all_passed():
    assert summarize([everything_right("a"), everything_right("b", 0.5)]).talks == ()


def test_who_needs_a_look_is_listed_with_the_reason_and_missing_ones_last():
    looks = summarize(MIXED).looks
    assert [look.student for look in looks] == ["g", "h", "i", "k", "j"]
    assert looks[0].why.startswith("refused: student.py:1: os is not among")
    assert looks[3].why.startswith("interrupted: ")
    assert [look.student for look in summarize(MIXED).noted] == ["c", "d"]


# --- equal files -----------------------------------------------------------------------------------------------------


def groups(*sources, language="Python"):
    made = [
        record(chr(ord("a") + place), [item("test_5_1_steps")], source, language=language)
        for place, source in enumerate(sources)
    ]
    return [("".join(group.students), group.identical) for group in similarity.groups(made)]


def test_files_are_equal_byte_for_byte_or_but_for_names():
    assert groups(SOURCE, "x = 1\n", SOURCE) == [("ac", True)]
    assert groups(SOURCE, renamed(SOURCE)) == [("ab", False)]
    assert groups(SOURCE, SOURCE.replace("    ", "  ").replace("Multiply", "Whatever")) == [("ab", False)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s[tid + step]", "s[step + tid]"),
        ("step //= 2", "step >>= 1"),
        ("BLOCK // 2", "BLOCK // 4"),
        ("tid < step", "tid <= step"),
        ("cuda.atomic.max", "cuda.atomic.min"),
        ("s[tid] *= s[tid + step]", "s[step] *= s[tid + step]"),
    ],
)
def test_another_program_is_not_equal(old, new):
    assert old in SOURCE
    assert groups(SOURCE, SOURCE.replace(old, new)) == []


CPP = """__global__ void f(const float *x, float *y, int n) {
  int i = threadIdx.x; // mine
  if (i < n) y[i] = x[i];
}
"""


def test_files_in_cpp_are_compared_too():
    other = CPP.replace("x", "data").replace("threadIddata.data", "threadIdx.x").replace("// mine", "/* yours */")
    assert groups(CPP, other, language="CUDA C++") == [("ab", False)]
    assert groups(CPP, CPP.replace("i < n", "i <= n"), language="CUDA C++") == []
    assert groups(CPP, CPP.replace("threadIdx", "blockIdx"), language="CUDA C++") == []


def test_skeletons_and_what_was_not_graded_are_no_news():
    assert similarity.groups([not_begun("a"), not_begun("b"), refused("c"), refused("d"), stopped("e")]) == []


@pytest.mark.parametrize(
    "source", ["def (", "\x00", "(" * 100_000, "-" * 100_000 + "1", "+".join(["1"] * 30_000), "'\\d'\n", "é = 1\n"]
)
def test_any_file_has_a_shape(source):
    made = [record(name, [item("test_5_1_steps")], source) for name in "ab"]
    assert similarity.groups(made)[0].identical
    one, other = (similarity.shape(record("a", source=text)) for text in (source, source + "\nzz = 99\n"))
    assert one != other


def test_renaming_is_renaming():
    one, other = "def f(a, b):\n    return a - b\n", "def g(b, a):\n    return b - a\n"
    assert similarity.shape(record("a", source=one)) == similarity.shape(record("a", source=other))
    swapped = "def f(a, b):\n    return b - a\n"
    assert similarity.shape(record("a", source=one)) != similarity.shape(record("a", source=swapped))
    assert ast.parse(one)


# --- pages -----------------------------------------------------------------------------------------------------------


def test_the_pages_of_a_class_are_sound_and_hold_no_name(tmp_path):
    outputs.write(classroom(), tmp_path, title="Lab 5: Reduction", formats=["summary"])
    page = assert_sound((tmp_path / "summary.html").read_text(encoding="utf-8"))
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    rendered = Page(RENDER.render(text))
    assert {tag for tag, _ in rendered.tags} <= MARKDOWN_TAGS | {"img"} and rendered.wrong == []
    for shown in (page.text, rendered.text):
        assert "5.2 multiply, then fold the upper half onto the lower half" in shown
        for name in ("student01", "李小龍", "Müller", "Hara", "ada"):
            assert not re.search(rf"\b{name}\b", shown), name
    assert sum(tag == "img" and bool(attributes["alt"]) for tag, attributes in page.tags) == 1


def test_names_are_on_the_page_for_the_instructor():
    found = summarize(classroom())
    page = assert_sound(html.looks(found))
    rendered = Page(RENDER.render(markdown.looks(found)))
    assert {tag for tag, _ in rendered.tags} <= MARKDOWN_TAGS
    for shown in (page.text, rendered.text):
        assert "not for the class" in shown
        assert HARD_NAMES[0] in shown and "Müller, Jürgen" in shown
        assert "two files: student.py is graded, old.py is not" in shown
        assert "ada" in shown and "CON" in shown and "the same but for names" in shown


def test_a_class_without_trouble_has_nothing_to_look_at():
    found = summarize([everything_right("a"), everything_right("b", 1.0, "x = 1\n")])
    assert "None does." in html.looks(found) and "None does." in markdown.looks(found)


def test_text_for_the_projector_is_18_points_or_more():
    sizes = re.findall(r"\.gpukit-report\{font-size:(\d+)px", html.page(summarize(MIXED)))
    assert int(sizes[-1]) * 72 / 96 >= 18
    small = re.findall(r"font-size:\.(\d+)em", html.PROJECTED)
    assert all(int(sizes[-1]) * float(f".{size}") * 72 / 96 >= 15 for size in small)


def test_hostile_text_does_nothing_on_the_pages_of_a_class():
    found = summarize([hostile(), racing("ada")], title=hostile().student)
    assert_sound(html.page(found))
    assert_sound(html.looks(found))
    for text in (markdown.to_markdown(found), markdown.looks(found)):
        page = Page(RENDER.render(text))
        assert {tag for tag, _ in page.tags} <= MARKDOWN_TAGS


# --- leaderboard -----------------------------------------------------------------------------------------------------

SALT = b"a salt of the course"


def test_only_right_answers_are_on_the_board_and_the_cheapest_leads():
    cheap, fair, dear = (everything_right(name, factor) for name, factor in (("a", 0.5), ("b", 1.0), ("c", 4.0)))
    others = [racing("d"), not_begun("e"), refused("f"), stopped("g"), interrupted("h"), missing("i")]
    boards = leaderboard.boards([dear, fair, *others, cheap], SALT)
    assert [board.test for board in boards] == ["test_5_2_cost", "test_5_3_cost", "test_5_10_cost"]
    names = leaderboard.pseudonyms([cheap, fair, dear], SALT)
    assert [place.name for place in boards[0].places] == [names["a"], names["b"], names["c"]]
    assert [place.rank for place in boards[0].places] == [1, 2, 3]
    assert [place.rank for place in boards[1].places] == [1, 1, 1]
    assert boards[0].places[1].mean == 1.0
    assert boards[2].places[2].mean == 2.0


def test_the_mean_is_the_geometric_one():
    costs = {"global_load_sectors": Cost(4, 9, 1), "barriers": Cost(1, 9, 4), "branches": Cost(8, 9, 1)}
    one = record("a", [item("test_5_2_cost", counters=costs)])
    assert leaderboard.boards([one], SALT)[0].places[0].mean == 2.0


@pytest.mark.parametrize(
    ("change", "right"),
    [
        ([], True),
        ([item("test_5_3_right", FAILED)], False),
        ([item("test_5_3_right", NOT_STARTED)], False),
        ([item("test_5_3_cost", FAILED, counters={"barriers": Cost(9, 1, 1)})], True),
        ([item("test_5_3_cost", FAILED, "wrong answer")], False),
        ([item("test_5_3_right", hazards=(HazardFound("race_shared", "error", 1, "a race"),))], False),
        ([item("test_5_3_right", hazards=(HazardFound("atomics", "note", 1, "slow"),))], True),
    ],
)
def test_what_is_right(change, right):
    assert leaderboard.is_right(record("a", [item("test_5_2_right"), *change])) is right


def test_pseudonyms_are_stable_and_say_nothing():
    students = [one.student for one in classroom()] + ["student01"]
    names = {student: leaderboard.pseudonym(student, SALT) for student in students}
    assert names == {student: leaderboard.pseudonym(student, SALT) for student in reversed(students)}
    assert all(re.fullmatch(r"[a-z]+-[a-z]+-\d{3}", name) for name in names.values())
    assert not any(names[s] == leaderboard.pseudonym(s, b"another salt, another year") for s in students)
    boards = leaderboard.boards(classroom(), SALT)
    text = leaderboard.to_markdown(boards, "Lab 5") + leaderboard.to_csv(boards).decode()
    assert not re.search(r"student\d\d|\bada\b|李|Müller", text)


def test_two_who_would_share_a_name_are_told_apart(monkeypatch):
    monkeypatch.setattr(leaderboard, "pseudonym", lambda student, salt: "amber-falcon-042")
    names = leaderboard.pseudonyms([racing("a"), racing("b")], SALT)
    assert names["a"] != names["b"]
    assert all(name.startswith("amber-falcon-042-") for name in names.values())


def test_there_are_enough_names():
    assert len(set(leaderboard.ADJECTIVES)) == len(leaderboard.ADJECTIVES) >= 60
    assert len(set(leaderboard.ANIMALS)) == len(leaderboard.ANIMALS) >= 60


def test_the_board_as_markdown_and_csv():
    boards = leaderboard.boards([everything_right("a", 4.0)], SALT)
    name = leaderboard.pseudonym("a", SALT)
    text = leaderboard.to_markdown(boards, "Lab 5")
    assert f"| {name} | 1 | 16.66 | 4,096 | 288 | 7.12 |" in text
    assert "| *reference* |  | 1.00 | 1,024 | 0 | 28.5 |" in text
    assert {tag for tag, _ in Page(RENDER.render(text)).tags} <= MARKDOWN_TAGS
    rows = leaderboard.to_csv(boards).decode().splitlines()
    assert rows[0] == "task,test,rank,name,mean,counter,got,allowed,reference,way"
    assert rows[1] == f"5.2,test_5_2_cost,1,{name},16.6638,global_load_sectors,4096,1024,1024,at most"


def test_an_empty_board_says_so():
    assert "Nobody is on it yet" in leaderboard.to_markdown(leaderboard.boards([racing("a")], SALT), "Lab 5")


def test_who_is_on_the_board_knows_the_name_from_the_feedback(tmp_path):
    outputs.write([everything_right("ada"), racing("bob")], tmp_path, title="Lab 5")
    salt = (tmp_path / "leaderboard_salt.txt").read_bytes().strip()
    name = leaderboard.pseudonym("ada", salt)
    assert name in (tmp_path / "feedback" / "ada.html").read_text(encoding="utf-8")
    assert name in (tmp_path / "feedback" / "ada.md").read_text(encoding="utf-8").replace("\\", "")
    assert name in (tmp_path / "leaderboard.md").read_text(encoding="utf-8")
    assert "leaderboard" not in (tmp_path / "feedback" / "bob.html").read_text(encoding="utf-8")
