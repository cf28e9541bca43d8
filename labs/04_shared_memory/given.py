"""Kernels that this lab asks about, and one to repair. All of them give the right answer on the CPU machine.

Try one:

    gpukit profile labs/04_shared_memory/given.py:none_in_a_warp --grid 2 --block 64 -a int32[128]:arange -a int32[128]
"""

from gpukit import cuda

# --- 4.1: lanes that lie apart ---------------------------------------------------------------------------------------


@cuda.jit
def apart(x, y, stride):
    """y[t] = x[t stride], with x copied to shared memory first. One warp; the last line has the load that counts.

    x: (1056,) float32; y: (32,) float32; stride: int, up to 34.
    """
    tile = cuda.shared.array(1056, x.dtype)
    t = cuda.threadIdx.x
    for k in range(t, 1056, 32):
        tile[k] = x[k]
    cuda.syncthreads()
    y[t] = tile[t * stride]


# --- 4.2: where a barrier stands -------------------------------------------------------------------------------------
# Every kernel turns the elements of its block round: y[first + t] = x[first + last - t]. x, y: int32.


@cuda.jit
def after_the_store(x, y):
    """A barrier between the store and the load."""
    tile = cuda.shared.array(256, x.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    cuda.syncthreads()
    y[i] = tile[cuda.blockDim.x - 1 - t]


@cuda.jit
def in_half_of_block(x, y):
    """The threads of the lower half wait for the others, and the upper half for the lower, each in a branch."""
    tile = cuda.shared.array(256, x.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    if t < cuda.blockDim.x // 2:
        cuda.syncthreads()
        y[i] = tile[cuda.blockDim.x - 1 - t]
    else:
        cuda.syncthreads()
        y[i] = tile[cuda.blockDim.x - 1 - t]


@cuda.jit
def in_some_blocks(x, y):
    """Even blocks turn their elements round, the others copy them. Only even blocks have a barrier."""
    tile = cuda.shared.array(256, x.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if cuda.blockIdx.x % 2 == 0:
        tile[t] = x[i]
        cuda.syncthreads()
        y[i] = tile[cuda.blockDim.x - 1 - t]
    else:
        y[i] = x[i]


@cuda.jit
def in_a_common_loop(x, y):
    """Half the block's elements a turn; every thread makes two turns with two barriers each."""
    tile = cuda.shared.array(256, x.dtype)
    t, i, half = cuda.threadIdx.x, cuda.grid(1), cuda.blockDim.x // 2
    for turn in range(2):
        if t // half == turn:
            tile[t % half] = x[i]
        cuda.syncthreads()
        if t // half == 1 - turn:
            y[i] = tile[half - 1 - t % half]
        cuda.syncthreads()


@cuda.jit
def in_a_loop_of_its_own(x, y):
    """Thread t looks for its element from slot 0 on, and waits in every turn: t + 1 turns for the t-th from the end."""
    tile = cuda.shared.array(256, x.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    k = 0
    cuda.syncthreads()
    while k < cuda.blockDim.x - 1 - t:
        k += 1
        cuda.syncthreads()
    y[i] = tile[k]


@cuda.jit
def none_in_a_warp(x, y):
    """Only neighbours change places, lane 0 with lane 1 and so on: within a warp. There is no barrier at all."""
    tile = cuda.shared.array(256, x.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i]
    y[i] = tile[t ^ 1]


# --- 4.3: right by luck ----------------------------------------------------------------------------------------------


@cuda.jit
def generations(cells, out, rounds):
    """A row of cells in every block: in a round each becomes its left neighbour xor its right one. The ends stay.

    All cells change at once. This kernel is right on the CPU machine, which runs the threads of a block in step, and
    nowhere else must it be: look at what its profile says.

    cells, out: (blocks x threads,) uint8, 0 or 1; rounds: int. Blocks of up to 256 threads.
    """
    tile = cuda.shared.array(256, cells.dtype)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = cells[i]
    for _ in range(rounds):
        if 0 < t < cuda.blockDim.x - 1:
            tile[t] = tile[t - 1] ^ tile[t + 1]
    out[i] = tile[t]
