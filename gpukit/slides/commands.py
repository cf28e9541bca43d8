"""Commands of gpukit as a slide shows them: carried out here, printing 80 columns wide and without colours."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gpukit.slides.errors import SlidesError

COLUMNS = "80"


def runner(main: Callable[[Sequence[str]], int], root: Path) -> Callable[[list[str]], str]:
    """What carries out commands in the repository's root by `main`, gpukit's command line; the same one runs once.

    The result raises SlidesError for a command that fails; `gpukit check` may find hazards, for that is what it shows.
    """

    @functools.cache
    def once(words: tuple[str, ...]) -> str:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.chdir(root), _terminal(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
        if code and not (code == 1 and words[:1] == ("check",) and out.getvalue()):
            said = " ".join(err.getvalue().split()) or f"exit code {code}"
            raise SlidesError(f"`gpukit {shlex.join(words)}` fails: {said}")
        return out.getvalue()

    return lambda words: once(tuple(words))


@contextlib.contextmanager
def _terminal() -> Iterator[None]:
    """80 columns, no colours."""
    before = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
    os.environ |= {"COLUMNS": COLUMNS, "NO_COLOR": "1"}
    os.environ.pop("FORCE_COLOR", None)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
