"""The live page in Chromium, opened from its file: loaded, edited, run, stopped, and read without Python.

Needs Chromium, Playwright and Pyodide's files with NumPy's wheel in the folder that GPUKIT_PYODIDE names; without them
these tests are skipped, and with GPUKIT_NEEDS_BROWSER=1 they fail. The page is loaded once, which costs seconds.
"""

import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpukit.slides.live import cells, page, running

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
LOCAL = ("file:", "blob:", "data:", "about:")
READY_SECONDS = 10
PATIENCE = 60_000  # milliseconds, for a step on a computer that does other things


def missing(reason: str):
    if os.environ.get("GPUKIT_NEEDS_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """`tab`: the page, with Python ready; `heard`: what its console and its requests should not hold; `seconds`."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright is not installed")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        missing("there is no Chromium on this computer")
    if "GPUKIT_PYODIDE" not in os.environ:
        missing("GPUKIT_PYODIDE names no folder with Pyodide's files and NumPy's wheel")
    file = page.build(ROOT, Path(os.environ["GPUKIT_PYODIDE"]), tmp_path_factory.mktemp("live"))
    heard: list[str] = []

    def listen(tab):
        tab.set_default_timeout(PATIENCE)
        tab.on("console", lambda said: heard.append(said.text) if said.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("request", lambda sent: None if sent.url.startswith(LOCAL) else heard.append(sent.url))
        return tab

    with sync_playwright() as tool:
        chromium = tool.chromium.launch(executable_path=browser, args=ARGUMENTS)
        tab = listen(chromium.new_page(viewport={"width": 1280, "height": 720}))
        begun = time.perf_counter()
        tab.goto(file.as_uri())
        tab.wait_for_function("document.body.dataset.ready")
        seconds = time.perf_counter() - begun
        yield SimpleNamespace(tab=tab, heard=heard, seconds=seconds, file=file, listen=listen, chromium=chromium)
        chromium.close()
    assert not heard


def run(live, name: str) -> None:
    live.tab.locator(f"#{name} .run").click()
    finished(live, name)


def finished(live, name: str) -> None:
    live.tab.locator(f"#{name} .state", has_text="after").wait_for()


def write(live, name: str, text: str) -> None:
    live.tab.locator(f"#{name} textarea").fill(text)


def counters(tab, name: str) -> dict[str, list[str]]:
    """The table of counters as it stands in the page."""
    rows = tab.locator(f"#{name} .counters tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('th, td:not(.about)')].map(cell => cell.textContent))"
    )
    return {name: values for name, *values in rows}


def expected(name: str) -> dict[str, list[str]]:
    cell = next(cell for cell in cells.read_all(ROOT) if cell.name == name)
    return {row["name"]: row["values"] for row in running.run(cell.source, cell.file)["counters"]}


def assert_axe_finds_nothing(live, scheme: str, parts: list[list[str]] | None) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    live.tab.emulate_media(color_scheme=scheme)
    found = axe.Axe().run(live.tab, {"include": parts} if parts else None)
    assert not found.response["violations"], found.generate_report()


def test_python_is_ready_within_ten_seconds_of_opening_the_file(live):
    """Measured on two cores. Where more programs run than there are cores, a second of work takes longer: so much
    longer the page may take."""
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    print(f"ready after {live.seconds:.1f} s, {busy:.1f} programs a core, {live.file.stat().st_size / 1e6:.1f} MB")
    assert live.seconds < READY_SECONDS * busy
    assert live.tab.locator("#state").inner_text() == "Python is ready."
    assert live.file.stat().st_size < 13e6


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_before_anything_has_run(live, scheme):
    assert_axe_finds_nothing(live, scheme, None)


@pytest.mark.parametrize("name", cells.names(ROOT))
def test_a_cell_counts_in_the_browser_what_it_counts_here(live, name):
    run(live, name)
    assert counters(live.tab, name) == expected(name)
    if name == "endless_loop":
        assert "`waits` does not end" in live.tab.locator("#endless_loop .problem").inner_text()
        return
    assert live.tab.locator(f"#{name} .source tbody tr").count() > 2
    assert live.tab.locator(f"#{name} .lanes svg path.active").count() > 1
    if name == "reduction":
        assert counters(live.tab, name)["global requests"] == ["2,672", "992"]


def test_a_kernel_that_is_changed_counts_something_else(live):
    run(live, "divergence")
    area = live.tab.locator("#divergence textarea")
    assert counters(live.tab, "divergence")["divergent branches"] == ["8", "0"]
    write(live, "divergence", area.input_value().replace("i % 2 == 0", "i < 100"))
    area.press("Control+Enter")
    finished(live, "divergence")
    assert counters(live.tab, "divergence")["divergent branches"] == ["1", "0"]
    live.tab.locator("#divergence .reset").click()
    assert "i % 2 == 0" in area.input_value()


def test_hazards_name_lines_and_lead_to_them(live):
    run(live, "race")
    assert live.tab.locator("#race .numbers .bad").all_inner_texts() == ["19"]
    live.tab.locator("#race .remarks button").click()
    chosen = "(area => area.value.slice(area.selectionStart, area.selectionEnd))(document.activeElement)"
    assert live.tab.evaluate(chosen).strip() == "tile[tid] += tile[tid + stride]"


def test_an_error_of_the_first_launch_is_shown_though_the_last_is_right(live):
    section = live.tab.locator("#coalescing")
    write(live, "coalescing", section.locator("textarea").input_value().replace("= x[i]", "= x[i + 4000]"))
    run(live, "coalescing")
    assert section.locator(".numbers .bad").all_inner_texts() == ["11"]
    assert section.locator(".state").inner_text().endswith(": 1 error.")
    assert section.locator(".tabs [aria-pressed=true]").inner_text() == "contiguous: 1 error"
    assert "thread 32 of block 1 reads x[4096]" in section.locator(".remarks").inner_text()
    section.locator(".reset").click()


def test_the_lane_picture_is_stepped_through_by_keys(live):
    run(live, "shuffle")
    section = live.tab.locator("#shuffle")
    slider = section.locator("input[type=range]")
    assert section.locator(".step").inner_text().startswith("Step 1 of 7,")
    slider.press("ArrowRight")
    assert section.locator(".step").inner_text().startswith("Step 2 of 7,")
    slider.press("End")
    assert section.locator(".step").inner_text().startswith("Step 7 of 7,")
    section.locator("select").select_option(label="block 0, warp 2")
    assert section.locator(".step").inner_text().startswith("Step 1 of 6,")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("x = (", "layout.py:1: this is not Python: '(' was never closed"),
        ("\n1 / 0", "layout.py:2: ZeroDivisionError: division by zero"),
        ("import scipy", "layout.py:1: there is no scipy in this page"),
        ("import gpukit\ngpukit.profile(None, 1, 32)", "layout.py:2: a kernel must be a Python function"),
    ],
)
def test_an_error_is_a_sentence_with_the_cells_line(live, program, words):
    write(live, "layout", program)
    run(live, "layout")
    said = live.tab.locator("#layout .problem").inner_text()
    assert words in said and "Traceback" not in said and "\n" not in said


def test_a_report_prints_itself_as_everywhere(live):
    area = live.tab.locator("#coalescing textarea")
    write(
        live,
        "coalescing",
        area.input_value().replace(
            "gpukit.profile(strided, 2, 64, x, y, 8)", "print(gpukit.profile(strided, 2, 64, x, y, 8))"
        ),
    )
    run(live, "coalescing")
    printed = live.tab.locator("#coalescing .output").inner_text()
    assert "Coalesced?" in printed and "32.0" in printed


def test_tab_indents_and_escape_gives_it_back(live):
    area = live.tab.locator("#grid_stride textarea")
    area.fill("if True:")
    area.press("End")
    area.press("Enter")
    area.press("Tab")
    assert area.input_value() == "if True:\n        "
    area.press("Escape")
    area.press("Tab")
    assert live.tab.evaluate("document.activeElement.tagName") != "TEXTAREA"
    live.tab.locator("#grid_stride .reset").click()


def test_an_endless_loop_is_stopped_and_python_starts_again(live):
    tab = live.tab
    write(live, "first_kernel", "print('begun', flush=True)\nwhile True:\n    pass\n")
    tab.locator("#first_kernel .run").click()
    tab.locator("#first_kernel .output", has_text="begun").wait_for()
    assert tab.locator("#divergence .run").is_disabled()
    frames = tab.evaluate(
        "new Promise(done => { let n = 0; const end = performance.now() + 300;"
        " const next = () => performance.now() < end ? (n++, requestAnimationFrame(next)) : done(n); next(); })"
    )
    assert frames > 3, "the page draws while Python is busy"
    begun = time.perf_counter()
    tab.locator("#first_kernel .stop").click()
    tab.locator("#first_kernel .state", has_text="Python was stopped and started again").wait_for()
    assert time.perf_counter() - begun < 2
    tab.locator("#first_kernel .reset").click()
    tab.locator("#first_kernel .run").click()  # waits for Python
    finished(live, "first_kernel")
    assert counters(tab, "first_kernel") == expected("first_kernel")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_results(live, scheme):
    """In some of them: an error, hazards, a picture and several launches. All together they would take it a minute."""
    run(live, "endless_loop")
    run(live, "race")
    run(live, "shuffle")
    assert_axe_finds_nothing(live, scheme, [["header"], ["#endless_loop"], ["#race"], ["#shuffle"]])


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_the_page_itself_never_scrolls_sideways(live, width, height):
    live.tab.set_viewport_size({"width": width, "height": height})
    assert live.tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    live.tab.set_viewport_size({"width": 1280, "height": 720})


@pytest.mark.parametrize("lacking", ["?static", "WebAssembly", "Worker"])
def test_without_python_each_cell_shows_what_it_gave_when_the_page_was_built(live, lacking):
    tab = live.listen(live.chromium.new_page())
    if lacking != "?static":
        tab.add_init_script(f"delete window.{lacking}")
    tab.goto(live.file.as_uri() + (lacking if lacking == "?static" else ""))
    tab.wait_for_function("document.body.dataset.ready === 'static'")
    assert lacking in tab.locator("#static").inner_text()
    assert "when this page was built" in tab.locator("#static").inner_text()
    for name in ("divergence", "spmv"):
        assert counters(tab, name) == expected(name)
    assert not tab.locator(".run:visible").count()
    tab.close()


def test_a_page_that_was_built_without_python_shows_what_each_cell_gave(live, tmp_path):
    tab = live.listen(live.chromium.new_page())
    tab.goto(page.build(ROOT, None, tmp_path).as_uri())
    tab.wait_for_function("document.body.dataset.ready === 'static'")
    assert "gpukit slides lab --pyodide FOLDER" in tab.locator("#static").inner_text()
    assert tab.locator("#static").is_visible() and not tab.locator("#keys").is_visible()
    assert tab.locator("#state").inner_text().startswith("Nothing runs here")
    tab.locator("#race-code").focus()  # what cannot be edited keeps no key, so the keyboard goes on
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") != "race-code"
    for name in ("divergence", "spmv"):
        assert counters(tab, name) == expected(name)
    assert not tab.locator(".run:visible").count()
    tab.close()


def test_without_a_script_a_cell_can_be_read(live, tmp_path):
    file = page.build(ROOT, None, tmp_path)
    tab = live.chromium.new_context(java_script_enabled=False).new_page()
    tab.goto(file.as_uri())
    assert tab.locator("noscript p").first.is_visible()
    area = tab.locator("#race-code")
    style = "-webkit-text-fill-color"
    colour = area.evaluate(f"(area) => [getComputedStyle(area)['{style}'], getComputedStyle(area).color]")
    assert colour[0] == colour[1] and "cuda.jit" in area.input_value()
    assert not tab.locator(".run:visible, #status:visible").count()
    tab.context.close()
