"""The GPU machine on a real GPU. Skipped, with the reason, where there is none."""

import json
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit import checking, cli, cuda, devices, gpu, registry
from gpukit.compilers import toolkit
from gpukit.gpu import libraries, ncu
from gpukit.machine.frontends.arguments import as_numpy

WHY_NOT = gpu.missing()
NO_COMPILER = toolkit.why_no_nvrtc()
pytestmark = [
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "there is a GPU"),
    pytest.mark.filterwarnings("default"),  # of CuPy and numba-cuda, which are not ours
]
needs_nvrtc = pytest.mark.skipif(bool(NO_COMPILER), reason=NO_COMPILER or "there is a compiler")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cp():
    return libraries.cupy()


def launch(*args, **more):
    gpukit.launch(*args, machine="gpu", **more)


@cuda.jit
def scale(x, factor, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = factor * x[i]


@cuda.jit
def add_one(x):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] += 1


# --- kernels in Python -----------------------------------------------------------------------------------------------


def test_cupy_arrays(cp):
    x = np.arange(1000, dtype=np.float32)
    there, out = cp.asarray(x), cp.asarray(np.zeros(1000, np.float32))
    launch(scale, 8, 128, there, np.float32(2.5), out)
    np.testing.assert_array_equal(cp.asnumpy(out), np.float32(2.5) * x)


def test_numpy_arrays_in_place():
    x, out = np.arange(1000, dtype=np.float64), np.zeros(1000)
    launch(scale, 8, 128, x, 2.5, out)
    np.testing.assert_array_equal(out, 2.5 * x)


def test_both_kinds_of_arrays_in_one_launch(cp):
    x = np.arange(1000.0)
    out = cp.asarray(np.zeros(1000))
    launch(scale, 8, 128, x, 3, out)
    np.testing.assert_array_equal(cp.asnumpy(out), 3 * x)


def test_a_read_only_array():
    x, out = np.arange(64.0), np.zeros(64)
    x.flags.writeable = False
    launch(scale, 2, 32, x, 2.0, out)
    assert out[63] == 126
    with pytest.raises(gpukit.KernelTypeError):
        launch(scale, 2, 32, out, 2.0, x)


VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "rows": lambda a: a[3:7],
    "fortran": lambda a: np.asfortranarray(a),
    "strided": lambda a: cuda.to_device(a)[::2, 1::3],
    "backwards": lambda a: cuda.to_device(a)[::-1, ::-1],
    "a column": lambda a: cuda.to_device(a)[:, 5:6],
    "empty": lambda a: a[:0],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_are_updated_as_on_the_cpu_machine(view):
    base = np.arange(96, dtype=np.int32).reshape(8, 12)
    there, here = view(base), view(base.copy())
    gpukit.launch(add_one, (4, 4), (4, 4), here, machine="cpu")
    launch(add_one, (4, 4), (4, 4), there)
    np.testing.assert_array_equal(as_numpy(there), as_numpy(here))


def test_views_of_cupy_arrays(cp):
    base = np.arange(96, dtype=np.int32).reshape(8, 12)
    there = cp.asarray(base)
    launch(add_one, (4, 4), (4, 4), there[::2, ::3])
    launch(add_one, (4, 4), (4, 4), there.T)
    launch(add_one, (4, 4), (4, 4), there[::-1, ::-1])
    expected = base + 2
    expected[::2, ::3] += 1
    np.testing.assert_array_equal(cp.asnumpy(there), expected)


def test_views_that_overlap():
    here, there = np.arange(40, dtype=np.int64), np.arange(40, dtype=np.int64)
    gpukit.launch(scale, 1, 32, here[:32], 3, here[8:], machine="cpu")
    launch(scale, 1, 32, there[:32], 3, there[8:])
    np.testing.assert_array_equal(there, here)


def test_records_and_tuples():
    point = np.dtype([("x", np.float32), ("n", np.int32)])

    @cuda.jit
    def mixed(points, pair):
        i = cuda.grid(1)
        if i < points.size:
            points[i].n += 1
            pair[0][i] = points[i].x * pair[1]

    points, first = np.ones(32, point), np.zeros(32)
    launch(mixed, 1, 32, points, (first, 2.5))
    assert points["n"].tolist() == [2] * 32
    assert first.tolist() == [2.5] * 32


SCALARS = [
    *(3, -5, 2**40, 2**63, 1.5, True, 2 + 3j, np.int8(-3), np.uint16(7), np.int32(-9), np.uint64(2**63)),
    *(np.float16(0.5), np.float32(0.1), np.float64(0.1), np.complex64(1 + 1j), np.bool_(True)),
]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_scalars(value):
    @cuda.jit
    def keep(out, value):
        out[0] = value

    out = np.zeros(1, np.asarray(value).dtype)
    launch(keep, 1, 1, out, value)
    assert out[0] == value


def test_a_kernel_of_a_file_of_numba_itself_and_with_options(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from numba import cuda\n\n@cuda.jit\ndef two(x):\n    x[cuda.grid(1)] = 2\n")
    x = np.zeros(32)
    launch(gpukit.load(file)["two"], 1, 32, x)
    assert x.tolist() == [2.0] * 32
    numba_cuda = libraries.numba_cuda()

    @numba_cuda.jit(fastmath=True, max_registers=32)
    def three(x):
        x[numba_cuda.grid(1)] = 3

    launch(three, 1, 32, x)
    assert x.tolist() == [3.0] * 32


@pytest.mark.parametrize("nbytes", [128, 48 * 1024, 64 * 1024])
def test_dynamic_shared_memory(nbytes):
    @cuda.jit
    def reverse(x, last):
        tile = cuda.shared.array(0, np.float32)
        i = cuda.threadIdx.x
        tile[last - i] = x[i]
        cuda.syncthreads()
        x[i] = tile[last - 31 + i]

    x = np.arange(32, dtype=np.float32)
    launch(reverse, 1, 32, x, nbytes // 4 - 1, shared_bytes=nbytes)
    assert x.tolist() == list(range(31, -1, -1))


def test_more_shared_memory_than_there_is():
    with pytest.raises(gpukit.LaunchError, match="use a smaller tile"):
        launch(scale, 1, 32, np.zeros(32), 2.0, np.zeros(32), shared_bytes=10**7)


def test_a_grid_wide_barrier_in_python():
    @cuda.jit
    def both(x, y):
        grid = cuda.cg.this_grid()
        i = cuda.grid(1)
        x[i] = i
        grid.sync()
        y[i] = x[x.size - 1 - i]

    x, y = np.zeros(256, np.int32), np.zeros(256, np.int32)
    launch(both, 2, 128, x, y)
    np.testing.assert_array_equal(y, np.arange(256)[::-1])
    with pytest.raises(gpukit.GpukitError, match="all blocks on the GPU at once") as caught:
        big = np.zeros(1024 * 100_000, np.int8)
        launch(both, 100_000, 1024, big, big)
    assert not getattr(caught.value, "lost", False)


def test_what_does_not_compile_is_one_sentence_with_its_place():
    @cuda.jit
    def wrong(x):
        x[0] = x.nothing_of_the_kind

    with pytest.raises(gpukit.KernelTypeError, match="`wrong`") as caught:
        launch(wrong, 1, 32, np.zeros(32))
    assert caught.value.line == wrong.py_func.__code__.co_firstlineno + 2


def test_device_arrays_are_launched_without_waiting(cp):
    @cuda.jit
    def spin(x, rounds):
        v = x[0]
        for _ in range(rounds):
            v = v * 1.0000001 + 1e-9
        x[0] = v

    x = cp.asarray(np.ones(1))
    launch(spin, 1, 1, x, 1000)
    cp.cuda.Device().synchronize()
    began = time.perf_counter()
    launch(spin, 1, 1, x, 50_000_000)
    launched = time.perf_counter() - began
    cp.cuda.Device().synchronize()
    finished = time.perf_counter() - began
    assert finished > 0.05
    assert launched < finished / 4


@pytest.mark.parametrize("what", ["python", pytest.param("cpp", marks=needs_nvrtc)])
def test_launches_are_on_cupys_current_stream(cp, what):
    stream = cp.cuda.Stream(non_blocking=True)
    x, out = cp.asarray(np.ones(1 << 20, np.float32)), cp.asarray(np.zeros(1 << 20, np.float32))
    cp.cuda.Device().synchronize()
    with stream:
        for _ in range(10):
            if what == "python":
                launch(scale, 4096, 256, x, np.float32(2), out)
            else:
                launch(axpy(), 4096, 256, x, np.float32(2), out, 1 << 20)
            x += out  # CuPy's own kernels come before and after
            out *= 0
        assert stream.ptr != 0
    stream.synchronize()
    assert float(x[0]) == 3.0**10


def test_what_a_launch_costs(cp, record_property):
    x = cp.asarray(np.ones(1024, np.float32))
    launch(scale, 4, 256, x, np.float32(1), x)
    cp.cuda.Device().synchronize()
    began = time.perf_counter()
    for _ in range(200):
        launch(scale, 4, 256, x, np.float32(1), x)
    each = (time.perf_counter() - began) / 200
    cp.cuda.Device().synchronize()
    record_property("microseconds_per_launch", each * 1e6)
    print(f"a launch of a kernel in Python takes {each * 1e6:.0f} microseconds of the host")
    assert each < 1e-3


# --- kernels in CUDA C++ ---------------------------------------------------------------------------------------------

AXPY = """
#include <cstdio>
#include <vector>
extern "C" __global__ void axpy(const float* x, float a, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
int main() { std::vector<float> v(3); printf("%d", (int)v.size()); return 0; }
"""
KEPT = {}


def axpy():
    if "axpy" not in KEPT:
        KEPT["axpy"] = gpukit.RawKernel(AXPY, "axpy")
    return KEPT["axpy"]


@needs_nvrtc
def test_cpp_with_cupy_and_numpy_arrays(cp):
    x = np.arange(1000, dtype=np.float32)
    there, y = cp.asarray(x), cp.asarray(np.ones(1000, np.float32))
    launch(axpy(), 8, 128, there, np.float32(2), y, 1000)
    launch(axpy(), 8, 128, there, 2.0 * np.float32(1), y, np.int64(1000))
    np.testing.assert_array_equal(cp.asnumpy(y), 1 + 4 * x)
    here = np.ones(1004, np.float32)
    launch(axpy(), 8, 128, x, np.float32(2), here[4:], 1000)
    np.testing.assert_array_equal(here[4:], 1 + 2 * x)
    assert here[:4].tolist() == [1] * 4


@needs_nvrtc
def test_cpp_arguments_of_every_type():
    code = """
    struct Pair { float a; int n; };
    extern "C" __global__ void keep(bool b, char c, short s, int i, unsigned u, long long l, float f, double d,
                                    Pair p, const float* none, double* out) {
        double all[] = {b ? 1. : 0., (double)c, (double)s, (double)i, (double)u, (double)l, f, d, p.a, (double)p.n,
                        none ? 1. : 0.};
        for (int k = 0; k < 11; k++) out[k] = all[k];
    }
    """
    kernel = gpukit.RawKernel(code, "keep")
    pair = np.array((0.5, -7), [("a", np.float32), ("n", np.int32)])[()]
    out = np.zeros(11)
    for round_ in (0, 1):
        launch(kernel, 1, 1, True, -3, 300, -70_000 - round_, 2**32 - 1, 2**40, np.float32(1.5), 2.5, pair, None, out)
        assert out.tolist() == [1, -3, 300, -70_000 - round_, 2**32 - 1, 2**40, 1.5, 2.5, 0.5, -7, 0]
    with pytest.raises(gpukit.LaunchError, match="which holds"):
        launch(kernel, 1, 1, True, -3, 300, 2**31, 0, 0, np.float32(0), 0.0, pair, None, out)


@needs_nvrtc
def test_templates_shared_memory_and_the_grid(tmp_path):
    file = tmp_path / "more.cu"
    file.write_text(
        textwrap.dedent("""
        #include <cooperative_groups.h>
        template <int N> __global__ void fill(int* x, int last) {
            extern __shared__ int s[];
            s[last] = N;
            __syncthreads();
            x[threadIdx.x] = s[last];
        }
        __global__ void both(int* x, int* y) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            x[i] = i;
            cooperative_groups::this_grid().sync();
            y[i] = x[gridDim.x * blockDim.x - 1 - i];
        }
        """)
    )
    kernels = gpukit.load(file)
    x = np.zeros(32, np.int32)
    launch(kernels["fill<7>"], 1, 32, x, 64 * 1024 // 4 - 1, shared_bytes=64 * 1024)
    assert x.tolist() == [7] * 32
    x, y = np.zeros(256, np.int32), np.zeros(256, np.int32)
    launch(kernels["both"], 2, 128, x, y)
    np.testing.assert_array_equal(y, np.arange(256)[::-1])
    with pytest.raises(gpukit.LaunchError, match="all blocks on the GPU at once"):
        big = np.zeros(1024 * 10_000, np.int32)
        launch(kernels["both"], 10_000, 1024, big, big)


@needs_nvrtc
def test_constant_memory_and_variables_of_a_module():
    code = """
    __constant__ int factor;
    __device__ int calls;
    extern "C" __global__ void times(int* x) {
        x[threadIdx.x] *= factor;
        if (threadIdx.x == 0) calls += 1;
    }
    """
    module = gpukit.RawModule(code=code)
    kernel = module.get_function("times")
    x = np.ones(32, np.int32)
    factor = module.get_global("factor").view(np.int32)
    for number in (3, 5):
        factor[0] = number
        launch(kernel, 1, 32, x)
    assert x.tolist() == [15] * 32
    calls = module.get_global("calls").view(np.int32)
    assert calls[0] == 2
    launch(kernel, 1, 32, x)
    assert calls[0] == 3
    calls[0] = 10
    launch(kernel, 1, 32, x)
    assert calls[0] == 11


@needs_nvrtc
def test_ptx_of_its_own(tmp_path):
    text = gpukit.RawModule(code=AXPY, options=("-arch=compute_80",)).ptx
    file = tmp_path / "axpy.ptx"
    file.write_text(text)
    kernel = gpukit.RawModule(path=file).get_function("axpy")
    x, y = np.ones(32, np.float32), np.ones(32, np.float32)
    try:
        launch(kernel, 1, 32, x, np.float32(2), y, 32)
    except gpu.GpuError as error:
        assert "newer than the driver" in str(error)
        pytest.skip(str(error))
    assert y.tolist() == [3] * 32


@needs_nvrtc
def test_launch_bounds_and_blocks_that_do_not_fit():
    code = 'extern "C" __global__ __launch_bounds__(64) void f(int* x) { x[threadIdx.x] = 1; }'
    with pytest.raises(gpukit.LaunchError, match="at most 64 threads"):
        launch(gpukit.RawKernel(code, "f"), 1, 128, np.zeros(128, np.int32))


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    x = torch.ones(64, device="cuda")
    launch(scale, 2, 32, x, np.float32(2), x)
    assert x.sum().item() == 128
    with pytest.raises(gpukit.KernelTypeError, match="not in GPU memory"):
        launch(scale, 2, 32, torch.ones(64), np.float32(2), x)


# --- the device, and the families ------------------------------------------------------------------------------------


def test_the_device(cp):
    device = devices.device("auto")
    assert device.name == "gpu"
    assert device.xp is cp
    assert device.sms >= 1
    assert device.card
    assert device.memory_bytes > 0
    x = cp.asarray(np.arange(32.0))
    device.launch(registry.Launch(scale, 1, 32, (x, 2.0, x)))
    device.synchronize()
    assert device.to_host(x)[31] == 62


def rungs():
    for family in registry.families().values():
        for rung in family.rungs.values():
            if "gpu" in rung.machines and rung.kernel is not None and not rung.hazard:
                marks = [needs_nvrtc] if rung.language == registry.CPP else []
                yield pytest.param(family, rung, id=f"{family.name}.{rung.key}", marks=marks)


@pytest.mark.parametrize(("family", "rung"), list(rungs()))
def test_a_rung_is_right_on_the_gpu(family, rung):
    found = checking.check(family, [rung], devices.device("gpu"), [n for n in family.lengths if n <= 100_000])
    assert not found[rung.key], str(found[rung.key][0])


# --- when it fails ---------------------------------------------------------------------------------------------------


def test_out_of_memory(cp):
    with pytest.raises(gpu.GpuError, match=r"bytes more are needed and [\d,]+ are free"), gpu.explaining(cupy=cp):
        cp.empty(1 << 45, np.uint8)
    two = np.lib.stride_tricks.as_strided(np.zeros(2, np.float32), (2,), (1 << 45,))  # never touched: it does not fit
    if not NO_COMPILER:
        with pytest.raises(gpu.GpuError, match="the kernel `axpy`: the GPU's memory is full"):
            launch(axpy(), 1, 32, two, np.float32(2), np.zeros(2, np.float32), 2)
    x = np.ones(32)
    launch(scale, 1, 32, x, 2.0, x)  # nothing is lost
    assert x[0] == 2


ILLEGAL = """
import sys
import numpy as np
import gpukit
from gpukit import cuda, gpu

@cuda.jit
def astray(x, far):
    x[far + cuda.grid(1)] = 1

for attempt in range(2):
    try:
        gpukit.launch(astray, 1, 32, np.zeros(32), 1 << 42, machine="gpu")
    except gpu.GpuError as error:
        print(error.lost, error)
"""


def test_an_illegal_access_is_one_sentence_and_ends_the_process_for_the_gpu(tmp_path):
    file = tmp_path / "astray.py"
    file.write_text(ILLEGAL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=240, env=environment)
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) == 2, (done.stdout, done.stderr[-2000:])
    assert all(line.startswith("True ") and "CUDA_ERROR_ILLEGAL_ADDRESS" in line for line in lines)
    assert "the kernel `astray`" in lines[0]
    assert "gpukit check" in lines[0]


# --- counters --------------------------------------------------------------------------------------------------------

KERNELS = """\
from numba import cuda


@cuda.jit
def scale(x, factor, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = factor * x[i]
"""
SHAPE = ["--grid", "8", "--block", "128"]


@pytest.mark.skipif(ncu.find() is None, reason="Nsight Compute (ncu) is not on this computer")
@pytest.mark.parametrize("language", ["python", pytest.param("cpp", marks=needs_nvrtc)])
def test_profile_puts_the_hardwares_counters_beside_the_cpu_machines(tmp_path, capsys, language):
    if language == "python":
        file = tmp_path / "kernels.py"
        file.write_text(KERNELS)
        target = [f"{file}:scale", "-a", "x=float32[1000]:ones", "-a", "factor=2.0", "-a", "out=float32[1000]"]
        try:
            gpukit.profile(gpukit.load(file)["scale"], 1, 32, np.ones(32), 2.0, np.ones(32), level="compiled")
        except gpukit.UnsupportedFeature as error:
            pytest.skip(str(error))
    else:
        file = tmp_path / "axpy.cu"
        file.write_text(AXPY)
        target = [f"{file}:axpy", "-a", "x=[1000]:ones", "-a", "a=2", "-a", "y=[1000]", "-a", "n=1000"]
    out = tmp_path / "out.json"
    assert cli.main(["profile", *target[:1], "--machine", "gpu", *SHAPE, *target[1:], "--json", str(out)]) == 0
    printed = capsys.readouterr()
    data = json.loads(out.read_text())
    if data["why_not"]:
        assert data["why_not"] in printed.err
        pytest.skip(data["why_not"])
    rows = {row["counter"]: row for row in data["comparison"]}
    for counter, row in rows.items():
        if counter.startswith("global_"):
            assert row["difference"] == 0, row
    assert rows["global_load_sectors"]["hardware"] == 125 * (1 if language == "python" else 2)
    assert 1e-7 < data["seconds"] < 1e-3
    assert "Time of the launch on the GPU" in printed.out


def test_profile_without_ncu_still_has_the_cpu_machines_counters(tmp_path, monkeypatch, capsys):
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    monkeypatch.setattr(ncu, "find", lambda: None)
    arguments = ["-a", "x=float32[1000]:ones", "-a", "factor=2.0", "-a", "out=float32[1000]", "--level", "source"]
    assert cli.main(["profile", f"{file}:scale", "--machine", "gpu", *SHAPE, *arguments]) == 0
    printed = capsys.readouterr()
    assert "global_load_sectors" in printed.out
    assert "install NVIDIA Nsight Compute" in printed.err
