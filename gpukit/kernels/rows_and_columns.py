"""Rows against columns of a 2-D array: the index that lanes run along, and the one that lies side by side in memory.

Every rung copies an n x n matrix with one thread per element, in blocks of 32 x (threads / 32). A warp is 32 threads
with neighbouring x, whatever the kernel makes of x.

Source: CUDA C++ Best Practices Guide, "Strided Accesses".
"""

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.inputs import ramp, random_floats
from gpukit.registry import CppKernel, Family, Launch, Plan, Problem

WARP = 32
LARGEST = 46_340  # rows, so that the number of elements fits an int32


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """An (n, n) matrix, row by row in memory: an int32 ramp, or float32 in [0, 1). A copy is exact.

    Raises GpukitError for a matrix whose elements an int32 cannot count.
    """
    if n > LARGEST:
        raise GpukitError(f"a matrix of {n:,} rows has more elements than an int32 counts: use at most {LARGEST:,}")
    a = ramp(n * n, device) if kind == "ramp" else random_floats(n * n, rng, device)
    a = a.reshape(n, n)
    return Problem(n, kind, {"a": a}, device.to_host(a))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ramp", "random"),
    lengths=(0, 1, 31, 32, 33, 63, 65, 100),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=(
        *("load_sectors_per_request", "store_sectors_per_request", "global_load_requests", "global_load_sectors"),
        "load_efficiency",
    ),
    cpu_n=512,
    gpu_n=16384,  # 1 GiB
    size="rows of a square matrix",
)
STAYS = ("global_load_requests", "global_store_requests")
SECTORS = ("global_load_sectors", "global_store_sectors", "load_sectors_per_request", "store_sectors_per_request")


def row_by_row(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """Both matrices row by row in memory, the order of C."""
    a = problem.arrays["a"]
    return copied(kernel, problem, block, device, a, device.xp.empty_like(a))


def column_by_column(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """Both matrices column by column in memory, the order of Fortran."""
    a = device.xp.asfortranarray(problem.arrays["a"])
    return copied(kernel, problem, block, device, a, device.xp.empty(a.shape, a.dtype, order="F"))


def copied(kernel, problem: Problem, block: int, device: Device, a, b) -> Plan:
    """One launch, a thread per element."""
    args: tuple = (a, b)
    compiled = kernel
    if isinstance(kernel, CppKernel):  # a C++ kernel copies any 4 bytes as a float
        compiled, args = kernel.compiled(), (a.view(np.float32), b.view(np.float32), np.int32(problem.n))
    grid = max(1, -(-problem.n // WARP)), max(1, -(-problem.n // (block // WARP)))
    launch = Launch(compiled, grid, (WARP, block // WARP), args)
    return Plan(lambda: device.to_host(b), launches=(launch,), outputs=(b,), bytes_moved=2 * a.nbytes)


@FAMILY.kernel(row_by_row, produces="a copy")
@cuda.jit
def along_rows(a, b):
    """Lanes along a row, which lies side by side in memory: x is the column.

    Expect: 4 sectors per load and store request, for n a multiple of 8.

    Args:
        a: (n, n) int32 or float32, row by row in memory.
        b: (n, n) of the same dtype and order, written.
    """
    column, row = cuda.grid(2)
    if row < b.shape[0] and column < b.shape[1]:
        b[row, column] = a[row, column]


@FAMILY.kernel(row_by_row, against="along_rows", rises=SECTORS, stays=STAYS, produces="a copy")
@cuda.jit
def down_columns(a, b):
    """Lanes down a column: neighbours are a whole row apart, and each has a sector of its own.

    Versus: along_rows: x is the row, as `row, column = cuda.grid(2)` makes it: it reads well, and it is a mistake.

    Expect: 32 sectors per load and store request instead of 4. Requests stay.

    Args:
        a: (n, n) int32 or float32, row by row in memory.
        b: (n, n) of the same dtype and order, written.
    """
    row, column = cuda.grid(2)
    if row < b.shape[0] and column < b.shape[1]:
        b[row, column] = a[row, column]


FAMILY.kernel(
    column_by_column,
    name="down_columns_in_order",
    document="""The same kernel on matrices that lie column by column: lanes and memory agree again.

    Versus: down_columns: the order of Fortran (`order="F"`) instead of C's.

    Expect: 4 sectors per load and store request instead of 32: neither rows nor columns are the right ones, only those
    that lie side by side. Requests stay.

    Args: a, b: (n, n), as in down_columns, column by column in memory.
    """,
    against="down_columns",
    falls=SECTORS,
    stays=STAYS,
    produces="a copy",
)(down_columns)

FAMILY.cpp("along_rows", row_by_row, produces="a copy")
FAMILY.cpp("down_columns", row_by_row, against="cpp:along_rows", rises=SECTORS, stays=STAYS, produces="a copy")
