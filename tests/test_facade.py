"""The host side of the facade: arrays, signatures, configuration, streams and what is refused.

Nothing here needs a kernel to run: launches are caught by a launcher of the test's own.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import gpukit
from gpukit import cuda
from gpukit.cuda import launching, signatures, types
from gpukit.cuda.errors import (
    ArrayLayoutError,
    ArrayTypeError,
    DeviceArrayUnsupported,
    DeviceOnlyError,
    LaunchConfigError,
    LaunchConfigTypeError,
    RefusedError,
    SignatureError,
)


@pytest.fixture
def launches():
    """The launches made during a test, as (kernel, grid, block, arguments, shared bytes), none of them run."""
    caught = []
    before = launching.use(lambda *launch: caught.append(launch))
    yield caught
    launching.use(before)


@cuda.jit
def touch(x, n=3):
    x[0] = n


# --- device arrays -----


def test_to_device_copies_and_copy_to_host_copies_back():
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    device = cuda.to_device(host)
    host[:] = 0
    np.testing.assert_array_equal(device.copy_to_host(), np.arange(6).reshape(2, 3))
    back = np.empty((2, 3), np.float32)
    assert device.copy_to_host(back) is back
    back[:] = 9
    assert device[0, 1] == 1


def test_attributes_are_those_of_the_array():
    device = cuda.device_array((4, 5), np.int16, order="F")
    assert (device.shape, device.ndim, device.size, device.nbytes) == ((4, 5), 2, 20, 40)
    assert (device.dtype, device.strides, len(device)) == (np.dtype(np.int16), (2, 8), 4)
    assert device.is_f_contiguous() and not device.is_c_contiguous()
    assert device.flags == {"C_CONTIGUOUS": False, "F_CONTIGUOUS": True}


def test_new_device_memory_is_poisoned_not_zero():
    assert np.isnan(cuda.device_array(10, np.float32).copy_to_host()).all()
    assert (cuda.device_array_like(np.zeros(5, np.int64)).copy_to_host() == -1).all()


def test_slices_are_views():
    device = cuda.to_device(np.arange(12).reshape(3, 4))
    row = device[1]
    row[2:] = 0
    device[0, 0] = 77
    device[2] = np.array([1, 2, 3, 4])
    np.testing.assert_array_equal(device.copy_to_host(), [[77, 1, 2, 3], [4, 5, 0, 0], [1, 2, 3, 4]])
    assert isinstance(device[0, 0], np.int64)
    assert [int(part[0]) for part in device] == [77, 4, 1]
    device[:, 1] = cuda.to_device(np.array([5, 6, 7]))
    assert device[:, 1].copy_to_host().tolist() == [5, 6, 7]


def test_reshape_ravel_view_and_split_share_memory():
    device = cuda.to_device(np.arange(12, dtype=np.int32))
    matrix = device.reshape(3, -1)
    matrix[0, 0] = 5
    assert device[0] == 5
    assert matrix.ravel().shape == (12,)
    assert device.view(np.int64).shape == (6,)
    assert [len(part) for part in device.split(5)] == [5, 5, 2]
    assert matrix[:1].squeeze().shape == (4,)
    with pytest.raises(DeviceArrayUnsupported, match="copying"):
        matrix[:, :2].ravel()
    with pytest.raises(ArrayLayoutError):
        device.reshape(5, 5)


def test_copies_check_shape_and_dtype():
    device = cuda.to_device(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="incompatible dtype"):
        device.copy_to_host(np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match="incompatible shape"):
        device.copy_to_device(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="incompatible strides"):
        device.copy_to_host(np.zeros((2, 3), order="F"))
    device.copy_to_device(np.ones((2, 3), order="F"))
    assert device.copy_to_host().sum() == 6


def test_what_device_arrays_refuse():
    device = cuda.to_device(np.arange(4))
    with pytest.raises(TypeError):
        device + 1
    with pytest.raises(ArrayTypeError, match="integers and slices"):
        device[np.array([0, 1])]
    with pytest.raises(IndexError):
        device[4]
    with pytest.raises(NotImplementedError, match="negative strides"):
        device[::-1].copy_to_host()
    with pytest.raises(ValueError, match="Can't copy sequence with size 3"):
        device[:] = np.arange(3)
    with pytest.raises(ValueError, match="Can't assign 2-D array to 1-D self"):
        device[:] = np.zeros((1, 4))
    with pytest.raises(ValueError, match="non-contiguous"):
        cuda.to_device(np.arange(9).reshape(3, 3)[:, ::2])
    with pytest.raises(ArrayTypeError):
        cuda.to_device(["a", "b"])


def test_broadcast_and_empty_arrays_travel():
    wide = np.broadcast_to(np.arange(3), (2, 3))
    np.testing.assert_array_equal(cuda.to_device(wide).copy_to_host(), wide)
    assert cuda.to_device(np.empty((0, 4))).copy_to_host().shape == (0, 4)
    assert cuda.to_device(5.0)[()] == 5.0


def test_records():
    dtype = np.dtype([("a", np.int32), ("b", np.float64, (2,))])
    device = cuda.to_device(np.zeros(3, dtype))
    record = device[1]
    record["a"] = 7
    assert (record["a"], device.copy_to_host()["a"].tolist()) == (7, [0, 7, 0])
    assert record["b"].shape == (2,)
    with pytest.raises(ValueError, match="no field 'c'"):
        record["c"]


def test_cuda_array_interface_round_trip_and_foreign_memory():
    device = cuda.to_device(np.arange(10))
    again = cuda.as_cuda_array(device)
    again[3] = 99
    assert device[3] == 99
    assert cuda.is_cuda_array(device) and not cuda.is_cuda_array(np.arange(3))
    foreign = {"shape": (4,), "typestr": "<i4", "data": (0xDEADBEEF0000, False), "version": 3}
    with pytest.raises(RefusedError, match="real GPU"):
        cuda.from_cuda_array_interface(foreign)


def test_shared_kinds_of_host_memory():
    for make in (cuda.pinned_array, cuda.mapped_array, cuda.managed_array):
        array = make((3, 2), np.int32)
        array[:] = 1
        assert isinstance(array, np.ndarray) and array.sum() == 6
    host = np.zeros(3)
    with cuda.mapped(host) as device, cuda.pinned(host):
        device[1] = 4
    assert host.tolist() == [0, 4, 0]


# --- launching -----


def test_configuration_reaches_the_launcher(launches):
    x = np.zeros(4)
    touch[2, 32](x)
    touch[(2, 3), [4, 5], cuda.stream(), 64](x, 8)
    touch.forall(1000)(x)
    touch.forall(0)(x)
    shapes = [(grid, block, shared) for _, grid, block, _, shared in launches]
    assert shapes == [((2, 1, 1), (32, 1, 1), 0), ((2, 3, 1), (4, 5, 1), 64), ((4, 1, 1), (256, 1, 1), 0)]
    assert [args[1] for *_, args, _ in launches] == [3, 8, 3]
    assert launches[0][3][0] is x


def test_device_arrays_and_hints_are_unwrapped(launches):
    device, host = cuda.to_device(np.arange(3)), np.arange(3)
    touch[1, 1](device)
    touch[1, 1](cuda.InOut(host))
    touch[1, 1](cuda.In(host))
    passed = [args[0] for *_, args, _ in launches]
    assert passed[0] is device
    assert passed[1] is host
    assert passed[2] is not host and (passed[2] == host).all()


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        (1, LaunchConfigError, "at least the griddim and blockdim"),
        ((1, 2, 3, 4, 5), LaunchConfigError, "at least the griddim and blockdim"),
        ((1.5, 32), LaunchConfigTypeError, "whole blocks"),
        (((1, 2, 3, 4), 32), LaunchConfigError, "1, 2 or 3 integers"),
        (("8", 32), LaunchConfigTypeError, "sequence of integers"),
        ((1, 32, "s"), LaunchConfigTypeError, "stream"),
        ((1, 32, 0, -4), LaunchConfigTypeError, "number of bytes"),
    ],
)
def test_wrong_configurations(config, error, words):
    with pytest.raises(error, match=words):
        touch[config]


def test_wrong_calls(launches):
    with pytest.raises(ValueError, match="launch configuration was not specified"):
        touch(np.zeros(1))
    with pytest.raises(TypeError, match="takes 2 arguments, 3 given"):
        touch[1, 1](np.zeros(1), 2, 3)
    with pytest.raises(ValueError, match="non-contiguous"):
        touch[1, 1](np.zeros((4, 4))[:, ::2])
    with pytest.raises(ValueError, match="negative task count"):
        touch.forall(-1)
    assert not launches


def test_device_functions_are_not_launched():
    @cuda.jit(device=True)
    def helper(a):
        return a + 1

    assert helper.py_func(1) == 2
    with pytest.raises(DeviceOnlyError, match="kernels call it"):
        helper(1)
    with pytest.raises(DeviceOnlyError, match="cannot launch"):
        helper[1, 1]


def test_signatures_convert_and_check(launches):
    @cuda.jit("void(float32[:], int32, float32)")
    def kernel(x, i, f):
        x[i] = f

    x = np.zeros(3, np.float32)
    kernel[1, 1](x, 2.9, 1)
    *_, args, _ = launches[0]
    assert (args[1], args[2]) == (2, 1.0)
    assert (type(args[1]), type(args[2])) == (np.int32, np.float32)
    with pytest.raises(SignatureError, match=r"array\(float64, 1d, C\)"):
        kernel[1, 1](np.zeros(3), 1, 1.0)
    with pytest.raises(SignatureError, match="takes 3 arguments, 1 given"):
        kernel[1, 1](x)


def test_several_signatures_choose_the_exact_one(launches):
    @cuda.jit([(types.float32[:], types.int64), "(float64[::1], int64)"])
    def kernel(x, i):
        x[0] = i

    kernel[1, 1](np.zeros(3), 1)
    kernel[1, 1](np.zeros(3, np.float32), True)
    assert [args[0].dtype for *_, args, _ in launches] == [np.float64, np.float32]
    assert launches[1][3][1] == 1 and type(launches[1][3][1]) is np.int64
    assert len(kernel.signatures) == 2


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("void(int32[:, ::1], f8)", "(array(int32, 2d, C), float64)"),
        ("(uint8[::1, :],)", "(array(uint8, 2d, F))"),
        ("void(UniTuple(int64, 2), boolean)", "(UniTuple(int64 x 2), bool)"),
        ("void(types.complex64[:])", "(array(complex64, 1d, A))"),
    ],
)
def test_signature_strings(text, args):
    assert repr(signatures.parse(text)).startswith(args)


@pytest.mark.parametrize("text", ["void(float33[:])", "float32", "void(", "void(__import__('os'))", "void(1)"])
def test_wrong_signature_strings(text):
    with pytest.raises(gpukit.GpukitError):
        signatures.parse(text)


def test_wrong_declarations():
    with pytest.raises(SignatureError, match="must have void return type"):
        cuda.jit("int32(int32)")(lambda x: x)
    with pytest.raises(SignatureError, match="takes 1 arguments"):
        cuda.jit("void(int32, int32)")(lambda x: x)
    with pytest.raises(gpukit.KernelTypeError, match="no option speed"):
        cuda.jit(speed=9)
    with pytest.raises(gpukit.KernelTypeError, match="written in Python"):
        cuda.jit(len)
    with pytest.raises(RefusedError, match="link"):
        cuda.jit(link=["a.cu"])
    with pytest.raises(RefusedError, match="declare_device"):
        cuda.declare_device("f", "int32(int32)")


def test_specialize(launches):
    special = touch.specialize(np.zeros(2), 1)
    special[1, 1](np.zeros(5), 2)
    assert special.specialized and len(launches) == 1
    with pytest.raises(SignatureError):
        special[1, 1](np.zeros(5, np.int8), 2)
    with pytest.raises(NotImplementedError, match="already specialized"):
        special.specialize(np.zeros(2), 1)


# --- names, types, devices -----


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cuda.threadIdx", cuda.threadIdx),
        ("cuda.atomic.add", cuda.atomic.add),
        ("cuda.shared.array", cuda.shared.array),
        ("cuda.cg.this_grid", cuda.cg.this_grid),
        ("cuda.float32x4", cuda.float4),
        ("cuda.libdevice.sinf", cuda.libdevice.sinf),
        ("cuda.fp16.hadd", cuda.fp16.hadd),
        ("cuda.random.xoroshiro128p_next", cuda.random.xoroshiro128p_next),
    ],
)
def test_device_names(name, value):
    assert value.__gpukit_name__ == name
    if "random" not in name:
        assert pickle.loads(pickle.dumps(value)) is value


def test_the_kernel_language_is_refused_on_the_host():
    for use in (
        lambda: cuda.grid(1),
        lambda: cuda.threadIdx.x,
        lambda: int(cuda.laneid),
        lambda: cuda.atomic.add(np.zeros(1), 0, 1),
        lambda: cuda.shared.array(3, cuda.float32),
        lambda: cuda.float4(1, 2, 3, 4),
    ):
        with pytest.raises(NotImplementedError, match="inside a kernel"):
            use()
    with pytest.raises(AttributeError, match="it has add"):
        cuda.atomic.multiply  # noqa: B018


def test_types_convert_values_as_c_does():
    assert cuda.int32(2**31) == -(2**31)
    assert cuda.uint8(-1) == 255
    assert cuda.float32(1 / 3) == np.float32(1 / 3)
    assert cuda.int64(3.9) == 3
    assert types.typeof((1, 2)) == types.UniTuple(types.int64, 2)
    assert str(types.typeof(np.zeros((2, 2), order="F"))) == "array(float64, 2d, F)"
    with pytest.raises(gpukit.KernelTypeError, match="dict"):
        types.typeof({})


def test_device_streams_and_events():
    assert cuda.is_available() and len(cuda.gpus) == 1 and cuda.detect()
    device = cuda.get_current_device()
    assert (device.WARP_SIZE, device.MAX_THREADS_PER_BLOCK, device.compute_capability) == (32, 1024, (9, 0))
    with cuda.gpus[0], pytest.raises(AttributeError):
        device.NO_SUCH_LIMIT  # noqa: B018
    start, end = cuda.event(), cuda.event()
    with pytest.raises(gpukit.GpukitError, match="never recorded"):
        start.elapsed_time(end)
    start.record()
    end.record(cuda.stream())
    assert start.elapsed_time(end) >= 0 and end.query()
    called = []
    cuda.default_stream().add_callback(lambda *args: called.append(args[1:]), "x")
    assert called == [(0, "x")]
    with pytest.raises(gpukit.LaunchError, match="one device"):
        cuda.select_device(1)
    with pytest.raises(RefusedError):
        cuda.compile_ptx(touch, ())
    free, total = cuda.current_context().get_memory_info()
    assert 0 < free <= total


def test_random_states_match_the_published_generator():
    """Against the algorithm stepped in plain integers: seed by SplitMix64, jump by its polynomial."""
    word = 2**64 - 1

    def rotate(x, k):
        return (x << k | x >> 64 - k) & word

    def step(s0, s1):
        s1 ^= s0
        return rotate(s0, 55) ^ s1 ^ (s1 << 14 & word), rotate(s1, 36)

    def jump(s0, s1):
        out = [0, 0]
        for polynomial in (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922):
            for bit in range(64):
                if polynomial >> bit & 1:
                    out = [out[0] ^ s0, out[1] ^ s1]
                s0, s1 = step(s0, s1)
        return out[0], out[1]

    z = (42 + 0x9E3779B97F4A7C15) & word
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & word
    z = (z ^ z >> 27) * 0x94D049BB133111EB & word
    state = (z ^ z >> 31,) * 2
    expected = []
    for _ in range(7):
        expected.append(state)
        state = jump(*state)
    got = cuda.random.create_xoroshiro128p_states(5, seed=42, subsequence_start=2).copy_to_host()
    assert [tuple(map(int, item)) for item in got] == expected[2:]


def test_an_error_of_a_launch_shows_no_inner_frames():
    with pytest.raises(gpukit.LaunchError) as caught:
        cuda.jit(lambda x: None)[1, 2000](np.zeros(1))
    modules = [entry.path.name for entry in caught.traceback]
    assert modules == ["test_facade.py", "dispatcher.py", "dispatcher.py"]


def test_record_types_of_an_installed_numba_in_a_signature():
    numba = pytest.importorskip("numba")
    point = np.dtype([("mass", "f4"), ("at", "f8", (2, 3)), ("cell", [("row", "i4"), ("col", "i2")])], align=True)
    declared = signatures.parse(numba.void(numba.from_dtype(point), numba.from_dtype(point)[:]))
    assert declared.args[0].numpy_dtype == declared.args[1].dtype.numpy_dtype == point


def test_a_raw_pointer_in_a_signature_is_refused_with_what_to_do():
    with pytest.raises(gpukit.GpukitError, match=r"raw pointer uint8\*.*array instead"):
        types.as_dtype(types.CPointer(types.uint8))
