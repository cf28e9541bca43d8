"""Lab 8's training: batches, the survey of rows, the loop, and runs that go on to the same bits."""

import csv
import hashlib
import importlib
import io
import itertools
import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

from gpukit import plugins
from gpukit.errors import GpukitError

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

plugins.load("ctr")


def room(name):
    return importlib.import_module(f"gpukit_labs.ctr.{name}")


schemas, logs_of = room("schema"), room("storage.log")
batching, surveying, looping = room("training.batches"), room("training.survey"), room("training.loop")
checkpoints, running, settings_of = room("training.checkpoint"), room("training.running"), room("training.settings")
claiming = room("training.claim")
stepping, tables, sampling = room("training.step"), room("model.table"), room("world.sampling")
networks = room("model.network")
CtrError = room("errors").CtrError
Settings = settings_of.Settings

CPU = torch.device("cpu")
SCHEMA = schemas.Schema((schemas.Field("member", 40), schemas.Field("ad", 9)), ("age", "price"))
TINY = Settings(dim=4, hidden=(8,), dropout=0.2, batch=128, epochs=2, evaluations=2)


def columns(rows, seed=0, schema=SCHEMA):
    rng = np.random.default_rng(seed)
    ids = np.stack([rng.integers(1, field.rows, rows) for field in schema.fields], 1).astype(np.int32)
    dense = (rng.standard_normal((rows, len(schema.dense))) * [5, 0.1] + [30, 2]).astype(np.float32)
    taste = np.random.default_rng(99).standard_normal((schema.fields[0].rows, schema.fields[1].rows))
    p = 1 / (1 + np.exp(-(taste[ids[:, 0], ids[:, 1]] - 1 + (dense[:, 0] - 30) / 10)))
    return ids, dense, (rng.random(rows) < p).astype(np.uint8), np.arange(rows)


def write_log(folder, rows=2000, seed=0, schema=SCHEMA, about=None, **kwargs):
    with logs_of.LogWriter(folder, schema) as writer:
        writer.append(*columns(rows, seed, schema))
        return writer.finish(about or {}, **kwargs)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write_log(tmp_path_factory.mktemp("log") / "log")


def part_of(rows, seed=0, first=0):
    return logs_of.Part(SCHEMA, *columns(rows, seed), first=first)


# --- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"batch": 0}, "batch = 0"),
        ({"hidden": (8, 0)}, "hidden = 0"),
        ({"unknown": 1.0}, "unknown = 1.0"),
        ({"dropout": -0.1}, "dropout = -0.1"),
        ({"table_rate": float("nan")}, "table_rate = nan"),
        ({"dense_rate": 0.0}, "dense_rate = 0.0"),
        ({"seed": -1}, "weight_decay, gain and seed are 0 or more"),
        ({"drop": 1.0}, "drop is more than 1"),
        ({"batch": 64.0}, "batch = 64.0 is not a whole number"),
        ({"epochs": True}, "epochs = True is not a whole number"),
        ({"dropout": "0"}, "dropout = '0' is not a number"),
        ({"gain": (1, 2)}, r"gain = \(1, 2\) is not a number"),
        ({"hidden": (8, 4.0)}, "is not a tuple of whole numbers"),
        ({"hidden": [8]}, "is not a tuple of whole numbers"),
        ({"deterministic": 1}, "deterministic = 1 is not true or false"),
    ],
)
def test_settings_that_cannot_be(wrong, words):
    with pytest.raises(CtrError, match=words):
        Settings(**wrong)


def test_settings_survive_a_file():
    assert Settings.from_dict(TINY.to_dict()) == TINY
    with pytest.raises(CtrError, match="no settings"):
        Settings.from_dict({**TINY.to_dict(), "momentum": 0.9})


# --- batches ---------------------------------------------------------------------------------------------------------


def make_batches(part, size=64, **kwargs):
    return batching.Batches(part, size, **{"seed": 5, "unknown": 0.0, "device": CPU, **kwargs})


def times_of(part, batches, epoch):
    """Which rows the batches of an epoch hold: the dense features tell them apart."""
    place = {row.tobytes(): k for k, row in enumerate(part.dense)}
    return [[place[row.numpy().tobytes()] for row in batch.dense] for batch in batches.epoch(epoch)]


def test_an_epoch_has_every_row_once_but_those_that_fill_no_batch():
    part = part_of(200)
    first, again, second = (times_of(part, make_batches(part), epoch) for epoch in (0, 0, 1))
    assert [len(rows) for rows in first] == [64, 64, 64]
    assert len({row for rows in first for row in rows}) == 192
    assert first == again
    assert first != second
    assert first != times_of(part, make_batches(part, seed=6), 0)


def test_rows_of_a_batch_stay_together():
    part = part_of(200)
    rows = times_of(part, make_batches(part), 0)[1]
    batch = list(make_batches(part).epoch(0))[1]
    assert batch.ids.dtype == torch.int32
    assert batch.labels.dtype == torch.float32
    assert np.array_equal(batch.ids.numpy(), part.ids[rows])
    assert np.array_equal(batch.labels.numpy(), part.labels[rows])


def same(one, other):
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in ("ids", "dense", "labels"))


def test_an_epoch_goes_on_from_any_batch():
    batches = make_batches(part_of(300), unknown=0.3)
    whole = list(batches.epoch(2))
    for first in range(batches.steps + 1):
        rest = list(batches.epoch(2, first))
        assert len(rest) == batches.steps - first
        assert all(same(one, other) for one, other in zip(rest, whole[first:], strict=True))


@pytest.mark.parametrize("world", [2, 4])
def test_processes_share_the_batches_of_one(world):
    part = part_of(300)
    alone = list(make_batches(part, unknown=0.3).epoch(1))
    shares = [list(make_batches(part, unknown=0.3, rank=rank, world=world).epoch(1)) for rank in range(world)]
    for k, whole in enumerate(alone):
        pieces = [share[k] for share in shares]
        together = batching.Batch(
            *(torch.cat([getattr(one, name) for one in pieces]) for name in ("ids", "dense", "labels"))
        )
        assert same(whole, together)


def test_ids_are_hidden_at_random_and_the_log_keeps_its_own():
    part = part_of(4000)
    before = part.ids.copy()
    ids = torch.cat([batch.ids for batch in make_batches(part, unknown=0.1).epoch(0)])
    assert 0.08 < float((ids == schemas.UNKNOWN).float().mean()) < 0.12
    assert np.array_equal(part.ids, before)


def test_batches_that_cannot_be():
    with pytest.raises(CtrError, match="a batch of 0 rows is none"):
        make_batches(part_of(64), size=0)
    with pytest.raises(CtrError, match="a batch of 64 rows cannot be made of 63"):
        make_batches(part_of(63))
    with pytest.raises(CtrError, match="cannot be shared by 3 processes"):
        make_batches(part_of(200), rank=0, world=3)


@pytest.mark.parametrize("world", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 5, 64, 65, 130])
def test_stretches_have_every_row_once_in_as_many_batches_for_each_process(rows, world):
    part = part_of(rows)
    found = [list(batching.stretches(part, 64, CPU, rank, world)) for rank in range(world)]
    assert len({len(one) for one in found}) == 1
    places = [place for one in found for which, _ in one for place in range(which.start, which.stop)]
    assert sorted(places) == list(range(rows))
    for which, batch in itertools.chain.from_iterable(found):
        assert np.array_equal(batch.ids.numpy(), part.ids[which])


# --- survey ----------------------------------------------------------------------------------------------------------


def test_a_survey_has_the_moments_of_all_rows(monkeypatch):
    monkeypatch.setattr(surveying, "ROWS", 7)
    part = part_of(100)
    found = surveying.survey(part)
    dense = part.dense.astype(np.float64)
    np.testing.assert_allclose(found.mean, dense.mean(0))
    np.testing.assert_allclose(found.deviation, dense.std(0))
    assert found.rate == part.labels.mean()


@pytest.mark.parametrize(
    ("column", "place", "value", "words"),
    [
        ("ids", (90, 1), 9, "id 9 of field 'ad' at row 1,090 is outside 0 to 8"),
        ("ids", (90, 0), -1, "id -1 of field 'member' at row 1,090"),
        ("dense", (90, 1), np.nan, "row 1,090 of 'price' is nan"),
        ("labels", (90,), 2, "label at row 1,090 is 2"),
        ("labels", (slice(None),), 0, "all 100 rows from row 1,000 on are not clicked"),
        ("labels", (slice(None),), 1, "all 100 rows from row 1,000 on are clicked"),
    ],
)
def test_a_survey_names_what_is_wrong_by_its_row_in_the_log(monkeypatch, column, place, value, words):
    monkeypatch.setattr(surveying, "ROWS", 40)
    part = part_of(100, first=1000)
    getattr(part, column)[place] = value
    with pytest.raises(CtrError, match=words):
        surveying.survey(part)


# --- the loop --------------------------------------------------------------------------------------------------------


def test_training_learns(log, tmp_path):
    result = running.train(log, Settings(dim=4, hidden=(8,), batch=64, epochs=6), tmp_path)
    losses = [look["validation_logloss"] for look in result.looks]
    rate = log.split("validation").labels.mean()
    assert min(losses) < -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate)) - 0.01
    assert losses[-1] < losses[0]


OVERFITTING = Settings(
    dim=8, hidden=(64,), batch=64, epochs=30, table_rate=0.5, dense_rate=0.03, patience=3, unknown=0.0, gain=1e-3
)


def test_on_a_plateau_the_rates_fall_the_run_ends_and_the_best_weights_stay(log, tmp_path):
    result = running.train(log, OVERFITTING, tmp_path)
    losses = [look["validation_logloss"] for look in result.looks]
    assert len(losses) < OVERFITTING.epochs
    falls, waited = 0, 0
    for k, look in enumerate(result.looks):
        assert waited < OVERFITTING.patience, "the run is over"
        assert look["table_rate"] == pytest.approx(0.5 / 10**falls)
        assert look["dense_rate"] == pytest.approx(0.03 / 10**falls)
        plateau = k > 0 and losses[k] > min(losses[:k]) - OVERFITTING.gain
        falls, waited = falls + plateau, waited + 1 if plateau else 0
    assert waited == OVERFITTING.patience
    p = looping.predict(result.network, log.split("validation"))
    assert room("metrics").logloss(log.split("validation").labels, p) == min(losses)


def test_no_step_waits_for_the_device(log, monkeypatch):
    """What reads a number back does so at looks alone, of which there are few."""
    read = []
    for name in ("item", "tolist", "__float__", "__int__", "__bool__", "cpu", "numpy"):
        real = getattr(torch.Tensor, name)
        monkeypatch.setattr(
            torch.Tensor, name, lambda self, *a, real=real, name=name: read.append(name) or real(self, *a)
        )
    part, validation = log.split("train"), log.split("validation")
    settings = Settings(dim=4, hidden=(8,), batch=16, epochs=1)
    network = networks.Network(SCHEMA, 4, (8,))
    step = stepping.step_of(network, settings, CPU)
    batches = make_batches(part, 16)
    read.clear()
    for batch in batches.epoch(0):
        step(batch)
    assert read == []
    looping.fit(step, batches, validation, settings, looping.Position())
    assert 0 < len(read) < 20 < batches.steps


def test_a_loss_that_is_no_number_ends_the_run(log, tmp_path):
    with pytest.raises(CtrError, match=r"the loss is nan at step \d+, and no weight recovers"):
        running.train(log, Settings(dim=4, hidden=(8,), batch=64, dense_rate=1e30), tmp_path)


def test_logits_of_a_column_are_refused_at_the_first_step():
    class Column(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(2, 1))

        def forward(self, ids, dense):
            return dense @ self.weight

    batch = next(make_batches(part_of(64)).epoch(0))
    with pytest.raises(CtrError, match="squeeze the logits"):
        stepping.Step(Column(), {}, CPU)(batch)


def test_negatives_left_out_are_counted_at_inference(log, tmp_path):
    thin = write_log(tmp_path / "thin", about={"options": {"negative_rate": 0.25}})
    settings = Settings(dim=4, hidden=(8,), dropout=0.0, batch=64, epochs=1)
    found = surveying.survey(log.split("train"))
    plain, shifted = (running.new_network(one, settings, found) for one in (log, thin))
    test = log.split("test")
    want = sampling.recalibrate(looping.predict(plain, test), 0.25)
    np.testing.assert_allclose(looping.predict(shifted, test), want, rtol=1e-5)
    batch = next(make_batches(log.split("train")).epoch(0))
    logits = [network.train()(batch.ids, batch.dense) for network in (plain, shifted)]
    assert torch.equal(*logits), "training has the rows that it has"


@pytest.mark.parametrize("rate", [0, 1.5, "most", None, float("nan")])
def test_a_share_of_negatives_that_is_none_is_refused(tmp_path, rate):
    thin = write_log(tmp_path / "thin", about={"options": {"negative_rate": rate}})
    with pytest.raises(CtrError, match=r"of its rows without a click: make the log again"):
        running.negative_rate(thin)


# --- runs that go on -------------------------------------------------------------------------------------------------


class StopAfter:
    def __init__(self, steps):
        self.left = steps

    def __call__(self):
        self.left -= 1
        return self.left == 0


def tensors(value, path=""):
    """All tensors and numbers in a checkpoint by their place, but for times."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    else:
        return {path: value}
    return {k: v for name, one in items if name != "seconds" for k, v in tensors(one, f"{path}/{name}").items()}


def assert_same_run(one, other):
    one, other = (tensors(checkpoints.read(folder / checkpoints.NAME)) for folder in (one, other))
    assert one.keys() == other.keys()
    assert any("optimizers" in name and isinstance(value, torch.Tensor) for name, value in one.items())
    for name, value in one.items():
        equal = torch.equal(value, other[name]) if isinstance(value, torch.Tensor) else value == other[name]
        assert equal, name


@pytest.fixture(scope="module")
def straight(log, tmp_path_factory):
    """A run of two epochs of 12 steps, with a look in the middle and at the end of each."""
    folder = tmp_path_factory.mktemp("straight")
    return folder, running.train(log, TINY, folder)


def stop_and_go_on(log, settings, folder, steps):
    with pytest.raises(looping.Stopped, match=rf"after step {steps} \(epoch \d\): --resume goes on"):
        running.train(log, settings, folder, stop=StopAfter(steps))
    torch.manual_seed(12345)  # whatever happened in between
    return running.train(log, settings, folder, resume=True)


@pytest.mark.parametrize("steps", [1, 5, 6, 12, 17])
def test_a_run_that_was_interrupted_goes_on_to_the_same_bits(log, straight, tmp_path, steps):
    folder, whole = straight
    assert whole.steps == 24
    result = stop_and_go_on(log, TINY, tmp_path, steps)
    assert_same_run(folder, tmp_path)
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, result.network.state_dict()[name]), name


def test_the_same_run_twice_has_the_same_bits_and_another_seed_has_not(log, straight, tmp_path):
    running.train(log, TINY, tmp_path / "again")
    assert_same_run(straight[0], tmp_path / "again")
    other = running.train(log, replace(TINY, seed=2), tmp_path / "other")
    assert other.looks[-1]["train_logloss"] != straight[1].looks[-1]["train_logloss"]


def test_a_run_that_was_over_can_be_made_longer(log, straight, tmp_path):
    running.train(log, replace(TINY, epochs=1), tmp_path)
    result = running.train(log, TINY, tmp_path, resume=True)
    for name, tensor in straight[1].network.state_dict().items():
        assert torch.equal(tensor, result.network.state_dict()[name]), name


def test_deterministic_mode_is_on_during_training_alone(log, tmp_path):
    seen = []
    settings = replace(TINY, deterministic=True)
    running.train(log, settings, tmp_path, say=lambda *a: seen.append(torch.are_deterministic_algorithms_enabled()))
    assert seen[-1]
    assert not torch.are_deterministic_algorithms_enabled()
    stop_and_go_on(log, settings, tmp_path / "resumed", 5)
    assert_same_run(tmp_path, tmp_path / "resumed")


def test_the_best_network_of_a_checkpoint_is_that_of_the_run(straight):
    folder, whole = straight
    network, settings = running.best_network(folder / checkpoints.NAME)
    assert settings == TINY
    assert not network.training
    assert all(torch.equal(one, whole.network.state_dict()[name]) for name, one in network.state_dict().items())


def test_an_id_that_training_never_met_predicts_what_the_unknown_id_does(tmp_path):
    """Members 30 and more, of 40, come in the test alone."""
    ids, dense, labels, times = columns(2000)
    ids[:1800, 0] = ids[:1800, 0] % 29 + 1
    with logs_of.LogWriter(tmp_path / "log", SCHEMA) as writer:
        writer.append(ids, dense, labels, times)
        log = writer.finish({})
    result = running.train(log, TINY, tmp_path / "run")
    asked, numbers = np.array([[member, 3] for member in (0, 35, 39, 5)], np.int32), np.repeat(dense[:1], 4, 0)
    best, _ = running.best_network(tmp_path / "run" / checkpoints.NAME)
    exported = room("export").export(best, tmp_path / "model.pt2")
    with torch.no_grad():
        found = [network(torch.tensor(asked), torch.tensor(numbers)).numpy() for network in (result.network, best)]
    for unknown, cold, other, warm in (*found, exported(asked, numbers)):
        assert cold == other == unknown
        assert abs(warm - unknown) > 1e-3
    # What goes on from the checkpoint has the rows that were drawn.
    drawn = running.new_network(log, TINY, surveying.survey(log.split("train"))).table.weight[30:40]
    read = checkpoints.read(tmp_path / "run" / checkpoints.NAME)
    for weights in (read["model"], read["position"]["weights"]):
        assert torch.equal(weights["table.weight"][30:40], drawn)


def test_a_run_without_a_look_has_no_best_network(log, tmp_path):
    with pytest.raises(looping.Stopped):
        running.train(log, TINY, tmp_path, stop=StopAfter(2))
    with pytest.raises(CtrError, match="not been judged on validation yet"):
        running.best_network(tmp_path / checkpoints.NAME)


OTHER_ROWS = schemas.Schema((schemas.Field("member", 41), schemas.Field("ad", 9)), ("age", "price"))
OTHER_NAMES = schemas.Schema(SCHEMA.fields, ("age", "cost"))


@pytest.mark.parametrize(
    ("other", "settings", "words"),
    [
        ({"schema": OTHER_ROWS}, TINY, "field 'member' has 41 rows where it had 40"),
        ({"schema": OTHER_NAMES}, TINY, "dense feature 'cost' is in one alone"),
        ({"seed": 1}, TINY, "on another log than .* other checksums"),
        ({}, replace(TINY, batch=64), "with batch = 128, and not 64"),
        ({}, replace(TINY, table_rate=0.5), "with table_rate = .*, and not 0.5"),
    ],
)
def test_a_run_goes_on_with_what_it_began_with(log, straight, tmp_path, other, settings, words):
    path = straight[0] / checkpoints.NAME
    before = path.read_bytes()
    now = write_log(tmp_path / "log", **other) if other else log
    with pytest.raises(CtrError, match=words):
        running.train(now, settings, straight[0], resume=True)
    assert path.read_bytes() == before, "nothing is lost"


def test_a_new_run_does_not_take_the_place_of_another(log, straight):
    before = (straight[0] / checkpoints.NAME).read_bytes()
    with pytest.raises(CtrError, match="holds a run already"):
        running.train(log, TINY, straight[0])
    assert (straight[0] / checkpoints.NAME).read_bytes() == before


@pytest.mark.parametrize("keep", [0, 10, 31, 32, 33, 5000, -1])
def test_a_checkpoint_that_was_cut_short_is_refused(log, straight, tmp_path, keep):
    whole = (straight[0] / checkpoints.NAME).read_bytes()
    (tmp_path / checkpoints.NAME).write_bytes(whole[:keep])
    with pytest.raises(CtrError, match="no whole checkpoint"):
        running.train(log, TINY, tmp_path, resume=True)


def test_a_checkpoint_with_another_byte_is_refused(straight, tmp_path):
    whole = bytearray((straight[0] / checkpoints.NAME).read_bytes())
    whole[len(whole) // 2] ^= 1
    (tmp_path / checkpoints.NAME).write_bytes(whole)
    with pytest.raises(CtrError, match="cut short or changed"):
        checkpoints.read(tmp_path / checkpoints.NAME)


def test_reading_a_checkpoint_runs_no_code_of_it(tmp_path):
    class Runs:
        def __reduce__(self):
            return (pytest.fail, ("code of a checkpoint ran",))

    for content in (pickle.dumps(Runs(), 2), saved({"format": 1, "position": Runs()}), saved([1, 2]), saved({})):
        path = tmp_path / checkpoints.NAME
        path.write_bytes(content + hashlib.sha256(content).digest())
        with pytest.raises(CtrError, match="is no checkpoint"):
            checkpoints.read(path)


def saved(content):
    held = io.BytesIO()
    torch.save(content, held)
    return held.getvalue()


def test_a_checkpoint_of_another_format_says_so(tmp_path):
    content = saved({"format": 0})
    (tmp_path / "c.pt").write_bytes(content + hashlib.sha256(content).digest())
    with pytest.raises(CtrError, match="is of format 0, and this reads 1"):
        checkpoints.read(tmp_path / "c.pt")


def test_a_checkpoint_without_its_parts_says_which(tmp_path):
    for content, words in (({"format": 1, "model": {}}, "KeyError"), (torch.zeros(3), "TypeError")):
        content = saved(content)
        (tmp_path / "c.pt").write_bytes(content + hashlib.sha256(content).digest())
        with pytest.raises(CtrError, match=f"is no checkpoint of a training run .{words}"):
            checkpoints.read(tmp_path / "c.pt")


@pytest.mark.parametrize(
    ("spoil", "also_the_best"),
    [
        (lambda read: read["settings"].update(hidden=[3]), True),
        (lambda read: read["position"]["weights"].update({"table.weight": torch.zeros(3)}), True),
        (lambda read: read["optimizers"].clear(), True),
        (lambda read: read["generators"].clear(), False),
        (lambda read: read["model"].clear(), False),
    ],
)
def test_a_checkpoint_of_another_network_says_so(log, tmp_path, spoil, also_the_best):
    """Its digest is right: what wrote it was another program."""
    path = tmp_path / checkpoints.NAME
    running.train(log, replace(TINY, epochs=1), tmp_path)
    read = checkpoints.read(path)
    spoil(read)
    content = saved(read)
    path.write_bytes(content + hashlib.sha256(content).digest())
    settings = Settings.from_dict(read["settings"])
    with pytest.raises(CtrError, match="holds another network than its settings and schema say"):
        running.train(log, replace(settings, epochs=2), tmp_path, resume=True)
    if also_the_best:
        with pytest.raises(CtrError, match="holds another network than its settings and schema say"):
            running.best_network(path)


def test_a_folder_is_of_one_process_at_a_time(log, tmp_path):
    asked = []

    def ask(what, done, total):
        if what.startswith("epoch") and not asked:
            asked.append(what)
            with pytest.raises(CtrError, match="another process is training in"), claiming.claimed(tmp_path):
                pass

    running.train(log, replace(TINY, epochs=1), tmp_path, say=ask)
    assert asked
    with claiming.claimed(tmp_path):
        pass


def test_a_table_that_no_memory_holds_says_so(log, tmp_path):
    with pytest.raises(CtrError, match=r"49 rows of 100,000,000,000,000 numbers needs .* GB.*--dim"):
        running.train(log, replace(TINY, dim=10**14), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_times_that_go_back_are_found_across_blocks(monkeypatch):
    monkeypatch.setattr(surveying, "ROWS", 100)
    part = part_of(300)
    surveying.survey(part)
    part.times[200:] -= 50
    with pytest.raises(CtrError, match="time 150 at row 200 comes after 199"):
        surveying.survey(part)


def test_a_missing_checkpoint_says_so(log, tmp_path):
    with pytest.raises(CtrError, match="there is no run to go on with"):
        running.train(log, TINY, tmp_path, resume=True)


@pytest.mark.parametrize("when", [1, 2, 5])  # the file's own first event, and later ones
def test_tensorboard_without_room_is_a_sentence(log, tmp_path, monkeypatch, capfd, when):
    from tensorboard.summary.writer import record_writer

    write, written = record_writer.RecordWriter.write, []

    def full(self, record):
        written.append(record)
        if len(written) >= when:
            raise OSError(28, "No space left on device")
        write(self, record)

    monkeypatch.setattr(record_writer.RecordWriter, "write", full)
    hook = threading.excepthook
    with pytest.raises(GpukitError, match=r"cannot write .*tensorboard: No space left"):
        running.train(log, TINY, tmp_path)
    assert threading.excepthook is hook
    assert "Traceback" not in capfd.readouterr().err


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(log, straight, tmp_path, monkeypatch):
    with pytest.raises(looping.Stopped):
        running.train(log, TINY, tmp_path, stop=StopAfter(3))
    before = (tmp_path / checkpoints.NAME).read_bytes()
    real = torch.save

    def full(content, file):
        real(content, file)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises((GpukitError, OSError)):
        running.train(log, TINY, tmp_path, resume=True)
    assert (tmp_path / checkpoints.NAME).read_bytes() == before
    monkeypatch.setattr(torch, "save", real)
    running.train(log, TINY, tmp_path, resume=True)
    assert_same_run(straight[0], tmp_path)


# --- logs ------------------------------------------------------------------------------------------------------------


def test_the_looks_are_a_table_and_tensorboards_once_each_after_an_interruption_too(log, tmp_path):
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    result = stop_and_go_on(log, TINY, tmp_path, 8)
    with (tmp_path / "looks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [6, 12, 18, 24]
    assert [float(row["epoch"]) for row in rows] == [0.5, 1, 1.5, 2]
    for row, look in zip(rows, result.looks, strict=True):
        assert {name: float(value) for name, value in row.items()} == look
    events = accumulators.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    found = events.Scalars("validation_logloss")
    assert [event.step for event in found] == [6, 12, 18, 24]
    np.testing.assert_allclose([event.value for event in found], [look["validation_logloss"] for look in result.looks])


# --- devices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "words"), [("tpu", "no device 'tpu'"), ("meta", "cpu and cuda, not on 'meta'")])
def test_devices_that_are_none(name, words):
    with pytest.raises(CtrError, match=words):
        running.device_of(name)


def test_a_gpu_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(CtrError, match="sees no NVIDIA GPU: take --device cpu"):
        running.device_of("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(CtrError, match="no device 'cuda:2': this computer has 2 GPUs"):
        running.device_of("cuda:2")
    assert running.device_of("cuda:1") == torch.device("cuda:1")
