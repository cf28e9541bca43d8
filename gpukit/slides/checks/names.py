"""Names in a deck: commands, files, kernels, families, labs, other decks. What is named must be there."""

from __future__ import annotations

import contextlib
import importlib
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from gpukit import registry
from gpukit.errors import GpukitError
from gpukit.slides import objects
from gpukit.slides.checks import text
from gpukit.slides.checks.finding import Finding, on
from gpukit.slides.directives.code import function_lines
from gpukit.slides.model import Deck, Slide

FOLDERS = ("gpukit", "labs", "data", "slides", "tests")
MADE = "slides/build"  # by a build, so that it may not be there yet
HELP = ("-h", "--help", "--version")
# FILE, FAMILY.RUNG, NAME=VALUE, [LAB], ..., <file>: a place for something, not a name.
PLACEHOLDER = re.compile(r"[\[<]|\.\.\.|…|\b[A-Z][A-Z_]*\b(?!/)|NN_")
KERNEL = re.compile(r"(?P<file>[\w./-]+\.(?:py|cu|cuh)):{1,2}(?P<name>\w+)(?:<.*>)?")
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./*-]*")
ATTRIBUTE = re.compile(r"gpukit(?:\.\w+)+")
RUNG = re.compile(r"(?P<family>[a-z_]\w*)\.(?P<rung>(?:cpp:)?[a-z_]\w*)")
ENDINGS = ("py", "cu", "cuh", "ptx", "json", "html", "npy")  # of a learner's own files
LAB = re.compile(r"\b[Ll]ab (?P<number>\d+)\b")
DECK = re.compile(r"(?P<name>\d\d_\w+)\.md(?:#.*)?")


def check(decks: Sequence[Deck], root: Path, command: click.Command, known: Sequence[str] = ()) -> Iterator[Finding]:
    """All that this module looks for.

    command: gpukit's command line, which parses what decks say is typed there. known: names of all decks.
    """
    known = known or [deck.name for deck in decks]
    for deck in decks:
        for slide in deck.slides:
            for sentence in (*code(slide, root, command), *labs(slide, root), *links(slide, known)):
                yield on(deck, slide, sentence)


def code(slide: Slide, root: Path, command: click.Command) -> Iterator[str]:
    """Commands, files and kernels between backticks, and commands at a prompt in a fence."""
    prompts = [line.strip().removeprefix("$ ") for info, lines in text.fences(slide) if info.split()[:1] != ["diff"]
               for line in lines if line.strip().startswith(("$ ", "gpukit ", "pytest "))]  # fmt: skip
    for written in dict.fromkeys((*text.code_spans(slide), *prompts)):
        for fault in of_code(written, root, command):
            yield f"`{written}`: {fault}"


def of_code(written: str, root: Path, command: click.Command) -> Iterator[str]:
    """What is wrong with one piece of code, as far as it names things of this repository."""
    first = written.split(" ")[0]
    if first == "gpukit":
        yield from _command(written, root, command)
    elif first == "pytest":
        yield from _tests(written, root)
    elif " " in written:
        return
    elif found := KERNEL.fullmatch(written):
        yield from _kernel(found["file"], found["name"], root)
    elif PATH.fullmatch(written) and not PLACEHOLDER.search(
        written.removesuffix("README.md").removesuffix("AGENTS.md")
    ):
        if not written.startswith(MADE) and not list(root.glob(written.rstrip("/"))):
            yield "there is no such file"
    elif ATTRIBUTE.fullmatch(name := written.partition("(")[0]):
        yield from _attribute(name)
    elif (found := RUNG.fullmatch(written)) and found["family"] in registry.families():
        yield from _rung(found["family"], found["rung"])


def labs(slide: Slide, root: Path) -> Iterator[str]:
    for found in LAB.finditer(text.prose(slide)):
        if not list((root / "labs").glob(f"{int(found['number']):02}_*")):
            yield f"there is no lab {found['number']}"


def links(slide: Slide, known: Sequence[str]) -> Iterator[str]:
    for address in text.links(slide):
        found = DECK.fullmatch(address)
        if found and found["name"] not in known:
            yield f"there is no deck {found['name']}{registry.nearest(found['name'], known)}"


def _command(written: str, root: Path, command: click.Command) -> Iterator[str]:
    try:
        words = shlex.split(written, comments=True)[1:]
    except ValueError as error:
        yield f"no shell reads this: {error}"
        return
    for cut in ("|", "&&", ";", ">"):
        words = words[: words.index(cut)] if cut in words else words
    try:
        with contextlib.chdir(root):
            fault = _parse(command, [word for word in words if word not in HELP])
    except click.exceptions.Exit:
        fault = ""
    except click.ClickException as error:
        fault = error.format_message()
    except GpukitError as error:
        fault = str(error)
    if fault:
        yield f"gpukit does not take this: {fault}"
    for word in words:
        if found := KERNEL.fullmatch(word):
            yield from _kernel(found["file"], found["name"], root)
        elif words[0] in ("profile", "check") and (found := RUNG.fullmatch(word)) and found["rung"] not in ENDINGS:
            yield from _rung(found["family"], found["rung"])


def _parse(command: click.Command, words: list[str]) -> str:
    """Read a command line as click does, without carrying it out; what is wrong with it.

    A command without arguments, or with a word in place of one (FILE), is only named: its options must exist.
    """
    with command.make_context("gpukit", [], resilient_parsing=True) as context:
        while isinstance(command, click.Group) and words:
            if PLACEHOLDER.search(words[0]):
                return ""  # `gpukit bench FAMILY --machine gpu`: which options there are is up to what stands there
            name, found, words = command.resolve_command(context, words)
            if found is None:
                return f"there is no command {name}"
            command, context = found, click.Context(found, parent=context, info_name=name)
        if not words or any(PLACEHOLDER.search(word) for word in words):
            known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
            wrong = [word for word in words if word.startswith("-") and word.partition("=")[0] not in known]
            return f"{context.info_name} has no option {', '.join(wrong)}" if wrong else ""
        try:
            with command.make_context(context.info_name, list(words), parent=context.parent):
                return ""
        except click.MissingParameter as error:
            # `gpukit profile --level both` speaks of an option.
            return "" if words[0].startswith("-") else error.format_message()


def _tests(written: str, root: Path) -> Iterator[str]:
    for word in written.split()[1:]:
        path = word.partition("::")[0]
        if path.split("/")[0] in FOLDERS and not PLACEHOLDER.search(path) and not list(root.glob(path.rstrip("/"))):
            yield f"there is no {path}"


def _kernel(file: str, name: str, root: Path) -> Iterator[str]:
    if file.split("/")[0] not in FOLDERS:
        return  # a learner's own file
    try:
        objects.existing(root, file)
        if Path(file).stem not in ("solution", "student"):
            function_lines(root, file, name)
    except GpukitError as error:
        yield str(error)


def _rung(family: str, rung: str) -> Iterator[str]:
    try:
        registry.find_rung(registry.find_family(family), rung)
    except GpukitError as error:
        yield str(error)


def _attribute(name: str) -> Iterator[str]:
    found = importlib.import_module("gpukit")
    for part in name.split(".")[1:]:
        if not hasattr(found, part):
            with contextlib.suppress(ImportError):
                importlib.import_module(f"{found.__name__}.{part}")
        if not hasattr(found, part):
            yield f"{getattr(found, '__name__', name)} has no {part}"
            return
        found = getattr(found, part)
