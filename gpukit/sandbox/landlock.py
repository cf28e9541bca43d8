"""Landlock: which files a process may still open on Linux (documented in landlock(7)). A process cannot undo it."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Sequence

# The same numbers on x86_64 and aarch64.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_PR_SET_NO_NEW_PRIVS = 38


def _files(abi: int) -> int:
    """All rights over files that this version of Landlock knows: 13, then one more each with ABI 2, 3 and 5."""
    return (1 << (13 + (abi >= 2) + (abi >= 3) + (abi >= 5))) - 1


def abi(libc: ctypes.CDLL | None = None) -> int:
    """The version of Landlock that this kernel has; 0 if it has none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, (libc or ctypes.CDLL(None)).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG))


def restrict(readable: Sequence[str]) -> int:
    """From here on this thread, and what it starts, opens nothing but files beneath `readable`, to read them; no TCP
    (ABI 4), no signals to other processes and none of their abstract sockets (ABI 6).

    Returns the ABI used; 0 where there is no Landlock, and nothing was done.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = abi(libc)
    if not version:
        return 0
    handled = struct.pack("=QQQ", _files(version), 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return 0
    try:
        for path in readable:
            _allow(libc, ruleset, path)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return version if libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return  # what is not there cannot be read
    try:
        rights = _READ_FILE | _READ_DIR if os.path.isdir(path) else _READ_FILE
        libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)
