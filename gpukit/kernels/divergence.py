"""A branch per lane against the same branch per warp, and the same choice without a branch.

The elements are of two kinds that take turns in memory: one at an even place becomes 3x + 1, one at an odd place x / 2.
A warp whose lanes take both sides runs one after the other, with the lanes of the other side idle.

Source: CUDA C++ Best Practices Guide, "Branching and Divergence".
"""

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import ramp, random_integers
from gpukit.registry import Family, Launch, Plan, Problem, launchable

WARP = 32
LARGEST = 1 << 29  # so that 3x + 1 fits an int32


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n int32 from 0 up: a ramp, or random ones below 2^29. The answers are whole numbers too, so exact."""
    x = ramp(n, device) if kind == "ramp" else random_integers(n, LARGEST, rng, device)
    expected = device.to_host(x) // 2
    expected[::2] = 3 * device.to_host(x[::2]).astype(np.int64) + 1
    return Problem(n, kind, {"x": x}, expected)


FAMILY = Family(
    __name__,
    problem,
    kinds=("ramp", "random"),
    lengths=(0, 1, 31, 32, 33, 63, 65, 511, 513, (1 << 20) + 3),
    blocks=(64, 128, 256, 512, 1024),
    counters=("divergent_branches", "active_lanes_per_instruction", "warp_instructions", "global_store_requests"),
)


# --- how many kinds meet in a warp -----------------------------------------------------------------------------------


def order_of_kinds(kinds: int, per_warp: int) -> np.ndarray:
    """Where each lane's element lies, for elements of `kinds` kinds in turn and `per_warp` of them in each warp.

    The order repeats every 32 * kinds elements, 32 of each kind: entry p is the place of the element that lane p of
    these warps works on. With per_warp = kinds that is p itself; with 1, every warp has one kind.
    """
    p = np.arange(WARP * kinds)
    warp, lane = p // WARP, p % WARP
    kind = warp // per_warp * per_warp + lane % per_warp
    occurrence = warp % per_warp * (WARP // per_warp) + lane // per_warp
    return occurrence * kinds + kind


def regroup(array, order: np.ndarray, xp):
    """A copy of the array in that order, with zeros behind its end so that the order fits."""
    padded = xp.zeros(max(1, -(-array.size // order.size)) * order.size, array.dtype)
    padded[: array.size] = array
    return padded.reshape(-1, order.size)[:, xp.asarray(order)].reshape(-1)


def put_back(array, order: np.ndarray, n: int, xp):
    """The first n elements of a regrouped array, in the order they had."""
    return array.reshape(-1, order.size)[:, xp.asarray(np.argsort(order))].reshape(-1)[:n]


# --- two sides -------------------------------------------------------------------------------------------------------


def as_they_lie(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """A thread per element, even and odd ones in turn."""
    x = problem.arrays["x"]
    y = device.xp.empty_like(x)
    return two_sides(kernel, problem, block, x, y, lambda: device.to_host(y))


def in_warps(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """32 even elements, then 32 odd ones; the answer is put back in order."""
    xp, order = device.xp, order_of_kinds(2, per_warp=1)
    x = regroup(problem.arrays["x"], order, xp)
    y = xp.empty_like(x)
    return two_sides(kernel, problem, block, x, y, lambda: device.to_host(put_back(y, order, problem.n, xp)))


def two_sides(kernel, problem: Problem, block: int, x, y, answer) -> Plan:
    """One launch over x. Each element is read and written once: a multiplication and an addition, or a division."""
    made, args = launchable(kernel, (x, y), x.size)
    launch = Launch(made, max(1, -(-x.size // block)), block, args)
    nbytes = 2 * problem.n * x.dtype.itemsize
    return Plan(answer=answer, launches=(launch,), outputs=(y,), bytes_moved=nbytes, flops=problem.n * 3 // 2)


def by_numpy(function, problem: Problem, block: int, device: Device) -> Plan:
    """NumPy, on the host's copy of the elements."""
    x = device.to_host(problem.arrays["x"])
    y = np.empty_like(x)
    nbytes = 2 * x.nbytes
    return Plan(lambda: y.copy(), call=lambda: function(x, y), outputs=(y,), bytes_moved=nbytes, flops=x.size * 3 // 2)


@FAMILY.host(by_numpy, produces="an array")
def numpy_slices(x, y):
    """NumPy on the host: a slice for each side, so that nothing is left to choose.

    Args: x: (n,) int32, not negative. y: (n,) int32, written.
    """
    np.multiply(x[::2], 3, out=y[::2])
    y[::2] += 1
    np.floor_divide(x[1::2], 2, out=y[1::2])


@FAMILY.kernel(as_they_lie, produces="an array")
@cuda.jit
def by_lane(x, y):
    """y = 3x + 1 or x / 2, taken in turn by neighbouring lanes: every warp runs both sides, half empty.

    Expect: one divergent branch per warp, 8 per 256-thread block, and a store request for each side. The compiler moves
    the load in front of the branch, so that there is one; as written there is one for each side.

    Args:
        x: (n,) int32, not negative.
        y: (n,) int32, written.
    """
    i = cuda.grid(1)
    if i < x.size:
        if i % 2 == 0:
            y[i] = 3 * x[i] + 1
        else:
            y[i] = x[i] // 2


@FAMILY.kernel(
    in_warps,
    against="by_lane",
    falls=("divergent_branches", "global_load_requests", "global_store_requests", "warp_instructions"),
    rises=("active_lanes_per_instruction",),
    stays=("branches",),
    produces="an array, 32 elements of each side in turn",
)
@cuda.jit
def by_warp(x, y):
    """The same two sides, taken in turn by whole warps: every warp runs one side, full.

    Versus: by_lane: the elements are grouped, 32 even ones and then 32 odd ones, and whole warps take a side.

    Expect: divergent branches fall from 8 per 256-thread block to 0 and the lanes at work rise to 32 of 32, with the
    same number of branches. Stores fall to one request per warp. So do the loads as written; at the compiled level
    they were one before.

    Args:
        x: (m,) int32, not negative, grouped; m a multiple of 64.
        y: (m,) int32, written, grouped alike.
    """
    i = cuda.grid(1)
    if i < x.size:
        if i // 32 % 2 == 0:
            y[i] = 3 * x[i] + 1
        else:
            y[i] = x[i] // 2


@FAMILY.kernel(
    as_they_lie,
    against="by_lane",
    falls=("divergent_branches", "branches", "global_store_requests"),
    rises=("active_lanes_per_instruction",),
    produces="an array",
)
@cuda.jit
def selected(x, y):
    """Both sides for every lane, and a selection: no branch, so nothing diverges.

    Versus: by_lane: `cuda.selp` picks one of two values that every lane has computed; the elements lie as they did.

    Expect: divergent branches fall from 8 per 256-thread block to 0, and branches to the guard's. Lanes do work that is
    thrown away, a few instructions of it, which costs no more than the two short sides one after the other: a branch
    between short sides is cheap. Compilers make selections and predicated instructions of such branches by themselves,
    but a conditional expression (a if c else b) promises none: this one stays a branch that diverges.

    Args:
        x: (n,) int32, not negative.
        y: (n,) int32, written.
    """
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        y[i] = cuda.selp(i % 2 == 0, 3 * v + 1, v // 2)


FAMILY.cpp("by_lane", as_they_lie, produces="an array")
FAMILY.cpp(
    "by_warp",
    in_warps,
    against="cpp:by_lane",
    falls=("divergent_branches", "global_store_requests"),
    rises=("active_lanes_per_instruction",),
    stays=("branches", "global_load_requests"),
    produces="an array, 32 elements of each side in turn",
)
FAMILY.cpp(
    "selected",
    as_they_lie,
    against="cpp:by_lane",
    falls=("divergent_branches", "branches", "global_store_requests", "warp_instructions"),
    rises=("active_lanes_per_instruction",),
    stays=("global_load_requests",),
    produces="an array",
)
