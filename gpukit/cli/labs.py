"""The commands that students work with: `gpukit watch`, `gpukit hint`, `gpukit reset`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpukit import files
from gpukit.cli import output
from gpukit.errors import GpukitError

if TYPE_CHECKING:
    from rich.console import Console

    from gpukit.labs.folders import Lab
    from gpukit.labs.hints import Asked
    from gpukit.labs.watching import Watch

KEYS = "h hint   r run again   n, p next and previous task   q quit"
STYLES = {"good": "green", "bad": "red", "dim": "dim", "plain": "", "head": "bold"}
TICK_MILLISECONDS = 100
LABEL = 12  # where the text of a failure's rows begins
LANGUAGES = {"python": "Python", "cpp": "CUDA C++"}

_labs_option = click.option(
    "--labs", "root", type=click.Path(path_type=Path), help="The folder of the labs (default: labs, here or above)."
)
_language_option = click.option(
    "--language", type=click.Choice(list(LANGUAGES)), help="student.py or student.cu (default: the one you have begun)."
)


# --- gpukit watch ----------------------------------------------------------------------------------------------------


@click.command(short_help="Run a lab's tests whenever you save, and say what is next.")
@click.argument("name", metavar="[LAB]", required=False)
@_labs_option
@_language_option
@click.option("--machine", type=click.Choice(["cpu", "gpu"]), default="cpu", show_default=True)
def watch(name: str | None, root: Path | None, language: str | None, machine: str) -> int:
    """Run the tests of LAB (5, 05_reduction; by default the first that is not complete) whenever you save student.py:
    task after task, until the lab is complete. Ctrl-C ends it."""
    from gpukit import devices

    devices.device(machine)  # no GPU is said now, not at every test
    lab = _lab(root, name)
    chosen = LANGUAGES[language] if language else None
    return _watch(lab, chosen, machine, output.console())


def _watch(lab: Lab, language: str | None, machine: str, console: Console) -> int:
    import watchfiles

    from gpukit.cli.keyboard import Keyboard
    from gpukit.labs import regions
    from gpukit.labs.watching import Watch

    asked = _Hints(lab)
    watch = Watch(lab, language, machine, asked.next)
    names = {f"student{regions.SUFFIXES[each]}": each for each in lab.languages if language in (None, each)}
    show = _Screen(console, watch)
    with Keyboard() as keyboard:
        show.keys = KEYS if keyboard.there else ""
        try:
            watch.saved()
            show()
            changes = watchfiles.watch(
                lab.path,
                watch_filter=lambda change, path: Path(path).name in names,
                rust_timeout=TICK_MILLISECONDS,
                yield_on_timeout=True,
                recursive=False,
            )
            for turn, found in enumerate(changes):
                new = False
                for each in sorted({names[Path(path).name] for _, path in found}):
                    if each != watch.language and lab.file("student", each).is_file():
                        watch.turn_to(each)
                if found or turn == 0:  # at first: it may have been saved before anybody watched
                    new = watch.saved()
                while key := keyboard.pressed():
                    if key in ("q", "\x04"):
                        return 0
                    new = watch.key(key.lower()) or new
                if watch.tick() or new:
                    show()
                if watch.finished:
                    return 0
        finally:
            watch.close()
    return 0


class _Hints:
    """Asks for hints, and writes down that they were given."""

    def __init__(self, lab: Lab):
        from gpukit.labs import hints

        self._lab = lab
        self._file = hints.state_file(lab.path.parent)
        self._asked: Asked = hints.Asked.read(self._file)

    def next(self, task: str) -> str:
        text = self._asked.ask(self._lab, task)
        output.make_folder(self._file.parent)
        files.write_whole(self._file, self._asked.to_text())
        return text


class _Screen:
    """Shows a watch: a terminal is cleared first; elsewhere lines follow each other, and the bare wait is left out."""

    def __init__(self, console: Console, watch: Watch):
        self.keys = ""
        self._console = console
        self._watch = watch

    def __call__(self) -> None:
        on_terminal = self._console.is_terminal
        lines = list(self._watch.lines())
        if on_terminal:
            self._console.clear()
        elif any(line.kind == "dim" and line.text.endswith("...") for line in lines):
            return
        for line in lines:
            self._print(line.text, STYLES[line.kind])
        if on_terminal and not self._watch.finished:
            self._print(f"\nwatching {_near(self._watch.file)}", STYLES["dim"])
            if self.keys:
                self._print(self.keys, STYLES["dim"])
        elif not on_terminal:
            self._print("", "")
        self._console.file.flush()

    def _print(self, text: str, style: str) -> None:
        if self._console.is_terminal:
            text = "\n".join(_wrapped(line, self._console.width) for line in text.split("\n"))
        self._console.print(text, style=style or None, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _wrapped(line: str, width: int) -> str:
    """A line that is too long goes on below its own text; a command stays one, to be copied."""
    label, text = line[:LABEL], line[LABEL:]
    if len(line) <= width or label.strip() in ("do", "again"):
        return line
    indent = " " * LABEL if line.startswith("  ") and text else ""
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


# --- gpukit hint, gpukit reset ---------------------------------------------------------------------------------------


@click.command(short_help="Help with a task; more each time you ask.")
@click.argument("name", metavar="LAB")
@click.argument("task", required=False)
@_labs_option
@_language_option
def hint(name: str, task: str | None, root: Path | None, language: str | None) -> None:
    """Give the next hint for a task of LAB (by default the first that is open), and at last the place to read. There is
    no solution in it. TASK alone will do: gpukit hint 5.2."""
    from gpukit.labs import hints, runs

    lab, task = _lab_and_task(root, name, task)
    if task is None:
        task = runs.open_task(runs.results(lab, LANGUAGES[language] if language else None))
        if task is None:
            click.echo(f"{lab.name} is complete: there is nothing left to hint at.")
            return
    task = hints.find_task(lab, task)
    click.echo(f"task {task}, {lab.tasks[task]}")
    click.echo(_Hints(lab).next(task))


@click.command(short_help="Put student.py, or one task of it, back to how it was given out.")
@click.argument("name", metavar="LAB")
@click.argument("task", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@_labs_option
@_language_option
def reset(name: str, task: str | None, yes: bool, root: Path | None, language: str | None) -> None:
    """Put the student's file of LAB, or what one TASK asks for, back to how it was given out. What you wrote stays
    beside it, as student.py.bak-1 and so on."""
    from gpukit.labs import answers, hints, resetting, skeletons

    lab, task = _lab_and_task(root, name, task)
    task = hints.find_task(lab, task) if task else None
    chosen = LANGUAGES[language] if language else answers.chosen_language(lab)
    file, text = lab.file(answers.STUDENT, chosen), skeletons.skeleton(lab, chosen)
    old = _text_of(file)
    what = _near(file)
    if task is not None and old is not None:
        text, names = resetting.with_task_reset(old, text, task, _near(file), chosen)
        what = f"{', '.join(names)} in {what} (task {task})"
    if text == old:
        click.echo(f"{what} is as it was given out.")
        return
    if not yes and old is not None:
        click.confirm(f"Put {what} back to how it was given out?", abort=True)
    kept = _keep(file, resetting.free_backup) if old is not None else None
    files.write_whole(file, text)
    click.echo(f"{what} is as it was given out." + (f" What was there is in {_near(kept)}." if kept else ""))


def _keep(file: Path, free: Callable[[Path], Path]) -> Path:
    """A copy of the file beside it, byte for byte, which takes no other's place."""
    while True:
        kept = free(file)
        try:
            with kept.open("xb") as stream:
                stream.write(file.read_bytes())
            return kept
        except FileExistsError:
            continue
        except OSError as error:
            raise GpukitError(f"nothing was changed, for {_near(kept)} cannot be written: {error.strerror}") from None


def _text_of(file: Path) -> str | None:
    """A student's file; None where there is none. Bytes that are no UTF-8 only make it differ from what was given."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise GpukitError(f"{_near(file)} cannot be read: {error.strerror}") from None


# --- which lab -------------------------------------------------------------------------------------------------------


def _lab(root: Path | None, name: str | None) -> Lab:
    """The lab of that name; without one the first that is not complete."""
    from gpukit.labs import folders, runs

    root = root or folders.find_root()
    if name is not None:
        return folders.find_lab(root, name)
    labs = folders.find_labs(root)
    return next((lab for lab in labs if not runs.is_complete(lab)), labs[-1])


def _lab_and_task(root: Path | None, name: str, task: str | None) -> tuple[Lab, str | None]:
    """LAB and TASK, or TASK alone: "5.2" is task 5.2 of lab 5."""
    number, dot, rest = name.partition(".")
    if task is None and dot and number.isdecimal() and rest.isdecimal():
        return _lab(root, number), name
    return _lab(root, name), task


def _near(path: Path) -> str:
    from gpukit.report.layout import near_path

    return near_path(str(path.absolute()))


COMMANDS: tuple[Any, ...] = (watch, hint, reset)
