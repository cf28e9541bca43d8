"""`gpukit doctor`: what this machine can do, what is missing, and the command that would add it.

Looks at installed distributions and at programs on the path; imports nothing heavy and changes nothing.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from gpukit import __version__
from gpukit.gpu import ncu

if TYPE_CHECKING:
    from rich.console import RenderableType

OK, MISSING, BROKEN = "ok", "missing", "broken"

TIMEOUT_SECONDS = 10
CUDA13_DRIVER = 580  # first driver branch of CUDA 13
CUDA12_DRIVER = 525  # first driver branch of CUDA 12
CUDA13_CAPABILITY = (7, 5)  # CUDA 13 dropped what is older
NUMPY_REMOVED_NAME = (2, 5)  # numba-cuda up to this version uses a name that NumPy 2.5 no longer has:
LAST_NUMBA_CUDA_NEEDING_IT = (0, 30, 4)

VersionOf = Callable[[str], "str | None"]
Run = Callable[[list[str]], "str | None"]


@dataclass(frozen=True, slots=True)
class Check:
    """One capability: `status` is ok, missing or broken, `detail` what was found, `fix` what to do ('' if nothing)."""

    name: str
    status: str
    detail: str
    fix: str = ""


def installed_version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def run_program(command: list[str]) -> str | None:
    """What a program prints, or None when it is not there, fails or does not end in time."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def diagnose(version_of: VersionOf = installed_version, run: Run = run_program) -> list[Check]:
    """Every capability of gpukit on this machine. The two arguments are how the machine is looked at."""
    gpu = _gpu(run)
    extra = _cuda_extra(gpu)
    return [
        _python(),
        _cpu_machine(version_of),
        _host_functions(version_of),
        _driver(gpu),
        _gpu_arrays(version_of, gpu, extra),
        _numba_cuda(version_of, gpu, extra),
        _compiled_level(version_of),
        _counters(run, gpu),
        _sanitizer(run, gpu),
        _figures(version_of),
        _torch(version_of),
        _notebook(version_of),
    ]


def to_dict(checks: list[Check]) -> dict:
    return {
        "gpukit": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "checks": [asdict(check) for check in checks],
    }


def render(checks: list[Check]) -> RenderableType:
    """The checks as a table; words carry the status, colour only repeats it."""
    from rich.table import Table
    from rich.text import Text

    styles = {OK: "", MISSING: "dim", BROKEN: "black on bright_yellow"}
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        detail = Text(check.detail)
        if check.fix:
            detail.append(f"\n{check.fix}", style="bold")
        table.add_row(Text(check.name), Text(check.status, style=styles[check.status]), detail)
    return table


# --- the CPU machine -------------------------------------------------------------------------------------------------


def _python() -> Check:
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs"
    return Check("Python", OK, detail)


def _cpu_machine(version_of: VersionOf) -> Check:
    numpy = version_of("numpy")
    if numpy is None:
        return Check("CPU machine", MISSING, "NumPy is not installed", _pip(""))
    if _version(numpy) < (2,):
        return Check("CPU machine", BROKEN, f"numpy {numpy} is too old", 'python -m pip install "numpy>=2"')
    return Check("CPU machine", OK, f"numpy {numpy}: run, profile and check work, no GPU needed")


def _host_functions(version_of: VersionOf) -> Check:
    name = "Host functions (numba)"
    numba = version_of("numba")
    if numba is None:
        detail = "not installed: kernels run without it, @njit functions of a script run as plain Python"
        return Check(name, MISSING, detail, "python -m pip install numba")
    return Check(name, OK, f"numba {numba}: compiles the @njit functions of a script")


# --- the GPU machine -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Gpu:
    name: str
    driver: str
    capability: str

    @property
    def driver_branch(self) -> int:
        return (_version(self.driver) or (0,))[0]


def _gpu(run: Run) -> _Gpu | None:
    """The first GPU nvidia-smi names (it is installed with the driver on Linux and on Windows)."""
    listed = run(["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"])
    for line in (listed or "").splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 3:
            return _Gpu(*fields)
    return None


def _cuda_extra(gpu: _Gpu | None) -> str | None:
    """The extra that fits the driver, None when the driver is too old for either."""
    if gpu is None:
        return None
    if gpu.driver_branch >= CUDA13_DRIVER and _version(gpu.capability) >= CUDA13_CAPABILITY:
        return "cuda13"
    return "cuda12" if gpu.driver_branch >= CUDA12_DRIVER else None


def _driver(gpu: _Gpu | None) -> Check:
    if gpu is None:
        detail = "no NVIDIA GPU or driver found (nvidia-smi); only launches on a GPU need one"
        return Check("GPU and driver", MISSING, detail)
    detail = f"{gpu.name}, compute capability {gpu.capability}, driver {gpu.driver}"
    if gpu.driver_branch < CUDA12_DRIVER:
        return Check("GPU and driver", BROKEN, detail, f"update the driver to {CUDA12_DRIVER} or newer")
    return Check("GPU and driver", OK, detail)


def _gpu_arrays(version_of: VersionOf, gpu: _Gpu | None, extra: str | None) -> Check:
    names = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
    found = [(name, version) for name in names if (version := version_of(name)) is not None]
    fix = _pip(extra) if extra else ""
    if not found:
        return Check("GPU arrays (CuPy)", MISSING, _without_gpu("not installed", gpu), fix)
    listed = ", ".join(f"{name} {version}" for name, version in found)
    if len(found) > 1:
        remove = " ".join(name for name, _ in found)
        again = f"python -m pip uninstall {remove}; {fix or _pip('cuda13')}"
        return Check("GPU arrays (CuPy)", BROKEN, f"{listed} are in each other's way", again)
    if extra == "cuda12" and found[0][0] == "cupy-cuda13x":
        detail = f"{listed} needs driver {CUDA13_DRIVER} and compute capability 7.5 or newer"
        return Check("GPU arrays (CuPy)", BROKEN, detail, f"python -m pip uninstall cupy-cuda13x; {fix}")
    return Check("GPU arrays (CuPy)", OK, _without_gpu(listed, gpu))


def _numba_cuda(version_of: VersionOf, gpu: _Gpu | None, extra: str | None) -> Check:
    version = version_of("numba-cuda")
    if version is None:
        return Check(
            "GPU kernels (numba-cuda)", MISSING, _without_gpu("not installed", gpu), _pip(extra) if extra else ""
        )
    conflict = numpy_conflict(version_of)
    if conflict:
        return Check("GPU kernels (numba-cuda)", BROKEN, conflict, 'python -m pip install "numpy<2.5"')
    return Check("GPU kernels (numba-cuda)", OK, _without_gpu(f"numba-cuda {version}", gpu))


def numpy_conflict(version_of: VersionOf) -> str:
    numba_cuda, numpy = version_of("numba-cuda"), version_of("numpy")
    if numba_cuda is None or numpy is None:
        return ""
    if _version(numba_cuda) <= LAST_NUMBA_CUDA_NEEDING_IT and _version(numpy) >= NUMPY_REMOVED_NAME:
        return f"numba-cuda {numba_cuda} uses a name that numpy {numpy} no longer has"
    return ""


def _compiled_level(version_of: VersionOf) -> Check:
    name = "Compiled level (NVRTC)"
    conflict = numpy_conflict(version_of)
    if conflict:
        return Check(name, BROKEN, conflict, 'python -m pip install "numpy<2.5"')
    if platform.system() == "Darwin":
        return Check(name, MISSING, "there is no CUDA compiler for macOS; saved PTX runs, and kernels at source level")
    needed = {
        "numba-cuda": ("numba-cuda",),
        "cuda-bindings": ("cuda-bindings",),
        "nvidia-cuda-nvrtc": ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"),
        "nvidia-nvvm": ("nvidia-nvvm", "nvidia-cuda-nvcc-cu12"),
        "nvidia-cuda-runtime": ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"),
        "nvidia-cuda-cccl": ("nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12"),
    }
    found = {part: next((f"{n} {v}" for n in names if (v := version_of(n))), None) for part, names in needed.items()}
    absent = [part for part, version in found.items() if version is None]
    if absent:
        return Check(name, MISSING, f"not installed: {', '.join(absent)} (needs no GPU)", _pip("compiled"))
    return Check(name, OK, ", ".join(str(version) for version in found.values()))


# --- NVIDIA's tools --------------------------------------------------------------------------------------------------


def _counters(run: Run, gpu: _Gpu | None) -> Check:
    name = "Hardware counters (ncu)"
    version = _tool_version(run, ncu.find())
    if version is None:
        detail = "Nsight Compute is not installed; gpukit profile gives the same counters without it"
        return Check(name, MISSING, detail, ncu.INSTALL if gpu else "")
    if gpu is not None and _counters_are_for_admins():
        return Check(name, BROKEN, f"ncu {version}, but {ncu.REFUSED}", ncu.ALLOW)
    detail = f"ncu {version}"
    if gpu is not None and platform.system() == "Windows":
        detail += f"; if it ends with ERR_NVGPUCTRPERM, {ncu.ALLOW_ON_WINDOWS}"
    return Check(name, OK, _without_gpu(detail, gpu))


def _counters_are_for_admins(parameters: Path = Path("/proc/driver/nvidia/params")) -> bool:
    """Whether the Linux driver keeps the counters from this user; False where it does not say."""
    try:
        text = parameters.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return re.search(r"^RmProfilingAdminOnly:\s*1\s*$", text, re.MULTILINE) is not None and not is_root


def _sanitizer(run: Run, gpu: _Gpu | None) -> Check:
    name = "compute-sanitizer"
    version = _tool_version(run, shutil.which("compute-sanitizer"))
    if version is None:
        fix = "python -m pip install nvidia-cuda-sanitizer-api" if gpu else ""
        return Check(name, MISSING, "not on the path; gpukit check finds more without it", fix)
    return Check(name, OK, _without_gpu(version, gpu))


def _tool_version(run: Run, path: str | None) -> str | None:
    if path is None:
        return None
    found = re.search(r"[Vv]ersion\s+([\w.]+)", run([path, "--version"]) or "")
    return found[1] if found else "of unknown version"


# --- around it -------------------------------------------------------------------------------------------------------


def _figures(version_of: VersionOf) -> Check:
    return _package(version_of, "Figures", "matplotlib", "python -m pip install matplotlib")


def _torch(version_of: VersionOf) -> Check:
    name, version = "CTR prediction (PyTorch)", version_of("torch")
    if version is None:
        return Check(name, MISSING, "not installed: lab 8 needs it, its host code and gpukit ctr", _pip("ctr"))
    return Check(name, OK, f"torch {version}: lab 8's host code, and gpukit ctr")


def _notebook(version_of: VersionOf) -> Check:
    for name in ("jupyterlab", "notebook", "ipykernel"):
        if version := version_of(name):
            return Check("Notebook", OK, f"{name} {version}")
    return Check("Notebook", MISSING, "no Jupyter front end", "python -m pip install jupyterlab")


def _package(version_of: VersionOf, name: str, distribution: str, fix: str) -> Check:
    version = version_of(distribution)
    return Check(name, OK, f"{distribution} {version}") if version else Check(name, MISSING, "not installed", fix)


def _without_gpu(detail: str, gpu: _Gpu | None) -> str:
    return detail if gpu is not None else f"{detail} (of use with a GPU only)"


def _pip(extra: str) -> str:
    """The command for an extra, to be given in the folder of gpukit's pyproject.toml."""
    return f'python -m pip install -e ".[{extra}]"' if extra else "python -m pip install -e ."


def _version(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: "2.11.0+cu130" as (2, 11, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
