"""RawKernel and RawModule: CuPy's interface, what arguments may be, and what errors say."""

import io
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit import raw
from gpukit.compilers import toolkit
from gpukit.errors import GpukitError, KernelSyntaxError, KernelTypeError, LaunchError, UnsupportedFeature
from gpukit.raw import RawKernel, RawModule

pytestmark = pytest.mark.skipif(bool(toolkit.why_no_nvrtc()), reason=toolkit.why_no_nvrtc() or "NVRTC is there")

CODE = r"""
#include <cstdio>
struct Point { float x, y; int z; };
extern "C" __global__ void scale(float* x, float a, int n, double d, bool add, unsigned long long q, short h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = a * x[i] + (add ? (float)d : 0.f) + q + h;
}
__constant__ float coef[4];
__device__ int calls;
extern "C" __global__ void point(float* out, Point p, float4 v) {
  out[threadIdx.x] = p.x + p.y * p.z + coef[threadIdx.x] + v.w;
  atomicAdd(&calls, 1);
}
extern "C" __global__ void dynamic(int* out) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(128) bounded(float* x) {
  __shared__ float s[32];
  s[threadIdx.x] = *x;
  x[1] = s[0];
}
template <typename T> __global__ void shift(T* x, T a) { x[threadIdx.x] += a; }
namespace tools { __global__ void one(float* x) { *x = 1; } }
__global__ void plain(float* x) { *x = 2; }
void main_like(float* x) { plain<<<1, 1>>>(x); }
"""
LINES = CODE.splitlines()
MODULE = RawModule(code=CODE, name_expressions=["shift<float>", "shift<int>", "tools::one", "plain", "&calls"])


def line_of(text: str) -> int:
    """The line of this file that a line of CODE stands on."""
    mine = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(mine, 1) if line.startswith(text))


def test_a_kernel_runs_as_in_cupy():
    kernel = RawKernel(CODE, "scale")
    x = np.ones(64, np.float32)
    assert kernel((2,), (32,), (x, np.float32(2), 60, 1.5, True, 3, np.int16(-1))) is None
    np.testing.assert_array_equal(x, [2 + 1.5 + 3 - 1] * 60 + [1] * 4)
    report = gpukit.profile(kernel, 2, 32, x, np.float32(2), 60, 1.5, True, 3, np.int16(-1))
    assert (report.kernel, report.level, report.file) == ("scale", "compiled", __file__)
    assert report.counters["global_store_requests"] == 2
    assert [a["dtype"] for a in report.arguments] == [
        "float32",
        "float32",
        "int32",
        "float64",
        "bool",
        "uint64",
        "int16",
    ]
    (line,) = [line for line in report.lines if line.counters.get("global_store_requests")]
    assert line.number == line_of("  if (i < n) x[i] = a * x[i]")


def test_structures_and_module_variables():
    kernel = MODULE.get_function("point")
    MODULE.get_global("coef").view(np.float32)[:] = [1, 2, 3, 4]
    MODULE.get_global("&calls").view(np.int32)[:] = 0
    point = np.zeros(1, np.dtype([("x", "f4"), ("y", "f4"), ("z", "i4")]))
    point["x"], point["y"], point["z"] = 1, 2, 3
    vector = np.zeros(1, np.dtype([(name, "f4") for name in "xyzw"]))
    vector["w"] = 10
    for p, v in ((point, vector), (point[0], vector[0])):
        out = np.zeros(4, np.float32)
        kernel((1,), (4,), (out, p, v))
        assert out.tolist() == [18, 19, 20, 21]
    assert MODULE.get_global("calls").view(np.int32).tolist() == [8]


def test_templates_and_cpp_names():
    x = np.zeros(4, np.float32)
    MODULE.get_function("shift<float>")((1,), (4,), (x, np.float32(0.5)))
    n = np.zeros(4, np.int32)
    MODULE.get_function("shift<int>")((1,), (4,), (n, 2))
    MODULE.get_function("tools::one")((1,), (1,), (x,))
    assert (x.tolist(), n.tolist()) == ([1, 0.5, 0.5, 0.5], [2] * 4)


def test_dynamic_shared_memory_must_be_allowed():
    kernel = RawKernel(CODE, "dynamic")
    out = np.zeros(64, np.int32)
    kernel((1,), (64,), (out,), shared_mem=256)
    assert out.tolist() == list(range(63, -1, -1))
    assert kernel.max_dynamic_shared_size_bytes == 49_152
    with pytest.raises(LaunchError, match=r"50,000 bytes .* set kernel.max_dynamic_shared_size_bytes = 50000 first"):
        kernel((1,), (64,), (out,), shared_mem=50_000)
    kernel.max_dynamic_shared_size_bytes = 50_000
    kernel((1,), (64,), (out,), shared_mem=50_000)
    with pytest.raises(LaunchError, match="at most 232,448 bytes"):
        kernel.max_dynamic_shared_size_bytes = 300_000


def test_attributes():
    kernel = RawKernel(CODE, "bounded", ("-arch=sm_80",))
    assert kernel.attributes == {
        "max_threads_per_block": 128,
        "shared_size_bytes": 128,
        "const_size_bytes": 16,
        "local_size_bytes": 0,
        "num_regs": -1,
        "ptx_version": 80,
        "binary_version": 80,
        "cache_mode_ca": 0,
        "max_dynamic_shared_size_bytes": 49_152 - 128,
        "preferred_shared_memory_carveout": -1,
    }
    assert (kernel.name, kernel.__name__, kernel.options, kernel.backend) == (
        "bounded",
        "bounded",
        ("-arch=sm_80",),
        "nvrtc",
    )
    assert [p.name for p in kernel.parameters] == ["x"]
    with pytest.raises(UnsupportedFeature, match="number of registers of `bounded`"):
        kernel.num_regs  # noqa: B018


def test_compiling_now():
    said = io.StringIO()
    RawModule(code='extern "C" __global__ void k(float* x) { int unused; }').compile(log_stream=said)
    assert "never referenced" in said.getvalue()
    with pytest.raises(KernelSyntaxError, match="does not apply here"):
        RawModule(code="__global__ void k( {").compile()


F4, F8, I4 = np.zeros(4, np.float32), np.zeros(4), np.zeros(4, np.int32)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            (F4, 2.0),
            r"`a` of `scale` is the Python float 2.0, which CuPy hands over as a double; .*float: pass np.float32",
        ),
        ((F4, 2), r"`a` of `scale` is the Python int 2, which CuPy hands over as a long long; .* pass np.float32"),
        ((F4, np.float64(2)), r"`a` of `scale` is np.float64\(2.0\); the parameter is of type float: pass np.float32"),
        ((F8, np.float32(2)), r"`x` of `scale` is an array of float64; .*float\*: pass one of float32"),
        ((3, np.float32(2)), r"`x` of `scale` is the Python int 3; .*float\*: pass an array itself"),
        (([1.0], np.float32(2)), r"`x` of `scale` is a list; .*float\*: pass an array$"),
        ((F4, F4), r"`a` of `scale` is an array of shape \(4,\); .*float, which is no pointer"),
        ((F4, np.float32(2), 2**40), r"`n` of `scale` is 1,099,511,627,776; .*int, which holds -2,147,483,648 to"),
        ((F4, np.float32(2), 2.5), r"`n` of `scale` is the Python float 2.5.*int: pass np.int32"),
        ((F4, np.float32(2), np.int16(3)), r"`n` of `scale` is np.int16\(3\), of 2 bytes; .*int: pass np.int32"),
        ((F4, np.float32(2), 4, np.float32(1)), r"`d` of `scale` is np.float32\(1.0\); .*double: pass np.float64"),
        ((F4, np.float32(2), 4, 1.0, True, -1), r"`q` of `scale` is -1; .*which holds 0 to 18,446,744,073,709,551,615"),
        (
            (F4, np.float32(2), 4, 1.0, True, 1, 40_000),
            r"`h` of `scale` is 40,000; .*short, which holds -32,768 to 32,767",
        ),
        ((F4, np.float32(2), None), r"`n` of `scale` is None; the parameter is of type int"),
    ],
)
def test_arguments_that_do_not_fit(args, message):
    rest = (F4, np.float32(1), 4, 1.0, True, 1, 1)
    with pytest.raises(LaunchError, match=message) as caught:
        RawKernel(CODE, "scale")((1,), (4,), (*args, *rest[len(args) :]))
    assert (caught.value.file, caught.value.line) == (__file__, line_of('extern "C" __global__ void scale'))


def test_what_passes_as_it_does_on_a_gpu():
    """Bytes go where CuPy puts them: wider integers that fit, arrays of bytes or of pairs for what the kernel reads."""
    kernel = RawKernel(CODE, "scale")
    x = np.ones(4, np.float32)
    kernel((1,), (4,), (x, np.float32(2), np.int64(4), 0.0, 1, np.uint64(0), np.int64(3)))
    assert x.tolist() == [5] * 4
    kernel((1,), (4,), (x.view(np.uint8), np.float32(2), np.uint32(4), 0.0, np.bool_(False), 0, 0))
    assert x.tolist() == [10] * 4
    with pytest.raises(LaunchError, match="takes 7 arguments, 1 was given"):
        kernel((1,), (4,), (x,))


def test_slices_are_views_of_their_memory():
    x = np.zeros(16, np.float32)
    MODULE.get_function("shift<float>")((1,), (4,), (x[4:8], np.float32(1)))
    assert x.tolist() == [0] * 4 + [1] * 4 + [0] * 8
    MODULE.get_function("shift<float>")((1,), (4,), (x[::2], np.float32(1)))  # the pointer is all that is passed
    assert x.tolist() == [1] * 4 + [1] * 4 + [0] * 8


def test_beyond_a_slice_is_beyond_the_array():
    x = np.zeros(4, np.float32)
    with pytest.raises(gpukit.errors.KernelHazard, match="oob_global"):
        gpukit.check(MODULE.get_function("shift<float>"), 1, 5, x, np.float32(1))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda k: k(1, 32, (F4,)), LaunchError, r"grid must be a tuple of one to three ints, such as \(1,\); got 1"),
        (lambda k: k((1.5,), (32,), (F4,)), LaunchError, r"grid must be made of ints; got \(1.5,\) \(use //"),
        (lambda k: k((1,), (2, 2, 2, 2), (F4,)), LaunchError, "block must be a tuple of one to three ints"),
        (lambda k: k((1,), (2048,), (F4,)), LaunchError, "2,048 threads"),
        (lambda k: k((1,), (32,), F4), KernelTypeError, "args must be a tuple"),
        (lambda k: RawKernel(CODE, "scale", ["-O3"]), KernelTypeError, "options must be a tuple of strings"),
        (lambda k: RawKernel(CODE, "scale", "-O3"), KernelTypeError, "options must be a tuple of strings"),
        (lambda k: RawKernel(CODE, "scale", backend="hip"), KernelTypeError, 'must be "nvrtc" or "nvcc"'),
        (lambda k: RawModule(), KernelTypeError, "either code=.*or path="),
        (lambda k: RawModule(path="k.ptx", name_expressions=["k"]), KernelTypeError, "are for CUDA C.. code"),
        (
            lambda k: RawModule(path="/no/such.ptx").compile(),
            KernelSyntaxError,
            "/no/such.ptx: the file cannot be read",
        ),
        (lambda k: RawModule(path="k.cubin").compile(), UnsupportedFeature, "machine code for one GPU: save PTX"),
        (lambda k: RawModule(path=__file__).compile(), KernelSyntaxError, "path= takes a PTX file"),
        (lambda k: MODULE.get_function("nope"), LaunchError, "no kernel 'nope'; there is: scale, point, dynamic"),
        (
            lambda k: MODULE.get_function("shift"),
            LaunchError,
            r'is a template: give name_expressions=\("shift<...>",\)',
        ),
        (lambda k: MODULE.get_function("main_like"), KernelSyntaxError, "no kernel: it has no __global__ in front"),
        (lambda k: MODULE.get_global("nope"), LaunchError, "no variable 'nope'.*coef"),
        (
            lambda k: RawKernel(CODE, "plain")((1,), (1,), (F4,)),
            LaunchError,
            'has a C.. name: write extern "C" in front',
        ),
    ],
)
def test_wrong_use(call, error, message):
    with pytest.raises(error, match=message):
        call(MODULE.get_function("plain"))


def test_compile_errors_stand_at_the_line_of_the_script():
    kernel = RawKernel(
        r"""
        extern "C" __global__ void broken(float* x) {
          x[0] = undefined_here;
        }""",
        "broken",
    )
    with pytest.raises(KernelSyntaxError, match="undefined_here") as caught:
        kernel((1,), (1,), (F4,))
    assert (caught.value.file, caught.value.line) == (__file__, line_of("          x[0] = undefined_here"))


def test_code_that_is_built_at_run_time_has_a_made_up_name():
    name = "bro" + "ken"
    with pytest.raises(KernelSyntaxError, match=r"^kernel\.cu:2: .*nowhere"):
        RawKernel(f'extern "C" __global__ void {name}(float* x) {{\n  *x = nowhere;\n}}', name).compile()


def test_ptx_runs_without_its_compiler(tmp_path, monkeypatch):
    text = MODULE.ptx
    path = tmp_path / "saved.ptx"
    path.write_text(text)
    monkeypatch.setattr(toolkit, "nvrtc", None)
    for module in (RawModule(path=str(path)), RawModule(code=text)):
        x = np.ones(4, np.float32)
        module.get_function("scale")((1,), (4,), (x, np.float32(2), 4, 1.5, True, 3, 0))
        assert x.tolist() == [6.5] * 4
        module.get_global("coef").view(np.float32)[:] = [1, 2, 3, 4]
        point = np.zeros(1, np.dtype([("x", "f4"), ("y", "f4"), ("z", "i4")]))
        module.get_function("point")((1,), (4,), (x, point, np.zeros(1, "V16")[0]))
        assert x.tolist() == [1, 2, 3, 4]
        with pytest.raises(LaunchError, match=r"parameter 2.*Python float 2.0.*pass np.float32"):
            module.get_function("scale")((1,), (4,), (x, 2.0, 4, 1.5, True, 3, 0))
    assert list(raw.load(path))[:2] == ["scale", "point"]


def test_kernels_of_a_file(tmp_path):
    path = tmp_path / "kernels.cu"
    path.write_text(CODE)
    kernels = gpukit.load(path)
    assert list(kernels) == ["scale", "point", "dynamic", "bounded", "tools::one", "plain"]
    assert kernels.templates == ("shift",)
    x = np.zeros(4, np.float32)
    gpukit.launch(kernels.plain, 1, 1, x)
    gpukit.launch(kernels["shift<float>"], 1, 4, x, np.float32(1))
    assert x.tolist() == [3, 1, 1, 1]
    report = gpukit.profile(kernels["plain"], 1, 1, x)
    assert Path(report.file) == path
    with pytest.raises(KeyError):
        kernels["nope"]
    with pytest.raises(AttributeError, match="no kernel 'nope'; it has: scale, point"):
        kernels.nope  # noqa: B018
    with pytest.raises(GpukitError, match="cannot be read"):
        raw.load(tmp_path / "absent.cu")


def test_a_grid_barrier_needs_a_cooperative_launch():
    code = r"""#include <cooperative_groups.h>
    extern "C" __global__ void meet(int* x) {
      x[blockIdx.x] = 1;
      cooperative_groups::this_grid().sync();
      if (threadIdx.x == 0) x[2 + blockIdx.x] = x[1 - blockIdx.x];
    }"""
    x = np.zeros(4, np.int32)
    with pytest.raises(LaunchError, match="needs a cooperative launch: give enable_cooperative_groups=True"):
        RawKernel(code, "meet")((2,), (32,), (x,))
    RawKernel(code, "meet", enable_cooperative_groups=True)((2,), (32,), (x,))
    assert x.tolist() == [1, 1, 1, 1]


# --- what nvcc takes, and what would silently be other bytes ---------------------------------------------------------


def test_numbers_of_the_other_kind_are_refused():
    kernel = gpukit.RawKernel('extern "C" __global__ void k(const float* x, int* y) { y[0] = x[0]; }', "k")
    x, y = np.ones(1, np.float32), np.zeros(1, np.int32)
    gpukit.profile(kernel, 1, 1, x, y)
    assert y[0] == 1
    with pytest.raises(gpukit.GpukitError, match=r"`x` of `k` is an array of int32.*astype\(np.float32\).*view"):
        gpukit.profile(kernel, 1, 1, y, y)
    with pytest.raises(gpukit.GpukitError, match="`y` of `k` is an array of float32"):
        gpukit.profile(kernel, 1, 1, x, x)
    with pytest.raises(gpukit.GpukitError, match="foreign byte order"):
        gpukit.profile(kernel, 1, 1, x.astype(">f4"), y)


def test_launch_bounds_are_kept():
    kernel = gpukit.RawKernel('extern "C" __global__ void __launch_bounds__(64) k(int* y) { y[threadIdx.x] = 1; }', "k")
    gpukit.profile(kernel, 1, 64, np.zeros(64, np.int32))
    with pytest.raises(gpukit.GpukitError, match=r"at most 64 threads a block.*128 were asked for"):
        gpukit.profile(kernel, 1, 128, np.zeros(128, np.int32))


@pytest.mark.parametrize("code", [None, b"bytes", "a\0b", "\ud800"])
def test_code_that_is_no_text_is_refused(code):
    with pytest.raises(gpukit.GpukitError, match="code"):
        gpukit.RawKernel(code, "k")


def test_a_file_may_have_what_nvcc_lets_it_have(tmp_path):
    path = tmp_path / "nvcc.cu"
    path.write_bytes(
        b"\xef\xbb\xbf// caf\xe9\r\n"
        b"typedef int (*operation)(int, int);\r\n"
        b"__device__ int add(int a, int b) { return a + b; }\r\n"
        b"__device__ operation chosen = add;\r\n"
        b"__global__ void k(float* x, int* y) {\r\n"
        b"    uint t = threadIdx.x; x[t] = -INFINITY; y[t] = chosen(INT_MAX, -7); }\r\n"
    )
    x, y = np.zeros(1, np.float32), np.zeros(1, np.int32)
    gpukit.profile(gpukit.load(path)["k"], 1, 1, x, y)
    assert (x[0], y[0]) == (-np.inf, 2**31 - 8)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("std::max(2, 3)", 3),
        ("std::numeric_limits<short>::max()", 32767),
        ("(ushort)-1", 65535),
        ("(int64_t)-1", -1),
        ("(float)((__int128)1 << 100 >> 98)", 4),
        ("RAND_MAX > 1", 1),
    ],
)
def test_a_file_has_what_nvcc_includes(tmp_path, expression, value):
    path = tmp_path / "nvcc.cu"
    path.write_text(f"__global__ void k(float* x) {{ *x = {expression}; }}")
    x = np.zeros(1, np.float32)
    gpukit.profile(gpukit.load(path)["k"], 1, 1, x)
    assert x[0] == value


def test_a_header_may_have_a_byte_order_mark(tmp_path):
    (tmp_path / "seven.h").write_bytes(b"\xef\xbb\xbf#define SEVEN 7\n")
    path = tmp_path / "k.cu"
    path.write_text('#include "seven.h"\n__global__ void k(int* x) { *x = SEVEN; }')
    x = np.zeros(1, np.int32)
    gpukit.profile(gpukit.load(path)["k"], 1, 1, x)
    assert x[0] == 7


def test_the_block_that_a_kernel_requires():
    kernel = gpukit.RawKernel(
        'extern "C" __global__ void __block_size__((64, 1, 1)) k(int* y) { *y = blockDim.x; }', "k"
    )
    y = np.zeros(1, np.int32)
    gpukit.profile(kernel, 1, 64, y)
    assert y[0] == 64
    for block in (32, 128, (8, 8)):
        with pytest.raises(gpukit.GpukitError, match=r"blocks of \(64, 1, 1\) threads only"):
            gpukit.profile(kernel, 1, block, y)


TEXT = 'extern "C" __global__ void k(int* y) {}'


@pytest.mark.parametrize("name", [None, b"k", 3, "k\0", "\ud800"])
def test_names_that_are_no_text_are_refused(name):
    with pytest.raises(gpukit.GpukitError, match="the name of a kernel"):
        gpukit.RawKernel(TEXT, name)
    with pytest.raises(gpukit.GpukitError, match="the name of a kernel"):
        gpukit.RawModule(code=TEXT).get_function(name)
    with pytest.raises(gpukit.GpukitError, match="name expression"):
        gpukit.RawModule(code=TEXT, name_expressions=[name])


def test_other_arguments_that_are_no_text_are_refused():
    with pytest.raises(gpukit.GpukitError, match=r"name_expressions must be a list of strings, such as \['k<int>'\]"):
        gpukit.RawModule(code=TEXT, name_expressions="k<int>")
    with pytest.raises(gpukit.GpukitError, match="path must be a str or a Path"):
        gpukit.RawModule(path=3)
    with pytest.raises(gpukit.GpukitError, match="option"):
        gpukit.RawKernel(TEXT, "k", ("-DA=\ud800",))


def test_structures_of_foreign_byte_order_are_refused():
    kernel = gpukit.RawKernel('struct P { int a, b; };extern "C" __global__ void k(P p, int* y) { *y = p.b; }', "k")
    y, p = np.zeros(1, np.int32), np.array([(2, 3)], [("a", "i4"), ("b", "i4")])
    gpukit.profile(kernel, 1, 1, p[0], y)
    assert y[0] == 3
    with pytest.raises(gpukit.GpukitError, match="`p` of `k` has foreign byte order"):
        gpukit.profile(kernel, 1, 1, p.astype(p.dtype.newbyteorder())[0], y)


def test_zero_is_the_null_pointer():
    kernel = gpukit.RawKernel('extern "C" __global__ void k(int* p, int* y) { *y = p == nullptr; }', "k")
    y = np.zeros(1, np.int32)
    gpukit.profile(kernel, 1, 1, 0, y)
    assert y[0] == 1


def test_advice_is_in_the_language_of_the_kernel():
    code = """extern "C" __global__ void k(int* o) {
        __shared__ int s[64];
        s[threadIdx.x] = threadIdx.x;
        o[threadIdx.x] = s[63 - threadIdx.x];
    }"""
    report = gpukit.check(gpukit.RawKernel(code, "k"), 1, 64, np.zeros(64, np.int32), raise_=False)
    assert [hazard.kind for hazard in report.errors] == ["race_shared"]
    assert "__syncthreads()" in report.errors[0].advice
    assert "cuda." not in report.errors[0].advice


def test_dynamic_shared_memory_that_no_launch_gives():
    code = 'extern "C" __global__ void k(int* o) { extern __shared__ int s[]; s[threadIdx.x] = o[threadIdx.x]; }'
    kernel = gpukit.RawKernel(code, "k")
    report = gpukit.check(kernel, 1, 32, np.zeros(32, np.int32), raise_=False)
    assert [hazard.kind for hazard in report.errors] == ["oob_shared"]
    assert (
        "thread 0 of block 0 writes s[0], but the launch gives the block no dynamic shared memory"
        in report.errors[0].message
    )
    assert not gpukit.check(kernel, 1, 32, np.zeros(32, np.int32), shared_bytes=128).errors
