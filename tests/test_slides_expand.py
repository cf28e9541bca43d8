"""Directives: what each puts on a slide, and what stops the build."""

import json

import pytest
import slide_decks
from slide_decks import deck, markdown, slide

from gpukit.slides import recording, recordings
from gpukit.slides.errors import SlidesError

HERE = r"^slides/04_copies\.md:\d+: "


@pytest.fixture
def course(tmp_path):
    return slide_decks.course(tmp_path)


def refused(course, body):
    with pytest.raises(SlidesError, match=HERE) as caught:
        markdown(course, body)
    assert caught.value.line > 7, "the line of the comment"
    return caught.value.message


# --- a slide ---------------------------------------------------------------------------------------------------------


def test_a_slide_is_plain_marp_markdown_with_its_parts(course):
    text = slide(
        "Body <!-- number: bench::rungs[name=strided].gb_s -->\n\n<!-- covers: a.b c.d -->",
        "predict columns",
        '2.5 min. Ask. {{number: bench::rungs[0].gb_s format="{:.0f}"}}\n\nAnswer: the\nsecond.\n\nMore.',
    )
    made = deck(course, text).slides[0]
    assert made.markdown == (
        "<!-- _class: predict columns -->\n"
        "<!-- _footer: 'NVIDIA H200, 2026-11-30: bench' -->\n\n"
        "## A heading\n\nBody 1000.0\n\n"
        "<!--\n2.5 min. Ask. 4000\n\nAnswer: the\nsecond.\n\nMore.\n-->"
    )
    assert (made.kind, made.classes, made.minutes, made.heading) == (
        "predict",
        ("predict", "columns"),
        2.5,
        "A heading",
    )
    assert made.answer == "the second." and made.covers == ("a.b", "c.d")


def test_a_deck_is_one_markdown_file_with_marps_front_matter(course):
    made = deck(course, slide("one"), slide("two"))
    head = '---\nmarp: true\ntitle: Copies\ndescription: "D."\nstyle: |\n  h1 {}\n---\n\n<!-- _class: text -->\n## A'
    assert made.markdown("h1 {}").replace("-->\n\n##", "-->\n##").startswith(head)
    assert made.markdown().count("\n\n---\n\n") == 1 and made.minutes == 4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (slide("x").replace("## A heading", ""), "slide 1 has 0 headings"),
        (slide("x\n\n## Another"), "slide 1 has 2 headings"),
        (slide("x").replace("_class: text", "_class: txt"), "_class: txt is no kind of slide"),
        (slide("x", "text wide"), "_class: text wide is no kind of slide"),
        (slide("x").replace("<!-- _class: text -->\n", ""), "slide 1 does not say what it is"),
        (slide("x").replace("<!-- 2 min. Say it. -->", ""), "slide 1 has no notes"),
        (slide("x", notes="Say it."), "this comment is neither a directive nor notes"),
        (slide("<!-- 1 min. a -->"), "this slide has notes already"),
        (slide("<!-- fgi: a::b -->"), "(`2 min.`); did you mean fig"),
    ],
)
def test_what_a_slide_lacks_is_said(course, text, says):
    with pytest.raises(SlidesError, match=HERE) as caught:
        deck(course, text)
    assert says in caught.value.message


# --- code ------------------------------------------------------------------------------------------------------------


def test_code_is_the_function_without_docstring_and_registration(course):
    assert (
        "```python mark=5\n@cuda.jit\ndef contiguous(x, y):\n    i = cuda.grid(1)\n    if i < x.size:\n"
        "        y[i] = x[i]\n```"
    ) in markdown(course, '<!-- code: gpukit/kernels/copies.py::contiguous mark="y[i] =" -->')


def test_code_of_cpp_is_the_definition(course):
    shown = markdown(course, "<!-- code: gpukit/kernels/copies.cu::contiguous -->")
    assert (
        '```cpp\nextern "C" __global__ void contiguous(const int* x, int* y) {\n    int i' in shown
        and "// Cop" not in shown
    )
    assert "template <typename T>\n__device__ T twice(T x) { return x + x; }" in markdown(
        course, "<!-- code: gpukit/kernels/copies.cu::twice -->"
    )


def test_lines_are_chosen_by_what_they_say(course):
    body = '<!-- code: gpukit/kernels/copies.py::contiguous from="if i" to="y[i]" -->'
    assert "```python\nif i < x.size:\n    y[i] = x[i]\n```" in markdown(course, body)


def test_a_diff_keeps_what_stayed(course):
    body = '<!-- code: gpukit/kernels/copies.py::strided diff="contiguous" signature="no" mark="8 * i" -->'
    assert (
        "```diff of=python mark=5\n  i = cuda.grid(1)\n- if i < x.size:\n-     y[i] = x[i]\n+ if i < x.size // 8:\n"
        "+     y[i] = x[8 * i]\n```"
    ) in markdown(course, body)


def test_lines_of_a_diff_are_chosen_from_the_whole_diff(course):
    body = '<!-- code: gpukit/kernels/copies.py::strided diff="contiguous" from="if i" to="x[8 * i]" -->'
    assert (
        "```diff of=python\n- if i < x.size:\n-     y[i] = x[i]\n+ if i < x.size // 8:\n+     y[i] = x[8 * i]\n```"
    ) in markdown(course, body)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("<!-- code: gpukit/kernels/gone.py::f -->", "there is no file gpukit/kernels/gone.py"),
        (
            "<!-- code: gpukit/kernels/copies.py::contigous -->",
            "has no contigous, which was renamed or removed; did you mean contiguous",
        ),
        (
            "<!-- code: gpukit/kernels/copies.cu::contigous -->",
            "has no contigous, which was renamed or removed; did you mean contiguous",
        ),
        ('<!-- code: gpukit/kernels/copies.py::strided mark="9 * i" -->', 'mark="9 * i": no line of'),
        ('<!-- code: gpukit/kernels/copies.py::strided from="9" -->', 'from="9": no line of'),
        ('<!-- code: gpukit/kernels/copies.py::strided lines="3-4" -->', "`code` has no attribute lines"),
        ("<!-- code: gpukit/kernels/copies.py -->", "names no object: write path::name"),
        ("<!-- code: ../x.py::f -->", "../x.py lies outside the repository"),
        ("<!-- code: labs/03_copies/solution.py::contiguous -->", "is a lab's solution, and students read the slides"),
        ("<!-- code: labs/03_copies/README.md::x -->", "holds no code that slides show"),
        ("<!-- code: -->", "`code:` says nothing"),
    ],
)
def test_code_that_is_not_there_stops_the_build(course, body, says):
    assert says in refused(course, body)


def test_code_longer_than_a_slide_stops_the_build(course):
    long = "def long():\n" + "    x = 1\n" * 16
    (course / "gpukit/kernels/long.py").write_text(long, encoding="utf-8")
    assert "is 17 lines here and a slide has room for 16" in refused(
        course, "<!-- code: gpukit/kernels/long.py::long -->"
    )


# --- figures ---------------------------------------------------------------------------------------------------------


def test_a_figure_is_an_image_and_an_asset(course):
    made = deck(course, slide('<!-- fig: slides/figures/copies.py::amdahl alt="What it shows." -->'))
    assert "![What it shows.](figures/04_copies-copies-amdahl.svg)" in made.slides[0].markdown
    asset = made.assets["figures/04_copies-copies-amdahl.svg"]
    assert asset.alt == "What it shows." and 'width="888pt"' in asset.svg and asset.player is None


def test_a_figure_of_a_recording_brings_its_source(course):
    made = deck(
        course,
        slide('<!-- fig: slides/figures/copies.py::of_recording alt="x" -->'),
        slide('<!-- fig: slides/figures/copies.py::amdahl alt="x" -->'),
    )
    assert [one.sources for one in made.slides] == [("NVIDIA H200, 2026-11-30: bench",), ()]


def test_a_recording_is_read_for_a_slide_only():
    with pytest.raises(SlidesError, match=r"^data/results/h200.json is read when no slide is made"):
        recording("data/results/h200.json")


def test_functions_share_what_lies_beside_them_and_are_read_anew(course, tmp_path):
    number = '<!-- number: slides/numbers/copies.py::faster format="{:.1f}" -->'
    assert "4.0" in markdown(course, number)
    shared = course / "slides/numbers/shared.py"
    shared.write_text("BENCH = 'data/results/another.json'\n", encoding="utf-8")
    assert "4.0" in markdown(course, number), "once a process"
    slide_decks.remake(course)
    shared.write_text("BENCH = 1\nwrong(\n", encoding="utf-8")
    assert "numbers/copies.py cannot be imported: SyntaxError: '(' was never closed" in refused(course, number)
    other = slide_decks.course(tmp_path / "other")
    (other / "slides/numbers/copies.py").write_text("def faster():\n    return 2.5\n", encoding="utf-8")
    assert "2.5" in markdown(other, number), "the files of another repository are others"
    (other / "slides/numbers/copies.txt").touch()
    assert "is no Python file" in refused(other, "<!-- table: slides/numbers/copies.txt::rows -->")


def test_half_a_figure_says_how_wide(course):
    made = deck(course, slide('<!-- fig: slides/figures/copies.py::drawn alt="A line." width="50%" -->'))
    assert "![w:592 A line.](figures/04_copies-copies-drawn.svg)" in made.slides[0].markdown


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ('amdhal alt="x"', "has no function amdhal, which was renamed or removed; did you mean amdahl"),
        ('broken alt="x"', "failed: ZeroDivisionError: division by zero (line 22)"),
        ('nothing alt="x"', "gives a NoneType: return a matplotlib Figure or the text of an SVG"),
        ('small alt="x"', "has text of 9.0 points; on a slide none may be under 18"),
        ("amdahl", 'has no alt="..."'),
        ('amdahl alt="a [b]"', "which Markdown's images cannot"),
        ('amdahl alt="x" width="10%"', "is no share of a slide's width"),
        ('amdahl alt="x" height="9"', "a figure on a slide is 1 to 5.6 inches high"),
    ],
)
def test_a_figure_that_fails_stops_the_build(course, rest, says):
    assert says in refused(course, f"<!-- fig: slides/figures/copies.py::{rest} -->")


# --- numbers and tables ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("directive", "shown", "source"),
    [
        (
            'bench::rungs[name=contiguous].gb_s format="{:,.0f} GB/s"',
            "4,000 GB/s",
            "NVIDIA H200, 2026-11-30: bench",
        ),
        (
            'data/results/bench.json::rungs[1].gb_s times="1e-3" format="{:.1f}"',
            "1.0",
            "NVIDIA H200, 2026-11-30: bench",
        ),
        (
            'bench::rungs[0].gb_s over="bench::rungs[1].gb_s" format="{:.1f}"',
            "4.0",
            "NVIDIA H200, 2026-11-30: bench",
        ),
        ("bench::rungs[-1]['name']", "strided", "NVIDIA H200, 2026-11-30: bench"),
        ("slides/numbers/copies.py::eight", "8", "counted by the CPU machine"),
        ("slides/numbers/copies.py::faster", "4.0005", "NVIDIA H200, 2026-11-30: bench"),
        ("slides/numbers/copies.py::multiprocessors", "132", "NVIDIA's documents: gpus.toml"),
        # A rung's counters are the CPU machine's, on whichever GPU it was timed.
        ("bench::rungs[0].counters.values.global_load_requests", "2", "counted by the CPU machine: bench"),
        ("slides/numbers/copies.py::requests", "2", "counted by the CPU machine: bench"),
    ],
)
def test_a_number_brings_its_source(course, directive, shown, source):
    made = deck(course, slide(f"It is <!-- number: {directive} -->.")).slides[0]
    assert f"It is {shown}." in made.markdown and made.sources == (source,)
    assert f"_footer: {source!r}" in made.markdown


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("bench::rungs[name=stride_9].gb_s", "bench.json::rungs has no item whose name is stride_9"),
        ("bench::rungs[7].gb_s", "has no item 7"),
        ("bench::rungs[0].gbs", "has no 'gbs'; it has name, gb_s, counters"),
        ("bench::rungs[0]", "is no single value"),
        ("bench::rungs[1].note", "is not known"),
        ("bench::rungs[0].!", "is no key"),
        ("data/results/gone.json::a", "there is no file data/results/gone.json"),
        ("data/results/nameless.json::gb_s", "does not say its device: a number without it may not stand on a slide"),
        ("slides/numbers/copies.py::lost", "failed: there is no file data/results/lost.json"),
        ("slides/numbers/at_import.py::bandwidth", "bench.json is read when no slide is made: read it in the function"),
        ("slides/numbers/copies.py::rows", "gives a Table: return a number"),
        ('bench::rungs[0].gb_s format="{:d}"', "does not fit 4000.5"),
        ('bench::rungs[0].name times="2"', "cannot reckon with 'contiguous'"),
    ],
)
def test_a_number_that_is_not_there_stops_the_build(course, target, says):
    assert says in refused(course, f"<!-- number: {target} -->")


def test_a_published_number_names_its_work(course):
    ladders = {"ladders": [{"gpu": "T4", "source": "published course material", "ms": 1.6}]}
    (course / "data/results/published.json").write_text(json.dumps(ladders), encoding="utf-8")
    made = deck(course, slide("<!-- number: data/results/published.json::ladders[gpu=T4].ms -->"))
    assert made.slides[0].sources == ("T4, published course material: published",)


def test_what_is_called_source_or_gpu_and_is_no_text_names_no_work_and_no_device(course):
    launch = {"source": {"loads": 2}, "loads": 1, "stores": {"gpu": 3, "date": 4}}
    levels = {"machine": {"gpu": "H200", "date": "2026-11-30"}, "launch": launch}
    (course / "data/results/levels.json").write_text(json.dumps(levels), encoding="utf-8")
    for key in ("loads", "stores.gpu"):
        made = deck(course, slide(f"<!-- number: data/results/levels.json::launch.{key} -->"))
        assert made.slides[0].sources == ("H200, 2026-11-30: levels",)


H200, T4 = ("NVIDIA H200", "2026-11-30"), ("T4", "published course material")


@pytest.mark.parametrize(
    ("sources", "shown"),
    [
        # What was measured here comes first, counts last, and a file is named once.
        (
            [("", recordings.COUNTED, "bench.json"), ("T4", "a course", "ladder.json"), (*H200, "bench.json")],
            "NVIDIA H200, 2026-11-30: bench · T4, a course: ladder · counted by the CPU machine",
        ),
        ([("", recordings.COUNTED, "bench.json"), ("", recordings.COUNTED, "")], "counted by the CPU machine: bench"),
        # Too long a line names files of the first devices alone, then one for all, then none.
        (
            [(*H200, f"{name}_of_a_longer_name.json") for name in ("bench", "read", "copy")],
            "NVIDIA H200, 2026-11-30: bench_of_a_longer_name and 2 more",
        ),
        (
            [(*H200, "bench_of_a_longer_name.json"), (*T4, "ladder_of_a_longer_name.json")],
            "NVIDIA H200, 2026-11-30: bench_of_a_longer_name · T4, published course material",
        ),
        (
            [(*H200, "bench_of_sums.json"), (*H200, "bench_of_products.json"), (*T4, "ladder.json")],
            "NVIDIA H200, 2026-11-30: bench_of_sums, bench_of_products · T4, published course material",
        ),
        ([("T4", "a course of " + 80 * "x", "ladder.json")], "T4, a course of " + 80 * "x"),
        (
            [(*H200, "bench_of_a_long_name.json"), ("NVIDIA's documents", "", "gpus.toml"), (*T4, "ladder.json")],
            "NVIDIA H200, 2026-11-30 · NVIDIA's documents · T4, published course material",
        ),
    ],
)
def test_the_foot_of_a_slide_is_one_line(sources, shown):
    assert recordings.footer([recordings.Source(*one) for one in sources]) == shown


def test_a_table_is_markdown_with_its_source(course):
    assert "| pattern | sectors |\n| :--- | ---: |\n| contiguous | 4 |\n| **strided** | **32** |" in markdown(
        course, "<!-- table: slides/numbers/copies.py::rows -->"
    )
    made = deck(course, slide("<!-- table: slides/numbers/copies.py::measured_rows -->")).slides[0]
    assert made.sources == ("NVIDIA H200, 2026-11-30: bench",)
    assert "return a gpukit.slides.Table" in refused(course, "<!-- table: slides/numbers/copies.py::eight -->")


# --- commands and links ----------------------------------------------------------------------------------------------


def test_output_is_the_command_and_what_it_prints(course):
    body = '<!-- output: gpukit echo a / b / c from="b" mark="c" shown="gpukit echo ..." -->'
    assert "```text mark=3\n$ gpukit echo ...\nb\nc\n```" in markdown(course, body)
    assert "shows commands of gpukit, not 'rm x'" in refused(course, "<!-- output: rm x -->")
    assert "more than 80 characters" in refused(course, f"<!-- output: gpukit echo {'x' * 81} -->")


def test_links_lead_to_cells_and_tasks(course):
    made = deck(course, slide('<!-- cell: coalescing -->\n\n<!-- lab: 03_copies task="3.1" -->')).slides[0]
    assert "[Run it in the browser](lab.html#coalescing)" in made.markdown and made.cells == ("coalescing",)
    assert "[Lab 3, task 3.1: copy an array](lab_03_copies.html#task-3.1)" in made.markdown
    assert made.labs == ("03_copies",)
    assert "there is no live cell colescing in slides/lab/cells; did you mean coalescing" in refused(
        course, "<!-- cell: colescing -->"
    )
    assert "03_copies has no task 3.2; it has 3.1" in refused(course, '<!-- lab: 03_copies task="3.2" -->')
    assert "there is no lab '9'" in refused(course, "<!-- lab: 9 -->")
