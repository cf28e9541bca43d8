"""The user's files that make up a program: the source, and those of its headers that lie in the user's folders."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """`spelled` is its name in the source's own name or in the #include, `path` what people call it."""

    spelled: str
    path: str
    text: str

    def is_named(self, name: str | None) -> bool:
        """Whether the compiler means this file by a name in its messages: it takes names as paths."""
        return name is not None and os.path.abspath(name) in (os.path.abspath(self.spelled), os.path.abspath(self.path))


def includes(text: str) -> list[str]:
    """The names a file includes."""
    return [quoted or angled for quoted, angled in _INCLUDE.findall(text)]


def gather(code: str, name: str, folders: Sequence[Path]) -> tuple[SourceFile, ...]:
    """The source, then every header it includes that is found beside it or in `folders`, each once.

    Headers are looked for as a compiler does: one in quotes beside the file that names it first.
    """
    files = [SourceFile(name, name, code)]
    folder_of = {name: Path(name).parent}
    for file in files:  # grows while it is read
        for quoted, angled in _INCLUDE.findall(file.text):
            spelled = quoted or angled
            beside = (folder_of[file.spelled],) if quoted else ()
            path = next((f / spelled for f in (*beside, *folders) if (f / spelled).is_file()), None)
            if path is None or spelled in folder_of:
                continue
            try:
                text = path.read_text(encoding="utf-8-sig", errors="replace")
            except OSError:
                continue
            folder_of[spelled] = path.parent
            files.append(SourceFile(spelled, os.path.normpath(path), text))
    return tuple(files)
