"""How a launch covers an array: grid, blocks, warps and lanes, on the sum of two vectors.

Every rung computes c = a + b with the same loads and stores. What differs is the launch: how many blocks of how many
threads, in one dimension or two, with an element per thread or a loop. A grid has ceil(n / threads per block) blocks,
so that the last one may reach past the end, and a guard keeps its threads from doing so.

Source: M. Harris, "CUDA Pro Tip: Write Flexible Kernels with Grid-Stride Loops" (2013), for `grid_stride`.
"""

import math

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import ramp, random_floats
from gpukit.registry import CppKernel, Family, Launch, Plan, Problem, Sweep

WARP = 32
CHUNK = 1 << 24  # elements of the reference that are computed at a time
BLOCKS_PER_SM = 8  # of 256 threads: the 2,048 threads that an SM can hold


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """Two vectors of n elements: int32 ramps, or float32 in [0, 1). Both sums are exact: a float32 sum rounds once."""
    if kind == "ramp":
        a = ramp(n, device)
        b = 2 * a
    else:
        a, b = random_floats(n, rng, device), random_floats(n, rng, device)
    exact = np.int64 if kind == "ramp" else np.float64
    expected = np.empty(n, a.dtype)
    for k in range(0, n, CHUNK):
        part = slice(k, k + CHUNK)
        expected[part] = device.to_host((a[part].astype(exact) + b[part].astype(exact)).astype(a.dtype))
    return Problem(n, kind, {"a": a, "b": b}, expected)


FAMILY = Family(
    __name__,
    problem,
    kinds=("ramp", "random"),
    lengths=(0, 1, 31, 32, 33, 511, 513, (1 << 20) + 3),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=("global_load_requests", "global_load_sectors", "warp_instructions", "active_lanes_per_instruction"),
)


def ceil_div(a: int, b: int) -> int:
    """How many pieces of b cover a, the last one perhaps in part."""
    return -(-a // b)


def all_blocks(n: int, block: int, device: Device) -> tuple[int, int]:
    """As many blocks as cover n elements, one per thread; one block for none."""
    return max(1, ceil_div(n, block)), block


def one_thread(n: int, block: int, device: Device) -> tuple[int, int]:
    """A block for each element, of one thread."""
    return max(1, n), 1


def one_warp(n: int, block: int, device: Device) -> tuple[int, int]:
    """Blocks of 32 threads."""
    return all_blocks(n, WARP, device)


def full_card(n: int, block: int, device: Device) -> tuple[int, int]:
    """As many blocks as the card holds at a time, however large n is."""
    return BLOCKS_PER_SM * device.sms, block


def one_block(n: int, block: int, device: Device) -> tuple[int, int]:
    """One block: one SM works, all others are idle."""
    return 1, block


def launched(shape):
    """The plan of a launch whose grid and block are `shape(n, block, device)`."""

    def plan(kernel, problem: Problem, block: int, device: Device) -> Plan:
        grid, threads = shape(problem.n, block, device)
        return addition(kernel, problem, device, grid, threads)

    return plan


def addition(kernel, problem: Problem, device: Device, grid: int, block: int) -> Plan:
    """One launch over the vectors as they lie."""
    a, b = problem.arrays["a"], problem.arrays["b"]
    c = device.xp.empty_like(a)
    launch = Launch(kernel, grid, block, (a, b, c))
    return added(problem, lambda: device.to_host(c), launches=(launch,), outputs=(c,))


def added(problem: Problem, answer, **about) -> Plan:
    """A plan with what every rung has alike: two vectors read, one written."""
    nbytes = 3 * problem.n * problem.arrays["a"].dtype.itemsize
    return Plan(answer=answer, bytes_moved=nbytes, flops=problem.n, **about)


# --- the host's -------------------------------------------------------------------------------------------------------


def by_numpy(function, problem: Problem, block: int, device: Device) -> Plan:
    """NumPy, on the host's copy of the vectors, into an array that is there already."""
    a, b = (device.to_host(problem.arrays[name]) for name in "ab")
    c = np.empty_like(a)
    return added(problem, lambda: c.copy(), call=lambda: function(a, b, c), outputs=(c,))


def by_cupy(function, problem: Problem, block: int, device: Device) -> Plan:
    """CuPy, on the GPU's arrays, into an array that is there already."""
    a, b = problem.arrays["a"], problem.arrays["b"]
    c = device.xp.empty_like(a)
    return added(problem, lambda: device.to_host(c), call=lambda: function(a, b, c), outputs=(c,))


@FAMILY.host(by_numpy, produces="the sum of each pair")
def numpy_add(a, b, c):
    """NumPy on the host: one thread of the CPU, vectorised by NumPy.

    Args: a, b: (n,) int32 or float32. c: (n,) of the same dtype, written.
    """
    np.add(a, b, out=c)


@FAMILY.host(by_cupy, machines=("gpu",), needs=("cupy",), produces="the sum of each pair")
def cupy_add(a, b, c):
    """CuPy's elementwise sum, which compiles a kernel of its own: the bar to beat.

    Args: a, b: (n,) int32 or float32, on the GPU. c: (n,) of the same dtype, written.
    """
    import cupy

    cupy.add(a, b, out=c)


# --- an element per thread --------------------------------------------------------------------------------------------


@FAMILY.kernel(launched(all_blocks), produces="the sum of each pair")
@cuda.jit
def vector_add(a, b, c):
    """One element per thread, and a guard for the threads past the end.

    Expect: 2 load requests and 1 store request per warp, of 4 sectors each: 32 lanes x 4 bytes = 128 bytes. Only the
    last warp can diverge at the guard. The numbers are the same for every block size that is a multiple of 32.

    Args:
        a, b: (n,) int32 or float32.
        c: (n,) of the same dtype, written.
    """
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


FAMILY.kernel(
    launched(one_thread),
    name="one_thread_per_block",
    document="""The same kernel in blocks of one thread: 31 lanes of each warp do not exist.

    Versus: vector_add: <<<n, 1>>> instead of <<<ceil(n / 256), 256>>>.

    Expect: one active lane of 32 in every instruction, so 32 times the warp instructions and requests. Each request
    moves a sector of 32 bytes for 4 of them: 8 times the sectors.

    Args: as vector_add.
    """,
    against="vector_add",
    rises=("global_load_requests", "global_load_sectors", "warp_instructions"),
    falls=("active_lanes_per_instruction",),
    produces="the sum of each pair",
)(vector_add)

FAMILY.kernel(
    launched(one_warp),
    name="one_warp_per_block",
    document="""The same kernel in blocks of one warp: no counter moves, and the SMs are half empty.

    Versus: vector_add: blocks of 32 threads, eight times as many.

    Expect: every counter as before, since warps do what they did. What falls is occupancy: an SM of an H200 holds 64
    warps but only 32 blocks, so 32 warps, and half as many loads are under way to hide the latency of memory.

    Args: as vector_add.
    """,
    against="vector_add",
    stays=("global_load_requests", "global_load_sectors", "warp_instructions", "branches"),
    produces="the sum of each pair",
)(vector_add)


def in_rows(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """The vectors as the rows of a 2-D array, with zeros behind the last element where they do not fill it."""
    xp, n = device.xp, problem.n
    width = WARP * max(1, ceil_div(math.isqrt(n), WARP))
    rows = max(1, ceil_div(n, width))

    def folded(vector):
        if n == rows * width:
            return vector.reshape(rows, width)
        padded = xp.zeros(rows * width, vector.dtype)
        padded[:n] = vector
        return padded.reshape(rows, width)

    a, b = folded(problem.arrays["a"]), folded(problem.arrays["b"])
    c = xp.empty_like(a)
    threads = WARP, block // WARP
    grid = ceil_div(width, threads[0]), ceil_div(rows, threads[1])
    launch = Launch(kernel, grid, threads, (a, b, c))
    return added(problem, lambda: device.to_host(c).reshape(-1)[:n], launches=(launch,), outputs=(c,))


@FAMILY.kernel(
    in_rows,
    against="vector_add",
    rises=("warp_instructions",),
    stays=("global_load_requests", "global_load_sectors", "global_store_sectors", "divergent_branches"),
    produces="the sum of each pair",
)
@cuda.jit
def add_2d(a, b, c):
    """A grid in two dimensions for an array of two: x along a row, y down the rows.

    Versus: vector_add: blocks of 32 x (threads / 32), two indices and a guard for each.

    Expect: the requests and sectors of vector_add, because threads are numbered along x first, so that a warp is 32
    neighbours of one row. The second index and guard cost warp instructions.

    Args:
        a, b: (rows, columns) int32 or float32, row by row in memory.
        c: (rows, columns) of the same dtype, written.
    """
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = a[row, column] + b[row, column]


# --- a loop per thread ------------------------------------------------------------------------------------------------


@FAMILY.kernel(
    launched(full_card),
    against="vector_add",
    rises=("branches",),
    stays=("global_load_requests", "global_load_sectors", "global_store_sectors", "divergent_branches"),
    produces="the sum of each pair",
)
@cuda.jit
def grid_stride(a, b, c):
    """A grid-stride loop: a grid that fills the card once, and threads that go on for as long as there is work.

    Versus: vector_add: a fixed grid (SMs x 8 blocks), a loop in place of the guard.

    Expect: requests and sectors stay. Every round has its test, and the end of the loop one more: branches rise by one
    per warp. As written, warp instructions fall, since the index is computed once per thread. The compiler unrolls the
    loop by four, with a second loop for the rounds that are left over and more instructions before both, so at the
    compiled level they rise by half while a thread has only four elements, and not at all once it has many.

    Args:
        a, b: (n,) int32 or float32.
        c: (n,) of the same dtype, written.
    """
    for i in range(cuda.grid(1), c.size, cuda.gridsize(1)):
        c[i] = a[i] + b[i]


FAMILY.kernel(
    launched(one_block),
    name="too_small_grid",
    document="""The same loop with one block: one SM works, and all the others are idle.

    Versus: grid_stride: a grid of 1 block instead of SMs x 8.

    Expect: no counter gets worse. Requests and sectors stay, branches and warp instructions fall a little. An H200 has
    132 SMs, and only the clock tells that 131 do nothing: counters per launch do not say who did the work.

    Args: as grid_stride.
    """,
    against="grid_stride",
    falls=("branches", "warp_instructions"),
    stays=("global_load_requests", "global_load_sectors", "global_store_sectors"),
    produces="the sum of each pair",
)(grid_stride)


# --- CUDA C++ ---------------------------------------------------------------------------------------------------------


def in_cpp(shape, size_type=np.int32):
    """The plan of a C++ kernel, which takes n as its last argument and is compiled for the elements' type."""

    def plan(kernel, problem: Problem, block: int, device: Device) -> Plan:
        grid, threads = shape(problem.n, block, device)
        return cpp_addition(kernel, problem, device, grid, threads, size_type)

    return plan


def cpp_addition(kernel, problem: Problem, device: Device, grid: int, block: int, size_type=np.int32) -> Plan:
    """One launch of a C++ kernel over the vectors as they lie."""
    a, b = problem.arrays["a"], problem.arrays["b"]
    c = device.xp.empty_like(a)
    compiled = kernel.compiled(f"-DELEMENT={'int' if a.dtype.kind == 'i' else 'float'}")
    launch = Launch(compiled, grid, block, (a, b, c, size_type(problem.n)))
    return added(problem, lambda: device.to_host(c), launches=(launch,), outputs=(c,))


FAMILY.cpp("vector_add", in_cpp(all_blocks), produces="the sum of each pair")
FAMILY.cpp(
    "grid_stride",
    in_cpp(full_card),
    against="cpp:vector_add",
    rises=("branches",),
    stays=("global_load_requests", "global_load_sectors", "global_store_sectors", "divergent_branches"),
    produces="the sum of each pair",
)
FAMILY.cpp(
    "grid_stride_unsigned",
    in_cpp(full_card, np.uint32),
    against="cpp:grid_stride",
    rises=("branches",),
    stays=("global_load_requests", "global_load_sectors", "global_store_sectors", "divergent_branches"),
    produces="the sum of each pair",
)


def on_a_grid(kernel, problem: Problem, block: int, device: Device, blocks: int) -> Plan:
    """A grid-stride rung with a number of blocks that is given."""
    if not isinstance(kernel, CppKernel):
        return addition(kernel, problem, device, blocks, block)
    return cpp_addition(kernel, problem, device, blocks, block)


FAMILY.sweep = Sweep(
    on_a_grid, rungs=("grid_stride", "cpp:grid_stride"), blocks=(1, 16, 64, 132, 264, 1056, 4096, 16384)
)
