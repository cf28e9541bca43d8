"""Where a rung runs and whose time it takes, and why it does not run elsewhere."""

from __future__ import annotations

import importlib.util
from typing import Any, NamedTuple

from gpukit.devices import Device
from gpukit.registry import CPP, HOST, Launch, Plan, Rung

# What a rung is: a race or another hazard is one that it is there to show, while its answer is right all the same.
RIGHT, RACE, HAZARD, WRONG, NOT_RUN = "right", "race", "hazard", "WRONG", "not run"
CPU_CLOCK, GPU_CLOCK, HOST_CLOCK = "the CPU machine's, not a GPU's", "GPU events", "host"
_PACKAGES = {"cupy": "cupy-cuda13x", "cupyx": "cupy-cuda13x"}  # where they are not called like the module
_ON_A_GPU = {"cupy", "cupyx", "torch"}


class Why(NamedTuple):
    """Why a rung does not run: the sentence, and two or three words for a table; both "" if it does."""

    text: str = ""
    short: str = ""


def why_not(rung: Rung, device: Device) -> Why:
    """Why a rung does not run on a device of this computer."""
    if device.name not in rung.machines:
        if device.name == "cpu":
            return Why("runs on an NVIDIA GPU only", "needs a GPU")
        return Why("runs on the CPU machine only", "CPU machine only")
    absent = [module for module in rung.needs if not _found(module)]
    if absent:
        packages = " ".join(_PACKAGES.get(module, module) for module in absent)
        named = ", ".join(absent)
        return Why(f"needs {named}: python -m pip install {packages}", f"needs {named}")
    reason = no_compiler(rung.language, device)
    return Why(reason, "needs NVRTC") if reason else Why()


def no_compiler(language: str, device: Device) -> str:
    """Why a kernel in a language cannot be compiled for a device here; "" if it can."""
    if language != CPP or device.name != "cpu":
        return ""
    from gpukit.compilers import toolkit

    return toolkit.why_no_nvrtc()


def is_gpu_library(rung: Rung) -> bool:
    """Whether what the host does for a rung is work of the GPU (CuPy, PyTorch, copies), and not of the processor."""
    return rung.machines == ("gpu",) or bool(_ON_A_GPU & set(rung.needs))


def clock(rung: Rung, plan: Plan, device: Device, launched: bool) -> str:
    """Whose time a rung takes. `launched`: a run of the plan launched a kernel."""
    on_host = rung.language == HOST and not launched and not is_gpu_library(rung)
    if device.name == "gpu":
        return {"host": HOST_CLOCK, "device": GPU_CLOCK}.get(plan.clock, HOST_CLOCK if on_host else GPU_CLOCK)
    return HOST_CLOCK if on_host else CPU_CLOCK


class Watched:
    """A device that remembers whether anything was launched on it: what the host does may launch kernels, too."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.launched = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def launch(self, launch: Launch) -> None:
        self.launched = True
        self._device.launch(launch)


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
