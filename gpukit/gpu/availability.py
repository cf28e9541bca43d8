"""Whether a GPU can be used here, and if not, what is missing."""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import platform
from dataclasses import dataclass

from gpukit.gpu import libraries
from gpukit.gpu.errors import first_line
from gpukit.standin import real_numba_cuda

_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_CUDA_13 = 13_000


@functools.cache
def missing() -> str:
    """ "" if a GPU can be used, else one sentence: what is missing, and what to install. Looked up once."""
    driver = look_for_driver()
    if isinstance(driver, str):
        return driver
    with real_numba_cuda():
        return missing_package(driver.extra) or _conflict() or _does_not_load()


@dataclass(frozen=True, slots=True)
class Driver:
    """version: of the newest CUDA that it knows, 13000 for 13.0."""

    version: int

    @property
    def extra(self) -> str:
        """The extra of gpukit that fits it."""
        return "cuda13" if self.version >= _CUDA_13 else "cuda12"


def look_for_driver() -> Driver | str:
    """The driver, if it has a GPU; else the sentence that says why not."""
    if platform.system() == "Darwin":
        return "there is no GPU to use: macOS has no NVIDIA driver; the CPU machine runs the same kernels"
    library = _load_driver()
    if library is None:
        return (
            "there is no NVIDIA driver on this computer, so no GPU can be used: install one if it has an NVIDIA GPU, "
            "or use the CPU machine, which runs the same kernels"
        )
    count, version = ctypes.c_int(0), ctypes.c_int(0)
    code = library.cuInit(0)
    if code == 0:
        code = library.cuDeviceGetCount(ctypes.byref(count))
    if code == _NO_DEVICE or (code == 0 and count.value == 0):
        return (
            "the NVIDIA driver finds no GPU: see what nvidia-smi lists, and whether CUDA_VISIBLE_DEVICES hides it; the "
            "CPU machine runs the same kernels"
        )
    if code != 0:
        return f"the NVIDIA driver does not start (CUDA error {code}): see what nvidia-smi says; a restart often helps"
    library.cuDriverGetVersion(ctypes.byref(version))
    return Driver(version.value)


def _load_driver() -> ctypes.CDLL | None:
    names = ("nvcuda.dll",) if platform.system() == "Windows" else ("libcuda.so.1", "libcuda.so")
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def missing_package(extra: str) -> str:
    """Which of the packages that a GPU needs is not installed; "" if all are."""
    for module, what in (("cupy", "CuPy, which holds its arrays,"), ("numba_cuda", "numba-cuda")):
        if importlib.util.find_spec(module) is None:
            return f'{what} is not installed, which a GPU needs: python -m pip install "gpukit[{extra}]"'
    return ""


def _conflict() -> str:
    from gpukit import doctor

    found = doctor.numpy_conflict(doctor.installed_version)
    return f'{found}, so its kernels do not compile: python -m pip install "numpy<2.5"' if found else ""


def _does_not_load() -> str:
    """What CuPy or numba-cuda says when it is imported and asked for the GPU."""
    for name, load, ask in (
        ("CuPy", libraries.cupy, _ask_cupy),
        ("numba-cuda", libraries.numba_cuda, _ask_numba),
    ):
        try:
            ask(load())
        except Exception as error:  # a library that does not load, a driver that is too old: they raise what they like
            return f"{name} is installed but cannot use the GPU ({first_line(error)}): gpukit doctor shows what fits"
    return ""


def _ask_cupy(cupy: object) -> None:
    cupy.cuda.runtime.getDeviceCount()  # type: ignore[attr-defined]
    cupy.cuda.Device().compute_capability  # type: ignore[attr-defined]  # noqa: B018


def _ask_numba(cuda: object) -> None:
    if importlib.import_module("numba.cuda.core.config").ENABLE_CUDASIM:
        raise RuntimeError("NUMBA_ENABLE_CUDASIM is set, so it means its simulator")
    if not cuda.is_available():  # type: ignore[attr-defined]
        raise RuntimeError(str(cuda.cuda_error()))  # type: ignore[attr-defined]
