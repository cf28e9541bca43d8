"""The text of a student's file, from whatever lies under its name."""

from __future__ import annotations

import codecs
import os
import re
import stat

from gpukit.errors import KernelSyntaxError

MAX_FILE_BYTES = 200_000
MAX_LINE = 5_000
_MARKS = ((codecs.BOM_UTF32_LE, "UTF-32"), (codecs.BOM_UTF32_BE, "UTF-32"), (codecs.BOM_UTF16_LE, "UTF-16"),
          (codecs.BOM_UTF16_BE, "UTF-16"))  # fmt: skip
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_UTF8 = ("utf8", "utf-8", "utf-8-sig", "ascii", "us-ascii")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def read_source(path: str | os.PathLike[str], limit: int = MAX_FILE_BYTES) -> str:
    """The text of a source file, with `\\n` at the end of lines.

    Raises KernelSyntaxError, one sentence, for what is not there, is no regular file (a link, a pipe, a device), is
    larger than `limit` bytes, or is not UTF-8. Nothing but a regular file is opened for reading.
    """
    name = os.fspath(path)
    data = _bytes(name, limit)
    return _text(data, name).replace("\r\n", "\n").replace("\r", "\n")


def _bytes(name: str, limit: int) -> bytes:
    try:
        _check_kind(os.lstat(name).st_mode, name)
        # Another file may have taken its place since: no link is followed, no pipe waited for, the kind asked again.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(name, flags), "rb") as stream:
            _check_kind(os.fstat(stream.fileno()).st_mode, name)
            data = stream.read(limit + 1)
    except FileNotFoundError:
        raise KernelSyntaxError("there is no such file", file=name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise KernelSyntaxError(f"the file cannot be read: {reason}", file=name) from None
    if len(data) > limit:
        raise KernelSyntaxError(f"the file has more than {limit:,} bytes, which no answer needs", file=name)
    return data


def _check_kind(mode: int, name: str) -> None:
    if stat.S_ISREG(mode):
        return
    kinds = ((stat.S_ISLNK, "a symbolic link"), (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"))
    what = next((what for is_kind, what in kinds if is_kind(mode)), "a device or socket")
    raise KernelSyntaxError(f"this is {what}, not a file: hand in the file itself", file=name)


def _text(data: bytes, name: str) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            raise KernelSyntaxError(f"the file is in {encoding}: save it as UTF-8", file=name)
    data = data.removeprefix(codecs.BOM_UTF8)
    for number, comment in enumerate(data.splitlines()[:2], 1):
        found = _COOKIE.match(comment)
        if found and found[1].decode("ascii", "replace").lower().replace("_", "-") not in _UTF8:
            said = found[1].decode("ascii", "replace")
            raise KernelSyntaxError(
                f"the file says that its encoding is {said}: save it as UTF-8 and remove that line",
                file=name,
                line=number,
            )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise KernelSyntaxError(
            f"the byte 0x{data[error.start]:02x} here is not UTF-8: save the file as UTF-8", file=name, line=line
        ) from None


def oddity(text: str) -> tuple[int, str, str] | None:
    """(line, what, advice) of the first thing that no text file of a student should hold: too much, lines that are too
    long, control characters (they could write over a terminal, or show a line in another order than it is read)."""
    if len(text.encode(errors="replace")) > MAX_FILE_BYTES:
        return 1, f"more than {MAX_FILE_BYTES:,} bytes", "hand in the lab's file alone"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE:
            return number, f"a line of {len(line):,} characters", f"break it: {MAX_LINE:,} is the most"
        if found := _CONTROL.search(line):
            return number, f"the control character U+{ord(found[0]):04X}", "delete it"
    return None
