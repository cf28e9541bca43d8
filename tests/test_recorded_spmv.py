"""What was recorded of sparse products on an H200: times (spmv_h200.json, by `gpukit bench spmv`) and counters
(h200_spmv_counters.json, by data/probes/spmv.py)."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

from gpukit import plugins
from gpukit.registry import CPP, NUMBA

plugins.load("spmv")
products = importlib.import_module("gpukit_labs.spmv.products")

RESULTS = Path(__file__).parents[1] / "data" / "results"
TIMES = json.loads((RESULTS / "spmv_h200.json").read_text())
COUNTERS = json.loads((RESULTS / "h200_spmv_counters.json").read_text())
MATRICES = TIMES["matrices"]
# The hardware counts a few more bank conflicts than the addresses have, and another number in the next run.
NOISY = {"shared_load_wavefronts", "shared_load_bank_conflicts"}


def timed(matrix, group):
    """Seconds by key of what was right and timed; the chosen kernel's own are under "chosen"."""
    found = {}
    for entry in matrix["entries"]:
        if entry["group"] == group and entry["timing"]:
            name = entry["key"] if group != "kernel" else (entry["key"], entry["language"])
            found[name] = entry["timing"]["median_s"]
    return found


def chosen(matrix):
    """Seconds of the kernel that choose_format takes, in CUDA C++."""
    return timed(matrix, "kernel")[matrix["chosen"], CPP]


@pytest.mark.parametrize("record", [TIMES, COUNTERS], ids=["times", "counters"])
def test_the_record_says_where_and_when(record):
    machine = record["machine"]
    assert machine["gpu"] == "NVIDIA H200"
    assert {"driver", "date", "command", "commit", "numba-cuda", "cupy-cuda13x", "nvmath-python"} <= machine.keys()


def test_twelve_matrices_and_more_of_every_kind():
    assert len(MATRICES) >= 12 and (TIMES["dtype"], TIMES["pointer"]) == ("float32", "int32")
    assert sum(matrix["csr_bytes"] >= 200e6 for matrix in MATRICES) >= 12
    assert {matrix["large"] for matrix in MATRICES} == {True, False}
    assert all(matrix["large"] == (matrix["csr_bytes"] >= 200e6) for matrix in MATRICES)


def test_bytes_are_those_of_the_formula():
    for matrix in MATRICES:
        rows, columns, nnz = matrix["rows"], matrix["columns"], matrix["nnz"]
        assert matrix["csr_bytes"] == 8 * nnz + 4 * (rows + 1) + 4 * rows + 4 * columns


def test_what_was_not_run_has_a_reason_and_nothing_was_wrong():
    for matrix in MATRICES:
        for entry in matrix["entries"]:
            assert entry["status"] == "right" or (entry["status"] == "not run" and entry["reason"])
        assert {language for _, language in timed(matrix, "kernel")} == {NUMBA, CPP}
    everywhere = {entry["way"] for matrix in MATRICES for entry in matrix["entries"] if entry["group"] == "kernel"}
    assert everywhere == set(products.WAYS)


def test_cusparse_was_as_good_as_it_gets():
    """Plain and preprocessed, all algorithms for CSR everywhere, and SELL where it does not pad too much."""
    plain = {f"cusparse_{name}{more}" for name in ("default", "alg1", "alg2") for more in ("", "_preprocessed")}
    for matrix in MATRICES:
        assert plain <= timed(matrix, "cusparse").keys()
    assert sum("cusparse_sell_32" in timed(matrix, "cusparse") for matrix in MATRICES) > len(MATRICES) / 2


def test_the_chosen_kernel_beats_cupy_and_the_best_of_cusparse():
    over_cupy = [timed(matrix, "cupyx")["cupyx"] / chosen(matrix) for matrix in MATRICES]
    over_cusparse = [min(timed(matrix, "cusparse").values()) / chosen(matrix) for matrix in MATRICES]
    assert np.exp(np.mean(np.log(over_cupy))) >= 1.25
    assert np.exp(np.mean(np.log(over_cusparse))) >= 1.10
    assert min(over_cusparse) >= 0.95


def test_nothing_of_ours_was_much_faster_than_what_was_chosen():
    for matrix in MATRICES:
        assert min(timed(matrix, "kernel").values()) >= 0.95 * chosen(matrix), matrix["name"]


def test_a_poisson_product_reaches_eighty_percent_of_a_copy():
    """By CSR's bytes, and by the fewer that the hybrid moves, too."""
    poisson = next(matrix for matrix in MATRICES if matrix["name"] == "poisson2d")
    assert poisson["rows"] == 9_000_000
    own = next(e["own_bytes"] for e in poisson["entries"] if (e["key"], e.get("language")) == (poisson["chosen"], CPP))
    for bytes_moved in (poisson["csr_bytes"], own):
        assert bytes_moved / chosen(poisson) / 1e9 >= 0.8 * TIMES["ceilings"]["copy"]


def test_the_summary_is_that_of_the_entries():
    summary = TIMES["summary"]
    over = [min(timed(matrix, "cusparse").values()) / chosen(matrix) for matrix in MATRICES]
    assert summary["over_cusparse"]["least"] == pytest.approx(min(over))
    assert summary["over_cusparse"]["mean"] == pytest.approx(np.exp(np.mean(np.log(over))))
    assert all(target["reached"] for target in summary["targets"])


def test_the_page_says_what_was_recorded():
    page = " ".join((Path(products.__file__).with_name("README.md")).read_text().split())
    over_cupy = [timed(matrix, "cupyx")["cupyx"] / chosen(matrix) for matrix in MATRICES]
    over = {matrix["name"]: min(timed(matrix, "cusparse").values()) / chosen(matrix) for matrix in MATRICES}
    named = {matrix["name"]: matrix for matrix in MATRICES}
    means = [np.exp(np.mean(np.log(list(ratios)))) for ratios in (over_cupy, over.values())]
    assert f"{means[0]:.2f} times as fast as CuPy's `A @ x` and {means[1]:.2f} times as fast as the best" in page
    least = min(over, key=over.get)
    assert f"and {over[least]:.2f} times at least, on `{least}`" in page
    assert f"{sum(matrix['large'] for matrix in MATRICES)} of the matrices are larger than 200 MB" in page

    poisson = named["poisson2d"]
    copy, seconds = TIMES["ceilings"]["copy"] * 1e9, chosen(poisson)
    own = next(e["own_bytes"] for e in poisson["entries"] if (e["key"], e.get("language")) == (poisson["chosen"], CPP))
    assert f"{seconds * 1e6:.0f} us. CSR's bytes" in page
    assert f"are {poisson['csr_bytes'] / seconds / copy:.0%} of what".replace("%", " %") in page
    assert f"the hybrid's own {own / seconds / copy:.0%}".replace("%", " %") in page

    random = [named[name] for name in ("uniform", "rmat", "cage15", "soc-LiveJournal1", "kron_g500-logn18")]
    rates = [matrix["nnz"] / chosen(matrix) / 1e9 for matrix in random]
    assert f"{min(rates):.0f} to {max(rates):.0f} billion entries a second" in page
    assert all(0.92 < over[matrix["name"]] < 1.081 for matrix in random)
    assert 4400 <= round(32 * min(rates), -2) <= round(32 * max(rates), -2) <= 4700

    giant = timed(named["circuit5M"], "kernel")
    assert f"{giant['csr_warp', CPP] / chosen(named['circuit5M']):.0f} times the hybrid's time" in page
    slower = [timed(matrix, "kernel")[matrix["chosen"], NUMBA] / chosen(matrix) for matrix in MATRICES]
    assert f"The hybrid in numba takes {min(slower):.1f} to {max(slower):.1f} times" in page


def test_every_kernel_was_counted_on_three_matrices_and_more():
    assert COUNTERS["wrong"] == {}
    names = [name.split("/") for name in COUNTERS["launches"]]
    for way in products.WAYS:
        for language in (NUMBA, CPP):
            on = {matrix for matrix, key, lang, *_ in names if key.partition("(")[0] == way and lang == language}
            assert len(on) >= 3, (way, language, on)


@pytest.mark.parametrize("name", COUNTERS["launches"])
def test_the_compiled_level_counts_what_the_hardware_counts(name):
    counters = COUNTERS["launches"][name]["counters"]
    assert {"global_load_requests", "global_load_sectors"} <= counters.keys()
    for counter, found in counters.items():
        if counter in NOISY and "merge_path" in name:
            assert 0 <= found["gpu"] - found["cpu"] <= 0.02 * found["cpu"]
        else:
            assert found["gpu"] == found["cpu"], counter
