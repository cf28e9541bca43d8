"""What labs add to gpukit's commands: found by path, imported when asked for, and no harm to the others when broken."""

import importlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from lab_fixtures import write_labs

from gpukit import cli, plugins, registry
from gpukit.errors import GpukitError

ROOT = Path(__file__).parents[1]

INIT = '''"""Doubles numbers.

Source: nobody's.
"""

FAMILY = "family:FAMILY"
COMMANDS = {"greet": "commands:greet"}
BENCH = "commands:bench"
'''
FAMILY = '''"""A family for tests."""

import numpy as np

from gpukit import cuda
from gpukit.registry import Family, Launch, Plan, Problem


def problem(n, kind, rng, device):
    x = np.arange(n, dtype=np.float32)
    return Problem(n, kind, {"x": device.xp.asarray(x)}, 2 * x)


FAMILY = Family(__package__, problem, ("numbers",), (1, 33), (32, 64), ("global_load_sectors",), block=64, cpu_n=128)


def plan(kernel, problem, block, device):
    y = device.xp.empty(problem.n, np.float32)
    launch = Launch(kernel, -(-problem.n // block), block, (problem.arrays["x"], y))
    return Plan(lambda: device.to_host(y), (launch,), outputs=(y,))


@FAMILY.kernel(plan, produces="the numbers")
@cuda.jit
def double(x, y):
    """Doubles each number."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]
'''
COMMANDS = '''"""Commands for tests."""

import click


@click.command(short_help="Say hello.")
@click.argument("name")
def greet(name):
    """Say hello to NAME."""
    click.echo(f"hello {name}")


@click.command(short_help="Measure it otherwise.")
def bench():
    """Measure it otherwise."""
    click.echo("measured otherwise")
'''


@pytest.fixture(autouse=True)
def forgotten():
    """No test's package stays imported for the next test, whose package of this name lies elsewhere."""
    before = {name: module for name, module in sys.modules.items() if name.startswith(plugins.NAMESPACE)}

    def forget():
        for name in [name for name in sys.modules if name.startswith(plugins.NAMESPACE)]:
            del sys.modules[name]
        importlib.invalidate_caches()

    forget()
    yield
    forget()
    sys.modules.update(before)


def lab(course, topic, number="01", **modules):
    """A lab's folder with a package of these modules."""
    package = course / "labs" / f"{number}_{topic}" / topic
    package.mkdir(parents=True)
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text)
    return package


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course, gone to, whose lab 01_twice brings a family, a command and a benchmark."""
    lab(tmp_path, "twice", __init__=INIT, family=FAMILY, commands=COMMANDS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    """(exit code, standard output, standard error)"""
    code = cli.main([*map(str, arguments)])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out, printed.err


def imported():
    return {name.removeprefix(f"{plugins.NAMESPACE}.") for name in sys.modules if name.startswith(plugins.NAMESPACE)}


# --- where they are --------------------------------------------------------------------------------------------------


def test_the_labs_are_those_here_or_above_or_beside_gpukit(course, monkeypatch, tmp_path_factory):
    assert plugins.labs_folder() == course / "labs"
    assert plugins.labs_folder(course / "labs" / "01_twice") == course / "labs"
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert plugins.labs_folder(elsewhere) == ROOT / "labs"
    (elsewhere / "labs").mkdir()
    assert plugins.labs_folder(elsewhere) == ROOT / "labs", "a folder labs without labs"
    monkeypatch.setattr(plugins, "__file__", str(elsewhere / "site-packages" / "gpukit" / "plugins.py"))
    assert plugins.labs_folder(elsewhere) is None
    assert plugins.packages(None) == {}


def test_a_package_has_the_topic_of_its_lab(course):
    lab(course, "thrice", "02", __init__="")
    (course / "labs" / "03_other" / "another").mkdir(parents=True)
    (course / "labs" / "03_other" / "another" / "__init__.py").touch()
    (course / "labs" / "04_empty" / "empty").mkdir(parents=True)
    assert list(plugins.packages(course / "labs")) == ["twice", "thrice"]
    assert [plugin.topic for plugin in plugins.plugins()] == ["twice", "thrice"]


def test_a_package_that_is_not_there(course):
    with pytest.raises(GpukitError, match="no lab here brings a package 'spmv': go to the folder that holds your labs"):
        plugins.load("spmv")


# --- what they bring -------------------------------------------------------------------------------------------------


def test_a_family_is_listed_profiled_and_checked(course, capsys):
    assert registry.find_family("twice").rungs["double"].place.endswith("family.py:double")
    assert list(registry.families())[-1] == "twice"
    assert "twice" not in registry.own_families()
    code, out, err = run(capsys, "list")
    assert (code, err) == (0, "")
    assert re.search(r"^twice: Doubles numbers\.\n  double +numba +Doubles each number\.", out, re.MULTILINE)
    assert json.loads(run(capsys, "list", "twice", "--json")[1])[0]["rungs"][0]["rung"] == "double"
    code, out, _ = run(capsys, "profile", "twice.double", "--n", "256", "--json", "-")
    assert code == 0 and json.loads(out)["counters"]["global_load_requests"] == 8
    assert run(capsys, "check", "twice.double")[0] == 0
    code, _, err = run(capsys, "profile", "twice.triple")
    assert code == 1 and "twice has no rung 'triple'; choose one of: double" in err


def test_a_command_is_gpukits(course, capsys):
    assert run(capsys, "greet", "you") == (0, "hello you\n", "")
    code, out, _ = run(capsys, "--help")
    assert code == 0 and re.search(r"^  greet +Say hello\.$", out, re.MULTILINE)
    assert "Cannot be used" not in out
    names = re.findall(r"^  (\w+)  ", out.partition("Commands:")[2], re.MULTILINE)
    assert names == sorted(names)


def test_a_bench_stands_in_place_of_the_familys(course, capsys):
    assert run(capsys, "bench", "twice") == (0, "measured otherwise\n", "")
    del plugins.load("twice").BENCH
    code, out, _ = run(capsys, "bench", "twice", "--n", "128")
    assert code == 0 and "double" in out
    assert re.search(r"^  twice +Doubles numbers\.$", run(capsys, "bench", "--help")[1], re.MULTILINE)


def test_what_is_brought_may_lie_in_a_package_of_the_package(course, capsys):
    package = course / "labs" / "01_twice" / "twice"
    (package / "__init__.py").write_text(INIT.replace('"commands:', '"inner.commands:'))
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").touch()
    (package / "commands.py").rename(package / "inner" / "commands.py")
    assert run(capsys, "greet", "you") == (0, "hello you\n", "")
    assert run(capsys, "bench", "twice") == (0, "measured otherwise\n", "")
    assert {"twice.inner", "twice.inner.commands"} <= imported()
    (package / "inner" / "commands.py").write_text("1 / 0\n")
    sys.modules.pop("gpukit_labs.twice.inner.commands")
    code, _, err = run(capsys, "greet", "you")
    assert code == 1 and "twice/inner/commands.py: this lab's package cannot be imported: ZeroDivisionError" in err


def test_nothing_is_imported_before_it_is_asked_for(course, capsys):
    assert run(capsys, "list", "nothing")[0] == 2 and "twice.family" in imported()
    for name in list(sys.modules):
        if name.startswith(plugins.NAMESPACE):
            del sys.modules[name]
    run(capsys, "--version")
    run(capsys, "doctor", "--json")
    run(capsys, "profile", "reduction.naive", "--n", "512")
    run(capsys, "bench", "reduction", "--recorded")
    assert imported() == set()
    run(capsys, "greet", "you")
    assert imported() == {plugins.NAMESPACE, "twice", "twice.commands"}


def test_the_help_of_gpukit_costs_little():
    """With the plugins of this repository: their commands are listed, and nothing heavy is imported for it."""
    heavy = ("numpy", "scipy", "numba", "matplotlib", "cupy", "rich")
    program = (
        "import sys\nfrom gpukit import cli\nassert cli.main(['--help']) == 0\n"
        f"print('heavy:', *[name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].strip() == "heavy:"
    assert all(re.search(rf"^  {name} ", done.stdout, re.MULTILINE) for name in plugins.commands()[0])


# --- what gpukit has itself ------------------------------------------------------------------------------------------


def test_a_name_that_gpukit_has_stays_gpukits(course, capsys):
    package = course / "labs" / "01_twice" / "twice"
    (package / "__init__.py").write_text(INIT.replace('{"greet"', '{"list"'))
    (package / "family.py").write_text(FAMILY.replace("__package__", "'gpukit.kernels.reduction'"))
    assert registry.families() == registry.own_families()
    assert registry.find_family("reduction").rungs.keys() > {"naive"}
    code, out, _ = run(capsys, "list", "reduction")
    assert code == 0 and "reduction.naive" in out


def test_gpukits_own_families_are_those_of_its_kernels(course):
    assert {family.module.rpartition(".")[0] for family in registry.own_families().values()} == {"gpukit.kernels"}


# --- what is broken --------------------------------------------------------------------------------------------------

BROKEN = {
    "syntax": ({"__init__": "def"}, "SyntaxError: "),
    "raises": ({"__init__": "raise ValueError('two\\nlines')"}, "ValueError: two lines"),
    "exits": ({"__init__": "raise SystemExit(3)"}, "SystemExit: 3"),
    "no_module": ({"__init__": 'COMMANDS = {"twice": "missing:command"}'}, "No module named 'gpukit_labs.twice."),
    "no_command": (
        {"__init__": 'COMMANDS = {"twice": "commands:other"}', "commands": COMMANDS},
        "COMMANDS['twice'] is commands:other, and there is no Command of this name",
    ),
    "no_place": ({"__init__": "COMMANDS = {'twice': print}"}, "must be a place such as 'module:name', and it is"),
    "no_relative_place": ({"__init__": 'COMMANDS = {"twice": "..commands:greet"}'}, "must be a place such as"),
    "no_dictionary": ({"__init__": "COMMANDS = ['twice']"}, "COMMANDS must be a dictionary"),
    "no_library": ({"__init__": "import no_such_library"}, "no_such_library"),
}  # fmt: skip


@pytest.mark.parametrize(("modules", "why"), BROKEN.values(), ids=BROKEN)
def test_a_broken_package_breaks_its_own_commands_alone(tmp_path, monkeypatch, capsys, modules, why):
    lab(tmp_path, "twice", **modules)
    lab(tmp_path, "later", "02", __init__='COMMANDS = {"greet": "commands:greet"}', commands=COMMANDS)
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "--help")
    assert (code, err) == (0, "")
    assert re.search(r"^  greet +Say hello", out, re.MULTILINE) and re.search(r"^  tour ", out, re.MULTILINE)
    (line,) = out.partition("Cannot be used:\n")[2].splitlines()
    assert why in line
    assert run(capsys, "greet", "you") == (0, "hello you\n", "")
    assert run(capsys, "profile", "reduction.naive", "--n", "512", "--json", "-")[0] == 0
    code, out, err = run(capsys, "twice", "x")
    assert (code, out) == (1, "") and why in err and len(err.splitlines()) == 1


def test_a_broken_family_is_said_once_and_the_others_are_listed(course, capsys):
    (course / "labs" / "01_twice" / "twice" / "family.py").write_text("import numpy as np\n1 / 0\n")
    code, out, err = run(capsys, "list")
    assert code == 0 and "reduction: " in out and "twice: " not in out
    (line,) = err.splitlines()
    assert "family.py: this lab's package cannot be imported: ZeroDivisionError" in line
    for command in (("bench", "twice"), ("profile", "twice.double"), ("list", "reduction")):
        code, _, err = run(capsys, *command)
        assert (code, "ZeroDivisionError" in err) == ((0, False) if command[1] in ("reduction", "twice") else (1, True))
    with pytest.raises(GpukitError, match="ZeroDivisionError"):
        registry.find_family("twice")


def test_a_command_that_no_lab_brings(course, capsys):
    code, out, err = run(capsys, "spmv", "x.mtx")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == "Error: gpukit has no command 'spmv', and no lab here brings it."
    assert run(capsys, "gret")[2].splitlines()[-1].endswith("; did you mean greet.")


# --- students and graders --------------------------------------------------------------------------------------------

SPRUNG = "from pathlib import Path\nPath({trap!r}).touch()\nraise RuntimeError('imported')\n"


def test_the_students_tree_has_no_package_and_works_without(tmp_path, monkeypatch, capsys):
    write_labs(tmp_path, "01_start")
    lab(tmp_path, "start", __init__=INIT, family=FAMILY, commands=COMMANDS)
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "greet", "you")[0] == 0
    assert run(capsys, "release")[0] == 0
    code, _, err = run(capsys, "release", "--to", "course")
    assert code == 0, err
    given = {path.relative_to(tmp_path / "course").as_posix() for path in (tmp_path / "course").rglob("*")}
    assert "labs/01_start/student.py" in given
    assert not [path for path in given if path.startswith("labs/01_start/start")]
    monkeypatch.chdir(tmp_path / "course")
    code, out, err = run(capsys, "list")
    assert (code, err) == (0, "") and "reduction: " in out and "twice: " not in out
    assert "no command 'greet'" in run(capsys, "greet", "you")[2]


def test_grading_imports_no_plugin(tmp_path, monkeypatch, capsys):
    """Neither of the course nor of a submission, however it is named."""
    trap = tmp_path / "sprung"
    root = write_labs(tmp_path, "01_start")
    lab(tmp_path, "start", __init__=SPRUNG.format(trap=str(trap)))
    student = tmp_path / "submissions" / "ann"
    lab(student, "start", __init__=SPRUNG.format(trap=str(trap)))
    shutil.copy(root / "01_start" / "solution.py", student / "student.py")
    for folder in (tmp_path, student):
        monkeypatch.chdir(folder)
        with pytest.raises(GpukitError, match="RuntimeError: imported"):
            plugins.load("start")
        assert trap.is_file(), "the trap works"
        trap.unlink()
        graded = ("grade", tmp_path / "submissions", "--lab", "start", "--out", tmp_path / "out", "--labs", root)
        code, out, err = run(capsys, *graded, "--weak-sandbox", "--again")
        assert code == 0 and "1 submissions" in out, err
        code, _, err = run(capsys, "autograder", "start", "--to", tmp_path / "autograder.zip", "--labs", root)
        assert code == 0, err
        assert not trap.exists()
    with zipfile.ZipFile(tmp_path / "autograder.zip") as zipped:
        assert not [name for name in zipped.namelist() if "start/start" in name]
