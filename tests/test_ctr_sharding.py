"""Several processes train one model: the same losses and tables as one process, and as plain PyTorch."""

import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

from gpukit import plugins  # noqa: E402

ROOT = Path(__file__).parents[1]
RUN = ROOT / "tests" / "ctr_sharding_run.py"
PATIENCE = 120  # seconds for processes that take a few
CLOSE = {"rtol": 0, "atol": 2e-6}  # sums of float32 in another order, after a few dozen steps

plugins.load("ctr")


def module(name):
    return importlib.import_module(f"gpukit_labs.ctr.{name}")


CtrError = module("errors").CtrError
Field, Schema = module("schema").Field, module("schema").Schema
measure, prediction, processes_ = (module(f"sharding.{name}") for name in ("measure", "prediction", "processes"))
split, table, update = (module(f"sharding.{name}") for name in ("split", "table", "update"))
# 107 rows: not divisible by two processes, and neither are the 104 of the two large fields by three.
SCHEMA = Schema((Field("a", 63), Field("few", 3), Field("b", 41)), ("x", "y"))


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if name not in processes_.ENVIRONMENT}
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONPATH": path, **more}


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def as_torchrun_does(rank, count, port):
    of = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return environment(**{name: str(value) for name, value in of.items()})


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    storage = module("storage.log")
    random = np.random.default_rng(0)
    rows = 803
    ids = np.stack([random.integers(0, field.rows, rows) for field in SCHEMA.fields], 1).astype(np.int32)
    ids[:720, :2] %= (62, 2)  # the last id of these fields comes in the test alone
    clicks = (ids[:, 0] % 3 == 0) ^ (random.random(rows) < 0.2)
    with storage.LogWriter(tmp_path_factory.mktemp("log") / "log", SCHEMA) as writer:
        dense = random.normal(size=(rows, 2)).astype(np.float32)
        writer.append(ids, dense, clicks.astype(np.uint8), np.arange(rows))
        return writer.finish({})


@pytest.fixture(scope="module")
def found(log, tmp_path_factory):
    """What two processes found and then one, which went on from the checkpoints of the two."""
    folder = tmp_path_factory.mktemp("runs")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    results = {}
    for count, start, variables in (
        (2, torchrun, environment()),
        (1, [sys.executable], as_torchrun_does(0, 1, free_port())),
    ):
        command = [*start, str(RUN), "all", str(log.folder), str(folder)]
        ran = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=PATIENCE)
        assert ran.returncode == 0, ran.stderr
        with np.load(folder / f"of_{count}.npz") as read:
            results[count] = dict(read) | json.loads((folder / f"of_{count}.json").read_text())
    return results


# --- the same as one process -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain_pytorch(log):
    """(losses, table, sums of squares) of the same steps by dense PyTorch, and none of the sharded step's parts."""
    batches = module("training.batches")
    settings = module("training.settings").Settings(dim=4, hidden=(8,), table_rate=0.05)
    torch.manual_seed(3)
    network = module("model.network").Network(SCHEMA, 4, (8,), sparse=False)
    weight = network.table.weight
    total = torch.zeros(len(weight))
    adam = torch.optim.AdamW(network.mlp.parameters(), settings.dense_rate, weight_decay=settings.weight_decay)
    losses = []
    for batch, _ in zip(
        batches.Batches(log.split("train"), 60, 5, 0.01, torch.device("cpu")).epoch(0), range(8), strict=False
    ):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(network(batch.ids, batch.dense), batch.labels)
        network.zero_grad()
        loss.backward()
        adam.step()
        with torch.no_grad():
            total += weight.grad.square().mean(1)
            weight -= settings.table_rate * weight.grad / (total.sqrt() + 1e-8)[:, None]
        losses.append(loss.item())
    return np.array(losses), weight.detach().numpy(), total.numpy()


@pytest.mark.parametrize("how", ["exact", "sorted", "small", "fixed"])
@pytest.mark.parametrize("count", [1, 2])
def test_losses_and_table_are_those_of_plain_pytorch(found, plain_pytorch, how, count):
    losses, weight, _ = plain_pytorch
    np.testing.assert_allclose(found[count][f"{how}_curve"], losses, **CLOSE)
    np.testing.assert_allclose(found[count][f"{how}_table"], weight, **CLOSE)


def test_state_of_the_optimizer_is_that_of_plain_pytorch(found, plain_pytorch):
    _, _, total = plain_pytorch
    spread = table.Spread.of(SCHEMA.rows)
    for count in (1, 2):
        placed = found[count]["exact_sums"][spread.places(torch.arange(SCHEMA.rows)).numpy()]
        np.testing.assert_allclose(placed, total, rtol=1e-4, atol=1e-9)
    assert len(found[2]["small_sums"]) == 63 + 41


def test_bfloat16_on_the_way_costs_its_rounding_and_no_more(found):
    exact, rounded = (found[2][f"{how}_table"] for how in ("exact", "bfloat16"))
    assert 1e-6 < np.abs(exact - rounded).max() < 0.02
    np.testing.assert_allclose(found[2]["bfloat16_curve"], found[2]["exact_curve"], rtol=0, atol=5e-3)


@pytest.mark.parametrize("how", ["plain", "small"])
def test_one_process_goes_on_where_two_stopped(found, how):
    one, two = (found[count] for count in (1, 2))
    assert len(one[f"{how}_looks"]) == len(two[f"{how}_looks"]) == 3
    np.testing.assert_array_equal(one[f"{how}_looks"][:2], two[f"{how}_looks"][:2])  # those of the two
    np.testing.assert_allclose(one[f"{how}_looks"][2], two[f"{how}_looks"][2], **CLOSE)
    np.testing.assert_allclose(one[f"{how}_end"], two[f"{how}_end"], **CLOSE)
    assert np.abs(two["plain_end"] - two["exact_table"]).max() > 0.01  # the longer run went on


@pytest.mark.parametrize("how", ["plain", "small"])
@pytest.mark.parametrize("count", [1, 2])
def test_ids_that_training_never_met_have_the_row_of_the_unknown_one(found, how, count):
    end = found[count][f"{how}_end"]
    for cold, unknown in ((62, 0), (63 + 2, 63)):
        np.testing.assert_array_equal(end[cold], end[unknown])
    assert len(np.unique(end, axis=0)) == SCHEMA.rows - 2


def test_every_row_is_predicted_once_and_as_the_whole_network_does(found, log):
    for count in (1, 2):
        for how in ("plain", "small"):
            assert len(found[count][f"{how}_p"]) == log.split("test").rows
            np.testing.assert_allclose(found[count][f"{how}_p"], found[count][f"{how}_p_again"], rtol=0, atol=1e-6)


def test_processes_with_other_numbers_of_rows_look_up_together(found):
    assert found[2]["uneven"] == [7]


def test_stretches_are_dtensors(found):
    assert found[2]["chunks_agree"].all()
    assert found[2]["total"] == [2.0]


def test_lookups_that_find_no_room_are_an_error(found):
    assert "room for 10: give it more" in found[2]["text"]["full"]


# --- where rows lie --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 64, 107, 10_007])
def test_spread_is_a_bijection(rows):
    spread = table.Spread.of(rows)
    places = spread.places(torch.arange(rows))
    assert sorted(places.tolist()) == list(range(rows))
    assert torch.equal(spread.rows_at(places), torch.arange(rows))


def share_of_first_half(fields, place):
    """Of log-uniform lookups in all fields, where `place` puts the rows."""
    first = 0.0
    for field, start in zip(fields, Schema(fields).offsets, strict=True):
        ids = torch.arange(field.rows, dtype=torch.float64)
        chances = torch.log((ids + 2) / (ids + 1)) / np.log(field.rows + 1)
        first += float(chances[place(torch.arange(field.rows) + int(start))].sum()) / len(fields)
    return first


def test_popular_neighbours_are_spread_over_processes():
    fields = measure.facts_schema(shrink=10).fields
    rows = sum(field.rows for field in fields)
    spread = table.Spread.of(rows)
    assert share_of_first_half(fields, lambda row: row < rows // 2) < 0.2  # in their order
    assert 0.4 < share_of_first_half(fields, lambda row: spread.places(row) < rows // 2) < 0.6


def test_more_rows_than_places_are_refused():
    with pytest.raises(CtrError, match=r"at most 2,147,483,648 rows, and this one 2,147,483,649"):
        table.Spread.of((1 << 31) + 1)


# --- the update ------------------------------------------------------------------------------------------------------


def test_unsorted_update_adds_up_repeated_rows_before_it_squares_them():
    optimizers = module("model.optimizers")
    weights = []
    for kind in (optimizers.RowwiseAdagrad, update.UnsortedRowwiseAdagrad):
        random = torch.Generator().manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(9, 4, generator=random))
        adagrad = kind([weight], lr=0.1)
        for _ in range(3):
            rows = torch.randint(0, 5, (1, 40), generator=random)
            values = torch.randn(40, 4, generator=random)
            weight.grad = torch.sparse_coo_tensor(rows, values, (9, 4), check_invariants=False)
            adagrad.step()
        weights.append((weight.detach().numpy(), adagrad.state[weight]["sum"].numpy()))
    np.testing.assert_allclose(weights[0][0], weights[1][0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(weights[0][1], weights[1][1], rtol=1e-5)


# --- errors ----------------------------------------------------------------------------------------------------------


def test_a_process_that_stops_is_a_sentence_of_the_others(log, tmp_path):
    port = free_port()
    command = [sys.executable, str(RUN), "dies", str(log.folder), str(tmp_path)]
    pair = [
        subprocess.Popen(command, env=as_torchrun_does(rank, 2, port), stderr=subprocess.PIPE, text=True)
        for rank in (0, 1)
    ]
    try:
        said = [process.communicate(timeout=PATIENCE)[1] for process in pair]
    finally:
        for process in pair:
            process.kill()
    assert [process.returncode for process in pair] == [1, 3]
    (sentence,) = (line for line in said[0].splitlines() if line.startswith("gpukit: "))
    assert "process 0 of 2 lost the others" in sentence and "last checkpoint" in sentence
    assert "Traceback" not in said[0]


def given_environment(monkeypatch, **variables):
    for name in processes_.ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))


def refusal(device, timeout=1.0):
    with pytest.raises(CtrError) as caught, processes_.joined(device, timeout):
        pass
    return str(caught.value)


def test_without_torchrun(monkeypatch):
    given_environment(monkeypatch)
    assert refusal("cpu").startswith("the environment has no RANK: start with torchrun")
    given_environment(monkeypatch, RANK="one", WORLD_SIZE=2, LOCAL_RANK=0, MASTER_ADDR="127.0.0.1", MASTER_PORT=1)
    assert "WORLD_SIZE and LOCAL_RANK must be whole numbers" in refusal("cpu")


def test_gpus_that_are_not_there(monkeypatch):
    given_environment(monkeypatch, RANK=1, WORLD_SIZE=2, LOCAL_RANK=1, MASTER_ADDR="127.0.0.1", MASTER_PORT=1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "NCCL needs a GPU for each process" in refusal("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert "process 1 of this machine has no GPU of its own, since there are 1" in refusal("cuda")


def test_others_that_never_come(monkeypatch):
    given_environment(monkeypatch, RANK=0, WORLD_SIZE=2, LOCAL_RANK=0, MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    assert "process 0 of 2 did not find the others at 127.0.0.1:" in refusal("cpu")


def alone(count, rank=0):
    """Processes that speak to nobody."""
    return processes_.Processes(rank, count, torch.device("cpu"), None)


def test_more_processes_than_rows():
    with pytest.raises(CtrError, match="5 processes cannot share a table of 4 rows"):
        table.ShardedTable.of(torch.zeros(4, 2), torch.zeros(1, dtype=torch.int64), alone(5))


def test_nothing_left_to_shard():
    with pytest.raises(CtrError, match="no field has more than 63 rows, so with --replicate 63 none is sharded"):
        split.split(SCHEMA, 63)


def test_stretches_cover_all_rows_once():
    for count in (1, 2, 3, 5):
        stretches = [alone(count, rank).stretch(7) for rank in range(count)]
        assert [row for stretch in stretches for row in range(7)[stretch]] == list(range(7))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cut_table", "is no whole checkpoint"),
        ("no_table", "is no whole checkpoint"),
        ("cut_metadata", "is no whole checkpoint"),
        ("cut_rest", "is no whole checkpoint"),
        ("no_rest", "there is no run to go on with"),
        ("settings", "was trained with seed = 1, and not 8"),
        ("replicate", "fields of up to 0 rows in every process, and not 5: give --replicate 0"),
        ("there", "holds a run already: --resume goes on with it"),
    ],
)
def test_checkpoints_that_cannot_be_gone_on_with(found, name, says):
    assert says in found[1]["text"][name]


# --- what torchrun starts --------------------------------------------------------------------------------------------


def leave(status):
    raise KeyboardInterrupt(status)  # which nothing on the way catches


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["train", "NONE"], 1, "gpukit: there is no folder NONE"),
        (["scaling", "NONE", "NONE"], 1, "gpukit: NONE cannot be read"),
        (["train"], 2, "Missing argument 'LOG'"),
        (["--help"], 0, ""),
    ],
)
def test_commands_say_what_is_wrong(monkeypatch, capsys, arguments, status, says):
    monkeypatch.setattr(sys, "argv", ["sharding", *arguments])
    monkeypatch.setattr(os, "_exit", leave)
    folder = ROOT / "labs/08_ctr/ctr/sharding"
    with pytest.raises(KeyboardInterrupt) as left:
        runpy.run_path(str(folder / "__main__.py"), run_name="__main__")
    said = capsys.readouterr().err
    assert left.value.args == (status,)
    assert says in said and "Traceback" not in said


def test_without_pytorch_a_sentence_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(ROOT / "labs/08_ctr/ctr/sharding/__main__.py"), run_name="__main__")
    assert left.value.code == 'gpukit: training needs PyTorch (torch is missing): python -m pip install -e ".[ctr]"'


def test_other_exceptions_keep_their_traceback(monkeypatch, capsys):
    monkeypatch.setattr(os, "_exit", leave)
    with pytest.raises(KeyboardInterrupt):
        processes_.run_and_leave(lambda: 1 // 0)
    assert "ZeroDivisionError" in capsys.readouterr().err


# --- prediction and measurement --------------------------------------------------------------------------------------


def test_bytes_that_travel():
    model = prediction.Model()
    assert prediction.exchanged_bytes(model, 1, 4) == 0
    assert prediction.exchanged_bytes(model, 2, 4) == 2 * 6 * 32 * 4 + 24
    assert prediction.exchanged_bytes(prediction.Model(fields=3), 2, 2) == 2 * 3 * 32 * 2 + 12


def test_prediction_is_what_its_docstring_says():
    all_fields, large = prediction.Model(), prediction.Model(fields=3)

    def times(model, batch, element, eager):
        return prediction.scaling(model, batch, 2, element, eager=eager)

    assert prediction.step_seconds(all_fields, 10**6, 1, 4, eager=False) * 1e3 == pytest.approx(18, abs=0.5)
    assert times(all_fields, 262_144, 4, True) == pytest.approx(1.5, abs=0.05)
    assert 1.65 < times(all_fields, 262_144, 2, True) < times(large, 262_144, 2, True) < 1.9
    assert times(all_fields, 8_192, 4, True) == times(all_fields, 65_536, 4, True) == pytest.approx(1.8, abs=0.05)
    assert 0.95 < times(all_fields, 8_192, 4, False) < times(large, 8_192, 2, False) < 1.15
    assert 1.35 < times(all_fields, 65_536, 4, False) < times(large, 65_536, 2, False) < 1.75


def test_measured_settings_and_what_cannot_be_measured(found):
    for count in (1, 2):
        record = found[count]["record"]
        eager, fixed, graph = record["settings"]
        assert record["processes"] == count and record["torch"] == torch.__version__
        assert f"--nproc-per-node {count} " in record["command"]
        for setting in (eager, fixed):
            assert len(setting["rounds"]) == measure.ROUNDS
            assert setting["samples_per_second"] == pytest.approx(16 * count / setting["seconds"])
        assert eager["exchanged_bytes_per_sample"] == (count - 1) * 1560
        assert graph["error"] == "CtrError: a CUDA graph needs a GPU: measure the other modes here"


def test_scaling_of_two_runs(found):
    one, two = (found[count]["record"] for count in (1, 2))
    eager, fixed = measure.scaling(one, two)
    assert eager.setting == measure.Setting(16, "float32", 0, "eager") and fixed.setting.exchange == "bfloat16"
    seconds = [record["settings"][0]["seconds"] for record in (one, two)]
    assert eager.times == pytest.approx(2 * seconds[0] / seconds[1])
    assert eager.predicted == pytest.approx(2 * 3.0 / 3.3)


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        ({"processes": 2}, {}, "not of 2 and 2"),
        ({"gpu": "A"}, {"gpu": "B"}, r"differ in gpu \(A and B\)"),
        ({"settings": []}, {}, "no setting in common"),
        ({"settings": [{}]}, {}, "no record of the sharded step"),
    ],
)
def test_runs_that_cannot_be_compared(found, one, two, why):
    with pytest.raises(CtrError, match=why):
        measure.scaling(found[1]["record"] | one, found[2]["record"] | two)
