"""CUDA C++ of a student: what its text may not hold, and its compilation behind walls."""

import sys
import time

import numpy as np
import pytest

import gpukit
from gpukit import raw
from gpukit.compilers import toolkit
from gpukit.compilers.nvrtc import CompileError, compile_cuda
from gpukit.errors import GpukitError, UnsupportedFeature
from gpukit.sandbox import Limits, Outcome, cpp, data, landlock
from gpukit.sandbox.cpp import compile_untrusted, refusals

nvrtc = pytest.mark.skipif(bool(toolkit.why_no_nvrtc()), reason=toolkit.why_no_nvrtc() or "NVRTC is there")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the walls of Linux")

KERNEL = """#include <cuda_fp16.h>
#include "cuda_runtime.h"
  #  include <cooperative_groups.h>  // don't mind "this
#include <cuda/std/limits>
#include <cstdint>
#define THREADS 256
#define SQUARE(x) ((x) * (x))
/* a comment with #include <vector> and asm("x") in it */
constexpr int BIG = 1'000'000;
namespace cg = cooperative_groups;

#ifdef THREADS
extern "C" __global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
#endif

template <int N> __global__ void add(int *x) {
    #pragma unroll
    for (int i = 0; i < 4; i++) x[threadIdx.x] += N;
    if (x[0] == -1) printf("a \\"text\\" with ## and \\\\ %d\\n", '\\'');
}
"""


def test_honest_text_holds_nothing_to_refuse():
    assert refusals(KERNEL) == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('\n#include "/etc/passwd"', 2, "/etc/passwd"),
        ("#include </etc/passwd>", 1, "/etc/passwd"),
        ("#include <cuda/std/../../../../etc/passwd>", 1, "#include"),
        ("#include <cuda/std//atomic>", 1, "#include"),
        ('#include "student.cu"', 1, "may be included"),
        ("#include <vector>", 1, "may be included"),
        ("#include <cub/cub.cuh>", 1, "may be included"),
        ("#include <thrust/reduce.h>", 1, "may be included"),
        ("#define H <x>\n#include H", 2, "#include H"),
        ("# /* a */ include /* b */ <vector>", 1, "may be included"),
        ("/* a\n*/ # include <vector>", 2, "may be included"),
        ("/**/#include <vector>", 1, "may be included"),
        ("\t#\tinclude\t<vector>", 1, "may be included"),
        ("\x0c#include <vector>", 1, "may be included"),
        ("#inc\\\nlude <vector>", 1, "goes on in the next"),
        ("// \\\n#include <vector>", 1, "goes on in the next"),
        ("#define A \\  \n 3", 1, "goes on in the next"),
        ("??=include <vector>", 1, "the trigraph"),
        ("%:include <vector>", 1, "`##`"),
        ("#include_next <vector>", 1, "#include_next"),
        ('#import "x"', 1, "#import"),
        ('#embed "/etc/passwd"', 1, "#embed"),
        ("#if __has_include(</etc/passwd>)\n#endif", 1, "a look at files"),
        ("#define X __has_include", 1, "a look at files"),
        ("#if __has_embed(</etc/passwd>)\n#endif", 1, "a look at files"),
        ('#line 3 "x"', 1, "#line"),
        ('# 3 "x"', 1, "#3"),
        ("#pragma once", 1, "#pragma unroll"),
        ("#pragma nv_diag_suppress 1", 1, "#pragma unroll"),
        ('_Pragma("once")', 1, "_Pragma"),
        ("#ident", 1, "#ident"),
        ('void f() { asm("trap;"); }', 1, "inline assembly"),
        ('void f() { __asm__ volatile ("trap;"); }', 1, "inline assembly"),
        ("#define A as\n#define B(x, y) x ## y", 2, "`##`"),
        ("int \\u0061sm;", 1, "a backslash"),
        ("int \u00e9;", 1, "not ASCII"),
        ('const char *f = __FILE__;', 1, "the name of a file or a time"),
        ("int t = __nv_isnan(3);", 1, "the compiler's own"),
        ('const char *s = R"(a)";', 1, "a raw string"),
        ('const char *s = u8R"x(a)x";', 1, "a raw string"),
        ("/* no end", 1, "a comment without end"),
        ("#error don't /*\n#include <vector>\n// */ '", 1, "a quotation mark without end"),
        ("#if 0\ndon't\n#endif", 2, "a quotation mark without end"),
        ("int x; \x00", 1, "U+0000"),
        ("int x;" + " " * 6000, 1, "a line of 6,006 characters"),
        ("// a\n" * 50_000, 1, "more than 200,000 bytes"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(text, line, said):
    found = refusals(text)
    assert any(said in str(refusal) and refusal.line == line for refusal in found), found


# --- compiling -----------------------------------------------------------------------------------------------------


@pytest.fixture
def student(tmp_path):
    path = tmp_path / "student.cu"
    path.write_text(KERNEL)
    return path


@nvrtc
def test_kernels_compiled_behind_walls_are_the_same(student):
    reports = []
    for compiler in (None, compile_untrusted):
        kernels = raw.load(student, compiler=compiler)
        x, y = np.ones(70, np.float32), np.zeros(32, np.int32)
        report = gpukit.profile(kernels["scale"], 3, 32, x, np.float32(2), np.int32(70))
        gpukit.launch(kernels["add<3>"], 1, 32, y)
        assert x.tolist() == [2] * 70 and y.tolist() == [12] * 32
        reports.append(report)
    assert reports[0].counters == reports[1].counters
    text = str(reports[1])
    assert "if (i < n) x[i] *= by;" in text and "student.cu" in text
    assert str(student.parent) not in text


@nvrtc
def test_the_whole_answer_is_the_compilers(student):
    options = {"name_expressions": ("add<7>",), "options": ("--use_fast_math",)}
    free = compile_cuda(KERNEL, name="student.cu", **options)
    bound = compile_untrusted(KERNEL, name=str(student), **options)
    assert bound == free and bound.sources == free.sources


@nvrtc
def test_machine_code_comes_back_whole():
    code = "__global__ void k(int *x) { x[0] = 1; }"
    assert compile_untrusted(code, architecture="sm_90").machine_code.startswith(b"\x7fELF")


@nvrtc
def test_a_mistake_is_told_where_it_is():
    with pytest.raises(CompileError, match=r'^student.cu:2: .*identifier "y" is undefined') as caught:
        compile_untrusted("__global__ void k(int *x) {\n  x[0] = y;\n}", name="/some/where/student.cu")
    assert caught.value.line == 2 and "1 error detected" in caught.value.log


@nvrtc
def test_options_that_it_does_not_know():
    with pytest.raises(UnsupportedFeature):
        compile_untrusted("__global__ void k() {}", options=("-arch=sm_10",))


@nvrtc
@linux
@pytest.mark.skipif(not landlock.abi(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("name", ["/etc/hostname", "/proc/self/environ", "{folder}/secret.h", "secret.h"])
def test_what_the_scan_would_miss_is_not_read(tmp_path, monkeypatch, name):
    (tmp_path / "secret.h").write_text("#error the secret is 42\n")
    monkeypatch.chdir(tmp_path)
    code = f'#include "{name.format(folder=tmp_path)}"\n__global__ void k() {{}}\n'
    with pytest.raises(CompileError, match="cannot open source file"):
        compile_untrusted(code, name=str(tmp_path / "student.cu"), options=(f"-I{tmp_path}",))


@nvrtc
@linux
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("__global__ void k(int *x) { x[0] = " + "(" * 60000 + "1" + ")" * 60000 + "; }", "crashed on this"),
        (
            "template <class T, class U> struct P {}; template <int N> struct B { typedef P<typename B<N - 1>::t, "
            "typename B<N - 1>::t> t; }; template <> struct B<0> { typedef int t; };\n"
            "template <class T> __global__ void k(T *x) {} template __global__ void k(B<40>::t *);",
            "did not end within 2 s",
        ),
        ("template <int N> struct A { A<N + 1> a; };\n__global__ void k(int *x) { A<0> a; }", "excessive recursion"),
    ],
)
def test_bombs_end_as_one_sentence(monkeypatch, code, said):
    monkeypatch.setattr(cpp, "LIMITS", Limits(seconds=2.0, memory_bytes=4 << 30, output_bytes=1 << 24))
    start = time.monotonic()
    with pytest.raises(CompileError, match=said) as caught:
        compile_untrusted(code, name="student.cu")
    assert "\n" not in str(caught.value) and time.monotonic() - start < 8
    start = time.monotonic()
    with pytest.raises(CompileError, match=said):
        compile_untrusted(code, name="student.cu")
    assert time.monotonic() - start < 0.1  # the next test of a lab does not wait again


@nvrtc
@linux
def test_memory_is_limited(monkeypatch):
    monkeypatch.setattr(cpp, "LIMITS", Limits(seconds=20.0, memory_bytes=600 << 20, output_bytes=1 << 24))
    code = "__device__ int big[1 << 27] = {1, 2, 3}; __global__ void k(int *x) { x[0] = big[x[1]]; }"
    with pytest.raises(CompileError) as caught:
        compile_untrusted(code, name="student.cu")
    assert "\n" not in str(caught.value)


GOOD = [("kind", "ptx"), ("text", "x"), ("lowered", []), ("log", ""), ("architecture", "a"), ("version", (13, 0)),
        ("passed_over", []), ("machine_code", b"")]  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"junk",
        data.pack([]),
        data.pack(3),
        data.pack([("kind", "other")]),
        data.pack(GOOD[:-1]),
        data.pack([*GOOD, ("more", 1)]),
        data.pack([*GOOD[:-1], ("machine_code", "text")]),
        data.pack([*GOOD[:2], ("lowered", [3]), *GOOD[3:]]),
        data.pack([*GOOD[:6], ("passed_over", [(1,)]), *GOOD[7:]]),
        data.pack([("kind", "error"), ("message", 3), ("file", None), ("line", None), ("log", "")]),
    ],
)
def test_an_odd_answer_is_no_answer(monkeypatch, answer):
    monkeypatch.setattr(cpp, "run", lambda *args, **more: Outcome("ok", 0, answer, ""))
    with pytest.raises(GpukitError, match=r"^odd.cu: no complete answer came back"):
        compile_untrusted(f"// {answer!r}", name="odd.cu")


def test_a_complete_answer_is_one(monkeypatch):
    monkeypatch.setattr(cpp, "run", lambda *args, **more: Outcome("ok", 0, data.pack(GOOD), ""))
    assert compile_untrusted("// complete", name="odd.cu").text == "x"
