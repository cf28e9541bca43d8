"""Where and when a result was made: what stands beside every number that is written to a file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpukit.doctor import installed_version, run_program

if TYPE_CHECKING:
    from gpukit.devices import Device

CHECKOUT = Path(__file__).resolve().parents[1]

# Distributions whose version can change a result, where they are installed.
PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "numba-cuda",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "cupy",
    "torch",
    "nvidia-cusparse",
    "nvidia-cusparse-cu12",
    "nvmath-python",
    "cuda-bindings",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-nvvm",
    "nvidia-cuda-cccl",
)

# Our name, nvidia-smi's, and what one of its units is of ours.
_SMI_FIELDS = (
    ("gpu", "name", None),
    ("compute_capability", "compute_cap", None),
    ("driver", "driver_version", None),
    ("memory_bytes", "memory.total", 1 << 20),
    ("sm_mhz", "clocks.sm", 1),
    ("sm_mhz_max", "clocks.max.sm", 1),
    ("memory_mhz", "clocks.mem", 1),
    ("memory_mhz_max", "clocks.max.mem", 1),
)

# Numbers of cudaDeviceAttr: CuPy has no names for all of them in every version.
_ATTRIBUTES = {
    "sms": (16, 1),
    "l2_bytes": (38, 1),
    "memory_bus_bits": (37, 1),
    "memory_mhz_max": (36, 1000),
    "sm_mhz_max": (13, 1000),
}


def provenance(command: str, device: Device | None = None) -> dict[str, Any]:
    """Where and when a result was made, as plain data.

    Args:
        command: what makes the result again.
        device: what ran it. On a GPU its name, compute capability, driver, CUDA runtime, SMs, memory (bytes), and its
            clocks now and at most (MHz) are added; the CPU machine adds nothing.

    Returns:
        command, date (ISO), commit (of the checkout, with "-dirty" where it has changes; absent without one), system,
        python, cpu, cores, the version of each package that is installed, and `gpu_facts`. What cannot be found out is
        left out.
    """
    commit = _commit()
    return {
        "command": command,
        "date": date.today().isoformat(),
        **({"commit": commit} if commit else {}),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version for name in PACKAGES if (version := installed_version(name)) is not None},
        **(gpu_facts() if device is not None and device.name == "gpu" else {}),
    }


def cpu_name() -> str:
    """The processor as the system calls it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def gpu_facts() -> dict[str, Any]:
    """What CUDA and nvidia-smi say about the current GPU; either may be absent, and {} means that both are.

    gpu, compute_capability, driver, cuda_driver and cuda_runtime ("13.0"), sms, memory_bytes, l2_bytes,
    memory_bus_bits; sm_mhz and memory_mhz now, sm_mhz_max and memory_mhz_max at most.
    """
    from_cuda = cuda_facts()
    # The bus address names the same GPU to both, whatever CUDA_VISIBLE_DEVICES has made of the numbers.
    from_smi = _smi_facts(from_cuda.pop("address", "0"))
    return {**from_smi, **from_cuda}


def cuda_facts() -> dict[str, Any]:
    """What CUDA itself says about the current GPU, without asking nvidia-smi, which takes a second.

    The facts of `gpu_facts` that are not of this moment, and `address`, the GPU's place on the bus; {} without CuPy or
    a GPU.
    """
    facts: dict[str, Any] = {}
    try:
        import cupy

        runtime = cupy.cuda.runtime
        device = cupy.cuda.Device()
        properties: Mapping[str, Any] = runtime.getDeviceProperties(device.id)
    except Exception:  # no CuPy, no driver, no GPU: each has its own exception, and none of them is a mistake here
        return facts
    name = properties["name"]
    facts["gpu"] = name.decode() if isinstance(name, bytes) else str(name)
    facts["compute_capability"] = f"{properties['major']}.{properties['minor']}"
    facts["memory_bytes"] = int(properties["totalGlobalMem"])
    for key, (attribute, divisor) in _ATTRIBUTES.items():
        try:
            value = runtime.deviceGetAttribute(attribute, device.id)
        except Exception:  # not every GPU answers every question
            continue
        if value > 0:
            facts[key] = value // divisor
    for key, version in (("cuda_driver", "driverGetVersion"), ("cuda_runtime", "runtimeGetVersion")):
        number = getattr(runtime, version)()
        facts[key] = f"{number // 1000}.{number % 1000 // 10}"
    if address := getattr(device, "pci_bus_id", None):
        facts["address"] = address
    return facts


def _smi_facts(address: str) -> dict[str, Any]:
    fields = ",".join(theirs for _, theirs, _ in _SMI_FIELDS)
    told = run_program(["nvidia-smi", f"--id={address}", f"--query-gpu={fields}", "--format=csv,noheader,nounits"])
    values = [value.strip() for value in (told or "").strip().partition("\n")[0].split(",")]
    if len(values) != len(_SMI_FIELDS):
        return {}
    facts: dict[str, Any] = {}
    for (ours, _, unit), value in zip(_SMI_FIELDS, values, strict=True):
        if unit is None and value and not value.startswith("["):  # "[N/A]"
            facts[ours] = value
        elif unit is not None and value.isdigit():
            facts[ours] = int(value) * unit
    return facts


def _commit() -> str | None:
    """`git describe` of the checkout that this package is in; None where it was installed, or git is absent.

    For a copy of a checkout without its history the environment variable GPUKIT_COMMIT says it.
    """
    if given := os.environ.get("GPUKIT_COMMIT"):
        return given
    git = ["git", "-C", str(CHECKOUT)]
    top = run_program([*git, "rev-parse", "--show-toplevel"])
    if not top or Path(top.strip()).resolve() != CHECKOUT:
        return None  # some other project's repository, with an environment inside it
    described = run_program([*git, "describe", "--always", "--tags", "--dirty"])
    return described.strip() if described else None
