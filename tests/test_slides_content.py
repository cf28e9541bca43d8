"""What functions of slides/ do: they read recordings in the one way that a slide's foot knows of, and are shown."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READERS = {"recording", "gpu"}  # of gpukit.slides: what they read goes to the foot of the slide that is being made
OPENING = {"open", "read_text", "read_bytes", "data_file", "data_files", "newest_recording"}
OPENING |= {"fromfile", "genfromtxt", "loadtxt", "memmap"}  # of NumPy; `load` is gpukit's, too, for kernels
FORMATS = {"json", "tomllib", "csv", "pickle", "gzip", "zipfile", "sqlite3"}
CACHES = {"cache", "lru_cache", "cached_property"}
Name = tuple[str, str]  # a module such as numbers/common, and a name in it
READER: Name = ("gpukit.slides", "")


@dataclass
class Module:
    """A file of slides/: what each of its names is made by, and what it calls its neighbours and their names."""

    tree: ast.Module
    made_by: dict[str, ast.stmt] = field(default_factory=dict)
    neighbours: dict[str, str] = field(default_factory=dict)
    taken: dict[str, Name] = field(default_factory=dict)


def modules(root: Path) -> dict[str, Module]:
    """The files of slides/figures, slides/numbers and the like, by names such as numbers/common."""
    found = {}
    for path in sorted((root / "slides").glob("*/*.py")):
        it = Module(ast.parse(path.read_text(encoding="utf-8")))
        for node in it.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                it.made_by[node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                it.made_by |= {name.id: node for target in targets for name in names_in(target)}
            elif isinstance(node, ast.ImportFrom):
                _imported(it, node, path.parent.name)
        found[f"{path.parent.name}/{path.stem}"] = it
    return found


def _imported(it: Module, node: ast.ImportFrom, room: str) -> None:
    for alias in node.names:
        name = alias.asname or alias.name
        if node.level == 0:
            if node.module == "gpukit.slides" and alias.name in READERS:
                it.taken[name] = READER
            continue
        parts = [*([room] if node.level == 1 else []), *(node.module or "").split("."), alias.name]
        parts = [part for part in parts if part]
        if len(parts) == 2:
            it.neighbours[name] = "/".join(parts)
        else:
            it.taken[name] = ("/".join(parts[:2]), parts[2])


def names_in(node: ast.AST) -> list[ast.Name]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Name)]


def used(it: Module, module: str, node: ast.AST) -> set[Name]:
    """Names of slides/ that a statement uses; what a function calls its own variables are none."""
    own = {name.id for name in names_in(node) if isinstance(name.ctx, ast.Store)}
    own |= {argument.arg for argument in ast.walk(node) if isinstance(argument, ast.arg)}
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        own = set()
    found = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id not in own:
            if one.id in it.taken:
                found.add(it.taken[one.id])
            elif one.id in it.made_by:
                found.add((module, one.id))
        elif isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id in it.neighbours:
            found.add((it.neighbours[one.value.id], one.attr))
    return found


def graph(root: Path) -> dict[Name, set[Name]]:
    """Each name of slides/, and those that it uses."""
    return {
        (module, name): used(it, module, node) - {(module, name)}
        for module, it in modules(root).items()
        for name, node in it.made_by.items()
    }


def reached(edges: dict[Name, set[Name]], start: set[Name]) -> set[Name]:
    seen, waiting = set(), list(start)
    while waiting:
        if (one := waiting.pop()) not in seen:
            seen.add(one)
            waiting += edges.get(one, ())
    return seen


# --- how recordings are read -----------------------------------------------------------------------------------------


def opened(tree: ast.Module) -> Iterator[str]:
    """Files that are opened, formats that are read, and counters that are taken without their key."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
            yield from sorted({name.split(".")[0] for name in names} & FORMATS)
            yield from sorted(names & OPENING)
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield from {called} & OPENING
        elif (
            isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "counters"
        ):
            yield '["counters"]'


def unseen(root: Path) -> list[str]:
    """Places where a recording is read and no slide learns of it: at import, and in cached functions."""
    edges, wrong = graph(root), []
    for module, it in modules(root).items():
        for node in it.tree.body:
            if isinstance(node, ast.FunctionDef):
                outside = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
                names = {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in
                         [inner for mark in node.decorator_list for inner in ast.walk(mark)]}  # fmt: skip
                if names & CACHES and READER in reached(edges, used(it, module, node)):
                    wrong.append(f"{module}.{node.name} is cached")
            else:
                outside = [node]
            if any(READER in reached(edges, used(it, module, one)) for one in outside if one is not None):
                wrong.append(f"{module} reads at import")
    return wrong


# --- what is shown ---------------------------------------------------------------------------------------------------


def shown(root: Path) -> set[Name]:
    """The names that decks show."""
    found = set()
    for deck in sorted((root / "slides").glob("[0-9]*.md")):
        text = deck.read_text(encoding="utf-8")
        found |= {(f"{a}/{b}", c) for a, b, c in re.findall(r"slides/(\w+)/(\w+)\.py::?(\w+)", text)}
        same_file = re.findall(r'slides/(\w+)/(\w+)\.py::\w+ [^>]*?diff="(\w+)"', text)
        found |= {(f"{a}/{b}", c) for a, b, c in same_file}
    return found


def dead(root: Path) -> list[str]:
    """Names that no deck shows, and nothing that one shows uses."""
    edges = graph(root)
    alive = reached(edges, shown(root))
    return sorted(f"{module}.{name}" for module, name in edges if (module, name) not in alive)


# --- the decks' own --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "slides").rglob("*.py")), ids=lambda path: path.stem)
def test_no_function_of_slides_opens_a_file(path):
    assert not list(opened(ast.parse(path.read_text(encoding="utf-8"))))


def test_recordings_are_read_for_the_slide_that_is_being_made():
    assert not unseen(ROOT)


def test_decks_show_all_that_is_made_for_them():
    assert len(shown(ROOT)) > 100
    assert not dead(ROOT)


# --- and each would be seen ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from gpukit.slides import recording\nrecording('x', 'rungs[0].counters')", []),
        ("import gpukit\ngpukit.profile(f, 1, 32).counters['branches']", []),
        ("import json", ["json"]),
        ("from json import loads", ["json"]),
        ("from gpukit.resources import data_file", ["data_file"]),
        ("from gpukit import resources\nresources.newest_recording('x', 'y')", ["newest_recording"]),
        ("def f():\n    return open('x')", ["open"]),
        ("(ROOT / 'data').read_text()", ["read_text"]),
        ("np.loadtxt('x')", ["loadtxt"]),
        ("rung['counters']['values']", ['["counters"]']),
    ],
)
def test_a_file_that_is_opened_is_seen(text, found):
    assert list(opened(ast.parse(text))) == found


COMMON = """
from gpukit.slides import recording

def rungs(family):
    return recording(family)["rungs"]

def percent(share):
    return f"{share:.0%}"
"""
HEAD = "import functools\nfrom gpukit.slides import Table, gpu\nfrom . import common\n"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("def shares():\n    return common.rungs('x')", []),
        ("@functools.cache\ndef shares():\n    return common.percent(0.5)", []),
        ("HALF = common.percent(0.5)", []),
        ("def shares(gpu):\n    return gpu\nBOTH = shares(1)", []),
        ("RUNGS = common.rungs('x')", ["reads at import"]),
        ("SHEET: object = gpu('H200')", ["reads at import"]),
        ("def shares():\n    return common.rungs('x')\nHALF = [one for one in shares()]", ["reads at import"]),
        ("def shares(rungs=common.rungs('x')):\n    return rungs", ["reads at import"]),
        ("@functools.cache\ndef shares():\n    return common.rungs('x')", [".shares is cached"]),
        ("from functools import lru_cache\n@lru_cache(8)\ndef shares():\n    return gpu('T4')", [".shares is cached"]),
        (
            "def helper():\n    return gpu('T4')\n@functools.cache\ndef shares():\n    return helper()",
            [".shares is cached"],
        ),
    ],
)
def test_a_recording_that_no_slide_learns_of_is_seen(tmp_path, text, wrong):
    a_course(tmp_path, HEAD + text)
    assert [one.removeprefix("numbers/deck").strip() for one in unseen(tmp_path)] == wrong


def a_course(folder: Path, text: str, deck: str = "") -> None:
    (folder / "slides" / "numbers").mkdir(parents=True)
    (folder / "slides" / "figures").mkdir()
    (folder / "slides" / "numbers" / "common.py").write_text(COMMON)
    (folder / "slides" / "numbers" / "deck.py").write_text(text)
    (folder / "slides" / "figures" / "deck.py").write_text(
        "from ..numbers import deck as numbers\nfrom ..numbers.common import rungs\n\n"
        "def drawn():\n    return numbers.shares(), rungs('x')\n"
    )
    (folder / "slides" / "01_deck.md").write_text(deck)


MADE = (
    HEAD
    + "KEYS = ('a',)\nLEFT = 1\n\ndef shares():\n    return common.percent(len(KEYS))\n\ndef other():\n    return 1\n"
)


@pytest.mark.parametrize(
    ("deck", "unused"),
    [
        (
            "",
            ["figures/deck.drawn", "numbers/common.percent", "numbers/common.rungs", "KEYS", "LEFT", "other", "shares"],
        ),
        ("<!-- fig: slides/figures/deck.py::drawn alt='x' -->", ["LEFT", "other"]),
        (
            "{{number: slides/numbers/deck.py::shares}} <!-- output: gpukit check slides/numbers/deck.py:LEFT -->",
            ["figures/deck.drawn", "numbers/common.rungs", "other"],
        ),
        (
            '<!-- code: slides/numbers/deck.py::shares mark="x" diff="other" -->',
            ["figures/deck.drawn", "numbers/common.rungs", "LEFT"],
        ),
    ],
)
def test_what_no_deck_shows_is_seen(tmp_path, deck, unused):
    a_course(tmp_path, MADE, deck)
    assert [one.removeprefix("numbers/deck.") for one in dead(tmp_path)] == unused
