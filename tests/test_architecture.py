"""What may import what. The walls stand between packages that have different reasons to change."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import gpukit
from gpukit import plugins

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gpukit"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
FRONTENDS = PACKAGE / "machine" / "frontends"
HARDWARE = sorted(p for p in (PACKAGE / "machine").rglob("*.py") if FRONTENDS not in p.parents)


def imported(path: Path) -> set[str]:
    """Full names of the modules that a file imports, wherever in the file."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = ".".join([*base, node.module] if node.module else base)
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return names


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_walls_have_two_sides():
    assert len(HARDWARE) > 5
    assert len(MODULES) - len(HARDWARE) > 20


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_gpukit_knows_nothing_of_its_users(path):
    roots = {name.split(".")[0] for name in imported(path)}
    assert not roots & {"labs", "gpukit_labs", "tests", "slides"}


@pytest.mark.parametrize("path", HARDWARE, ids=relative)
def test_the_hardware_half_knows_nothing_of_source_languages(path):
    names = imported(path)
    assert not [name for name in names if name.startswith("gpukit.machine.frontends")]
    roots = {name.split(".")[0] for name in names}
    assert not roots & {"ast", "inspect", "numba", "numba_cuda"}
    inside = {name for name in names if name.split(".")[0] == "gpukit"}
    assert all(name == "gpukit" or name.startswith(("gpukit.machine", "gpukit.errors")) for name in inside)


# Room -> the rooms of gpukit that it may use besides itself. What is not listed here stands above all of them.
MAY_USE = {
    "cpp": (),
    "machine.frontends.arguments": (),
    "machine.frontends.cleanup": ("machine.analysis", "machine.program"),
    "machine.frontends.ptx": ("errors", "machine"),
    "machine.frontends.python": ("errors", "machine"),
    "compilers": ("cpp", "errors", "machine", "standin"),
    "raw": ("compilers", "cpp", "cuda", "errors", "gpus", "launching", "machine"),
    "cupy": ("cuda", "errors", "raw"),
    "cupyx": ("cupy",),
    "gpu": (
        *("compilers", "doctor", "errors", "gpus", "launching", "levels", "machine", "raw", "registry", "report"),
        *("standin", "targets"),
    ),
    "comparison": ("errors", "launching", "levels", "machine", "report"),
    "course": (),
    "labs": (
        *("course", "cpp", "devices", "errors", "files", "launching", "machine", "packing", "raw", "registry"),
        *("report", "sandbox", "timing"),
    ),
    "grading.exports": ("errors", "grading"),
    "grading": ("__version__", "cpp", "errors", "files", "labs", "packing", "plots", "provenance", "report"),
    "sandbox": ("compilers", "errors", "machine.frontends.python"),
    # A deck's source, what it shows, what that becomes, and what is checked: each knows those before it.
    "slides.model": (),
    "slides.values": (),
    "slides.errors": ("errors",),
    "slides.source": ("slides.errors",),
    "slides.objects": ("errors", "registry", "slides.errors"),
    "slides.recordings": ("gpus", "slides.errors", "slides.objects"),
    "slides.stepper": ("errors", "plots"),
    "slides.commands": ("slides.errors",),
    "slides.directives": (
        *("cpp", "errors", "labs", "plots", "registry"),
        *("slides.errors", "slides.model", "slides.objects", "slides.recordings", "slides.stepper", "slides.values"),
    ),
    "slides.expand": (
        *("registry", "slides.directives", "slides.errors", "slides.model", "slides.recordings", "slides.source"),
    ),
    "slides.live": (
        *("cuda", "errors", "files", "launching", "machine", "report", "resources", "slides.directives"),
        *("slides.errors", "slides.html.page", "slides.html.site", "slides.objects", "slides.source", "tracing"),
    ),
    "slides.html": (
        *("course", "errors", "files", "registry", "slides.commands", "slides.errors", "slides.expand", "slides.live"),
        *("slides.model", "slides.source"),
    ),
    "slides.checks": (
        *("errors", "registry", "slides.directives", "slides.errors", "slides.html", "slides.live", "slides.model"),
        *("slides.objects", "slides.source"),
    ),
}


def inside(name: str, rooms: Iterable[str]) -> bool:
    return any(name == f"gpukit.{room}" or name.startswith(f"gpukit.{room}.") for room in rooms)


def modules_in(room: str) -> list[Path]:
    folder = PACKAGE / Path(*room.split("."))
    return sorted(folder.rglob("*.py")) or [folder.with_suffix(".py")]


def ours(path: Path) -> set[str]:
    """Names in gpukit that a file imports."""
    return {name for name in imported(path) if name.startswith("gpukit.")}


@pytest.mark.parametrize("room", MAY_USE)
def test_rooms_use_only_what_lies_below_them(room):
    rooms = (room, *MAY_USE[room])
    above = {f"gpukit.{one.rpartition('.')[0]}" for one in rooms if "." in one}  # from gpukit.slides import source
    wrong = {f"{relative(p)}: {n}" for p in modules_in(room) for n in ours(p) - above if not inside(n, rooms)}
    assert not wrong


@pytest.mark.parametrize(("room", "other"), [("ptx", "python"), ("python", "ptx")])
def test_the_front_ends_know_nothing_of_each_other(room, other):
    there = (f"machine.frontends.{other}",)
    paths = modules_in(f"machine.frontends.{room}")
    assert not [relative(path) for path in paths if any(inside(name, there) for name in ours(path))]


# --- packages of labs ------------------------------------------------------------------------------------------------

# What a lab's package (labs/NN_TOPIC/TOPIC) may use of gpukit: what `import gpukit` shows, and these rooms.
FOR_LABS = (
    *("bench", "clocks", "cuda", "devices", "doctor", "errors", "files", "gpus", "inputs", "launching", "plots"),
    *("plugins", "progress", "provenance", "raw", "registry", "report", "resources", "roofline", "timing", "warp"),
    *("cli.families", "cli.output", "compilers.toolkit"),
)
LAB_PACKAGES = [lab / topic for topic, lab in plugins.packages(ROOT / "labs").items()]
LAB_MODULES = sorted(path for package in LAB_PACKAGES for path in package.rglob("*.py"))


def walls_broken(path: Path, package: Path) -> list[str]:
    """What a module of a lab's package imports and may not."""
    home = ".".join(package.relative_to(ROOT).parts)
    above = {f"gpukit.{room.rpartition('.')[0]}" for room in FOR_LABS if "." in room}  # from gpukit.cli import output
    public = {"gpukit", *above, *(f"gpukit.{name}" for name in gpukit.__all__)}
    names = imported(path) - public
    wrong = {name for name in names if name.startswith("gpukit.") and not inside(name, FOR_LABS)}
    wrong |= {name for name in names if name.split(".")[0] in ("gpukit_labs", "tests", package.name)}
    return sorted(
        wrong | {name for name in names if name.startswith("labs.") and not f"{name}.".startswith(f"{home}.")}
    )


@pytest.mark.parametrize("path", LAB_MODULES, ids=relative)
def test_a_labs_package_uses_gpukits_public_api_and_itself(path):
    (package,) = (package for package in LAB_PACKAGES if package in path.parents)
    assert not walls_broken(path, package)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("from gpukit.registry import Family", ""),
        ("import gpukit\nfrom gpukit import cuda, profile", ""),
        ("from gpukit.cli import output", ""),
        ("from . import other\nfrom .other import thing", ""),
        ("from gpukit.machine import memory", "gpukit.machine"),
        ("from gpukit.cli import grading", "gpukit.cli.grading"),
        ("from gpukit.kernels.reduction import naive", "gpukit.kernels.reduction"),
        ("from gpukit_labs.two import other", "gpukit_labs.two"),
        ("from two import other", "two"),
        ("from ...template import given", "labs.template"),
        ("from tests import family_runs", "tests"),
    ],
)
def test_the_walls_of_labs_stand(line, wrong, monkeypatch, tmp_path):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    package = tmp_path / "labs" / "02_two" / "two"
    package.mkdir(parents=True)
    (package / "module.py").write_text(line)
    found = walls_broken(package / "module.py", package)
    assert wrong in found if wrong else not found


def rooms_of(package: Path) -> list[list[str]]:
    """The rows of the map in a package's `__init__.py`: the rooms of each, from the lowest to the highest."""
    rows = re.findall(r"^# (\w.*?)  ", (package / "__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    return [[room.rstrip("/").removesuffix(".py") for room in row.split(", ")] for row in rows]


def rooms_used_from_below(package: Path) -> list[str]:
    """Imports of a room by one that stands above it in the map, and rooms that the map has not or has not got."""
    rows, home = rooms_of(package), ".".join(package.relative_to(ROOT).parts)
    row_of = {room: place for place, row in enumerate(rows) for room in row}
    there = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    wrong = sorted((there - {"__init__"}) ^ {room for room in row_of if not room.endswith(".cu")})
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).with_suffix("").parts[0]
        for name in imported(path):
            other = name.removeprefix(f"{home}.").split(".")[0] if name.startswith(f"{home}.") else room
            if row_of.get(other, -1) > row_of.get(room, len(rows)):
                wrong.append(f"{room} uses {other}")
    return sorted(set(wrong))


@pytest.mark.parametrize("package", LAB_PACKAGES, ids=relative)
def test_rooms_of_a_labs_package_use_only_those_above_them_in_its_map(package):
    assert rooms_of(package)
    assert not rooms_used_from_below(package)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("from .low import thing", []),
        ("from . import high", ["low uses high"]),
        ("def late():\n    from .high.inner import thing", ["low uses high"]),
    ],
)
def test_the_map_of_a_package_binds(line, wrong, monkeypatch, tmp_path):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    package = tmp_path / "labs" / "02_two" / "two"
    (package / "high").mkdir(parents=True)
    (package / "__init__.py").write_text("# low      what is below\n# high/    what is above\n")
    (package / "low.py").write_text(line)
    (package / "high" / "__init__.py").write_text("from ..low import thing\n")
    assert rooms_used_from_below(package) == wrong
    (package / "other.py").touch()
    assert rooms_used_from_below(package) == [*wrong, "other"], "a room that the map has not"


def test_a_package_of_a_lab_imports_nothing_heavy_by_itself():
    """`gpukit --help` imports them; what they bring is imported when it is asked for."""
    for package in LAB_PACKAGES:
        assert imported(package / "__init__.py") <= {"__future__", "__future__.annotations"}, package


# --- slides ----------------------------------------------------------------------------------------------------------

# What functions of slides/ may use of gpukit: what `import gpukit` shows, and these rooms. Data sheets and recordings
# come by `gpukit.slides`, which names them at the foot of the slide.
FOR_SLIDES = (
    *(
        "cuda",
        "devices",
        "kernels",
        "occupancy",
        "plots",
        "plugins",
        "registry",
        "roofline",
        "slides.stepper",
        "timing",
    ),
    "tour.matrix",
)
OF_SLIDES = {"gpukit.slides.Table", "gpukit.slides.gpu", "gpukit.slides.recording"}
LIBRARIES = {"numpy", "matplotlib"}
SLIDE_MODULES = sorted((ROOT / "slides").rglob("*.py"))


def not_for_slides(path: Path) -> list[str]:
    """What a module of slides/ imports and may not: it has neighbours, gpukit's public rooms, NumPy and Matplotlib."""
    rooms = {f"gpukit.{room.rpartition('.')[0]}" for room in FOR_SLIDES if "." in room}
    public = {"gpukit", "gpukit.slides", *rooms, *OF_SLIDES, *(f"gpukit.{name}" for name in gpukit.__all__)}
    allowed = {"gpukit", "slides", *LIBRARIES, *sys.stdlib_module_names}
    names = imported(path) - public
    wrong = {name for name in names if name.startswith("gpukit.") and not inside(name, FOR_SLIDES)}
    return sorted(wrong | {name for name in names if name.split(".")[0] not in allowed})


@pytest.mark.parametrize("path", SLIDE_MODULES, ids=relative)
def test_functions_of_slides_use_gpukits_public_api_and_their_neighbours(path):
    assert not not_for_slides(path)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("import gpukit\nfrom gpukit import cuda, profile, roofline", []),
        (
            "from gpukit.slides import Table, gpu, recording\nfrom . import common\nfrom ..numbers.common import rungs",
            [],
        ),
        ("import numpy as np\nfrom matplotlib.figure import Figure\nimport math", []),
        ("from gpukit.gpus import find_gpu", ["gpukit.gpus", "gpukit.gpus.find_gpu"]),
        ("from gpukit import gpus", ["gpukit.gpus"]),
        ("from gpukit.slides import recordings", ["gpukit.slides.recordings"]),
        ("from gpukit.resources import data_file", ["gpukit.resources", "gpukit.resources.data_file"]),
        ("def f():\n    import pandas", ["pandas"]),
        ("from tests import slide_decks", ["tests", "tests.slide_decks"]),
    ],
)
def test_the_walls_of_slides_stand(line, wrong, monkeypatch, tmp_path):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "slides" / "figures").mkdir(parents=True)
    (tmp_path / "slides" / "figures" / "module.py").write_text(line)
    assert not_for_slides(tmp_path / "slides" / "figures" / "module.py") == wrong


# --- systems ---------------------------------------------------------------------------------------------------------

# What only some systems have is the sandbox's reason to exist; the others ask first whether the system has it.
ASKING = ("gpukit/cli/keyboard.py", "gpukit/doctor.py")
OF_THE_SYSTEM = [p for p in MODULES if p.parent == PACKAGE / "sandbox" or relative(p) in ASKING]


@pytest.mark.parametrize("path", [p for p in MODULES if p not in OF_THE_SYSTEM], ids=relative)
def test_the_core_uses_nothing_that_only_some_systems_have(path):
    roots = {name.split(".")[0] for name in imported(path)}
    assert not roots & {"resource", "fcntl", "termios", "pwd", "grp", "signal", "multiprocessing", "threading"}


def run_without(modules: str, program: str) -> subprocess.CompletedProcess:
    """Run a program in a Python where importing any of `modules` fails."""
    block = f"import sys\nfor name in {modules.split()!r}:\n    sys.modules[name] = None\n"
    return subprocess.run(
        [sys.executable, "-c", block + program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def test_the_machine_needs_nothing_but_numpy(tmp_path):
    kernel = tmp_path / "twice.py"
    kernel.write_text(
        "from numba import cuda\n\n@cuda.jit\ndef twice(x):\n    i = cuda.grid(1)\n"
        "    if i < x.size:\n        x[i] *= 2\n"
    )
    program = (
        "import numpy as np\nimport gpukit\n"
        f"kernel = gpukit.load({str(kernel)!r})['twice']\n"
        "x = np.arange(5)\n"
        "report = gpukit.profile(kernel, 1, 32, x)\n"
        "assert x.tolist() == [0, 2, 4, 6, 8], x\n"
        "assert report.counters['global_load_requests'] == 1\n"
    )
    done = run_without("numba numba_cuda scipy rich click matplotlib cupy torch", program)
    assert done.returncode == 0, done.stderr


def test_importing_gpukit_is_quick_and_light():
    heavy = "numba scipy matplotlib rich click"
    program = f"import gpukit, sys\nprint(*[name for name in {heavy.split()!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
