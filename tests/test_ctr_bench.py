"""`gpukit bench ctr`: costs by hand, what is measured on the CPU, a made-up result in tables and figures, refusals."""

from __future__ import annotations

import copy
import importlib
import io
import json
import types

import ctr_fake
import numpy as np
import pytest
from rich.console import Console

from gpukit import cli, plugins
from gpukit.compilers import toolkit

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

plugins.load("ctr")
accesses, asked, command, costs, figures, logs, measuring, on_cpu, on_gpu, profiling, quality, summary, table, clock = (
    importlib.import_module(f"gpukit_labs.ctr.bench.{name}")
    for name in (
        *(
            "accesses",
            "asked",
            "command",
            "cost",
            "figures",
            "logs",
            "measuring",
            "on_cpu",
            "on_gpu",
            "profile",
            "quality",
        ),
        *("summary", "table", "timing"),
    )
)
world = importlib.import_module("gpukit_labs.ctr.world")
CtrError = importlib.import_module("gpukit_labs.ctr.errors").CtrError
switches_of = importlib.import_module("gpukit_labs.ctr.fast.switches")

CPU = torch.device("cpu")
NO_COMPILER = toolkit.why_no_nvrtc()
TINY = world.Options(rows=6_000, members=40, ads=12, campaigns=4, devices=3, countries=4, slots=5, shard_rows=6_000)


def run(capsys, *arguments):
    """(exit code, standard output, standard error)"""
    code = cli.main(["bench", "ctr", *map(str, arguments)])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out, printed.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A log of 6,000 impressions."""
    made = tmp_path_factory.mktemp("log")
    world.generate(made, TINY)
    return made


# --- costs -----------------------------------------------------------------------------------------------------------


def cost_of_the_model(**different):
    """An impression of 6 fields, rows of 32, 13 numbers, 256-128-1."""
    usual = {"fields": 6, "dim": 32, "numbers": 13, "hidden": (256, 128), "element": 2, "distinct": 1.0}
    return costs.cost(**{**usual, **different})


def test_what_an_impression_costs_at_least():
    found = cost_of_the_model()
    assert found.flops == 6 * (205 * 256 + 256 * 128 + 128) == 512_256
    assert (found.gather, found.input, found.gradient) == (6 * 128, 205 * 2, 6 * 32 * 2)
    assert found.update == 2 * 6 * 128 + 2 * 6 * 4  # rows and states, read and written
    assert found.data == 6 * 4 + 13 * 4 + 4
    assert found.bytes == 768 + 410 + 384 + 1_584 + 80 and found.dense_optimizer == 0
    assert found.to_dict()["bytes"] == found.bytes


def test_rows_that_impressions_share_come_once():
    half, whole = cost_of_the_model(distinct=0.5), cost_of_the_model()
    assert (half.gather, half.update) == (whole.gather / 2, whole.update / 2)
    assert (half.input, half.gradient, half.data) == (whole.input, whole.gradient, whole.data)


def test_dense_adam_moves_seven_tables_a_step_whatever_the_batch():
    """8.96 GB a step for a table of 10 million rows of 32."""
    for batch in (256, 8_192):
        found = cost_of_the_model(dense_rows_per_sample=10_000_000 / batch, element=4)
        assert found.dense_optimizer * batch == pytest.approx(8.96e9)
        assert found.update == 0


def test_the_floor_is_bytes_and_then_operations():
    found = cost_of_the_model()
    assert found.floor_seconds(1_000.0, 1_000.0) == pytest.approx(3_226e-12 + 512_256e-15)
    assert found.floor_seconds(2_000.0, 1e9) == pytest.approx(3_226e-12 / 2, rel=1e-4)


# --- times -----------------------------------------------------------------------------------------------------------


def test_a_step_is_timed_in_rounds_after_its_warm_up(monkeypatch):
    now = [0.0]
    calls = []

    def step():
        calls.append(now[0])
        now[0] += 1.0 if len(calls) <= 3 else 0.01  # the first steps are slow

    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])
    found = clock.step_time(step, CPU, seconds=1.0, warm_up=3)
    assert found.seconds == pytest.approx(0.01) and found.fastest == pytest.approx(0.01)
    assert (found.rounds, found.steps) == (5, 20)
    assert found.to_dict(64)["samples_per_second"] == pytest.approx(6_400)
    assert len(calls) == 3 + 1 + 3 + 5 * 20


def test_a_slow_step_is_timed_in_few_rounds(monkeypatch):
    now = [0.0]

    def step():
        now[0] += 2.0

    monkeypatch.setattr(clock.time, "perf_counter", lambda: now[0])
    found = clock.step_time(step, CPU, seconds=1.0, warm_up=0)
    assert (found.rounds, found.steps, found.seconds) == (3, 1, 2.0)


@pytest.mark.parametrize(
    ("kernel", "group"),
    [
        ("void batch<Bf16>(int const*, float const*)", "gather"),
        ("void rowwise_adagrad<Bf16, 8>(int const*)", "update"),
        ("void rowwise_adagrad_finish<8>(int const*)", "update"),
        ("void cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<int>", "sort"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT", "matrix products"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64", "matrix products"),
        ("void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>", "Adam"),
        ("Memcpy DtoD (Device -> Device)", "copies"),
        ("triton_poi_fused_relu_0", "elementwise passes"),
    ],
)
def test_kernels_are_put_into_groups_by_their_names(kernel, group):
    assert profiling.group(kernel) == group


# --- the whole run, on the CPU in a GPU's place ----------------------------------------------------------------------


class FakeTorch:
    """PyTorch whose GPU is the CPU."""

    cuda = types.SimpleNamespace(is_available=lambda: True)
    device = staticmethod(lambda name: CPU)


class FakeDevice:
    """What gpukit knows of that GPU."""

    name = "gpu"
    xp = types.SimpleNamespace(get_default_memory_pool=lambda: types.SimpleNamespace(free_all_blocks=lambda: None))


@pytest.fixture
def fake_gpu(monkeypatch):
    monkeypatch.setattr(on_gpu, "torch", FakeTorch)
    monkeypatch.setattr(on_gpu, "matrix_tflops", lambda here: {"float32": 0.05, "bfloat16": 0.02})
    monkeypatch.setattr(on_gpu.timing, "copy_ceiling", lambda device: types.SimpleNamespace(bandwidth_gb_s=10.0))
    monkeypatch.setattr(measuring, "WARM_UP", dict.fromkeys(switches_of.LOADERS, 1))
    monkeypatch.setattr(measuring, "gc", types.SimpleNamespace(collect=lambda: None))  # nothing large is left
    make = measuring.make

    def without_graphs(switches, *args):
        if switches.graph:
            raise RuntimeError("there are no graphs\n here")
        return make(switches, *args)

    monkeypatch.setattr(measuring, "make", without_graphs)


def measure(folder, said=None, **given):
    """What `on_gpu.measure` found, and how much of it there was whenever it kept something."""
    kept = []
    usual = {"batches": (64,), "rungs": ("resident", "rowwise", "kernels"), "samples": 1_024, "seconds": 0.01}
    options = {**usual, "quality": False, "profiles": False, **given}
    say = (said if said is not None else []).append
    wanted = asked.Asked(**options)
    on_gpu.measure(folder, FakeDevice(), wanted, say=say, keep=lambda found: kept.append(copy.deepcopy(found)))
    return kept[-1], [len(found["ladder"]) + len(found["quality"]) for found in kept]


def test_rungs_are_timed_one_after_the_other_and_kept_at_once(folder, fake_gpu):
    said = []
    found, kept = measure(folder, said)
    assert [rung["name"] for rung in found["ladder"]] == ["resident", "rowwise", "kernels"]
    assert kept == [1, 2, 3, 3]
    for rung in found["ladder"]:
        assert rung["samples_per_second"] == pytest.approx(64 / rung["seconds"])
        assert rung["fraction"] == pytest.approx(rung["floor_seconds"] / rung["seconds"])
    assert found["ladder"][0]["cost"]["dense_optimizer"] > 0 == found["ladder"][1]["cost"]["dense_optimizer"]
    assert found["model"]["fields"]["member"] == 40 and found["log"]["bayes_logloss"] > 0
    assert any("kernels" in line and "M samples/s" in line for line in said)
    json.dumps(found)


def test_a_rung_that_fails_is_told_and_the_others_go_on(folder, fake_gpu):
    found, _ = measure(folder, rungs=("resident", "prefetch", "graph", "rowwise"))
    failed = {rung["name"]: rung["error"] for rung in found["ladder"] if "error" in rung}
    assert set(failed) == {"prefetch", "graph"}
    assert failed["graph"] == "RuntimeError: there are no graphs here"


def test_ways_of_training_are_compared_with_the_reference_at_their_own_batch(folder, fake_gpu, monkeypatch):
    monkeypatch.setattr(on_gpu, "WAYS", (("dense", "one_table"), (on_gpu.REFERENCE, "rowwise"), ("ours", "kernels")))
    found, _ = measure(folder, rungs=("resident",), quality=True)
    assert [(entry["batch"], entry["rung"]) for entry in found["quality"]] == [
        (batch, rung) for batch in (64, 256) for rung in ("rowwise", "one_table", "kernels")
    ]
    for entry in found["quality"]:
        assert entry["samples"] == 1_024 and 0 < entry["logloss"] < 1 and 0 < entry["auc"] < 1
        assert ("difference" in entry) == (entry["rung"] != "rowwise")
    ours = [entry for entry in found["quality"] if entry["rung"] == "kernels"]
    assert all(abs(entry["difference"]) < 1e-6 for entry in ours), "the same training by another way"
    dense = next(entry for entry in found["quality"] if entry["rung"] == "one_table")
    assert dense["difference_in_standard_errors"] == pytest.approx(
        abs(dense["difference"]) / found["quality"][0]["standard_error"]
    )


def test_a_reference_that_fails_leaves_nothing_to_compare_with(folder, fake_gpu, monkeypatch):
    monkeypatch.setattr(on_gpu, "WAYS", ((on_gpu.REFERENCE, "graph"), ("ours", "kernels")))
    found, _ = measure(folder, rungs=("resident",), quality=True)
    assert ["error" in entry for entry in found["quality"]] == [True, False] * 2
    assert not any("difference" in entry for entry in found["quality"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"rungs": ("fast",)}, "the ladder has no rung 'fast': it has rows, batches, prefetch"),
        ({"batches": (64, 4_096)}, "a batch of 16,384 impressions is more than 4,200: use smaller batches"),
        ({"quality": True, "samples": 100}, "a batch of 256 impressions is more than 100: use smaller batches"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is(folder, fake_gpu, given, sentence):
    with pytest.raises(CtrError) as caught:
        measure(folder, **given)
    assert str(caught.value).startswith(sentence)


def test_ids_of_the_test_rows_that_no_table_has_are_refused_before_they_reach_a_gpu(folder, tmp_path, fake_gpu):
    import shutil

    shutil.copytree(folder, tmp_path / "log")
    ids = np.memmap(tmp_path / "log" / "ids.i32", np.int32, "r+").reshape(-1, 6)
    ids[5_500, 1] = 12
    del ids
    with pytest.raises(CtrError, match=r"id 12 of field 'ad' at row 5,?500 is outside 0 to 11"):
        measure(tmp_path / "log")


def test_the_batch_of_the_last_rung_is_the_next_larger_one():
    assert on_gpu.with_larger((65_536, 8_192)) == [(8_192, 65_536), (65_536, 262_144)]
    assert on_gpu.with_larger((8, 8)) == [(8, 32)]


# --- logs ------------------------------------------------------------------------------------------------------------


def test_a_log_is_made_once_and_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(logs.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setitem(world.PRESETS, "facts", TINY)
    said = []
    made = logs.given_or_made(None, "facts", said.append)
    again = logs.given_or_made(None, "facts", said.append)
    assert made.folder == again.folder == tmp_path / "gpukit_ctr_facts" and made.shards == again.shards
    assert [line.split(" ")[0] for line in said] == ["makes", "reads"]
    monkeypatch.setitem(world.PRESETS, "facts", world.SMALL)
    with pytest.raises(
        CtrError, match="holds another log than the one that is needed: delete it, or give one by --log"
    ):
        logs.given_or_made(None, "facts", said.append)


# --- on the CPU machine ----------------------------------------------------------------------------------------------


def of_cpu(folder, **given):
    kept = []
    usual = {"batches": (64,), "rungs": (), "samples": 1_024, "seconds": 1.5, "quality": True, "profiles": False}
    options = {**usual, **given}
    on_cpu.measure(
        folder,
        types.SimpleNamespace(name="cpu"),
        asked.Asked(**options),
        say=lambda text: None,
        keep=lambda found: kept.append(found),
    )
    return kept[-1]


@pytest.mark.skipif(bool(NO_COMPILER), reason=str(NO_COMPILER))
def test_rungs_that_must_learn_the_same_do(folder):
    found = of_cpu(folder)
    assert [entry["rung"] for entry in found["compared"]] == [
        *("no_reads", "one_table", "fused", "kernels", "kernels, kernels.cu")
    ]
    assert not found["differs"] and all(entry["same"] for entry in found["compared"])
    assert all(entry["moved"] > 1e-3 for entry in found["compared"]), "and they learn"
    assert [entry["name"] for entry in found["costs"]] == [rung.name for rung in switches_of.ladder(64, 64)[:-1]]


def test_rungs_that_differ_are_seen(folder, monkeypatch):
    monkeypatch.setattr(on_cpu, "ROWWISE", ("row-wise Adagrad", "rowwise", ("one_table",)))
    monkeypatch.setattr(on_cpu.running, "no_compiler", lambda language, device: "there is none")
    found = of_cpu(folder)
    assert found["differs"] and [entry["same"] for entry in found["compared"]] == [True, True, True, False]


@pytest.mark.skipif(bool(NO_COMPILER), reason=str(NO_COMPILER))
def test_sectors_an_id_by_hand():
    """A row of 32 numbers is 4 sectors; a warp's ids are 4 more, an eighth of a sector each."""
    names = ("gather_thread", "gather_lane", "gather_vector", "scatter_atomic")
    found = {
        (entry["kernel"], entry["ids"]): entry["counters"] for entry in accesses.measure(names, ("random",), (32,))
    }
    lane, vector = found["gather_lane", "random"], found["gather_vector", "random"]
    assert (lane["global_load_sectors"], lane["global_store_sectors"]) == (4 + 1, 4)  # a warp a row, and its id
    assert (lane["global_load_requests"], vector["global_load_requests"]) == (2, 0.5)
    # Four rows a request, of which some are the same, and a sector for their ids.
    assert 0.98 * 4 + 1 / 4 < vector["global_load_sectors"] <= 4 + 1 / 4 and vector["global_store_sectors"] == 4
    assert found["gather_thread", "random"]["global_store_sectors"] == 32
    assert found["scatter_atomic", "random"]["global_atomic_sectors"] == 4


def test_ids_are_sorted_random_or_skewed():
    made = {kind: accesses.ids_of(kind, 3_000, 1_000) for kind in accesses.KINDS}
    assert np.array_equal(made["sorted"], np.sort(made["random"])) and not np.array_equal(
        *[made["sorted"], made["random"]]
    )
    most = {kind: np.bincount(ids, minlength=1_000).max() for kind, ids in made.items()}
    assert most["skewed"] > 20 * most["random"]
    assert all(ids.dtype == np.int32 and ids.min() >= 0 and ids.max() < 1_000 for ids in made.values())


# --- summaries, tables and figures -----------------------------------------------------------------------------------


def shown(result, width=80, why=False):
    console = Console(width=width, file=io.StringIO())
    table.show(result, console, why)
    return console.file.getvalue()


def test_ladders_hold_their_last_rung_at_the_larger_batch():
    found = summary.ladders(ctr_fake.result())
    assert list(found) == [8_192, 65_536]
    assert [rung["batch"] for rung in found[8_192]] == [8_192] * 12 + [65_536]
    assert found[65_536][-1]["batch"] == 262_144


def test_a_rung_is_compared_with_the_one_above_that_was_timed():
    rungs = summary.ladders(ctr_fake.result())[65_536]
    over = dict(zip([rung["name"] for rung in rungs], summary.over_the_one_above(rungs), strict=True))
    assert over["rows"] is None and over["prefetch"] is None
    assert over["resident"] == pytest.approx(22_000 / 9_900)
    assert over["large"] == pytest.approx(262_144 / 1_500 / (65_536 / 450))
    assert summary.best(rungs)["name"] == "graph"
    assert summary.over_eager(rungs) == pytest.approx(9_400 / 450)
    assert summary.over_eager(rungs[:2]) is None and summary.best(rungs[2:3]) is None


def test_the_table_fits_a_terminal_and_says_all():
    text = shown(ctr_fake.result())
    assert max(map(len, text.splitlines())) <= 80 and "…" not in text
    for words in (
        "6 fields of 11,101,260 rows in all",
        "CUDA graph",
        "graph: 43.1 M samples/s, 45.3 times one_table",
        "30 M wanted: reached",
        "120 M wanted: reached",
        "prefetch failed: RuntimeError: no pinned memory is left",
        "1,214,200",  # bytes of dense Adam, an impression
        "all switches             262,144 0.28996",
        "Where a step at batch 65,536 goes",
        "The true probabilities reach a logloss of 0.28321",
    ):
        assert words in " ".join(text.split()) or words in text, words
    assert "Why" not in text and "rowwise: only rows of the batch are touched" in shown(ctr_fake.result(), why=True)


def test_a_switch_turned_back_is_shown_beside_the_graph():
    result = ctr_fake.result()
    graph = next(rung for rung in result["ladder"] if rung["name"] == "graph")
    entry = graph | {"name": "no_bfloat16", "change": "float32 MLP again", "seconds": 2 * graph["seconds"]}
    result["turned_back"] = [entry | {"samples_per_second": graph["samples_per_second"] / 2}]
    assert "graph, float32 MLP again:" in shown(result) and "2.00 times as long a step" in shown(result)


@pytest.mark.parametrize(("rung", "switch"), [("no_bfloat16", "precision"), ("no_compile", "compiled")])
def test_one_switch_is_turned_back_at_a_time(rung, switch):
    last = next(one.switches.to_dict() for one in switches_of.ladder(512, 512) if one.name == "graph")
    back = next(one.switches.to_dict() for one in switches_of.turned_back(512) if one.name == rung)
    assert {name for name in last if last[name] != back[name]} == {switch}


def test_stretches_that_pytorch_marks_are_no_kernels():
    assert profiling.MARKED.match("Optimizer.step#RowwiseAdagrad.step") and profiling.MARKED.match("ProfilerStep#3")
    assert not profiling.MARKED.match("void at::native::multi_tensor_apply_kernel<at::native::FusedAdam>")


def test_what_was_missed_is_said():
    result = ctr_fake.result()
    for rung in result["ladder"]:
        if "seconds" in rung:
            rung["samples_per_second"] /= 2
    assert shown(result).count("missed") == 2


def test_a_table_of_what_is_there_so_far():
    result = ctr_fake.result()
    result |= {"ladder": result["ladder"][:1], "quality": [], "profiles": []}
    text = shown(result)
    assert "DataLoader" in text and "Quality" not in text and "Where a step" not in text


def test_a_figure_that_cannot_be_written_is_told_and_the_others_are_drawn(tmp_path):
    (tmp_path / "ctr_ladder.png").mkdir()
    said = []
    made = figures.draw(ctr_fake.result(), tmp_path, said.append)
    assert [path.name for path in made] == ["ctr_profile.png"]
    assert len(said) == 1 and said[0].startswith("no ctr_ladder: cannot write")


def test_figures_of_a_gpu(tmp_path):
    made = figures.draw(ctr_fake.result(), tmp_path, lambda text: pytest.fail(text))
    assert [path.name for path in made] == ["ctr_ladder.png", "ctr_profile.png"]
    sheet = figures.rungs(ctr_fake.result())
    assert sheet.get_suptitle().replace("\n", " ").startswith("43.1 M samples/s at batch 8,192, 45.3 times eager")
    widths = [bar.get_width() for bar in sheet.axes[0].patches]
    assert widths[11] == pytest.approx(8_192 / 190) and len(widths) == 13
    shares = [bar.get_width() for bar in figures.profiles(ctr_fake.result()).axes[0].patches]
    assert sum(shares[:8]) == pytest.approx(1.0), "all of a step of one_table, waiting too"


def test_no_figure_without_its_data(tmp_path):
    result = ctr_fake.result() | {"ladder": [], "profiles": []}
    assert figures.draw(result, tmp_path, lambda text: pytest.fail(text)) == []


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_on_the_cpu_machine(capsys, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(accesses, "KERNELS", ("gather_thread", "gather_lane", "gather_vector"))
    monkeypatch.setattr(accesses.measure, "__defaults__", (accesses.KERNELS, ("random",), (32,)))
    out = tmp_path / "found.json"
    code, text, _ = run(capsys, "--log", folder, "--batch", 64, "--samples", 1_024, "--out", out, "--plot", tmp_path)
    assert code == 0 and "Rungs that must learn the same" in text and "DIFFERS" not in text
    found = json.loads(out.read_text())
    assert found["what"] == command.WHAT and found["device"] == "cpu" and not found["differs"]
    assert found["machine"]["command"].startswith("gpukit bench ctr --log")
    if not NO_COMPILER:
        assert f"wrote {tmp_path / 'ctr_sectors.png'}" in text


def test_rungs_that_differ_end_with_code_1(capsys, folder, monkeypatch):
    monkeypatch.setattr(on_cpu, "CLOSE", -1.0)
    code, text, _ = run(capsys, "--log", folder, "--batch", 64, "--samples", 512, "--no-profile")
    assert code == 1 and "DIFFERS" in text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--log", "nowhere"), "there is no folder nowhere"),
        (("--rung", "fast", "--log", "nowhere"), "the ladder has no rung 'fast': it has rows"),
        (("--batch", "0"), "Invalid value for '--batch'"),
        (
            ("--recorded", "--batch", "64"),
            "a recording is as it was made: --recorded goes with --out, --plot and --why",
        ),
        (("--recorded", "--no-quality"), "a recording is as it was made"),
        (("--machine", "cpu", "--seconds", "3"), "--seconds are for times, and the CPU machine has none"),
        (("--out", "nowhere/found.json"), "there is no folder nowhere; make it first"),
    ],
)
def test_what_the_command_refuses(capsys, arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "newest_recording", lambda *_: pytest.fail("nothing is to be shown"))
    code, _, err = run(capsys, *arguments)
    assert code in (1, 2) and sentence in " ".join(err.split())


def test_batches_that_are_too_large_for_the_log(capsys, folder):
    code, _, err = run(capsys, "--log", folder, "--batch", 5_000)
    assert code == 1 and "a batch of 5,000 impressions is more than 4,200" in err


def test_the_newest_recording_is_shown(capsys, monkeypatch, tmp_path):
    for date in ("2026-11-30", "2026-12-02"):
        result = ctr_fake.result()
        result["machine"]["date"] = date
        (tmp_path / f"ctr_h200_{date}.json").write_text(json.dumps(result))
    (tmp_path / "ctr_h200_other.json").write_text(json.dumps({"what": "another", "machine": {"date": "2027-01-01"}}))
    monkeypatch.setattr("gpukit.resources.data_files", lambda pattern: sorted(tmp_path.glob(pattern.split("/")[1])))
    code, text, _ = run(capsys, "--recorded", "--why")
    assert code == 0 and "Recorded, not measured here: data/results/ctr_h200_2026-12-02.json" in text
    for path in tmp_path.glob("ctr_h200_20*"):
        path.unlink()
    code, _, err = run(capsys, "--recorded")
    assert code == 1 and "no recording of `gpukit bench ctr` on a GPU comes with gpukit" in err


def test_a_gpu_that_pytorch_does_not_see(folder, monkeypatch):
    monkeypatch.setattr(FakeTorch, "cuda", types.SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(on_gpu, "torch", FakeTorch)
    with pytest.raises(CtrError, match="PyTorch sees no GPU: install a PyTorch that is built for CUDA"):
        measure(folder)


def test_rates_of_matrix_products_are_measured():
    found = measuring.matrix_tflops(CPU, 64)
    assert set(found) == {"float32", "bfloat16"} and min(found.values()) > 0
