"""The sum of an array, one change a rung: from the first tree in global memory to loads as wide as the memory system.

All rungs sum `data`, n elements of int32 or float32. Most leave one partial sum per block, which the host adds up in
float64 (`produces` says so); the rungs named `finish_` end with one number on the device. Blocks are powers of two.

The rungs fall into five parts: what the host does, trees in place in global memory, trees in shared memory, sums in
registers with a fixed grid, and ways to finish. Those in CUDA C++ are in cpp/reduction.cu. Loads of 16 bytes are there
alone: numba has no array of `float4`, and loads a record or a complex number field by field. `coarsened` gets as far
with eight loads of 4 bytes that do not wait for each other.

Two things about types. numba adds int32 in int64 registers (as NumPy sums them), so a shuffle of an integer sum is two
instructions where one of a float sum is one. And an index is an int64, so 2^29 elements and more cause no overflow.

Source: M. Harris, "Optimizing Parallel Reduction in CUDA" (2007), for the order of the first rungs; others say their
    own.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.inputs import random_floats
from gpukit.registry import Array, CppKernel, Family, Launch, Plan, Problem, Sweep

LARGEST = (1 << 31) - 1  # elements: the sum of as many ones fits in an int32
BLOCK, BLOCKS = 256, (64, 128, 256, 512, 1024)  # threads per block: measured, and checked
FULL = 0xFFFFFFFF  # the mask of a whole warp
LOADS = 8  # loads of a thread in a round of `coarsened`

PARTIALS, TOTAL = "a partial sum per block", "one number"
_ELEMENTS = {"int32": "int", "float32": "float"}  # what -DELEMENT is for each dtype


# --- the problem -----------------------------------------------------------------------------------------------------


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n elements to sum: int32 ones, or float32 in [0, 1).

    Raises GpukitError for more elements than an int32 can count.
    """
    if n > LARGEST:
        raise GpukitError(f"the sum of {n:,} ones does not fit in an int32: use at most {LARGEST:,} elements")
    if kind == "ones":
        return Problem(n, kind, {"data": device.xp.ones(n, np.int32)}, np.asarray(n, np.int64))
    data = random_floats(n, rng, device)
    expected = device.to_host(data.sum(dtype=np.float64))
    return Problem(n, kind, {"data": data}, expected, float(relative_bound(n, device) * expected))


def relative_bound(n: int, device: Device) -> float:
    """The largest relative error of a sum of n non-negative float32 numbers by any rung.

    An element goes through at most k additions, each of which rounds to a relative u = 2^-24, so the sum is off by at
    most k u / (1 - k u) of itself. The longest chain is that of `finish_atomic`: the elements of a thread, the tree of
    a block, then one atomic after the other. Any rung with fewer additions in a row is well inside.
    """
    grids = [(fixed_grid(n, block, device), block) for block in BLOCKS]
    longest = max(-(-n // (blocks * block)) + blocks for blocks, block in grids)
    rounding = (longest + 16) * 2.0**-24  # the tree of a block: at most 10; the rest is the tail of `vectorized`
    return rounding / (1 - rounding)


FAMILY = Family(
    __name__,
    problem,
    kinds=("ones", "random"),
    lengths=(0, 1, 31, 32, 33, 511, 513, (1 << 20) + 3),
    blocks=BLOCKS,
    block=BLOCK,
    counters=(
        "divergent_branches",
        "global_load_requests",
        "global_load_sectors",
        "shared_load_requests",
        "shared_load_bank_conflicts",
        "barriers",
        "warp_synchronisations",
        "warp_instructions",
    ),
    gpu_n=1 << 29,
)


# --- plans -----------------------------------------------------------------------------------------------------------


def fixed_grid(n: int, block: int, device: Device) -> int:
    """Blocks of a grid that does not grow with the data: what fills every SM of a GPU (2,048 threads each), and fewer
    for a small n, so that a thread has 64 elements; at least 4, so that there is something to finish."""
    return min(device.sms * (2048 // block), max(4, n // (64 * block)))


def coarse_grid(n: int, block: int) -> int:
    """Blocks for kernels with many loads in flight: up to 2^22 threads, 64 elements a thread or more; at least 4.

    With 16,384 blocks of 256 `coarsened` reads 4,532 GB/s on an H200 at 2^29 elements, with 1,024 4,278
    (data/results/bench_h200_reduction.json): many more blocks than fit at once hide that some SMs are done earlier.
    """
    return min((1 << 22) // block, max(4, n // (64 * block)))


def of_element(kernel: Any, data: Array, *options: str) -> Any:
    """What is launched: a numba kernel as it is, a C++ kernel compiled for the data's type and these options."""
    if not is_cpp(kernel):
        return kernel
    left_out = () if kernel.name == "finish_grid_sync" else ("-DWITHOUT_GRID_SYNC",)
    return kernel.compiled(f"-DELEMENT={_ELEMENTS[data.dtype.name]}", *left_out, *options)


def is_cpp(kernel: Any) -> bool:
    return isinstance(kernel, CppKernel)


def arguments(kernel: Any, data: Array, *more: Array) -> tuple:
    """The arguments of a kernel: C++ is told the length of the data, which a numba array knows."""
    return (data, *more, np.uint32(data.size)) if is_cpp(kernel) else (data, *more)


def in_place(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """A block of T threads sums 2T elements of a copy of the data, padded with zeros."""
    check_block(kernel, block, 32)
    xp, data = device.xp, problem.arrays["data"]
    blocks = max(1, -(-problem.n // (2 * block)))
    original = data
    if problem.n != blocks * 2 * block:
        original = xp.zeros(blocks * 2 * block, data.dtype)
        original[: problem.n] = data
    scratch, partial = xp.empty_like(original), xp.empty(blocks, data.dtype)
    return Plan(
        answer=lambda: device.to_host(partial).sum(dtype=np.float64),
        launches=(Launch(of_element(kernel, data), blocks, block, (scratch, partial)),),
        outputs=(partial,),
        restores=((scratch, original),),
        bytes_moved=data.nbytes + partial.nbytes,
        flops=problem.n,
    )


def partial_sums(
    kernel: Any,
    problem: Problem,
    block: int,
    device: Device,
    blocks: int,
    shared_bytes: int = 0,
    options: tuple[str, ...] = (),
) -> Plan:
    """`blocks` blocks that leave a partial sum each; the host adds them up, which is not part of what is timed."""
    data = problem.arrays["data"]
    partial = device.xp.empty(blocks, data.dtype)
    made = of_element(kernel, data, *options)
    return Plan(
        answer=lambda: device.to_host(partial).sum(dtype=np.float64),
        launches=(Launch(made, blocks, block, arguments(kernel, data, partial), shared_bytes),),
        outputs=(partial,),
        bytes_moved=data.nbytes + partial.nbytes,
        flops=problem.n,
    )


def one_element(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One element a thread, and a tile of shared memory with one element a thread."""
    return shared_tree(kernel, problem, block, device, elements=1)


def two_elements(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """Two elements a thread, and a tile of shared memory with one element a thread."""
    return shared_tree(kernel, problem, block, device, elements=2)


def last_warp(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """As `two_elements`, for kernels whose tree ends at 64 values, so that a block has 64 threads or more."""
    return shared_tree(kernel, problem, block, device, elements=2, least=64)


def shared_tree(kernel: Any, problem: Problem, block: int, device: Device, elements: int, least: int = 32) -> Plan:
    """A block sums `elements` elements a thread in dynamic shared memory; at least `least` threads."""
    check_block(kernel, block, least)
    blocks = max(1, -(-problem.n // (elements * block)))
    shared_bytes = block * problem.arrays["data"].dtype.itemsize
    return partial_sums(kernel, problem, block, device, blocks, shared_bytes)


def known_block(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """As `last_warp`, with a kernel compiled for this block size."""
    check_block(kernel, block, 64)
    blocks = max(1, -(-problem.n // (2 * block)))
    if not is_cpp(kernel):
        return partial_sums(unrolled_for(block), problem, block, device, blocks)
    shared_bytes = block * problem.arrays["data"].dtype.itemsize
    return partial_sums(kernel, problem, block, device, blocks, shared_bytes, (f"-DBLOCK={block}",))


def two_levels(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """Two elements a thread; what a block needs of shared memory the kernel declares itself."""
    check_block(kernel, block, 32)
    return partial_sums(kernel, problem, block, device, max(1, -(-problem.n // (2 * block))))


def cascade(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """A fixed grid that walks over the data."""
    return plan_with_grid(kernel, problem, block, device, fixed_grid(problem.n, block, device))


def coarse(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """A grid of its own for kernels with many loads in flight."""
    return plan_with_grid(kernel, problem, block, device, coarse_grid(problem.n, block))


def aligned(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """As `cascade`, for kernels that load 16 bytes from where the data begins.

    Raises GpukitError for data, a view as a rule, that begins at no multiple of 16 bytes: a GPU stops such a kernel.
    """
    check_alignment(kernel, problem.arrays["data"])
    return cascade(kernel, problem, block, device)


def plan_with_grid(kernel: Any, problem: Problem, block: int, device: Device, blocks: int) -> Plan:
    """Any rung with a fixed grid (`grid_stride`, `coarsened`, `vectorized` ...) with as many blocks as one likes.

    The exercise of the grid size runs the same kernel on the same data with 64 to 16,384 blocks.
    """
    check_block(kernel, block, 32)
    if blocks < 1:
        raise GpukitError(f"{name_of(kernel)} cannot run with {blocks} blocks: a grid has at least 1")
    return partial_sums(kernel, problem, block, device, blocks)


def on_host(function: Callable[[Array], Any], problem: Problem, block: int, device: Device) -> Plan:
    """A function of the data on the host. Copying it there, where it lies on a GPU, is not part of what is timed."""
    return _called(function, device.to_host(problem.arrays["data"]), problem)


def by_library(function: Callable[[Array], Any], problem: Problem, block: int, device: Device) -> Plan:
    """A function of a library of the data where it lies."""
    return _called(function, problem.arrays["data"], problem)


def _called(function: Callable[[Array], Any], data: Array, problem: Problem) -> Plan:
    kept: list[Any] = [None]

    def call() -> None:
        kept[0] = function(data)

    return Plan(answer=lambda: np.asarray(kept[0].item()), call=call, bytes_moved=data.nbytes, flops=problem.n)


# --- plans that end with one number ----------------------------------------------------------------------------------


def finished(
    kernel: Any,
    problem: Problem,
    device: Device,
    launches: Callable[[Array], tuple[Launch, ...]],
    outputs: tuple[Array, ...] = (),
    restores: tuple[tuple[Array, Any], ...] = (),
    starts_at_zero: bool = False,
) -> Plan:
    """A plan whose answer is the one element of an array `total`, which `launches` is given."""
    data = problem.arrays["data"]
    total = device.xp.empty(1, data.dtype)
    return Plan(
        answer=lambda: device.to_host(total)[0],
        launches=launches(total),
        outputs=(*outputs, total),
        restores=(*restores, (total, 0)) if starts_at_zero else restores,
        bytes_moved=data.nbytes + sum(array.nbytes for array in outputs) + total.nbytes,
        flops=problem.n,
    )


def by_second_launch(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """`grid_stride`, then one block over its partial sums."""
    check_block(kernel, block, 32)
    first = CppKernel(kernel.path, "grid_stride") if is_cpp(kernel) else grid_stride
    sums = cascade(first, problem, block, device)
    (partial,) = sums.outputs

    def launches(total: Array) -> tuple[Launch, ...]:
        made = of_element(kernel, partial)
        return *sums.launches, Launch(made, 1, block, arguments(kernel, partial, total))

    return finished(kernel, problem, device, launches, outputs=(partial,))


def by_atomics(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """A fixed grid; every block adds to the total, which is 0 before."""
    check_block(kernel, block, 32)
    data, blocks = problem.arrays["data"], fixed_grid(problem.n, block, device)

    def launches(total: Array) -> tuple[Launch, ...]:
        return (Launch(of_element(kernel, data), blocks, block, arguments(kernel, data, total)),)

    return finished(kernel, problem, device, launches, starts_at_zero=True)


def by_last_block(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """A fixed grid, room for a partial sum per block, and a counter of the blocks that are done, 0 before."""
    check_block(kernel, block, 32)
    data, blocks = problem.arrays["data"], fixed_grid(problem.n, block, device)
    partial, done = device.xp.empty(blocks, data.dtype), device.xp.zeros(1, np.uint32)

    def launches(total: Array) -> tuple[Launch, ...]:
        return (Launch(of_element(kernel, data), blocks, block, arguments(kernel, data, partial, total, done)),)

    return finished(kernel, problem, device, launches, outputs=(partial,), restores=((done, 0),))


def by_grid_sync(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """A grid of blocks that are all on the GPU at once, half of what an SM can hold, so that registers do not limit
    it, and room for a partial sum per block."""
    check_block(kernel, block, 32)
    data = problem.arrays["data"]
    blocks = min(fixed_grid(problem.n, block, device), device.sms * (1024 // block))
    partial = device.xp.empty(blocks, data.dtype)

    def launches(total: Array) -> tuple[Launch, ...]:
        return (Launch(of_element(kernel, data), blocks, block, arguments(kernel, data, partial, total)),)

    return finished(kernel, problem, device, launches, outputs=(partial,))


def by_host(function: Callable[[Array], Any], problem: Problem, block: int, device: Device) -> Plan:
    """`grid_stride`, then a function of its partial sums on the host: copying them there is part of what is timed."""
    sums = cascade(grid_stride, problem, block, device)
    (partial,), (launch,) = sums.outputs, sums.launches
    kept: list[Any] = [None]

    def call() -> None:
        device.launch(launch)
        kept[0] = function(device.to_host(partial))

    return Plan(
        answer=lambda: np.asarray(kept[0].item()),
        call=call,
        outputs=(partial,),
        bytes_moved=sums.bytes_moved,
        flops=problem.n,
    )


# --- what a plan refuses ---------------------------------------------------------------------------------------------


def name_of(kernel: Any) -> str:
    return kernel.name if is_cpp(kernel) else kernel.__name__


def check_block(kernel: Any, block: int, least: int) -> None:
    """Raise GpukitError for a block that a tree does not halve evenly, or that is too small for it."""
    if not least <= block <= 1024 or block & (block - 1):
        raise GpukitError(
            f"{name_of(kernel)} of reduction cannot run with {block} threads per block: it halves the block until one "
            f"warp or thread is left, so choose a power of two from {least} to 1024"
        )


def check_alignment(kernel: Any, data: Array) -> None:
    """Raise GpukitError for data that 16-byte loads cannot start from."""
    pointer = getattr(data.data, "ptr", None)  # CuPy's
    address = data.ctypes.data if pointer is None else pointer
    if address % 16:
        raise GpukitError(
            f"{name_of(kernel)} loads 16 bytes at a time, and `data` begins {address % 16} bytes past a multiple of "
            "16: give it a copy, or use vectorized_unrolled, which adds the first elements one by one"
        )


# --- on the host -----------------------------------------------------------------------------------------------------


@FAMILY.host(on_host, produces=TOTAL)
def cpu_loop(data):
    """One thread of the CPU, one element after the other: the honest baseline, compiled.

    The sum is kept in float64 (or int64). In float32 it would stop growing at 2^24, where adding less than 1 changes
    nothing any more.
    """
    return _compiled_loop()(data, _zero(data))


@FAMILY.host(on_host, produces=TOTAL)
def numpy_sum(data):
    """NumPy on one thread, several elements an instruction, pairwise.

    Adding in pairs of halves keeps the error of float32 near log2(n) roundings instead of n.
    """
    return data.sum()


@FAMILY.host(on_host, produces=TOTAL)
def parallel_loop(data):
    """The same loop on all cores of the CPU, each with a sum of its own (numba's prange)."""
    return _compiled_parallel_loop()(data, _zero(data))


def _zero(data):
    """Where a sum on the host starts: 0 in the widest type of the data's kind."""
    return np.float64(0) if data.dtype.kind == "f" else np.int64(0)


@functools.cache
def _compiled_loop():
    from numba import njit

    @njit
    def loop(data, total):
        for i in range(data.size):
            total += data[i]
        return total

    return lambda data, total: np.asarray(loop(data, total))


@functools.cache
def _compiled_parallel_loop():
    from numba import njit, prange

    @njit(parallel=True)
    def loop(data, total):
        for i in prange(data.size):
            total += data[i]
        return total

    return lambda data, total: np.asarray(loop(data, total))


# --- in place in global memory: a block owns 2 * blockDim.x elements of `data` and destroys them ---------------------


@FAMILY.kernel(in_place, produces=PARTIALS)
@cuda.jit
def naive(data, partial):
    """Threads whose number is a multiple of the stride add: warps go half empty.

    Thread t owns element 2t of its block's 2T. The start of the ladder: 47 divergent branches in the tree of a block of
    256, and one where thread 0 stores the sum.

    Args:
        data: (2T * blocks,) int32 or float32, changed: what is left of it means nothing.
        partial: (blocks,) of the same type, set to the sum of each block's 2T elements.

    Source: the interleaved tree that NVIDIA's "Optimizing Parallel Reduction in CUDA" (M. Harris, 2007) starts from.
    """
    tid = cuda.threadIdx.x
    start = 2 * cuda.blockIdx.x * cuda.blockDim.x
    stride = 1
    while stride <= cuda.blockDim.x:
        if tid % stride == 0:
            data[start + 2 * tid] += data[start + 2 * tid + stride]
        cuda.syncthreads()
        stride *= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = data[start]


@FAMILY.kernel(
    in_place,
    against="naive",
    falls=("divergent_branches", "global_load_requests", "warp_instructions"),
    stays=("global_load_sectors", "barriers"),
    produces=PARTIALS,
)
@cuda.jit
def compact(data, partial):
    """The lowest-numbered threads do the same additions: full warps, addresses as far apart as before.

    Versus: naive: thread t takes the t-th pair of the step, where it was every stride-th thread.

    Expect: divergent branches per block of 256 fall from 48 to 6, load requests at 2^20 from 227,328 to 83,968, since
        every warp with a thread at work makes a request. Sectors stay at 1,046,528: the addresses are the same.

    Args:
        data: (2T * blocks,) int32 or float32, changed.
        partial: (blocks,) of the same type, set.
    """
    tid = cuda.threadIdx.x
    start = 2 * cuda.blockIdx.x * cuda.blockDim.x
    stride = 1
    while stride <= cuda.blockDim.x:
        if tid < cuda.blockDim.x // stride:
            data[start + 2 * tid * stride] += data[start + 2 * tid * stride + stride]
        cuda.syncthreads()
        stride *= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = data[start]


@FAMILY.kernel(
    in_place,
    against="compact",
    falls=("global_load_sectors",),
    stays=("global_load_requests", "divergent_branches", "barriers"),
    produces=PARTIALS,
)
@cuda.jit
def sequential(data, partial):
    """The stride halves: thread t adds to element t, so full warps touch neighbouring addresses.

    Versus: compact: the stride starts at the block size and halves, where it started at 1 and doubled.

    Expect: load sectors at 2^20 fall 3.8 times, from 1,046,528 to 272,384: a request of 32 neighbours needs 4 sectors,
        one of 32 elements that are 32 bytes or more apart needs 32. Requests and divergent branches stay.

    Args:
        data: (2T * blocks,) int32 or float32, changed.
        partial: (blocks,) of the same type, set.
    """
    tid = cuda.threadIdx.x
    start = 2 * cuda.blockIdx.x * cuda.blockDim.x
    stride = cuda.blockDim.x
    while stride > 0:
        if tid < stride:
            data[start + tid] += data[start + tid + stride]
        cuda.syncthreads()
        stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = data[start]


# --- in shared memory: the data is read once and kept ----------------------------------------------------------------


@FAMILY.kernel(
    one_element,
    against="naive",
    falls=("global_load_requests", "global_load_sectors", "global_store_requests"),
    rises=("shared_load_requests",),
    produces=PARTIALS,
)
@cuda.jit
def shared_interleaved(data, partial):
    """The tree in shared memory: the data is read once and left as it is.

    Versus: naive: the tree with its modulo test stands in shared memory, one element a thread, not in global memory.

    Expect: global load requests at 2^20 fall from 227,328 to 32,768, one a warp, with 4 sectors each; global stores
        to one a block. In their place come 389,120 shared loads, and 48 divergent branches a block as before.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Blocks: n / T, rounded up.

    Shared memory: dynamic, T elements.
    """
    tile = cuda.shared.array(0, data.dtype)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tid] = data[i] if i < data.size else data.dtype.type(0)
    cuda.syncthreads()
    stride = 1
    while stride < cuda.blockDim.x:
        if tid % (2 * stride) == 0:
            tile[tid] += tile[tid + stride]
        cuda.syncthreads()
        stride *= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@FAMILY.kernel(
    one_element,
    against="shared_interleaved",
    falls=("divergent_branches", "shared_load_requests"),
    rises=("shared_load_bank_conflicts",),
    stays=("global_load_requests", "barriers"),
    produces=PARTIALS,
)
@cuda.jit
def shared_strided(data, partial):
    """Full warps, but their addresses are 2 * stride apart: bank conflicts.

    Versus: shared_interleaved: thread t adds to element 2 * stride * t, where every (2 * stride)-th thread added.

    Expect: divergent branches per block fall from 48 to 6, shared loads at 2^20 from 389,120 to 102,400. But 32 lanes
        that are 2, 4, 8 ... words apart meet in 16, 8, 4 ... of the 32 banks: 2-, 4-, 8-way conflicts and up, 286,720
        of them where there were none, so that the wavefronts are as many as before.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Blocks: n / T, rounded up.
    """
    tile = cuda.shared.array(0, data.dtype)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tid] = data[i] if i < data.size else data.dtype.type(0)
    cuda.syncthreads()
    stride = 1
    while stride < cuda.blockDim.x:
        k = 2 * stride * tid
        if k < cuda.blockDim.x:
            tile[k] += tile[k + stride]
        cuda.syncthreads()
        stride *= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@FAMILY.kernel(
    one_element,
    against="shared_strided",
    falls=("shared_load_bank_conflicts", "shared_load_wavefronts"),
    stays=("shared_load_requests", "divergent_branches", "barriers"),
    produces=PARTIALS,
)
@cuda.jit
def shared_sequential(data, partial):
    """The stride halves: no bank conflicts; half of the threads idle after the load.

    Versus: shared_strided: the stride starts at half the block and halves, so neighbours use neighbouring banks.

    Expect: bank conflicts fall from 286,720 to 0: 32 neighbouring words are in 32 banks. Requests and branches stay.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Blocks: n / T, rounded up.
    """
    tile = cuda.shared.array(0, data.dtype)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tid] = data[i] if i < data.size else data.dtype.type(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        cuda.syncthreads()
        stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@cuda.jit(device=True)
def two_of(data):
    """The sum of this thread's two elements of `data`, a block apart, of those that there are."""
    i = 2 * cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    total = data.dtype.type(0)
    if i < data.size:
        total += data[i]
    if i + cuda.blockDim.x < data.size:
        total += data[i + cuda.blockDim.x]
    return total


@FAMILY.kernel(
    two_elements,
    against="shared_sequential",
    falls=("barriers", "shared_load_requests", "shared_store_requests", "warp_instructions"),
    stays=("global_load_requests", "global_load_sectors"),
    produces=PARTIALS,
)
@cuda.jit
def first_add(data, partial):
    """Each thread adds two elements while it loads: work for the half that was idle.

    Versus: shared_sequential: a block takes 2T elements and adds the two of each thread before the tree.

    Expect: half the blocks, so barriers, shared loads and shared stores fall to half; loads of global memory stay.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Blocks: n / 2T, rounded up.
    """
    tile = cuda.shared.array(0, data.dtype)
    tid = cuda.threadIdx.x
    tile[tid] = two_of(data)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        cuda.syncthreads()
        stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


# --- the last 64 values in one warp, in three versions ---------------------------------------------------------------


@cuda.jit(device=True)
def down_to_64(tile):
    """A tree over the block's tile that stops at 64 live values."""
    tid = cuda.threadIdx.x
    stride = cuda.blockDim.x // 2
    while stride > 32:
        if tid < stride:
            tile[tid] += tile[tid + stride]
        cuda.syncthreads()
        stride //= 2


@FAMILY.kernel(
    last_warp,
    against="first_add",
    falls=("barriers", "branches"),
    stays=("global_load_requests",),
    hazard="race_shared",
    produces=PARTIALS,
)
@cuda.jit
def last_warp_volatile(data, partial):
    """The tail of 2007: the last warp adds 64 values without any synchronisation. A race since Volta.

    It relies on the 32 lanes of a warp moving in lockstep, which nothing has promised since 2017: the check must flag
    it, although the sum comes out right here, and on GPUs as a rule. It is here to be recognised, not to be used.

    Versus: first_add: barriers end at 64 live values; one warp does the last six steps without any.

    Expect: barriers fall by 6 a block, and with them the tests of the loop.

    In C++ the tile was `volatile`, so that the compiler kept every access. numba has no such word. Its compiler keeps
    the sum of each lane in a register here (5 loads fewer a block than written) and still stores it at each step, but
    only because it cannot rule out that an index is negative and wraps round to the same element. With an unsigned
    index it can, drops five of the six stores, and the sum is wrong (tests/test_kernels_reduction.py shows it).

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Blocks: n / 2T, rounded up; T at least 64.

    Source: "Optimizing Parallel Reduction in CUDA" (M. Harris, 2007), its fifth kernel; why it is wrong now: CUDA C++
        Programming Guide, independent thread scheduling.
    """
    tile = cuda.shared.array(0, data.dtype)
    tid = cuda.threadIdx.x
    tile[tid] = two_of(data)
    cuda.syncthreads()
    down_to_64(tile)
    if tid < 32:
        tile[tid] += tile[tid + 32]
        tile[tid] += tile[tid + 16]
        tile[tid] += tile[tid + 8]
        tile[tid] += tile[tid + 4]
        tile[tid] += tile[tid + 2]
        tile[tid] += tile[tid + 1]
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@FAMILY.kernel(
    last_warp,
    against="last_warp_volatile",
    falls=("shared_load_requests",),
    rises=("warp_synchronisations",),
    stays=("barriers", "shared_store_requests"),
    produces=PARTIALS,
)
@cuda.jit
def last_warp_syncwarp(data, partial):
    """The same tail with its order written down: a syncwarp after every read and every write.

    Versus: last_warp_volatile: a lane reads, all wait, it writes, all wait; its own sum stays in a register.

    Expect: 12 warp synchronisations a block, and no race. Shared loads fall by 5 a block as written, since a lane does
        not read its own sum again; compiled they stay, for there the racing tail keeps it in a register as well.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Blocks: n / 2T, rounded up; T at least 64.
    """
    tile = cuda.shared.array(0, data.dtype)
    tid = cuda.threadIdx.x
    tile[tid] = two_of(data)
    cuda.syncthreads()
    down_to_64(tile)
    if tid < 32:
        total = tile[tid]
        stride = 32
        while stride > 0:
            total += tile[tid + stride]
            cuda.syncwarp()
            tile[tid] = total
            cuda.syncwarp()
            stride //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@cuda.jit(device=True)
def warp_sum(total):
    """The sum of `total` over the warp, right in lane 0; all 32 lanes must call it. `unrolled` saves its loop."""
    offset = 16
    while offset > 0:
        total += cuda.shfl_down_sync(FULL, total, offset)
        offset //= 2
    return total


@FAMILY.kernel(
    last_warp,
    against="last_warp_syncwarp",
    falls=("shared_load_requests", "shared_store_requests", "warp_synchronisations"),
    stays=("barriers", "global_load_requests"),
    produces=PARTIALS,
)
@cuda.jit
def last_warp_shuffle(data, partial):
    """The tail in registers: two reads of shared memory, then five shuffles.

    Versus: last_warp_syncwarp: lanes hand their sums over by shuffles, which synchronise, not through shared memory.

    Expect: for the last 64 values lane 0 makes 2 shared reads and 5 exchanges; the tree with block barriers costs it 18
        shared accesses and 6 barriers. Shared requests and warp synchronisations fall, barriers stay.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Blocks: n / 2T, rounded up; T at least 64.
    """
    tile = cuda.shared.array(0, data.dtype)
    tid = cuda.threadIdx.x
    tile[tid] = two_of(data)
    cuda.syncthreads()
    down_to_64(tile)
    if tid < 32:
        total = warp_sum(tile[tid] + tile[tid + 32])
        if tid == 0:
            partial[cuda.blockIdx.x] = total


@functools.cache
def unrolled_for(block: int) -> Any:
    """The kernel `unrolled` for blocks of `block` threads, a power of two from 64 to 1024."""

    @cuda.jit
    def unrolled(data, partial):
        """The block size is known to the compiler: no loop is left.

        Versus: last_warp_shuffle: every step of the tree is written out, and `block` is a constant, so that the steps
            which a block does not have are gone before the kernel runs.

        Expect: warp instructions fall by a quarter; memory counters and barriers stay, and so do the tests that
            depend on the thread. Fewer instructions help a kernel that waits for instructions. This one waits for
            memory: measure what it gains.

        Args:
            data: (n,) int32 or float32, any n.
            partial: (blocks,) of the same type, set. Blocks: n / 2T, rounded up; T is `block`.
        """
        tile = cuda.shared.array(block, data.dtype)
        tid = cuda.threadIdx.x
        tile[tid] = two_of(data)
        cuda.syncthreads()
        if block >= 1024:
            if tid < 512:
                tile[tid] += tile[tid + 512]
            cuda.syncthreads()
        if block >= 512:
            if tid < 256:
                tile[tid] += tile[tid + 256]
            cuda.syncthreads()
        if block >= 256:
            if tid < 128:
                tile[tid] += tile[tid + 128]
            cuda.syncthreads()
        if block >= 128:
            if tid < 64:
                tile[tid] += tile[tid + 64]
            cuda.syncthreads()
        if tid < 32:
            total = tile[tid] + tile[tid + 32]
            total += cuda.shfl_down_sync(FULL, total, 16)
            total += cuda.shfl_down_sync(FULL, total, 8)
            total += cuda.shfl_down_sync(FULL, total, 4)
            total += cuda.shfl_down_sync(FULL, total, 2)
            total += cuda.shfl_down_sync(FULL, total, 1)
            if tid == 0:
                partial[cuda.blockIdx.x] = total

    return unrolled


unrolled = unrolled_for(BLOCK)

FAMILY.kernel(
    known_block,
    against="last_warp_shuffle",
    falls=("warp_instructions",),
    stays=("shared_load_requests", "shared_store_requests", "barriers", "global_load_requests", "branches"),
    produces=PARTIALS,
)(unrolled)


# --- sums in registers -----------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def block_sum(total, of_warp):
    """The sum of `total` over the block, right in thread 0; all threads must call it.

    of_warp: 32 elements of shared memory. A second call needs a barrier after the first.
    """
    lane = cuda.threadIdx.x % 32
    warp = cuda.threadIdx.x // 32
    total = warp_sum(total)
    if lane == 0:
        of_warp[warp] = total
    cuda.syncthreads()
    if warp == 0:
        total = warp_sum(of_warp[lane] if lane < cuda.blockDim.x // 32 else of_warp.dtype.type(0))
    return total


@FAMILY.kernel(
    two_levels,
    against="last_warp_shuffle",
    falls=("barriers", "shared_load_requests", "shared_store_requests"),
    rises=("warp_synchronisations",),
    stays=("global_load_requests",),
    produces=PARTIALS,
)
@cuda.jit
def shuffle(data, partial):
    """Two levels of shuffles, one slot of shared memory a warp, one barrier a block.

    Versus: last_warp_shuffle: every warp sums its own 32 values by shuffles; warp 0 then sums one value a warp.

    Expect: barriers per block of 256 fall from 3 to 1, shared loads from 14 to 1, shared stores from 14 to 8: one a
        warp. Shuffles rise from 5 to 45: they are what is cheap.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Blocks: n / 2T, rounded up.
    """
    of_warp = cuda.shared.array(32, data.dtype)
    total = block_sum(two_of(data), of_warp)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = total


@cuda.jit(device=True)
def strided_sum(data):
    """What this thread adds up when the grid walks over the data: every `gridsize`-th element."""
    total = data.dtype.type(0)
    i = cuda.grid(1)
    while i < data.size:
        total += data[i]
        i += cuda.gridsize(1)
    return total


@FAMILY.kernel(
    cascade,
    against="shuffle",
    falls=("barriers", "shared_load_requests", "warp_synchronisations", "warp_instructions"),
    stays=("global_load_requests", "global_load_sectors"),
    produces=PARTIALS,
)
@cuda.jit
def grid_stride(data, partial):
    """A fixed grid walks over the data, sums in registers, and folds once at the end.

    Versus: shuffle: as many blocks as fill the GPU, each thread with as many elements as it takes, where a block took
        2T elements.

    Expect: the fold is paid once for all elements of a block, so barriers, shuffles and shared accesses per element
        fall as the elements per thread rise: with 256 a thread to 1/128. Loads of global memory stay. The big step on
        a modern card.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Any number of blocks.
    """
    of_warp = cuda.shared.array(32, data.dtype)
    total = block_sum(strided_sum(data), of_warp)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = total


@FAMILY.kernel(
    coarse,
    against="grid_stride",
    falls=("warp_instructions", "branches"),
    stays=("global_load_requests", "global_load_sectors", "barriers"),
    produces=PARTIALS,
)
@cuda.jit
def coarsened(data, partial):
    """Eight loads a thread that do not wait for each other, then the additions.

    Versus: grid_stride: a block takes a tile of 8T neighbouring elements a round and each thread eight of them, T
        apart, where a thread took one.

    Expect: requests and sectors stay. Instructions fall, since a round of the loop serves eight loads. What counters
        do not show: eight loads a thread are in flight at once instead of one (instruction-level parallelism), which
        is what it takes to keep an H200's memory busy.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set. Any number of blocks.

    Source: thread coarsening: "Programming Massively Parallel Processors" (Hwu, Kirk, El Hajj), section 6.3; loads in
        flight: V. Volkov, "Better Performance at Lower Occupancy" (2010).
    """
    of_warp = cuda.shared.array(32, data.dtype)
    width = cuda.blockDim.x
    tile = LOADS * width
    total = data.dtype.type(0)
    start = cuda.blockIdx.x * tile
    while start < data.size:
        i = start + cuda.threadIdx.x
        if start + tile <= data.size:
            a = data[i] + data[i + width]
            b = data[i + 2 * width] + data[i + 3 * width]
            c = data[i + 4 * width] + data[i + 5 * width]
            d = data[i + 6 * width] + data[i + 7 * width]
            total += (a + b) + (c + d)
        else:
            while i < data.size:
                total += data[i]
                i += width
        start += cuda.gridDim.x * tile
    total = block_sum(total, of_warp)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = total


# --- the same and more in CUDA C++ -----------------------------------------------------------------------------------

FAMILY.cpp("first_add", two_elements, produces=PARTIALS)
FAMILY.cpp(
    "last_warp_volatile",
    last_warp,
    against="cpp:first_add",
    falls=("barriers",),
    stays=("global_load_requests",),
    hazard="race_shared",
    produces=PARTIALS,
)
FAMILY.cpp(
    "last_warp_syncwarp",
    last_warp,
    against="cpp:last_warp_volatile",
    falls=("shared_load_requests",),
    rises=("warp_synchronisations",),
    stays=("barriers", "shared_store_requests"),
    produces=PARTIALS,
)
FAMILY.cpp(
    "last_warp_shuffle",
    last_warp,
    against="cpp:last_warp_syncwarp",
    falls=("shared_load_requests", "shared_store_requests", "warp_synchronisations"),
    stays=("barriers", "global_load_requests"),
    produces=PARTIALS,
)
FAMILY.cpp(
    "unrolled",
    known_block,
    against="cpp:last_warp_shuffle",
    falls=("warp_instructions",),
    stays=("barriers", "warp_synchronisations", "global_load_requests"),
    produces=PARTIALS,
)
FAMILY.cpp(
    "shuffle",
    two_levels,
    against="cpp:last_warp_shuffle",
    falls=("barriers", "shared_load_requests", "shared_store_requests"),
    rises=("warp_synchronisations",),
    stays=("global_load_requests",),
    produces=PARTIALS,
)
FAMILY.cpp(
    "grid_stride",
    cascade,
    against="cpp:shuffle",
    falls=("barriers", "shared_load_requests", "warp_synchronisations", "warp_instructions"),
    stays=("global_load_requests", "global_load_sectors"),
    produces=PARTIALS,
)
FAMILY.cpp(
    "grid_stride_signed",
    cascade,
    against="cpp:grid_stride",
    falls=("branches",),
    stays=("global_load_requests", "global_load_sectors", "barriers"),
    produces=PARTIALS,
)
FAMILY.cpp(
    "vectorized",
    aligned,
    against="cpp:grid_stride",
    falls=("global_load_requests", "warp_instructions"),
    stays=("global_load_sectors", "barriers"),
    produces=PARTIALS,
)
FAMILY.cpp(
    "vectorized_unrolled",
    coarse,
    against="cpp:vectorized",
    falls=("branches",),
    stays=("global_load_requests", "global_load_sectors", "barriers"),
    produces=PARTIALS,
)


# --- one number at the end: all start from the sum of `grid_stride` --------------------------------------------------


@FAMILY.host(by_host, produces=TOTAL)
def finish_on_host(partial):
    """The partial sums of `grid_stride` are copied to the host and added there.

    The host waits for the kernel and for the copy; nothing on the GPU can use the sum before it is copied back.
    """
    return partial.sum(dtype=np.float64)


@FAMILY.kernel(
    by_second_launch,
    against="grid_stride",
    rises=("global_load_requests", "barriers"),
    produces=TOTAL,
)
@cuda.jit
def finish_second_launch(partial, total):
    """A second launch, of one block, adds the partial sums.

    The end of a kernel is a barrier for the whole grid, and costs a few microseconds.

    Versus: grid_stride: one block more, in a launch of its own, which reads a partial sum per block.

    Expect: one barrier more, and the load requests for the partial sums, one for 32 of them.

    Args:
        partial: (blocks,) int32 or float32, the partial sums.
        total: (1,) of the same type, set.
    """
    of_warp = cuda.shared.array(32, partial.dtype)
    value = block_sum(strided_sum(partial), of_warp)
    if cuda.threadIdx.x == 0:
        total[0] = value


@FAMILY.kernel(
    by_atomics,
    against="finish_second_launch",
    falls=("global_store_requests", "global_load_requests", "barriers"),
    rises=("global_atomics",),
    produces=TOTAL,
)
@cuda.jit
def finish_atomic(data, total):
    """The first thread of each block adds its sum to the total: one atomic a block.

    Atomics on one address go one after the other: free for the blocks of a fixed grid, slow for one block per 2T
    elements. The order of the blocks is any, so a float sum differs in the last bits from run to run.

    Versus: finish_second_launch: a block adds to the total where it stored a partial sum, and the second launch is
        gone.

    Expect: global atomics equal the number of blocks; no store is left, and no load of partial sums.

    Args:
        data: (n,) int32 or float32, any n.
        total: (1,) of the same type, 0 before; the sum is added to it.
    """
    of_warp = cuda.shared.array(32, data.dtype)
    value = block_sum(strided_sum(data), of_warp)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, value)


@FAMILY.kernel(
    by_last_block,
    against="finish_atomic",
    rises=("global_store_requests", "global_load_requests", "barriers"),
    stays=("global_atomics",),
    produces=TOTAL,
)
@cuda.jit
def finish_last_block(data, partial, total, done):
    """The block that finishes last adds the partial sums: one launch, and always the same order of additions.

    Each block stores its sum, makes it visible with a fence, and counts itself; the one that counts last knows that
    all others are stored.

    Versus: finish_atomic: the atomic counts finished blocks, where it added sums; the last block reads and adds them.

    Expect: one atomic a block as before; stores of the partial sums come back, and one block's loads of them.

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set.
        total: (1,) of the same type, set.
        done: (1,) uint32, 0 before, and 0 again afterwards.

    Source: CUDA C++ Programming Guide, memory fence functions.
    """
    of_warp = cuda.shared.array(32, data.dtype)
    is_last = cuda.shared.array(1, np.int32)
    value = block_sum(strided_sum(data), of_warp)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = value
        cuda.threadfence()
        before = cuda.atomic.inc(done, 0, cuda.gridDim.x - 1)
        is_last[0] = 1 if before == cuda.gridDim.x - 1 else 0
    cuda.syncthreads()
    if is_last[0] == 1:
        cuda.threadfence()
        value = data.dtype.type(0)
        i = cuda.threadIdx.x
        while i < partial.size:
            value += partial[i]
            i += cuda.blockDim.x
        value = block_sum(value, of_warp)
        if cuda.threadIdx.x == 0:
            total[0] = value


@FAMILY.kernel(
    by_grid_sync,
    against="finish_last_block",
    falls=("global_atomics",),
    stays=("global_store_requests",),
    produces=TOTAL,
)
@cuda.jit
def finish_grid_sync(data, partial, total):
    """All blocks meet at a barrier of the grid, then block 0 adds the partial sums.

    A cooperative launch: all blocks must be on the GPU at once, or none could go on.

    Versus: finish_last_block: a barrier of the whole grid stands where blocks counted themselves.

    Expect: no atomics of the kernel's own. (Those of the barrier itself, one a block, are inside the library that
        implements it; the source level does not count them.)

    Args:
        data: (n,) int32 or float32, any n.
        partial: (blocks,) of the same type, set.
        total: (1,) of the same type, set.
    """
    of_warp = cuda.shared.array(32, data.dtype)
    value = block_sum(strided_sum(data), of_warp)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = value
    cuda.cg.this_grid().sync()
    if cuda.blockIdx.x == 0:
        value = data.dtype.type(0)
        i = cuda.threadIdx.x
        while i < partial.size:
            value += partial[i]
            i += cuda.blockDim.x
        value = block_sum(value, of_warp)
        if cuda.threadIdx.x == 0:
            total[0] = value


FAMILY.cpp(
    "finish_second_launch",
    by_second_launch,
    against="cpp:grid_stride",
    rises=("global_load_requests", "barriers"),
    produces=TOTAL,
)
FAMILY.cpp(
    "finish_atomic",
    by_atomics,
    against="cpp:finish_second_launch",
    falls=("global_store_requests", "global_load_requests", "barriers"),
    rises=("global_atomics",),
    produces=TOTAL,
)
FAMILY.cpp(
    "finish_last_block",
    by_last_block,
    against="cpp:finish_atomic",
    rises=("global_store_requests", "global_load_requests", "barriers"),
    stays=("global_atomics",),
    produces=TOTAL,
)
FAMILY.cpp(
    "finish_grid_sync",
    by_grid_sync,
    against="cpp:finish_last_block",
    rises=("barriers",),
    stays=("global_store_requests",),
    produces=TOTAL,
)


# --- libraries: the bar to beat --------------------------------------------------------------------------------------


@FAMILY.host(by_library, produces=TOTAL, machines=("gpu",), needs=("cupy",))
def cupy_sum(data):
    """CuPy's sum, which calls NVIDIA's CUB: the bar to beat."""
    return data.sum()


@FAMILY.host(by_library, produces=TOTAL, machines=("gpu",), needs=("torch",))
def torch_sum(data):
    """PyTorch's sum of the same memory, which is not copied."""
    torch = importlib.import_module("torch")
    return torch.from_dlpack(data).sum()


# --- exercises -------------------------------------------------------------------------------------------------------

FAMILY.sweep = Sweep(plan_with_grid, ("grid_stride", "coarsened", "cpp:grid_stride", "cpp:vectorized_unrolled"))
