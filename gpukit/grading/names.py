"""File names for students, whatever they are called: no path tricks, no two alike on any file system."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

LONGEST = 60
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)  # Windows' devices


def unique(students: Iterable[str]) -> list[str]:
    """A name for each student, in their order: letters, digits, space, . _ and - of their own where that is safe, with
    eight digits of a hash behind it where it is not, or where two would differ in nothing but case or accents."""
    students = list(students)
    plain = [_plain(student) for student in students]
    folded = [_folded(name) for name in plain]
    return [
        name if name == student and folded.count(_folded(name)) == 1 else f"{name}-{_digest(student)}"
        for student, name in zip(students, plain, strict=True)
    ]


def _plain(student: str) -> str:
    text = unicodedata.normalize("NFC", student)
    text = re.sub(r"[^\w .-]", "_", text)[:LONGEST].strip(" .-")
    return "_" if not text or _RESERVED.fullmatch(text) else text


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKD", name).encode("ascii", "replace").decode().casefold()


def _digest(student: str) -> str:
    return hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()[:8]
