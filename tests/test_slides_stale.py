"""Nothing on a slide can go stale: what changes in the repository changes the page, or the build stops and says where.

A small repository is built twice, once as it is and once changed; the page is what a reader gets.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

import gpukit.cli
from gpukit.slides.html import build as building
from gpukit.slides.html import site as sites

ROOT = Path(__file__).parents[1]
DECK = """---
marp: true
title: Made
description: For a test.
lab: 02_divergence
results: h200=data/results/made.json
---

<!-- _class: title -->
# Made

<!-- 1 min. Say so. -->

---

<!-- _class: question -->
## Code

<!-- code: gpukit/kernels/made.py::twice mark="x[i] *= 2" -->

<!-- 1 min. Say so. -->

---

<!-- _class: fix -->
## What changes

<!-- code: gpukit/kernels/made.py::twice diff="once" -->

<!-- 1 min. Say so. -->

---

<!-- _class: row -->
## A number

It reaches <!-- number: h200::rungs[name=twice].bandwidth_gb_s format="{:,.0f} GB/s" -->.

<!-- table: slides/numbers/made.py::rows -->

<!-- 1 min. Said: {{ number: h200::rungs[name=twice].bandwidth_gb_s format="{:,.0f}" }}. -->

---

<!-- _class: run -->
## Counted

<!-- number: slides/numbers/made.py::requests --> requests.

<!-- output: gpukit profile gpukit/kernels/made.py:twice --grid 1 --block 64 -a x=int32[64]:ones
  from="Coalesced" to="Divergent" -->

<!-- 1 min. Say so. -->

---

<!-- _class: picture -->
## A picture

<!-- fig: slides/figures/made.py::drawn alt="A line." -->

<!-- 1 min. Say so. -->

---

<!-- _class: exercise -->
## To the lab

<!-- lab: 02_divergence task="2.1" -->

<!-- 1 min. Say so. -->
"""
KERNELS = """from numba import cuda


@cuda.jit
def once(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def twice(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2
"""
NUMBERS = """from pathlib import Path

import numpy as np

import gpukit
from gpukit.slides import Table, recording

ROOT = Path(__file__).parents[2]


def requests():
    kernel = gpukit.load(str(ROOT / "gpukit/kernels/made.py"))["twice"]
    return int(gpukit.profile(kernel, 1, 64, np.ones(64, np.int32)).counters["global_load_requests"])


def rows():
    rungs = recording("data/results/made.json", "rungs")
    return Table(["rung", "GB/s"], [[one["name"], one["bandwidth_gb_s"]] for one in rungs])
"""
FIGURES = """from gpukit.plots import style


def drawn():
    sheet, (axis,) = style.figure("", height=3)
    axis.plot([1, 2, 3])
    axis.set_xlim(0, 4)
    return sheet
"""
RESULT = {
    "machine": {"gpu": "NVIDIA H200", "date": "2026-11-01"},
    "rungs": [{"name": "once", "bandwidth_gb_s": 1111.0}, {"name": "twice", "bandwidth_gb_s": 2222.0}],
}
DECK_FILE, LAB = "slides/90_made.md", "labs/02_divergence/README.md"
KERNEL, NUMBER, FIGURE = "gpukit/kernels/made.py", "slides/numbers/made.py", "slides/figures/made.py"
RECORD = "data/results/made.json"
FILES = {DECK_FILE: DECK, KERNEL: KERNELS, NUMBER: NUMBERS, FIGURE: FIGURES, RECORD: json.dumps(RESULT)}


def page_of(root, *changes):
    """The page of the deck in a repository with texts of its files replaced; the sentence where there is none."""
    lab = root / "labs" / "02_divergence"
    shutil.copytree(ROOT / "labs" / "02_divergence", lab, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name, old, new in changes:
        text = (root / name).read_text()
        assert old in text, f"{name} has no {old}"
        (root / name).write_text(text.replace(old, new))
    done = building.built(sites.read(root), root / "built", root / DECK_FILE, gpukit.cli.main)
    return done.error or (root / "built" / "90_made.html").read_text()


def words(page):
    return " ".join(re.sub(r"<[^>]+>", "", page).split())


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("before"))


def test_the_page_shows_what_there_is(before):
    for text in (
        "x[i] *= 2",
        "2,222 GB/s",
        "Said: 2,222",
        "1111.0",
        "2 requests",
        "NVIDIA H200, 2026-11-01",
        "task 2.1",
    ):
        assert text in words(before), text


@pytest.mark.parametrize(
    ("file", "old", "new", "shown"),
    [
        (KERNEL, "i = cuda.grid(1)", "j = i = cuda.grid(1)", "j = i = cuda.grid(1)"),
        (KERNEL, "x[i] += 1", "x[i] += 17", "x[i] += 17"),
        (KERNEL, "x[i] *= 2", "x[i] *= 2 + x[i]", "4 requests"),
        (KERNEL, "i = cuda.grid(1)", "i = cuda.grid(1) * 8", "8.0 per store"),
        (RECORD, "2222.0", "3333.0", "3,333 GB/s"),
        (RECORD, "2222.0", "3333.0", "Said: 3,333"),
        (RECORD, "1111.0", "4444.0", "4444.0"),
        (RECORD, "2026-11-01", "2026-11-02", "NVIDIA H200, 2026-11-02"),
        (RECORD, "NVIDIA H200", "NVIDIA H100", "NVIDIA H100, 2026-11-01"),
        (LAB, "* **2.1** ", "* **2.1** Please ", "task 2.1: Please"),
        (LAB, "# Lab 2: ", "# Lab 9: ", "Lab 9, task 2.1"),
    ],
)
def test_a_change_is_on_the_page(before, tmp_path, file, old, new, shown):
    after = page_of(tmp_path, (file, old, new))
    assert shown not in words(before)
    assert shown in words(after)


def test_a_figure_that_is_drawn_otherwise_is_another_picture(before, tmp_path):
    after = page_of(tmp_path, (FIGURE, "[1, 2, 3]", "[1, 3, 2]"))
    assert after != before and words(after) == words(before)


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "said"),
    [
        (KERNEL, "def twice", "def thrice", "mark=", "gpukit/kernels/made.py has no twice"),
        (KERNEL, "def once", "def one", "diff=", "gpukit/kernels/made.py has no once"),
        (KERNEL, "x[i] *= 2", "x[i] *= 3", "mark=", 'mark="x[i] *= 2": no line of'),
        (RECORD, '"twice"', '"thrice"', "It reaches", "data/results/made.json::rungs has no item whose name is twice"),
        (RECORD, '"gpu": "NVIDIA H200", ', "", "It reaches", "data/results/made.json does not say its device"),
        (RECORD, ', "date": "2026-11-01"', "", "It reaches", "data/results/made.json does not say its date"),
        (RECORD, '"rungs"', '"steps"', "It reaches", "data/results/made.json has no 'rungs'"),
        (NUMBER, "def requests", "def wanted", "requests -->", "slides/numbers/made.py has no function requests"),
        (NUMBER, "def rows", "def lines", "table:", "slides/numbers/made.py has no function rows"),
        (FIGURE, "def drawn", "def made", "fig:", "slides/figures/made.py has no function drawn"),
        (FIGURE, "[1, 2, 3]", "[1 / 0]", "fig:", "slides/figures/made.py::drawn failed: ZeroDivisionError"),
        (FIGURE, "set_xlim(0, 4)", "set_title('A', fontsize=9)", "fig:", "slides/figures/made.py::drawn has text of 9"),
        (LAB, "* **2.1** ", "* **2.91** ", "lab: 02_divergence task", "02_divergence has no task 2.1"),
        (DECK_FILE, "lab: 02_divergence task", "lab: 92_x task", "lab: 02_divergence task", "there is no lab '92_x'"),
        (DECK_FILE, "gpukit profile", "gpukit prifile", "output:", "the command failed: `gpukit prifile"),
        (DECK_FILE, 'from="Coalesced"', 'from="Colesced"', "output:", 'from="Colesced": no line of gpukit profile'),
    ],
)  # fmt: skip
def test_what_is_no_longer_there_stops_the_build(tmp_path, file, old, new, line, said):
    number = next(number for number, text in enumerate(DECK.splitlines(), 1) if line in text)
    assert page_of(tmp_path, (file, old, new)).startswith(f"slides/90_made.md:{number}: {said}")
