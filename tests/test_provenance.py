"""What stands beside a result: versions, commit, and a GPU's facts, from a scripted CUDA and a scripted nvidia-smi."""

import json
import re
import subprocess
import sys
import types
from datetime import date
from importlib import metadata
from types import SimpleNamespace

import pytest

from gpukit import provenance
from gpukit.bench import machine

GPU = SimpleNamespace(name="gpu")
SMI = "NVIDIA H200, 9.0, 580.159.04, 143771, 345, 1980, 3201, 3201\n"


def runtime(unknown=(), **changes):
    attributes = {16: 132, 38: 62914560, 37: 6016, 36: 3201000, 13: 1980000} | changes.pop("attributes", {})
    properties = {"name": b"NVIDIA H200", "major": 9, "minor": 0, "totalGlobalMem": 150_754_820_096}

    def attribute(number, device):
        if number in unknown:
            raise RuntimeError("cudaErrorInvalidValue")
        return attributes[number]

    return SimpleNamespace(
        getDeviceProperties=lambda device: properties,
        deviceGetAttribute=attribute,
        driverGetVersion=lambda: 13000,
        runtimeGetVersion=lambda: 12090,
    )


@pytest.fixture
def cuda(monkeypatch):
    """install(runtime) makes `import cupy` find a module with that runtime."""

    def install(made):
        cupy = types.ModuleType("cupy")
        cupy.cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=0, pci_bus_id="0000:1B:00.0"), runtime=made)
        monkeypatch.setitem(sys.modules, "cupy", cupy)

    return install


@pytest.fixture
def smi(monkeypatch):
    """install(text) scripts nvidia-smi, and returns the list of the commands that it was given."""

    def install(text):
        asked = []

        def run(command):
            if command[0] != "nvidia-smi":
                return None
            asked.append(command)
            return text

        monkeypatch.setattr(provenance, "run_program", run)
        return asked

    return install


def test_on_a_cpu():
    result = provenance.provenance("gpukit bench reduction")
    assert result["command"] == "gpukit bench reduction"
    assert date.fromisoformat(result["date"]) <= date.today()
    assert result["numpy"] == metadata.version("numpy")
    assert result["cores"] >= 1 and result["cpu"] and result["system"]
    assert result["python"] == ".".join(map(str, sys.version_info[:3]))
    assert not {"gpu", "sms", "driver"} & set(result)
    assert "not installed" not in result.values()
    assert json.loads(json.dumps(result)) == result


def test_the_benchmark_of_the_machine_uses_it():
    assert machine.provenance is provenance.provenance


def test_the_commit_and_whether_it_is_changed(monkeypatch, tmp_path):
    def git(*arguments):
        done = subprocess.run(["git", "-C", tmp_path, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "a")
    monkeypatch.setattr(provenance, "CHECKOUT", tmp_path.resolve())
    clean = provenance.provenance("x")["commit"]
    assert re.fullmatch("[0-9a-f]{7,}", clean) and git("rev-parse", "HEAD").startswith(clean)
    (tmp_path / "a").write_text("2")
    assert provenance.provenance("x")["commit"] == clean + "-dirty"
    # An environment inside some other project's repository is not that project's commit.
    inside = tmp_path / "venv"
    inside.mkdir()
    monkeypatch.setattr(provenance, "CHECKOUT", inside.resolve())
    assert "commit" not in provenance.provenance("x")


def test_no_git_no_commit(monkeypatch):
    monkeypatch.setattr(provenance, "run_program", lambda command: None)
    assert "commit" not in provenance.provenance("x")


def test_on_a_gpu(cuda, smi):
    cuda(runtime())
    asked = smi(SMI)
    result = provenance.provenance("x", GPU)
    expected = {
        "gpu": "NVIDIA H200",
        "compute_capability": "9.0",
        "driver": "580.159.04",
        "cuda_driver": "13.0",
        "cuda_runtime": "12.9",
        "sms": 132,
        "memory_bytes": 150_754_820_096,
        "l2_bytes": 62914560,
        "memory_bus_bits": 6016,
        "sm_mhz": 345,
        "sm_mhz_max": 1980,
        "memory_mhz": 3201,
        "memory_mhz_max": 3201,
    }
    assert {key: result.get(key) for key in expected} == expected
    assert "address" not in result
    assert "--id=0000:1B:00.0" in asked[0]  # the GPU that CUDA uses, not the first one
    assert json.loads(json.dumps(result)) == result


def test_without_nvidia_smi(cuda, smi):
    cuda(runtime())
    smi(None)
    facts = provenance.gpu_facts()
    assert facts["gpu"] == "NVIDIA H200" and facts["memory_mhz_max"] == 3201
    assert not {"driver", "sm_mhz", "memory_mhz"} & set(facts)


def test_without_cupy(monkeypatch, smi):
    monkeypatch.setitem(sys.modules, "cupy", None)
    asked = smi(SMI)
    facts = provenance.gpu_facts()
    assert facts["gpu"] == "NVIDIA H200" and facts["memory_bytes"] == 143771 << 20
    assert "sms" not in facts and "--id=0" in asked[0]


def test_what_is_not_told_is_left_out(cuda, smi):
    cuda(runtime(unknown={36}, attributes={13: 0}))  # a driver that no longer tells a clock, and one that tells 0
    smi("NVIDIA H200, 9.0, [N/A], 143771, 345, [N/A], 3201, [Not Supported]\n")
    facts = provenance.gpu_facts()
    assert not {"driver", "sm_mhz_max", "memory_mhz_max"} & set(facts)
    assert facts["sm_mhz"] == 345 and facts["memory_mhz"] == 3201


def test_a_driver_that_fails_is_no_error(cuda, smi):
    def fails(device):
        raise RuntimeError("cudaErrorInsufficientDriver")

    broken = runtime()
    broken.getDeviceProperties = fails
    cuda(broken)
    smi("nonsense")
    assert provenance.gpu_facts() == {}
    assert "gpu" not in provenance.provenance("x", GPU)
