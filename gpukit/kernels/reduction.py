"""The first three steps of the reduction ladder: sums in place, in global memory, one partial sum per block.

A block of T threads handles 2T neighbouring elements of `data` and destroys them; `len(data)` is a multiple of 2T and
`partial` has one element per block.
"""

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.registry import Family, Launch, Plan, Problem


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n elements to sum: int32 ones, or float32 in [0, 1)."""
    data = np.ones(n, np.int32) if kind == "ones" else rng.random(n, dtype=np.float32)
    expected = np.asarray(data.sum(dtype=np.int64 if kind == "ones" else np.float64))
    return Problem(n, kind, {"data": device.xp.asarray(data)}, expected, 0.0 if kind == "ones" else 1e-5 * n)


FAMILY = Family(
    __name__,
    problem,
    kinds=("ones", "random"),
    lengths=(0, 1, 31, 32, 33, 511, 513, (1 << 20) + 3),
    blocks=(64, 128, 256, 512, 1024),
    counters=("divergent_branches", "global_load_requests", "global_load_sectors"),
)


def in_place(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """A block of T threads sums 2T elements of a copy of the data, padded with zeros."""
    xp, data = device.xp, problem.arrays["data"]
    blocks = max(1, -(-problem.n // (2 * block)))
    padded = xp.zeros(blocks * 2 * block, data.dtype)
    padded[: problem.n] = data
    scratch, partial = xp.empty_like(padded), xp.empty(blocks, data.dtype)
    return Plan(
        answer=lambda: device.to_host(partial).sum(dtype=np.float64),
        launches=(Launch(kernel, blocks, block, (scratch, partial)),),
        outputs=(partial,),
        restores=((scratch, padded),),
        bytes_moved=problem.n * data.dtype.itemsize,
        flops=problem.n,
    )


@FAMILY.kernel(in_place, produces="a partial sum per block")
@cuda.jit
def naive(data, partial):
    """Thread t owns element 2t; the threads whose number is a multiple of the stride add, so warps go half empty."""
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
    falls=("divergent_branches", "global_load_requests"),
    stays=("global_load_sectors",),
    produces="a partial sum per block",
)
@cuda.jit
def compact(data, partial):
    """The same additions by the lowest-numbered threads: full warps, addresses as far apart as before."""
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


@cuda.jit
def sequential(data, partial):
    """The stride halves instead: thread t adds to element t, so full warps touch neighbouring addresses."""
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
