"""Lab 8's kernels and training step on a real GPU: against PyTorch, twice the same, and captured. Skipped, with the
reason, where there is none."""

import functools
import importlib

import numpy as np
import pytest

from gpukit import gpu, plugins

torch = pytest.importorskip("torch")

plugins.load("ctr")
schema_of = importlib.import_module("gpukit_labs.ctr.schema")
logs = importlib.import_module("gpukit_labs.ctr.storage.log")
networks = importlib.import_module("gpukit_labs.ctr.model.network")
making = importlib.import_module("gpukit_labs.ctr.fast.making")
operations = importlib.import_module("gpukit_labs.ctr.fast.operations")
residents = importlib.import_module("gpukit_labs.ctr.fast.resident")
switches_of = importlib.import_module("gpukit_labs.ctr.fast.switches")

WHY_NOT = gpu.missing() or ("" if torch.cuda.is_available() else "PyTorch sees no GPU")
pytestmark = [
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "there is a GPU"),
    pytest.mark.filterwarnings("default"),  # of CuPy and PyTorch, which are not ours
]
GPU = torch.device("cuda")
FIELDS = (5_000, 300, 7)
SCHEMA = schema_of.Schema(
    tuple(schema_of.Field(f"field{k}", rows) for k, rows in enumerate(FIELDS)), ("age", "price", "hour")
)
DIM = 32
CAPTURED = 3_073  # indices: one more than the backward pass of nn.Embedding can be captured with


@functools.cache
def ours(dim):
    """Our kernels for rows of so many numbers, compiled once."""
    return operations.CudaOperations(GPU, dim)


def part(rows=40_000, seed=0):
    rng = np.random.default_rng(seed)
    ids = np.stack([np.minimum(rng.zipf(1.2, rows), n - 1) for n in FIELDS], 1).astype(np.int32)
    dense = rng.standard_normal((rows, 3)).astype(np.float32)
    labels = (rng.random(rows) < 1 / (1 + np.exp(1 - dense[:, 1]))).astype(np.uint8)
    return logs.Part(SCHEMA, ids, dense, labels, np.arange(rows))


def network(dim=DIM):
    torch.manual_seed(1)
    return networks.Network(SCHEMA, dim, (64, 32))


def trained(steps, batch=1_024, rows=40_000, by=None, **switches):
    """(sum of losses, all weights in one vector) after some steps from the same network."""
    start = network()
    chosen = switches_of.Switches(
        **{"batch": batch, "loader": "resident", "read_loss": False, "table": "one", **switches}
    )
    step = making.make(chosen, start, part(rows), residents.resident(part(rows), start, GPU), seed=3, by=by)
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    weights = torch.cat([parameter.detach().flatten() for parameter in step.network().parameters()]).clone()
    return float(step.loss_sum), weights


@pytest.mark.parametrize("dim", [4 * lanes for lanes in operations.LANES])
@pytest.mark.parametrize("x_type", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("n", [1, 31, 33, 1_025])
def test_a_batch_is_the_same_bits_as_pytorchs(n, x_type, dim):
    start = network(dim).to(GPU)
    data = residents.resident(part(2_000), start, GPU)
    width = 3 * dim + 16
    found = []
    for by in (ours(dim), operations.TorchOperations()):
        x = torch.full((n, width), torch.nan, dtype=x_type, device=GPU)
        y, keys = torch.full((n,), torch.nan, device=GPU), torch.full((n, 3), -1, dtype=torch.int32, device=GPU)
        by.batch(data, start.table.weight.detach(), torch.tensor([7], device=GPU), x, y, keys)
        found.append((x, y, keys))
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(*found, strict=True))


def update(by, ids, dim, x_type, rows=5_000):
    """(table, state) after one update of (n, 3) ids."""
    generator = torch.Generator(GPU).manual_seed(5)
    n = len(ids)
    gradient = torch.randn(n, 3 * dim + 16, generator=generator, device=GPU).to(x_type)
    table = torch.randn(rows, dim, generator=generator, device=GPU)
    state = torch.rand(rows, generator=generator, device=GPU)
    keys, order = torch.sort(ids.flatten(), stable=True)
    by.update(keys, order, gradient, table, state, 0.02, 1e-8)
    return table, state


KINDS = {
    "random": lambda n: torch.randint(0, 5_000, (n, 3), device=GPU, dtype=torch.int32),
    "one row": lambda n: torch.full((n, 3), 4_999, device=GPU, dtype=torch.int32),
    "few rows": lambda n: torch.randint(0, 3, (n, 3), device=GPU, dtype=torch.int32),
}


@pytest.mark.parametrize("dim", [4 * lanes for lanes in operations.LANES])
@pytest.mark.parametrize("x_type", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 11, 1_025, 40_000])
def test_an_update_is_pytorchs_to_within_rounding_and_twice_the_same(n, kind, x_type, dim):
    ids = KINDS[kind](n)
    found, again = (update(ours(dim), ids, dim, x_type) for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))
    for one, other in zip(found, update(operations.TorchOperations(), ids, dim, x_type), strict=True):
        # Sums of 120,000 gradients in another order.
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-4)


def test_rows_of_single_ids_are_stepped_to_the_last_bit_but_one():
    """No sums, so that nothing but the mean of squares can be rounded otherwise."""
    ids = torch.randperm(4_500, device=GPU, dtype=torch.int32).reshape(1_500, 3)
    found = update(ours(DIM), ids, DIM, torch.float32)
    for one, other in zip(found, update(operations.TorchOperations(), ids, DIM, torch.float32), strict=True):
        assert torch.allclose(one, other, rtol=1e-6, atol=1e-7)


def test_a_place_past_32_bits():
    """A table of 2^26 + 8 rows of 32 numbers, 8.6 GB."""
    rows = 2**26 + 8
    if torch.cuda.mem_get_info()[0] < 10 * 2**30:
        pytest.skip("this GPU has no 10 GB left")
    table, state = torch.zeros(rows, DIM, device=GPU), torch.zeros(rows, device=GPU)
    ids = torch.tensor([[0, rows - 1, rows - 1]], dtype=torch.int32, device=GPU)
    keys, order = torch.sort(ids.flatten(), stable=True)
    gradient = torch.ones(1, 3 * DIM, device=GPU)
    ours(DIM).update(keys, order, gradient, table, state, 0.5, 0.0)
    assert table[rows - 1].tolist() == [-0.5] * DIM and state[rows - 1] == 4.0
    assert table[0].tolist() == [-0.5] * DIM and not table[1].any() and not table[rows - 2].any()


def test_our_step_learns_what_the_eager_one_does():
    losses, weights = trained(60, optimizer="kernels")
    expected_losses, expected = trained(60, optimizer="rowwise")
    assert losses == pytest.approx(expected_losses, rel=1e-5)
    assert float((weights - expected).abs().max()) < 1e-3


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_training_leaves_the_same_bits_twice(precision):
    (one, weights), (two, again) = (trained(60, optimizer="kernels", precision=precision) for _ in range(2))
    assert one == two and torch.equal(weights, again)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_graph_is_the_same_step(precision):
    """Over several epochs: the order of a new one is read from where the old one lay."""
    plain, graph = (trained(100, optimizer="kernels", precision=precision, graph=on) for on in (False, True))
    assert plain[0] == graph[0] and torch.equal(plain[1], graph[1])


def test_a_step_of_more_indices_than_embeddings_backward_captures():
    batch = -(-CAPTURED // 3)
    plain, graph = (trained(40, batch=batch, optimizer="kernels", graph=on) for on in (False, True))
    assert plain[0] == graph[0] and torch.equal(plain[1], graph[1])


def test_compiled_and_captured_nearly_the_same_is_learned():
    losses, _ = trained(60, optimizer="kernels", precision="bfloat16", compiled=True, graph=True)
    expected, _ = trained(60, optimizer="rowwise")
    assert losses == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("loader", ["rows", "batches", "prefetch"])
def test_loaders_of_the_host_train(loader):
    losses, _ = trained(20, rows=8_000, loader=loader, optimizer="rowwise")
    assert 0 < losses / 20 < 1


def test_a_step_waits_for_nothing():
    """No operation of it makes the host wait for the GPU: PyTorch would say so."""
    start = network()
    switches = switches_of.Switches(1_024, "resident", False, "one", "kernels")
    step = making.make(switches, start, part(), residents.resident(part(), start, GPU), seed=3)
    for _ in range(3):
        step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(10):
            step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
