"""What labs add to gpukit's commands: families of kernels and commands of their own, found by path.

A lab folder `labs/NN_TOPIC` may hold a Python package of the same topic, `labs/NN_TOPIC/TOPIC`. It is imported as
`gpukit_labs.TOPIC`, and its `__init__.py` says what it brings, by the names of its modules alone, so that each is
imported when it is asked for and not before:

    FAMILY = "family:FAMILY"          a `gpukit.registry.Family`, for `gpukit list`, `profile`, `check` and `bench`
    COMMANDS = {"spmv": "cli:spmv"}   a click command for each name, `gpukit NAME`
    BENCH = "bench:bench"             a click command, `gpukit bench TOPIC`, in place of the family's own

A module in a package of its own is named as Python does it: "bench.command:bench".

The labs are those of the folder that the command is given in, or else those beside gpukit in a checkout. A student's
tree holds no such package. gpukit never imports a lab by its name: data flows from the labs to gpukit alone. A name
that gpukit has itself stays gpukit's.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gpukit import course
from gpukit.errors import GpukitError

if TYPE_CHECKING:
    import click

    from gpukit.registry import Family

NAMESPACE = "gpukit_labs"
_PLACE = re.compile(r"(?P<module>\w+(?:\.\w+)*):(?P<name>\w+)")


# --- finding them ----------------------------------------------------------------------------------------------------


def labs_folder(start: Path | None = None) -> Path | None:
    """The folder `labs` here or above, or else the one beside gpukit in a checkout; None where there is neither."""
    return course.labs_above(start) or course.labs_in(Path(__file__).resolve().parents[1])


def packages(labs: Path | None) -> dict[str, Path]:
    """Topic -> the lab's folder, of every lab that brings a package, in the order of the labs."""
    found = {}
    for lab in sorted(labs.iterdir()) if labs is not None else ():
        match = course.LAB.fullmatch(lab.name)
        topic = match["topic"] if match else ""
        if topic.isidentifier() and (lab / topic / "__init__.py").is_file():
            found[topic] = lab
    return found


def load(topic: str) -> ModuleType:
    """The package of one lab. Raises GpukitError when there is none, or it cannot be imported."""
    known = packages(labs_folder())
    if topic not in known:
        raise GpukitError(f"no lab here brings a package {topic!r}: go to the folder that holds your labs")
    _namespace().__path__ = [str(lab) for lab in known.values()]
    return _import(f"{NAMESPACE}.{topic}", known[topic] / topic)


def _import(name: str, place: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except GpukitError:
        raise
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("gpukit", NAMESPACE):
            raise _broken(error, place) from error
        raise  # a library that the command says how to install
    except (Exception, SystemExit) as error:
        raise _broken(error, place) from error


def _broken(error: BaseException, place: Path) -> GpukitError:
    what = " ".join(str(error).split())
    return GpukitError(f"this lab's package cannot be imported: {type(error).__name__}: {what}", file=str(place))


def _namespace() -> ModuleType:
    """The package that holds those of the labs: its path is their folders, so that Python itself finds them."""
    if NAMESPACE not in sys.modules:
        made = ModuleType(NAMESPACE, "Packages that labs bring; see gpukit.plugins.")
        made.__path__ = []
        sys.modules[NAMESPACE] = made
    return sys.modules[NAMESPACE]


# --- what they bring -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plugin:
    """The package of a lab. What it brings is imported when it is asked for.

    All of its methods raise GpukitError for a package that is broken, and ModuleNotFoundError for a library that it
    needs and that is not installed.
    """

    topic: str
    lab: Path

    def family(self) -> Family | None:
        """Its family of kernels."""
        from gpukit.registry import Family

        return self._brought("FAMILY", Family)

    def bench(self) -> click.Command | None:
        """Its own `gpukit bench TOPIC`."""
        import click

        return self._brought("BENCH", click.Command)

    def names(self) -> tuple[str, ...]:
        """Of its commands."""
        return tuple(self._commands())

    def command(self, name: str) -> click.Command:
        """One of its commands by its name, a name of `names`."""
        import click

        return self._resolve(f"COMMANDS[{name!r}]", self._commands()[name], click.Command)

    def _commands(self) -> dict[str, Any]:
        found = getattr(load(self.topic), "COMMANDS", {})
        if not isinstance(found, dict):
            raise self._wrong('COMMANDS must be a dictionary, such as {"name": "module:command"}')
        return found

    def _brought(self, what: str, kind: type) -> Any:
        place = getattr(load(self.topic), what, None)
        return None if place is None else self._resolve(what, place, kind)

    def _resolve(self, what: str, place: Any, kind: type) -> Any:
        """What lies at a place such as "family:FAMILY" of the package."""
        match = _PLACE.fullmatch(place) if isinstance(place, str) else None
        if match is None:
            raise self._wrong(f"{what} must be a place such as 'module:name', and it is {place!r}")
        load(self.topic)
        file = self.lab.joinpath(self.topic, *match["module"].split(".")).with_suffix(".py")
        module = _import(f"{NAMESPACE}.{self.topic}.{match['module']}", file)
        found = getattr(module, match["name"], None)
        if not isinstance(found, kind):
            raise self._wrong(f"{what} is {place}, and there is no {kind.__name__} of this name")
        return found

    def _wrong(self, why: str) -> GpukitError:
        return GpukitError(f"this lab's package brings nothing that gpukit can take: {why}", file=str(self._init))

    @property
    def _init(self) -> Path:
        return self.lab / self.topic / "__init__.py"


def plugins() -> list[Plugin]:
    """Those of the labs here, in the order of the labs; nothing is imported."""
    return [Plugin(topic, lab) for topic, lab in packages(labs_folder()).items()]


def families() -> tuple[dict[str, Family], list[str]]:
    """The families by name, and a sentence for each plugin that has one and cannot be used."""
    found: dict[str, Family] = {}
    faults = []
    for plugin in plugins():
        family, fault = _tried(plugin.family)
        if family is not None:
            found[family.name] = family
        faults += fault
    return found, faults


def commands() -> tuple[dict[str, click.Command], list[str]]:
    """The commands by name, and a sentence for each plugin of which one cannot be used."""
    found: dict[str, click.Command] = {}
    faults = []
    for plugin in plugins():
        names, fault = _tried(plugin.names)
        faults += fault
        for name in names or ():
            command, fault = _tried(partial(plugin.command, name))
            if command is not None:
                found[name] = command
            faults += fault
    return found, faults


def command(name: str) -> click.Command | None:
    """The command of this name; of the plugins, no more than their `__init__.py` is imported to find it. None where no
    lab here brings it.

    Raises GpukitError where it is broken, or the whole plugin of this topic.
    """
    for plugin in plugins():
        names, _ = _tried(plugin.names)
        if names is None and name == plugin.topic:
            plugin.names()  # once more, for its error
        if name in (names or ()):
            return plugin.command(name)
    return None


def named(topic: str) -> Plugin | None:
    """The plugin of a topic; None where no lab here brings it."""
    return next((plugin for plugin in plugins() if plugin.topic == topic), None)


def _tried(asked: Callable[[], Any]) -> tuple[Any, list[str]]:
    """(what was asked for, no fault), or (None, the fault's sentence)."""
    try:
        return asked(), []
    except GpukitError as error:
        return None, [str(error)]
    except ModuleNotFoundError as error:
        return None, [f"a lab's package needs {error.name}: python -m pip install {error.name}"]
