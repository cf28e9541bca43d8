"""Commands of gpukit as a slide shows them: carried out here, printing 80 columns wide and without colours."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gpukit.slides.errors import SlidesError

_TOOK = re.compile(r", \d+\.\d+ s on the CPU machine")  # another one in every build, and of no interest here


def runner(main: Callable[[Sequence[str]], int], root: Path) -> Callable[[list[str]], str]:
    """What carries out commands in the repository's root by `main`, gpukit's command line; the same one runs once.

    The result raises SlidesError for a command that fails; `gpukit check` may find hazards, for that is what it shows.
    """

    @functools.cache
    def once(words: tuple[str, ...]) -> str:
        out, err = _Terminal(), io.StringIO()
        with contextlib.chdir(root), _terminal(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        if code and not (code == 1 and words[:1] == ("check",) and out.getvalue()):
            said = " ".join(err.getvalue().split()) or f"exit code {code}"
            raise SlidesError(f"`gpukit {shlex.join(words)}` fails: {said}")
        return "\n".join(_TOOK.sub("", line).rstrip() for line in out.getvalue().splitlines())

    return lambda words: once(tuple(words))


class _Terminal(io.StringIO):
    """What a command takes for a terminal, so that it prints as wide as that is."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def _terminal() -> Iterator[None]:
    """The variables of a terminal of 80 columns that knows no colours."""
    said = {"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
    before = {name: os.environ.get(name) for name in (*said, "FORCE_COLOR")}
    os.environ |= said
    os.environ.pop("FORCE_COLOR", None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
