"""Decks, the index and the labs' texts as pages."""

from __future__ import annotations

import re
import threading
import urllib.error
import urllib.request
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpukit.plots import style
from gpukit.slides.errors import SlidesError
from gpukit.slides.html import build, code, labs, page, serving, site, svg
from gpukit.slides.html.deck import deck_page
from gpukit.slides.html.index import index_page
from gpukit.slides.html.marp import marp_markdown
from gpukit.slides.html.site import Neighbours
from gpukit.slides.model import Asset, Deck, Slide

ROOT = Path(__file__).parents[1]
PICTURE = (
    '<?xml version="1.0"?><svg xmlns:xlink="http://www.w3.org/1999/xlink" width="72pt" height="36pt"'
    ' viewBox="0 0 72 36" xmlns="http://www.w3.org/2000/svg"><metadata>http://a.b</metadata><defs>'
    '<style type="text/css">*{stroke-linejoin: round}</style></defs><defs><path id="m1"/></defs>'
    '<g clip-path="url(#p)"><use xlink:href="#m1"'
    ' style="fill: #222222; stroke: #0072b2"/></g></svg>'
)


def deck(*slides: tuple[str, str, str], **assets: Asset) -> Deck:
    """A deck of (classes, Markdown, notes)."""
    made = []
    for number, (classes, markdown, notes) in enumerate(slides, 1):
        answer = notes.partition("Answer: ")[2]
        heading = markdown.partition("\n")[0].lstrip("# ")
        made.append(Slide(number, 10 * number, tuple(classes.split()), heading, markdown, notes, 2.0, answer))
    pictures = {f"figures/{name}.svg": asset for name, asset in assets.items()}
    return Deck(Path("slides/04_x.md"), "04_x", {"marp": "true", "title": "A & B"}, tuple(made), pictures)


def html(*slides: tuple[str, str, str], **assets: Asset) -> str:
    return deck_page(deck(*slides, **assets), Neighbours())


def text(fragment: str) -> str:
    """What a reader sees of HTML."""
    plain = re.sub(r"<[^>]+>", "", fragment)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


# --- code ---


def test_code_keeps_its_lines_and_columns():
    source = 'def f(a):\n    """Two\n\n    lines <b>."""\n\n    return a < 3 and b  \n'
    made = code.fence(source, "python mark=1,3-4")
    assert text(made) == source + "\n"  # behind the figure
    assert re.findall(r'<(mark|span) class="line"', made) == ["mark", "span", "mark", "mark", "span", "span"]
    assert 'class="hl-k">def<' in made and not re.search(r'class="(?!hl-|line|code)', made)


def test_a_comment_in_the_last_line_is_one():
    made = code.fence("f();  // one\ng();  // while it ran\n", "cpp")
    assert made.count('<span class="hl-c1">//') == 2 and "while</span>" not in made


def test_a_change_is_told_by_sign_and_element_and_coloured_as_its_language():
    made = code.fence("  def f():\n-     return 1\n+     return 2\n", "diff of=python")
    assert text(made) == "  def f():\n-     return 1\n+     return 2\n\n"
    assert '<del class="line"><b>-</b>' in made and '<ins class="line"><b>+</b>' in made
    assert made.count('class="hl-k">return<') == 2


def test_a_string_that_a_change_opens_does_not_colour_what_stays():
    made = code.fence('- x = """\n  y = 1\n+ z = 2\n- """\n', "diff of=python")
    assert '<span class="hl-mi">1</span>' in made


def test_a_comment_of_cpp_is_one_on_the_last_line_too():
    made = code.fence("int i = 0;  // i / 2\n// the end\n", "cpp")
    assert '<span class="hl-c1">// i / 2</span>' in made and '<span class="hl-c1">// the end</span>' in made
    assert text(made) == "int i = 0;  // i / 2\n// the end\n\n"
    changed = code.fence("- a = b;  // old\n+ a = c;  // new\n", "diff of=cpp")
    assert changed.count('class="hl-c1"') == 2


def test_output_shows_the_command_apart_and_unknown_languages_plain():
    made = code.fence("$ gpukit list\na < b\n", "text mark=2")
    assert '<b class="command">$ gpukit list</b>' in made and "a &lt; b" in made and made.count("<mark") == 1
    assert text(code.fence("x y\n", "klingon")) == "x y\n\n"


# --- figures ---


def test_a_figure_has_a_name_its_own_ids_and_the_colours_of_the_theme():
    made = svg.inline(PICTURE, 'Bars "a" & b', "s2f1-")
    assert made.startswith('<svg role="img" aria-label="Bars &quot;a&quot; &amp; b"')
    assert 'id="s2f1-m1"' in made and "url(#s2f1-p)" in made and 'href="#s2f1-m1"' in made
    assert "fill: var(--fig-ink, #222222); stroke: #0072b2" in made
    assert "http" not in made and "<style" not in made and "stroke-linejoin: round" in made
    assert "width:96px" in made  # 72 points
    assert "width:592px" in svg.inline(PICTURE, "a", "x-", "592")


def test_a_style_sheet_in_a_figure_holds_for_that_figure_alone():
    made = svg.inline('<svg viewBox="0 0 1 1"><style>.a{fill:#fff}</style><path class="a"/></svg>', "a", "p-")
    assert '<svg id="p-svg"' in made and "<style>#p-svg{.a{fill:var(--fig-paper, #fff)}}</style>" in made


# --- decks ---


def test_a_page_needs_nothing_else_and_is_the_same_twice():
    slides = (
        ("title", "# A & B\n\nOne line.", "Welcome. See [the paper](https://example.org/x)."),
        ("picture", "## Bars\n\n![w:592 Bars](figures/bars.svg)\n\n$$\\frac{a}{b}$$", "Look."),
    )
    made = html(*slides, bars=Asset(PICTURE, "Bars"))
    assert made == html(*slides, bars=Asset(PICTURE, "Bars"))
    outside = re.sub(r'<a href="https?://[^"]*" rel="noreferrer">', "", made)
    assert not re.findall(r"https?://[^\s]*", outside)
    assert "connect-src" not in made and "default-src 'none'" in made
    assert "<title>A &amp; B</title>" in made and "<mfrac>" in made and 'role="img" aria-label="Bars"' in made


def test_a_slide_says_what_it_is_and_comments_are_not_shown():
    made = html(
        ("row columns", "<!-- _class: row columns -->\n<!-- _footer: 'an H200: \"x\"' -->\n\n## R\n\na\n\nb", "N.")
    )
    assert '<p class="tag">Ladder row</p>' in made and '<p class="source">an H200: &quot;x&quot;</p>' in made
    assert '<div class="left">\n<p>a</p>\n</div>\n<div class="right">\n<p>b</p>' in made
    assert "_class" not in made and 'id="1" role="group"' in made and 'data-minutes="2"' in made


def test_options_become_buttons_and_the_answer_leaves_the_notes():
    made = html(("predict", "## How many?\n\n* a fact\n\n1. `4`\n2. 8", "Hands up. Answer: 8, as said."))
    assert made.count('<input type="radio" name="poll-1-1"') == 2 and "<span><code>4</code></span>" in made
    assert "<li>a fact</li>" in made
    assert made.count("8, as said.") == 1 and "<summary>Answer</summary>\n<div><p>8, as said.</p>" in made
    assert '<div class="notes">\n<p>Hands up.</p>' in made


def test_an_answer_that_begins_with_a_number_is_no_list():
    made = html(("predict", "## How many?\n\n1. 4\n2. 8", "Answer: 8. In each warp one lane."))
    assert "<div><p>8. In each warp one lane.</p>" in made


def test_questions_of_a_check_stay_a_list_and_options_below_them_do_not():
    made = html(
        ("check", "## Check\n\n1. What is a warp?\n2. Say why.", "Answer: x."),
        ("check", "## Check\n\n1. A warp?\n    * 16\n    * 32", "Answer: 32."),
    )
    assert "<li>What is a warp?</li>" in made
    assert re.findall(r'name="(poll-[^"]+)" value="(\w)"', made) == [("poll-2-1", "A"), ("poll-2-1", "B")]


def test_links_lead_to_pages():
    made = html(("run", "## Run\n\n[go](lab.html#x) [lab](lab_05_r.html#task-5.3) [d](03_divergence.md#4)", "N."))
    assert '<a href="lab.html#x" class="cell">' in made and '<a href="lab_05_r.html#task-5.3" class="lab">' in made
    assert '<a href="03_divergence.html#4">' in made


def test_html_in_a_deck_is_text_and_an_empty_cell_is_no_header():
    made = html(("text", "## T\n\n<b>x</b>\n\n|  | a |\n|---|---|\n| b | c |", "N."))
    assert "&lt;b&gt;x&lt;/b&gt;" in made and "<td></td>\n<th>a</th>" in made


def test_what_cannot_be_shown_names_the_line_of_its_slide():
    with pytest.raises(
        SlidesError, match=r"slides/04_x\.md:20: this slide shows figures/b\.svg.*it has figures/a\.svg"
    ):
        html(("title", "# T", "N."), ("picture", "## P\n\n![b](figures/b.svg)", "N."), a=Asset(PICTURE, "a"))
    with pytest.raises(SlidesError, match=r"slides/04_x\.md:10: figures/a\.svg is no SVG"):
        html(("picture", "## P\n\n![a](figures/a.svg)", "N."), a=Asset("nothing", "a"))
    with pytest.raises(SlidesError, match=r"slides/04_x\.md:10: the formula \$\\frac"):
        html(("text", "## P\n\n$$\\frac{1}{$$", "N."))


def test_a_deck_for_marp_has_the_style_of_each_kind():
    made = marp_markdown(deck(("title", "# T", "N."), ("predict", "## P", "N.")))
    front = made.split("---")[1]
    assert "style: |\n" in front and 'section.predict::before { content: "Predict" }' in front
    assert "section.predict { --kind: #9a3d00 }" in front and "# T\n\n---\n\n## P" in made


# --- the theme ---


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_every_ground_it_is_on(dark):
    colours = {name.removeprefix("--"): both[dark] for name, *both in page.colours("base.css")}
    grounds = ("paper", "panel", "mark", "plus", "minus")
    pairs = [(text, ground) for text in ("ink", "soft", "link") for ground in ("paper", "panel")]
    pairs += [(text, ground) for text in ("ink", "key", "text", "note", "value", "called") for ground in grounds]
    pairs += [("plus-bar", "plus"), ("minus-bar", "minus"), ("fig-ink", "fig-paper"), ("fig-ink", "fig-pale")]
    pairs += [("fig-grey", "fig-paper")]
    kinds = ("question", "predict", "run", "picture", "why", "fix", "row", "exercise", "check", "ink")
    pairs += [(kind, ground) for kind in kinds for ground in ("paper", "on-kind")]
    weak = {pair: round(contrast(*(colours[name] for name in pair)), 2) for pair in pairs}
    assert not {pair: value for pair, value in weak.items() if value < 4.5}


@pytest.mark.parametrize("where", ["a report", "a light page", "a dark page"])
def test_text_on_a_fill_of_a_figure_stands_out_from_it(where):
    """As a page shows both: it turns some colours round, and not the others."""
    themed = {name: (light, dark)[where == "a dark page"] for name, light, dark in page.colours("base.css")}
    if where == "a report":
        themed = {}

    def shown(colour: str) -> str:
        return themed.get(svg.VARIABLES.get(colour.lower(), ""), colour)

    fills = {*style.SERIES, style.GREY, style.PALE, style.PAPER, "#003f7f", "#ffe0b0"}
    found = {fill: round(contrast(shown(style.ink_on(fill)), shown(fill)), 2) for fill in fills}
    assert not {fill: value for fill, value in found.items() if value < 4.5}


def test_code_is_as_large_as_the_smallest_text_that_holds_it():
    """24 of the slide's 28 pixels are 0.857em: code in a table, which is so large itself, must not be smaller again."""
    assert re.search(r"^:is\(table, footer\) code \{ font-size: 1em; \}$", page.theme("base.css"), re.MULTILINE)


def test_nothing_in_the_theme_comes_from_elsewhere():
    for name in ("base.css", "deck.css", "text.css", "marp.css", "deck.js"):
        assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttp", page.theme(name)), name


# --- the index and the labs ---


@pytest.fixture
def course(tmp_path) -> Path:
    """A repository with two decks and two labs."""
    for number, (name, sends) in enumerate((("04_first", 'lab: 03_lab task="3.1"'), ("05_second", "covers: x"))):
        lines = [
            "---\nmarp: true\ntitle: Deck <1>\ndescription: What you can do.\nlab: 03_lab\n---\n",
            "<!-- _class: title -->\n# Deck\n<!--\n1 min. Hello.\n-->\n\n---\n",
            f"<!-- _class: text -->\n## Text\n<!-- {sends} -->\n<!--\n2.5 min. There.\n-->\n",
        ]
        path = tmp_path / "slides" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines).replace("covers: x", "covers: x.y").replace("<1>", f"<{number}>"))
    for name in ("03_lab", "04_lab"):
        folder = tmp_path / "labs" / name
        folder.mkdir(parents=True)
        readme = (
            f"# Lab {int(name[:2])}: Memory\n\n[lab 4](../04_lab/README.md) [mine](solution.py) [n](https://n.org)\n\n"
            f"* **{int(name[:2])}.1** find `it`\n  10 minutes.\n* **{int(name[:2])}.2** lose it\n"
        )
        (folder / "README.md").write_text(readme)
        (folder / "solution.py").write_text("SECRET = 1\n")
        (folder / "test_lab.py").write_text("")
    cell = tmp_path / "slides" / "lab" / "cells" / "one.py"
    cell.parent.mkdir(parents=True)
    cell.write_text('"""1. One: asks?\n\nText?\n\nTry:\n* This.\n\nLab: 03_lab\n"""\nprint(1)\n')
    return tmp_path


def test_the_index_names_decks_in_order_with_slides_minutes_and_lab(course):
    found = site.read(course)
    assert [(one.name, one.slides, one.minutes) for one in found.decks] == [("04_first", 2, 3.5), ("05_second", 2, 3.5)]
    made = index_page(found)
    assert made.index("04_first.html") < made.index("05_second.html")
    assert "Deck &lt;0&gt;" in made and "What you can do." in made and "2 slides" in made
    assert '<a href="lab_03_lab.html">Lab 3: Memory</a>' in made and '<a href="lab.html">Live cells</a>' in made


def test_neighbours_lead_both_ways(course):
    found = site.read(course)
    assert found.deck_neighbours("04_first").before is None
    assert found.deck_neighbours("05_second").before.address == "04_first.html"
    assert found.lab_neighbours("03_lab").after.address == "lab_04_lab.html"


def test_a_lab_has_anchors_and_links_back_and_nothing_of_its_solution(course):
    found = site.read(course)
    made = labs.lab_page(found, found.labs[0])
    assert '<li id="task-3.1" class="task">' in made and "find <code>it</code></span>10 minutes." in made
    assert '<a href="04_first.html#2">Deck &lt;0&gt;, slide 2</a>' in made and made.count('class="from"') == 1
    assert '<a href="lab_04_lab.html">lab 4</a>' in made and '<a href="https://n.org"' in made
    assert "mine" in made and "solution.py" not in made and "SECRET" not in made


def test_the_real_labs_have_an_anchor_for_each_task():
    from gpukit.labs import folders

    found = site.read(ROOT)
    for entry, lab in zip(found.labs, folders.find_labs(ROOT / "labs"), strict=True):
        made = labs.lab_page(found, entry)
        assert re.findall(r'id="task-([\d.]+)"', made) == list(lab.readme_tasks), lab.name


# --- building and serving ---


def run(*words: str, where: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    from gpukit.cli import main

    monkeypatch.chdir(where)
    monkeypatch.delenv("GPUKIT_PYODIDE", raising=False)
    runner = CliRunner()
    with runner.isolation() as (out, err, *_):
        code = main(["slides", *words])
        return code, out.getvalue().decode() + err.getvalue().decode()


def test_build_writes_pages_and_says_so_and_one_wrong_deck_stops_no_other(course, monkeypatch):
    first = course / "slides" / "04_first.md"
    first.write_text(first.read_text().replace("# Deck\n", "# Deck\n<!-- lab: 09_none -->\n"))
    code, said = run("build", "--jobs", "1", where=course, monkeypatch=monkeypatch)
    assert code == 1
    assert re.search(r"^05_second +2 slides +4 min +[\d.]+ s$", said, re.MULTILINE)
    assert "gpukit: slides/04_first.md:10: there is no lab '09_none'" in said and "Traceback" not in said
    assert "1 of 2 decks" in said
    out = course / "slides" / "build"
    names = {path.name for path in out.iterdir()}
    texts = {"index.html", "lab.html", "lab_03_lab.html", "lab_04_lab.html"}
    assert names == texts | {"05_second.html", "05_second.marp.md"}
    assert re.search(r"^lab +live cells, no Python +[\d.]+ s$", said, re.MULTILINE)


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_all_at_once_or_one_by_one_gives_the_same_bytes_whatever_was_there(course, monkeypatch):
    assert run("build", "--jobs", "1", "--out", "all", where=course, monkeypatch=monkeypatch)[0] == 0
    other = course / "one_by_one"
    other.mkdir()
    (other / "lab.html").write_text("old")
    for name in ("05", "04"):
        assert run("build", name, "--out", "one_by_one", where=course, monkeypatch=monkeypatch)[0] == 0
    assert bytes_of(course / "all") == bytes_of(other)
    assert "This page was built without Python" in (other / "lab.html").read_text()
    pages = [path.read_text() for path in other.glob("*.html") if path.name in ("index.html", "lab_03_lab.html")]
    assert all('<a href="lab.html">Live cells</a>' in page for page in pages) and len(pages) == 2


def test_live_cells_that_cannot_be_built_are_said_and_stop_no_deck(course, monkeypatch):
    (course / "slides" / "lab" / "cells" / "one.py").write_text("print(1)\n")
    code, said = run("build", "--jobs", "1", where=course, monkeypatch=monkeypatch)
    assert code == 1 and "gpukit: slides/lab/cells/one.py:1: a cell begins with" in said and "2 of 2 decks" in said
    code, said = run("build", "--pyodide", "none", "--jobs", "1", where=course, monkeypatch=monkeypatch)
    assert code == 1 and "gpukit: there is no folder none with Pyodide's files" in said and "2 of 2 decks" in said


def test_build_of_one_deck_by_part_of_its_name(course, monkeypatch):
    code, said = run("build", "second", "--out", "elsewhere", where=course, monkeypatch=monkeypatch)
    assert code == 0 and "1 of 1 deck in" in said and (course / "elsewhere" / "05_second.html").is_file()
    assert "Decks of the index that are not built yet: 1 (gpukit slides build)" in said
    code, said = run("build", "secnd", where=course, monkeypatch=monkeypatch)
    assert code == 1 and "there is no deck 'secnd'" in said and "05_second" in said


def test_without_slides_or_packages_one_sentence(tmp_path, course, monkeypatch):
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (course / "slides").glob("*.md"):
        path.unlink()
    code, said = run("build", where=empty, monkeypatch=monkeypatch)
    assert code == 1 and said.count("\n") == 1 and "there are no slides" in said
    monkeypatch.setattr("gpukit.cli.slides.PACKAGES", {"no_such_module": "no-such-package"})
    code, said = run("build", where=empty, monkeypatch=monkeypatch)
    assert code == 1 and said == 'gpukit: the slides need no-such-package: python -m pip install -e ".[slides]"\n'


def show(course: Path) -> serving.Show:
    out = course / "slides" / "build"
    out.mkdir(exist_ok=True)
    return serving.Show(course, out, 1, lambda words: 0, lambda line: None)


def test_what_a_change_asks_for(course):
    it = show(course)
    assert it.made_of([course / "slides" / "05_second.md"]) == [course / "slides" / "05_second.md"]
    assert it.made_of([course / "labs" / "03_lab" / "README.md"]) == site.deck_files(course)
    assert it.made_of([course / "slides" / "figures" / "other.py"]) == []
    second = course / "slides" / "05_second.md"
    second.write_text(second.read_text() + "\n<!-- fig: slides/figures/other.py::f -->\n")
    assert it.made_of([course / "slides" / "figures" / "other.py"]) == [second]
    # What no deck names is read by those that do.
    for room in ("numbers", "figures"):
        (course / "slides" / room).mkdir(exist_ok=True)
    (course / "slides" / "numbers" / "common.py").touch()
    (course / "slides" / "numbers" / "between.py").write_text("from .common import thing\n")
    assert it.made_of([course / "slides" / "numbers" / "common.py"]) == []
    (course / "slides" / "figures" / "other.py").write_text("from ..numbers import between\n")
    assert it.made_of([course / "slides" / "numbers" / "common.py"]) == [second]


def test_a_cell_that_changes_changes_the_live_cells_that_are_served(course):
    it, cell = show(course), course / "slides" / "lab" / "cells" / "one.py"
    with it.reader() as queue:
        it.update([str(cell)])
        assert queue.get(timeout=1)
    assert "1. One: asks?" in (it.out / "lab.html").read_text() and it.errors == {} and it.done == {"lab.html"}
    cell.write_text("print(1)")
    it.update([str(cell)])
    assert "one.py:1: a cell begins with a docstring" in it.errors["lab.html"]


def test_a_served_page_reloads_itself_and_an_error_is_a_page_with_the_sentence(course):
    it = show(course)
    found = site.read(course)
    for path in site.deck_files(course):
        it._keep(build.built(found, it.out, path, it.main))
    build.write_texts(found, it.out)
    it.errors["04_first.html"] = "slides/04_first.md:3: <wrong>; do better"
    server = ThreadingHTTPServer((serving.HOST, 0), partial(serving.Handler, it))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://{serving.HOST}:{server.server_port}/"
    try:
        with urllib.request.urlopen(f"{address}05_second.html") as reply:
            served = reply.read().decode()
        assert "new EventSource" in served and "connect-src 'self'" in served
        assert served.startswith((it.out / "05_second.html").read_text()[:60])
        with pytest.raises(urllib.error.HTTPError) as failed:
            urllib.request.urlopen(f"{address}04_first.html")
        with failed.value as reply:
            assert "slides/04_first.md:3: &lt;wrong&gt;; do better" in reply.read().decode()
        with urllib.request.urlopen(address + "events") as events:
            it._tell()
            assert events.readline() == b"data: new\n"
    finally:
        server.shutdown()
        server.server_close()
