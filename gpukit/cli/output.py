"""Where the command line prints, how it writes files, and what was typed."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpukit import files
from gpukit.errors import GpukitError

if TYPE_CHECKING:
    from rich.console import Console


def console() -> Console:
    """Standard output for rich: as wide as the terminal, or plain text of a fixed width in a file or a pipe."""
    from rich.console import Console

    from gpukit.report.terminal import TEXT_WIDTH

    if sys.stdout.isatty():
        return Console()
    return Console(file=_WithoutTrailingBlanks(), width=TEXT_WIDTH)  # type: ignore[arg-type]


class _WithoutTrailingBlanks(io.TextIOBase):
    """Standard output for text that rich fills up to the console's width, which helps nobody in a file."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return sys.stdout.encoding

    def write(self, text: str) -> int:
        return sys.stdout.write(re.sub(r" +$", "", text, flags=re.MULTILINE))

    def flush(self) -> None:
        sys.stdout.flush()


def write(file: str, text: str) -> None:
    """Write a file; "-" is standard output."""
    if file == "-":
        click.echo(text, nl=False)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise files.unwritable(Path(file), error) from None


def refuse_unwritable(file: Path) -> None:
    """Raise GpukitError now if `files.write_whole` could not write a file after a long run. Leaves nothing behind."""
    if file.is_dir():
        raise GpukitError(f"cannot write {file}: it is a folder; name a file in it.")
    if not file.parent.is_dir():
        raise GpukitError(f"cannot write {file}: there is no folder {file.parent}; make it first.")
    unfinished = files.unfinished(file)
    try:
        unfinished.touch()
        unfinished.unlink()
    except OSError as error:
        raise files.unwritable(file, error) from None


def make_folder(folder: Path) -> None:
    """Make a folder for files to come, and those above it. Raises GpukitError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise GpukitError(f"cannot write into {folder}: it is a file; name a folder.") from None
    except OSError as error:
        raise GpukitError(f"cannot make the folder {folder}: {error.strerror}.") from None


def typed() -> str:
    """The command as it was typed, for the record."""
    import shlex

    context = click.get_current_context()
    words = context.command_path.split()
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if value is None or value == option.default or value == () or value is False:
            continue
        for one in value if isinstance(value, tuple) else (value,):
            # Where a file was written says nothing to a reader of the record, its name does.
            word = Path(one).name if isinstance(option.type, click.Path) else str(one)
            words += [option.opts[0]] if one is True else [option.opts[0], word]
    return shlex.join(words)
