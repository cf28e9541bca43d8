"""Who submitted what: one file per student, whatever a learning platform made of the folder.

A student is an entry of the folder: a file (`ada.py`) or a folder (`ada/`), in which the file may lie deeper. Nothing
is followed out of it: links are not, and what is no plain file is not opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePath

from gpukit.errors import GpukitError
from gpukit.grading import names

SUFFIXES = (".py", ".cu", ".ipynb")
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar", ".xz", ".bz2")
DEEPEST, MOST_ENTRIES = 8, 2_000
MOST_NAMED = 3
# "student (2).py", "student-2.py", "student_2.py": the second upload of a file, as platforms and browsers write it.
_VERSION = re.compile(r"(?P<stem>.+?)(?:[ _-]*\((?P<a>\d+)\)|[_-](?P<b>\d{1,3}))")


@dataclass(frozen=True)
class Submission:
    """One student's submission. `path` is the file to grade, None where there is none; `file` is what messages call it,
    from the folder of all submissions; `problem` says why there is nothing to grade."""

    student: str
    path: Path | None
    file: str = ""
    notes: tuple[str, ...] = ()
    problem: str = ""


def collect(folder: Path, lab: str, deadline: datetime | None = None) -> list[Submission]:
    """The submissions in a folder, by student, in the order of their names.

    Args:
        folder: one file or folder per student. lab: the lab's name, which tells its file from others'.
        deadline: what was changed after it is noted as late; it is graded all the same.

    Raises:
        GpukitError: the folder is not there, or holds nothing.
    """
    if not folder.is_dir():
        raise GpukitError(f"there is no folder {folder}: give the one that holds a file or a folder for each student")
    found: dict[str, list[Submission]] = {}
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.name.startswith((".", "__")):
            continue
        one = _of_entry(entry, folder, lab)
        if one is not None:
            found.setdefault(one.student, []).append(one)
    if not found:
        raise GpukitError(f"{folder} holds no submission: a file .py, .cu or .ipynb, or a folder, for each student")
    chosen = (_one_of(several) for _, several in sorted(found.items()))
    return [_showable(_with_lateness(one, deadline)) for one in chosen]


def _of_entry(entry: os.DirEntry, root: Path, lab: str) -> Submission | None:
    """The submission that an entry of the folder is, None for a file of another kind."""
    name = entry.name
    if entry.is_symlink():
        return Submission(_student(name), None, name, problem="this is a link; links are not followed")
    if entry.is_dir(follow_symlinks=False):
        return _in_folder(Path(entry.path), root, lab)
    suffix = PurePath(name).suffix.lower()
    if suffix in ARCHIVES:
        return Submission(_student(name), None, name, problem="this is an archive: unpack it into a folder first")
    if suffix not in SUFFIXES:
        return None
    if not entry.is_file(follow_symlinks=False):
        return Submission(_student(name), None, name, problem="this is no plain file")
    return Submission(_student(name), Path(entry.path), name)


def _student(name: str) -> str:
    path = PurePath(name)
    return path.stem if path.suffix.lower() in (*SUFFIXES, *ARCHIVES) else name


def _in_folder(folder: Path, root: Path, lab: str) -> Submission:
    """The file to grade in a student's folder: named for its role, of this lab, its latest upload, near the top."""
    notes: list[str] = []
    files: list[Path] = []
    for seen, (path, problem) in enumerate(_walk(folder)):
        if seen >= MOST_ENTRIES:
            notes.append(f"more than {MOST_ENTRIES:,} entries: the rest was not looked at")
            break
        if problem:
            notes.append(f"{_relative(path, folder)}: {problem}")
        else:
            files.append(path)
    if not files:
        what = "the folder holds no file .py, .cu or .ipynb" + (f" ({'; '.join(notes[:MOST_NAMED])})" if notes else "")
        return Submission(folder.name, None, folder.name, tuple(notes[:MOST_NAMED]), what)
    files.sort(key=lambda path: _rank(path, folder, lab))
    chosen = files[-1]
    others = [_relative(path, folder) for path in reversed(files[:-1])]
    if others:
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        notes.append(f"graded {_relative(chosen, folder)}, not {', '.join(others[:MOST_NAMED])}{more}")
    return Submission(folder.name, chosen, _relative(chosen, root), tuple(notes))


def _walk(folder: Path, depth: int = 0) -> Iterator[tuple[Path, str]]:
    """Files that may be answers, and what is not opened with the reason, in the order of their names."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield folder, f"cannot be read: {error.strerror}"
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith((".", "__")):
            continue
        if entry.is_symlink():
            yield path, "is a link, which is not followed"
        elif entry.is_dir(follow_symlinks=False):
            if depth + 1 < DEEPEST:
                yield from _walk(path, depth + 1)
            else:
                yield path, f"lies deeper than {DEEPEST} folders, which is not looked at"
        elif path.suffix.lower() in SUFFIXES:
            if stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                yield path, ""
            else:
                yield path, "is no plain file"
        elif path.suffix.lower() in ARCHIVES:
            yield path, "is an archive, which is not opened"


def _rank(path: Path, folder: Path, lab: str) -> tuple:
    """The larger, the likelier the answer to this lab. Depends on names alone, so that it is the same everywhere."""
    parts = path.relative_to(folder).parts
    stem, version = _versioned(path.stem)
    named = stem == "student" or stem == lab
    of_lab = lab in parts[:-1] or stem == lab
    # A folder per attempt sorts by its name: dates and numbers do.
    folders = tuple(_natural(part) for part in parts[:-1])
    return named, of_lab, -_other_lab(parts, lab), -len(parts), folders, version, path.suffix == ".py", path.name


def _other_lab(parts: Sequence[str], lab: str) -> bool:
    return any(re.fullmatch(r"\d\d_\w+", part) and part != lab for part in parts[:-1])


def _versioned(stem: str) -> tuple[str, int]:
    match = _VERSION.fullmatch(stem)
    return (match["stem"], int(match["a"] or match["b"])) if match else (stem, 0)


def _natural(text: str) -> tuple:
    """Sorts attempt-10 behind attempt-9."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text))


def _one_of(several: list[Submission]) -> Submission:
    """One of a student's entries (`ada/` and `ada.py`): the folder before a file, something before nothing."""
    several.sort(key=lambda one: (one.path is not None, "/" in one.file, one.file))
    *others, chosen = several
    if not others:
        return chosen
    return replace(chosen, notes=(*chosen.notes, f"there is {', '.join(other.file for other in others)} too"))


def _showable(one: Submission) -> Submission:
    notes = tuple(map(names.shown, one.notes))
    return replace(
        one,
        student=names.student_name(one.student),
        file=names.shown(one.file),
        notes=notes,
        problem=names.shown(one.problem),
    )


def _with_lateness(one: Submission, deadline: datetime | None) -> Submission:
    if deadline is None or one.path is None:
        return one
    late = datetime.fromtimestamp(one.path.lstat().st_mtime, deadline.tzinfo) - deadline
    minutes = int(late.total_seconds() // 60)
    if minutes < 1:
        return one
    days, rest = divmod(minutes, 24 * 60)
    return replace(one, notes=(*one.notes, f"late by {days} d {rest // 60} h {rest % 60} min"))


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()
