"""Tables of lab 7 in a terminal: nothing is cut off, however narrow it is."""

import importlib
import io

import pytest
from rich.console import Console
from rich.text import Text

from gpukit import plugins
from gpukit.report import tables

plugins.load("spmv")
bench_table = importlib.import_module("gpukit_labs.spmv.bench.table")

HEADINGS = ["matrix", "over\ncuSPARSE", "conversion", "time"]
ROWS = [["kron_g500-logn18 *", "1.08", "92", "145.2 us"], ["cant", "not measured"]]


def shown(width, headings=HEADINGS, rows=ROWS):
    console = Console(width=width, file=io.StringIO())
    console.print(tables.fitting(headings, rows, width), highlight=False)
    return console.file.getvalue()


def test_a_table_that_fits_is_one():
    text = shown(80)
    assert len([line for line in text.splitlines() if line.startswith("matrix")]) == 1
    assert "kron_g500-logn18 *         1.08         92 145.2 us" in text


@pytest.mark.parametrize(("width", "parts"), [(36, 3), (44, 2), (50, 2), (52, 1)])
def test_a_table_that_is_too_wide_goes_on_below_and_loses_nothing(width, parts):
    text = shown(width)
    words = text.split()
    assert "…" not in text and max(map(len, text.splitlines())) <= width
    assert {"1.08", "92", "145.2", "conversion", "cuSPARSE", "time"} <= set(words) and "not measured" in text
    assert text.count("kron_g500-logn18 *") == text.count("cant") == parts


def test_a_long_first_column_takes_several_lines_where_the_table_does_not_fit():
    rows = [["part of a copy's bandwidth, poisson2d, 9,000,000 rows", Text("0.8"), "reached, x 1.50"]]
    text = shown(60, ["target", "wanted", "verdict"], rows)
    assert "reached, x 1.50" in text and text.count("target") == 1 and "…" not in text
    assert " ".join(word for word in text.split() if word in rows[0][0]).startswith("part of a copy's bandwidth,")
    assert "part of a copy's bandwidth, poisson2d, 9,000,000 rows" in shown(100, ["target", "wanted", "verdict"], rows)


def test_reasons_that_differ_in_their_numbers_are_one():
    def entry(key, reason, language="numba"):
        return {"key": key, "status": "not run", "reason": reason, "language": language, "timing": None}

    def matrix(name, *entries):
        return {"name": name, "large": True, "entries": entries}

    made = [
        matrix("a", entry("ell", "12,345 slots are too many"), entry("ell", "12,345 slots are too many", "cpp")),
        matrix("b", entry("ell", "1234567 slots are too many"), entry("csr_warp", "needs 32 lanes")),
    ]
    assert [str(text) for text in bench_table._remarks(made)] == [
        "",
        "Not run: ell on a, b: so many slots are too many.",
        "Not run: csr_warp on b: needs 32 lanes.",
    ]
