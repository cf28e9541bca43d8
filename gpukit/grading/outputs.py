"""Everything that is made from the records of a class, written into one folder."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

from gpukit.errors import GpukitError
from gpukit.files import write_whole
from gpukit.grading import exports, feedback, leaderboard, wording
from gpukit.grading.exports import canvas
from gpukit.grading.names import safe_name
from gpukit.grading.record import Record
from gpukit.grading.summary import Summary, summarize
from gpukit.grading.summary import html as summary_html
from gpukit.grading.summary import markdown as summary_markdown

SALT = "leaderboard_salt.txt"
CANVAS, FEEDBACK, SUMMARY, LEADERBOARD = "canvas", "feedback", "summary", "leaderboard"
CANVAS_NOTES = "canvas_notes.txt"

Files = dict[str, bytes]


def names() -> list[str]:
    """The names that `write` knows as formats."""
    return [FEEDBACK, SUMMARY, LEADERBOARD, *exports.formats(), CANVAS]


def write(
    records: Sequence[Record],
    out: Path,
    *,
    title: str,
    formats: Sequence[str] | None = None,
    gradebook: Path | None = None,
) -> list[Path]:
    """Write what is made from the records into the folder `out`, made if it is not there; the paths written, in order.

    Run again on the same records it writes the same bytes: the salt of the leaderboard's names is kept in `out` (copy
    leaderboard_salt.txt into the folder of the next lab and the names stay). Files of a former run are replaced; those
    of students who are no longer there are left.

    Args:
        title: what pages call the lab; also the assignment in Canvas.
        formats: of `names()`; default: all of them, Canvas if there is a gradebook.
        gradebook: the CSV file that the course exported from Canvas.

    Raises:
        GpukitError: a format is unknown, a student has two records, the gradebook does not fit, or a file cannot be
            written. Nothing is written unless all of it can be made.
    """
    wanted = list(dict.fromkeys(formats if formats is not None else [n for n in names() if n != CANVAS or gradebook]))
    if unknown := [name for name in wanted if name not in names()]:
        raise GpukitError(f"unknown format {', '.join(map(repr, unknown))}; there are {', '.join(names())}")
    if CANVAS in wanted and gradebook is None:
        raise GpukitError("the format canvas fills in the gradebook that the course exported; give its file")
    students = [record.student for record in records]
    if twice := sorted({student for student in students if students.count(student) > 1}):
        raise GpukitError(f"there are several records of {', '.join(map(repr, twice))}; keep one of each")
    ordered = sorted(records, key=wording.student_order)
    salt = _Salt(out / SALT)
    made: Files = {}
    makers: dict[str, Callable[[], Files]] = {
        FEEDBACK: lambda: _feedback(ordered, title, salt.value),
        SUMMARY: lambda: _summary(ordered, title),
        LEADERBOARD: lambda: _leaderboard(ordered, title, salt.value),
        CANVAS: lambda: _canvas(ordered, title, gradebook),
    }
    for name in wanted:
        maker = makers.get(name)
        made |= maker() if maker else _exported(ordered, exports.formats()[name])
    paths = []
    for name, content in made.items():
        paths.append(out / name)
        write_whole(out / name, content, parents=True)
    return [*paths, *salt.keep()]


def _exported(records: Sequence[Record], form: exports.Format) -> Files:
    if form.per_student:
        return {form.path.format(student=safe_name(r.student)): form.export([r]) for r in records}
    return {form.path: form.export(records)}


def _feedback(records: Sequence[Record], title: str, salt: bytes) -> Files:
    aliases = leaderboard.pseudonyms(records, salt)
    files: Files = {}
    for record in records:
        alias = aliases[record.student] if leaderboard.is_right(record) else ""
        name = f"feedback/{safe_name(record.student)}"
        files[f"{name}.html"] = _encoded(feedback.page(record, title=title, alias=alias))
        files[f"{name}.md"] = _encoded(feedback.to_markdown(record, title=title, alias=alias))
    return files


def _summary(records: Sequence[Record], title: str) -> Files:
    found = summarize(records, title)
    files: Files = {}
    if found.graded and found.tasks:
        files = {"summary.png": _figure(found, "png"), "summary.svg": _figure(found, "svg")}
    figure = "summary.png" if files else ""
    files["summary.html"] = _encoded(summary_html.page(found, files.get("summary.png", b"")))
    files["summary.md"] = _encoded(summary_markdown.to_markdown(found, figure))
    files["look.html"] = _encoded(summary_html.looks(found))
    files["look.md"] = _encoded(summary_markdown.looks(found))
    return files


def _figure(found: Summary, suffix: str) -> bytes:
    from gpukit.plots import class_results, style  # matplotlib takes its time to load

    tasks = [
        {
            "name": wording.visible(f"{rate.task} {rate.title}"),
            "passed": rate.passed,
            "failed": rate.failed,
            "not_started": rate.not_started,
        }
        for rate in found.tasks
    ]
    costs = [
        {"name": wording.visible(rate.name), "ratios": rate.ratios, "allowed": rate.allowed, "kept": rate.kept}
        for rate in found.costs
    ]
    buffer = BytesIO()
    style.write(class_results.figure_of(tasks, costs), buffer, suffix)
    return buffer.getvalue()


def _leaderboard(records: Sequence[Record], title: str, salt: bytes) -> Files:
    found = leaderboard.boards(records, salt)
    return {
        "leaderboard.md": _encoded(leaderboard.to_markdown(found, title)),
        "leaderboard.csv": leaderboard.to_csv(found),
    }


def _canvas(records: Sequence[Record], title: str, gradebook: Path | None) -> Files:
    assert gradebook is not None
    try:
        exported = gradebook.read_bytes()
    except OSError as error:
        raise GpukitError(f"cannot read {gradebook}: {error.strerror or error}") from None
    filled = canvas.fill(records, exported, title, file=str(gradebook))
    notes = filled.notes or ["Every record was filled in, and every row of the gradebook has a record."]
    return {canvas.PATH: filled.csv, CANVAS_NOTES: _encoded("\n".join(notes) + "\n")}


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class _Salt:
    """The secret behind the names of the leaderboard: read from its file, or made when it is first asked for."""

    def __init__(self, path: Path):
        self.path = path
        self._value = b""

    @property
    def value(self) -> bytes:
        if not self._value:
            try:
                self._value = self.path.read_bytes().strip()
            except FileNotFoundError:
                self._value = secrets.token_hex(32).encode()
            except OSError as error:
                raise GpukitError(f"cannot read {self.path}: {error.strerror or error}") from None
        if len(self._value) < 16:
            raise GpukitError(
                f"{self.path} holds no salt of 16 characters or more; delete it, and the leaderboard gets new names"
            )
        return self._value

    def keep(self) -> list[Path]:
        """Write the salt, if it was asked for and is not there, for its owner alone; its path, if it was asked for."""
        if not self._value:
            return []
        if not self.path.exists():
            write_whole(self.path, self._value + b"\n", parents=True)
            self.path.chmod(0o600)
        return [self.path]
