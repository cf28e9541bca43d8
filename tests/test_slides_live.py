"""The live page without a browser: its cells run here, and what it carries is all that they need."""

import contextlib
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import gpukit
from gpukit import cuda, launching
from gpukit.cli import slides
from gpukit.cli.slides_lab import lab
from gpukit.errors import GpukitError
from gpukit.report import layout
from gpukit.slides.errors import SlidesError
from gpukit.slides.live import cells, page, running, runtime, sources

ROOT = Path(__file__).parents[1]
CELLS = {cell.name: cell for cell in cells.read_all(ROOT)}
NAMES = (
    *("first_kernel", "out_of_bounds", "divergence", "loop_lengths", "coalescing", "layout", "bank_conflicts", "race"),
    *("reduction", "reduction_shared", "shuffle", "grid_stride", "spmv", "embedding", "endless_loop"),
)


def counter(result: dict, name: str) -> list[str]:
    """A row of the table of counters: its value for each launch."""
    return next(row["values"] for row in result["counters"] if row["name"] == name)


def kinds_of(result: dict) -> list[tuple[str, int | None]]:
    return [(remark["severity"], remark["line"]) for launch in result["launches"] for remark in launch["remarks"]]


def run(source: str, name: str = "cell.py") -> dict:
    return running.run(source, name)


KERNEL = """
import numpy as np, gpukit
from gpukit import cuda
@cuda.jit
def twice(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2
x = np.arange(40)
"""


# --- the cells -------------------------------------------------------------------------------------------------------


def test_there_is_a_cell_for_every_key_idea_in_the_order_of_their_numbers():
    assert tuple(CELLS) == NAMES
    assert cells.names(ROOT) == sorted(NAMES)
    for cell in CELLS.values():
        assert "?" in " ".join((cell.title, *cell.paragraphs)), "a cell asks something"
        assert len(cell.tries) >= 3
        assert max(map(len, cell.source.splitlines())) <= 100
        assert "# code:" not in cell.source


# What each cell shows, as counters of its launches. 23.4 of 32 lanes and the like are the kit's own, checked elsewhere.
EXPECTED = {
    "first_kernel": {"load requests": ["8"], "divergent branches": ["1"]},
    "out_of_bounds": {"global requests": ["8"]},
    "divergence": {"divergent branches": ["8", "0"], "branches": ["16", "16"], "global requests": ["32", "16"]},
    "loop_lengths": {"active lanes": ["8.7 of 32"]},
    "coalescing": {"load sectors": ["16", "128"], "sectors per load request": ["4.0", "32.0"]},
    "layout": {"sectors per load request": ["16.0", "4.0"], "loaded bytes used": ["25%", "100%"]},
    "bank_conflicts": {"bank conflicts": ["0", "2,046", "0"], "shared requests": ["66", "66", "66"]},
    "race": {"barriers": ["1"]},
    "reduction": {"global requests": ["2,672", "992"], "divergent branches": ["768", "96"]},
    "reduction_shared": {"divergent branches": ["768", "96", "96"], "bank conflicts": ["0", "1,680", "0"]},
    "shuffle": {"warp synchronisations": ["15", "15"]},
    "grid_stride": {"divergent branches": ["1"], "store requests": ["32"]},
    "spmv": {"sectors per load request": ["13.8", "4.8"]},
    "embedding": {"sectors per load request": ["15.0", "2.5"]},
    "endless_loop": {},
}


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_runs_and_shows_its_idea(name):
    result = run(CELLS[name].source, CELLS[name].file)
    json.dumps(result)
    assert {row: counter(result, row) for row in EXPECTED[name]} == EXPECTED[name]
    if name == "endless_loop":
        assert result["error"]["line"] == 11
        assert "`waits` does not end" in result["error"]["sentence"]
        return
    assert result["error"] is None, result["error"]
    assert "False" not in result["output"]
    for launch in result["launches"]:
        assert any(line["number"] and line["cells"] for line in launch["lines"])
        assert launch["trace"]["warps"] and not launch["trace"]["truncated"]
        assert all(step[1] for warp in launch["trace"]["warps"] for step in warp["steps"]), "a step has lanes at work"


def test_the_cells_with_mistakes_name_their_lines():
    race, bounds = (run(CELLS[name].source, CELLS[name].file) for name in ("race", "out_of_bounds"))
    assert kinds_of(race) == [("error", 19)]
    assert "tile[tid] += tile[tid + stride]" in CELLS["race"].source.splitlines()[18]
    assert kinds_of(bounds) == [("error", 10), ("error", 10)]
    assert "x[100]" in bounds["launches"][0]["remarks"][0]["text"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "endless_loop"])
def test_counters_and_hazards_are_those_of_a_plain_profile(name, monkeypatch):
    """The page records the lanes in the run that it counts: that changes nothing."""
    cell, plain = CELLS[name], []
    shown = run(cell.source, cell.file)
    profile = gpukit.profile
    monkeypatch.setattr(gpukit, "profile", lambda *args, **more: plain.append(profile(*args, **more)) or plain[-1])
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(cell.source, cell.file, "exec"), {"__name__": "__main__"})
    assert shown["counters"] == running.counter_rows(plain)
    remarks = [[layout.message(remark.hazard) for remark in layout.remarks(report)] for report in plain]
    assert [[remark["text"] for remark in launch["remarks"]] for launch in shown["launches"]] == remarks


# --- the program that runs a cell ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        "gpukit.profile(twice, 2, 32, x)",
        "gpukit.check(twice, 2, 32, x)",
        "gpukit.launch(twice, 2, 32, x)",
        "twice[2, 32](x)",
        "from gpukit import profile as p; p(twice, (2, 1), (32, 1, 1), x)",
    ],
)
def test_every_way_to_launch_is_shown(call):
    before = gpukit.profile, gpukit.launch, launching.profile, cuda.launching.current()
    result = run(f"{KERNEL}{call}\nprint(x[39])")
    assert result["error"] is None, result["error"]
    assert result["output"] == "78\n"
    assert [launch["kernel"] for launch in result["launches"]] == ["twice"]
    assert counter(result, "load requests") == ["2"]
    assert (gpukit.profile, gpukit.launch, launching.profile, cuda.launching.current()) == before


def test_the_first_and_the_last_block_are_recorded_step_by_step():
    trace = run(f"{KERNEL}gpukit.profile(twice, 3, 64, x)")["launches"][0]["trace"]
    assert [(warp["block"], warp["warp"]) for warp in trace["warps"]] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    (guard, work), second = trace["warps"][0]["steps"][-2:], trace["warps"][1]["steps"]
    assert trace["lines"][work[0]] == {"number": 8, "text": "x[i] *= 2"}
    assert work[1] == 0xFFFFFFFF and second[-1][1] == 0xFF
    assert work[4] == ["load x: 32 lanes, 8 sectors", "store x: 32 lanes, 8 sectors"]
    assert guard[4] == [] and trace["threads"] == 64


def test_the_latest_launches_stand_side_by_side():
    result = run(f"{KERNEL}for n in range(6):\n    gpukit.profile(twice, 1, 32 * (n + 1), x)")
    assert result["more"] == 2
    assert [launch["shape"].split(":")[0] for launch in result["launches"]][-1] == "grid 1, block 192"
    assert all(len(row["values"]) == running.LAUNCHES for row in result["counters"])


def test_a_run_knows_nothing_of_the_one_before():
    assert run("seen = 1")["error"] is None
    assert run("print(seen)")["error"] == {"sentence": "cell.py:1: NameError: name 'seen' is not defined", "line": 1}
    again = KERNEL.replace("*= 2", "*= 3") + "gpukit.profile(twice, 1, 64, x)\nprint(x[1])"
    assert (run(KERNEL)["error"], run(again)["output"]) == (None, "3\n")
    assert [line["text"] for line in run(again)["launches"][0]["lines"]][-1].strip() == "x[i] *= 3"


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        ("x = 1\ny = (\n", 2, "this is not Python: '(' was never closed"),
        ("x = 1\n\n1 / 0", 3, "ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError\nf()", 2, "ValueError"),
        (KERNEL + "gpukit.profile(twice, 1, 2048, x)", 10, "a block holds at most 1,024"),
        (KERNEL + "gpukit.profile(twice, 1, 2.5, x)", 10, "the block must be an int"),
        (KERNEL.replace("x[i] *= 2", "x[i] = open") + "gpukit.profile(twice, 1, 64, x)", 8, "open"),
        (KERNEL + "gpukit.profile(twice, 1, 64, x, level='compiled')", 10, "needs NVIDIA's compiler"),
        ("from numba import cuda", 1, "write `from gpukit import cuda`"),
        ("import gpukit.raw", 1, "gpukit.raw is not in this page"),
        ("import pandas", 1, "there is no pandas in this page"),
        ("input()", 1, "EOFError"),
    ],
)
def test_an_error_is_one_sentence_with_the_cells_line(source, line, words, monkeypatch):
    for missing in ("numba", "gpukit.raw", "pandas"):
        monkeypatch.setitem(sys.modules, missing, None)
    error = run(source)["error"]
    assert error["line"] == line
    assert words in error["sentence"]
    assert "Traceback" not in error["sentence"] and "\n" not in error["sentence"]
    assert "gpukit/" not in error["sentence"] and ".py:" in error["sentence"]


def test_a_kernel_that_counts_for_ever_is_stopped_by_the_machine():
    source = KERNEL.replace(
        "    if i < x.size:\n        x[i] *= 2", "    n = 0\n    while n >= 0:\n        n = (n + 1) % 7"
    )
    error = run(source + "gpukit.profile(twice, 1, 32, x)")["error"]
    assert "does not end" in error["sentence"] and error["line"] in (7, 8)


def test_output_is_passed_on_at_once_and_cut():
    said = []
    result = running.run("import sys\nprint('a', 'b')\nprint('c', file=sys.stderr)", "cell.py", said.append)
    assert "".join(said) == result["output"] == "a b\nc\n"
    long = run("for n in range(99):\n    print('x' * 999)")
    assert len(long["output"]) == running.MAX_OUTPUT + len(running.CUT)
    assert long["output"].endswith(running.CUT)


# --- what the page carries -------------------------------------------------------------------------------------------

IN_THE_PAGE = """
import sys, threading
threading.Thread.start = None  # there are none in a browser
import json
from gpukit.slides.live.running import run
found = {}
for name, (file, source) in json.load(open(sys.argv[1])).items():
    found[name] = run(source, file)
found["print"] = run(open(sys.argv[2]).read(), "print.py")
print(json.dumps({"found": found, "modules": sorted({m.split(".")[0] for m in sys.modules})}))
"""


def test_the_files_in_the_page_are_all_that_the_cells_need(tmp_path):
    """In a Python that has those files and NumPy: no numba, no scipy, no click, no thread."""
    for name, data in sources.files().items():
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_bytes(data)
    (tmp_path / "numpy").mkdir()
    for part in Path(np.__file__).parents[1].glob("numpy*"):
        (tmp_path / "numpy" / part.name).symlink_to(part)
    (tmp_path / "cells.json").write_text(json.dumps({cell.name: (cell.file, cell.source) for cell in CELLS.values()}))
    (tmp_path / "print.py").write_text(KERNEL + "print(gpukit.profile(twice, 2, 32, x))")
    (tmp_path / "main.py").write_text(
        f"import sys\nsys.path[:0] = [{str(tmp_path / 'site')!r}, {str(tmp_path / 'numpy')!r}]\n{IN_THE_PAGE}"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "main.py", "cells.json", "print.py"],
        **{"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert not set(told["modules"]) & {"numba", "scipy", "matplotlib", "click", "watchfiles", "pytest"}
    assert "Coalesced?" in told["found"]["print"]["output"]
    assert told["found"]["print"]["error"] is None
    for cell in CELLS.values():
        assert told["found"][cell.name] == run(cell.source, cell.file), cell.name


def test_the_page_carries_no_tests_no_labs_and_no_compilers():
    names = set(sources.files())
    assert "gpukit/slides/live/running.py" in names and "gpukit/data/gpus.toml" in names
    assert not [n for n in names if n.startswith(("gpukit/labs", "gpukit/compilers", "gpukit/machine/frontends/ptx"))]
    assert {name.split("/")[0] for name in names} == {"gpukit", "rich", "pygments"}
    assert sum(map(len, sources.files().values())) < 4e6


# --- building it -----------------------------------------------------------------------------------------------------


def zipped(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return made.getvalue()


WHEEL = "numpy-2.0.2-cp312-cp312-pyodide_2024_0_wasm32.whl"


def a_runtime(folder: Path, **changed: bytes | None) -> Path:
    """A folder that looks like Pyodide's; `changed` files (dots and hyphens as _) are other ones, or None: missing."""
    numpy = zipped(numpy="x")
    lock = {
        "info": {"version": runtime.VERSION},
        "packages": {"numpy": {"file_name": WHEEL, "sha256": hashlib.sha256(numpy).hexdigest(), "depends": []}},
    }
    files: dict[str, bytes | None] = {
        "pyodide-lock.json": json.dumps(lock).encode(),
        "pyodide.js": f'var x="{runtime.VERSION}"; function loadPyodide() {{}}'.encode(),
        "pyodide.asm.js": b"var _createPyodideModule = 0; // </script>",
        "pyodide.asm.wasm": b"\0asm....",
        "python_stdlib.zip": zipped(os="x"),
        WHEEL: numpy,
    }
    for key, data in changed.items():
        (name,) = (name for name in files if name.replace("-", "_").replace(".", "_") == key)
        files[name] = data
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        if data is not None:
            (folder / name).write_bytes(data)
    return folder


def build(tmp_path: Path, **changed: bytes | None):
    return CliRunner().invoke(
        lab, ["--pyodide", str(a_runtime(tmp_path / "pyodide", **changed)), "--out", str(tmp_path / "build")]
    )


def test_one_file_is_made_the_same_every_time_with_no_address_in_it(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = build(tmp_path)
    assert (done.exit_code, done.exception) == (0, None)
    assert "lab.html" in done.output
    first = (tmp_path / "build" / "lab.html").read_bytes()
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["lab.html"]
    assert build(tmp_path).exit_code == 0
    assert (tmp_path / "build" / "lab.html").read_bytes() == first
    text = first.decode()
    assert "://" not in text.replace("http://www.w3.org/2000/svg", "").replace("embedded://", "")
    for name in NAMES:
        assert f'id="{name}"' in text
    assert 'href="index.html"' in text and 'href="lab_02_divergence.html"' in text
    assert text.count("</script>") == text.count("<script")


def test_without_python_a_page_says_so_and_how_to_get_it_and_carries_no_machine(tmp_path):
    """Small, with all cells and what they give; the browser may run the page's own script and nothing else."""
    made = page.build(ROOT, None, tmp_path)
    text = made.read_text()
    top = text[text.index('<main id="main">') : text.index('<section class="cell"')]
    assert "This page was built without Python" in top
    assert "<code>gpukit slides lab --pyodide FOLDER</code>" in top and 'id="static" hidden' not in top
    assert not page.has_python(made) and "asset-" not in text.partition("<script>\n")[0]
    assert "unsafe-eval" not in text and "worker-src" not in text
    assert len(text) < 6e5
    assert [name for name in NAMES if f'id="{name}"' in text] == list(NAMES)
    settings = json.loads(text.partition('id="settings">')[2].partition("</script>")[0])
    assert settings["python"] is None
    assert settings["expected"]["coalescing"] == json.loads(
        json.dumps(run(CELLS["coalescing"].source, "coalescing.py"))
    )
    page.build(ROOT, a_runtime(tmp_path / "pyodide"), tmp_path)
    assert page.has_python(made)
    page.build(ROOT, None, tmp_path)
    assert made.read_text() == text, "whatever lay there before"


WRONG = {
    "pyodide_lock_json": [None, b"{}", b"not json", b'{"info": {"version": "0.1"}, "packages": {"numpy": 1}}'],
    "pyodide_js": [None, b'var x="0.28.0"'],
    "pyodide_asm_js": [None, b"something else"],
    "pyodide_asm_wasm": [None, b"<html>"],
    "python_stdlib_zip": [None, b"not a zip"],
    WHEEL.replace("-", "_").replace(".", "_"): [None, b"another wheel"],
}


@pytest.mark.parametrize(("name", "data"), [(name, data) for name, all_data in WRONG.items() for data in all_data])
def test_a_file_of_pyodide_that_is_missing_or_wrong_is_one_sentence(tmp_path, name, data):
    with pytest.raises(SlidesError) as raised:
        runtime.read(a_runtime(tmp_path, **{name: data}))
    sentence = str(raised.value)
    assert name.split("_")[0] in sentence
    assert ("is missing in" if data is None else "is not the right file") in sentence
    assert "npm install pyodide@0.27.7" in sentence and "\n" not in sentence


def test_another_version_of_pyodide_and_a_folder_that_is_not_there_are_said(tmp_path):
    lock = {"info": {"version": "0.28.0"}, "packages": {"numpy": {"file_name": WHEEL, "sha256": "0"}}}
    with pytest.raises(SlidesError, match=r"it is of Pyodide 0\.28\.0, and the page is made for 0\.27\.7"):
        runtime.read(a_runtime(tmp_path, pyodide_lock_json=json.dumps(lock).encode()))
    with pytest.raises(SlidesError, match="there is no folder"):
        runtime.read(tmp_path / "nowhere")


# --- cells that are not as they should be ----------------------------------------------------------------------------

GOOD = '''"""1. Title: asks?

Text that asks?

Try:
* One.

Lab: 02_divergence
"""

# code: gpukit/kernels/some.py::kernel
print(1)
'''


def a_course(folder: Path, cell: str = GOOD, kernel: str = "def kernel(x):\n    x[0] = 1\n") -> Path:
    for name, text in {
        "slides/lab/cells/one.py": cell,
        "slides/03_deck.md": "---\nmarp: true\ntitle: A deck\n---\n\n# A\n\n---\n\n## B\n\n<!-- cell: one -->\n",
        "gpukit/kernels/some.py": kernel,
        "labs/02_divergence/README.md": "# Lab 2: Divergence\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_cell_shows_the_kernel_as_it_stands_and_links_back_and_onward(tmp_path):
    (cell,) = cells.read_all(a_course(tmp_path))
    assert cell.source == "def kernel(x):\n    x[0] = 1\nprint(1)\n"
    assert cell.decks == (cells.Link("03_deck.html#2", "A deck, slide 2"),)
    assert cell.lab == cells.Link("lab_02_divergence.html", "Lab 2: Divergence")
    assert cell.tries == ("One.",)
    (changed,) = cells.read_all(a_course(tmp_path, kernel="def kernel(x):\n    x[0] = 2\n"))
    assert "x[0] = 2" in changed.source


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (GOOD.replace("::kernel", "::gone"), r"one\.py:11: gpukit/kernels/some\.py has no gone"),
        (GOOD.replace("some.py", "none.py"), r"one\.py:11: there is no file gpukit/kernels/none\.py"),
        (GOOD.replace("02_divergence", "12_none"), "there is no lab '12_none'"),
        (GOOD.replace("1. Title", "Title"), "a cell begins with a docstring"),
        (GOOD.replace("Try:", "Do:"), "a cell begins with a docstring"),
        (GOOD.replace("1. Title", "2. Title"), "has number 2, where 1 comes next"),
        ("print(1)", "a cell begins with a docstring"),
        ("print(", r"one\.py:1: this is not Python"),
    ],
)
def test_a_cell_that_is_not_as_it_should_be_stops_the_build(tmp_path, cell, words):
    with pytest.raises(SlidesError, match=words):
        cells.read_all(a_course(tmp_path, cell))


def test_a_course_without_cells_has_no_page(tmp_path):
    with pytest.raises(SlidesError, match="there are no cells"):
        cells.read_all(tmp_path)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (tmp_path / "file").touch()
    with pytest.raises(GpukitError, match=r"^cannot write .*lab\.html: File exists; name another place"):
        page.build(ROOT, a_runtime(tmp_path / "pyodide"), tmp_path / "file")


def test_the_environment_names_the_folder_where_no_option_does(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("GPUKIT_PYODIDE", str(a_runtime(tmp_path / "pyodide")))
    done = CliRunner().invoke(lab, ["--out", str(tmp_path)])
    assert done.exit_code == 0 and page.has_python(tmp_path / "lab.html")
    monkeypatch.delenv("GPUKIT_PYODIDE")
    assert "GPUKIT_PYODIDE" in CliRunner().invoke(lab, ["--out", str(tmp_path)]).output
    for command in (slides.build, slides.serve):
        (option,) = (option for option in command.params if option.name == "pyodide")
        assert option.envvar == "GPUKIT_PYODIDE"
