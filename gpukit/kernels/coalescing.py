"""The same number of loads, at addresses that lie closer together or further apart: sectors per request.

Every rung copies n elements of 4 bytes into y. A warp's load is one request, and memory answers it in sectors of 32
bytes: 4 where the lanes read 32 neighbours, up to 32 where every lane reads somewhere else. The source of each rung
holds the same elements, laid out so that the rung's addresses find them.

Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory", with its misaligned and strided copies.
"""

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import ramp, random_floats
from gpukit.registry import CppKernel, Family, Launch, Plan, Problem


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n elements to copy: an int32 ramp, no two of them equal, or float32 in [0, 1); and a random permutation.

    A copy is exact. `shuffle` (int32) says where the elements of `shuffled` are: x = shuffled[shuffle].
    """
    x = ramp(n, device) if kind == "ramp" else random_floats(n, rng, device)
    shuffle = device.xp.asarray(rng.permutation(np.arange(n, dtype=np.int32)))
    return Problem(n, kind, {"x": x, "shuffle": shuffle}, device.to_host(x))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ramp", "random"),
    lengths=(0, 1, 31, 32, 33, 511, 513, (1 << 18) + 3),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=("load_sectors_per_request", "global_load_requests", "global_load_sectors", "load_efficiency"),
    cpu_n=1 << 18,
    gpu_n=1 << 25,  # 128 MiB, and 33 times as much for the widest stride
)
STAYS = ("global_load_requests", "global_store_requests", "global_store_sectors", "branches")


# --- plans -----------------------------------------------------------------------------------------------------------


def copied(problem: Problem, block: int, device: Device, kernel, source, *between, counted: int = 2) -> Plan:
    """One launch that copies from `source`; what stands between it and y are the kernel's other arguments.

    `counted` arrays of n elements must move at least.
    """
    xp = device.xp
    y = xp.empty(problem.n, problem.arrays["x"].dtype)
    compiled, args = kernel, (source, *between, y)
    if isinstance(kernel, CppKernel):  # a C++ kernel copies any 4 bytes as a float
        compiled, args = kernel.compiled(), (source.view(np.float32), *between, y.view(np.float32), np.int32(y.size))
    return Plan(
        answer=lambda: device.to_host(y),
        launches=(Launch(compiled, max(1, -(-problem.n // block)), block, args),),
        outputs=(y,),
        bytes_moved=counted * y.nbytes,
    )


def side_by_side(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """The elements as they lie."""
    return copied(problem, block, device, kernel, problem.arrays["x"])


def behind(offset: int):
    """The plan in which `offset` other elements lie before the first."""

    def plan(kernel, problem: Problem, block: int, device: Device) -> Plan:
        x = problem.arrays["x"]
        source = device.xp.zeros(problem.n + offset, x.dtype)
        source[offset:] = x
        return copied(problem, block, device, kernel, source, np.int32(offset))

    return plan


def backwards(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """The elements in reversed order."""
    return copied(problem, block, device, kernel, device.xp.ascontiguousarray(problem.arrays["x"][::-1]))


def apart(stride: int):
    """The plan in which the elements lie `stride` apart, with zeros between them."""

    def plan(kernel, problem: Problem, block: int, device: Device) -> Plan:
        x = problem.arrays["x"]
        source = device.xp.zeros(problem.n * stride, x.dtype)
        source[::stride] = x
        return copied(problem, block, device, kernel, source, np.int32(stride))

    return plan


def anywhere(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """The elements shuffled, and where each is."""
    x, shuffle = problem.arrays["x"], problem.arrays["shuffle"]
    source = device.xp.empty_like(x)
    source[shuffle] = x
    return copied(problem, block, device, kernel, source, shuffle, counted=3)


def by_cupy(function, problem: Problem, block: int, device: Device) -> Plan:
    """CuPy, on the GPU's arrays."""
    x = problem.arrays["x"]
    y = device.xp.empty_like(x)
    return Plan(lambda: device.to_host(y), call=lambda: function(x, y), outputs=(y,), bytes_moved=2 * x.nbytes)


# --- rungs -----------------------------------------------------------------------------------------------------------


@FAMILY.host(by_cupy, machines=("gpu",), needs=("cupy",), produces="a copy")
def cupy_copy(x, y):
    """CuPy's copy within the GPU's memory: the bar to beat.

    Args: x: (n,) int32 or float32, on the GPU. y: (n,) of the same dtype, written.
    """
    y[...] = x


@FAMILY.kernel(side_by_side, produces="a copy")
@cuda.jit
def contiguous(x, y):
    """y[i] = x[i]: a warp reads 32 neighbours, and every byte that moves is used.

    Expect: 4 sectors per load request: 32 lanes x 4 bytes = 128 bytes = 4 sectors of 32.

    Args:
        x: (n,) int32 or float32.
        y: (n,) of the same dtype, written.
    """
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i]


@cuda.jit
def shifted(x, offset, y):
    """y[i] = x[i + offset]: whether a warp begins where a sector does is up to the offset.

    Args:
        x: (n + offset,) int32 or float32.
        offset: int32, elements.
        y: (n,) of the same dtype, written.
    """
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i + offset]


FAMILY.kernel(
    behind(1),
    name="misaligned",
    document="""y[i] = x[i + 1]: the 128 bytes of a warp begin inside a sector and touch a fifth.

    Versus: contiguous: the elements begin one element, 4 bytes, into the array.

    Expect: 5 sectors per load request instead of 4. The fifth of a warp is the first of the next one, so the caches of
    a GPU can keep most of the extra ones from its memory.

    Args: x: (n + 1,) int32 or float32. offset: 1, int32. y: (n,) of the same dtype, written.
    """,
    against="contiguous",
    rises=("global_load_sectors", "load_sectors_per_request"),
    stays=STAYS,
    produces="a copy",
)(shifted)

FAMILY.kernel(
    behind(8),
    name="shifted_by_a_sector",
    document="""y[i] = x[i + 8]: eight elements are 32 bytes, so a warp begins where a sector does.

    Versus: misaligned: an offset of 8 elements instead of 1.

    Expect: 4 sectors per load request again instead of 5.

    Args: x: (n + 8,) int32 or float32. offset: 8, int32. y: (n,) of the same dtype, written.
    """,
    against="misaligned",
    falls=("global_load_sectors", "load_sectors_per_request"),
    stays=STAYS,
    produces="a copy",
)(shifted)


@FAMILY.kernel(
    backwards,
    against="contiguous",
    stays=(*STAYS, "global_load_sectors", "load_sectors_per_request"),
    produces="a copy",
)
@cuda.jit
def backward(x, y):
    """y[i] = x[n - 1 - i]: the lanes of a warp in reversed order touch the same sectors.

    Versus: contiguous: the elements lie in reversed order and are read from the end.

    Expect: 4 sectors per load request, as before, because it does not matter which lane takes which word of a sector.
    That holds for n a multiple of 8; for others a warp begins inside a sector, and they are 5.

    Args:
        x: (n,) int32 or float32.
        y: (n,) of the same dtype, written.
    """
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[x.size - 1 - i]


@cuda.jit
def strided(x, y, stride):
    """y[i] = x[i * stride], wrapping around; the lanes of a warp are `stride` elements apart.

    Any stride fits into an array of any size, so one array shows them all. The division behind the remainder takes more
    instructions than the copy: what is timed is `every_nth`.

    Args:
        x: (m,) int32 or float32.
        y: (n,) of the same dtype, written.
        stride: int, elements.
    """
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i * stride % x.size]


@cuda.jit
def every_nth(x, stride, y):
    """y[i] = x[i * stride]: the lanes of a warp are `stride` elements apart.

    Args:
        x: (n * stride,) int32 or float32.
        stride: int32, elements.
        y: (n,) of the same dtype, written.
    """
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i * stride]


# Stride -> sectors per load request, and why.
STRIDES = {
    2: (8, "the 32 words lie in 256 bytes, and of each sector every other word is used"),
    3: (12, "the 32 words lie in 384 bytes, and of each sector every third word is used"),
    8: (32, "8 elements are 32 bytes, so each lane has a sector of its own: 4 bytes of every 32 are used"),
    32: (32, "each lane has a sector of its own as before, they only lie further apart"),
    33: (32, "an odd stride helps with the banks of shared memory, not with sectors"),
}


def about_stride(stride: int, before: int) -> str:
    """The documentation of a strided rung; `before` is the stride that it is compared with."""
    (sectors, why), was = STRIDES[stride], STRIDES.get(before, (4, ""))[0]
    instead = f"instead of {was}" if sectors != was else "as before"
    return f"""y[i] = x[{stride} i]: one field of records of {4 * stride} bytes, {sectors} sectors for 128 bytes.

    Versus: {rung_of_stride(before)}: the elements lie {stride} apart{f", not {before}" if before > 1 else ""}.

    Expect: {sectors} sectors per load request {instead}: {why}. Requests stay.

    Args: x: (n * {stride},) int32 or float32. stride: {stride}, int32. y: (n,) of the same dtype, written.
    """


def rung_of_stride(stride: int) -> str:
    return f"stride_{stride}" if stride > 1 else "contiguous"


for _before, _stride in zip((1, *STRIDES), STRIDES, strict=False):
    _moves = ("global_load_sectors", "load_sectors_per_request")
    _rises = _stride <= 8  # from there on every lane has a sector of its own
    FAMILY.kernel(
        apart(_stride),
        name=rung_of_stride(_stride),
        document=about_stride(_stride, _before),
        against=rung_of_stride(_before),
        rises=_moves if _rises else (),
        stays=STAYS if _rises else (*STAYS, *_moves),
        produces="a copy",
    )(every_nth)


@FAMILY.kernel(
    anywhere,
    against="contiguous",
    rises=("global_load_sectors", "load_sectors_per_request", "global_load_requests"),
    stays=("global_store_requests", "global_store_sectors", "branches"),
    produces="a copy",
)
@cuda.jit
def gather(x, index, y):
    """y[i] = x[index[i]]: where the lanes of a warp read is up to the data.

    Versus: contiguous: the elements lie in random order, and an array says where.

    Expect: a second load request per warp, for the index, of 4 sectors, and close to 32 for x[index[i]], since two of
    32 lanes hardly ever meet in one sector of a large array: 18 per request on average.

    Args:
        x: (n,) int32 or float32.
        index: (n,) int32, 0 to n - 1.
        y: (n,) of the same dtype as x, written.
    """
    i = cuda.grid(1)
    if i < y.size:
        k = index[i]
        y[i] = x[k]


FAMILY.cpp("contiguous", side_by_side, produces="a copy")
FAMILY.cpp(
    "every_nth",
    apart(8),
    against="cpp:contiguous",
    rises=("global_load_sectors", "load_sectors_per_request"),
    stays=STAYS,
    produces="a copy",
)
FAMILY.cpp(
    "gather",
    anywhere,
    against="cpp:contiguous",
    rises=("global_load_sectors", "load_sectors_per_request", "global_load_requests"),
    stays=("global_store_requests", "global_store_sectors", "branches"),
    produces="a copy",
)
