"""Steppers: what their data say of a trace, the still picture, and that the page draws and plays the same."""

import json
import os
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit.errors import GpukitError
from gpukit.kernels import barriers, coalescing, divergence, reduction
from gpukit.plots import style
from gpukit.slides import stepper
from gpukit.slides.html.deck import deck_page
from gpukit.slides.html.site import Neighbours
from gpukit.slides.model import Asset, Deck, Slide
from gpukit.slides.stepper import Stepper

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def traces():
    x = np.arange(64, dtype=np.int32)
    return {
        "naive": gpukit.trace(reduction.naive, 1, 256, np.ones(512, np.int32), np.zeros(1, np.int32)),
        "block_sum": gpukit.trace(barriers.block_sum, 1, 64, np.ones(64, np.int32), np.zeros(1, np.int32)),
        "by_lane": gpukit.trace(divergence.by_lane, 1, 40, x, np.zeros_like(x)),
        "strided": gpukit.trace(
            coalescing.strided, 1, 64, np.zeros(4096, np.float32), np.zeros(64, np.float32), 33
        ).to_dict(),
    }


def of_line(data, text):
    """The steps of the line that contains a text."""
    return [step for step in data["steps"] if text in data["source"][step["l"]]]


def test_the_data_of_the_naive_reduction_are_small_and_have_its_masks(traces):
    data = Stepper.of(traces["naive"]).to_dict()
    text = json.dumps(data, separators=(",", ":"))
    assert len(text) < 12_000 and json.loads(text) == data
    assert len(data["steps"]) == 50
    assert (
        data["source"][0] == "tid = cuda.threadIdx.x" and data["warps"] == [0, 1] and data["lanes"] == [2**32 - 1] * 2
    )
    turns = of_line(data, "+=")
    for turn, step in enumerate(turns):
        mask = sum(1 << lane for lane in range(0, 32, min(2**turn, 32)))
        assert step["a"] == [mask, mask if turn < 6 else 0]
    assert [step["r"][0][:4] for step in turns[:3]] == [[0, "load", "data", 8]] * 3
    assert turns[0]["r"][0][4] == [0, 8, 16] and turns[4]["r"][0][4] == [0, 1, 4, 4, 1, 4]


def test_lanes_wait_at_a_barrier_and_banks_are_asked(traces):
    data = Stepper.of(traces["block_sum"]).to_dict()
    first = of_line(data, "+=")[0]
    number = data["steps"].index(first)
    assert first["a"] == [2**32 - 1, 0] and first["w"] == [0, 2**32 - 1]
    assert stepper.states_of(data, number, 1) == "w" * 32
    assert [request[5:] for request in first["r"]] == [[1]] * 3
    assert first["r"][0] == [0, "load", "tile", 1, [0, 32, 1], 1]
    assert "warp 1: waits, 32 at the barrier. warp 0 load tile: 1 wavefront" in stepper.sentence(data, number)


def test_a_part_of_a_warp_and_both_sides_of_a_branch(traces):
    data = Stepper.of(traces["by_lane"]).to_dict()
    assert data["lanes"] == [2**32 - 1, 255]
    assert data["at"] == 3 and data["source"][data["steps"][3]["l"]].strip() == "y[i] = 3 * x[i] + 1"
    assert stepper.states_of(data, 3, 0) == "ai" * 16
    assert stepper.states_of(data, 3, 1) == "ai" * 4 + " " * 24
    few = Stepper.of(traces["by_lane"], lines=["y[i]"], warps=[1], at=0).to_dict()
    assert len(few["steps"]) == 2 and few["warps"] == [1] and few["at"] == 0


def stills(traces):
    """Names and steppers of different kinds."""
    with style.on_slide():
        yield "naive", Stepper.of(traces["naive"])
        yield "four warps", Stepper.of(traces["naive"], warps=[0, 2, 4, 6], lines=["+=", "sync"])
        yield "block_sum", Stepper.of(traces["block_sum"])
        yield "by_lane", Stepper.of(traces["by_lane"])
        yield "strided", Stepper.of(traces["strided"], warps=[0])


def test_stills_fit_have_large_text_and_known_colours(traces):
    palette = {getattr(style, name) for name in dir(style) if re.fullmatch("#[0-9A-F]{6}", str(getattr(style, name)))}
    for name, made in stills(traces):
        width, height = made.data["size"]
        assert (width, height) == (1184, 448)
        for number in range(len(made.data["steps"])):
            text = made.still(number)
            assert len(text) < 40_000 and set(re.findall("#[0-9A-Fa-f]{6}", text)) <= palette
            root = ET.fromstring(text)
            assert root.get("font-size") == "24" and text.count("font-size") == 1
            for one in root.iter(f"{SVG}rect"):
                x, y, wide, high = (float(one.get(key) or 0) for key in ("x", "y", "width", "height"))
                assert x >= -1e-6 and x + wide <= width + 1e-6 and y + high <= height + 1e-6, name
            assert all(float(one.get("y")) < height for one in root.iter(f"{SVG}text")), name
    assert made.still() == made.still(made.data["at"])


def test_a_stepper_takes_the_height_that_its_slide_gives(traces):
    with style.on_slide(height=4):
        made = Stepper.of(traces["naive"])
    assert made.data["size"] == [1184, 384 - 52]
    with style.on_slide(height=2), pytest.raises(GpukitError, match="no room for 2 warps"):
        Stepper.of(traces["naive"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"warps": [8]}, "warps 0 to 7"),
        ({"warps": []}, "1 to 4 of the warps"),
        ({"warps": [0, 1, 2, 3, 4]}, "1 to 4 of the warps"),
        ({"block": 2}, "no block 2"),
        ({"lines": ["nothing of this"]}, "these warps and lines have 0"),
        ({"at": 50}, "steps 0 to 49"),
    ],
)
def test_what_is_not_there_is_one_sentence(traces, options, sentence):
    with pytest.raises(GpukitError, match=sentence):
        Stepper.of(traces["naive"], **options)


def test_other_mistakes_are_one_sentence_too(traces, monkeypatch):
    with pytest.raises(GpukitError, match=r"gpukit\.trace"):
        Stepper.of({"rows": []})
    with pytest.raises(GpukitError, match="steps 0 to 49; got 50"):
        Stepper.of(traces["naive"]).still(50)
    monkeypatch.setattr(stepper, "MAX_STEPS", 49)
    with pytest.raises(GpukitError, match="1 to 49 steps; these warps and lines have 50"):
        Stepper.of(traces["naive"])


# --- in the page -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab(traces, tmp_path_factory):
    """A page of a browser with a slide for each stepper, and the steppers."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if not chromium:
        if os.environ.get("GPUKIT_NEEDS_BROWSER"):
            pytest.fail("no Playwright or no Chromium")
        pytest.skip("no Playwright or no Chromium")
    made = list(stills(traces))
    slides = tuple(
        Slide(
            number, 1, ("picture",), name, f"<!-- _class: picture -->\n## {name}\n\n![a](figures/{number}.svg)\n", "", 1
        )
        for number, (name, _) in enumerate(made, 1)
    )
    assets = {f"figures/{n}.svg": Asset(one.still(), name, one.to_dict()) for n, (name, one) in enumerate(made, 1)}
    file = tmp_path_factory.mktemp("page") / "deck.html"
    meta = {"title": "Steppers", "description": "For a test"}
    file.write_text(deck_page(Deck(Path("x.md"), "x", meta, slides, assets), Neighbours()))
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
        browser = playwright.chromium.launch(executable_path=chromium, args=options)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda message: page.errors.append(message.text))
        page.goto(file.as_uri())
        yield page, [one for _, one in made]
        browser.close()


def scene(text):
    """What is drawn, from the text of an SVG: rectangles by their place and size, and texts."""
    root = ET.fromstring(text)
    for defs in root.findall(f"{SVG}defs"):
        root.remove(defs)
    found = []
    for one in root.iter():
        if one.tag == f"{SVG}rect":
            found.append(tuple(round(float(one.get(key)), 2) for key in ("x", "y", "width", "height")))
            fill = one.get("fill")
            found.append("hatched" if fill.startswith("url") else re.search("#[0-9A-Fa-f]{6}|none", fill)[0])
        elif one.tag == f"{SVG}text":
            found.append((round(float(one.get("x")), 2), round(float(one.get("y")), 2), "".join(one.itertext())))
    return found


def turned(page, number):
    """The stepper of a slide that the page was turned to."""
    page.evaluate(f"location.hash = '#{number}'")
    page.locator(f".slide.current:nth-of-type({number})").wait_for()
    return page.locator(".slide.current .stepper")


NOW = """() => {
  const box = document.querySelector('.slide.current .stepper');
  return [new XMLSerializer().serializeToString(box.querySelector('svg')), box.querySelector('.where').textContent];
}"""


def test_the_page_draws_every_step_as_the_still_is_drawn_and_says_it(tab):
    page, steppers = tab
    for number, made in enumerate(steppers, 1):
        box = turned(page, number)
        drawn, where = page.evaluate(NOW)
        assert scene(drawn) == scene(made.still())
        box.get_by_text("First").click()
        last = len(made.data["steps"])
        for step in range(last):
            drawn, where = page.evaluate(NOW)
            assert where == f"Step {step + 1} of {last}"
            assert scene(drawn) == scene(made.still(step)), f"{made.data['kernel']}, step {step}"
            assert box.locator(".sr").text_content() == stepper.sentence(made.data, step)
            page.keyboard.press("." if step % 2 else "]")
    assert page.errors == []


def test_keys_step_once_and_arrows_still_turn_slides(tab):
    page, _ = tab
    box = turned(page, 1)
    box.get_by_text("Last").click()
    for key, step in ((",", 49), ("[", 48), ("]", 49), (".", 50), (".", 50)):
        page.keyboard.press(key)
        assert page.evaluate(NOW)[1] == f"Step {step} of 50"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("[")  # from anywhere on its slide
    assert page.evaluate(NOW)[1] == "Step 49 of 50"
    page.keyboard.press("ArrowRight")
    assert page.evaluate("location.hash") == "#2"


def test_play_steps_by_itself_and_pauses_and_is_not_offered_where_motion_is_not_wanted(tab):
    page, _ = tab
    box = turned(page, 4)
    box.get_by_text("First").click()
    box.get_by_text("Play").click()
    assert box.get_by_text("Pause").count() == 1
    box.get_by_text("Step 2 of").wait_for()
    box.get_by_text("Pause").click()
    assert box.get_by_text("Play").count() == 1
    page.emulate_media(reduced_motion="reduce")
    box.get_by_text("Play").wait_for(state="hidden")
    page.emulate_media(reduced_motion="no-preference")


def test_no_text_of_a_stepper_is_smaller_than_24_pixels_and_nothing_leaves_the_slide(tab):
    page, steppers = tab
    for number in range(1, len(steppers) + 1):
        turned(page, number)
        sizes = page.evaluate(
            "() => [...document.querySelectorAll('.slide.current .stepper :is(text, button, .where)')]"
            ".map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 23.99
        box, keys = (
            page.locator(f".slide.current {name}").bounding_box() for name in (".stepper svg", ".stepper .keys")
        )
        assert box["x"] >= 48 and box["x"] + box["width"] <= 1232.5 and keys["y"] + keys["height"] <= 720 - 56
        wide = page.evaluate(
            "() => Math.max(...[...document.querySelectorAll('.slide.current .stepper text')]"
            ".map(e => e.getBoundingClientRect().right))"
        )
        assert wide <= 1233
