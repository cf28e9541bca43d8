"""`gpukit bench spmv`: what is measured and how it is checked, on the CPU machine and on a GPU made of host memory."""

from __future__ import annotations

import importlib
import importlib.util
import io
import itertools
import json
import types
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from gpukit import plugins, timing
from gpukit.clocks import CpuClock
from gpukit.devices import CpuMachine
from gpukit.errors import GpukitError
from gpukit.registry import CPP, NUMBA

plugins.load("spmv")
bench, variants, cases, summary, table, figures, command, references, formats, products, choosing, errors = (
    importlib.import_module(f"gpukit_labs.spmv.{name}")
    for name in (
        *(
            "bench.measuring",
            "bench.variants",
            "bench.cases",
            "bench.summary",
            "bench.table",
            "bench.figures",
            "bench.command",
        ),
        *("libraries.references", "formats", "products", "choosing", "errors"),
    )
)


class HostGpu(CpuMachine):
    """A GPU whose arrays are NumPy's and whose kernels run on the CPU machine."""

    def __init__(self):
        super().__init__()
        self.name = "gpu"
        self.freed = 0
        numpys = {name: getattr(np, name) for name in dir(np) if not name.startswith("__")}
        self.xp = types.SimpleNamespace(**numpys, get_default_memory_pool=lambda: self)

    def free_all_blocks(self):
        self.freed += 1


def choice(way="csr_subwarp", **options):
    return types.SimpleNamespace(way=way, options=options, why="it fits", rejected={"ell": "too wide"}, seconds=1e-3)


@pytest.fixture
def gpu(monkeypatch):
    """A GPU on the host: no libraries but one that plays CuPy and two that play cuSPARSE; a copy makes 4,000 GB/s."""
    device = HostGpu()
    monkeypatch.setattr(timing, "_clock", lambda machine: CpuClock())
    ceiling = types.SimpleNamespace(bandwidth_gb_s=4000.0)
    monkeypatch.setattr(timing, "copy_ceiling", lambda device: ceiling)
    monkeypatch.setattr(timing, "read_ceiling", lambda device: ceiling)
    monkeypatch.setattr(bench, "SECONDS_EACH", 1e-3)
    monkeypatch.setattr(choosing, "choose_format", lambda csr: choice(lanes=4))
    scipys = references.REFERENCES["scipy"]
    players = {"cupyx": "cupyx", "cusparse_default": "cusparse", "cusparse_alg1": "cusparse"}
    played = {
        name: references.Reference(name, name, group, "gpu", lambda device: "", scipys.made)
        for name, group in players.items()
    }
    absent = references.Reference("torch", "torch", "torch", "gpu", lambda device: "needs PyTorch", scipys.made)
    monkeypatch.setattr(bench, "REFERENCES", {"scipy": scipys, **played, "torch": absent})
    return device


def small(rows=64, name="small"):
    """A case with rows of 0 to 9 entries."""
    rng = np.random.default_rng(rows)
    lengths = rng.integers(0, 10, rows)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    indices = np.concatenate([np.sort(rng.choice(rows, length, replace=False)) for length in lengths])
    data = rng.uniform(-1, 1, indices.size).astype(np.float32)
    return cases.case_of(name, formats.Csr((rows, rows), indptr, indices.astype(np.int32), data), about="for a test")


def measured(device, made=None, **options):
    made = made or [small()]
    return bench.measure(made, device, count=len(made), **options)


def entries(result, **wanted):
    found = [entry for matrix in result["matrices"] for entry in matrix["entries"]]
    return [entry for entry in found if all(entry.get(name) == value for name, value in wanted.items())]


def shown(result, width=160):
    console = Console(width=width, file=io.StringIO())
    table.show(result, console)
    return console.file.getvalue()


# --- the CPU machine -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counted():
    """Three matrices on the CPU machine, as the command measures them."""
    names = ["poisson2d", "zipf", "webbase-1M"]
    return bench.measure(cases.make_all(names, "cpu"), CpuMachine(), count=3, command="gpukit bench spmv")


def test_every_kernel_in_both_languages_is_right_and_counted(counted):
    kernels = entries(counted, group="kernel")
    languages = {(entry["way"], entry["language"]) for entry in kernels}
    assert languages == set(itertools.product(products.WAYS, (CPP, NUMBA)))
    assert {entry["status"] for entry in kernels} == {"right"}
    assert all(set(entry["counters"]) == set(bench.COUNTERS) for entry in kernels)
    assert not bench.is_wrong(counted)
    assert all(entry["timing"] is None for entry in entries(counted))


def test_a_library_of_the_gpu_says_so_and_is_not_run(counted):
    assert {entry["status"] for entry in entries(counted, group="cusparse")} == {"not run"}
    assert {entry["reason"] for entry in entries(counted, group="cupyx")} == {"runs on an NVIDIA GPU only"}


def test_a_result_is_json_and_says_where_it_is_from(counted):
    assert json.loads(json.dumps(counted)) == counted
    assert counted["machine"]["command"] == "gpukit bench spmv" and counted["machine"]["date"]
    assert (counted["what"], counted["device"], counted["dtype"]) == ("gpukit bench spmv", "cpu", "float32")
    first = counted["matrices"][0]
    assert (first["name"], first["rows"], first["nnz"], first["lengths"]["max"]) == ("poisson2d", 1600, 7840, 5)
    assert first["csr_bytes"] == 8 * 7840 + 4 * 1601 + 4 * 1600 + 4 * 1600
    assert not first["large"]


def test_the_counters_say_what_the_tables_show(counted):
    text = shown(counted)
    for words in ("Global load requests for each stored entry", "Active lanes per instruction", "Divergent branches"):
        assert words in text
    line = next(line for line in text.split("Global load sectors")[1].splitlines() if line.startswith("poisson2d"))
    sectors = entries(counted, key="csr_thread", language=NUMBA)[0]["counters"]["global_load_sectors"]
    assert float(line.split()[1].lstrip(">")) == pytest.approx(sectors / 7840, abs=0.005)


def test_few_matrices_have_a_table_each(counted):
    text = shown({**counted, "matrices": counted["matrices"][:1]})
    assert "poisson2d, 2-D grid, 5 points: 1,600 x 1,600, 7,840 entries" in text
    assert "Global load sectors for" not in text
    assert sum(line.startswith("merge_path") for line in text.splitlines()) == 2


def test_a_wrong_kernel_is_named_and_fails_the_command(monkeypatch):
    way = products.WAYS["csr_thread"]

    def none(*args, **options):
        return ()

    wrong = types.SimpleNamespace(name=way.name, title=way.title, convert=way.convert, launches=none, options=())
    monkeypatch.setitem(products.WAYS, "csr_thread", wrong)
    result = measured(CpuMachine(), ways=["csr_thread", "csr_warp"])
    assert bench.is_wrong(result)
    assert {entry["status"] for entry in entries(result, way="csr_thread")} == {"WRONG"}
    assert "64 of 64 rows are wrong: row 0" in entries(result, way="csr_thread")[0]["reason"]
    assert {entry["status"] for entry in entries(result, way="csr_warp")} == {"right"}
    assert "csr_thread on small is WRONG: 64 of 64 rows are wrong" in shown(result)


def test_a_kernel_that_is_off_by_more_than_roundings_is_wrong():
    made = small()
    bumped = cases.replace(made, expected=made.expected + 4 * made.bound + 1e-30)
    result = measured(CpuMachine(), [bumped], ways=["csr_warp"])
    reason = entries(result, way="csr_warp")[0]["reason"]
    assert bench.is_wrong(result) and "rows are wrong" in reason and "must be" in reason


def test_slots_that_take_too_long_are_not_counted(monkeypatch):
    monkeypatch.setattr(variants, "MOST_SLOTS", 500)
    result = measured(CpuMachine(), ways=["ell", "csr_warp"])
    assert entries(result, way="ell")[0]["reason"] == "576 slots are too many for the CPU machine"
    assert entries(result, way="csr_warp")[0]["status"] == "right"
    assert "Not run: ell on small: 576 slots are too many" in shown(result)


# --- a GPU -----------------------------------------------------------------------------------------------------------


def test_all_that_is_right_is_timed_and_compared(gpu):
    result = measured(gpu)
    timed = [entry for entry in entries(result) if entry["timing"]]
    assert {entry["group"] for entry in timed} == {"kernel", "scipy", "cupyx", "cusparse"}
    assert len(entries(result, group="kernel")) == len([e for e in timed if e["group"] == "kernel"])
    matrix = result["matrices"][0]
    for entry in timed:
        seconds = entry["timing"]["median_s"]
        assert entry["gb_s"] == pytest.approx(matrix["csr_bytes"] / seconds / 1e9)
        assert entry["own_gb_s"] == pytest.approx(entry["own_bytes"] / seconds / 1e9)
        assert entry["fraction_of_copy"] == (None if entry["group"] == "scipy" else pytest.approx(entry["gb_s"] / 4000))
    assert result["ceilings"]["copy"] == 4000 and all(result[key] for key in ("bytes", "cache", "turns"))
    assert entries(result, key="torch")[0]["reason"] == "needs PyTorch"
    assert gpu.freed == 1 and json.loads(json.dumps(result)) == result


def test_the_chosen_kernel_is_held_against_the_best_of_cusparse(gpu):
    matrix = measured(gpu)["matrices"][0]
    ours = summary.chosen_of(matrix)
    assert (ours["key"], ours["language"], matrix["chosen"]) == ("csr_subwarp(lanes=4)", CPP, "csr_subwarp(lanes=4)")
    cusparse = [entry for entry in matrix["entries"] if entry["group"] == "cusparse"]
    least = min(entry["timing"]["median_s"] for entry in cusparse)
    assert ours["over_cusparse"] == pytest.approx(least / ours["timing"]["median_s"])
    assert matrix["choice"]["equivalent_spmvs"] == matrix["choice"]["seconds"] / ours["timing"]["median_s"]
    assert matrix["choice"]["why"] == "it fits"
    warm = {entry["key"] for entry in matrix["entries"] if "warm_gb_s" in entry}
    assert warm == {"csr_subwarp(lanes=4)", "cupyx", matrix["best_cusparse"]}


def test_options_that_are_no_variant_become_one(gpu, monkeypatch):
    monkeypatch.setattr(choosing, "choose_format", lambda csr: choice("sliced_ell", height=16, sigma=48))
    result = measured(gpu, ways=["sliced_ell"])
    assert result["matrices"][0]["chosen"] == "sliced_ell(height=16, sigma=48)"
    assert [entry["column"] for entry in entries(result, chosen=True)] == ["sliced_ell, as chosen"] * 2


def test_options_that_are_the_defaults_are_none(gpu, monkeypatch):
    monkeypatch.setattr(choosing, "choose_format", lambda csr: choice("sliced_ell", height=32, sigma=1))
    result = measured(gpu, ways=["sliced_ell"])
    assert result["matrices"][0]["chosen"] == "sliced_ell"
    assert {entry["key"] for entry in entries(result, way="sliced_ell")} == {"sliced_ell", "sliced_ell(sigma=256)"}


def test_a_way_that_was_not_asked_for_is_not_measured_though_chosen(gpu):
    result = measured(gpu, ways=["csr_warp"])
    assert {entry["key"] for entry in entries(result, group="kernel")} == {"csr_warp"}
    assert result["matrices"][0]["chosen"] is None and result["summary"]["over_cupyx"]["mean"] is None


def test_conversion_is_apart_from_the_product(gpu):
    result = measured(gpu, ways=["csr_warp", "sliced_ell"])
    assert all(entry["conversion_s"] == 0 for entry in entries(result, way="csr_warp"))
    for entry in entries(result, way="sliced_ell"):
        assert entry["conversion_s"] > 0
        assert entry["equivalent_spmvs"] == pytest.approx(entry["conversion_s"] / entry["timing"]["median_s"])


def test_whole_numbers_find_what_the_bound_does_not(gpu, monkeypatch):
    """A kernel that loses the last entry of a row: the bound of a long row is too wide to see it."""
    way = products.WAYS["csr_warp"]
    made = small()

    def losing(csr, x, y, *rest, **options):
        data = csr.data.copy()
        data[csr.indptr[1:][csr.lengths > 0] - 1] = 0
        return way.launches(formats.Csr(csr.shape, csr.indptr, csr.indices, data), x, y, *rest, **options)

    broken = types.SimpleNamespace(name=way.name, title=way.title, convert=way.convert, launches=losing, options=())
    monkeypatch.setitem(products.WAYS, "csr_warp", broken)
    blind = cases.replace(made, bound=np.full(64, 100.0))
    found = entries(measured(gpu, [blind], ways=["csr_warp"]), way="csr_warp")
    assert all(entry["status"] == "WRONG" and entry["reason"].endswith("exactly") for entry in found)
    assert all(entry["timing"] is None for entry in found)


def test_a_library_that_refuses_or_is_wrong_is_no_failure_of_ours(gpu, monkeypatch):
    def refuses(*_):
        raise RuntimeError("out of luck\nand more")

    def wrong(csr, x, y, alpha, beta):
        return references.Prepared(lambda: None, lambda: np.zeros(csr.rows, csr.dtype))

    for name, made in (("cupyx", refuses), ("cusparse_alg1", wrong)):
        old = bench.REFERENCES[name]
        monkeypatch.setitem(bench.REFERENCES, name, references.replace(old, made=made))
    result = measured(gpu, ways=["csr_warp", "csr_subwarp"])
    assert (
        entries(result, key="cupyx")[0] | {"status": "not run", "reason": "RuntimeError: out of luck"}
        == entries(result, key="cupyx")[0]
    )
    assert entries(result, key="cusparse_alg1")[0]["status"] == "WRONG"
    assert not bench.is_wrong(result)
    assert result["matrices"][0]["best_cusparse"] == "cusparse_default"
    assert result["summary"]["over_cupyx"] == {"mean": None, "least": None, "where": None, "matrices": 0}


def test_what_would_pad_or_walk_too_much_is_not_run(gpu, monkeypatch):
    lengths = np.full(640, 2)
    lengths[0] = 600
    csr = importlib.import_module("gpukit_labs.spmv.matrices.generators").from_lengths(lengths)
    result = measured(gpu, [cases.case_of("skewed", csr)], ways=["ell", "csr_thread", "csr_warp"])
    assert entries(result, way="ell")[0]["reason"] == (
        "1,878 entries would be padded to 384,000 slots, more than 8 times as many"
    )
    assert entries(result, way="csr_thread")[0]["status"] == "right"
    monkeypatch.setattr(references, "LONGEST_WALK", 599)
    result = measured(gpu, [cases.case_of("skewed", csr)], ways=["csr_thread", "csr_warp"])
    assert entries(result, way="csr_thread")[0]["reason"] == "a row of 600 entries takes one thread too long"
    assert entries(result, way="csr_warp")[0]["status"] == "right"


def test_what_is_there_is_kept_after_every_matrix(gpu):
    kept = []
    made = [small(32, "first"), small(64, "second")]
    measured(gpu, made, ways=["csr_warp"], keep=lambda result: kept.append(len(result["matrices"])))
    assert kept == [1, 2]


def test_progress_names_the_matrix_and_what_is_done(gpu):
    said = []
    measured(gpu, ways=["csr_warp"], say=lambda what, done, total: said.append((what, done, total)))
    assert ("small: csr_warp, numba", 0, 1) in said and ("small: time", 0, 1) in said


def test_the_tables_and_figures_of_a_gpu(gpu, tmp_path):
    result = measured(gpu, [small(32, "first"), small(64, "second"), small(96, "third")])
    result["matrices"][0]["large"] = True
    text = shown(result)
    assert "Ceilings, measured in the same process: copy 4,000 GB/s, read 4,000 GB/s." in text
    assert "CSR, x once and y once, whatever a kernel moves" in text
    assert "Percent of a copy's bandwidth, the faster language; > is what choose_format chose" in text
    assert "second *" in text and "first *" not in text and "* less than 200 MB" in text
    assert "geometric mean over the best of cuSPARSE" in text and "missed, x " in text
    made = figures.draw(result, tmp_path, pytest.fail)
    assert [path.name for path in made] == ["spmv_matrices.png", "spmv_kernels.png"]
    assert all(path.stat().st_size > 10_000 for path in made)


# --- means and targets -----------------------------------------------------------------------------------------------


def recorded(ratios, poisson=0.85, chosen_best=True):
    """A result with a chosen kernel that takes 1 ms on every matrix, and libraries that take `ratios` of it."""
    matrices = []
    for place, (cupyx, cusparse) in enumerate(ratios):

        def entry(group, seconds, **more):
            timed = {"median_s": seconds}
            return {"group": group, "key": group, "status": "right", "timing": timed, "own_bytes": 5e8, **more}

        found = [
            entry("kernel", 1e-3, language=CPP, chosen=True, conversion_s=2e-3),
            entry("kernel", 2e-3 if chosen_best else 5e-4, language=NUMBA, conversion_s=0.0) | {"key": "another"},
            entry("cupyx", cupyx * 1e-3, conversion_s=0.0),
            entry("cusparse", cusparse * 1e-3, conversion_s=0.0),
        ]
        name = "poisson2d" if place == 0 else f"m{place}"
        matrices.append(
            {"name": name, "rows": 9_000_000, "csr_bytes": poisson * 4e9, "entries": found, "choice": {"seconds": 5e-4}}
        )
        summary.compare(matrices[-1], 4000.0)
    result = {"dtype": "float32", "pointer": "int32", "matrices": matrices}
    return {**result, "summary": summary.summary(result)}


def test_means_are_geometric_and_the_least_has_its_matrix():
    found = recorded([(2.0, 1.5), (1.0, 0.9), (4.0, 1.2)])["summary"]
    assert found["over_cupyx"]["mean"] == pytest.approx(2.0)
    assert (found["over_cusparse"]["least"], found["over_cusparse"]["where"]) == (pytest.approx(0.9), "m1")
    assert found["over_cupyx"]["matrices"] == 3
    assert found["poisson"]["fraction_of_copy"] == pytest.approx(0.85)
    assert found["poisson"]["by_own_bytes"] == pytest.approx(0.125)


def test_targets_are_reached_or_missed_by_how_much():
    reached = recorded([(1.3, 1.15)] * 12)["summary"]["targets"]
    assert all(target["reached"] for target in reached) and len(reached) == 5
    missed = {
        target["what"]: target for target in recorded([(1.2, 1.0)] * 10 + [(1.2, 0.9)], 0.6)["summary"]["targets"]
    }
    assert not any(target["reached"] for target in missed.values())
    least = missed["least over the best of cuSPARSE"]
    assert (least["where"], least["by"]) == ("m10", pytest.approx(0.9 / 0.95))
    assert missed["matrices"]["got"] == 11


def test_a_target_that_was_not_measured_is_not_reached():
    result = recorded([(2.0, 2.0)] * 12)
    result["matrices"][0]["name"] = "another"
    targets = summary.summary(result)["targets"]
    assert targets[-1]["got"] is None and not targets[-1]["reached"] and targets[-1]["by"] is None
    assert "targets" not in summary.summary({**result, "dtype": "float64"})


def test_a_choice_that_is_not_our_best_shows():
    found = recorded([(2.0, 2.0)], chosen_best=False)["summary"]["over_best_kernel"]
    assert found["mean"] == pytest.approx(0.5)


# --- the matrices ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cases.CPU_ROWS)
def test_a_matrix_is_small_for_the_cpu_machine_and_well_formed(name):
    made = cases.make(name, "cpu")
    made.csr.checked()
    assert 3_000 <= made.csr.nnz <= 200_000 and made.about and made.seconds > 0
    assert (made.expected.shape, made.bound.dtype) == ((made.csr.rows,), np.float64)
    csr, x = cases.whole_numbers(made.csr, np)
    assert set(np.unique(csr.data)) <= {1, 2, 3} and set(np.unique(x)) <= {1, 2, 3}


def one_long_row(size):
    one = np.ones(size, np.float32)
    return formats.Csr((1, size), np.array([0, size], np.int32), np.arange(size, dtype=np.int32), one)


def test_sums_of_whole_numbers_stay_exact():
    csr, x = cases.whole_numbers(one_long_row(1_000_000), np)
    assert (set(np.unique(csr.data)), set(np.unique(x))) == ({1, 2, 3}, {1, 2, 3})
    csr, x = cases.whole_numbers(one_long_row(2_000_000), np)  # 9 for each entry would be too much for float32
    assert (set(np.unique(csr.data)), set(np.unique(x))) == ({1, -1}, {1, -1})
    with pytest.raises(
        errors.MatrixError, match="a row of 16,777,217 entries is too long: float32 counts to 16,777,21"
    ):
        cases.whole_numbers(one_long_row(2**24 + 1), np)


def test_types_go_into_the_matrix():
    made = cases.make("road", "cpu", "float64", "int64", seed=3)
    assert (made.csr.dtype, made.csr.indptr.dtype, made.x.dtype) == (np.float64, np.int64, np.float64)


def test_other_processes_make_the_same_matrices():
    names = ["poisson2d", "road", "webbase-1M"]
    made = list(cases.make_all(names, "cpu", workers=2))
    assert [case.name for case in made] == names
    for case in made:
        again = cases.make(case.name, "cpu")
        for owner, other, fields in ((case.csr, again.csr, cases._CSR), (case, again, cases._REST)):
            assert all((getattr(owner, name) == getattr(other, name)).all() for name in fields)
        assert (case.csr.shape, case.about) == (again.csr.shape, again.about)


def test_other_processes_end_with_a_run_that_is_left_early():
    made = cases.make_all(["poisson2d", "road", "zipf"], "cpu", workers=2)
    assert next(made).name == "poisson2d"
    made.close()


def test_names_that_are_none_are_refused():
    with pytest.raises(errors.MatrixError, match="no matrix 'poison2d'; did you mean poisson2d"):
        cases.chosen(["poison2d"], "cpu")
    with pytest.raises(errors.MatrixError, match="no way 'csr' to multiply; choose one of: csr_thread"):
        variants.variants(["csr"])


# --- the command -----------------------------------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(command.bench, words, standalone_mode=False)


def test_the_command_measures_writes_and_draws(tmp_path):
    out = tmp_path / "spmv.json"
    done = run("--matrix", "road", "--way", "csr_warp", "--out", str(out), "--plot", str(tmp_path / "figures"))
    assert done.exception is None and done.return_value == 0
    written = json.loads(out.read_text())
    assert [matrix["name"] for matrix in written["matrices"]] == ["road"]
    assert written["machine"]["command"].endswith("--matrix road --way csr_warp --out spmv.json --plot figures")
    assert (tmp_path / "figures" / "spmv_kernels.png").exists() and "wrote" in done.output


def test_the_command_fails_where_a_kernel_is_wrong(monkeypatch):
    monkeypatch.setattr(bench, "is_wrong", lambda result: True)
    assert run("--matrix", "road", "--way", "csr_warp").return_value == 1


def test_a_recording_is_shown_as_one(tmp_path, monkeypatch, counted):
    path = tmp_path / "spmv_h200.json"
    path.write_text(json.dumps(counted))
    monkeypatch.setattr("gpukit.resources.data_files", lambda pattern: [path])
    done = run("--recorded")
    assert done.exception is None and done.return_value == 0
    assert done.output.startswith("Recorded, not measured here: data/results/spmv_h200.json")


def test_a_recording_cannot_be_changed_nor_made_up(monkeypatch):
    assert "a recording is as it was made" in str(run("--recorded", "--matrix", "road").exception)
    monkeypatch.setattr("gpukit.resources.data_files", lambda pattern: [])
    with pytest.raises(GpukitError, match="no recording of `gpukit bench spmv` on a GPU comes with gpukit"):
        raise run("--recorded").exception


def test_a_file_that_cannot_be_written_is_refused_first(tmp_path):
    done = run("--matrix", "road", "--out", str(tmp_path / "none" / "x.json"))
    assert "there is no folder" in str(done.exception)


# --- the probe of the counters ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def probe():
    """data/probes/spmv.py with one small matrix."""
    path = Path(__file__).parents[1] / "data" / "probes" / "spmv.py"
    spec = importlib.util.spec_from_file_location("spmv_probe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.MATRICES = {"half_empty": 200}
    module.problems = lambda names=None, of=module.problems: of(["half_empty"])
    return module


@pytest.fixture(scope="module")
def here(probe):
    return list(probe.counted())


def test_the_probe_launches_every_variant_between_start_and_stop(probe, here):
    log = []
    done = probe.run(CpuMachine(), lambda: log.append("start"), lambda: log.append("stop"))
    assert done["wrong"] == {} and log == ["start", "stop"] * (2 * len(variants.VARIANTS))
    assert done["launched"] == [launch for launch, _, _ in here]
    assert "half_empty/merge_path/numba/2" in done["launched"]


def test_the_probe_says_of_every_counter_whether_it_is_equal(probe, here, capsys):
    there = {launch: {name: int(value) for name, value in counters.items()} for launch, _, counters in here}
    readings = {"machine": {"gpu": "a GPU"}, "wrong": {}, "launches": there}
    made = probe.made_of(readings, iter(here))
    assert made["summary"]["equal"] == made["summary"]["counters"] > 100
    assert made["summary"]["launches_that_agree"] == made["summary"]["launches"] == len(here)
    launch = "half_empty/csr_warp/numba"
    there[launch]["global_load_sectors"] += 1
    del there["half_empty/ell/numba"]
    made = probe.made_of(readings, iter(here))
    pair = made["launches"][launch]["counters"]["global_load_sectors"]
    assert pair == {"gpu": pair["cpu"] + 1, "cpu": pair["cpu"], "equal": False}
    assert made["summary"]["counters"] - made["summary"]["equal"] == 1
    assert made["summary"]["launches_that_agree"] == len(here) - 2
    told = capsys.readouterr().out
    assert "half_empty/ell/numba: not read on the GPU" in told and launch in told
    assert made["launches"][launch]["gpu_instructions"]["thread_per_warp"] > 1


def test_the_probe_reads_what_ncu_wrote(probe, tmp_path, monkeypatch):
    """--record, with an ncu that counts one sector for the first launch, two for the second, and so on."""
    names = ["half_empty/csr_thread/numba", "half_empty/csr_warp/numba"]

    def ran(words, **options):
        if words[-1] == "--version":
            return types.SimpleNamespace(stdout="NVIDIA\nVersion 2026.1 (build)\n", returncode=0)
        table = Path(words[words.index("--log-file") + 1])
        metric = probe.metrics.METRICS["global_load_sectors"]
        lines = ['"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"']
        lines += [f'"{k}","kernel","{metric}","sector","{k + 1}"' for k in range(len(names))]
        table.write_text("\n".join(lines))
        Path(words[-1]).write_text(json.dumps({"launched": names, "wrong": {}}))
        return types.SimpleNamespace(returncode=0)

    monkeypatch.setattr(probe.ncu, "find", lambda: "/opt/ncu")
    monkeypatch.setattr(probe.subprocess, "run", ran)
    monkeypatch.setattr(probe.devices, "device", lambda name: CpuMachine())
    probe.record(tmp_path)
    made = json.loads((tmp_path / "counters.json").read_text())
    assert made["machine"]["ncu"] == "2026.1" and made["wrong"] == {}
    assert made["launches"] == {names[0]: {"global_load_sectors": 1}, names[1]: {"global_load_sectors": 2}}
