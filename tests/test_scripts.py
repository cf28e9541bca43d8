"""Unmodified numba.cuda scripts under `gpukit run`, `profile` and `check`."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gpukit.cli import main
from gpukit.scripts import run_script
from gpukit.standin import stand_in

SCRIPTS = Path(__file__).parent / "scripts"
REPOSITORY = Path(__file__).parent.parent

EXPECTED_OUTPUT = {
    "vector_add": "sum",
    "tiled_matmul": "ok (3, 3)",
    "block_sum": "ok",
    "laplace": "quiet after",
    "monte_carlo": "pi is about 3.1",
    "mandelbrot": "points inside:",
    "histogram": "counted",
    "streams": "device gpukit free True",
    "device_functions": "ok 0.5 1.5",
    "warp_scan": "last",
    "game_of_life": "after 100",
    "particles": "hits",
}


def write(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(textwrap.dedent(text))
    return path


def test_every_script_is_listed():
    assert {path.stem for path in SCRIPTS.glob("*.py")} == set(EXPECTED_OUTPUT)


@pytest.mark.parametrize("name", EXPECTED_OUTPUT)
def test_script_runs_and_checks_its_own_results(name, capsys):
    assert run_script(SCRIPTS / f"{name}.py") == 0
    assert EXPECTED_OUTPUT[name] in capsys.readouterr().out


@pytest.mark.parametrize("name", ["vector_add", "tiled_matmul", "block_sum", "histogram", "warp_scan", "game_of_life"])
def test_correct_scripts_pass_the_check(name, capsys):
    status = main(["check", str(SCRIPTS / f"{name}.py")])
    out = capsys.readouterr().out
    assert status == 0, out
    assert "0 errors, 0 warnings" in out


def test_command_line_passes_arguments_and_status(tmp_path):
    path = write(
        tmp_path,
        """
        import sys
        import helper
        from numba import cuda

        @cuda.jit
        def fill(out):
            out[cuda.grid(1)] = cuda.grid(1)

        import numpy as np
        out = np.zeros(32, np.int32)
        fill[1, 32](out)
        print(sys.argv[1:], __name__, out.sum(), helper.WORD)
        sys.exit(3)
        """,
    )
    (tmp_path / "helper.py").write_text("WORD = 'beside'\n")
    done = subprocess.run(
        [sys.executable, "-m", "gpukit", "run", str(path), "one", "--two"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )
    assert done.stdout == "['one', '--two'] __main__ 496 beside\n", done.stderr
    assert done.returncode == 3


def test_profile_reports_each_distinct_launch_once(tmp_path, capsys):
    path = write(
        tmp_path,
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def double(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] *= 2

        x = np.ones(64, np.float32)
        for _ in range(50):
            double[2, 32](x)
        double[1, 64](x)
        """,
    )
    assert main(["profile", str(path)]) == 0
    out = capsys.readouterr().out
    assert "double  script.py  (50 identical launches)" in out
    assert out.count("Coalesced?") == 2


def test_check_names_the_line_of_a_race_and_fails(tmp_path, capsys):
    path = write(
        tmp_path,
        """
        import numpy as np
        from numba import cuda, float32

        @cuda.jit
        def reverse(x):
            s = cuda.shared.array(64, float32)
            t = cuda.threadIdx.x
            s[t] = x[t]
            x[t] = s[63 - t]

        for _ in range(3):
            reverse[1, 64](np.arange(64, dtype=np.float32))
        """,
    )
    assert main(["check", str(path)]) == 1
    out = capsys.readouterr().out
    assert "race_shared" in out
    assert f"{path}:" in out
    assert "3 of 3 launches" in out
    assert out.count("race_shared") <= 2  # folded, not once per launch


def test_exception_shows_only_the_users_frames(tmp_path, capsys):
    path = write(
        tmp_path,
        """
        def inner():
            return {}["key"]

        inner()
        """,
    )
    assert run_script(path) == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert "KeyError: 'key'" in err
    assert "in inner" in err
    assert "gpukit" not in err.replace(str(tmp_path), "")
    assert "runpy" not in err


def test_misuse_of_a_kernel_is_one_sentence_with_its_place(tmp_path, capsys):
    path = write(
        tmp_path,
        """
        from numba import cuda

        @cuda.jit
        def kernel(x):
            x[0] = 1

        kernel([1])
        """,
    )
    assert run_script(path) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"{path}:8: Kernel launch configuration was not specified" in err


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("cupy.cusparse", "this part of cupy works only with an NVIDIA GPU"),
        ("cupyx.scipy", "this part of cupyx works only with an NVIDIA GPU"),
        ("pycuda", "pycuda works only with an NVIDIA GPU"),
    ],
)
def test_what_needs_a_gpu_is_explained(tmp_path, capsys, monkeypatch, module, words):
    if "." not in module:
        monkeypatch.setitem(sys.modules, module, None)
    path = write(tmp_path, f"import {module}\n")
    assert run_script(path) == 1
    err = capsys.readouterr().err
    assert f"{path}:1: {words}" in err
    assert "Traceback" not in err


def test_other_missing_modules_are_reported_as_python_does(tmp_path, capsys):
    path = write(tmp_path, "import no_such_module_at_all\n")
    assert run_script(path) == 1
    assert "ModuleNotFoundError: No module named 'no_such_module_at_all'" in capsys.readouterr().err


def test_scripts_run_without_numba(tmp_path):
    script = write(
        tmp_path,
        """
        import numba
        import numpy as np
        from numba import cuda, float32, njit, prange
        from numba.core import types
        from numba.cuda.random import create_xoroshiro128p_states
        from numba.types import int32

        assert types.int32 is int32 is numba.int32

        @njit(parallel=True)
        def double(x):
            return 2 * x

        @cuda.jit("void(float32[:])")
        def kernel(x):
            i = cuda.grid(1)
            x[i] = double(x[i]) + float32(1)

        x = np.ones(32, np.float32)
        kernel[1, 32](x)
        print(x.sum(), double(4), numba.float32)
        """,
    )
    code = textwrap.dedent(
        f"""
        import sys

        class NoNumba:
            def find_spec(self, name, path=None, target=None):
                if name == "numba":
                    raise ModuleNotFoundError("No module named 'numba'", name="numba")

        sys.meta_path.insert(0, NoNumba())
        from gpukit.scripts import run_script
        sys.exit(run_script({str(script)!r}))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "96.0 8 float32\n"
    assert done.stderr.count("numba is not installed") == 1


def test_stand_in_is_undone():
    before = {name: module for name, module in sys.modules.items() if name.startswith("numba")}
    with stand_in() as facade:
        import numba.cuda
        from numba_cuda_mlir import cuda

        assert numba.cuda is cuda is facade
        assert sys.modules["numba.cuda.random"].__name__ == "gpukit.cuda.random"
    after = {name: module for name, module in sys.modules.items() if name.startswith(("numba.cuda", "numba_cuda_mlir"))}
    assert after == {name: m for name, m in before.items() if name.startswith(("numba.cuda", "numba_cuda_mlir"))}
    assert vars(sys.modules["numba"]).get("cuda") is not facade


def test_parts_of_numba_cuda_that_need_a_compiler_are_named():
    with stand_in(), pytest.raises(ModuleNotFoundError, match="compiler or driver, which the CPU machine"):
        import numba.cuda.lowering  # noqa: F401
