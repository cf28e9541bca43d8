"""Scripts written for CuPy, run on the CPU machine."""

import subprocess
import sys

import numpy as np
import pytest

from gpukit.compilers import toolkit
from gpukit.errors import KernelTypeError, UnsupportedFeature
from gpukit.scripts import Launches, run_script
from gpukit.standin import stand_in

nvrtc = pytest.mark.skipif(bool(toolkit.why_no_nvrtc()), reason=toolkit.why_no_nvrtc() or "NVRTC is there")

SAXPY = r'''
import numpy as np
import cupy as cp
from cupyx.profiler import benchmark

saxpy = cp.RawKernel(r"""
extern "C" __global__
void saxpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
""", "saxpy")

n = 1000
x = cp.random.rand(n, dtype=cp.float32)
y = cp.ones(n, dtype=cp.float32)
expected = 2 * x.get() + 1

start, end = cp.cuda.Event(), cp.cuda.Event()
start.record()
saxpy(((n + 255) // 256,), (256,), (y, x, np.float32(2), n))
end.record()
end.synchronize()
np.testing.assert_allclose(cp.asnumpy(y), expected, rtol=1e-6)
assert cp.cuda.get_elapsed_time(start, end) > 0
print(benchmark(saxpy, ((1,), (32,), (y, x, np.float32(0), n)), n_repeat=2).cpu_times.size > 0)
cp.cuda.Stream.null.synchronize()
with cp.cuda.Stream(non_blocking=True) as stream:
    saxpy((1,), (32,), (y, x, np.float32(0), n))
    stream.synchronize()
print(float(y.sum()) > n, type(y.sum()) is cp.ndarray)
'''


def run(tmp_path, text, **options):
    script = tmp_path / "script.py"
    script.write_text(text)
    return run_script(script, **options)


@nvrtc
def test_a_script_runs(tmp_path, capsys):
    before = sys.modules.get("cupy")
    assert run(tmp_path, SAXPY) == 0
    assert capsys.readouterr().out.splitlines() == ["True", "True True"]
    assert sys.modules.get("cupy") is before  # the stand-in is gone


@nvrtc
def test_its_launches_are_profiled(tmp_path):
    launches = Launches()
    assert run(tmp_path, SAXPY, launcher=launches.launch) == 0
    first = launches.reports[0][0]
    assert (first.kernel, first.grid, first.level) == ("saxpy", (4, 1, 1), "compiled")
    assert first.file == str(tmp_path / "script.py")
    assert first.counters["global_store_requests"] == 32  # 1,000 of 1,024 threads
    assert launches.total >= 3


@nvrtc
def test_errors_name_the_script(tmp_path, capsys):
    assert run(tmp_path, SAXPY.replace("if (i < n)", "if (i < m)")) == 1
    line = SAXPY.splitlines().index("    if (i < n) y[i] = a * x[i] + y[i];") + 1
    assert f'script.py:{line}: the CUDA C++ compiler says: identifier "m" is undefined' in capsys.readouterr().err
    assert run(tmp_path, SAXPY.replace("(y, x, np.float32(2), n)", "(y.get(), x, np.float32(2), n)")) == 1
    assert "`y` of `saxpy` is a NumPy array in the host's memory" in capsys.readouterr().err


@nvrtc
def test_modules_and_their_variables(tmp_path, capsys):
    text = r'''
import cupy as cp
module = cp.RawModule(code=r"""
__constant__ float coef[2];
template <typename T> __global__ void fill(T* out) { out[threadIdx.x] = coef[threadIdx.x]; }
""", name_expressions=["fill<float>", "fill<int>"])
coef = cp.ndarray((2,), cp.float32, module.get_global("coef"))
coef[:] = cp.asarray([5, 6], dtype=cp.float32)
out = cp.zeros(2, cp.int32)
module.get_function("fill<int>")((1,), (2,), (out.data.ptr,))
print(out, out.get().tolist())
'''
    assert run(tmp_path, text) == 0
    assert capsys.readouterr().out == "[5 6] [5, 6]\n"


def test_numba_and_cupy_share_arrays(tmp_path, capsys):
    text = """
import cupy as cp
from numba import cuda

@cuda.jit
def add_one(x):
    x[cuda.grid(1)] += 1

x = cp.zeros(4)
add_one[1, 4](x)
print(x)
"""
    assert run(tmp_path, text) == 0
    assert capsys.readouterr().out == "[1. 1. 1. 1.]\n"


def test_what_the_stand_in_lacks_is_said(tmp_path):
    with stand_in():
        import cupy

        with pytest.raises(
            ModuleNotFoundError, match=r"cupyx\.scipy is a part of CuPy that the CPU machine does not have"
        ):
            import cupyx.scipy  # noqa: F401
        for refused in (
            lambda: cupy.ElementwiseKernel("float32 x", "float32 y", "y = x", "k"),
            lambda: cupy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "k"),
            lambda: cupy.fuse(),
        ):
            with pytest.raises(UnsupportedFeature, match=r"generates a kernel of its own.*write it as a RawKernel"):
                refused()
        with pytest.raises(AttributeError, match="no 'does_not_exist'"):
            cupy.does_not_exist  # noqa: B018


def test_arrays_keep_cupys_rules():
    with stand_in():
        import cupy as cp

        host = np.arange(4.0)
        x = cp.asarray(host)
        host[0] = 9
        assert x.get().tolist() == [0, 1, 2, 3]  # a copy, as on a GPU
        assert cp.asarray(x) is x
        assert cp.array(x) is not x
        assert cp.asarray(x, dtype=cp.float32).dtype == np.float32
        for mix in (lambda: x + host, lambda: host * x, lambda: cp.dot(x, host), lambda: x.__setitem__(0, host)):
            with pytest.raises(TypeError, match="does not mix NumPy arrays"):
                mix()
        assert (x + np.float64(1)).get().tolist() == [1, 2, 3, 4]
        for value in (x[1], x.sum(), x.max(), cp.dot(x, x), cp.linalg.norm(x), (x > 1).any(), x.reshape(2, 2)[1, 0]):
            assert type(value) is cp.ndarray
            assert value.shape == ()
        element = x[1]
        element[...] = 7
        assert x.get().tolist() == [0, 7, 2, 3]  # elements are views
        x.set(np.ones(4))
        assert float(x.sum()) == 4
        with pytest.raises(KernelTypeError, match="same shape and dtype"):
            x.set(np.ones(4, np.float32))
        assert np.isnan(cp.empty(3).get()).all()  # uninitialised memory shows
        assert cp.empty_like(cp.zeros((2, 3), order="F")).flags.f_contiguous
        with pytest.raises(KernelTypeError, match="no arrays of"):
            cp.asarray(["a"])
        assert (x.device.id, int(x.data.ptr) > 0, cp.get_array_module(x) is cp) == (0, True, True)
        assert cp.get_array_module(host) is np
        assert cp.asnumpy(x) is not x
        a, b = cp.split(cp.arange(4), 2)
        assert (type(a), b.get().tolist()) == (cp.ndarray, [2, 3])


def test_random_numbers_are_reproducible():
    with stand_in():
        import cupy as cp

        cp.random.seed(3)
        first = cp.random.normal(0, 1, (2, 3), dtype=cp.float32)
        cp.random.seed(3)
        assert (first.get() == cp.random.normal(0, 1, (2, 3), dtype=cp.float32).get()).all()
        assert (first.dtype, type(first)) == (np.float32, cp.ndarray)
        draws = cp.random.default_rng(1).integers(0, 10, 100)
        assert type(draws) is cp.ndarray
        assert 0 <= int(draws.min()) <= int(draws.max()) < 10
        assert cp.random.RandomState(2).rand(3).shape == (3,)
        x = cp.arange(10)
        cp.random.shuffle(x)
        assert sorted(x.get().tolist()) == list(range(10))


def test_the_device_answers():
    with stand_in():
        import cupy as cp

        assert cp.cuda.runtime.getDeviceCount() == 1
        properties = cp.cuda.runtime.getDeviceProperties(0)
        assert (properties["warpSize"], properties["maxThreadsPerBlock"]) == (32, 1024)
        assert cp.cuda.Device(0).compute_capability == "90"
        assert cp.cuda.Device().attributes["WarpSize"] == 32
        assert cp.get_default_memory_pool().used_bytes() == 0
        cp.get_default_memory_pool().free_all_blocks()
        with pytest.raises(Exception, match="there is one device, number 0"):
            cp.cuda.Device(1).use()
        with cp.cuda.Device(0), cp.cuda.profile():
            cp.cuda.nvtx.RangePush("x")
            cp.cuda.nvtx.RangePop()
            cp.cuda.Device().synchronize()
        with pytest.raises(Exception, match="never recorded"):
            cp.cuda.get_elapsed_time(cp.cuda.Event(), cp.cuda.Event())


POINTERS = r"""
import cupy as cp, numpy as np
a, b = cp.arange(4, dtype=cp.float32), cp.arange(4, dtype=cp.float32) * 10
table, out = cp.array([a.data.ptr, b.data.ptr], dtype=cp.uint64), cp.zeros(8, dtype=cp.float32)
gather = cp.RawKernel('extern "C" __global__ void gather(const float* const* p, float* o)'
                      '{ o[threadIdx.x] = p[threadIdx.x / 4][threadIdx.x % 4]; }', "gather")
gather((1,), (8,), (table, out))
print(*out.get().astype(int))
copy = cp.RawKernel('extern "C" __global__ void copy(const float* p, float* o)'
                    '{ o[threadIdx.x] = p[threadIdx.x]; }', "copy")
copy((1,), (2,), (b.data.ptr + 8, out))
print(*out[:2].get().astype(int))
copy((1,), (2,), (np.uint64(b.data.ptr), out))
print(*out[:2].get().astype(int))
copy((1,), (2,), (b.data + 8, out))
print(*out[:2].get().astype(int))
table = cp.array([x.__cuda_array_interface__["data"][0] for x in (b, a)], dtype=cp.uint64)
gather((1,), (8,), (table, out))
print(*out.get().astype(int))
number = cp.RawKernel('extern "C" __global__ void number(unsigned long long p, float* o)'
                      '{ o[threadIdx.x] = ((float*)p)[threadIdx.x]; }', "number")
number((1,), (2,), (b.data.ptr, out))
print(*out[:2].get().astype(int))
"""


def test_pointers_may_be_numbers_and_lie_in_tables(tmp_path):
    script = tmp_path / "pointers.py"
    script.write_text(POINTERS)
    done = subprocess.run(
        [sys.executable, "-m", "gpukit", "check", str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines()[:6] == [
        *("0 1 2 3 0 10 20 30", "20 30", "0 10"),
        *("20 30", "0 10 20 30 0 1 2 3", "0 10"),
    ], done.stderr
    assert done.returncode == 0
