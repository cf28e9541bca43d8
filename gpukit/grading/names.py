"""File names for students, whatever they are called."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)", re.IGNORECASE)
_LENGTH = 40
_DIGITS = 12


def safe_name(student: str) -> str:
    """A name for a student's file or folder, the same in every run and whoever else is in the class.

    A student called by small letters, digits, "-" and "_" keeps the name. Any other gets what is left of it in ASCII
    and digits of its hash: no two students share a file, not even where "Ada" and "ada" are one, and none leaves the
    folder.
    """
    if _PLAIN.fullmatch(student) and not _RESERVED.fullmatch(student):
        return student
    ascii_only = unicodedata.normalize("NFKD", student).encode("ascii", "ignore").decode()
    readable = re.sub(r"[^A-Za-z0-9]+", "_", ascii_only).strip("_")[:_LENGTH].strip("_") or "student"
    # The dot keeps these apart from the names above; before it stands what Windows would take for a device.
    front = f"{readable}_" if _RESERVED.fullmatch(readable) else readable
    digest = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{front}.{digest}"


# Control characters, marks that turn the direction of text, halves of characters, a path's separator elsewhere.
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\\]|(?<=^[A-Za-z]):")
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def shown(text: str) -> str:
    """Text of a file's name or about one as it can be stored and shown anywhere: one line, nothing that steers."""
    return _UNSHOWN.sub(REPLACEMENT, text)


def student_name(entry: str) -> str:
    """What a student is called whose entry has this name: the name, as long as it can be shown. Others get digits of
    their hash, so that two entries stay two students."""
    name = shown(entry)
    if name == entry:
        return name
    return f"{name} ({hashlib.sha256(entry.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]})"
