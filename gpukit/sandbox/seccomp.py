"""A seccomp filter: which system calls a process may still make on Linux. A process cannot undo it.

The filter is a list of what is allowed. All else answers ENOSYS, for which C libraries have a way round where there is
one (clone3, for instance). A list of what is forbidden would miss the calls of next year's kernel.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Sequence

# Per call: its number on x86_64 and on aarch64 (None where that machine has no such call).
_Numbers = tuple[int | None, int | None]

# Computing: memory, time, what was opened before, and the end.
COMPUTING: dict[str, _Numbers] = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "poll": (7, None),
    "lseek": (8, 62),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "exit": (60, 93),
    "uname": (63, 160),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "getuid": (102, 174),
    "getgid": (104, 176),
    "geteuid": (107, 175),
    "getegid": (108, 177),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "time": (201, None),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "set_tid_address": (218, 96),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "ppoll": (271, 73),
    "set_robust_list": (273, 99),
    "getcpu": (309, 168),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "rseq": (334, 293),
}
# Looking at files, for a program that may read some.
LOOKING: dict[str, _Numbers] = {
    "stat": (4, None),
    "lstat": (6, None),
    "access": (21, None),
    "getcwd": (79, 17),
    "readlink": (89, None),
    "getdents64": (217, 61),
    "newfstatat": (262, 79),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "statx": (332, 291),
    "faccessat2": (439, 439),
}
_OPEN: _Numbers = (2, None)
_OPENAT: _Numbers = (257, 56)
# Calls that are allowed with some arguments only.
_MMAP: _Numbers = (9, 222)
_IOCTL: _Numbers = (16, 29)
_CLONE: _Numbers = (56, 220)
_FCNTL: _Numbers = (72, 25)
_TGKILL: _Numbers = (234, 131)
_PRLIMIT: _Numbers = (302, 261)

_TCGETS = 0x5401  # is this a terminal?
_FCNTL_COMMANDS = (1, 2, 3, 1030)  # F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC; F_SETOWN would send signals
_CLONE_THREAD = 0x10000
_MAP_SHARED = 0x1  # memory of the kind that is no data of the process's, so that no limit but that of addresses has it
_WRITING = 0o3 | 0o100 | 0o1000 | 0o20000000  # the access mode, O_CREAT, O_TRUNC, the bit that makes O_TMPFILE

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, AUDIT_ARCH_*
_SECCOMP = (317, 277)

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _KILL_PROCESS, _ENOSYS = 0x7FFF0000, 0x80000000, 0x00050000 | 38
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data

Instruction = tuple[int, int, int, int]  # code, how far to jump if true, if false, operand


def program(machine: str, pid: int, reading: bool) -> list[Instruction]:
    """The filter for a machine ("x86_64", "aarch64"): `pid` is the process it is for, which may send signals to itself
    (abort does); `reading` whether files may be opened, to read them."""
    column, architecture = _MACHINES[machine]
    made: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL_PROCESS),  # the calls of 32-bit programs have other numbers
        (_LOAD, 0, 0, _NUMBER),
    ]

    def when(numbers: _Numbers, then: Sequence[Instruction]) -> None:
        number = numbers[column]
        if number is not None:
            made.extend([(_EQUAL, 0, len(then), number), *then])

    for numbers in (*COMPUTING.values(), *(LOOKING.values() if reading else ())):
        when(numbers, [(_RETURN, 0, 0, _ALLOW)])
    when(_MMAP, [(_LOAD, 0, 0, _low(3)), (_ANY_BIT, 1, 0, _MAP_SHARED), *_allow_or_refuse()])
    when(_IOCTL, _if_one_of(1, (_TCGETS,)))
    when(_FCNTL, _if_one_of(1, _FCNTL_COMMANDS))
    when(_TGKILL, _if_one_of(0, (pid,)))
    when(_CLONE, [(_LOAD, 0, 0, _low(0)), (_ANY_BIT, 0, 1, _CLONE_THREAD), *_allow_or_refuse()])
    when(_PRLIMIT, _if_null(2))
    if reading:
        for numbers, flags in ((_OPEN, 1), (_OPENAT, 2)):
            when(numbers, [(_LOAD, 0, 0, _low(flags)), (_ANY_BIT, 1, 0, _WRITING), *_allow_or_refuse()])
    return [*made, (_RETURN, 0, 0, _ENOSYS)]


def _low(argument: int) -> int:
    """Offset of the low half of an argument; both machines are little endian."""
    return 16 + 8 * argument


def _allow_or_refuse() -> list[Instruction]:
    return [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ENOSYS)]


def _if_one_of(argument: int, values: Sequence[int]) -> list[Instruction]:
    # The kernel takes these arguments as 32 bits wide: the high half means nothing.
    tests = [(_EQUAL, len(values) - i - 1, int(i == len(values) - 1), value) for i, value in enumerate(values)]
    return [(_LOAD, 0, 0, _low(argument)), *tests, *_allow_or_refuse()]


def _if_null(argument: int) -> list[Instruction]:
    low, high = _low(argument), _low(argument) + 4
    return [(_LOAD, 0, 0, low), (_EQUAL, 0, 3, 0), (_LOAD, 0, 0, high), (_EQUAL, 0, 1, 0), *_allow_or_refuse()]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def restrict(reading: bool) -> bool:
    """From here on this process makes the system calls above and no other. False where that cannot be had."""
    if not sys.platform.startswith("linux") or platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return False
    code = b"".join(
        struct.pack("=HBBI", *instruction) for instruction in program(platform.machine(), os.getpid(), reading)
    )
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    loaded = _Program(len(code) // 8, code)
    call = _SECCOMP[_MACHINES[platform.machine()][0]]
    set_filter, all_threads = 1, 1
    return libc.syscall(call, set_filter, all_threads, ctypes.byref(loaded)) == 0
