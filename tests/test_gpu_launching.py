"""Launching on a GPU, on one made of host memory (tests/fake_gpu.py): what arrives there, and what comes back."""

import gc
import importlib
import weakref

import numpy as np
import pytest
from fake_gpu import FakeCupy, FakeNumbaKernel, RuntimeFailure

import gpukit
from gpukit import cuda, devices, gpu, registry
from gpukit.compilers import toolkit
from gpukit.gpu import availability, libraries, numba_kernels
from gpukit.machine.addresses import first_byte, owner_of
from gpukit.machine.frontends.arguments import as_numpy

pytest.importorskip("numba_cuda", reason="numba-cuda launches kernels in Python")
NO_COMPILER = toolkit.why_no_nvrtc()
needs_nvrtc = pytest.mark.skipif(bool(NO_COMPILER), reason=NO_COMPILER)


@pytest.fixture
def card(monkeypatch):
    """The GPU that is not there."""
    dispatcher = importlib.import_module("numba.cuda.dispatcher")
    driver = importlib.import_module("numba.cuda.cudadrv.driver")
    made = FakeCupy()
    kernel = type("Kernel", (FakeNumbaKernel,), {"gpu": made, "real": dispatcher._Kernel, "attributes": []})
    monkeypatch.setattr(dispatcher, "_Kernel", kernel)
    monkeypatch.setattr(
        driver, "driver", type("Driver", (), {"cuKernelSetAttribute": lambda _, *a: kernel.attributes.append(a)})()
    )
    monkeypatch.setattr(availability, "missing", lambda: "")
    monkeypatch.setattr(gpu, "missing", lambda: "")
    monkeypatch.setattr(libraries, "cupy", lambda: made)
    monkeypatch.setattr(numba_kernels, "_known", weakref.WeakKeyDictionary())
    made.numba_kernel = kernel
    return made


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


def test_arrays_on_the_gpu_are_launched_where_they_are(card):
    x, out = card.asarray(np.arange(100, dtype=np.float32)), card.empty(100, np.float32)
    gpukit.launch(scale, 4, 32, x, 2.5, out, machine="gpu")
    np.testing.assert_array_equal(out.host, 2.5 * np.arange(100, dtype=np.float32))
    assert card.copies == {"in": 0, "out": 0}
    assert (card.launched[0].grid, card.launched[0].block) == ((4, 1, 1), (32, 1, 1))


def test_numpy_arrays_are_updated_in_place(card):
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    gpukit.launch(scale, 4, 32, x, 2.5, out, machine="gpu")
    np.testing.assert_array_equal(out, 2.5 * x)
    assert card.launched[0].args[0].ctypes.data != x.ctypes.data


def test_a_read_only_array_is_not_copied_back_and_not_written(card):
    x = np.arange(64.0)
    x.flags.writeable = False
    out = np.zeros(64)
    gpukit.launch(scale, 2, 32, x, 2.0, out, machine="gpu")
    assert out[63] == 126.0
    assert card.copies["out"] == 1
    assert not card.launched[0].args[0].flags.writeable
    with pytest.raises(gpukit.KernelTypeError, match="read-only"):
        gpukit.launch(scale, 2, 32, out, 2.0, x, machine="gpu")


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: cuda.to_device(a)[::2, 1::3],
        lambda a: cuda.to_device(a)[::-1, ::-1],
        lambda a: a[3:7],
        lambda a: cuda.to_device(a)[:, 5:6],
        lambda a: np.asfortranarray(a[:4]),
        lambda a: a[:0],
    ],
    ids=["transposed", "strided", "backwards", "rows", "a column", "fortran", "empty"],
)
def test_views_lie_and_are_updated_as_on_the_cpu_machine(card, view):
    base = np.arange(96, dtype=np.int32).reshape(8, 12)
    expected = base.copy()
    part, same = view(base), view(expected)
    gpukit.launch(add_one, (4, 4), (4, 4), same, machine="cpu")
    gpukit.launch(add_one, (4, 4), (4, 4), part, machine="gpu")
    there, here = as_numpy(part), as_numpy(same)
    np.testing.assert_array_equal(there, here)
    np.testing.assert_array_equal(owner_of(there).ravel(), owner_of(here).ravel())
    arrived = card.launched[0].args[0]
    if there.size:
        assert arrived.strides == there.strides
        inside = first_byte(there) - first_byte(owner_of(there))
        assert first_byte(arrived) % 256 == inside % 256  # the sectors are those of the CPU machine


def test_an_array_of_the_host_in_pieces_is_refused_as_on_the_cpu_machine(card):
    for machine in ("cpu", "gpu"):
        with pytest.raises(gpukit.LaunchError, match="not contiguous"):
            gpukit.launch(add_one, 1, 32, np.zeros((4, 8))[:, ::2], machine=machine)


def test_views_that_overlap_share_their_memory(card):
    base = np.arange(40, dtype=np.int64)
    expected = base.copy()
    gpukit.launch(scale, 1, 32, expected[:32], 3, expected[8:40], machine="cpu")
    gpukit.launch(scale, 1, 32, base[:32], 3, base[8:40], machine="gpu")
    x, _, out = card.launched[0].args
    assert out.ctypes.data - x.ctypes.data == 64
    np.testing.assert_array_equal(base, expected)


def test_what_lies_between_strided_elements_is_left_alone(card):
    base = np.zeros((4, 8), np.int32)
    launch = card.numba_kernel.launch

    def launch_and_write(*args):
        launch(*args)
        base[:, 4] = 7  # somebody else writes there meanwhile

    card.numba_kernel.launch = launch_and_write
    device = cuda.to_device(np.zeros((4, 8), np.int32))
    base = as_numpy(device)
    gpukit.launch(add_one, (1, 1), (8, 8), device[:, ::3], machine="gpu")
    assert base[:, 4].tolist() == [7] * 4
    assert base[:, 3].tolist() == [1] * 4


def test_one_array_given_twice_is_one_array(card):
    x = np.arange(32.0)
    gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu")
    np.testing.assert_array_equal(x, 2 * np.arange(32.0))
    assert card.copies == {"in": 1, "out": 1}


POINT = np.dtype([("x", np.float32), ("n", np.int32)])


def test_records_tuples_and_arrays_of_the_facade(card):
    @cuda.jit
    def mixed(points, pair, d):
        i = cuda.grid(1)
        if i < points.size:
            points[i].n += 1
            pair[0][i] = points[i].x * pair[1]
            d[i] = i

    points, first, d = np.ones(32, POINT), np.zeros(32), cuda.to_device(np.zeros(32, np.int64))
    gpukit.launch(mixed, 1, 32, points, (first, 2.5), d, machine="gpu")
    assert points["n"].tolist() == [2] * 32
    assert first.tolist() == [2.5] * 32
    assert d.copy_to_host().tolist() == list(range(32))


SCALARS = [
    *(3, -5, 2**40, 1.5, True, 2 + 3j, np.int8(-3), np.uint64(2**63), np.float16(0.5), np.float32(0.1)),
    *(np.complex64(1 + 1j), np.bool_(False)),
]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_numbers_arrive_as_they_are(card, value):
    @cuda.jit
    def keep(out, value):
        out[0] = value

    dtype = np.asarray(value).dtype
    out = np.zeros(1, dtype)
    gpukit.launch(keep, 1, 1, out, value, machine="gpu")
    assert out[0] == value
    assert card.numba_kernel  # the types are those that numba-cuda finds by itself
    kinds = next(iter(next(iter(numba_kernels._known.values())).versions))
    typeof = importlib.import_module("numba.cuda.typing.typeof").typeof
    assert kinds[1] == typeof(value)


def test_types_of_arrays_are_those_that_numba_finds(card):
    typeof = importlib.import_module("numba.cuda.typing.typeof").typeof
    base = np.zeros((4, 6), np.float32)
    for array in (base, base.T, base[:, ::2], base[0], base[:1], np.zeros((), np.int8), np.zeros((0, 3))):
        wrapped = numba_kernels.NumbaArray(gpu.transfers.Copies([array], card).of(array))
        assert wrapped._numba_type_ == typeof(array), array.shape
        if array.size:
            on_gpu = card.asarray(base)[0]
            assert numba_kernels.NumbaArray(gpu.transfers.on_device(on_gpu, card))._numba_type_ == typeof(base[0])
    repeated = np.broadcast_to(np.float32(1), (4, 4))
    assert numba_kernels.NumbaArray(gpu.transfers.Copies([repeated], card).of(repeated))._numba_type_.layout == "A"


def test_defaults_and_the_wrong_number_of_arguments(card):
    @cuda.jit
    def fill(x, value=4.0):
        x[cuda.grid(1)] = value

    x = np.zeros(32)
    gpukit.launch(fill, 1, 32, x, machine="gpu")
    assert x.tolist() == [4.0] * 32
    with pytest.raises(gpukit.LaunchError, match="takes 2 arguments, 3 given"):
        gpukit.launch(fill, 1, 32, x, 1.0, 2.0, machine="gpu")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "`factor` is None"),
        ("3", "`factor` is a string"),
        ([1.0], "pass np.array"),
        (2**70, "fit in 64 bits"),
        (np.array([None]), "Python objects"),
    ],
    ids=repr,
)
def test_arguments_that_no_kernel_takes_are_one_sentence(card, value, words):
    with pytest.raises(gpukit.GpukitError, match=words) as caught:
        gpukit.launch(scale, 1, 32, np.zeros(32), value, np.zeros(32), machine="gpu")
    assert "bug" not in str(caught.value)
    assert not card.launched


def test_none_in_a_tuple_and_arrays_in_pieces_are_refused(card):
    for value, words in (((1.0, None), "is None"), ((1.0, "2"), "is a string")):
        with pytest.raises(gpukit.KernelTypeError, match=words):
            gpukit.launch(scale, 1, 32, np.zeros(32), value, np.zeros(32), machine="gpu")


def test_a_grid_that_waits_for_itself_and_does_not_fit(card):
    def launch(self, *args):
        raise ValueError("The specified grid size (9999 * 1 * 1) exceeds the limit (2112)")

    card.numba_kernel.launch = launch
    card.numba_kernel.cooperative = True
    with pytest.raises(gpukit.LaunchError, match="needs all blocks on the GPU at once, and it does not hold 9,999"):
        gpukit.launch(scale, 9_999, 32, card.empty(32), 2.0, card.empty(32), machine="gpu")


def test_what_a_kernel_raises_with_debug(card):
    @cuda.jit(debug=True, opt=False)
    def strict(x):
        assert x[0] == 1

    def launch(self, *args):
        raise AssertionError("tid=[0, 0, 0] ctaid=[0, 0, 0]: ")

    card.numba_kernel.launch = launch
    card.numba_kernel.cooperative = False
    with pytest.raises(gpukit.KernelAssertion, match=r"`strict` raised AssertionError: tid=\[0, 0, 0\]"):
        gpukit.launch(strict, 1, 32, card.empty(32), machine="gpu")


def test_options_of_the_kernel_reach_the_compiler(card):
    @cuda.jit(fastmath=True, max_registers=32, launch_bounds=256)
    def fast(x):
        x[cuda.grid(1)] = 1

    gpukit.launch(fast, 1, 32, np.zeros(32), machine="gpu")
    options = card.launched[0].options
    assert (options["fastmath"], options["max_registers"], options["launch_bounds"]) == (True, 32, 256)
    assert options["lineinfo"]  # Nsight Compute shows the source


def test_a_kernel_from_a_file_and_one_of_numba_itself(card, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("from numba import cuda\n\n@cuda.jit\ndef two(x):\n    x[cuda.grid(1)] = 2\n")
    x = np.zeros(32)
    gpukit.launch(gpukit.load(file)["two"], 1, 32, x, machine="gpu")
    assert x.tolist() == [2.0] * 32
    numba_cuda = importlib.import_module("numba.cuda")

    @numba_cuda.jit
    def three(x):
        x[numba_cuda.grid(1)] = 3

    gpukit.launch(three, 1, 32, x, machine="gpu")
    assert x.tolist() == [3.0] * 32
    with pytest.raises(gpukit.KernelTypeError):
        gpukit.launch(len, 1, 32, x, machine="gpu")


def test_a_kernel_is_compiled_once_for_its_types_and_goes_with_its_last_user(card):
    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = 1

    for dtype in (np.float32, np.float64, np.float32):
        gpukit.launch(fill, 1, 32, card.empty(32, dtype), machine="gpu")
    assert len(numba_kernels._known[fill].versions) == 2
    array = card.empty(32)
    gone = weakref.ref(array)
    gpukit.launch(fill, 1, 32, array, machine="gpu")
    card.launched.clear()
    del array
    gc.collect()
    assert gone() is None  # nothing that was made for the launch keeps its arrays
    gone = weakref.ref(fill)
    del fill
    gc.collect()
    assert gone() is None


def test_the_launch_is_on_cupys_current_stream(card):
    x = card.empty(32)
    streams = []
    numba_cuda = importlib.import_module("numba.cuda")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba_cuda, "external_stream", lambda address: streams.append(address) or 0)
        gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu")
        assert streams == []
        card.stream = 0x1234
        gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu")
        gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu")
    assert streams == [0x1234]  # made once
    assert len(card.launched) == 3


def test_more_shared_memory_than_a_kernel_has_unasked_is_asked_for(card):
    @cuda.jit
    def reverse(x):
        tile = cuda.shared.array(0, np.float32)
        i = cuda.threadIdx.x
        tile[i] = x[i]
        cuda.syncthreads()
        x[i] = tile[31 - i]

    x = np.arange(32, dtype=np.float32)
    gpukit.launch(reverse, 1, 32, x, shared_bytes=128, machine="gpu")
    assert x[0] == 31
    assert card.numba_kernel.attributes == []
    gpukit.launch(reverse, 1, 32, x, shared_bytes=100_000, machine="gpu")
    gpukit.launch(reverse, 1, 32, x, shared_bytes=60_000, machine="gpu")
    assert [attribute[1] for attribute in card.numba_kernel.attributes] == [100_000]
    with pytest.raises(gpukit.LaunchError, match="232,448: use a smaller tile"):
        gpukit.launch(reverse, 1, 32, x, shared_bytes=300_000, machine="gpu")


def test_a_block_too_large_for_the_registers_of_a_kernel(card):
    card.numba_kernel.max_threads_per_block = 256
    with pytest.raises(gpukit.LaunchError, match="can have 256 threads a block on this GPU"):
        gpukit.launch(scale, 1, 512, card.empty(32), 2.0, card.empty(32), machine="gpu")


def test_what_numba_cannot_compile_is_one_sentence_with_its_place(card, monkeypatch):
    dispatcher = importlib.import_module("numba.cuda.dispatcher")
    compiler = importlib.import_module("numba.cuda.compiler")

    class Compiles(card.numba_kernel):
        def __init__(self, py_func, argtypes, **options):
            super().__init__(py_func, argtypes, **options)
            compiler.compile_cuda(
                py_func, importlib.import_module("numba.cuda.types").void, argtypes, debug=False, lineinfo=True,
                cc=(9, 0), nvvm_options={},
            )  # fmt: skip

    monkeypatch.setattr(dispatcher, "_Kernel", Compiles)

    @cuda.jit
    def wrong(x):
        x[0] = x.nothing_of_the_kind

    with pytest.raises(gpukit.KernelTypeError, match="numba-cuda's compiler does not take `wrong`") as caught:
        gpukit.launch(wrong, 1, 32, card.empty(32), machine="gpu")
    assert caught.value.file == __file__
    assert caught.value.line == wrong.py_func.__code__.co_firstlineno + 2


def test_a_numba_cuda_of_another_version_is_given_what_it_documents(card, monkeypatch):
    asked = []
    numba_cuda = importlib.import_module("numba.cuda")

    def as_cuda_array(value, sync=True):
        asked.append(sync)
        told = value.__cuda_array_interface__
        shape, strides, dtype = told["shape"], told["strides"], np.dtype(told["typestr"])
        array = gpu.transfers.DeviceArray(told["data"][0], shape, strides, dtype, "C", False, value)
        return numba_kernels.NumbaArray(array)

    monkeypatch.setattr(numba_kernels, "_reads_shims", lambda: False)
    monkeypatch.setattr(numba_cuda, "as_cuda_array", as_cuda_array)
    x = np.arange(32.0)
    gpukit.launch(scale, 1, 32, x, 2.0, card.asarray(x), machine="gpu")
    gpukit.launch(scale, 1, 32, card.asarray(x), 2.0, x, machine="gpu")
    np.testing.assert_array_equal(x, 2 * np.arange(32.0))
    assert asked == [False] * 4


# --- kernels in CUDA C++ ---------------------------------------------------------------------------------------------

AXPY = """
#include <cstdio>
extern "C" __global__ void axpy(const float* x, float a, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
int main() { axpy<<<1, 32>>>(nullptr, 1.0f, nullptr, 0); return 0; }
"""


@pytest.fixture
def axpy(card):
    kernel = gpukit.RawKernel(AXPY, "axpy")
    card.kernels["axpy"] = kernel
    return kernel


@needs_nvrtc
def test_cpp_is_compiled_for_this_gpu_and_launched(card, axpy):
    x, y = card.asarray(np.arange(100, dtype=np.float32)), card.asarray(np.ones(100, np.float32))
    for _ in range(3):
        gpukit.launch(axpy, 4, 32, x, np.float32(2), y, 100, machine="gpu")
    np.testing.assert_array_equal(y.host, 1 + 6 * np.arange(100, dtype=np.float32))
    assert len(card.modules) == 1
    assert card.modules[0].code[:4] == b"\x7fELF"  # machine code: a driver may be older than the compiler
    assert card.launched[0].args[0] is x
    assert [type(v) for v in card.launched[0].args[1:4:2]] == [np.float32, np.int32]  # not a long long
    assert card.copies == {"in": 0, "out": 0}


@needs_nvrtc
def test_cpp_with_numpy_arrays(card, axpy):
    x, y = np.arange(100, dtype=np.float32), np.ones(104, np.float32)
    gpukit.launch(axpy, 4, 32, x, np.float32(2), y[4:], np.int64(100), machine="gpu")
    np.testing.assert_array_equal(y[4:], 1 + 2 * x)
    assert y[:4].tolist() == [1] * 4


@needs_nvrtc
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (lambda x: (x, 2, x, 100), "parameter is of type float"),
        (lambda x: (x, np.float32(2), x), "takes 4 arguments, 3 were given"),
        (lambda x: (x, np.float32(2), x, 2**40), "holds -2,147,483,648 to"),
        (lambda x: (x, np.float32(2), x, np.int64(2**40)), "holds -2,147,483,648 to"),
        (lambda x: (x, x[:1], x, 100), "is an array of shape"),
        (lambda x: (x, np.float32(2), x.host.astype(np.float64), 100), "pass one of float32"),
    ],
)
def test_cpp_arguments_are_checked_as_on_the_cpu_machine(card, axpy, args, words):
    x = card.asarray(np.zeros(100, np.float32))
    gpukit.launch(axpy, 1, 32, x, np.float32(2), x, 100, machine="gpu")  # what fitted once is not checked again
    gpukit.launch(axpy, 1, 32, x, np.float32(2), x, np.int64(100), machine="gpu")
    with pytest.raises(gpukit.LaunchError, match=words):
        gpukit.launch(axpy, 1, 32, *args(x), machine="gpu")
    assert len(card.launched) == 2


@needs_nvrtc
def test_structures_null_pointers_and_addresses(card):
    code = """
    struct Pair { float a; int n; };
    extern "C" __global__ void use(Pair p, const float* maybe, float* out) {
        out[0] = p.a * p.n + (maybe ? maybe[0] : 0.f);
    }
    """
    kernel = card.kernels["use"] = gpukit.RawKernel(code, "use")
    pair = np.dtype([("a", np.float32), ("n", np.int32)])
    out, more = np.zeros(1, np.float32), card.asarray(np.full(1, 0.5, np.float32))
    for n in (2, 3):
        gpukit.launch(kernel, 1, 1, np.array((1.5, n), pair)[()], None, out, machine="gpu")
        assert out[0] == 1.5 * n
    gpukit.launch(kernel, 1, 1, np.array([(1.5, 4)], pair), more.data.ptr, out, machine="gpu")
    assert out[0] == 6.5


@needs_nvrtc
def test_templates_and_shared_memory(card, tmp_path):
    file = tmp_path / "sum.cu"
    file.write_text(
        "template <int N> __global__ void fill(int* x) { extern __shared__ int s[]; s[threadIdx.x] = N;\n"
        "  x[threadIdx.x] = s[threadIdx.x]; }\n"
    )
    kernel = gpukit.load(file)["fill<7>"]
    card.kernels[kernel.kernel.function.name] = kernel
    x = np.zeros(32, np.int32)
    gpukit.launch(kernel, 1, 32, x, shared_bytes=100_000, machine="gpu")
    assert x.tolist() == [7] * 32
    assert not card.modules[0].cooperative
    with pytest.raises(gpukit.LaunchError, match="232,448: use a smaller tile"):
        gpukit.launch(kernel, 1, 32, x, shared_bytes=300_000, machine="gpu")


@needs_nvrtc
def test_a_kernel_that_waits_for_the_grid_is_launched_as_one(card, tmp_path):
    file = tmp_path / "grid.cu"
    file.write_text(
        "#include <cooperative_groups.h>\n"
        "__global__ void both(int* x) { x[0] = 1; cooperative_groups::this_grid().sync(); x[1] = x[0]; }\n"
        "__global__ void plain(int* x) { x[0] = 2; }\n"
    )
    kernels = gpukit.load(file)
    for name in ("both", "plain"):
        card.kernels[kernels[name].kernel.function.name] = kernels[name]
        gpukit.launch(kernels[name], 2, 32, np.zeros(2, np.int32), machine="gpu")
    assert [launch.options["cooperative"] for launch in card.launched] == [True, False]
    # CuPy would launch fewer blocks than were asked for, with a warning
    with pytest.raises(gpukit.LaunchError, match=r"kernel `both`: .*all blocks on the GPU at once"):
        gpukit.launch(kernels["both"], 2000, 32, np.zeros(2, np.int32), machine="gpu")
    assert len(card.launched) == 2


@needs_nvrtc
def test_variables_of_a_module_are_the_callers_and_the_gpus(card):
    code = """
    __constant__ int factor;
    __device__ int calls;
    extern "C" __global__ void twice(int* x) { x[threadIdx.x] *= factor; if (threadIdx.x == 0) calls += 1; }
    """
    module = gpukit.RawModule(code=code)
    kernel = module.get_function("twice")
    on_gpu = card.variables
    on_gpu["factor"], on_gpu["calls"] = card.memory.allocate(4), card.memory.allocate(4)
    on_gpu["factor"][:] = on_gpu["calls"][:] = 0

    def run(x):
        gpukit.launch(kernel, 1, 32, x, machine="gpu")
        x *= on_gpu["factor"].view(np.int32)[0]  # what the kernel would have done
        on_gpu["calls"].view(np.int32)[0] += 1

    x = np.ones(32, np.int32)
    module.get_global("factor").view(np.int32)[0] = 3
    run(x)
    assert x[0] == 3
    assert module.get_global("calls").view(np.int32)[0] == 1  # asked for only now: it comes from the GPU
    calls = module.get_global("calls").view(np.int32)
    run(x)
    gpukit.launch(kernel, 1, 32, x, machine="gpu")
    assert calls[0] == 2  # and now it is kept up to date
    calls[0] = 10
    gpukit.launch(kernel, 1, 32, x, machine="gpu")
    assert on_gpu["calls"].view(np.int32)[0] == 10


@needs_nvrtc
def test_cpp_that_does_not_compile_shows_the_place(card):
    kernel = gpukit.RawKernel('extern "C" __global__ void f(int* x) {\n  x[0] = missing;\n}', "f")
    with pytest.raises(gpukit.KernelSyntaxError, match="missing") as caught:
        gpukit.launch(kernel, 1, 1, np.zeros(1, np.int32), machine="gpu")
    assert caught.value.line


# --- which machine ---------------------------------------------------------------------------------------------------


def test_auto_is_the_gpu_unless_something_of_the_cpu_machine_is_asked_for(card):
    x = np.zeros(32)
    gpukit.launch(scale, 1, 32, x, 2.0, x)
    assert len(card.launched) == 1
    for more in ({"level": "source"}, {"output": print}, {"progress": lambda done, total: None}):
        gpukit.launch(scale, 1, 32, x, 2.0, x, **more)
        with pytest.raises(gpukit.LaunchError, match="is the CPU machine's"):
            gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu", **more)
    gpukit.launch(scale, 1, 32, x, 2.0, x, machine="cpu")
    assert len(card.launched) == 1


@needs_nvrtc
def test_ptx_made_for_the_cpu_machine_stays_there(card):
    from gpukit.compilers import numba_ptx

    x = np.ones(32)
    made = numba_ptx.compiled(scale, (x, 2.0, x))
    gpukit.launch(made, 1, 32, x, 2.0, x)
    assert x[0] == 2
    assert not card.launched
    with pytest.raises(gpukit.LaunchError, match="launch the kernel it was made of"):
        gpukit.launch(made, 1, 32, x, 2.0, x, machine="gpu")


@pytest.mark.parametrize(("grid", "block"), [(0, 32), (1, 2048), ((1, 70_000), 1), (1, 0), (1.5, 32)])
def test_a_shape_that_no_gpu_takes_is_refused_before_it_gets_there(card, grid, block):
    with pytest.raises(gpukit.LaunchError):
        gpukit.launch(scale, grid, block, card.empty(32), 2.0, card.empty(32), machine="gpu")
    assert not card.launched


def test_the_gpu_as_a_device(card):
    device = devices.device("auto")
    assert (device.name, device.sms, device.card, device.capability) == ("gpu", 132, "NVIDIA H200", "9.0")
    assert device.xp is card
    x = card.asarray(np.arange(32.0))
    device.launch(registry.Launch(scale, 1, 32, (x, 2.0, x)))
    device.synchronize()
    assert device.to_host(x)[31] == 62
    assert device.memory_bytes == card.limit - sum(block.nbytes for block in card.memory.blocks)


def test_inside_a_script_the_launch_uses_cupy_and_numba_themselves(card):
    from gpukit.standin import stand_in

    x = np.ones(32)
    with stand_in():
        gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu")
    assert x[0] == 2


# --- when it fails ---------------------------------------------------------------------------------------------------


def test_memory_that_is_full_says_how_much_is_needed_and_free(card):
    card.limit = 10_000
    with pytest.raises(gpu.GpuError, match=r"80,000 bytes more are needed and 10,000 are free; use smaller arrays"):
        x = np.zeros(10_000)
        gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu")
    with pytest.raises(gpu.GpuError, match="16,000 bytes"), gpu.explaining(cupy=card):
        card.empty(2_000)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("cudaErrorIllegalAddress: an illegal memory access was encountered", "used memory that is not its own"),
        ("CUDA_ERROR_MISALIGNED_ADDRESS: misaligned address", "no multiple of what it reads"),
        ("cudaErrorLaunchFailure: unspecified launch failure", "failed while it ran"),
        ("cudaErrorAssert: device-side assert triggered", "an assert in a kernel fired"),
    ],
)
def test_after_an_error_of_a_kernel_the_process_must_be_started_again(card, said, words):
    card.fails = RuntimeFailure(said)
    x = np.zeros(32)
    with pytest.raises(gpu.GpuError, match=words) as caught:
        gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu")
    assert caught.value.lost
    assert "the kernel `scale`" in str(caught.value)
    assert "start it again" in str(caught.value) and "gpukit check" in str(caught.value)
    with pytest.raises(gpu.GpuError, match="launched before"):
        devices.device("gpu").synchronize()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch", "1,024 threads needs more reg"),
        ("[CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE]", "does not hold 9,999"),
        ("CUDA_ERROR_INVALID_VALUE: invalid argument", "refuses the launch of 9,999 blocks of 1,024"),
    ],
)
def test_a_launch_that_the_gpu_refuses(said, words):
    error = gpu.errors.explained(RuntimeFailure(said), "the kernel `f`", grid=(9_999, 1, 1), block=(1024, 1, 1))
    assert isinstance(error, gpukit.LaunchError)
    assert words in str(error)


def test_other_errors_are_not_taken_for_cudas(card):
    assert gpu.errors.explained(ValueError("CUDA_ERROR_ILLEGAL_ADDRESS")) is None
    assert gpu.errors.explained(RuntimeFailure("something else")) is None
    odd = gpu.errors.explained(RuntimeFailure("CUDA_ERROR_SYSTEM_NOT_READY: not ready"))
    assert "CUDA says CUDA_ERROR_SYSTEM_NOT_READY: not ready" in str(odd)
    numbas = importlib.import_module("numba.cuda.cudadrv.driver").CudaAPIError
    error = gpu.errors.explained(numbas(700, "Call to cuMemcpyDtoH results in CUDA_ERROR_ILLEGAL_ADDRESS"))
    assert error.lost


# --- what is missing -------------------------------------------------------------------------------------------------


@pytest.fixture
def look(monkeypatch):
    """`missing()` on a machine with a driver, and what else a test says."""
    monkeypatch.setattr(availability, "look_for_driver", lambda: availability.Driver(13_000))
    return availability.missing.__wrapped__


def test_no_driver_is_the_first_thing_missing(monkeypatch):
    monkeypatch.setattr(availability, "_load_driver", lambda: None)
    monkeypatch.setattr(availability.platform, "system", lambda: "Linux")
    assert "no NVIDIA driver" in availability.missing.__wrapped__()
    monkeypatch.setattr(availability.platform, "system", lambda: "Darwin")
    assert "macOS" in availability.missing.__wrapped__()


@pytest.mark.parametrize(
    ("init", "count", "words"),
    [(100, 0, "finds no GPU"), (0, 0, "finds no GPU"), (804, 0, "CUDA error 804"), (0, 1, "")],
)
def test_a_driver_without_a_gpu(monkeypatch, init, count, words):
    class Library:
        def cuInit(self, flags):
            return init

        def cuDeviceGetCount(self, pointer):
            pointer._obj.value = count
            return 0

        def cuDriverGetVersion(self, pointer):
            pointer._obj.value = 12_040
            return 0

    monkeypatch.setattr(availability, "_load_driver", Library)
    monkeypatch.setattr(availability.platform, "system", lambda: "Linux")
    found = availability.look_for_driver()
    if words:
        assert words in found
    else:
        assert found.extra == "cuda12"


@pytest.mark.parametrize(("absent", "words"), [("cupy", "CuPy, which holds its arrays,"), ("numba_cuda", "numba-cuda")])
def test_packages_that_are_not_installed(monkeypatch, look, absent, words):
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: None if name == absent else object())
    assert look() == f'{words} is not installed, which a GPU needs: python -m pip install "gpukit[cuda13]"'


def test_numba_cuda_and_a_numpy_without_the_name_it_uses(monkeypatch, look):
    from gpukit import doctor

    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: object())
    versions = {"numba-cuda": "0.30.4", "numpy": "2.5.1"}
    monkeypatch.setattr(doctor, "installed_version", versions.get)
    assert look() == (
        "numba-cuda 0.30.4 uses a name that numpy 2.5.1 no longer has, so its kernels do not compile: "
        'python -m pip install "numpy<2.5"'
    )


def test_a_library_that_does_not_load_says_why(monkeypatch, look):
    monkeypatch.setattr(availability.importlib.util, "find_spec", lambda name: object())

    def load(name):
        raise ImportError("libcudart.so.13: cannot open shared object file\nand more")

    monkeypatch.setattr(libraries.importlib, "import_module", load)
    assert "CuPy is installed but cannot use the GPU (libcudart.so.13: cannot open" in look()


def test_without_a_gpu_machine_gpu_is_one_sentence_and_auto_the_cpu_machine(monkeypatch):
    why = "there is no NVIDIA driver on this computer"
    monkeypatch.setattr(availability, "missing", lambda: why)
    monkeypatch.setattr(gpu, "missing", lambda: why)
    x = np.ones(32)
    with pytest.raises(gpukit.LaunchError, match=why):
        gpukit.launch(scale, 1, 32, x, 2.0, x, machine="gpu")
    with pytest.raises(gpukit.LaunchError, match=why):
        devices.device("gpu")
    gpukit.launch(scale, 1, 32, x, 2.0, x)
    assert x[0] == 2
    assert devices.device("auto").name == "cpu"
