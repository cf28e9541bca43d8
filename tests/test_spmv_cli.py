"""`gpukit spmv`: what it measures, shows, draws and refuses."""

from __future__ import annotations

import dataclasses
import importlib
import json
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from family_runs import needs_compiler

from gpukit import cli, devices, plugins
from gpukit.bench.running import NOT_RUN, RIGHT, WRONG
from gpukit.registry import CPP, NUMBA

plugins.load("spmv")
figures, formats, matrices, model, products, profiling, references, terminal = (
    importlib.import_module(f"gpukit_labs.spmv.{name}")
    for name in (
        *("profiling.figures", "formats", "matrices", "profiling.model", "products", "profiling.measuring"),
        *("libraries.references", "profiling.terminal"),
    )
)
choosing, command, errors = (
    importlib.import_module(f"gpukit_labs.spmv.{name}") for name in ("choosing", "profiling.command", "errors")
)


def run(capsys, *arguments):
    """(exit code, standard output, standard error)"""
    code = cli.main([*map(str, arguments)])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out, printed.err


def rows_of(*lengths, columns=0, seed=0):
    """A matrix whose rows have these lengths, in columns drawn at random."""
    lengths = np.asarray(lengths, np.int64)
    columns = columns or max(int(lengths.max(initial=1)), 1)
    rng = np.random.default_rng(seed)
    indices = [np.sort(rng.permutation(columns)[:length]) for length in lengths]
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    found = np.concatenate([np.empty(0, np.int64), *indices]).astype(np.int32)
    data = rng.integers(1, 4, found.size).astype(np.float32)
    return formats.Csr((lengths.size, columns), indptr, found, data).checked()


def counted(csr, **options):
    """Way -> what was counted, in Python."""
    found = profiling.profile(csr, "made", **options)
    return {one.way: one for one in found.counted}


def break_warps(monkeypatch):
    """One warp per row multiplies a matrix of zeros instead."""
    right = products.WAYS["csr_warp"]
    zeros = dataclasses.replace(right, convert=lambda csr: dataclasses.replace(csr, data=0 * csr.data))
    monkeypatch.setitem(products.WAYS, "csr_warp", zeros)


@pytest.fixture
def mtx(tmp_path):
    """A matrix of 40 x 30 as a file of Matrix Market."""
    matrix = scipy.sparse.random_array((40, 30), density=0.1, rng=np.random.default_rng(0)).tocsr()
    matrix.sort_indices()
    scipy.io.mmwrite(tmp_path / "small.mtx", matrix)
    return tmp_path / "small.mtx"


# --- measuring -------------------------------------------------------------------------------------------------------


def test_every_way_is_counted_and_right():
    found = profiling.profile(matrices.small("webbase-1M"), "webbase-1M")
    assert [one.way for one in found.counted] == list(products.WAYS)
    assert {one.status for one in found.counted} == {RIGHT}
    assert found.sample is None and not found.wrong and not found.timed
    for one in found.counted:
        assert model.sectors(one.counters) > model.requests(one.counters) > 0
        assert 1 <= one.counters["active_lanes_per_instruction"] <= 32
        assert one.bytes_moved > one.nbytes > 0 and one.slots >= 1


@needs_compiler
def test_both_languages_do_the_same_with_a_matrix():
    found = profiling.profile(rows_of(*[3, 40, 0, 7] * 30), "made", languages=(NUMBA, CPP))
    assert [(one.way, one.language) for one in found.counted] == [
        (way, language) for way in products.WAYS for language in (NUMBA, CPP)
    ]
    assert {one.status for one in found.counted} == {RIGHT}
    loads = {(one.way, one.language): one.counters["global_load_sectors"] for one in found.counted}
    assert loads["ell", NUMBA] == loads["ell", CPP]


def test_the_numbers_are_those_of_a_matrix_that_is_counted_by_hand():
    """64 rows of 4 entries, each reading x[0]: one thread per row, a warp asks for 4 columns, 4 values, x 4 times, two
    row pointers, and stores y."""
    csr = formats.Csr((64, 8), np.arange(65, dtype=np.int32) * 4, np.zeros(256, np.int32), np.ones(256, np.float32))
    one = counted(csr)["csr_thread"]
    assert one.counters["global_load_requests"] == 2 * (4 + 4 + 4 + 2)
    assert one.counters["global_store_requests"] == 2 and one.counters["global_store_sectors"] == 8
    # 32 lanes 16 bytes apart are 16 sectors, for columns and for values; x is one; the row pointers 4 and 5.
    assert one.counters["global_load_sectors"] == 2 * (4 * 16 + 4 * 16 + 4 + 4 + 5)
    assert one.bytes_moved == 4 * 256 + 4 * 256 + 4 * 65 + 4 * 64 + 4 * 8 == products.csr_bytes(csr)
    assert counted(csr)["ell"].nbytes == 8 * 256


def test_padding_is_that_of_the_formats():
    csr = rows_of(*np.random.default_rng(1).integers(0, 40, 700))
    fills = profiling.padding(csr)
    assert list(fills) == ["ELL", "1", "64", "256", "all"]
    assert fills["ELL"] == formats.Ell.from_csr(csr).slots / csr.nnz
    for sigma in ("1", "64", "256"):
        assert fills[sigma] == formats.SlicedEll.from_csr(csr, 32, int(sigma)).slots / csr.nnz
    ways = counted(csr)
    assert ways["ell"].slots == fills["ELL"]
    options = ways["sliced_ell"].options
    assert ways["sliced_ell"].slots == formats.SlicedEll.from_csr(csr, **options).slots / csr.nnz


def test_the_chosen_way_is_counted_with_the_options_that_were_chosen(monkeypatch):
    chosen = choosing.Choice("csr_subwarp", {"lanes": 16}, "of the test")
    monkeypatch.setattr(profiling.choosing, "choose_format", lambda csr: chosen)
    csr = rows_of(*[20] * 64)
    ways = counted(csr)
    assert ways["csr_subwarp"].options == {"lanes": 16} and ways["csr_warp"].options == {}
    other = choosing.Choice("csr_subwarp", {"lanes": 2}, "of the test")
    monkeypatch.setattr(profiling.choosing, "choose_format", lambda csr: other)
    stores = [made["csr_subwarp"].counters["global_store_requests"] for made in (ways, counted(csr))]
    assert stores == [64 * 16 // 32, 64 * 2 // 32], "warps, each of which stores once"


def test_a_wrong_answer_is_told_and_ends_with_1(monkeypatch, capsys):
    csr = rows_of(*[5] * 40)
    break_warps(monkeypatch)
    found = profiling.profile(csr, "made")
    assert [one.way for one in found.wrong] == ["csr_warp"]
    monkeypatch.setattr(command, "matrix", lambda *_: (csr, "made"))
    code, out, err = run(capsys, "spmv", "made")
    assert (code, err) == (1, "")
    assert "csr_warp WRONG" in out and "Wrong answers:" in out
    assert re.search(r"csr_warp +row 0 \(5 entries\) is 0 and must be", out)


# --- the sample ------------------------------------------------------------------------------------------------------


def test_a_large_matrix_is_counted_on_blocks_of_its_rows():
    lengths = np.random.default_rng(2).integers(0, 20, 256 * 40 + 17)
    csr = rows_of(*lengths, columns=50)
    part, sample = profiling.sampled(csr, work=csr.rows // 4 + csr.nnz // 4)
    assert sample.rows == part.rows and sample.entries == part.nnz and part.columns == csr.columns
    assert 0.15 < part.nnz / csr.nnz < 0.35 and part.rows % 256 in (0, 17)
    part.checked()
    # Each block is one of the matrix, in order: lengths, columns and values.
    starts = []
    for first in range(0, part.rows, 256):
        block = part.lengths[first : first + 256]
        (at,) = [
            start for start in range(0, csr.rows, 256) if np.array_equal(csr.lengths[start : start + block.size], block)
        ]
        ours, theirs = part.indptr[first], csr.indptr[at]
        assert np.array_equal(part.indices[ours:][: block.sum()], csr.indices[theirs:][: block.sum()])
        assert np.array_equal(part.data[ours:][: block.sum()], csr.data[theirs:][: block.sum()])
        starts.append(at)
    assert starts == sorted(starts) and len(starts) == sample.blocks
    assert starts[0] < csr.rows // 8 and starts[-1] > 7 * csr.rows // 8


def test_a_small_matrix_is_counted_whole_and_a_row_too_many_is_not():
    csr = rows_of(*[4] * 600)
    assert profiling.sampled(csr, csr.rows + csr.nnz) == (csr, None)
    _, sample = profiling.sampled(csr, csr.rows + csr.nnz - 1)
    assert sample is not None and sample.rows < csr.rows


def test_a_block_of_long_rows_does_not_make_the_sample_large():
    csr = rows_of(*[2] * 256 * 20, *[1000] * 256, *[2] * 256 * 20)
    part, sample = profiling.sampled(csr, work=40_000)
    assert part.rows + part.nnz <= 80_000 or sample.blocks == 1


def test_the_output_says_that_it_is_a_sample(monkeypatch, capsys, mtx):
    monkeypatch.setattr(profiling.sampled, "__defaults__", (3000,))
    csr = rows_of(*[4] * 2000)
    monkeypatch.setattr(command, "matrix", lambda *_: (csr, "made"))
    code, out, _ = run(capsys, "spmv", "made", "--json", "-")
    sample = json.loads(out)["sample"]
    assert code == 0 and 0 < sample["rows"] < 2000
    text = " ".join(run(capsys, "spmv", "made")[1].split())
    assert f"on a sample: {sample['blocks']} blocks of consecutive rows, spread evenly" in text
    assert f"{sample['rows']:,} of 2,000 rows and {sample['entries']:,} of 8,000 entries" in text
    assert "the recommendation the whole matrix's" in text


def test_a_matrix_that_the_memory_is_too_small_for_is_refused(monkeypatch):
    csr = rows_of(*[3] * 1000)
    monkeypatch.setattr(profiling, "memory_bytes", lambda: 100_000)
    with pytest.raises(
        errors.MatrixError, match=r"1,000 rows, .* and 3,000 entries take some .* GB to profile, and this machine"
    ):
        counted(csr)
    monkeypatch.setattr(profiling, "memory_bytes", lambda: None)
    assert counted(csr)


def test_what_the_machine_would_take_too_long_for_says_so(monkeypatch):
    monkeypatch.setattr(profiling, "MOST_STEPS", 100)
    ways = counted(rows_of(*[2] * 100, 150))
    for way in ("csr_thread", "ell", "sliced_ell"):
        assert ways[way].status == NOT_RUN and not ways[way].counters
        assert ways[way].why == "not counted here: one lane would walk 150 entries by itself"
    assert {ways[way].status for way in ("csr_warp", "hybrid", "merge_path")} == {RIGHT}
    monkeypatch.setattr(profiling, "MOST_STEPS", 200)
    monkeypatch.setattr(profiling, "MOST_BYTES", 101 * 150 * 8 - 1)
    ways = counted(rows_of(*[2] * 100, 150))
    assert ways["ell"].why == "not counted here: 101 rows would be padded to 150 entries each"
    assert ways["csr_thread"].status == RIGHT


# --- what the counters say -------------------------------------------------------------------------------------------


def test_remarks_name_what_is_against_a_way():
    """Long rows idle no lanes of a warp, and short ones do; skewed ones pad ELL; a long one keeps a lane for long."""
    even = counted(rows_of(*[64] * 128))
    assert any("times the sectors of" in said for said in even["csr_thread"].remarks)
    assert not [said for said in even["csr_warp"].remarks if "lanes work" in said or "slots" in said]
    skewed = counted(rows_of(*[1, 2, 1, 3] * 64, 1500))
    said = skewed["csr_thread"].remarks
    assert any(re.fullmatch(r"\d+\.\d of 32 lanes work", one) for one in said)
    assert "one lane takes 1,500 steps, which no other work hides" in said
    assert any(re.fullmatch(r"[\d,.]+ slots for each entry", one) for one in skewed["ell"].remarks)
    assert any("times the warp instructions of" in one for one in skewed["csr_warp"].remarks)
    diagonal = counted(rows_of(*[4] * 128, columns=200))
    assert diagonal["ell"].remarks == []


# --- on a GPU --------------------------------------------------------------------------------------------------------


class Card(devices.CpuMachine):
    """The CPU machine in a GPU's place: its name is what `gpukit.benchmark` takes the clock by."""

    card = "NVIDIA Test"


@pytest.fixture
def quick(monkeypatch):
    real = profiling.gpukit.benchmark
    monkeypatch.setattr(profiling.gpukit, "benchmark", lambda run, **options: real(run, repeats=2, warmup=1, **options))


def test_times_are_taken_of_right_answers_alone_and_stand_beside_cupys(monkeypatch, quick):
    csr = rows_of(*[3, 9, 0, 30] * 20)
    break_warps(monkeypatch)
    stand_in = dataclasses.replace(references.REFERENCES["scipy"], name="cupyx", group="cupyx")
    monkeypatch.setitem(references.REFERENCES, "cupyx", stand_in)
    found = profiling.profile(csr, "made", cpu=False, device=Card())
    assert found.timed_on == "NVIDIA Test" and not found.counted
    assert [one.way for one in found.timed] == [*products.WAYS, "cupyx"]
    for one in found.timed:
        assert one.status == (WRONG if one.way == "csr_warp" else RIGHT)
        assert (one.seconds is None) == (one.way == "csr_warp")
    assert found.timed[0].gb_s == pytest.approx(products.csr_bytes(csr) / found.timed[0].seconds / 1e9)
    assert [one.way for one in found.wrong] == ["csr_warp"]


def test_times_are_shown_as_ratios_to_cupys(monkeypatch, quick, capsys):
    csr = rows_of(*[3] * 40)
    found = profiling.profile(csr, "made", cpu=False, device=Card())
    assert found.timed[-1].way == "cupyx" and found.timed[-1].status == NOT_RUN
    assert "runs on an NVIDIA GPU only" in found.timed[-1].why
    for one in found.timed:
        one.seconds, one.gb_s, one.conversion_seconds, one.remarks = 2e-6, 100.0, 8e-6, []
    found.timed[-1].seconds, found.timed[-1].status = 5e-6, RIGHT
    terminal.show(found, importlib.import_module("gpukit.cli.output").console())
    out = capsys.readouterr().out
    assert re.search(r"^csr_warp +2\.00 us +100 +2\.50 +4$", out, re.MULTILINE)
    assert re.search(r"^cupyx +5\.00 us +100 +1\.00 +-$", out, re.MULTILINE)
    assert "requests" not in out


def test_what_a_gpu_has_no_room_for_is_left_out(monkeypatch, quick):
    class OutOfMemoryError(MemoryError):
        """As CuPy's is called."""

    def convert(csr, **options):
        raise OutOfMemoryError

    hybrid = dataclasses.replace(products.WAYS["hybrid"], convert=convert)
    monkeypatch.setitem(products.WAYS, "hybrid", hybrid)
    monkeypatch.setattr(Card, "memory_bytes", 4 * 40 * 100 * 8 - 1)
    monkeypatch.setattr(profiling.choosing, "choose_format", lambda csr: choosing.Choice("csr_warp", {}, "of the test"))
    found = profiling.profile(rows_of(*[3] * 39, 100), "made", cpu=False, device=Card())
    why = {one.way: one.why for one in found.timed if one.status == NOT_RUN}
    assert why["ell"] == "padding to the longest row makes 0.0 GB"
    assert why["hybrid"] == "the GPU has not enough memory for this format"
    assert set(why) == {"ell", "hybrid", "cupyx"}


def test_no_gpu_is_said_before_anything_is_made(capsys, monkeypatch):
    monkeypatch.setattr(command, "matrix", lambda *_: pytest.fail("a matrix was made"))
    gpu = importlib.import_module("gpukit.gpu")
    if not gpu.missing():
        pytest.skip("there is a GPU")
    code, out, err = run(capsys, "spmv", "poisson2d", "--machine", "gpu")
    assert (code, out) == (1, "") and err.startswith("gpukit: ")


# --- the command -----------------------------------------------------------------------------------------------------


def test_a_file_is_profiled_and_a_way_recommended(capsys, mtx):
    code, out, err = run(capsys, "spmv", mtx)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith("small.mtx: 40 x 30, 120 entries, float32, int32 row pointer")
    table = [line.split()[0] for line in lines if re.match(r"\w+ +[\d,.]+k? ", line)]
    assert table[: len(products.WAYS)] == list(products.WAYS)
    assert re.search(r"^Recommended: (\w+)", out, re.MULTILINE)[1] in products.WAYS
    assert "Not chosen:" in out and "each answer was checked" in out


def test_the_same_matrix_as_npz_counts_the_same(capsys, mtx):
    scipy.sparse.save_npz(mtx.with_suffix(".npz"), scipy.sparse.csr_array(scipy.io.mmread(mtx)))
    one, other = (json.loads(run(capsys, "spmv", path, "--json", "-")[1]) for path in (mtx, mtx.with_suffix(".npz")))
    assert one["statistics"] == other["statistics"]
    assert [way["counters"] for way in one["counted"]] == [way["counters"] for way in other["counted"]]


def test_json_is_plain_and_whole(capsys, mtx, tmp_path):
    code, out, err = run(
        capsys, "spmv", mtx, "--json", tmp_path / "found.json", "--dtype", "float64", "--pointer", "int64"
    )
    assert (code, err) == (0, "") and "Recommended" in out
    found = json.loads((tmp_path / "found.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert (found["what"], found["dtype"], found["pointer"]) == ("gpukit spmv", "float64", "int64")
    assert found["csr_bytes"] == 120 * 12 + 8 * 41 + 8 * 70
    assert found["choice"]["way"] in products.WAYS and found["statistics"]["cv"] > 0
    assert found["statistics"]["sliced_fill"]["32,1"] == found["padding"]["1"]
    assert {way["status"] for way in found["counted"]} == {"right"}


@pytest.mark.parametrize(
    ("name", "rows", "shown"),
    [
        ("poisson2d", None, r"poisson2d \(generated, 4,096 of 9,000,000 rows\): 4,096 x 4,096"),
        ("poisson2d", "100", r"poisson2d \(generated, 100 of 9,000,000 rows\): 100 x 100, 460 entries"),
        ("scircuit", "300", r"scircuit \(twin, 300 of 170,998 rows\): 300 x 300"),
        ("minnesota", None, r"minnesota: 2,642 x 2,642"),
        ("minnesota", "full", r"minnesota: 2,642 x 2,642"),
    ],
)
def test_a_matrix_that_can_be_made_is_asked_for_by_its_name(capsys, name, rows, shown):
    size = ("--rows", rows) if rows else ()
    code, out, err = run(capsys, "spmv", name, *size)
    assert (code, err) == (0, "") and re.match(shown, out)


def test_full_is_the_full_size(monkeypatch):
    made = {}
    monkeypatch.setattr(matrices, "make", lambda name, rows, seed: made.setdefault(name, rows) and rows_of(1))
    command.matrix("webbase-1M", "full", 0, "float32", "int32")
    command.matrix("circuit5M", None, 0, "float32", "int32")
    assert made == {"webbase-1M": 1_000_005, "circuit5M": matrices.MATRICES["circuit5M"].small}


HEADER = "%%MatrixMarket matrix coordinate real general\n"
BAD = {
    "no such file": (None, "there is no such file"),
    "empty": ("", "this file is empty"),
    "binary": ("\x00\x01\x02", "something binary"),
    "dense": ("%%MatrixMarket matrix array real general\n1 1\n1\n", "dense"),
    "complex": ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "complex"),
    "outside": (HEADER + "2 2 1\n3 1 1.0\n", "row 3 is outside the matrix"),
    "too few": (HEADER + "2 2 2\n1 1 1.0\n", "are promised"),
    "no number": (HEADER + "2 2 1\n1 1 x\n", "a value is a number"),
    "beyond float32": (HEADER + "2 2 1\n1 1 1e300\n", "beyond the range of float32"),
    "too many for int32": (HEADER + "2 2 3000000000\n1 1 1\n", "int32"),
}


@pytest.mark.parametrize(("text", "why"), BAD.values(), ids=BAD)
def test_a_bad_file_is_one_sentence(capsys, tmp_path, text, why):
    file = tmp_path / "bad.mtx"
    if text is not None:
        file.write_text(text)
    code, out, err = run(capsys, "spmv", file)
    assert (code, out) == (1, "")
    assert err.startswith(f"gpukit: {file}") and why in err
    assert len(err.splitlines()) <= 2, "the sentence, and the line it is about"


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("webbase",), 1, "there is no file and no matrix 'webbase'; did you mean webbase-1M"),
        (("nothing_like_it",), 1, "those that can be made: poisson2d, "),
        (("minnesota", "--rows", "7"), 1, "is a real matrix of 2,642 rows, and comes in no other size"),
        (("poisson2d", "--rows", "0"), 2, "'0' is no number of rows"),
        (("poisson2d", "--rows", "many"), 2, "write a whole number such as 20000, or full"),
        (("x.mtx", "--rows", "7"), 1, "x.mtx has the rows it has"),
        (("poisson2d", "--block", "33"), 1, "a block has whole warps, 32 to 1,024 threads, not 33"),
        (("poisson2d", "--gpu", "H2000"), 1, "H2000"),
        (("poisson2d", "--json", "/nowhere/at/all.json"), 1, "there is no folder /nowhere/at"),
        (("poisson2d", "--language", "rust"), 2, "'rust' is not one of"),
        ((), 2, "Missing argument"),
    ],
)
def test_what_cannot_be_done_is_said(capsys, arguments, code, why):
    got, out, err = run(capsys, "spmv", *arguments)
    assert (got, out) == (code, "") and why in " ".join(err.split())


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 5), (1, 1)])
def test_a_matrix_without_entries_has_an_answer(capsys, tmp_path, shape):
    scipy.sparse.save_npz(tmp_path / "empty.npz", scipy.sparse.csr_array(shape))
    code, out, err = run(capsys, "spmv", tmp_path / "empty.npz", "--plot", tmp_path / "figures")
    assert (code, err) == (0, ""), out
    assert f"{shape[0]} x {shape[1]}, 0 entries" in out and "Recommended: " in out
    assert "nan" not in out
    assert json.loads(run(capsys, "spmv", tmp_path / "empty.npz", "--json", "-")[1])["statistics"]["nnz"] == 0


def test_inf_and_nan_in_a_matrix_are_no_wrong_answers(capsys, tmp_path):
    file = tmp_path / "odd.mtx"
    file.write_text(HEADER + "3 3 4\n1 1 inf\n2 2 nan\n3 1 2\n3 1 -inf\n")
    code, out, err = run(capsys, "spmv", file)
    assert (code, err) == (0, ""), out


# --- figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "csr",
    [
        rows_of(*[5] * 50),
        rows_of(1),
        rows_of(0, 0, 1, 0),
        rows_of(*[1, 2, 1, 3] * 64, 900),
        rows_of(*[2] * 3, columns=4000),
        rows_of(*[1] * 4000, columns=2),
    ],
    ids=["even", "one entry", "mostly empty", "skewed", "wide", "tall"],
)
def test_figures_are_drawn_of_any_matrix(csr, tmp_path):
    found = profiling.profile(csr, "a $name$ with_odd^characters (made)")
    paths = figures.draw(found, csr, tmp_path)
    assert [path.name for path in paths] == ["rows.png", "pattern.png", "padding.png", "lanes.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 8000 for path in paths)


def test_titles_of_a_matrix_whose_rows_are_alike():
    csr = rows_of(*[1] * 1000, columns=1000)
    found = profiling.profile(csr, "one", cpu=False)
    assert figures._rows_title(found) == "one: every row has 1 entry"
    assert figures._padding_title(found) == "one: rows are alike, and even ELL hardly pads"
    assert [figures._percent(share) for share in (0.00391, 0.01, 0.5)] == ["0.4%", "1%", "50%"]


def test_figures_show_what_was_measured():
    csr = rows_of(*[1, 2, 1, 3] * 64, 0, 900)
    found = profiling.profile(csr, "made")
    counts, ordered = figures.row_lengths(found, csr).axes
    bars = {(bar.get_x(), bar.get_height()) for bar in counts.patches if bar.get_height()}
    assert {(1, 128), (2, 64), (3, 64)} < bars and sum(rows for _, rows in bars) == csr.rows - 1
    line = ordered.lines[0].get_ydata()
    assert line[0] == 900 and line.size == csr.rows - 1 and (np.diff(line) <= 0).all()
    (axis, _) = figures.pattern(found, csr).axes
    assert axis.images[0].get_array().sum() == csr.nnz
    (axis,) = figures.padding(found).axes
    texts = [text.get_text().strip() for text in axis.texts]
    assert [float(text) for text in texts] == pytest.approx(list(found.padding.values()), abs=0.005)
    left, right = figures.lanes(found).axes
    assert [bar.get_width() for bar in left.patches] == [
        one.counters["active_lanes_per_instruction"] for one in found.counted
    ]
    assert right.patches[0].get_width() == model.sectors(found.counted[0].counters) / csr.nnz


def test_plot_writes_the_figures_into_a_folder(capsys, mtx, tmp_path):
    code, out, err = run(capsys, "spmv", mtx, "--plot", tmp_path / "new" / "folder")
    assert (code, err) == (0, "")
    written = [line.removeprefix("wrote ") for line in out.splitlines() if line.startswith("wrote ")]
    assert len(written) == 4 and all((tmp_path / "new" / "folder" / path.split("/")[-1]).is_file() for path in written)
    code, _, err = run(capsys, "spmv", mtx, "--plot", mtx)
    assert code == 1 and "it is a file; name a folder" in err
