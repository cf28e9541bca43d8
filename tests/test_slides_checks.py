"""Each check of decks fails for its reason on a small deck that is else without fault."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import gpukit.cli
from gpukit.slides import source
from gpukit.slides.checks import curriculum, form, names, typed
from gpukit.slides.checks.finding import Finding
from gpukit.slides.errors import SlidesError
from gpukit.slides.expand import expand

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
