"""Loops of different length: a warp goes on for as long as its longest lane, so neighbours should do similar work.

Customers have 2, 5, 20, 100, 4, ... purchases, and each thread adds up one customer's. The amounts lie one customer
after the other, with the place where each begins in `offsets`, as the rows of a sparse matrix do in the CSR format.
Grouped by length, 0 to 8, 9 to 32 and 33 to 128, the lanes of a warp end at nearly the same time.

Source: CUDA C++ Best Practices Guide, "Branching and Divergence"; the grouping is that of sliced sparse formats.
"""

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.errors import GpukitError
from gpukit.inputs import random_floats, random_integers
from gpukit.registry import CppKernel, Family, Launch, Plan, Problem

FIRST = (2, 5, 20, 100, 4)
GROUPS = ((0, 8), (9, 32), (33, 128))  # purchases, both ends included
SHARES = (0.7, 0.2, 0.1)  # of the customers
DEAREST = 10_000  # cents


def lengths_of(n: int, rng: np.random.Generator) -> np.ndarray:
    """How many purchases each of n customers has: 2, 5, 20, 100, 4, then few for most and many for some."""
    group = rng.choice(len(GROUPS), n, p=SHARES)
    low, high = np.array(GROUPS).T
    lengths = rng.integers(low[group], high[group] + 1)
    lengths[: len(FIRST)] = FIRST[:n]
    return lengths


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n customers; amounts in int32 cents, whose totals are exact, or float32 in [0, 1).

    Raises GpukitError when there are more purchases than an int32 offset can reach.
    """
    lengths = lengths_of(n, rng)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    count = int(offsets[-1])
    if count >= 1 << 31:
        raise GpukitError(f"{n:,} customers have {count:,} purchases, more than int32 offsets reach: use a smaller n")
    cents = kind == "cents"
    amounts = random_integers(count, DEAREST, rng, device) if cents else random_floats(count, rng, device)
    running = np.zeros(count + 1, np.int64 if cents else np.float64)
    np.cumsum(device.to_host(amounts), dtype=running.dtype, out=running[1:])
    # k float32 below 1, added one after the other, are off by no more than k times half a unit in the last place of k.
    bound = 0.0 if cents else lengths * lengths * 2.0**-24
    arrays = {"offsets": device.xp.asarray(offsets.astype(np.int32)), "amounts": amounts}
    return Problem(n, kind, arrays, running[offsets[1:]] - running[offsets[:-1]], bound)


FAMILY = Family(
    __name__,
    problem,
    kinds=("cents", "random"),
    lengths=(0, 1, 5, 31, 32, 33, 511, 513, (1 << 18) + 3),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=("active_lanes_per_instruction", "warp_instructions", "global_load_requests", "global_load_sectors"),
    cpu_n=1 << 16,
    gpu_n=1 << 22,
    size="customers",
)


# --- the order of the customers --------------------------------------------------------------------------------------


def order_of_groups(offsets: np.ndarray) -> np.ndarray:
    """Customers, int32, those of the first group first; within a group in the order they had."""
    ends = [high for _, high in GROUPS]
    return np.argsort(np.searchsorted(ends, np.diff(offsets)), kind="stable").astype(np.int32)


def in_that_order(offsets: np.ndarray, amounts: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and amounts of the customers in another order, copied so that they lie one after the other again."""
    lengths = np.diff(offsets)[order]
    moved = np.concatenate(([0], np.cumsum(lengths)))
    source = np.repeat(offsets[:-1][order] - moved[:-1], lengths) + np.arange(moved[-1])
    return moved.astype(np.int32), amounts[source]


# --- plans -----------------------------------------------------------------------------------------------------------


def as_they_came(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """A thread per customer, in the order of the arrays."""
    return totalled(kernel, problem, block, device, problem.arrays["offsets"], problem.arrays["amounts"])


def by_group(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """The arrays as they are, and which customer each thread is to take."""
    offsets, amounts = problem.arrays["offsets"], problem.arrays["amounts"]
    order = device.xp.asarray(order_of_groups(device.to_host(offsets)))
    return totalled(kernel, problem, block, device, offsets, amounts, order)


def copied_by_group(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """The arrays copied in the order of the groups, and where each total belongs."""
    offsets, amounts = (device.to_host(problem.arrays[name]) for name in ("offsets", "amounts"))
    order = order_of_groups(offsets)
    arrays = [device.xp.asarray(array) for array in (*in_that_order(offsets, amounts, order), order)]
    return totalled(kernel, problem, block, device, *arrays)


def totalled(kernel, problem: Problem, block: int, device: Device, offsets, amounts, *order) -> Plan:
    """One launch: offsets, amounts and, where there is one, the order are read once, the totals written once."""
    totals = device.xp.empty(problem.n, amounts.dtype)
    args: tuple = (offsets, amounts, *order, totals)
    compiled = kernel
    if isinstance(kernel, CppKernel):
        compiled = kernel.compiled(f"-DELEMENT={'int' if amounts.dtype.kind == 'i' else 'float'}")
        args = (*args, np.int32(problem.n))
    return Plan(
        answer=lambda: device.to_host(totals),
        launches=(Launch(compiled, max(1, -(-problem.n // block)), block, args),),
        outputs=(totals,),
        bytes_moved=sum(array.nbytes for array in (offsets, amounts, *order, totals)),
        flops=amounts.size,
    )


def by_numpy(function, problem: Problem, block: int, device: Device) -> Plan:
    """NumPy, on the host's copy of the arrays."""
    offsets, amounts = (device.to_host(problem.arrays[name]) for name in ("offsets", "amounts"))
    amounts = np.concatenate((amounts, np.zeros(1, amounts.dtype)))  # so that every offset is inside
    totals = np.empty(problem.n, amounts.dtype)
    nbytes = offsets.nbytes + amounts.nbytes + totals.nbytes
    return Plan(
        answer=lambda: totals.copy(),
        call=lambda: function(offsets, amounts, totals),
        outputs=(totals,),
        bytes_moved=nbytes,
        flops=amounts.size,
    )


# --- rungs -----------------------------------------------------------------------------------------------------------


@FAMILY.host(by_numpy, produces="a total per customer")
def numpy_reduceat(offsets, amounts, totals):
    """NumPy on the host: a sum for each stretch of the amounts, on one thread of the CPU.

    Args: offsets: (customers + 1,) int32. amounts: (purchases + 1,) int32 cents or float32, the last one 0.
        totals: (customers,) of the same dtype, written.
    """
    if totals.size:
        np.add.reduceat(amounts, offsets[:-1], out=totals)
        totals[offsets[1:] == offsets[:-1]] = 0  # reduceat gives the next amount for a stretch of none


@FAMILY.kernel(as_they_came, produces="a total per customer")
@cuda.jit
def customer_per_thread(offsets, amounts, totals):
    """One customer per thread, as they came: the warp waits for the one with most purchases.

    Expect: about 5 of 32 lanes active. Nearly every warp has a customer of the longest group, 33 to 128 purchases, and
    goes on for 100 rounds, of which the average lane needs 15.

    Args:
        offsets: (customers + 1,) int32, where each customer's purchases begin.
        amounts: (purchases,) int32 cents or float32.
        totals: (customers,) of the same dtype, written.
    """
    customer = cuda.grid(1)
    if customer < totals.size:
        total = amounts.dtype.type(0)
        for k in range(offsets[customer], offsets[customer + 1]):
            total += amounts[k]
        totals[customer] = total


@FAMILY.kernel(
    by_group,
    against="customer_per_thread",
    falls=("warp_instructions", "divergent_branches"),
    rises=("active_lanes_per_instruction",),
    produces="a total per customer",
)
@cuda.jit
def grouped(offsets, amounts, order, totals):
    """Customers grouped by length: the lanes of a warp end at nearly the same time.

    Versus: customer_per_thread: thread t takes customer order[t], those with 0 to 8 purchases first, then 9 to 32, then
    33 to 128; the total goes where the customer is, so that results come back in order.

    Expect: about 20 of 32 lanes active instead of 5, and less than a third of the warp instructions: seven warps of ten
    are through after 8 rounds. Load sectors rise by a twentieth, since the neighbours of a group lie apart. At the
    compiled level it is 19 lanes, as the compiler unrolls the loop by four.

    Args:
        offsets: (customers + 1,) int32, where each customer's purchases begin.
        amounts: (purchases,) int32 cents or float32.
        order: (customers,) int32, a permutation.
        totals: (customers,) of the same dtype as the amounts, written.
    """
    t = cuda.grid(1)
    if t < totals.size:
        customer = order[t]
        total = amounts.dtype.type(0)
        for k in range(offsets[customer], offsets[customer + 1]):
            total += amounts[k]
        totals[customer] = total


@FAMILY.kernel(
    copied_by_group,
    against="grouped",
    falls=("global_load_sectors",),
    stays=("global_load_requests", "warp_instructions", "divergent_branches"),
    produces="a total per customer",
)
@cuda.jit
def grouped_copy(offsets, amounts, order, totals):
    """The purchases copied in the order of the groups: neighbouring lanes read neighbouring customers again.

    Versus: grouped: the order is applied to the arrays once, beforehand, and only the total is written through it.

    Expect: the same requests and, within 1 %, warp instructions, and fewer load sectors: offsets are read side by side,
    and short customers share sectors. It pays when the purchases are added up more than once, since copying them costs
    more than one sum does.

    Args:
        offsets: (customers + 1,) int32, where the purchases of the t-th customer in the order begin.
        amounts: (purchases,) int32 cents or float32, in the order.
        order: (customers,) int32, which customer the t-th is.
        totals: (customers,) of the same dtype as the amounts, written.
    """
    t = cuda.grid(1)
    if t < totals.size:
        total = amounts.dtype.type(0)
        for k in range(offsets[t], offsets[t + 1]):
            total += amounts[k]
        totals[order[t]] = total


FAMILY.cpp("customer_per_thread", as_they_came, produces="a total per customer")
FAMILY.cpp(
    "grouped",
    by_group,
    against="cpp:customer_per_thread",
    falls=("warp_instructions", "divergent_branches"),
    rises=("active_lanes_per_instruction",),
    produces="a total per customer",
)
