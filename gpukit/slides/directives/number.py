"""`number`: a value of a recording, or one that a function works out, as it is now."""

from __future__ import annotations

from typing import Any

from gpukit.slides import objects, recordings
from gpukit.slides.directives import Directive, Page
from gpukit.slides.errors import SlidesError
from gpukit.slides.recordings import THE_MACHINE


def expand(it: Directive, page: Page) -> str:
    """The value in words; where it is from goes to the foot of the slide."""
    it.allow("format", "times", "over")
    value = _value(it.target, it, page)
    if "over" in it.attributes:
        value = _number(value, it) / _number(_value(it.attributes["over"], it, page), it)
    if "times" in it.attributes:
        try:
            value = _number(value, it) * float(it.attributes["times"])
        except ValueError:
            raise it.error(f'times="{it.attributes["times"]}" is no number') from None
    form = it.attributes.get("format", "{:,}" if isinstance(value, int) else "{}")
    try:
        return form.format(value)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise it.error(f'format="{form}" does not fit {value!r}: {error}') from None


def _value(target: str, it: Directive, page: Page) -> Any:
    path, key = objects.split(target)
    if path.endswith(".py"):
        found = page.call(target)
        if not isinstance(found, int | float | str) or isinstance(found, bool):
            raise SlidesError(f"{target} gives a {type(found).__name__}: return a number or text")
        if page.counted:
            page.add_source(THE_MACHINE)
        return found
    value, source = recordings.look_up(page.root, page.results.get(path, path), key)
    if value is None or isinstance(value, dict | list):
        raise SlidesError(f"{target} is {'not known' if value is None else 'no single value'}: name one that is")
    page.add_source(source)
    return value


def _number(value: Any, it: Directive) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value:
        return value
    raise it.error(f"{it.target}: cannot reckon with {value!r}")
