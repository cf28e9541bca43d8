"""The first three steps of the reduction ladder: sums in place, in global memory, one partial sum per block.

A block of T threads handles 2T neighbouring elements of `data` and destroys them; `len(data)` is a multiple of 2T and
`partial` has one element per block.
"""

from gpukit import cuda


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
