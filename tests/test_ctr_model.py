"""Lab 8's table, network and optimizers, each against its formula."""

import copy
import importlib

import numpy as np
import pytest

from gpukit import plugins

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

plugins.load("ctr")
schema_of = importlib.import_module("gpukit_labs.ctr.schema")
tables = importlib.import_module("gpukit_labs.ctr.model.table")
networks = importlib.import_module("gpukit_labs.ctr.model.network")
optimizers = importlib.import_module("gpukit_labs.ctr.model.optimizers")

SCHEMA = schema_of.Schema(
    (schema_of.Field("member", 7), schema_of.Field("ad", 3), schema_of.Field("hour", 4)), ("age", "price")
)


def some_ids(rows, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(
        np.stack([rng.integers(0, field.rows, rows) for field in SCHEMA.fields], 1).astype(np.int32)
    )


# --- table -----------------------------------------------------------------------------------------------------------


def test_a_row_of_each_field_is_gathered_in_the_order_of_the_fields():
    table = tables.Table(SCHEMA, 2)
    with torch.no_grad():
        table.weight.copy_(torch.arange(28.0).reshape(14, 2))
    assert table(torch.tensor([[0, 0, 0], [6, 2, 3]], dtype=torch.int32)).tolist() == [
        [0, 1, 14, 15, 20, 21],
        [12, 13, 18, 19, 26, 27],
    ]


@pytest.mark.parametrize("dim", [1, 4, 256])
def test_embeddings_begin_with_the_same_length_whatever_their_dimension(dim):
    torch.manual_seed(0)
    schema = schema_of.Schema((schema_of.Field("member", 2000),))
    lengths = tables.Table(schema, dim).weight.detach().square().sum(1)
    assert float(lengths.mean().sqrt()) == pytest.approx(tables.LENGTH, rel=0.1)


def test_gradients_hold_the_rows_that_were_read_and_no_others():
    table = tables.Table(SCHEMA, 2)
    table(torch.tensor([[1, 2, 0], [1, 0, 0]])).sum().backward()
    gradient = table.weight.grad
    assert gradient.is_sparse
    gradient = gradient.coalesce()
    assert gradient.indices().tolist() == [[1, 7, 9, 10]]
    assert gradient.values()[:, 0].tolist() == [2, 1, 1, 2]


def test_about_one_id_in_a_hundred_is_hidden():
    ids = torch.full((20_000, 3), 2)
    draws = torch.rand(ids.shape, generator=torch.Generator().manual_seed(3))
    hidden = tables.with_unknown(ids, draws, 0.01)
    share = (hidden == schema_of.UNKNOWN).float().mean(0)
    assert torch.all((share > 0.007) & (share < 0.013)), share
    assert torch.all((hidden == 2) | (hidden == 0))
    assert torch.all(ids == 2), "the ids themselves stay"
    assert torch.equal(tables.with_unknown(ids, draws, 0.0), ids)


# --- network ---------------------------------------------------------------------------------------------------------


def test_logits_are_one_number_a_row_and_no_probability():
    torch.manual_seed(1)
    network = networks.Network(SCHEMA, 4, (8, 5))
    ids, dense = some_ids(50), torch.randn(50, 2) * 100
    logits = network(ids, dense)
    assert logits.shape == (50,)
    assert float(logits.detach().min()) < 0 < 1 < float(logits.detach().max())
    assert network(ids[:1], dense[:1]).shape == (1,)
    assert network(ids[:0], dense[:0]).shape == (0,)


def test_a_network_is_its_formula():
    torch.manual_seed(2)
    network = networks.Network(SCHEMA, 3, (4,))
    network.standardise(np.array([10.0, 5.0]), np.array([2.0, 0.0]))
    ids, dense = some_ids(20), torch.randn(20, 2) * 3 + 10
    first, last = network.mlp[0], network.mlp[-1]
    rows = [network.table.weight[ids[:, f].long() + int(SCHEMA.offsets[f])] for f in range(3)]
    x = torch.cat([*rows, (dense[:, :1] - 10) / 2, dense[:, 1:] - 5], 1)
    want = torch.relu(x @ first.weight.T + first.bias) @ last.weight[0] + last.bias
    torch.testing.assert_close(network(ids, dense), want)


def test_an_untrained_network_predicts_about_the_rate_it_starts_at():
    torch.manual_seed(3)
    network = networks.Network(SCHEMA, 4, (16,))
    network.start_at(0.05)
    p = torch.sigmoid(network(some_ids(500), torch.randn(500, 2)))
    assert 0.03 < float(p.detach().mean()) < 0.08


def test_a_schema_without_numbers_makes_a_network():
    schema = schema_of.Schema(SCHEMA.fields)
    assert networks.Network(schema, 2, ())(some_ids(4), torch.empty(4, 0)).shape == (4,)


def test_dense_parameters_and_the_table_are_all_there_is():
    network = networks.Network(SCHEMA, 2, (3,))
    ours = {id(p) for p in [network.table.weight, *network.dense_parameters()]}
    assert ours == {id(p) for p in network.parameters()}


# --- optimizers ------------------------------------------------------------------------------------------------------


def rowwise_adagrad(weight, state, rows, gradients, lr, eps):
    """The formula, an id at a time, in float64."""
    weight, state = weight.astype(np.float64), state.astype(np.float64)
    for row in sorted(set(rows.tolist())):
        g = gradients[rows == row].astype(np.float64).sum(0)
        state[row] += (g * g).mean()
        weight[row] -= lr * g / (np.sqrt(state[row]) + eps)
    return weight, state


@pytest.mark.parametrize("sparse", [True, False])
def test_rowwise_adagrad_is_its_formula(sparse):
    rng = np.random.default_rng(5)
    start = rng.standard_normal((9, 4), np.float32)
    weight = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = optimizers.RowwiseAdagrad([weight], lr=0.1, eps=1e-8)
    want, state = start, np.zeros(9)
    for _ in range(5):
        rows = rng.integers(0, 7, 12)  # some repeat, and 7 and 8 never come
        gradients = rng.standard_normal((12, 4), np.float32)
        gradient = torch.sparse_coo_tensor(
            torch.from_numpy(rows)[None], torch.from_numpy(gradients), (9, 4), check_invariants=True
        )
        weight.grad = gradient if sparse else gradient.to_dense()
        optimizer.step()
        want, state = rowwise_adagrad(want, state, rows, gradients, 0.1, 1e-8)
    np.testing.assert_allclose(weight.detach().numpy(), want, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(optimizer.state[weight]["sum"].numpy(), state, rtol=1e-5)
    assert np.array_equal(weight.detach().numpy()[7:], start[7:]), "rows that were not read do not move"


def test_repeated_ids_add_up_before_they_are_squared():
    weight = torch.nn.Parameter(torch.zeros(2, 1))
    optimizer = optimizers.RowwiseAdagrad([weight], lr=1.0)
    weight.grad = torch.sparse_coo_tensor([[1, 1]], [[3.0], [1.0]], (2, 1), check_invariants=True)
    optimizer.step()
    assert optimizer.state[weight]["sum"].tolist() == [0, 16]
    assert weight.detach().flatten().tolist() == [0, -1]


def test_a_saved_optimizer_goes_on_as_if_nothing_had_been():
    torch.manual_seed(0)
    one, other = (torch.nn.Parameter(torch.ones(3, 2)) for _ in range(2))
    first = optimizers.RowwiseAdagrad([one])
    gradients = [torch.randn(3, 2) for _ in range(4)]
    for gradient in gradients[:2]:
        one.grad = gradient
        first.step()
    second = optimizers.RowwiseAdagrad([other])
    with torch.no_grad():
        other.copy_(one)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for gradient in gradients[2:]:
        one.grad = other.grad = gradient
        first.step()
        second.step()
    assert torch.equal(one, other)
