"""Values of recordings by key, and where and when they were measured."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpukit.gpus import DEFAULT_GPU, Gpu, find_gpu
from gpukit.slides import objects
from gpukit.slides.errors import SlidesError

GPUS = "data/gpus.toml"
COUNTED = "counted by the CPU machine"
LONGEST = 90  # characters that a line at the foot of a slide has room for
_STEP = re.compile(
    r"\.?(?P<key>[\w-]+)|\[(?P<index>-?\d+)\]|\['(?P<quoted>[^']+)'\]|\[(?P<field>\w+)=(?P<value>[^\]]+)\]"
)


@dataclass(frozen=True)
class Source:
    """Where a value is from: the device and the date or the work that published it, and the file.

    Without a device the CPU machine counted it; without a date the device's makers state it.
    """

    device: str
    when: str
    file: str


THE_MACHINE = Source("", COUNTED, "")
DATA_SHEETS = Source("NVIDIA's documents", "", "gpus.toml")  # which names them


def look_up(root: Path, path: str, key: str) -> tuple[Any, Source]:
    """The value of a recording at a key such as `rungs[name=naive].timing.median`, and where it is from.

    Raises SlidesError: the file or the key is not there, or nothing says which device the value is of, and when.
    """
    data = load(objects.existing(root, path))
    value, passed, at, place = data, [data], 0, ""
    while at < len(key):
        step = _STEP.match(key, at)
        if step is None:
            raise SlidesError(f"{key!r} is no key: write a.b, [3], [name=naive] or ['a name']")
        value = _step(value, step, path, place)
        at, place = step.end(), key[: step.end()]
        passed.append(value)
    return value, _source(path, passed)


@dataclass
class _Reading:
    """A function of slides/ at work, and where what it has read is from."""

    root: Path
    sources: list[Source]


_READING: ContextVar[_Reading | None] = ContextVar("reading", default=None)


@contextlib.contextmanager
def reading(root: Path) -> Iterator[list[Source]]:
    """Where what is read inside by `recording` and `gpu` is from: a list, which fills."""
    now = _Reading(root, [])
    token = _READING.set(now)
    try:
        yield now.sources
    finally:
        _READING.reset(token)


def recording(path: str, key: str = "") -> Any:
    """The data of a recording such as "data/results/h200.json", or what it has at a key, written as in a deck.

    For functions of slides/figures and slides/numbers: device and date, or who counted, go to the foot of the slide
    that the function is called for. Not to be changed, and not to be read when a module is imported or in a cached
    function: then nobody knows which slide it is for.

    Raises SlidesError: there is no such file or key, it does not say its device and date, or no slide is being made.
    """
    now = _now(path)
    found, source = look_up(now.root, path, key)
    now.sources.append(source)
    return found


def gpu(name: str = DEFAULT_GPU) -> Gpu:
    """What NVIDIA's documents say of a GPU, as data/gpus.toml has it: as `recording`, for the same functions."""
    _now(GPUS).sources.append(DATA_SHEETS)
    return find_gpu(name)


def _now(path: str) -> _Reading:
    now = _READING.get()
    if now is None:
        raise SlidesError(f"{path} is read when no slide is made: read it in the function that the deck names")
    return now


@functools.cache
def load(file: Path) -> Any:
    """A file of data: JSON or TOML."""
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except ValueError as error:
        raise SlidesError(f"{file.name} cannot be read: {error}") from None


def _step(value: Any, step: re.Match[str], path: str, place: str) -> Any:
    name = step["key"] or step["quoted"]
    inside = f"{path}::{place}" if place else path
    if name is not None:
        if isinstance(value, Mapping) and name in value:
            return value[name]
        known = ", ".join(list(map(str, value))[:12]) if isinstance(value, Mapping) else "no keys"
        raise SlidesError(f"{inside} has no {name!r}; it has {known}")
    if step["index"] is not None:
        number = int(step["index"])
        if isinstance(value, Sequence) and not isinstance(value, str) and -len(value) <= number < len(value):
            return value[number]
        raise SlidesError(f"{inside} has no item {number}")
    for item in value if isinstance(value, Sequence) and not isinstance(value, str) else ():
        if isinstance(item, Mapping) and str(item.get(step["field"])) == step["value"]:
            return item
    raise SlidesError(f"{inside} has no item whose {step['field']} is {step['value']}")


def _source(path: str, passed: Sequence[Any]) -> Source:
    """The innermost device and date, or published work, that the values passed on the way name; see data/README.md.

    The counters of a rung are the CPU machine's, on whichever GPU the recording was made.
    """
    file = Path(path).name
    if Path(path).parts[0] == "labs":
        return THE_MACHINE
    if path == GPUS:
        return DATA_SHEETS
    device = when = ""
    for value in passed:
        if isinstance(value, Mapping):
            if value.keys() >= {"level", "values"}:
                return Source("", COUNTED, file)
            machine = value.get("machine") or value.get("environment")
            for about in (value, machine if isinstance(machine, Mapping) else {}):
                device = _text(about, "gpu") or _text(about, "cpu") or device
                when = _text(about, "date") or _text(about, "source") or when
    if not device or not when:
        lacks = "device" if not device else "date"
        raise SlidesError(f"{path} does not say its {lacks}: a number without it may not stand on a slide")
    return Source(device, when, file)


def _text(about: Mapping[str, Any], key: str) -> str:
    """Text at a key. Elsewhere the same words name numbers: what a GPU counted, counts at source level."""
    return found if isinstance(found := about.get(key), str) else ""


def footer(sources: Sequence[Source]) -> str:
    """Sources as one line for the foot of a slide: what was measured here, then what others published, then counts.

    A file is named once. Where the line would have more than LONGEST characters, files of the last devices go first; of
    the first one's, one stands for all before it goes, too. Device and date are always there.
    """
    files: dict[tuple[str, str], list[str]] = {}
    for one in sorted(sources, key=_rank):
        names, name = files.setdefault((one.device, one.when), []), one.file.removesuffix(".json")
        if name and not any(name in others for others in files.values()):
            names.append(name)
    heads = [", ".join(filter(None, head)) for head in files]
    tails = [", ".join(names) for names in files.values()]
    shorter = [(place, "") for place in range(len(tails) - 1, 0, -1)]
    first = next(iter(files.values()))  # a slide without sources has no foot
    shorter += [(0, f"{first[0]} and {len(first) - 1} more"), (0, "")] if len(first) > 1 else [(0, "")]
    for place, tail in shorter:
        if len(_line(heads, tails)) > LONGEST:
            tails[place] = tail
    return _line(heads, tails)


def _rank(source: Source) -> int:
    return 0 if source.when[:1].isdigit() else 1 if source.device else 2


def _line(heads: Sequence[str], tails: Sequence[str]) -> str:
    return " · ".join(f"{head}: {tail}" if tail else head for head, tail in zip(heads, tails, strict=True))
