"""1, 4, 8 and 16 bytes per lane: the same bytes in fewer, wider requests.

Every rung copies n elements of 4 bytes. A kernel that moves 8 or 16 bytes per lane sees the array as one of wider
elements; what is left over at its end is copied as it is, by the first threads.

Source: J. Luitjens, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access" (2013).
"""

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import ramp, random_floats
from gpukit.registry import CppKernel, Family, Launch, Plan, Problem


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n elements of 4 bytes to copy: an int32 ramp, no two of them equal, or float32 in [0, 1)."""
    x = ramp(n, device) if kind == "ramp" else random_floats(n, rng, device)
    return Problem(n, kind, {"x": x}, device.to_host(x))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ramp", "random"),
    lengths=(0, 1, 2, 3, 31, 32, 33, 127, 129, 511, 513, 515, (1 << 20) + 3),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=(
        *("global_load_requests", "load_sectors_per_request", "global_load_sectors", "load_efficiency"),
        "warp_instructions",
    ),
)


def of_type(dtype):
    """The plan of a kernel that takes x and y as elements of another type, of 4 bytes or fewer."""

    def plan(kernel, problem: Problem, block: int, device: Device) -> Plan:
        x = problem.arrays["x"]
        y = device.xp.empty_like(x)
        wide_x, wide_y = x.view(dtype), y.view(dtype)
        return copied(problem, kernel, block, device, y, wide_x.size, (wide_x, wide_y))

    return plan


def with_tail(dtype):
    """The plan of a kernel that takes as much of x and y as fits in elements of a wider type, and x and y."""
    nbytes = np.dtype(dtype).itemsize

    def plan(kernel, problem: Problem, block: int, device: Device) -> Plan:
        x = problem.arrays["x"]
        y = device.xp.empty_like(x)
        per_lane = nbytes // x.dtype.itemsize
        whole = problem.n // per_lane * per_lane
        wide_x, wide_y = x[:whole].view(dtype), y[:whole].view(dtype)
        # per_lane threads at least, so that there is one for each element of the tail.
        return copied(problem, kernel, block, device, y, max(wide_x.size, per_lane), (wide_x, wide_y, x, y))

    return plan


def copied(problem: Problem, kernel, block: int, device: Device, y, threads: int, args: tuple) -> Plan:
    """One launch of at least that many threads, in which every byte of x is read once, and of y written once."""
    compiled = kernel
    if isinstance(kernel, CppKernel):  # a C++ kernel takes x and y, and sees to the rest by itself
        compiled, args = kernel.compiled(), (*cpp_arrays(args), np.int32(args[-1].size))
    launch = Launch(compiled, max(1, -(-threads // block)), block, args)
    return Plan(lambda: device.to_host(y), launches=(launch,), outputs=(y,), bytes_moved=2 * y.nbytes)


def cpp_arrays(args: tuple) -> tuple:
    """x and y, which come last, as bytes or floats."""
    return tuple(array if array.dtype.itemsize == 1 else array.view(np.float32) for array in args[-2:])


def by_cupy(function, problem: Problem, block: int, device: Device) -> Plan:
    """CuPy, on the GPU's arrays."""
    x = problem.arrays["x"]
    y = device.xp.empty_like(x)
    return Plan(lambda: device.to_host(y), call=lambda: function(x, y), outputs=(y,), bytes_moved=2 * x.nbytes)


@FAMILY.host(by_cupy, machines=("gpu",), needs=("cupy",), produces="a copy")
def cupy_copy(x, y):
    """CuPy's copy within the GPU's memory: the bar to beat.

    Args: x: (n,) int32 or float32, on the GPU. y: (n,) of the same dtype, written.
    """
    y[...] = x


@FAMILY.kernel(of_type(np.int32), produces="a copy")
@cuda.jit
def four_bytes(x, y):
    """4 bytes per lane: a warp's request is 128 bytes, 4 sectors.

    Expect: n / 32 load requests of 4 sectors each.

    Args:
        x: (n,) int32.
        y: (n,) int32, written.
    """
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i]


@FAMILY.kernel(
    of_type(np.int8),
    against="four_bytes",
    rises=("global_load_requests", "warp_instructions"),
    falls=("load_sectors_per_request",),
    stays=("global_load_sectors", "global_store_sectors"),
    produces="a copy",
)
@cuda.jit
def one_byte(x, y):
    """1 byte per lane: a warp's request is one sector, and there are four times as many.

    Versus: four_bytes: the same memory as int8.

    Expect: four times the load requests and warp instructions, 1 sector per request instead of 4. Sectors stay: a
    narrow access wastes no bytes, it wastes instructions.

    Args:
        x: (4 n,) int8.
        y: (4 n,) int8, written.
    """
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i]


@FAMILY.kernel(
    with_tail(np.float64),
    against="four_bytes",
    falls=("global_load_requests", "warp_instructions"),
    rises=("load_sectors_per_request",),
    stays=("global_load_sectors", "global_store_sectors"),
    produces="a copy",
)
@cuda.jit
def eight_bytes(wide_x, wide_y, x, y):
    """8 bytes per lane: half the requests, of 8 sectors each; the last element of an odd n by itself.

    Versus: four_bytes: the same memory as float64, two elements at a time.

    Expect: half the load requests, 8 sectors per request instead of 4. Sectors stay.

    Args:
        wide_x: (n // 2,) float64, the memory of x.
        wide_y: (n // 2,) float64, the memory of y, written.
        x: (n,) int32 or float32.
        y: (n,) of the same dtype, its last element written if n is odd.
    """
    i = cuda.grid(1)
    if i < wide_y.size:
        wide_y[i] = wide_x[i]
    k = 2 * wide_y.size + i
    if k < y.size:
        y[k] = x[k]


@FAMILY.kernel(
    with_tail(np.complex128),
    against="eight_bytes",
    rises=("global_load_sectors", "global_store_sectors"),
    falls=("warp_instructions", "load_efficiency"),
    stays=("global_load_requests", "global_store_requests"),
    produces="a copy",
)
@cuda.jit
def sixteen_bytes_in_two(wide_x, wide_y, x, y):
    """16 bytes per lane as complex128, which are two loads of 8 bytes: twice the sectors.

    Versus: eight_bytes: the same memory as complex128, four elements at a time.

    Expect: the requests of eight_bytes, not half of them, and twice the sectors, at both levels. numba loads the real
    and the imaginary part each by itself: the lanes' 8 bytes are 16 bytes apart, so each request touches 16 sectors and
    uses half of them, and the other request touches them again. cpp:sixteen_bytes shows one load of 16 bytes.

    Args:
        wide_x: (n // 4,) complex128, the memory of x.
        wide_y: (n // 4,) complex128, the memory of y, written.
        x: (n,) int32 or float32.
        y: (n,) of the same dtype, its last n % 4 elements written.
    """
    i = cuda.grid(1)
    if i < wide_y.size:
        wide_y[i] = wide_x[i]
    k = 4 * wide_y.size + i
    if k < y.size:
        y[k] = x[k]


WIDER: dict[str, Any] = {
    "falls": ("global_load_requests", "global_store_requests", "warp_instructions"),
    "rises": ("load_sectors_per_request",),
    "stays": ("global_load_sectors", "global_store_sectors"),
}
FAMILY.cpp("four_bytes", of_type(np.float32), produces="a copy")
FAMILY.cpp(
    "one_byte",
    of_type(np.int8),
    against="cpp:four_bytes",
    rises=("global_load_requests", "warp_instructions"),
    falls=("load_sectors_per_request",),
    stays=("global_load_sectors", "global_store_sectors"),
    produces="a copy",
)
FAMILY.cpp("eight_bytes", with_tail(np.float64), against="cpp:four_bytes", produces="a copy", **WIDER)
FAMILY.cpp("sixteen_bytes", with_tail(np.complex128), against="cpp:eight_bytes", produces="a copy", **WIDER)
