"""The command line as a user meets it: what it prints, where, and with which exit code."""

import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

import gpukit as gpukit_package
from gpukit import __version__, argspecs, cli
from gpukit.errors import GpukitError, LaunchError
from gpukit.progress import launch_progress

KERNELS = """\
from numba import cuda


@cuda.jit
def scale(x, factor, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = factor * x[i]


@cuda.jit
def racy(out):
    out[0] = cuda.threadIdx.x


@cuda.jit
def forever(out):
    while out[0] == 0:
        pass
"""

SCRIPT = """\
import sys
import numpy as np
from numba import cuda


@cuda.jit
def scale(x, factor):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= factor


x = np.ones(1000, np.float32)
for _ in range(3):
    scale[8, 128](x, np.float32(2))
print("argv", sys.argv[1:], "sum", x.sum())
"""


@pytest.fixture
def kernels(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS, encoding="utf-8")
    return file


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT, encoding="utf-8")
    return file


def gpukit(*arguments, **options):
    """Run the command line in a process of its own; returns the finished process."""
    code = "import sys; from gpukit.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options
    )


SCALE = (
    "--grid",
    "4",
    "--block",
    "256",
    "--arg",
    "x=float32[1000]:arange",
    "--arg",
    "factor=2.5",
    "-a",
    "out=float32[1000]",
)


# --- usage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["profile"],
        ["profile", "k.py:scale"],  # no grid
        ["profile", "k.py:scale", "--grid", "4"],  # no block
        ["profile", "k.py:scale", "--grid", "0x0x0x0", "--block", "1"],
        ["profile", "k.py:scale", "--grid", "four", "--block", "1"],
        ["profile", "k.py:scale", "stray", "--grid", "4", "--block", "1"],
        ["profile", "--grid", "4", "k.py"],  # a script launches by itself
        ["run", "k.py:scale"],
        ["run", "--frobnicate", "k.py"],
        ["check", "k.py:scale", "--shared", "-1", "--grid", "1", "--block", "1"],
    ],
)
def test_wrong_usage_exits_with_2_and_one_message(arguments, capsys):
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Error: " in printed.err or "Usage: " in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("arguments", [["run", "absent.py"], ["profile", "absent.py"], ["check", "absent.py"]])
def test_a_missing_script_is_one_sentence(arguments, capsys):
    assert cli.main(arguments) == 1
    assert capsys.readouterr().err == (
        "gpukit: there is no file absent.py; give the path of a Python script or FILE:KERNEL.\n"
    )


def test_an_unknown_gpu_shows_before_the_run(capsys):
    assert cli.main(["profile", "k.py:scale", "--grid", "1", "--block", "1", "--gpu", "Voodoo"]) == 1
    assert "choose one of: V100" in capsys.readouterr().err


def test_version_and_help(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"gpukit {__version__}\n"
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    for command in ("bench", "check", "doctor", "list", "profile", "run", "tour"):
        assert re.search(rf"^  {command} +\w.*\.$", text, re.M), command  # a whole sentence, not cut off


def test_doctor_prints_every_capability(capsys):
    assert cli.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for name in ("Python", "CPU machine", "GPU and driver", "Compiled level", "compute-sanitizer", "Notebook"):
        assert name in printed


def test_a_bug_is_called_a_bug(monkeypatch, capsys):
    def broken():
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("gpukit.doctor.diagnose", broken)
    assert cli.main(["doctor"]) == cli.EXIT_BUG
    assert "bug in gpukit, not in your kernel: ZeroDivisionError" in capsys.readouterr().err
    monkeypatch.setenv("GPUKIT_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(["doctor"])


def test_a_library_that_is_not_installed_is_named_with_its_command(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "gpukit.tour.figures", raising=False)
    assert cli.main(["tour", "--out", str(tmp_path)]) == 1
    assert "python -m pip install matplotlib" in capsys.readouterr().err


def test_ctrl_c_is_quiet(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("gpukit.doctor.diagnose", interrupted)
    assert cli.main(["doctor"]) == cli.EXIT_INTERRUPTED
    assert capsys.readouterr().err.strip() == "gpukit: stopped."


@pytest.mark.skipif(os.name == "nt", reason="pipes end in another way there")
def test_a_reader_that_goes_away_is_no_error():
    code = "import sys; from gpukit.cli import main; sys.exit(main(['doctor']))"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 1


def test_characters_the_terminal_lacks_do_not_end_the_program(kernels):
    kernels.write_text(KERNELS.replace("    i = ", "    # \u20ac\u4e2d\n    i = "), encoding="utf-8")
    done = gpukit("profile", f"{kernels}:scale", *SCALE, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "# ??" in done.stdout


def test_starting_is_cheap():
    """--help must not import what only some commands need."""
    code = (
        "import sys; from gpukit.cli import main; main(['--help']);"
        "print(sorted({'numpy', 'numba', 'rich', 'matplotlib', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


# --- one kernel ------------------------------------------------------------------------------------------------------


def test_profile_of_one_kernel(kernels, tmp_path):
    report, page = tmp_path / "report.json", tmp_path / "report.html"
    done = gpukit("profile", f"{kernels}:scale", *SCALE, "--json", report, "--html", page, "--gpu", "T4")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    for part in (
        "scale  kernels.py",
        "no hazards found",
        "grid 4, block 256",
        "Coalesced?",
        "T4",
        "out[i] = factor * x[i]",
    ):
        assert part in done.stdout
    data = json.loads(report.read_text(encoding="utf-8"))
    assert data["counters"]["global_load_requests"] == 32  # 1,000 elements
    assert data["counters"]["global_load_sectors"] == 125  # 4,000 bytes
    assert data["occupancy"]["gpu"] == "T4"
    assert "<!doctype html>" in page.read_text(encoding="utf-8")


def test_json_on_standard_output_is_only_json(kernels):
    done = gpukit("profile", f"{kernels}:scale", *SCALE, "--json", "-")
    assert json.loads(done.stdout)["kernel"] == "scale"


def test_check_tells_right_from_wrong_by_its_exit_code(kernels):
    assert gpukit("check", f"{kernels}:scale", *SCALE).returncode == 0
    done = gpukit("check", f"{kernels}:racy", "--grid", "1", "--block", "64", "--arg", "out=int64[1]")
    assert done.returncode == 1
    assert re.search(r"Errors E1 kernels\.py:13: thread .* \[race_global, 63 times\]", " ".join(done.stdout.split()))
    assert done.stderr == ""


def test_a_kernel_that_never_ends_is_an_error_and_not_a_hang(kernels):
    began = time.monotonic()
    environment = {**os.environ, "GPUKIT_MAX_STEPS": "10000"}
    done = gpukit(
        "profile", f"{kernels}:forever", "--grid", "1", "--block", "32", "-a", "out=int32[1]", env=environment
    )
    assert done.returncode == 1
    assert re.fullmatch(
        r"gpukit: .*kernels\.py:1[89]: .*\n +1[89] \|     (while out\[0\] == 0:|    pass)\n", done.stderr
    )
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    ("target", "arguments", "code", "words"),
    [
        ("absent", SCALE, 1, ["has no kernel 'absent'", "scale, racy, forever"]),
        ("scale", (*SCALE[:4], "-a", "x=float32[8]"), 2, ["still missing: --arg factor=... --arg out=..."]),
        ("scale", (*SCALE, "-a", "bonus=1"), 2, ["no parameter 'bonus'", "(x, factor, out)"]),
        ("scale", (*SCALE, "-a", "x=1"), 2, ["given twice"]),
        ("scale", (*SCALE[:4], "-a", "x=float33[8]"), 2, ["'float33' is not a number type"]),
        ("scale", ("--grid", "1", "--block", "1025", *SCALE[4:]), 1, ["1,024"]),
        ("scale", ("--grid", "0", "--block", "32", *SCALE[4:]), 1, ["grid"]),
    ],
)
def test_mistakes_with_one_kernel(kernels, target, arguments, code, words):
    done = gpukit("profile", f"{kernels}:{target}", *arguments)
    assert done.returncode == code
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_a_file_that_is_no_python_is_one_sentence(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("def f(:\n", encoding="utf-8")
    done = gpukit("profile", f"{file}:f", "--grid", "1", "--block", "1")
    assert done.returncode == 1
    assert re.fullmatch(r"gpukit: .*broken\.py:1: .*\n +1 \| def f\(:\n", done.stderr)


def test_loading_never_runs_the_file(tmp_path):
    file = tmp_path / "trap.py"
    file.write_text("import pathlib\npathlib.Path('ran').touch()\n" + KERNELS, encoding="utf-8")
    done = gpukit(
        "profile", f"{file}:scale", *SCALE, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.returncode == 0
    assert not (tmp_path / "ran").exists()


def test_list(kernels, tmp_path):
    expected = [f"{kernels}:{name}" for name in ("scale", "racy", "forever")]
    assert gpukit("list", kernels).stdout.splitlines() == expected
    assert gpukit("list", tmp_path).stdout.splitlines() == expected
    assert "reduction.py:naive" in gpukit("list", gpukit_package.__path__[0] + "/kernels").stdout
    empty = tmp_path / "empty"
    empty.mkdir()
    done = gpukit("list", empty)
    assert (done.returncode, done.stdout) == (1, "")


# --- scripts ---------------------------------------------------------------------------------------------------------


def test_run_gives_the_script_its_own_arguments(script):
    done = gpukit("run", script, "--grid", "7", "-x", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "argv ['--grid', '7', '-x', '--help'] sum 8000.0\n"


def test_profile_of_a_script_folds_identical_launches(script):
    done = gpukit("profile", script, "one")
    assert (done.returncode, done.stderr) == (0, "")
    assert "argv ['one'] sum 8000.0" in done.stdout
    assert "(3 identical launches)" in done.stdout
    assert done.stdout.count("Coalesced?") == 1


def test_launches_that_differ_are_shown_once_by_the_busiest(script):
    script.write_text(
        SCRIPT.replace("x = np.ones(1000", "for n in (100, 1000, 500): scale[8, 128](np.ones(n), 2)\nx = np.ones(1000")
    )
    done = gpukit("profile", script)
    assert "(the busiest of 3 launches)" in done.stdout
    assert "(3 identical launches)" in done.stdout  # float32: other types, another report
    assert done.stdout.count("Coalesced?") == 2
    overview = done.stdout[done.stdout.rindex("look first at") :].splitlines()
    assert [line.split()[:4] for line in overview[1:]] == [["scale", "8", "128", "3"]] * 2


def test_output_in_a_pipe_has_no_trailing_blanks(script):
    assert not re.search(r" +$", gpukit("profile", script).stdout, re.MULTILINE)


def test_check_of_a_script(script):
    assert gpukit("check", script).returncode == 0
    script.write_text(SCRIPT.replace("x[i] *= factor", "x[0] += factor"), encoding="utf-8")
    done = gpukit("check", script)
    assert done.returncode == 1
    assert "race_global" in done.stdout


def test_reports_of_a_script_as_files(script, tmp_path):
    page = tmp_path / "page.html"
    done = gpukit("profile", "--gpu", "T4", "--json", "-", "--html", page, script)
    assert done.returncode == 0
    (report,) = json.loads(done.stdout)  # what the script prints is not in the way
    assert (report["kernel"], report["launches"], report["occupancy"]["gpu"]) == ("scale", 3, "T4")
    assert any(finding["kind"].endswith("_bound_hint") for finding in report["findings"])
    assert "argv [] sum 8000.0" in done.stderr
    assert "(3 identical launches)" in page.read_text(encoding="utf-8")


def test_an_option_that_goes_to_the_script_is_pointed_out(script):
    done = gpukit("profile", script, "--html", "page.html")
    assert "argv ['--html', 'page.html']" in done.stdout
    assert "--html after" in done.stderr


def test_a_script_without_launches(script):
    script.write_text("print(1)\n", encoding="utf-8")
    done = gpukit("profile", script)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "launched no kernel" in done.stderr


def test_the_exit_code_of_a_script_is_kept(script):
    script.write_text(SCRIPT + "sys.exit(7)\n", encoding="utf-8")
    assert gpukit("run", script).returncode == 7
    done = gpukit("profile", script)
    assert done.returncode == 7
    assert "Coalesced?" in done.stdout  # what was measured is not lost


def test_an_exception_of_the_script_is_the_scripts_own(script):
    script.write_text(SCRIPT + "print({}['key'])\n", encoding="utf-8")
    done = gpukit("run", script)
    assert done.returncode == 1
    assert "KeyError: 'key'" in done.stderr
    assert "script.py" in done.stderr
    assert "bug in gpukit" not in done.stderr


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "name", "value"),
    [
        ("n=42", "n", 42),
        ("42", None, 42),
        ("a=-1.5", "a", -1.5),
        ("mask=0xff", "mask", 255),
        ("flag=true", "flag", True),
        ("z=1+2j", "z", 1 + 2j),
        ("f=float32(1.5)", "f", np.float32(1.5)),
        ("x=float32[3]:ones", "x", np.ones(3, np.float32)),
        ("x=float32[3]", "x", np.zeros(3, np.float32)),
        ("float64[2,3]:arange", None, np.arange(6.0).reshape(2, 3)),
        ("x=int32[4]:full(-7)", "x", np.full(4, -7, np.int32)),
        ("x=int64[1_000]:arange", "x", np.arange(1000)),
        ("x=float32[0]", "x", np.zeros(0, np.float32)),
    ],
)
def test_arguments(spec, name, value):
    got_name, got = argspecs.parse(spec)
    assert got_name == name
    assert type(got) is type(value)
    np.testing.assert_array_equal(got, value, strict=isinstance(value, np.ndarray))


def test_random_arguments_repeat_and_fit_their_type():
    for dtype, low, high in (("float32", 0, 1), ("int8", 0, 100), ("bool", 0, 2), ("complex64", None, None)):
        first, again, other = (argspecs.parse(f"x={dtype}[500]:random({seed})")[1] for seed in (3, 3, 4))
        assert first.dtype == dtype
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
        if low is not None:
            assert low <= first.min() < first.max() < high or dtype == "bool"


def test_arrays_from_files(tmp_path):
    array = np.arange(12, dtype=np.int16).reshape(3, 4)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "b.npz", array)
    (tmp_path / "c.npy").write_text("no array")
    np.testing.assert_array_equal(argspecs.parse(f"x=@{tmp_path / 'a.npy'}")[1], array, strict=True)
    for bad in ("b.npz", "c.npy", "absent.npy"):
        with pytest.raises(LaunchError, match=bad):
            argspecs.parse(f"x=@{tmp_path / bad}")


@pytest.mark.parametrize(
    "spec",
    [
        "x=hello",
        "x=",
        "x=float32[]",
        "x=float32[-1]",
        "x=float32[a]",
        "x=float32[3]:twos",
        "x=float32[3]:full(a)",
        "x=float32[3]:random(-1)",
        "x=object[3]",
        "x=U5[3]",
        "x=int8[3]:full(300)",
        "x=float64[999999999999999]:ones",
        "x=float64[9999999999999999999999]",
        "x=int32(nan)",
    ],
)
def test_bad_arguments_are_one_sentence(spec):
    with pytest.raises(GpukitError) as caught:
        argspecs.parse(spec)
    assert "\n" not in str(caught.value)


def test_arguments_find_their_parameters():
    parse = argspecs.parse
    assert argspecs.arrange([parse("c=3"), parse("1"), parse("b=2")], ["a", "b", "c"]) == [1, 2, 3]
    assert argspecs.arrange([parse("1"), parse("c=3")], ["a", "b", "c"], defaults=[8, 9]) == [1, 8, 3]
    for bad in (["1", "2", "3", "4"], ["1", "a=1", "b=2", "c=3"], ["1"], ["d=1"], ["b=1", "b=2", "a=1", "c=1"]):
        with pytest.raises(LaunchError):
            argspecs.arrange([parse(spec) for spec in bad], ["a", "b", "c"])


# --- progress --------------------------------------------------------------------------------------------------------


class Terminal:
    """A stream that says it is a terminal and keeps what is written."""

    encoding = "utf-8"

    def __init__(self, is_terminal=True):
        self.is_terminal = is_terminal
        self.text = ""

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize("way", ["launch", "profile", "check"])
def test_every_way_to_launch_reports_its_progress(way, kernels):
    calls = []
    run = getattr(gpukit_package, way)
    scale = gpukit_package.load(kernels)["scale"]
    run(scale, 4, 32, np.ones(128), 2.0, np.zeros(128), progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (4, 4)


def test_progress_is_quiet_in_a_pipe():
    with launch_progress("naive", Terminal(is_terminal=False)) as update:
        assert update is None


def test_progress_is_quiet_for_short_launches():
    stream = Terminal()
    with launch_progress("naive", stream) as update:
        for done in range(1, 5):
            update(done, 4)
    assert stream.text == ""


def test_progress_shows_long_launches_and_cleans_up(monkeypatch):
    monkeypatch.setattr("gpukit.progress.PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with launch_progress("naive", stream) as update:
        update(512, 2048)
        update(2048, 2048)
    assert "naive" in stream.text
    assert "2048/2048" in stream.text
    assert stream.text.endswith("\x1b[2K")  # the bar is wiped away
