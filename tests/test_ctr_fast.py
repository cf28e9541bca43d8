"""The training step switch by switch, on the CPU: what switches are refused, what is learned, what is read."""

import copy
import importlib
import itertools

import numpy as np
import pytest

from gpukit import plugins
from gpukit.compilers import toolkit

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

plugins.load("ctr")
schema_of = importlib.import_module("gpukit_labs.ctr.schema")
logs = importlib.import_module("gpukit_labs.ctr.storage.log")
networks = importlib.import_module("gpukit_labs.ctr.model.network")
eager = importlib.import_module("gpukit_labs.ctr.fast.eager")
kernel_step = importlib.import_module("gpukit_labs.ctr.fast.kernel_step")
loaders = importlib.import_module("gpukit_labs.ctr.fast.loaders")
making = importlib.import_module("gpukit_labs.ctr.fast.making")
operations = importlib.import_module("gpukit_labs.ctr.fast.operations")
residents = importlib.import_module("gpukit_labs.ctr.fast.resident")
switches_of = importlib.import_module("gpukit_labs.ctr.fast.switches")
CtrError = importlib.import_module("gpukit_labs.ctr.errors").CtrError
Switches = switches_of.Switches

CPU = torch.device("cpu")
SCHEMA = schema_of.Schema(
    (schema_of.Field("member", 50), schema_of.Field("ad", 7), schema_of.Field("country", 3)), ("age", "price", "hour")
)
ROWS, BATCH = 700, 64
NO_COMPILER = toolkit.why_no_nvrtc()


def part(rows=ROWS, seed=0):
    """Impressions whose clicks depend on ids and numbers; the first number of each is its place."""
    rng = np.random.default_rng(seed)
    ids = np.stack([rng.integers(0, field.rows, rows) for field in SCHEMA.fields], 1).astype(np.int32)
    dense = rng.standard_normal((rows, 3)).astype(np.float32)
    dense[:, 0] = np.arange(rows)
    labels = (rng.random(rows) < 1 / (1 + np.exp(-dense[:, 1] - ids[:, 1] + 3))).astype(np.uint8)
    return logs.Part(SCHEMA, ids, dense, labels, np.arange(rows))


def network(dim=8, seed=1):
    torch.manual_seed(seed)
    made = networks.Network(SCHEMA, dim, (16, 8))
    rows = part()
    made.standardise(rows.dense.mean(0), rows.dense.std(0))
    return made


def step_of(switches, start=None, by=None, rows=ROWS):
    start = start or network()
    return making.make(switches, start, part(rows), residents.resident(part(rows), start, CPU), seed=3, by=by)


def named(name, batch=BATCH):
    return next(rung.switches for rung in switches_of.ladder(batch, 4 * batch) if rung.name == name)


def weights(step):
    return [parameter.detach().clone() for parameter in step.network().parameters()]


def trained(switches, steps, by=None):
    step = step_of(switches, by=by)
    losses = []
    for _ in range(steps):
        before = float(step.loss_sum)
        step()
        losses.append(float(step.loss_sum) - before)
    return losses, weights(step)


def differences(one, other):
    """The largest of losses and of weights."""
    losses = np.abs(np.subtract(one[0], other[0])).max()
    return losses, max(float((a - b).abs().max()) for a, b in zip(one[1], other[1], strict=True))


# --- switches and their ladder ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"loader": "tape"}, "the switch loader is 'tape': it can be rows, batches, prefetch, resident"),
        ({"table": "none"}, "the switch table is 'none': it can be fields, one"),
        ({"optimizer": "sgd"}, "the switch optimizer is 'sgd': it can be dense, fused, rowwise, kernels"),
        ({"precision": "float16"}, "the switch precision is 'float16': it can be float32, bfloat16"),
        ({"batch": 0}, "a batch of 0 impressions is none"),
        ({"optimizer": "kernels", "table": "one"}, "our own kernels need resident data and one table"),
        ({"optimizer": "kernels", "loader": "resident"}, "our own kernels need resident data and one table"),
        ({"precision": "bfloat16"}, "bfloat16, torch.compile and CUDA graphs stand on our own kernels"),
        ({"compiled": True}, "bfloat16, torch.compile and CUDA graphs stand on our own kernels"),
        ({"graph": True, "read_loss": False}, "bfloat16, torch.compile and CUDA graphs stand on our own kernels"),
        (
            {"optimizer": "kernels", "loader": "resident", "table": "one", "graph": True},
            "a CUDA graph holds no read of the loss",
        ),
    ],
)
def test_switches_that_do_not_go_together_are_refused(wrong, sentence):
    with pytest.raises(CtrError) as caught:
        Switches(**wrong)
    assert str(caught.value).startswith(sentence)


def test_every_rung_turns_one_switch():
    rungs = switches_of.ladder(8_192, 65_536)
    assert rungs[0].switches == Switches(batch=8_192)
    for before, after in itertools.pairwise(rungs):
        old, new = before.switches.to_dict(), after.switches.to_dict()
        assert len([name for name in old if old[name] != new[name]]) == 1, after.name
    assert [rung.switches.batch for rung in rungs] == [8_192] * (len(rungs) - 1) + [65_536]
    assert len({rung.name for rung in rungs}) == len(rungs)
    assert all(rung.change and rung.why for rung in rungs)


def test_every_value_of_every_switch_is_on_the_ladder():
    seen = [rung.switches.to_dict() for rung in switches_of.ladder(8, 16)]
    for name, known in (
        ("loader", switches_of.LOADERS),
        ("table", switches_of.TABLES),
        ("optimizer", switches_of.OPTIMIZERS),
        ("precision", switches_of.PRECISIONS),
    ):
        assert {switches[name] for switches in seen} == set(known)


# --- the same is learned ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rung", ["no_reads", "one_table", "fused"])
def test_dense_rungs_learn_the_same_by_another_way(rung):
    loss, weight = differences(trained(named(rung), 25), trained(named("resident"), 25))
    assert loss < 1e-6 and weight < 1e-5


def test_the_kernels_step_learns_what_the_eager_one_does():
    """Over more than two epochs, in orders of their own, and to within rounding."""
    loss, weight = differences(trained(named("kernels"), 25), trained(named("rowwise"), 25))
    assert loss < 1e-6 and weight < 1e-5


def test_a_wrong_update_is_seen():
    class Unsorted(operations.TorchOperations):
        def update(self, keys, order, gradient, table, state, rate, eps):
            super().update(keys, torch.arange(len(order)), gradient, table, state, rate, eps)

    expected = trained(named("kernels"), 25)
    assert differences(trained(named("kernels"), 25, by=operations.TorchOperations()), expected) == (0, 0)
    assert differences(trained(named("kernels"), 25, by=Unsorted()), expected)[1] > 1e-2


@pytest.mark.skipif(bool(NO_COMPILER), reason=str(NO_COMPILER))
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_our_kernels_make_the_same_step_as_pytorch_does(precision):
    """On the CPU machine, launched with the arguments that a GPU gets."""
    switches = Switches(BATCH, "resident", False, "one", "kernels", precision)
    loss, weight = differences(trained(switches, 3, by=operations.MachineOperations(8)), trained(switches, 3))
    assert loss < 1e-6 and weight < 1e-6


@pytest.mark.parametrize("dim", [4, 6, 24, 256])
def test_rows_that_the_kernels_do_not_have_are_refused(dim):
    with pytest.raises(CtrError, match=f"our kernels take rows of 8, 16, 32, 64, 128 numbers, not of {dim}"):
        operations.KernelOperations(dim)


def test_a_batch_of_more_threads_than_a_launch_has_is_refused():
    with pytest.raises(CtrError, match="needs 2,147,483,648 threads is too large for one launch: use a smaller batch"):
        operations.KernelOperations(8)._launch("batch<float>", 2**31)


def test_in_bfloat16_nearly_the_same_is_learned_and_weights_stay_float32():
    losses, learned = trained(named("bfloat16"), 25)
    expected, _ = trained(named("kernels"), 25)
    assert 0 < np.abs(np.subtract(losses, expected)).max() < 0.01
    assert {weight.dtype for weight in learned} == {torch.float32}


@pytest.mark.parametrize("rung", ["resident", "rowwise", "kernels"])
def test_a_step_learns_and_leaves_the_network_it_began_with_alone(rung):
    start = network()
    before = copy.deepcopy(start.state_dict())
    step = step_of(named(rung), start)
    losses = []
    for _ in range(60):
        before_step = float(step.loss_sum)
        step()
        losses.append(float(step.loss_sum) - before_step)
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.02
    assert all(torch.equal(before[name], value) for name, value in start.state_dict().items())


def test_the_learned_network_is_one_of_the_usual_kind():
    """What the padded, resident step has learned predicts the same through `Network.forward`."""
    step = step_of(named("kernels"))
    for _ in range(5):
        step()
    learned, rows = step.network(), part()
    with torch.no_grad():
        logits = learned(torch.tensor(rows.ids), torch.tensor(rows.dense))
        data = residents.resident(rows, learned, CPU)
        x = torch.zeros(ROWS, step.x.shape[1])
        y, keys = torch.empty(ROWS), torch.empty(ROWS, 3, dtype=torch.int32)
        operations.TorchOperations().batch(data, step.table, torch.zeros(1, dtype=torch.int64), x, y, keys)
        assert torch.allclose(step.mlp(x), logits, atol=1e-5)


def test_a_network_with_dropout_has_no_fast_step():
    start = networks.Network(SCHEMA, 8, (16, 8), dropout=0.1)
    with pytest.raises(CtrError, match="without dropout"):
        step_of(named("kernels"), start)


# --- what is read ----------------------------------------------------------------------------------------------------


class Watched(operations.TorchOperations):
    """Notes the numbers of every batch it makes, the first of which are places."""

    def __init__(self):
        self.seen = []

    def batch(self, data, table, first, x, y, keys):
        super().batch(data, table, first, x, y, keys)
        self.seen.append(data.dense[int(first) : int(first) + len(y), 0].clone())


def test_an_epoch_reads_whole_batches_without_repeats_and_the_next_in_another_order():
    watched = Watched()
    step = step_of(named("kernels"), by=watched)
    per_epoch = ROWS // BATCH
    for _ in range(2 * per_epoch):
        step()
    first, second = (torch.cat(watched.seen[k * per_epoch : (k + 1) * per_epoch]) for k in (0, 1))
    assert len(first) == len(first.unique()) == len(second.unique()) == per_epoch * BATCH
    assert not torch.equal(first, second)


def test_resident_data_are_places_standardised_numbers_and_labels():
    start, rows = network(), part()
    data = residents.resident(rows, start, CPU)
    assert torch.equal(data.rows, torch.tensor(rows.ids + SCHEMA.offsets).int())
    assert np.allclose(data.dense.mean(0), 0, atol=1e-4) and np.allclose(data.dense.std(0), 1, atol=1e-2)
    assert data.labels.tolist() == rows.labels.tolist()
    assert data.size == ROWS and data.batches(BATCH) == ROWS // BATCH


@pytest.mark.parametrize(("kind", "workers"), [("rows", 0), ("batches", 0), ("batches", 2)])
def test_loaders_give_whole_batches_without_repeats(kind, workers):
    torch.manual_seed(0)
    rows = part()
    for _ in range(2):
        batches = list(loaders.loader(kind, loaders.on_host(rows), BATCH, workers))
        assert [len(labels) for _, _, labels in batches] == [BATCH] * (ROWS // BATCH)
        ids, dense, labels = (torch.cat(parts) for parts in zip(*batches, strict=True))
        places = dense[:, 0].int()
        assert len(places.unique()) == len(places) and not torch.equal(places, places.sort().values)
        assert torch.equal(ids, torch.tensor(rows.ids)[places])
        assert torch.equal(labels, torch.tensor(rows.labels)[places].float())


def test_host_batches_become_what_resident_ones_are():
    start, rows = network(), part()
    data = residents.resident(rows, start, CPU)
    found = next(eager.from_host(loaders.copied(iter([loaders.on_host(rows).tensors]), CPU), start, CPU))
    assert torch.equal(found[0], data.rows) and torch.allclose(found[1], data.dense, atol=1e-6)


@pytest.mark.parametrize("rung", ["rows", "batches", "resident", "rowwise", "kernels"])
def test_fewer_impressions_than_a_batch_are_refused_and_nothing_hangs(rung):
    with pytest.raises(CtrError, match="63 impressions hold no batch of 64: use a smaller batch"):
        step_of(named(rung), rows=63)


def test_every_rung_that_needs_no_gpu_makes_a_step():
    for rung in switches_of.ladder(BATCH, 2 * BATCH):
        switches = rung.switches
        if switches.compiled or switches.graph or switches.loader == "prefetch":
            continue
        step = step_of(switches)
        step()
        assert 0 < float(step.loss_sum) < 2, rung.name
