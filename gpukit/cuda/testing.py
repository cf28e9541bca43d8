"""`numba.cuda.testing`: what test suites written for numba.cuda import.

The CPU machine is a device (not numba's simulator), so tests marked "skip on the simulator" run; what needs the
driver, the toolkit or the compiler's output is skipped.
"""

from __future__ import annotations

import contextlib
import io
import sys
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit.cuda import config
from gpukit.cuda.device import DEVICE


class CUDATestCase(unittest.TestCase):
    """A test case with settings that warnings about launches and copies leave alone."""

    FLOAT16_RTOL = np.finfo(np.float16).eps

    def setUp(self) -> None:
        self._settings = (config.CUDA_LOW_OCCUPANCY_WARNINGS, config.CUDA_WARN_ON_IMPLICIT_COPY)
        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
        config.CUDA_WARN_ON_IMPLICIT_COPY = 0

    def tearDown(self) -> None:
        config.CUDA_LOW_OCCUPANCY_WARNINGS, config.CUDA_WARN_ON_IMPLICIT_COPY = self._settings

    def assertFileCheckAsm(self, *args: Any, **kwargs: Any) -> None:
        self.skipTest("the CPU machine produces no assembly")

    assertFileCheckLLVM = assertFileCheckAsm


class ForeignArray:
    """A device array that shows nothing but its `__cuda_array_interface__`."""

    def __init__(self, arr: Any):
        self._arr = arr
        self.__cuda_array_interface__ = arr.__cuda_array_interface__


def _run(reason: str = "") -> Callable:
    """A decorator that lets the test run."""
    return lambda test: test


def _needs(what: str) -> Callable[[str], Callable]:
    """A decorator with a reason that skips, because the machine has no `what`."""

    def with_reason(reason: str = "") -> Callable:
        return unittest.skip(f"needs {what}: {reason}")

    return with_reason


skip_on_cudasim = skip_on_arm = skip_on_wsl2 = skip_if_external_memmgr = skip_under_cuda_memcheck = _run
skip_with_nvdisasm = skip_on_nvjitlink_13_1_sm_120 = _run
skip_unless_cudasim = _needs("numba's simulator")
skip_unless_conda_cudatoolkit = _needs("a CUDA toolkit from conda")
skip_without_nvdisasm = _needs("nvdisasm")
skip_if_nvjitlink_missing = _needs("nvjitlink")
skip_if_cuda_includes_missing = unittest.skip("needs the CUDA headers")
skip_if_curand_kernel_missing = unittest.skip("needs the cuRAND headers")
skip_if_mvc_enabled = skip_if_mvc_libraries_unavailable = _run


def skip_if_cudadevrt_missing(test: Callable) -> Callable:
    """Runs: cooperative launches need no device runtime library here."""
    return test


def skip_on_standalone_numba_cuda(test: Callable) -> Callable:
    """Runs where numba is installed."""
    return test if "numba" in sys.modules else unittest.skip("requires base numba install")(test)


def xfail_unless_cudasim(test: Callable) -> Callable:
    """Must pass: what hardware cannot report (an exception in a device function), the CPU machine can."""
    return test


def cc_X_or_above(major: int, minor: int) -> bool:
    return DEVICE.compute_capability >= (major, minor)


def _unless_cc(major: int, minor: int) -> Callable[[Callable], Callable]:
    return unittest.skipUnless(cc_X_or_above(major, minor), f"requires cc >= {major}.{minor}")


skip_unless_cc_32, skip_unless_cc_50, skip_unless_cc_53 = _unless_cc(3, 2), _unless_cc(5, 0), _unless_cc(5, 3)
skip_unless_cc_60, skip_unless_cc_75, skip_unless_cc_90 = _unless_cc(6, 0), _unless_cc(7, 5), _unless_cc(9, 0)


@contextlib.contextmanager
def captured_cuda_stdout():
    """What kernels print in the meantime, as a StringIO."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        yield out
