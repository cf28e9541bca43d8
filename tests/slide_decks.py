"""A small course with one deck, for tests: kernels, a recording, a lab, a live cell, figures and numbers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from gpukit.slides import expand, objects, recordings, source
from gpukit.slides.model import Deck

FRONT = "---\nmarp: true\ntitle: Copies\ndescription: D.\nresults: bench=data/results/bench.json\n---\n\n"
KERNELS = '''"""Kernels."""

from gpukit import cuda


@FAMILY.kernel(plan)
@cuda.jit
def contiguous(x, y):
    """Neighbours read neighbours."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


@FAMILY.kernel(plan, against="contiguous")
@cuda.jit
def strided(x, y):
    """Every eighth."""
    i = cuda.grid(1)
    if i < x.size // 8:
        y[i] = x[8 * i]
'''
CPP = """// Kernels.
#define N 4
// Copies.
extern "C" __global__ void contiguous(const int* x, int* y) {
    int i = threadIdx.x;
    if (i < N) { y[i] = x[i]; }
}

template <typename T>
__device__ T twice(T x) { return x + x; }
"""
FIGURES = """from gpukit.plots import speed_up, style
from gpukit.slides import recording


def of_recording():
    assert recording("data/results/bench.json")["rungs"]
    return speed_up.figure_of()


def amdahl():
    return speed_up.figure_of()


def small():
    with style.on_slide():
        figure = speed_up.figure_of()
    figure.axes[0].text(0.5, 0.5, "tiny", fontsize=9)
    return figure


def broken():
    return 1 / 0


def nothing():
    return None


def drawn():
    return '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8"/></svg>'
"""
NUMBERS = """from gpukit.slides import Table, gpu, recording

from .shared import BENCH


def eight():
    return 8


def requests():
    return recording(BENCH, "rungs[name=contiguous].counters.values.global_load_requests")


def multiprocessors():
    return gpu("H200").sms


def faster():
    rungs = recording("data/results/bench.json")["rungs"]
    return rungs[0]["gb_s"] / rungs[1]["gb_s"]


def lost():
    return recording("data/results/lost.json")


def rows():
    return Table(["pattern", "sectors"], [["contiguous", 4], ["strided", 32]], numeric=[1], strong=[1])


def measured_rows():
    rung = recording(BENCH, "rungs[0]")
    return Table(["pattern", "GB/s"], [[rung["name"], rung["gb_s"]]])
"""
AT_IMPORT = """from gpukit.slides import recording

BENCH = recording("data/results/bench.json")


def bandwidth():
    return BENCH["rungs"][0]["gb_s"]
"""
COUNTERS = {"level": "source", "n": 64, "block": 64, "values": {"global_load_requests": 2}}
RECORDING = {
    "machine": {"gpu": "NVIDIA H200", "date": "2026-11-30"},
    "rungs": [
        {"name": "contiguous", "gb_s": 4000.5, "counters": COUNTERS},
        {"name": "strided", "gb_s": 1000.0, "note": None},
    ],
}


def course(folder: Path) -> Path:
    """Write the course into a folder, and return that."""
    objects.forget()
    recordings.load.cache_clear()
    for name, text in {
        "gpukit/kernels/copies.py": KERNELS,
        "gpukit/kernels/copies.cu": CPP,
        "slides/figures/copies.py": FIGURES,
        "slides/numbers/copies.py": NUMBERS,
        "slides/numbers/shared.py": 'BENCH = "data/results/bench.json"\n',
        "slides/numbers/at_import.py": AT_IMPORT,
        "slides/lab/cells/coalescing.py": "",
        "data/results/bench.json": json.dumps(RECORDING),
        "data/results/nameless.json": json.dumps({"gb_s": 1}),
        "labs/03_copies/README.md": "# Lab 3: Copies\n\n## Tasks\n\n* **3.1** copy an array\n  5 minutes.\n",
        "labs/03_copies/solution.py": KERNELS,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def remake(folder: Path) -> None:
    """Forget what was read, as a new build does."""
    objects.forget()
    recordings.load.cache_clear()
    shutil.rmtree(folder / "slides/figures/__pycache__", ignore_errors=True)


def slide(body: str, kind: str = "text", notes: str = "2 min. Say it.", heading: str = "## A heading") -> str:
    return f"<!-- _class: {kind} -->\n{heading}\n\n{body}\n\n<!-- {notes} -->\n"


def deck(folder: Path, *slides: str, name: str = "04_copies") -> Deck:
    """The deck of these slides; its one command is `gpukit echo WORDS`."""
    text = FRONT + "\n---\n\n".join(slides)
    made = source.parse(text, folder / f"slides/{name}.md", f"slides/{name}.md")
    return expand.expand(made, folder, lambda words: " ".join(words[1:]).replace(" / ", "\n") + "\n")


def markdown(folder: Path, body: str) -> str:
    """One slide, expanded."""
    return deck(folder, slide(body)).slides[0].markdown
