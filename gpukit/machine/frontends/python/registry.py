"""The table of intrinsics: canonical name -> the function that compiles a call of it."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpukit.machine.frontends.python.values import Value

if TYPE_CHECKING:
    from gpukit.machine.frontends.python.operations import Evaluator

Handler = Callable[..., Value]
HANDLERS: dict[str, Handler] = {}
PLACED: set[str] = set()  # those told where in the source they are called, as `site`


def intrinsic(*names: str, placed: bool = False) -> Callable[[Handler], Handler]:
    """Register a handler. Its parameters after the evaluator are those of the call; a default makes one optional."""

    def register(handler: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = handler
            if placed:
                PLACED.add(name)
        return handler

    return register


def call(
    ev: Evaluator, name: str, args: list[Value], keywords: dict[str, Value], site: tuple[int, int]
) -> Value | None:
    """Compile a call of an intrinsic; None if there is none of that name."""
    handler = HANDLERS.get(name)
    if handler is None:
        return None
    extra = {"site": site} if name in PLACED else {}
    try:
        bound = inspect.signature(handler).bind(ev, *args, **keywords, **extra)
    except TypeError as error:
        ev.fail(f"`{shown(name)}` cannot be called so: {error}")
    return handler(*bound.args, **bound.kwargs)


def shown(name: str) -> str:
    """A canonical name as the user wrote it."""
    return name.removeprefix("builtins.")


def suggestion(name: str) -> str:
    """What to append for a name close to that of an intrinsic of the same module, or nothing."""
    package, _, last = name.rpartition(".")
    known = [other for home, _, other in (handler.rpartition(".") for handler in HANDLERS) if home == package]
    close = difflib.get_close_matches(last, known, n=1, cutoff=0.75)
    return f": did you mean `{shown(f'{package}.{close[0]}')}`?" if close else ""
