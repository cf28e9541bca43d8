"""A k-way branch: what a warp pays for every kind of work that meets in it, k = 1, 2, 4, 8 and 32.

Elements are of 32 kinds that take turns in memory, and each kind has an operation of its own that is repeated ROUNDS
times. All rungs launch the same kernel on the same elements. They differ in the order: how many kinds lie in a warp.

Source: CUDA C++ Best Practices Guide, "Branching and Divergence".
"""

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import ramp, random_integers
from gpukit.kernels.divergence import order_of_kinds, put_back, regroup
from gpukit.registry import Family, Launch, Plan, Problem, launchable

KINDS = 32
ROUNDS = 64  # so that the sides cost more than the branch


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n int32, a ramp or random, element i of kind i % 32. The operations wrap round at 2^32, so answers are exact."""
    xp = device.xp
    x = ramp(n, device) if kind == "ramp" else random_integers(n, 1 << 30, rng, device)
    of = xp.arange(n, dtype=np.int32) % KINDS
    factor, term = (2 * of + 3).astype(np.uint32), of.astype(np.uint32)
    value = x.astype(np.uint32)
    for _ in range(ROUNDS):
        value *= factor
        value += term
    return Problem(n, kind, {"x": x, "kind": of}, device.to_host(value.view(np.int32)))


FAMILY = Family(
    __name__,
    problem,
    kinds=("ramp", "random"),
    lengths=(0, 1, 31, 32, 33, 513, 1023, 1025, (1 << 20) + 3),
    blocks=(64, 128, 256, 512, 1024),
    counters=("divergent_branches", "active_lanes_per_instruction", "warp_instructions"),
    cpu_n=1 << 16,
    gpu_n=1 << 26,
)


def kinds_in_a_warp(per_warp: int):
    """The plan in which each warp has elements of `per_warp` kinds; the answer is put back in order."""
    order = order_of_kinds(KINDS, per_warp)

    def plan(kernel, problem: Problem, block: int, device: Device) -> Plan:
        xp = device.xp
        x, kind = (regroup(problem.arrays[name], order, xp) for name in ("x", "kind"))
        y = xp.empty_like(x)
        made, args = launchable(kernel, (x, kind, y, np.int32(ROUNDS)), x.size)
        return Plan(
            answer=lambda: device.to_host(put_back(y, order, problem.n, xp)),
            launches=(Launch(made, -(-x.size // block), block, args),),
            outputs=(y,),
            bytes_moved=3 * problem.n * x.dtype.itemsize,
            flops=2 * ROUNDS * problem.n,
        )

    return plan


@FAMILY.kernel(kinds_in_a_warp(32), name="kinds_32", produces="an array, in the elements' order")
@cuda.jit
def one_of_32(x, kind, y, rounds):
    """32 kinds in each warp, as they lie: one lane works while the others wait.

    Expect: the cases run one after the other, each for one lane: fewer than 2 of 32 lanes are active on average, and a
    warp has 32 divergent branches, one at the test of each case.

    Args:
        x: (m,) int32; m a multiple of 1,024.
        kind: (m,) int32, 0 to 31, what is to be done with each element.
        y: (m,) int32, written: x after `rounds` times v = v * (2 kind + 3) + kind, modulo 2^32.
        rounds: int32.
    """
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        mine = kind[i]
        for case in range(32):
            if mine == case:
                for _ in range(rounds):
                    v = v * (2 * case + 3) + case
        y[i] = v


def document(per_warp: int, before: int, effect: str) -> str:
    """What a rung says that differs from the one before in its order."""
    figure = f"{per_warp} of its 32 cases" if per_warp > 1 else "one of its 32 cases"
    return f"""{effect}

    Versus: kinds_{before}: the elements are grouped so that {per_warp} of the 32 kinds lie in each warp, not {before}.

    Expect: a warp runs {figure}, for {32 // per_warp} lanes each: warp instructions fall and the lanes at work rise.
    Divergent branches fall from {before} to {per_warp if per_warp > 1 else 0} a warp. Loads and branches are the same.

    Args: as kinds_32, grouped.
    """


EFFECTS = {
    8: "8 kinds in each warp: four lanes work at a time.",
    4: "4 kinds in each warp: eight lanes work at a time.",
    2: "2 kinds in each warp: the two sides of an if, half of the lanes for each.",
    1: "1 kind in each warp: all lanes take the same branch, whatever the other warps do.",
}
for _before, _per_warp in zip((32, 8, 4, 2), EFFECTS, strict=True):
    FAMILY.kernel(
        kinds_in_a_warp(_per_warp),
        name=f"kinds_{_per_warp}",
        document=document(_per_warp, _before, EFFECTS[_per_warp]),
        against=f"kinds_{_before}",
        falls=("divergent_branches", "warp_instructions"),
        rises=("active_lanes_per_instruction",),
        stays=("branches", "global_load_requests", "global_load_sectors", "global_store_requests"),
        produces="an array, in the order of the groups",
    )(one_of_32)

FAMILY.cpp("kinds_32", kinds_in_a_warp(32), kernel="one_of_32", produces="an array, in the elements' order")
FAMILY.cpp(
    "kinds_1",
    kinds_in_a_warp(1),
    kernel="one_of_32",
    document=document(1, 32, EFFECTS[1]),
    against="cpp:kinds_32",
    falls=("divergent_branches", "warp_instructions"),
    rises=("active_lanes_per_instruction",),
    stays=("branches", "global_load_requests", "global_load_sectors", "global_store_requests"),
    produces="an array, in the order of the groups",
)
