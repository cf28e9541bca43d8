"""The walls that a child process raises around itself, before it reads anything of the student."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Sequence

from gpukit.sandbox import landlock, seccomp

OPEN_FILES = 64
STACK_BYTES = 8 << 20
_PR_SET_PDEATHSIG = 1  # the child does not outlive whoever waits for it


def raise_all(memory_bytes: int, cpu_seconds: int, readable: Sequence[str]) -> tuple[str, ...]:
    """Raise every wall that this system has; returns the names of those that it says stand.

    With nothing `readable`, no file can be opened at all, which needs no Landlock. Otherwise files can be opened to
    read them, and Landlock says which.
    """
    standing = []
    if sys.platform != "win32":
        _limit_resources(memory_bytes, cpu_seconds)
        standing.append("rlimits")
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # Landlock is the thread's that asks for it and of those it starts: there must be no other yet.
        if len(os.listdir("/proc/self/task")) == 1 and landlock.restrict(readable):
            standing.append("landlock")
        if seccomp.restrict(bool(readable)):
            standing.append("seccomp")
    elif sys.platform == "darwin" and not readable and _compute_only():
        standing.append("seatbelt")
    return tuple(standing)


def _limit_resources(memory_bytes: int, cpu_seconds: int) -> None:
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds += round(used.ru_utime + used.ru_stime)  # what the program's imports took
    limits = {
        # What may be written to is memory; libraries that were mapped to be read are address space alone. They cannot
        # be made more: the filter refuses memory that is shared, and what becomes writable counts as data.
        "RLIMIT_AS": (memory_bytes + _mapped_to_be_read(),) * 2,
        "RLIMIT_DATA": (memory_bytes, memory_bytes),
        # Beyond the first limit comes SIGXCPU, which says what it was; beyond the second SIGKILL.
        "RLIMIT_CPU": (cpu_seconds, cpu_seconds + 1),
        "RLIMIT_FSIZE": (0, 0),
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_STACK": (STACK_BYTES, STACK_BYTES),  # what nests too deep for a compiler does so on every computer
        "RLIMIT_NPROC": (0, 0),  # of the user's, not of the process's; root's are not counted
        "RLIMIT_NOFILE": (OPEN_FILES, OPEN_FILES),
    }
    for name, asked in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, ceiling = resource.getrlimit(kind)
        soft, hard = (most if ceiling == resource.RLIM_INFINITY else min(most, ceiling) for most in asked)
        # macOS has no RLIMIT_AS to speak of; `strength` finds out by trying.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (soft, hard))


def _mapped_to_be_read() -> int:
    """Bytes of this process's address space that it cannot write to; 0 where the system does not tell (proc(5))."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            size, _, _, _, _, data, _ = map(int, stream.read().split())
    except (OSError, ValueError):
        return 0
    return (size - data) * os.sysconf("SC_PAGE_SIZE")


def _compute_only() -> bool:
    """macOS: the profile that Apple calls pure computation, which prohibits all services of the system."""
    try:
        system = ctypes.CDLL("/usr/lib/libSystem.B.dylib")
        message = ctypes.c_char_p()
        by_name = 1
        return system.sandbox_init(b"pure-computation", ctypes.c_uint64(by_name), ctypes.byref(message)) == 0
    except (OSError, AttributeError):
        return False
