"""`gpukit doctor` on machines of every kind, described by what is installed and what programs print."""

import json
import subprocess
import sys

import pytest

from gpukit import doctor

BASE = {"numpy": "2.4.6", "numba": "0.68.0", "matplotlib": "3.10.0"}
H200 = "NVIDIA H200, 580.159.04, 9.0\n"


def diagnose(packages, smi=None):
    def run(command):
        return smi if command[0] == "nvidia-smi" else None

    return {check.name: check for check in doctor.diagnose({**BASE, **packages}.get, run)}


@pytest.fixture(autouse=True)
def no_tools(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor.ncu, "folders", list)


def test_a_laptop_without_a_gpu():
    checks = diagnose({})
    assert checks["CPU machine"].status == doctor.OK
    assert checks["GPU and driver"].status == doctor.MISSING
    assert checks["GPU arrays (CuPy)"].fix == ""  # nothing to install that could work
    assert checks["Compiled level (NVRTC)"].fix == 'python -m pip install -e ".[compiled]"'
    assert checks["CTR prediction (PyTorch)"].fix == 'python -m pip install -e ".[ctr]"'


def test_the_compiled_level_names_what_is_absent():
    check = diagnose({"numba-cuda": "0.30.4", "nvidia-cuda-nvrtc-cu12": "12.9.86"})["Compiled level (NVRTC)"]
    assert check.status == doctor.MISSING
    assert "cuda-bindings, nvidia-nvvm, nvidia-cuda-runtime, nvidia-cuda-cccl" in check.detail
    assert "numba-cuda" not in check.detail.replace("nvidia-cuda", "")


def test_macs_have_no_compiled_level(monkeypatch):
    monkeypatch.setattr(doctor.platform, "system", lambda: "Darwin")
    check = diagnose({})["Compiled level (NVRTC)"]
    assert (check.status, check.fix) == (doctor.MISSING, "")
    assert "macOS" in check.detail


def test_an_empty_environment_is_told_how_to_start():
    checks = {check.name: check for check in doctor.diagnose({}.get, lambda command: None)}
    assert checks["CPU machine"].status == doctor.MISSING
    assert checks["CPU machine"].fix == "python -m pip install -e ."
    assert checks["Figures"].status == doctor.MISSING


@pytest.mark.parametrize(
    ("smi", "extra"),
    [
        (H200, "cuda13"),
        ("Tesla T4, 580.65.06, 7.5\n", "cuda13"),
        ("Tesla V100-SXM2-16GB, 580.65.06, 7.0\n", "cuda12"),  # CUDA 13 dropped it
        ("NVIDIA GeForce RTX 4090, 560.94, 8.9\n", "cuda12"),  # the driver is too old for CUDA 13
    ],
)
def test_the_extra_fits_driver_and_gpu(smi, extra):
    checks = diagnose({}, smi)
    for name in ("GPU arrays (CuPy)", "GPU kernels (numba-cuda)"):
        assert checks[name].status == doctor.MISSING
        assert checks[name].fix == f'python -m pip install -e ".[{extra}]"'


def test_a_complete_gpu_machine():
    packages = {
        "cupy-cuda13x": "14.2.0",
        "numba-cuda": "0.30.4",
        "cuda-bindings": "13.0.3",
        "nvidia-cuda-cccl": "13.0.85",
        "nvidia-cuda-nvrtc": "13.0.88",
        "nvidia-cuda-runtime": "13.0.96",
        "nvidia-nvvm": "13.0.88",
    }
    checks = diagnose(packages, H200)
    assert "NVIDIA H200" in checks["GPU and driver"].detail
    for name in ("GPU and driver", "GPU arrays (CuPy)", "GPU kernels (numba-cuda)", "Compiled level (NVRTC)"):
        assert checks[name].status == doctor.OK


@pytest.mark.parametrize(
    ("numba_cuda", "numpy", "broken"),
    [("0.30.4", "2.5.0", True), ("0.30.4", "2.4.9", False), ("0.31.0", "2.5.0", False), ("0.4.0", "2.10.1", True)],
)
def test_numba_cuda_and_numpy_in_conflict(numba_cuda, numpy, broken):
    check = diagnose({"numba-cuda": numba_cuda, "numpy": numpy})["GPU kernels (numba-cuda)"]
    assert (check.status == doctor.BROKEN) is broken
    assert ("numpy<2.5" in check.fix) is broken


def test_an_old_driver_and_two_cupys_are_broken():
    assert diagnose({}, "GeForce GTX 1080, 470.82, 6.1\n")["GPU and driver"].status == doctor.BROKEN
    check = diagnose({"cupy-cuda12x": "13.6.0", "cupy-cuda13x": "13.6.0"}, H200)["GPU arrays (CuPy)"]
    assert check.status == doctor.BROKEN
    assert "uninstall cupy-cuda13x cupy-cuda12x" in check.fix


def test_cupy_for_cuda_13_on_a_cuda_12_driver():
    check = diagnose({"cupy-cuda13x": "13.6.0"}, "NVIDIA L4, 550.54, 8.9\n")["GPU arrays (CuPy)"]
    assert check.status == doctor.BROKEN
    assert 'uninstall cupy-cuda13x; python -m pip install -e ".[cuda12]"' in check.fix


def test_the_permission_to_read_counters(tmp_path, monkeypatch):
    parameters = tmp_path / "params"
    monkeypatch.setattr(doctor.os, "geteuid", lambda: 1000, raising=False)
    parameters.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")
    assert doctor._counters_are_for_admins(parameters)
    parameters.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 0\n")
    assert not doctor._counters_are_for_admins(parameters)
    assert not doctor._counters_are_for_admins(tmp_path / "absent")


def test_refused_counters_are_explained(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/opt/{name}")
    monkeypatch.setattr(doctor, "_counters_are_for_admins", lambda: True)

    def run(command):
        return H200 if command[0] == "nvidia-smi" else "NVIDIA Nsight Compute\nVersion 2026.1.0.0 (build 3)\n"

    checks = {check.name: check for check in doctor.diagnose(BASE.get, run)}
    counters = checks["Hardware counters (ncu)"]
    assert counters.status == doctor.BROKEN
    assert "ERR_NVGPUCTRPERM" in counters.detail
    assert "2026.1.0.0" in counters.detail
    assert "NVreg_RestrictProfilingToAdminUsers=0" in counters.fix
    assert checks["compute-sanitizer"].status == doctor.OK


def test_a_program_that_is_absent_fails_or_hangs_is_no_answer(monkeypatch):
    assert doctor.run_program(["no-such-program-here"]) is None
    assert doctor.run_program([sys.executable, "-c", "raise SystemExit(3)"]) is None
    assert doctor.run_program([sys.executable, "-c", "print('hello')"]).strip() == "hello"
    monkeypatch.setattr(doctor, "TIMEOUT_SECONDS", 0.2)
    assert doctor.run_program([sys.executable, "-c", "import time; time.sleep(30)"]) is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("2.11.0+cu130", (2, 11, 0)), ("580.159.04", (580, 159, 4)), ("2.5.0rc1", (2, 5, 0)), ("?", ())],
)
def test_versions(text, numbers):
    assert doctor._version(text) == numbers


def test_json_and_no_heavy_imports():
    """In a fresh interpreter: valid JSON, exit code 0, and nothing imported that takes long."""
    code = (
        "import sys; from gpukit.cli import main; code = main(['doctor', '--json']);"
        "heavy = {'numba', 'torch', 'cupy', 'matplotlib', 'scipy'} & set(sys.modules);"
        "print(sorted(heavy), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    data = json.loads(done.stdout)
    assert {"Python", "CPU machine", "GPU and driver"} <= {check["name"] for check in data["checks"]}
    assert {check["status"] for check in data["checks"]} <= {doctor.OK, doctor.MISSING, doctor.BROKEN}
    assert done.stderr.strip() == "[]"
