"""Each check of decks fails for its reason on a small deck that is else without fault."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import gpukit.cli
from gpukit.slides import source
from gpukit.slides.checks import curriculum, form, names, pages, running, typed
from gpukit.slides.checks.finding import Finding
from gpukit.slides.errors import SlidesError
from gpukit.slides.expand import expand
from gpukit.slides.html import build, site

ROOT = Path(__file__).parents[1]
KINDS = ["title", *form.TOPIC_KINDS, *["text"] * 6]
FRONT = "---\nmarp: true\ntitle: Made\n---\n\n"


def slide(kind: str, number: int) -> str:
    level = "#" if kind == "title" else "##"
    answer = " Answer: 32 of them." if kind in form.ANSWERED else ""
    return f"<!-- _class: {kind} -->\n{level} Heading {number}\n\nWords.\n\n<!--\n2 min. Say so.{answer}\n-->\n"


def written(*changes: tuple[str, str], front: str = FRONT) -> str:
    """A deck of 16 slides of which nothing is wrong, with texts replaced by others."""
    text = front + "\n---\n\n".join(slide(kind, number) for number, kind in enumerate(KINDS, 1))
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def sources(*changes, **options):
    return source.parse(written(*changes, **options), ROOT / "slides" / "90_made.md", "slides/90_made.md")


def deck(*changes, **options):
    return expand(sources(*changes, **options), ROOT, lambda words: "nothing")


def sentences(findings) -> list[str]:
    return [finding.sentence for finding in findings]


def commands(text: str) -> list[str]:
    return list(names.of_code(text, ROOT, gpukit.cli.cli))


def test_a_finding_names_file_and_line():
    assert Finding(ROOT / "slides" / "x.md", 12, "It is so.").shown(ROOT) == "slides/x.md:12: It is so."
    assert Finding(ROOT / "slides" / "x.md", 0, "It is so.").shown(ROOT) == "slides/x.md: It is so."
    assert Finding(Path("/else/x.html"), 3, "It is so.").shown(ROOT).startswith("/else/x.html:3")


def test_nothing_is_wrong_with_the_deck_that_the_others_change():
    made = deck()
    assert not list(form.check([made]))
    assert not list(typed.check([sources()]))
    assert not list(names.check([made], ROOT, gpukit.cli.cli))


# --- form ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("## Heading 16", f"## {'Long ' * 13}"), "65 characters; a line holds 60|64 characters; a line holds 60"),
        (("# Heading 1\n", "## Heading 1\n"), "its heading is of level 2; here it is #"),
        (("## Heading 16", "## heading  2"), "slide 2 has the same heading"),
        (("<!-- _class: fix -->", "<!-- _class: text -->"), "no slide of the kind fix"),
        (("<!-- _class: text -->\n## Heading 16", "<!-- _class: title -->\n# Heading 16"), "the first slide, and no"),
        (("Answer: 32 of them.", ""), "put `Answer: ...` into its notes"),
        (("2 min. Say so.\n", "2 min.\n"), "it has no notes"),
        (("2 min. Say so.\n", "0 min. Say so.\n"), "its notes say 0 minutes"),
        (("2 min.", "6 min."), "add up to 96 minutes; a deck takes 25 to 75"),
        (("2 min.", "1 min."), "add up to 16 minutes"),
        (("Words.", f"```text\n{'x' * 81}\n```"), "a line of 81 characters, and 80 fit"),
    ],
)  # fmt: skip
def test_form(change, said):
    found = sentences(form.check([deck(change)]))
    assert any(re.search(said, sentence) for sentence in found), found


def test_an_image_without_alt_is_found_where_its_slide_is():
    made = deck(("## Heading 3\n\nWords.", "## Heading 3\n\n![w:400](figures/x.svg)"))
    (found,) = form.check([made])
    assert "figures/x.svg has no alt" in found.sentence
    assert written().splitlines()[found.line - 1] == "<!-- _class: predict -->"


def test_two_headings_are_found():
    # A deck of two headings on a slide is not expanded; Markdown that is made otherwise may still have them.
    made = deck()
    twice = replace(made.slides[4], markdown=made.slides[4].markdown + "\n\n## Another\n")
    found = sentences(form.check([replace(made, slides=(*made.slides[:4], twice, *made.slides[5:]))]))
    assert found == ["slide 5 (Heading 5): it has 2 headings; each slide has one"]
    with pytest.raises(SlidesError, match=r"slides/90_made\.md:\d+: slide 3 has 2 headings"):
        deck(("## Heading 3\n", "## Heading 3\n\n## Another\n"))


def test_how_many_slides():
    few = source.parse(FRONT + "\n---\n\n".join(slide(kind, i) for i, kind in enumerate(KINDS[:14])), ROOT, "x.md")
    many = source.parse(FRONT + "\n---\n\n".join(slide(kind, i) for i, kind in enumerate(KINDS * 2)), ROOT, "x.md")
    assert any("has 14 slides; one has 15 to 25" in each for each in sentences(form.check([expand(few, ROOT, str)])))
    assert any("has 32 slides" in each for each in sentences(form.check([expand(many, ROOT, str)])))


def test_a_guide_has_the_kinds_and_the_length_that_it_needs():
    changes = (("<!-- _class: fix -->", "<!-- _class: text -->"), ("2 min.", "1 min."))
    assert len(list(form.check([deck(*changes)]))) == 2
    assert not list(form.check([deck(*changes, front=FRONT.replace("title", "form: guide\ntitle"))]))


# --- typed -----------------------------------------------------------------------------------------------------------


def test_typed_code_of_more_than_three_lines_is_found_where_it_begins():
    three, four = (
        ("Words.", "```python\na\nb\nc\n```"),
        ("## Heading 3\n\nWords.", "## Heading 3\n\n```\na\nb\nc\nd\n```"),
    )
    assert not list(typed.check([sources(three)]))
    (found,) = typed.check([sources(four)])
    assert found.sentence.startswith("4 lines of code are typed here")
    assert written(four).splitlines()[found.line - 1] == "```"


@pytest.mark.parametrize(
    "figure",
    ["3,980 GB/s", "1.2 TB/s", "14.8 ms", "12.5 µs", "3 us", "40ns", "1,200 samples/s", "19.5 TFLOP/s", "2.1 GB/s."],
)
def test_a_typed_measured_figure_is_found_at_its_line(figure):
    change = ("## Heading 3\n\nWords.", f"<!--\n covers: a\n-->\n\n## Heading 3\n\n* It takes {figure} here.")
    (found,) = typed.check([sources(change)])
    assert figure.rstrip(".") in found.sentence
    assert figure in written(change).splitlines()[found.line - 1]


@pytest.mark.parametrize(
    "text", ["80 s + 20 s is 100 s", "32 sectors", "0.25 FLOP per byte", "16 bytes", "4 msgs", "<!-- number: 3 ms -->"]
)
def test_what_nobody_measured_may_be_typed(text):
    assert not list(typed.check([sources(("Words.", text))]))


def test_the_notes_may_say_figures():
    assert not list(typed.check([sources(("Say so.", "Published: 14.8 ms."))]))


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "gpukit list",
        "gpukit profile",
        "gpukit profile FILE:KERNEL --level both",
        "gpukit profile --level both",
        "gpukit profile reduction.naive",
        "gpukit profile gpukit/kernels/divergence.py:by_lane --grid 1 --block 64",
        "gpukit check gpukit/kernels/cpp/reduction.cu:naive --grid 64 --block 256",
        "gpukit bench reduction --recorded",
        "gpukit bench FAMILY --machine gpu --out FILE",
        "gpukit doctor --help",
        "gpukit profile mine.py:kernel",
        "pytest labs/",
        "pytest labs/05_reduction",
        "pytest labs/ --impl solution",
        "gpukit/kernels/reduction.py",
        "gpukit/kernels/reduction.py::naive",
        "labs/NN_topic/student.py",
        "data/results/",
        "slides/build/index.html",
        "data/results/bench_*.json",
        "gpukit.profile(kernel, 1, 32, x)",
        "gpukit.gpus",
        "reduction.naive",
        "np.float32",
        "tid % 2 == 0",
    ],
)
def test_names_that_are_there(text):
    assert not commands(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpukit prifile x.py:k", "no command 'prifile'"),
        ("gpukit profile --levle both", "--levle"),
        ("gpukit profile FILE:KERNEL --levle both", "no option --levle"),
        ("gpukit profile reduction.naive --level deep", "'deep' is not one of"),
        ("gpukit profile reduction.naif", "did you mean naive"),
        ("gpukit profile redaction.naive", "no family 'redaction'"),
        ("gpukit profile gpukit/kernels/divergence.py:by_lanes --grid 1", "has no by_lanes, which"),
        ("gpukit profile gpukit/kernels/gone.py:by_lane --grid 1", "there is no file gpukit/kernels/gone.py"),
        ("gpukit bench reductions", "no family 'reductions'"),
        ("gpukit list 'reduction", "no shell reads this"),
        ("pytest labs/05_reductions", "there is no labs/05_reductions"),
        ("gpukit/kernels/gone.py", "there is no such file"),
        ("gpukit/kernels/reduction.py::naif", "has no naif, which"),
        ("gpukit.prifile", "gpukit has no prifile"),
        ("reduction.naif", "has no rung 'naif'"),
    ],
)
def test_names_that_are_not_there(text, said):
    (fault,) = commands(text)
    assert said in fault


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("Type `gpukit prifile`.", "`gpukit prifile`: gpukit does not take this"),
        ("```\n$ gpukit prifile\n```", "`gpukit prifile`: gpukit does not take this"),
        ("Go to lab 77.", "there is no lab 77"),
        ("As in [divergence](93_divergence.md).", "there is no deck 93_divergence"),
    ],
)
@pytest.mark.parametrize("place", ["Words.", "Say so."])
def test_names_on_slides_and_in_notes(words, said, place):
    if words.startswith("```") and place == "Say so.":
        pytest.skip("notes show no code")
    found = sentences(names.check([deck((place, words))], ROOT, gpukit.cli.cli))
    assert len(found) == 16
    assert all(said in sentence for sentence in found)


# --- curriculum ------------------------------------------------------------------------------------------------------


def rows(tmp_path, *says):
    file = tmp_path / "curriculum.toml"
    words = ", ".join(f'"{one}"' for one in says)
    file.write_text(f'# Rows.\n[[rows]]\nid = "a.b"\nteaches = "That."\ndeck = "90_made"\nsays = [{words}]\n')
    return curriculum.read(file), file


def covered(tmp_path, words, *says):
    table, file = rows(tmp_path, *says)
    made = deck(("## Heading 3\n\nWords.", f"<!-- covers: a.b -->\n\n## Heading 3\n\n{words}"))
    return list(curriculum.check([made], table, file))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("There are **32\nBanks**.", "32 banks"),
        ("It says `tid % 2`.", "tid%2"),
        ("87.5\u00a0% are idle", "87.5 %"),
        ("0\u20138", "0-8"),
        ("$2^{20}$ elements", "2^20 | 2^{20}"),
        ("Three SMs", "SM"),
        ("32, 64.", "64"),
        ("Answer", "Answer:"),
        ("nothing", "Say so"),
    ],
)
def test_words_are_found(tmp_path, words, says):
    if says == "tid%2":
        says = "tid % 2"
    assert not covered(tmp_path, words, says)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("33 banks", "32 banks"),
        ("128 or 8.5 or 1,8", "8"),
        ("2,039", "2"),
        ("an address is made", "ad"),
        ("shadow", "down"),
        ("one", "two | three"),
    ],
)
def test_a_tag_without_its_words_is_found(tmp_path, words, says):
    (found,) = covered(tmp_path, words, says)
    assert found.line == 2
    assert re.fullmatch(r"a\.b is covered at 90_made\.md:\d+, but '.+' is not said there", found.sentence)


def test_a_row_that_no_slide_covers_is_found(tmp_path):
    table, file = rows(tmp_path, "x")
    assert sentences(curriculum.check([deck()], table, file)) == [
        "no slide covers a.b, which 90_made is meant to: That."
    ]
    assert not list(curriculum.check([deck()], table, file, elsewhere={"a.b"}))


def test_a_slide_that_covers_what_is_no_row_is_found(tmp_path):
    table, file = rows(tmp_path, "Words")
    made = deck(("## Heading 3\n", "<!-- covers: a.b a.c -->\n\n## Heading 3\n"))
    (found,) = curriculum.check([made], table, file)
    assert found.sentence.endswith("it covers a.c, which is no row of slides/curriculum.toml; did you mean a.b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no rows"),
        ("[[rows]\n", "cannot be read"),
        ('[[rows]]\nid = "a"\nteaches = "b"\ndeck = "c"\nsays = []\n', r":1: a row has no says"),
        (2 * '[[rows]]\nid = "a"\nteaches = "b"\ndeck = "c"\nsays = ["d"]\n', r":6: there are two rows a"),
    ],
)
def test_a_broken_curriculum_is_one_sentence(tmp_path, text, said):
    file = tmp_path / "curriculum.toml"
    file.write_text(text)
    with pytest.raises(SlidesError, match=said):
        curriculum.read(file)


# --- pages -----------------------------------------------------------------------------------------------------------


def page(tmp_path, body, head="", name="x.html"):
    (tmp_path / name).write_text(
        f"<!doctype html>\n<html>\n<head>{head}</head>\n<body id=main>\n{body}\n</body></html>"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("body", "head"),
    [
        ('<a href="https://example.org">Read</a>', ""),
        ('<img src="data:image/gif;base64,R0" alt="A dot">', ""),
        ('<svg role="img" aria-label="A"><use href="#main"/></svg>', ""),
        ('<a href="#main">Up</a> <a href="y.html#there">There</a> <a href="y.html">Y</a> <a href="#12">12</a>', ""),
        (
            "<p>Text about url(http://x) and @import.</p>",
            "<style>a { background: url(data:image/png;base64,AA) }</style>",
        ),
        ("", "<script>const text = 'https://example.org';</script>"),
    ],
)
def test_a_page_that_is_whole(tmp_path, body, head):
    page(tmp_path, '<p id="there"></p>', name="y.html")
    assert not list(pages.check(page(tmp_path, body, head)))


@pytest.mark.parametrize(
    ("body", "head", "said"),
    [
        ('<img src="http://x.org/a.png" alt="A">', "", r":5: this page loads http://x\.org/a\.png"),
        ('<img src="a.png" alt="A">', "", r":5: this page loads a\.png"),
        ('<video poster="https://x.org/a"></video>', "", r":5: this page loads https://x\.org/a"),
        ('<svg role="img" aria-label="A"><image xlink:href="//x.org/a"/></svg>', "", r":5: this page loads //x\.org/a"),
        ('<p style="background: url(https://x.org/a)">A</p>', "", r":5: this page loads https://x\.org/a"),
        ("", '<link rel="stylesheet" href="https://x.org/a.css">', r":3: this page loads https://x\.org/a\.css"),
        ("", '<script src="https://x.org/a.js"></script>', r":3: this page loads https://x\.org/a\.js"),
        ("", "<style>\n@import 'https://x.org/a.css';</style>", r":4: this page loads https://x\.org/a\.css"),
        ("", '<style>\n\na { src: url("fonts/a.woff2") }</style>', r":5: this page loads fonts/a\.woff2"),
        ("", "<script>fetch('https://x.org/a')</script>", r":3: this page loads https://x\.org/a"),
        ('<img src="data:image/gif;base64,R0">', "", r":5: this <img> says nothing"),
        ('<svg role="img"></svg>', "", r":5: this <svg> says nothing"),
        ('<p id="main">A</p>', "", r"x\.html: the id main is there 2 times"),
        ('<a href="z.html">Z</a>', "", r":5: this links to z\.html, and there is no z\.html beside it"),
        ('<a href="#there">There</a>', "", r":5: this links to #there, and x\.html has no place of that name"),
        ('<a href="x.html#task-1.1">A task</a>', "", r":5: this links to x\.html#task-1\.1, and x\.html has no place"),
    ],
)
def test_what_is_wrong_with_a_page_as_a_file(tmp_path, body, head, said):
    (found,) = pages.check(page(tmp_path, body, head))
    assert re.search(said, found.shown(tmp_path))


def test_a_folder_without_pages_is_found(tmp_path):
    assert sentences(pages.check(tmp_path)) == ["there is no page here: build the slides first"]


def test_two_builds_that_differ(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, text in ((one, "A\nB\n"), (two, "A\nC\n")):
        (folder / "figures").mkdir(parents=True)
        (folder / "x.html").write_text("the same")
        (folder / "figures" / "a.svg").write_text(text)
    (one / "y.html").touch()
    (two / "z.html").touch()
    found = [finding.shown(one) for finding in pages.differences(one, two)]
    assert found == [
        r"figures/a.svg:2: another build wrote other bytes here: b'B\n' and b'C\n'",
        f"y.html: one build of two has this file; {two} has not",
        f"z.html: one build of two has this file; {one} has not",
    ]


# --- all of them over a repository -----------------------------------------------------------------------------------


@pytest.fixture
def wanted(tmp_path):
    """A repository with one deck and one row, and what to check of it."""
    lab, cell = tmp_path / "labs" / "03_lab", tmp_path / "slides" / "lab" / "cells" / "one.py"
    lab.mkdir(parents=True)
    (lab / "README.md").write_text("# Lab 3: One\n\n## Tasks\n\n* **3.1** do it\n")
    (lab / "solution.py").touch()
    cell.parent.mkdir(parents=True)
    cell.write_text('"""1. One: asks?\n\nText?\n\nTry:\n* This.\n\nLab: 03_lab\n"""\nprint(1)\n')
    deck_file = tmp_path / "slides" / "90_made.md"
    deck_file.write_text(written(("## Heading 3\n", "<!-- covers: a.b -->\n\n## Heading 3\n")))
    rows(tmp_path / "slides", "Words")
    return running.Wanted(root=tmp_path, files=[deck_file], command=gpukit.cli.cli, main=gpukit.cli.main)


def built(wanted):
    """The same, with pages that were built before."""
    folder = wanted.root / "before"
    assert not [
        one.error for one in build.build(site.read(wanted.root), folder, wanted.files, 1, wanted.main) if one.error
    ]
    return replace(wanted, built=folder)


def found_in(wanted):
    return [finding.shown(wanted.root) for finding in running.check(wanted).findings]


def test_nothing_is_wrong_with_a_small_repository(wanted):
    assert found_in(built(wanted)) == []


def test_each_kind_of_check_is_run(wanted):
    before = built(wanted)
    (file,) = wanted.files
    text = file.read_text().replace("Words.", "It takes 3 ms, says `gpukit prifile`.")
    file.write_text(text.replace("Heading 16", "Heading 15"))
    found = "\n".join(found_in(before))
    for said in (
        "'3 ms' is typed here",
        "slide 15 has the same heading",
        "gpukit does not take this",
        "a.b is covered at 90_made.md:28, but 'Words' is not said there",
        "slides/build/90_made.html:",
        "another build wrote other bytes here",
    ):
        assert said in found, (said, found)


def test_a_deck_that_cannot_be_built_is_found_where_it_is_wrong(wanted):
    (file,) = wanted.files
    file.write_text(file.read_text().replace("Words.", "<!-- code: gone.py::f -->", 1))
    said = "slides/90_made.md:9: this stops the build: there is no file gone.py: it was moved, or the path is wrong"
    assert said in found_in(wanted)


def test_a_second_build_is_made_in_another_process(wanted, monkeypatch):
    """Without pages that were built before; with sets in another order, and the command line as it is typed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert found_in(wanted) == []
