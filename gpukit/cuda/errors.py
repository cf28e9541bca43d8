"""Errors of the facade: gpukit's own classes, each also the class that numba.cuda code expects to catch."""

from __future__ import annotations

import sys
from typing import Any

from gpukit.errors import (
    GpukitError,
    KernelAssertion,
    KernelSyntaxError,
    KernelTypeError,
    LaunchError,
    UnsupportedFeature,
)

# The names under which numba.cuda programs catch what a kernel's compilation can raise.
NumbaError = GpukitError
TypingError = KernelTypeError
LoweringError = UnsupportedFeature
UnsupportedError = UnsupportedFeature
KernelRuntimeError = KernelAssertion


class NumbaWarning(Warning):
    """Base of the warnings that numba.cuda programs filter by class."""


class NumbaPerformanceWarning(NumbaWarning):
    """A launch that would leave a GPU mostly idle. Never raised here: `gpukit profile` says it with numbers."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """Options of a kernel that contradict each other."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """An old spelling."""


class DeprecationError(GpukitError):
    """A keyword that numba.cuda has removed."""


class DeviceOnlyError(UnsupportedFeature, NotImplementedError):
    """Something of the kernel language was used in host code."""


class LaunchConfigError(LaunchError, ValueError):
    """The launch configuration is missing or its values make no sense."""


class LaunchConfigTypeError(LaunchError, TypeError):
    """The launch configuration is not made of integers."""


class SignatureError(KernelTypeError, TypeError):
    """The arguments do not fit the signature the kernel was declared with."""


class ArrayLayoutError(GpukitError, ValueError):
    """Host and device arrays whose shape, strides or layout do not fit together."""


class ArrayIndexError(GpukitError, IndexError):
    """An index outside a device array, in host code."""


class ArrayTypeError(KernelTypeError, TypeError):
    """Host and device arrays of different dtype, or something that is no array."""


class DeviceArrayUnsupported(UnsupportedFeature, NotImplementedError):
    """An operation that device arrays do not have, on a GPU either."""


class RefusedError(UnsupportedFeature, NotImplementedError):
    """A part of numba.cuda that needs a GPU, its driver or its compiler."""


class CudaSupportError(GpukitError, RuntimeError):
    """The CUDA driver is missing. Kept for programs that catch it; the CPU machine is always there."""


class CudaAPIError(GpukitError, RuntimeError):
    """A driver call failed. Kept for programs that catch it."""


def as_numba(error: GpukitError) -> BaseException:
    """The error as a program written for numba.cuda may catch it; it stays what it is besides.

    What a kernel raises is of the class it named, with the thread in its message; a type error is also the installed
    numba's TypingError, if numba is loaded.
    """
    if isinstance(error, KernelAssertion):
        if error.exception is None or error.place is None:
            return error
        block, thread = error.place
        text = ", ".join(map(str, error.arguments))
        where = f"tid={list(thread)} ctaid={list(block)}"
        return _mixed(error, error.exception, f"{error.message}; {where}{f': {text}' if text else ''}")
    numba = sys.modules.get("numba.core.errors")
    if numba is not None and isinstance(error, KernelTypeError | UnsupportedFeature):
        return _mixed(error, numba.TypingError, error.message)
    return error


def _mixed(error: GpukitError, other: type[BaseException], message: str) -> BaseException:
    """An exception of both classes; of `other` alone where Python cannot combine them."""
    bases = (type(error),) if isinstance(error, other) else (type(error), other)
    mixed: Any
    try:
        mixed = type(other.__name__, bases, {"__module__": other.__module__})
    except TypeError:
        mixed = other
    made = mixed.__new__(mixed, message)
    made.__dict__.update(error.__dict__)
    where = f"{error.file}:{error.line}: " if error.file and error.line else ""
    made.args = (where + message,)
    return made


__all__ = [
    "ArrayIndexError",
    "ArrayLayoutError",
    "ArrayTypeError",
    "CudaAPIError",
    "CudaSupportError",
    "DeprecationError",
    "DeviceArrayUnsupported",
    "DeviceOnlyError",
    "GpukitError",
    "KernelAssertion",
    "KernelRuntimeError",
    "KernelSyntaxError",
    "KernelTypeError",
    "LaunchConfigError",
    "LaunchConfigTypeError",
    "LaunchError",
    "LoweringError",
    "NumbaDeprecationWarning",
    "NumbaError",
    "NumbaInvalidConfigWarning",
    "NumbaPerformanceWarning",
    "NumbaWarning",
    "RefusedError",
    "SignatureError",
    "TypingError",
    "UnsupportedError",
    "UnsupportedFeature",
    "as_numba",
]
