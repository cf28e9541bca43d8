"""Where the CUDA compilers and headers are: in wheels of NVIDIA, or in an installed toolkit."""

from __future__ import annotations

import functools
import importlib.util
import os
import platform
from pathlib import Path
from types import ModuleType

from gpukit.errors import UnsupportedFeature

INSTALL = 'python -m pip install "gpukit[compiled]"'
ON_A_MAC = (
    "NVIDIA has no CUDA compiler for macOS: run the kernel at source level (a numba.cuda kernel), or run PTX that was "
    "saved on Linux or Windows, RawModule(path=FILE.ptx)"
)

# A file that says where a set of headers begins.
_WITNESSES = ("cuda_runtime.h", "crt/host_defines.h", "cuda/std/version", "cooperative_groups.h", "curand_kernel.h")


def nvrtc() -> tuple[ModuleType, tuple[int, int]]:
    """The bindings of NVRTC and its version, (13, 0) for example.

    Raises UnsupportedFeature where it is not installed or does not load.
    """
    if platform.system() == "Darwin":
        raise UnsupportedFeature(ON_A_MAC)
    try:
        from cuda.bindings import nvrtc as bindings
    except ImportError:
        raise UnsupportedFeature(f"the CUDA C++ compiler (NVRTC) is not installed: {INSTALL}") from None
    return bindings, _version(bindings)


def why_no_nvrtc() -> str:
    """What stands in the way of compiling CUDA C++; '' if nothing does."""
    try:
        nvrtc()
    except UnsupportedFeature as error:
        return error.message
    return ""


def _version(bindings: ModuleType) -> tuple[int, int]:
    try:
        _, major, minor = bindings.nvrtcVersion()
    except Exception as error:  # the bindings load the library at the first call, and raise what they like
        raise UnsupportedFeature(
            f"the CUDA C++ compiler (NVRTC) does not load ({_first_line(error)}): {INSTALL}"
        ) from None
    return major, minor


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@functools.cache
def include_folders(major: int) -> tuple[Path, ...]:
    """The folders of CUDA's headers for a toolkit of this major version: of the wheels, else of CUDA_HOME.

    One folder for each set of headers (runtime, cooperative groups, libcu++ and CUB, cuRAND) that is there.
    """
    candidates = [folder for root in _roots(major) for folder in (root, root / "cccl") if folder.is_dir()]
    found: list[Path] = []
    for witness in _WITNESSES:
        folder = next((folder for folder in candidates if (folder / witness).is_file()), None)
        if folder is not None and folder not in found:
            found.append(folder)
    return tuple(found)


def _roots(major: int) -> list[Path]:
    spec = importlib.util.find_spec("nvidia")
    roots = []
    for base in (spec.submodule_search_locations or ()) if spec else ():
        roots.append(Path(base) / f"cu{major}" / "include")
        parts = ("cuda_runtime", "cuda_cccl", "cuda_nvcc", "curand")  # CUDA 12 has a folder for each wheel
        roots += [Path(base) / part / "include" for part in parts if major == 12]
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            roots.append(Path(os.environ[variable]) / "include")
    return roots
