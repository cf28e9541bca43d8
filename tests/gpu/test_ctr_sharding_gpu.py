"""The sharded step on GPUs, through NCCL: skipped without two of them."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if torch.cuda.device_count() < 2:
    pytest.skip("needs two GPUs", allow_module_level=True)

from gpukit import plugins  # noqa: E402

ROOT = Path(__file__).parents[2]
SHARDING = "labs/08_ctr/ctr/sharding"
PATIENCE = 300  # seconds
plugins.load("ctr")


def torchrun(count, *command):
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    ran = subprocess.run([*start, *command], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    schema_, storage = (importlib.import_module(f"gpukit_labs.ctr.{name}") for name in ("schema", "storage.log"))
    fields = (schema_.Field("a", 63), schema_.Field("few", 3), schema_.Field("b", 41))
    schema = schema_.Schema(fields, ("x", "y"))
    random = np.random.default_rng(0)
    ids = np.stack([random.integers(0, field.rows, 803) for field in fields], 1).astype(np.int32)
    with storage.LogWriter(tmp_path_factory.mktemp("log") / "log", schema) as writer:
        dense = random.normal(size=(803, 2)).astype(np.float32)
        writer.append(ids, dense, (ids[:, 0] % 3 == 0).astype(np.uint8), np.arange(803))
        return writer.finish({})


def test_two_gpus_learn_what_two_cpus_do(log, tmp_path):
    found = {}
    for device in ("cpu", "cuda"):
        folder = tmp_path / device
        folder.mkdir()
        torchrun(2, "tests/ctr_sharding_run.py", "all", str(log.folder), str(folder), device)
        with np.load(folder / "of_2.npz") as read:
            found[device] = dict(read)
    for how in ("exact", "sorted", "small", "fixed"):
        for what in ("curve", "table"):
            name = f"{how}_{what}"
            np.testing.assert_allclose(found["cuda"][name], found["cpu"][name], rtol=0, atol=1e-3, err_msg=name)


def test_it_is_measured(tmp_path):
    records = []
    for count in (1, 2):
        out = tmp_path / f"{count}.json"
        sizes = ("--batch", "4096", "--shrink", "100", "--seconds", "0.05")
        torchrun(count, SHARDING, "measure", "--out", str(out), *sizes)
        records.append(json.loads(out.read_text()))
    for record in records:
        # Whether a GPU's driver records the step as a graph is its own affair; the error then says so.
        errors = {(found["mode"], found.get("error")) for found in record["settings"] if found["mode"] != "graph"}
        assert errors == {("eager", None), ("fixed", None)}
    measure = importlib.import_module("gpukit_labs.ctr.sharding.measure")
    assert len(measure.scaling(*records)) >= 8
