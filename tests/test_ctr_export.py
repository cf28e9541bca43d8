"""A network for inference: the same probabilities as where it was trained, or a refusal."""

import importlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpukit import plugins
from gpukit.errors import GpukitError

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

plugins.load("ctr")
exporting = importlib.import_module("gpukit_labs.ctr.export")
networks = importlib.import_module("gpukit_labs.ctr.model.network")
schemas = importlib.import_module("gpukit_labs.ctr.schema")
CtrError = importlib.import_module("gpukit_labs.ctr.errors").CtrError

SCHEMA = schemas.Schema((schemas.Field("member", 30), schemas.Field("ad", 7)), ("age", "price"))


def new_network(seed=0):
    torch.manual_seed(seed)
    network = networks.Network(SCHEMA, 4, (8,), dropout=0.5)
    with torch.no_grad():
        network.table.weight.mul_(20)
    network.standardise(np.array([30.0, 2.0]), np.array([5.0, 0.1]))
    network.recalibrate(0.5)
    return network


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(network, what was exported of it, the file)."""
    path = tmp_path_factory.mktemp("export") / "model.pt2"
    network = new_network()
    return network, exporting.export(network, path), path


def test_an_exported_network_gives_its_probabilities_for_any_number_of_rows(made):
    network, exported, _ = made
    rng = np.random.default_rng(1)
    for rows in (1, 3, 500):
        ids = np.stack([rng.integers(0, 30, rows), rng.integers(0, 7, rows)], 1)
        dense = rng.standard_normal((rows, 2)) * [5, 0.1] + [30, 2]
        with torch.no_grad():
            logits = network.eval()(torch.from_numpy(ids), torch.from_numpy(dense.astype(np.float32)))
        p = exported(ids, dense)
        assert (p.shape, p.dtype) == ((rows,), np.float32)
        np.testing.assert_allclose(p, torch.sigmoid(logits).numpy(), atol=1e-6)


def test_a_program_needs_nothing_of_ours(made):
    program = torch.export.load(made[2]).module()
    p = program(torch.zeros(4, 2, dtype=torch.int32), torch.zeros(4, 2))
    assert p.shape == (4,)
    torch.testing.assert_close(p, p[:1].expand(4))


def test_the_file_keeps_the_schema(made):
    assert exporting.load_exported(made[2]).schema == SCHEMA


def test_rows_that_the_schema_does_not_allow(made):
    dense = np.zeros((1, 2))
    with pytest.raises(CtrError, match="id 7 of field 'ad' at row 0 is outside 0 to 6"):
        made[1](np.array([[0, 7]]), dense)
    with pytest.raises(CtrError, match="row 0 of 'price' is nan"):
        made[1](np.array([[0, 0]]), np.array([[0, np.nan]]))


@pytest.mark.parametrize("part", ["table.weight", "mlp.0.bias", "shift", "mean"])
def test_parity_sees_a_weight_that_differs(made, part):
    other = new_network().eval()
    with torch.no_grad():
        other.state_dict()[part].add_(0.01)
    with pytest.raises(CtrError, match=r"the exported network differs: 0\.\d+ where the network says 0\.\d+, for ids"):
        exporting.check_parity(other, made[1])


def test_parity_sees_the_row_of_unknown_ids(made):
    other = new_network().eval()
    with torch.no_grad():
        other.table.weight[30] += 1  # id 0 of the second field
    with pytest.raises(CtrError, match=r"for ids \[\d+, 0\]"):
        exporting.check_parity(other, made[1])


def test_parity_sees_nan_and_another_schema(made):
    other = new_network().eval()
    with torch.no_grad():
        other.shift.fill_(float("nan"))
    with pytest.raises(CtrError, match="where the network says nan"):
        exporting.check_parity(other, made[1])
    schema = schemas.Schema((schemas.Field("member", 30), schemas.Field("ads", 7)), ("age", "price"))
    with pytest.raises(CtrError, match="another schema"):
        exporting.check_parity(networks.Network(schema, 4, (8,)), made[1])


def test_a_file_without_room_leaves_what_was_there(made, tmp_path, monkeypatch):
    """PyTorch's own writer of files would end the process."""
    path = tmp_path / "model.pt2"
    path.write_bytes(b"what was there")

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(GpukitError, match=r"cannot write .*model.pt2: No space left"):
        exporting.export(made[0], path)
    assert path.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [path]


def test_a_program_that_differs_is_not_written(made, tmp_path, monkeypatch):
    path = tmp_path / "model.pt2"
    path.write_bytes(b"what was there")
    monkeypatch.setattr(exporting, "_loaded", lambda source, path: made[1])
    with pytest.raises(CtrError, match="differs"):
        exporting.export(new_network(seed=1), path)
    assert path.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0, 0.2, 0.9, 0.999])
def test_a_file_that_was_cut_short(made, tmp_path, share, capfd):
    whole = made[2].read_bytes()
    (tmp_path / "model.pt2").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(CtrError, match="is no exported network, or was cut short"):
        exporting.load_exported(tmp_path / "model.pt2")
    assert "Traceback" not in capfd.readouterr().err


def test_a_file_with_another_byte(made, tmp_path):
    whole = bytearray(made[2].read_bytes())
    with zipfile.ZipFile(made[2]) as archive:
        largest = max(archive.infolist(), key=lambda one: one.compress_size)
    whole[largest.header_offset + 200 + largest.compress_size // 2] ^= 1
    (tmp_path / "model.pt2").write_bytes(whole)
    with pytest.raises(CtrError, match=r"was changed at its part|is no exported network"):
        exporting.load_exported(tmp_path / "model.pt2")


def test_files_that_are_no_export(tmp_path):
    with pytest.raises(CtrError, match="there is no file"):
        exporting.load_exported(tmp_path / "model.pt2")
    with zipfile.ZipFile(tmp_path / "other.pt2", "w") as archive:
        archive.writestr("schema.json", json.dumps(SCHEMA.to_dict()))
    with pytest.raises(CtrError, match="is no exported network"):
        exporting.load_exported(tmp_path / "other.pt2")
