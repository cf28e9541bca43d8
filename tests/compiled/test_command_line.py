"""The command line with kernels in CUDA C++ and PTX, and with both levels of numba kernels."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit import argspecs, cli
from gpukit.cpp import dtypes
from gpukit.cpp.signatures import Parameter
from gpukit.errors import LaunchError
from gpukit.report import terminal

KERNELS = """\
#include <cuda_fp16.h>

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

template <typename T, int B>
__global__ void reverse(T* x) {
    __shared__ T tile[B];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[B - 1 - threadIdx.x];
}

namespace tools {
__global__ void lengths(const float4* v, double* out, size_t n, bool root, half scale) {
    size_t i = threadIdx.x;
    if (i < n) out[i] = (root ? sqrtf(v[i].x) : v[i].x) * __half2float(scale);
}
}

__global__ void rows(int* out) { out[threadIdx.x] = ROWS; }

int main() { return 0; }
"""

PYTHON = """\
from numba import cuda


@cuda.jit
def squares(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * x[i]


@cuda.jit
def racy(out):
    out[0] = cuda.threadIdx.x
"""

SCRIPT = """\
import numpy as np
import gpukit
from numba import cuda

kernel = gpukit.RawKernel('''
extern "C" __global__ void twice(float* x) {
    x[threadIdx.x] *= 2;
}
''', "twice")


@cuda.jit
def squares(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * x[i]


x = np.ones(64, np.float32)
for _ in range(3):
    kernel((1,), (64,), (x,))
squares[1, 64](x, x)
print("sum", x.sum())
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "kernels.cu").write_text(KERNELS.replace("ROWS", "4"), encoding="utf-8")
    (tmp_path / "macro.cu").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "kernels.py").write_text(PYTHON, encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys, *arguments):
    """(exit code, standard output, standard error)"""
    code = cli.main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def profiled(capsys, *arguments):
    """The report of a profile that must succeed, as data."""
    code, out, err = run(capsys, "profile", *arguments, "--json", "-")
    assert (code, err) == (0, "")
    return json.loads(out)


SHAPE = ("--grid", 4, "--block", 128)
SAXPY = (*SHAPE, "-a", "a=2", "-a", "x=[500]:random", "-a", "y=float32[500]:ones", "-a", "n=500")


# --- CUDA C++ ------------------------------------------------------------------------------------------------------


def test_profile_of_a_cpp_kernel(folder, capsys):
    code, out, err = run(capsys, "profile", "kernels.cu:saxpy", *SAXPY)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 100
    for part in (
        "saxpy  kernels.cu  no hazards found",
        "a: float32, x: float32[500], y: float32[500], n: int32",
        "Compiled level: what the hardware would count",
        "if (i < n) y[i] = a * x[i] + y[i];",
    ):
        assert part in out
    data = profiled(capsys, "kernels.cu:saxpy", *SAXPY)
    assert data["level"] == "compiled"
    assert data["counters"]["global_load_requests"] == 2 * 16
    assert data["counters"]["global_store_sectors"] == 500 * 4 // 32 + 1


def test_templates_namespaces_and_types(folder, capsys):
    data = profiled(capsys, "kernels.cu:reverse<float, 64>", "--grid", 1, "--block", 64, "-a", "x=float32[64]")
    assert data["shared_bytes"] == 256
    given = ("-a", "v=[64]", "-a", "out=[16]", "-a", "n=16", "-a", "root=true", "-a", "scale=0.5")
    data = profiled(capsys, "kernels.cu:tools::lengths", "--grid", 1, "--block", 32, *given)
    assert [(a["name"], a["dtype"]) for a in data["arguments"]] == [
        ("v", "float32"),
        ("out", "float64"),
        ("n", "uint64"),
        ("root", "bool"),
        ("scale", "float16"),
    ]


def test_options_of_the_compiler(folder, capsys):
    given = ("--grid", 1, "--block", 32, "-a", "out=[32]")
    code, _, err = run(capsys, "profile", "macro.cu:rows", *given)
    assert code == 1
    assert 'identifier "ROWS" is undefined' in err
    assert profiled(capsys, "macro.cu:rows", *given, "-DROWS=7")["kernel"] == "rows"
    assert profiled(capsys, "macro.cu:rows", *given, "--option=-DROWS=7", "--option", "-std=c++20")["kernel"] == "rows"
    (folder / "include").mkdir()
    (folder / "include" / "size.h").write_text("#define ROWS 9\n")
    (folder / "macro.cu").write_text('#include "size.h"\n' + KERNELS)
    assert profiled(capsys, "macro.cu:rows", *given, "-I", "include")["kernel"] == "rows"
    code, _, err = run(capsys, "profile", "kernels.py:squares", *SHAPE, "-DROWS=7")
    assert code == 1
    assert "kernels.py is Python" in err


def test_check_of_a_cpp_kernel(folder, capsys):
    assert run(capsys, "check", "kernels.cu:saxpy", *SAXPY)[0] == 0
    code, out, _ = run(capsys, "check", "kernels.cu:saxpy", *(str(a).replace("n=500", "n=501") for a in SAXPY))
    assert code == 1
    assert re.search(r"E1 kernels\.cu:5: .* of x, which has 500", " ".join(out.split()))


def test_a_compile_error_is_the_compilers_first_message_with_the_line(folder, capsys):
    (folder / "kernels.cu").write_text(KERNELS.replace("ROWS", "4").replace("if (i < n)", "if (i < m)"))
    code, out, err = run(capsys, "profile", "kernels.cu:saxpy", *SAXPY)
    assert (code, out) == (1, "")
    first, second = err.splitlines()
    assert re.fullmatch(r'gpukit: kernels\.cu:5: .*identifier "m" is undefined', first)
    assert second == "      5 |     if (i < m) y[i] = a * x[i] + y[i];"


def test_missing_arguments_show_a_line_to_paste(folder, capsys):
    code, _, err = run(capsys, "profile", "kernels.cu:saxpy", *SHAPE, "-a", "a=1")
    assert code == 2
    assert "takes (float a, const float* x, float* y, int n); still missing: --arg x=... --arg y=... --arg n=..." in err
    (line,) = [line.strip() for line in err.splitlines() if line.startswith("    gpukit ")]
    assert line == (
        "gpukit profile kernels.cu:saxpy --grid 4 --block 128 "
        "-a a=1.5 -a 'x=float32[512]:random' -a 'y=float32[512]' -a n=512"
    )
    import shlex

    assert run(capsys, *shlex.split(line)[1:])[0] == 0  # what is shown works
    code, _, err = run(capsys, "check", "kernels.cu:reverse<int, 32>")
    assert code == 2
    assert "gpukit check 'kernels.cu:reverse<int, 32>' --grid 64 --block 256 -a 'x=float32[16384]'" in err


@pytest.mark.parametrize(
    ("target", "given", "code", "words"),
    [
        ("kernels.cu:absent", (), 1, ["no kernel 'absent'", "saxpy", "tools::lengths", "reverse<...>"]),
        ("kernels.cu:reverse", (), 1, ["`reverse` is a template", "reverse<256>"]),
        ("kernels.cu:reverse<int>", ("-a", "x=int32[32]"), 1, ["kernels.cu", "name expression"]),
        ("kernels.cu:saxpy", (*SAXPY[4:], "--level", "source"), 1, ["no source level"]),
        ("kernels.cu:saxpy", (*SAXPY[4:], "--level", "both"), 1, ["no source level"]),
        ("kernels.cu:saxpy", ("-a", "b=1"), 2, ["no parameter 'b'", "(float a, const float* x"]),
        (
            "kernels.cu:saxpy",
            ("-a", "1", "-a", "x=3", "-a", "y=[4]", "-a", "n=4"),
            2,
            ["x is a const float*", "an array"],
        ),
        (
            "kernels.cu:saxpy",
            ("-a", "1", "-a", "x=float64[4]", "-a", "y=[4]", "-a", "n=4"),
            2,
            ["float32; got", "float64"],
        ),
        (
            "kernels.cu:saxpy",
            ("-a", "1", "-a", "x=[4]", "-a", "y=[4]", "-a", "n=1.5"),
            2,
            ["n is a int", "cannot be 1.5"],
        ),
        ("kernels.cu:saxpy", ("-a", "1", "-a", "x=[4]", "-a", "y=[4]", "-a", "n=[4]"), 2, ["n is a int", "a number"]),
        ("absent.cu:saxpy", SAXPY[4:], 1, ["absent.cu", "cannot be read"]),
        ("kernels.py:squares", ("-a", "x=[4]", "-a", "out=float32[4]"), 2, ["write the array's dtype", "x=float32[4]"]),
    ],
)
def test_mistakes_are_one_sentence(folder, capsys, target, given, code, words):
    got, out, err = run(capsys, "profile", target, "--grid", 1, "--block", 32, *given)
    assert (got, out) == (code, "")
    for word in words:
        assert word in err
    assert "Traceback" not in err and "bug in gpukit" not in err


def test_a_cpp_file_is_no_script(folder, capsys):
    for command in ("run", "profile", "check"):
        code, _, err = run(capsys, command, "kernels.cu")
        assert code == 2
        assert "kernels.cu is no Python script; name one of its kernels: kernels.cu:KERNEL (saxpy" in err


def test_list_of_a_cpp_file(folder, capsys):
    code, out, _ = run(capsys, "list", "kernels.cu")
    assert code == 0
    assert sorted(out.splitlines()) == [
        "kernels.cu:reverse<...>",
        "kernels.cu:rows",
        "kernels.cu:saxpy",
        "kernels.cu:tools::lengths",
    ]


def test_ptx(folder, capsys):
    (folder / "kernels.ptx").write_text(gpukit.RawModule(code=KERNELS.replace("ROWS", "4")).ptx)
    assert "kernels.ptx:saxpy" in run(capsys, "list", "kernels.ptx")[1]
    given = ("-a", "2.0", "-a", "float32[500]:random", "-a", "float32[500]:ones", "-a", "500")
    data = profiled(capsys, "kernels.ptx:saxpy", *SHAPE, *given)
    assert data["counters"]["global_load_requests"] == 2 * 16


# --- both levels ---------------------------------------------------------------------------------------------------

SQUARES = (*SHAPE, "-a", "x=float32[512]:random", "-a", "out=float32[512]")


def test_levels_of_a_numba_kernel(folder, capsys):
    for level, loads in (("source", 32), ("compiled", 16)):
        data = profiled(capsys, "kernels.py:squares", *SQUARES, "--level", level)
        assert (data["level"], data["counters"]["global_load_requests"]) == (level, loads)
    code, out, _ = run(capsys, "profile", "kernels.py:squares", *SQUARES, "--level", "both", "--html", "page.html")
    assert code == 0
    assert re.search(r"D1 line 7: load requests 32 -> 16, load sectors 128 -> 64; x: merged", out)
    assert "merged" in (folder / "page.html").read_text()
    data = profiled(capsys, "kernels.py:squares", *SQUARES, "--level", "both")
    assert [data[level]["counters"]["global_load_requests"] for level in ("source", "compiled")] == [32, 16]


def test_check_at_the_compiled_level(folder, capsys):
    racy = ("kernels.py:racy", "--grid", 1, "--block", 64, "-a", "out=int64[1]")
    code, out, _ = run(capsys, "check", *racy, "--level", "compiled")
    assert code == 1
    assert "race_global" in out
    code, _, err = run(capsys, "check", *racy, "--level", "both")
    assert code == 2
    assert "'both' is not one of 'source', 'compiled'" in err


def test_scripts_with_kernels_of_both_languages(folder, capsys):
    code, out, _ = run(capsys, "run", "script.py")
    assert (code, out) == (0, "sum 4096.0\n")
    code, out, _ = run(capsys, "profile", "script.py")
    assert code == 0
    assert "twice  script.py  (3 " in out
    assert "compiled level, " in out and "source level, " in out
    code, out, _ = run(capsys, "profile", "--level", "compiled", "--json", "-", "script.py")
    assert {(report["kernel"], report["level"]) for report in json.loads(out)} == {
        ("twice", "compiled"),
        ("squares", "compiled"),
    }
    assert run(capsys, "run", "--level", "compiled", "script.py")[1] == "sum 4096.0\n"
    assert run(capsys, "profile", "--level", "both", "script.py")[0] == 2
    assert run(capsys, "profile", "-D", "A", "script.py")[0] == 2


def test_a_script_is_what_imports_numba_cuda_first(folder):
    """numba-cuda's compiler is then imported while another module stands in its place."""
    code = "import sys; from gpukit import cli; sys.exit(cli.main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "run", "--level", "compiled", str(folder / "script.py")]
    root = Path(gpukit.__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "sum 4096.0\n", "")


# --- types ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cpp", "dtype"),
    [
        ("int", "int32"),
        ("const unsigned int", "uint32"),
        ("long unsigned int", "L"),
        ("unsigned long long", "uint64"),
        ("long long int", "int64"),
        ("signed char", "int8"),
        ("std::size_t", "uint64"),
        ("uint16_t", "uint16"),
        ("half", "float16"),
        ("float", "float32"),
        ("cuda::std::complex<double>", "complex128"),
        ("cuFloatComplex", "complex64"),
        ("T", None),
        ("float4", None),
        ("std::array<int, 4>", None),
        ("__nv_bfloat16", None),
    ],
)
def test_arithmetic_types(cpp, dtype):
    assert dtypes.scalar(cpp) == (np.dtype(dtype) if dtype else None)


@pytest.mark.parametrize(
    ("cpp", "expected"),
    [
        ("const float*", ("float32", 1)),
        ("float4*", ("float32", 4)),
        ("const uchar4*", ("uint8", 4)),
        ("longlong2*", ("int64", 2)),
        ("half2*", ("float16", 2)),
        ("unsigned*", ("uint32", 1)),
        ("double* const", ("float64", 1)),
        ("void*", None),
        ("float**", None),
        ("T*", None),
        ("struct node*", None),
        ("int", None),
    ],
)
def test_what_pointers_point_to(cpp, expected):
    found = dtypes.element(cpp)
    assert found == (None if expected is None else (np.dtype(expected[0]), expected[1]))


def one(spec, cpp):
    name, value = argspecs.parse(spec)
    return argspecs.for_cpp([value], [Parameter(name, cpp, "*" in cpp, "const" in cpp)])[0]


def test_values_take_the_parameters_type():
    for spec, cpp, expected in (
        ("n=5", "int", np.int32(5)),
        ("n=5", "float", np.float32(5)),
        ("n=5", "unsigned char", np.uint8(5)),
        ("n=0.1", "half", np.float16(0.1)),
        ("n=1", "bool", np.True_),
        ("n=float32(2)", "float", np.float32(2)),
    ):
        value = one(spec, cpp)
        assert (value, value.dtype) == (expected, expected.dtype)
    array = one("x=[2,3]:ones", "const double*")
    assert (array.shape, array.dtype) == ((2, 3), np.float64)
    assert one("x=int32[4]", "T*").dtype == np.int32  # only the compiler knows T
    assert one("x=uint8[12]", "void*").dtype == np.uint8
    assert one("n=3", "T") == 3


@pytest.mark.parametrize(
    ("spec", "cpp"),
    [
        ("n=300", "unsigned char"),
        ("n=-1", "size_t"),
        ("n=2", "bool"),
        ("n=1.5", "int"),
        ("n=float64(2)", "float"),
        ("n=1j", "float"),
        ("n=[3]", "int"),
        ("n=float32[3]", "int"),
        ("x=3", "int*"),
        ("x=[3]", "T*"),
        ("x=[-3]", "int*"),
        ("x=[4]:twos", "int*"),
        ("x=float32[6]", "float4*"),
        ("x=int64[4]", "const int*"),
    ],
)
def test_values_that_do_not_fit(spec, cpp):
    with pytest.raises(LaunchError) as caught:
        one(spec, cpp)
    assert "\n" not in str(caught.value)


def test_errors_as_json(folder, capsys):
    (folder / "wrong.cu").write_text("__global__ void k(int* x) {\n    x[0] = ;\n}\n", encoding="utf-8")
    code, out, err = run(capsys, "check", "wrong.cu:k", "--grid", 1, "--block", 32, "-a", "x=[32]", "--json", "-")
    assert code == 1
    assert json.loads(out) == {
        "kernel": "k",
        "file": "wrong.cu",
        "error": {
            "message": "wrong.cu:2: the CUDA C++ compiler says: expected an expression",
            "file": "wrong.cu",
            "line": 2,
        },
    }
    assert err.startswith("gpukit: wrong.cu:2: ")


def test_a_file_without_kernels(folder, capsys):
    (folder / "none.cu").write_text("void k(int* x) {}\n", encoding="utf-8")
    code, _, err = run(capsys, "check", "none.cu:k", "--grid", 1, "--block", 32)
    assert (code, err) == (
        1,
        "gpukit: none.cu: this file has no kernel; a kernel is @cuda.jit in a .py file or __global__ in a .cu file\n",
    )


@pytest.mark.parametrize(("width", "name"), [(70, "\n_global_op_ld.sum"), (100, "_global_op_ld.sum")])
def test_names_of_metrics_break_between_words(folder, width, name):
    kernel = gpukit.load("kernels.cu")["saxpy"]
    x = np.ones(1 << 18, np.float32)
    report = gpukit.profile(kernel, 1024, 256, np.float32(2), x, x.copy(), np.int32(x.size))
    text = terminal.to_text(report, width)
    assert f"l1tex__t_requests_pipe_lsu_mem{name}" in re.sub(r"\n +", "\n", text)
    assert max(map(len, text.splitlines())) <= width
