"""CUDA C++ and numba kernels to PTX: headers, host code, options, errors, and how arguments become parameters."""

import enum
import gc
import importlib.util
import math
import re
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit.compilers import numba_ptx, options, toolkit
from gpukit.compilers.nvrtc import CompileError, compile_cuda
from gpukit.cpp import signatures
from gpukit.cpp.signatures import Parameter
from gpukit.errors import GpukitError, KernelTypeError, LaunchError, UnsupportedFeature
from gpukit.standin import stand_in

nvrtc = pytest.mark.skipif(bool(toolkit.why_no_nvrtc()), reason=toolkit.why_no_nvrtc() or "NVRTC is there")

KERNEL = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1; }\n'


def locations(ptx: str) -> set[tuple[int, int]]:
    """(file number, line) of every `.loc`."""
    return {(int(file), int(line)) for file, line in re.findall(r"\.loc\s+(\d+) (\d+)", ptx)}


# --- headers ---------------------------------------------------------------------------------------------------------


@nvrtc
@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("cstdio", 'std::printf("%f", x[0])'),
        ("stdio.h", 'printf("%f", x[0])'),
        ("assert.h", "assert(x[0] > 0)"),
        ("cassert", "assert(x[0] > 0)"),
        ("math.h", "x[0] = M_PI + sqrtf(x[1]) + INFINITY + NAN + HUGE_VALF"),
        ("cmath", "x[0] = std::sqrt(x[1]) + std::fmaxf(x[2], 1) + std::abs(x[3]) + std::isnan(x[1])"),
        ("cstdint", "x[0] = sizeof(uint16_t) + sizeof(std::int64_t)"),
        ("stdint.h", "x[0] = sizeof(uint16_t)"),
        ("cstddef", "std::size_t n = 3; x[n] = 0"),
        ("climits", "x[0] = INT_MAX"),
        ("float.h", "x[0] = FLT_MAX"),
        ("cstring", "std::memcpy(x, x + 4, 4)"),
        ("cstdlib", "x[0] = std::abs(-3)"),
        ("cuda_runtime.h", "float4 v = make_float4(1, 2, 3, 4); x[0] = v.w"),
        ("device_launch_parameters.h", "x[threadIdx.x] = 1"),
        ("cuda_fp16.h", "x[0] = __half2float(__hadd(__float2half(x[1]), __float2half(x[2])))"),
        ("cuda_bf16.h", "x[0] = __bfloat162float(__float2bfloat16(x[1]))"),
        ("cuComplex.h", "x[0] = cuCrealf(cuCmulf(make_cuFloatComplex(1, 2), make_cuFloatComplex(3, 4)))"),
        ("algorithm", "x[0] = std::min(x[1], x[2]) + std::max(1, 2)"),
        ("cuda/std/array", "cuda::std::array<float, 2> a{x[0], x[1]}; x[2] = a[0] + a[1]"),
        ("cuda/atomic", "cuda::atomic_ref<float> a(x[0]); a.fetch_add(1.f)"),
        ("thrust/complex.h", "thrust::complex<float> z(x[0], x[1]); x[2] = (z * z).real()"),
        (
            "cooperative_groups.h",
            "auto w = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());"
            "x[0] = w.shfl_down(x[1], 1)",
        ),
        (
            "cub/cub.cuh",
            "__shared__ typename cub::BlockReduce<float, 128>::TempStorage t;"
            "x[0] = cub::BlockReduce<float, 128>(t).Sum(x[threadIdx.x])",
        ),
        (
            "cub/warp/warp_scan.cuh",
            "__shared__ typename cub::WarpScan<float>::TempStorage t; float s;"
            "cub::WarpScan<float>(t).InclusiveSum(x[threadIdx.x], s); x[threadIdx.x] = s",
        ),
    ],
)
def test_what_course_code_includes(header, body):
    ptx = compile_cuda(f'#include <{header}>\nextern "C" __global__ void k(float* x) {{\n{body};\n}}\n')
    assert ".entry k(" in ptx.text
    assert (1, 3) in locations(ptx.text)
    assert not ptx.warnings


@nvrtc
def test_host_headers_are_there_for_host_code():
    names = (
        "iostream",
        "vector",
        "string",
        "chrono",
        "thrust/device_vector.h",
        "cublas_v2.h",
        "helper_cuda.h",
        "cuda.h",
    )
    assert ".entry k(" in compile_cuda("".join(f"#include <{name}>\n" for name in names) + KERNEL).text


@nvrtc
def test_curand():
    code = """#include <curand_kernel.h>
    extern "C" __global__ void k(float* x) { curandState s; curand_init(1, 2, 3, &s); x[0] = curand_uniform(&s); }"""
    folders = toolkit.include_folders(toolkit.nvrtc()[1][0])
    if any((folder / "curand_kernel.h").is_file() for folder in folders):
        assert ".entry k(" in compile_cuda(code).text
    else:
        with pytest.raises(CompileError, match="pip install nvidia-curand"):
            compile_cuda(code)


@nvrtc
def test_a_file_of_the_users_goes_before_a_stand_in(tmp_path):
    (tmp_path / "helper_cuda.h").write_text("#define SEVEN 7\n")
    code = '#include "helper_cuda.h"\nextern "C" __global__ void k(int* x) { x[0] = SEVEN; }\n'
    assert re.search(r"\b7\b", compile_cuda(code, options=("-I", str(tmp_path))).text)
    with pytest.raises(CompileError, match="SEVEN"):
        compile_cuda(code)


# --- host code -------------------------------------------------------------------------------------------------------

WHOLE = r"""
#include <cstdio>
#include <vector>
#include <algorithm>
#include "helper_cuda.h"
using namespace std;
#define HD __host__ __device__
#define CHECK(call) if ((call) != cudaSuccess) exit(1)
const int N = 3;
std::vector<float> on_the_host;
int counter = 0;
template <typename T> class Queue { std::vector<T> items; public: void push(T v) { items.push_back(v); } };
struct Timer { cudaEvent_t a; Timer() { cudaEventCreate(&a); } float stop(); };
struct Point {
  float x, y;
  HD Point(float a, float b) : x(a), y(b) {}
  void print() const { std::cout << x; }
  __device__ float dot(const Point& o) const { return x * o.x + y * o.y; }
};
HD float half_of(float v);
template <typename T> T largest(const std::vector<T>& v) { return *std::max_element(v.begin(), v.end()); }
constexpr int square(int v) { return v * v; }
__constant__ float coef[4];
template <typename T>
__global__ void scale(T* x, T a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = a * half_of(x[i]) + square(N) + coef[0] + Point(1, 2).dot(Point(3, 4));
}
HD float half_of(float v) { return v / 2; }
#ifdef LAUNCH_BY_HAND
void run(float* d) {
#else
void run(float* d, int) {
#endif
  scale<<<1, 256>>>(d, 2.0f, N);
}
int main() {
  float* d; CHECK(cudaMalloc(&d, N * sizeof(float)));
  auto f = [=](int q) { return q + 1; };
  run(d, f(1));
}
"""


@nvrtc
def test_a_whole_file_is_taken_for_its_kernels():
    ptx = compile_cuda(WHOLE, name="whole.cu", name_expressions=["scale<float>"])
    assert ptx.lowered == {"scale<float>": "_Z5scaleIfEvPT_S0_i"}
    body = WHOLE.splitlines().index("  int i = blockIdx.x * blockDim.x + threadIdx.x;") + 1
    assert {(1, body), (1, body + 1)} <= locations(ptx.text)
    passed_over = {item.name for item in ptx.passed_over}
    assert {"main", "run", "largest", "on_the_host", "counter", "Queue", "Timer", "print"} <= passed_over
    assert not passed_over & {"N", "Point", "half_of", "coef", "scale"}
    assert ptx.sources == {"whole.cu": WHOLE}


@nvrtc
def test_code_that_only_looks_like_hosts_code_is_kept():
    code = """
    #define MAKE(name, op) extern "C" __global__ void name(float* x) { x[0] = x[0] op x[1]; }
    MAKE(add, +)
    MAKE(sub, -)
    namespace tools { struct Op { __device__ float operator()(float a) const { return -a; } }; }
    __device__ float table[2] = {1.f, 2.f};
    extern "C" {
    __global__ void k(float* x) { x[0] = tools::Op{}(table[threadIdx.x]); }
    }
    """
    ptx = compile_cuda(code)
    assert [name in ptx.text for name in (".entry add(", ".entry sub(", ".entry k(")] == [True] * 3
    assert ptx.passed_over == ()


@nvrtc
def test_a_kernel_that_calls_host_code_is_told_so():
    with pytest.raises(CompileError, match=r'k.cu:2: .*"twice" is undefined.*k.cu:1 is host code.*__device__'):
        compile_cuda(
            "float twice(float v) { return 2 * v; }\n__global__ void k(float* x) { *x = twice(1); }", name="k.cu"
        )


@nvrtc
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("struct P {\n  flaot y;\n};\n__global__ void k(P* p) { p->y = 1; }", 'k.cu:2: .*"flaot" is undefined$'),
        ("struct P { flaot y; };\nstruct Q { P p; };\n__global__ void k(Q* q) {}", 'k.cu:1: .*"flaot" is undefined$'),
        ("using real = flaot;\n__global__ void k(real* p) {}", 'k.cu:1: .*"flaot" is undefined$'),
        ("const int M = N * 2;\n__global__ void k(int* p) { *p = M; }", 'k.cu:1: .*"N" is undefined$'),
        ("\n__global__ void k(\n  std::vector<float> x) {}", r"k.cu:3: .*device code cannot use std::vector"),
        ("float c;\n__global__ void k(float* p) { *p = c; }", 'k.cu:2: .*"c" is undefined .*k.cu:1 is host code'),
        (
            "struct P { float x; float get() { return x; } };\n__global__ void k(P* p) { p->get(); }",
            'k.cu:2: .*no member "get" .*k.cu:1 is host code, put __device__',
        ),
        (
            "struct P { int x; P operator+(P o) { return o; } };\n__global__ void k(P* p) { p[0] + p[1]; }",
            r'k.cu:2: .*no operator "\+" matches .*k.cu:1 is host code, put __device__',
        ),
    ],
)
def test_the_error_is_that_of_the_declaration_that_is_wrong(code, message):
    """What NVRTC rejects is passed over as the host's; a kernel that needs it must not hide why."""
    with pytest.raises(CompileError, match=message):
        compile_cuda(code, name="k.cu")


@nvrtc
def test_the_default_device_option_makes_it_device_code():
    code = 'float twice(float v) { return 2 * v; }\nextern "C" __global__ void k(float* x) { *x = twice(*x); }'
    assert ".entry k(" in compile_cuda(code, options=("-default-device",)).text


@nvrtc
def test_a_specialisation_is_never_passed_over():
    """Without it the kernel would quietly take the general template."""
    code = """
    template <class T> struct Size { static const int value = 1; };
    template <> struct Size<float> { static const int value = 4; std::string name; };
    __global__ void k(int* x) { x[0] = Size<float>::value; }
    """
    with pytest.raises(CompileError, match="string"):
        compile_cuda(code)


@nvrtc
def test_headers_of_the_users_with_host_code(tmp_path):
    (tmp_path / "common.h").write_text(
        "#include <sys/time.h>\n#define HD __host__ __device__\n"
        "inline double seconds() { struct timeval t; gettimeofday(&t, NULL); return t.tv_sec; }\n"
        "HD inline float twice(float v) {\n  return v * v; }\n"
    )
    code = '#include "common.h"\nextern "C" __global__ void k(float* x) {\n  x[0] = twice(x[1]); }\n'
    for name, given in ((str(tmp_path / "k.cu"), ()), ("k.cu", (f"-I{tmp_path}",))):
        ptx = compile_cuda(code, name=name, options=given)
        assert set(ptx.sources) == {name, str(tmp_path / "common.h")}
        assert {path for _, path in re.findall(r'\.file\s+(\d+) "([^"]*)"', ptx.text)} == set(ptx.sources)
    (tmp_path / "common.h").write_text("HD float twice(float v) { return u; }\n#define HD __device__\n")
    with pytest.raises(CompileError):
        compile_cuda(code, options=(f"-I{tmp_path}",))


# --- options, errors -------------------------------------------------------------------------------------------------


@nvrtc
def test_options_as_people_write_them(tmp_path):
    (tmp_path / "seven.h").write_text("#define SEVEN 7\n")
    code = '#include "seven.h"\n' + KERNEL.replace("= 1", "= SEVEN * TWO / x[0]")
    given = ("-I", str(tmp_path), "-DTWO=2", "-O3", "-Xptxas", "-v", "--use_fast_math", "-std=c++14", "-arch=sm_80")
    ptx = compile_cuda(code, options=given)
    assert ptx.architecture == "compute_80"
    assert ".target sm_80" in ptx.text
    assert "div.approx" in ptx.text


@pytest.mark.parametrize(
    ("given", "passed", "architecture"),
    [
        (("--gpu-architecture=compute_75",), ("--std=c++17",), "compute_75"),
        (("-gencode", "arch=compute_80,code=sm_80", "-lineinfo"), ("--std=c++17",), "compute_80"),
        (("-arch", "native", "--std=c++20"), ("--std=c++20",), "compute_90"),
        (("-D N=3", "-UM"), ("--std=c++17", "-DN=3", "-UM"), "compute_90"),
        (("-Xcompiler", "-fopenmp", "-lcublas"), ("--std=c++17",), "compute_90"),
    ],
)
def test_reading_options(given, passed, architecture):
    read = options.read(given, "compute_90")
    assert (read.passed, read.architecture) == (passed, architecture)


@nvrtc
@pytest.mark.parametrize(
    ("code", "given", "message"),
    [
        ("__global__ void k(float* x) {\n  x[0] = y;\n  int z = ;\n}", (), r'k\.cu:2: .*identifier "y" is undefined$'),
        ("__global__ void k(float* x) {\n", (), r'k\.cu: .*expected a "}"'),
        ('#include "nothing.h"\n', (), r'k\.cu:1: .*"nothing\.h": give its folder with the option -I'),
        (KERNEL, ("--nonsense",), "unrecognized option --nonsense"),
        (KERNEL, ("-arch=sm_30",), r"compiles for compute_\d+ to compute_\d+, not for compute_30"),
        (KERNEL, ("-arch=H200",), "'H200' is no GPU architecture"),
        (KERNEL, ("-dlto",), "asks for code that is not PTX"),
        (
            "template <class T> __device__ void f(T v) { v.foo(); }\n\n__global__ void k(float* x) { f(3); }",
            (),
            r"k\.cu:1: .*must have class type",
        ),
    ],
)
def test_the_compilers_first_error_with_its_place(code, given, message):
    with pytest.raises(GpukitError, match=message) as caught:
        compile_cuda(code, name="k.cu", options=given)
    assert "\n" not in str(caught.value)


@nvrtc
def test_an_error_carries_the_whole_log():
    with pytest.raises(CompileError) as caught:
        compile_cuda("__global__ void k(float* x) {\n  x[0] = y;\n  x[1] = z;\n}", name="k.cu")
    assert (caught.value.file, caught.value.line) == ("k.cu", 2)
    assert 'identifier "z" is undefined' in caught.value.log


@nvrtc
def test_an_error_in_a_header_is_told_at_the_line_that_uses_it():
    code = "#include <cuda/std/array>\n__global__ void k(float* x) {\n  cuda::std::array<void, 2> a;\n}"
    with pytest.raises(CompileError) as caught:
        compile_cuda(code, name="k.cu")
    assert caught.value.line == 3


@nvrtc
def test_warnings_are_kept():
    (warning,) = compile_cuda("__global__ void k(float* x) {\n  int i;\n  x[0] = i;\n}", name="k.cu").warnings
    assert (warning.file, warning.line) == ("k.cu", 3)
    assert "before its value is set" in warning.text


@nvrtc
def test_a_name_expression_that_names_nothing():
    with pytest.raises(CompileError, match=r'"nope" is undefined .in a name expression\.?'):
        compile_cuda(KERNEL, name_expressions=["nope<int>"])


@nvrtc
def test_what_was_compiled_is_kept():
    assert compile_cuda(KERNEL) is compile_cuda(KERNEL)
    assert compile_cuda(KERNEL) is not compile_cuda(KERNEL, options=("-DN",))


def test_without_nvrtc(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(UnsupportedFeature, match=r'not installed: python -m pip install "gpukit\[compiled\]"'):
        compile_cuda(KERNEL)
    assert "not installed" in toolkit.why_no_nvrtc()


def test_on_a_mac(monkeypatch):
    monkeypatch.setattr(toolkit.platform, "system", lambda: "Darwin")
    with pytest.raises(UnsupportedFeature, match=r"no CUDA compiler for macOS: .*source level.*saved"):
        compile_cuda(KERNEL)
    with pytest.raises(UnsupportedFeature, match="no CUDA compiler for macOS"):
        numba_ptx.compile_numba(lambda x: None, (np.zeros(1),))


# --- signatures ------------------------------------------------------------------------------------------------------


def test_parameters_of_kernels():
    code = r"""
    // __global__ void no(int a)
    /* __global__ void no2(int a) */
    #define KERNEL extern "C" __global__
    const char* s = "__global__ void no3(int)";
    #if 0
    __global__ void no4(int);
    #endif
    template <typename T, int N = (3 > 2)>
    __global__ void __launch_bounds__(256, 2) scale(T* __restrict__ x, const T *y, T a = T(3), int n = f(1, 2)) { }
    KERNEL void k(float x[], unsigned int, std::size_t, const std::array<float, 4> v, void (*f)(int), struct P p) {}
    namespace a::b { static __global__ __launch_bounds__(64) void z(void) {} }
    extern "C" { void __global__ late(int const* const __restrict__ p, double2 d[4]) noexcept { } }
    [[maybe_unused]] __global__ void __attribute__((noinline)) attr(Pair<int, float>* p, unsigned long long n) {}
    __global__ void declared(float4 q);
    """
    by_name = {kernel.name: kernel for kernel in signatures.kernels(code)}
    assert {name: list(kernel.parameters) for name, kernel in by_name.items()} == {
        "scale": [
            Parameter("x", "T*", True, False),
            Parameter("y", "const T*", True, True),
            Parameter("a", "T", False, False),
            Parameter("n", "int", False, False),
        ],
        "k": [
            Parameter("x", "float*", True, False),
            Parameter("", "unsigned int", False, False),
            Parameter("", "std::size_t", False, False),
            Parameter("v", "const std::array<float, 4>", False, True),
            Parameter("f", "void (*) (int)", True, False),
            Parameter("p", "struct P", False, False),
        ],
        "a::b::z": [],
        "late": [Parameter("p", "int const* const", True, True), Parameter("d", "double2*", True, False)],
        "attr": [Parameter("p", "Pair<int, float>*", True, False), Parameter("n", "unsigned long long", False, False)],
        "declared": [Parameter("q", "float4", False, False)],
    }
    assert [name for name, kernel in by_name.items() if kernel.c_name] == ["k", "late"]
    assert [name for name, kernel in by_name.items() if kernel.template] == ["scale"]
    assert code.splitlines()[by_name["scale"].line - 1].strip().startswith("__global__ void __launch_bounds__")


def test_finding_a_kernel_by_a_name_expression():
    kernels = signatures.kernels(
        "namespace a { __global__ void f(int* x); __global__ void g(); } namespace b { __global__ void g(); }"
    )
    assert signatures.find(kernels, "a::f").name == "a::f"
    assert signatures.find(kernels, "f<int, 3>").name == "a::f"
    assert signatures.find(kernels, "b::g").name == "b::g"
    assert signatures.find(kernels, "g") is None
    assert signatures.find(kernels, "h") is None


# --- numba kernels ---------------------------------------------------------------------------------------------------

cuda = pytest.importorskip("numba.cuda", reason="numba-cuda is not installed")
if not hasattr(cuda, "compile_ptx"):
    pytest.skip("numba-cuda's compiler is not installed", allow_module_level=True)


class Colour(enum.IntEnum):
    RED = 1


RECORD = np.dtype([("a", "i4"), ("b", "f8")], align=True)


@cuda.jit
def everything(out, i, f, c, r, pair, flag, h, e, matrix, nothing=None, m=3):
    t = cuda.grid(1)
    if t < out.size and flag:
        out[t] = i + f + c.real - c.imag + r.b + pair[0] + pair[1][t % 2] + h + m + matrix[t % 3, 1]
        if e == Colour.RED:
            out[t] += 0.5
    if nothing is not None:
        out[0] = 0


def arguments(out):
    record = np.zeros(1, RECORD)[0]
    record["b"] = 7
    matrix = np.arange(12.0).reshape(3, 4)
    pair = (np.int16(4), np.array([1.0, 2.0]))
    return out, 2, 0.25, np.complex64(3 + 1j), record, pair, True, np.float16(0.125), Colour.RED, matrix


def test_every_kind_of_argument_becomes_its_parameters():
    compiled = numba_ptx.compile_numba(everything, arguments(np.zeros(64)))
    parts = [(slot.argument, slot.path, slot.part, str(slot.dtype)) for slot in compiled.slots]
    array = [(0, (), part, "int64") for part in ("unused", "unused", "size", "itemsize", "data", "shape", "stride")]
    assert parts[:7] == array
    assert parts[7:12] == [
        (1, (), "value", "int64"),
        (2, (), "value", "float64"),
        (3, (), "real", "float32"),
        (3, (), "imag", "float32"),
        (4, (), "record", "int64"),
    ]
    assert parts[12] == (5, (0,), "value", "int16")
    assert compiled.names()[17] == "pair[1]"
    assert compiled.names()[-1] == "m"
    assert [slot.axis for slot in compiled.slots if slot.argument == 9][-4:] == [0, 1, 0, 1]
    assert compiled.text.count(".param .", 0, compiled.text.index("{")) == len(compiled.slots)


def test_both_levels_compute_the_same():
    out, expected = np.zeros(64), np.zeros(64)
    gpukit.launch(everything, 1, 64, *arguments(expected))
    gpukit.launch(numba_ptx.compiled(everything, arguments(out)), 1, 64, *arguments(out))
    assert expected[:2].tolist() == [2 + 0.25 + 3 - 1 + 7 + 4 + 1 + 0.125 + 3 + 1 + 0.5, 25.875]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_scalars_of_every_type(dtype):
    def store(out, value):
        out[cuda.threadIdx.x] = value

    value = np.dtype(dtype).type(True if dtype == "bool" else 3)
    out = np.zeros(4, dtype)
    gpukit.launch(numba_ptx.compiled(store, (out, value)), 1, 4, out, value)
    assert out.tolist() == [value] * 4


def test_arrays_of_every_layout():
    def copy(out, x):
        i, j, k = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
        out[i, j, k] = x[i, j, k]

    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    from gpukit import cuda as facade

    sliced = facade.to_device(np.arange(96, dtype=np.float32).reshape(4, 6, 4))[::2, ::2]
    broadcast = np.broadcast_to(np.arange(4, dtype=np.float32), (2, 3, 4))
    for x in (base, np.asfortranarray(base), sliced, broadcast):
        out = np.zeros((2, 3, 4), np.float32)
        gpukit.launch(numba_ptx.compiled(copy, (out, x)), 1, (2, 3, 4), out, x)
        host = x.copy_to_host() if hasattr(x, "copy_to_host") else x
        np.testing.assert_array_equal(out, host)


def test_any_number_of_arguments():
    def total(out, *values):
        out[0] = values[0] + values[1][1]

    out = np.zeros(1)
    gpukit.launch(numba_ptx.compiled(total, (out, 2, np.array([3, 4.5]))), 1, 1, out, 2, np.array([3, 4.5]))
    assert out[0] == 6.5


def test_lines_lead_to_the_source():
    compiled = numba_ptx.compiled(everything, arguments(np.zeros(4)))
    report = gpukit.profile(compiled, 1, 4, *arguments(np.zeros(4)))
    (line,) = [line for line in report.lines if "matrix[t % 3, 1]" in line.text]
    assert Path(line.file) == Path(__file__)
    assert line.counters["global_store_requests"] >= 1
    assert report.level == "compiled"


LOADED = """
import math
from numba import cuda, float32
SIZE = 32

@cuda.jit(device=True)
def helper(v, w=2):
    return math.sqrt(v) * w

@cuda.jit
def mirrored(x, scale=3.0):
    s = cuda.shared.array(SIZE, float32)
    i = cuda.threadIdx.x
    s[i] = helper(x[i])
    cuda.syncthreads()
    x[i] = s[SIZE - 1 - i] * scale
"""


def test_a_kernel_from_a_file_that_was_never_executed(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(LOADED + "\nraise SystemExit('executed')\n")
    kernel = gpukit.load(path)["mirrored"]
    x = np.arange(32, dtype=np.float32) ** 2
    report = gpukit.profile(numba_ptx.compiled(kernel, (x,)), 1, 32, x)
    assert x.tolist() == [6.0 * (31 - i) for i in range(32)]
    assert report.counters["shared_store_requests"] == 1
    assert {Path(line.file) for line in report.lines} == {path}


def test_kernels_written_for_the_facade_and_under_a_stand_in():
    from gpukit import cuda as facade

    @facade.jit(device=True)
    def twice(v):
        return v * 2

    offset = 5

    @facade.jit
    def kernel(x):
        i = facade.grid(1)
        facade.atomic.add(x, 0, twice(facade.int32(1)))
        if i:
            x[i] = offset

    with stand_in():
        scope: dict = {}
        exec(LOADED, scope)
        for function, expected in ((kernel, [64, 5]), (scope["mirrored"], [0, 0])):
            x = np.zeros(32, np.float32)
            gpukit.launch(numba_ptx.compiled(function, (x,)), 1, 32, x)
            assert x[:2].tolist() == expected
        assert sys.modules["numba.cuda"] is facade  # and it stays in place
    assert sys.modules["numba.cuda"] is cuda


def test_options_of_the_kernel_reach_the_compiler():
    def divide(x):
        x[0] = x[1] / x[2]

    x = np.zeros(3, np.float32)
    assert "div.rn.f32" in numba_ptx.compile_numba(cuda.jit(divide), (x,)).text
    assert "div.approx" in numba_ptx.compile_numba(cuda.jit(fastmath=True)(divide), (x,)).text


def test_what_numba_does_not_take():
    def undefined(x):
        x[0] = no_such_thing(3)  # noqa: F821

    def mixed(x):
        n = 3
        x[0] = "q" + n

    def generator(x):
        yield x[0]

    x = np.zeros(3)
    first = undefined.__code__.co_firstlineno
    with pytest.raises(KernelTypeError, match="`undefined`: NameError: name 'no_such_thing' is not defined") as caught:
        numba_ptx.compile_numba(undefined, (x,))
    assert Path(caught.value.file) == Path(__file__)
    assert first <= caught.value.line <= first + 1
    with pytest.raises(KernelTypeError, match=r"it has no version of add\(.*str.*int") as caught:
        numba_ptx.compile_numba(mixed, (x,))
    assert caught.value.line == mixed.__code__.co_firstlineno + 2
    with pytest.raises(UnsupportedFeature, match="does not take `generator`"):
        numba_ptx.compile_numba(generator, (x,))
    with pytest.raises(LaunchError, match=r"`mixed\(x\)` takes 1 argument, 2 given"):
        numba_ptx.compile_numba(mixed, (x, x))
    with pytest.raises(KernelTypeError, match="a list, which a kernel cannot take"):
        numba_ptx.compile_numba(mixed, ([1],))
    with pytest.raises(KernelTypeError, match="not int"):
        numba_ptx.compile_numba(3, (x,))


def test_math_and_the_compilers_own_constants_agree():
    def kernel(x):
        x[0] = math.pi * math.sin(x[1])

    x = np.array([0.0, 0.5])
    gpukit.launch(numba_ptx.compiled(kernel, (x,)), 1, 1, x)
    assert x[0] == pytest.approx(math.pi * math.sin(0.5), rel=1e-15)


def test_a_kernel_that_nobody_holds_is_forgotten(tmp_path):
    """What is kept of it must not lead back to it."""
    file = tmp_path / "step.py"
    file.write_text("def step(x):\n    x[cuda.threadIdx.x] += 1\n")
    names = {"__name__": "step", "cuda": cuda}
    exec(compile(file.read_text(), str(file), "exec"), names)
    x = np.zeros(4)
    gpukit.profile(names["step"], 1, 4, x, level="compiled")
    assert (x == 1).all()
    kernel = weakref.ref(names["step"])
    names.clear()
    gc.collect()
    assert kernel() is None


def test_numba_without_numba_cuda(monkeypatch):
    """numba may still bring a numba.cuda of its own, which lacks what is needed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "numba_cuda" else find(name))
    with pytest.raises(UnsupportedFeature, match=r'not installed: python -m pip install "gpukit\[compiled\]"'):
        numba_ptx.compile_numba(lambda x: None, (np.zeros(1),))
