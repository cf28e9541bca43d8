"""Errors of the facade: gpukit's own classes, each also the class that numba.cuda code expects to catch."""

from __future__ import annotations

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
]
