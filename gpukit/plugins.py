"""What labs add to gpukit's commands: families of kernels and commands of their own, found by path.

A lab folder `labs/NN_TOPIC` may hold a Python package of the same topic, `labs/NN_TOPIC/TOPIC`. It is imported as
`gpukit_labs.TOPIC`, and may define

    FAMILY      a `gpukit.registry.Family`, which `gpukit list`, `profile`, `check` and `bench` then know,
    COMMANDS    click commands, which become commands of `gpukit`,
    BENCH       a click command, which becomes `gpukit bench TOPIC` in place of the family's own.

The labs are those of the folder that the command is given in, or else those beside gpukit in a checkout. A student's
tree holds no such package. gpukit never imports a lab by its name: data flows from the labs to gpukit alone.
"""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from gpukit.errors import GpukitError

NAMESPACE = "gpukit_labs"
_FOLDER = re.compile(r"\d\d_(?P<topic>[a-z][a-z0-9_]*)")


def labs_folder(start: Path | None = None) -> Path | None:
    """The folder `labs` here or above, or else the one beside gpukit in a checkout; None where there is neither."""
    start = (start or Path.cwd()).absolute()
    beside = Path(__file__).resolve().parents[1]
    for folder in (start, *start.parents, beside):
        labs = folder if folder.name == "labs" else folder / "labs"
        if labs.is_dir() and any(_FOLDER.fullmatch(path.name) for path in labs.iterdir()):
            return labs
    return None


def packages(labs: Path | None) -> dict[str, Path]:
    """Topic -> the lab's folder, of every lab that brings a package, in the order of the labs."""
    found = {}
    for lab in sorted(labs.iterdir()) if labs is not None else ():
        match = _FOLDER.fullmatch(lab.name)
        if match and (lab / match["topic"] / "__init__.py").is_file():
            found[match["topic"]] = lab
    return found


@cache
def plugins() -> dict[str, ModuleType]:
    """Topic -> package, imported, of the labs that bring one. Raises GpukitError for one that cannot be imported."""
    return {topic: load(topic) for topic in packages(labs_folder())}


def load(topic: str) -> ModuleType:
    """The package of one lab. Raises GpukitError when there is none, or it cannot be imported."""
    known = packages(labs_folder())
    if topic not in known:
        raise GpukitError(f"no lab here brings a package {topic!r}: go to the folder that holds your labs")
    _namespace().__path__ = [str(lab) for lab in known.values()]
    try:
        return importlib.import_module(f"{NAMESPACE}.{topic}")
    except GpukitError:
        raise
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] in ("gpukit", NAMESPACE):
            raise _broken(topic, known[topic], error) from error
        raise  # a library that the command says how to install
    except Exception as error:
        raise _broken(topic, known[topic], error) from error


def _broken(topic: str, lab: Path, error: Exception) -> GpukitError:
    return GpukitError(f"this lab's package cannot be imported: {type(error).__name__}: {error}", file=str(lab / topic))


def _namespace() -> ModuleType:
    """The package that holds those of the labs: its path is their folders, so that Python itself finds them."""
    if NAMESPACE not in sys.modules:
        made = ModuleType(NAMESPACE, "Packages that labs bring; see gpukit.plugins.")
        made.__path__ = []
        sys.modules[NAMESPACE] = made
    return sys.modules[NAMESPACE]
