"""Feedback: what a student is told, in place; and that no text of a student does more than be shown."""

import re
from html.parser import HTMLParser

import pytest
from grade_records import (
    RACE,
    SOURCE,
    STAGE,
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
    stopped,
    unreadable,
)
from markdown_it import MarkdownIt

from gpukit.grading import feedback, markdown, wording
from gpukit.grading.feedback import content
from gpukit.grading.feedback.html import bar
from gpukit.grading.page import POLICY
from gpukit.grading.page import STYLE as PAGE_STYLE
from gpukit.grading.record import AT_LEAST, FAILED, NOT_STARTED, Cost, Record
from gpukit.report.html import STYLE as REPORT_STYLE

VOID = {"meta", "br", "img", "hr"}
TAGS = {
    *("html", "head", "meta", "title", "body", "div", "style", "main", "section", "h1", "h2", "h3", "p", "b", "i"),
    *("br", "span", "a", "ul", "ol", "li", "pre", "code", "table", "tr", "th", "td", "small", "figure", "img"),
}
ATTRIBUTES = {
    *("class", "style", "id", "lang", "charset", "name", "content", "http-equiv", "href", "title", "scope"),
    *("colspan", "aria-hidden", "aria-label", "role", "tabindex", "alt", "src"),
}


class Page(HTMLParser):
    """A page taken apart: its texts, tags with attributes, and what is wrong with its nesting."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts, self.wrong = [], [], [], []
        self.feed(text)
        self.close()
        self.wrong += [f"{tag} is not closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def assert_sound(text):
    """A page that is well formed, has nothing from elsewhere and nothing that runs."""
    page = Page(text)
    assert page.wrong == []
    assert {tag for tag, _ in page.tags} <= TAGS
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        assert set(attributes) <= ATTRIBUTES
        assert attributes.get("href", "#L1").startswith("#L")
        assert attributes.get("src", "data:image/png;base64,").startswith("data:image/png;base64,")
    for target in (attributes["href"] for _, attributes in page.tags if "href" in attributes):
        assert target[1:] in ids, target
    assert not re.search(r"url\(|@import", "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL)))
    assert ("meta", {"http-equiv": "Content-Security-Policy", "content": POLICY}) in page.tags
    assert ("meta", {"name": "color-scheme", "content": "light dark"}) in page.tags
    assert ("html", {"lang": "en"}) in page.tags
    assert [tag for tag, _ in page.tags].count("h1") == 1 and [tag for tag, _ in page.tags].count("main") == 1
    return page


@pytest.mark.parametrize("one", [*classroom(), unreadable("x")], ids=lambda one: ascii(one.student)[:30])
def test_every_page_is_sound(one):
    page = assert_sound(feedback.page(one, title="Lab 5", alias="amber-falcon-042"))
    assert " ".join(wording.visible(one.student).split()) in page.text
    assert f"{wording.points(one.score)} of {wording.points(one.max_points)} point" in page.text


@pytest.mark.parametrize(
    "text",
    [
        "<p onclick=x()></p>",
        "<script></script>",
        "<a href='http://example.org'>x</a>",
        "<img src=x.png>",
        "<b><i></b></i>",
        "<p>",
    ],
)
def test_the_check_of_pages_finds_faults(text):
    whole = feedback.page(racing("ada"))
    with pytest.raises(AssertionError):
        assert_sound(whole.replace("<h1>", f"{text}<h1>"))


def test_a_students_text_is_shown_and_does_nothing():
    one = hostile()
    page = assert_sound(feedback.page(one, title=one.student, alias=one.student))
    shown = "</td></tr></table><script>alert(1)</script>\"'><img src=http://example.org/x onerror=alert(2)>]]> -->"
    assert page.text.count(shown) > 8
    assert "\x00" not in page.text and "\u202e" not in page.text and "\x1b" not in page.text
    assert "␀␛[31m [U+202E] [U+FFFE] & &amp;" in page.text


def test_the_page_says_what_passed_what_failed_and_what_to_try():
    page = assert_sound(feedback.page(racing("ada"), title="Lab 5: Reduction", alias="amber-falcon-042"))
    text = page.text
    assert text.index("2 of 10 points") < text.index("Look first at task 5.1") < text.index("Tasks")
    assert "1 of 6 tests passed" in text
    assert "5.3 the largest element, with one atomic a block 1 of 2 tests passed 2 of 3.5 points" in text
    assert "5.10 the same with warp shuffles not started 0 of 2 points" in text
    assert "n = 1000: the last block is partly filled" in text
    assert "Hint: Who has to be done before thread 0 reads its partner's value?" in text
    assert "two files: student.py is graded, old.py is not" in text
    assert "global atomics 256 at most 8 8 over the limit" in text
    assert "On the leaderboard you are amber-falcon-042" in text
    assert "seed 123456; gpukit 0.1.0; python 3.11.9; numpy 2.4.6" in text


def test_a_hint_or_message_that_tests_of_a_task_share_is_said_once():
    text = Page(feedback.page(racing("ada"))).text
    assert text.count("Who has to be done") == 1
    text = Page(feedback.page(not_begun("ada"))).text
    assert text.count("TODO 5.2") == 2  # the task, and the student's own line
    assert text.count("Look first") == 1


def test_the_source_has_every_line_with_its_hazards_and_counters_in_place():
    text = feedback.page(racing("ada"))
    rows = dict(re.findall(r'<tr id="L(\d+)"[^>]*>(.*?)</tr>', text))
    assert list(map(int, rows)) == list(range(1, len(SOURCE.splitlines()) + 1))
    plain = {int(n): re.sub(r"<[^>]*>", " ", row).split() for n, row in rows.items()}
    assert plain[STAGE][-3:] == ["32.0", "256", "4.0"]  # lanes, requests, sectors per request
    assert plain[RACE][-2:] == ["16.0", "160/224"]
    below = re.search(rf'<tr id="L{RACE}" class="flagged">.*?</tr>(<tr class="remark">.*?</tr>)', text)[1]
    assert "race_shared" in below and "no barrier stands between them" in below
    assert f"line {RACE}:" not in below  # the line says so itself
    assert text.count('class="remark"') == 2  # the race is told by two tests, but once here
    assert '<span class="k">def</span>' in text


def test_a_line_has_the_counters_of_the_test_that_failed():
    good = item("test_5_2_right", lines={16: {"global_load_requests": 1, "global_load_sectors": 4}})
    bad = item("test_5_2_cost", FAILED, lines={16: {"global_load_requests": 1, "global_load_sectors": 32}})
    (line,) = [line for line in content.source(record("ada", [good, bad])) if line.report.counters]
    assert line.report.counters["global_load_sectors"] == 32


def test_a_counter_over_its_limit_has_a_column_of_its_own():
    one = everything_right("ada", 4.0)
    columns = content.columns(one, content.source(one))
    assert columns[0].heading == ("global load", "sectors")
    assert [c.text(content.source(one)[STAGE - 1].report) for c in columns][:2] == ["4,096", "32.0"]
    kept = everything_right("ada", 1.0)
    assert content.columns(kept, content.source(kept))[0].heading == ("lanes", "of 32")


def test_a_passed_task_tells_no_more_than_its_costs():
    text = Page(feedback.page(everything_right("ada"))).text
    assert "test_5_1_steps" not in text and "test_5_2_right" not in text
    assert "global load sectors 1,024 at most 1,024 1,024 kept" in text


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (Cost(2048.0, 2662.400003, 2048.0), "at most 2,662"),
        (Cost(512.0, 511.9999999999, 512.0), "at most 512"),
        (Cost(3.5, 4.25, 4), "at most 4.25"),
        (Cost(31, 24.2, 32, AT_LEAST), "at least 25"),
        (Cost(28.5, 24.25, 32, AT_LEAST), "at least 24.25"),
    ],
)
def test_a_limit_of_whole_counts_is_whole(cost, said):
    assert wording.limit(cost) == said


def test_cpp_is_shown_as_cpp():
    source = "__global__ void f(int *x) {\n  x[0] = 1;  // write\n}\n"
    text = feedback.page(record("ada", source=source, language="CUDA C++"))
    assert '<span class="c">// write</span>' in text and '<span class="k">int</span>' in text


@pytest.mark.parametrize(
    ("cost", "blue", "orange", "mark"),
    [
        (Cost(4096, 1024, 1024), "25.0", "75.0", "25.0"),
        (Cost(512, 1024, 1024), "50.0", "0.0", "100.0"),
        (Cost(8, 25, 32, AT_LEAST), "25.0", "53.1", "100.0"),
        (Cost(0, 0, 0), "0.0", "0.0", "0.0"),
    ],
)
def test_bars_show_what_is_needed_what_is_over_and_the_reference(cost, blue, orange, mark):
    assert re.findall(r"([\d.]+)%", bar(cost)) == [blue, orange, mark]
    assert 'aria-hidden="true"' in bar(cost)  # the numbers stand beside it


@pytest.mark.parametrize("make", [refused, stopped, missing, interrupted], ids=lambda make: make.__name__)
def test_who_has_no_grade_is_told_why(make):
    one = make("ada")
    for text in (Page(feedback.page(one)).text, feedback.to_markdown(one)):
        assert "0 of " in text and "Look first" not in text and "Every test passed" not in text
        said = wording.visible(one.verdict)[:40]
        assert text.replace("\\", "").count(said) == 1
        assert "Tasks" not in text and "tests passed" not in text


def test_who_has_everything_is_told_so():
    assert "Every test passed." in Page(feedback.page(everything_right("ada"))).text
    assert "Every test passed." in feedback.to_markdown(everything_right("ada"))


def test_a_very_long_file_is_cut_and_says_so():
    one = record("ada", source="x = 1\n" * 3010 + "y" * 2000 + "\n")
    text = feedback.page(one)
    assert "... and 11 more lines" in text and 'id="L3000"' in text and 'id="L3001"' not in text
    wide = feedback.page(record("ada", source="y" * 2000 + "\n"))
    assert "y" * 400 + " ..." in wide and "y" * 401 not in wide


@pytest.mark.parametrize(
    "source", ["", "\n", "a\r\nb\rc\nd", "\ufeffx = 1\n", "a\x0cb\x1cc\u2028d\n", "'''open\n", "\t\tx\n"]
)
def test_lines_are_counted_as_compilers_count_them(source):
    lines = content.source(record("ada", source=source))
    expected = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    assert len(lines) == expected.count("\n") + (not expected.endswith("\n") and bool(expected))
    assert_sound(feedback.page(record("ada", source=source)))


# --- looks -----------------------------------------------------------------------------------------------------------


def luminance(colour):
    if len(colour) == 4:
        colour = "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_badge_is_read_on_light_and_dark_screens():
    pairs = re.findall(r"\{background:(#\w+);color:(#\w+)", REPORT_STYLE + PAGE_STYLE)
    assert len(pairs) >= 5
    for ground, ink in pairs:
        assert contrast(ground, ink) >= 4.5, (ground, ink)  # WCAG 2 AA
    assert contrast("#fff", "#999") < 4.5


def test_there_is_a_style_for_paper():
    assert "@media print" in feedback.page(racing("ada"))
    assert "print-color-adjust:exact" in feedback.page(racing("ada"))


# --- Markdown --------------------------------------------------------------------------------------------------------

RENDER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MARKDOWN_TAGS = {"h1", "h2", "h3", "p", "strong", "em", "code", "pre", "ul", "ol", "li", "table", "thead", "tbody"} | {
    *("tr", "th", "td", "br")
}


@pytest.mark.parametrize("one", classroom(), ids=lambda one: ascii(one.student)[:30])
def test_markdown_shows_a_students_text_and_does_nothing(one):
    page = Page(RENDER.render(feedback.to_markdown(one, title="Lab 5", alias="amber-falcon-042")))
    assert page.wrong == []
    assert {tag for tag, _ in page.tags} <= MARKDOWN_TAGS
    assert " ".join(wording.visible(one.student).split()) in page.text
    assert sum(tag == "h1" for tag, _ in page.tags) == 1


def test_markdown_has_what_the_page_has():
    text = feedback.to_markdown(racing("ada"), title="Lab 5: Reduction", alias="amber-falcon-042")
    assert "# Lab 5: Reduction\n" in text
    assert "**2 of 10 points**, 1 of 6 tests passed" in text
    assert "### 5.10 the same with warp shuffles (not started, 0 of 2 points)" in text
    assert "| global atomics | **over the limit** | 256 | at most 8 | 8 |" in text
    assert (
        f"{RACE} |             s[tid] *= s[tid + step]\n   :   lanes of 32: 16.0; split / branches: 160/224\n" in text
    )
    assert "   ! race_shared: thread 0 reads s[32] that thread 32 writes" in text


HARD = [
    *("a*b*c", "_x_", "`code`", "[a](http://b)", "<b>x</b>", "&amp;", "# head", "1. one", "- dash", "+ plus", "a|b"),
    *("~~x~~", "$x$", "\\*", "http://example.org", "www.example.org", "@ada", "---", "===", "> quote", "![x](y)", "1)"),
]


@pytest.mark.parametrize("text", HARD)
def test_text_in_markdown_is_that_text(text):
    page = Page(RENDER.render(markdown.text(text)))
    assert [tag for tag, _ in page.tags] == ["p"]
    assert page.text == text


@pytest.mark.parametrize("text", [*HARD, "``", "`` ` ```", "a\n\nb"])
def test_code_in_markdown_is_that_code(text):
    page = Page(RENDER.render(markdown.code(text)))
    assert [tag for tag, _ in page.tags] == ["p", "code"]
    assert page.text == " ".join(text.split())


@pytest.mark.parametrize("text", [*HARD, "```\nx", "~~~\n```", "````"])
def test_a_block_in_markdown_is_not_closed_by_what_is_in_it(text):
    page = Page(RENDER.render(markdown.block(text) + "\n\nafter"))
    assert [tag for tag, _ in page.tags] == ["pre", "code", "p"]
    assert page.texts[0].rstrip("\n") == text


def test_a_table_in_markdown_keeps_its_cells():
    made = markdown.table(["a", "b"], [[markdown.text("x|y"), markdown.text("1")]], right=1)
    page = Page(RENDER.render(made))
    assert [tag for tag, _ in page.tags].count("td") == 2 and "x|y" in page.text


# --- wording ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("\x1b[31m", "␛[31m"),
        ("\x7f", "␡"),
        ("\u202ea", "[U+202E]a"),
        ("\ud800", "[U+D800]"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("ü 🐉\t|", "ü 🐉\t|"),
    ],
)
def test_characters_that_are_obeyed_are_made_visible(text, shown):
    assert wording.visible(text) == shown


@pytest.mark.parametrize(("value", "text"), [(4096, "4,096"), (3.2, "3.2"), (3.0, "3"), (0.256, "0.26"), (0, "0")])
def test_numbers(value, text):
    assert wording.number(value) == text


@pytest.mark.parametrize(("value", "text"), [(7.0, "7"), (2.5, "2.5"), (1 / 3, "0.33333"), (0, "0"), (1000, "1000")])
def test_points(value, text):
    assert wording.points(value) == text


def test_tasks_are_in_the_order_of_their_numbers():
    assert sorted(["5.10", "5.2", "a", "5"], key=wording.task_order) == ["5", "5.2", "5.10", "a"]


def test_a_task_has_one_state():
    started, failed = item("test_5_2_right"), item("test_5_2_cost", FAILED)
    assert wording.state_of([started]) == "passed"
    assert wording.state_of([started, failed]) == FAILED
    assert wording.state_of([item("test_5_2_right", NOT_STARTED), failed]) == FAILED
    assert isinstance(racing("ada"), Record)
