"""An array of structures against a structure of arrays: one field of many points, and what moves along with it.

A point is four float32, x, y, z and w. Every rung copies the x of n points. In an array of structures the points lie
one after the other, 16 bytes each; in a structure of arrays all x come first, then all y, and so on.

Source: CUDA C++ Best Practices Guide, "Strided Accesses": a field of a structure is a strided access.
"""

from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import random_floats
from gpukit.registry import Family, Launch, Plan, Problem, launchable

FIELDS = 4


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """n points with fields in [0, 1), (n, 4) float32, one point after the other. A copy of a field is exact."""
    points = random_floats(n * FIELDS, rng, device).reshape(n, FIELDS)
    return Problem(n, kind, {"points": points}, device.to_host(points[:, 0]))


FAMILY = Family(
    __name__,
    problem,
    kinds=("random",),
    lengths=(0, 1, 31, 32, 33, 511, 513, (1 << 18) + 3),
    blocks=(32, 64, 128, 256, 512, 1024),
    counters=("load_sectors_per_request", "global_load_requests", "global_load_sectors", "load_efficiency"),
    cpu_n=1 << 18,
    gpu_n=1 << 27,
    size="points",
)
CLOSER: dict[str, Any] = {
    "falls": ("global_load_sectors", "load_sectors_per_request"),
    "stays": ("global_load_requests", "global_store_requests", "global_store_sectors", "branches"),
}


def of_structures(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """The points as they lie, (n, 4)."""
    return field_copied(kernel, problem, block, device, problem.arrays["points"])


def of_arrays(kernel, problem: Problem, block: int, device: Device) -> Plan:
    """A copy in which each field lies by itself, (4, n)."""
    return field_copied(kernel, problem, block, device, device.xp.ascontiguousarray(problem.arrays["points"].T))


def field_copied(kernel, problem: Problem, block: int, device: Device, points) -> Plan:
    """One launch, for which 4 bytes of each point must be read and 4 written."""
    x = device.xp.empty(problem.n, np.float32)
    made, args = launchable(kernel, (points, x), problem.n)
    launch = Launch(made, max(1, -(-problem.n // block)), block, args)
    return Plan(lambda: device.to_host(x), launches=(launch,), outputs=(x,), bytes_moved=2 * x.nbytes)


@FAMILY.kernel(of_structures, produces="the x of each point")
@cuda.jit
def array_of_structures(points, x):
    """Points one after the other: to read every x is to move every y, z and w too.

    Expect: 16 sectors per load request: a warp's 32 points take 512 bytes, and each sector holds the x of two. A
    quarter of the bytes moved is used.

    Args:
        points: (n, 4) float32, the fields x, y, z and w of each point.
        x: (n,) float32, written.
    """
    i = cuda.grid(1)
    if i < x.size:
        x[i] = points[i, 0]


@FAMILY.kernel(of_arrays, against="array_of_structures", produces="the x of each point", **CLOSER)
@cuda.jit
def structure_of_arrays(fields, x):
    """Each field in an array of its own: neighbouring lanes read neighbouring x.

    Versus: array_of_structures: the same points, field by field.

    Expect: 4 sectors per load request instead of 16, all of their bytes used. A kernel that needs all four fields of a
    point loses less to the first layout, as the sectors that one field brings hold the others.

    Args:
        fields: (4, n) float32, all x, all y, all z, all w.
        x: (n,) float32, written.
    """
    i = cuda.grid(1)
    if i < x.size:
        x[i] = fields[0, i]


FAMILY.cpp("array_of_structures", of_structures, produces="the x of each point")
FAMILY.cpp(
    "structure_of_arrays",
    of_arrays,
    against="cpp:array_of_structures",
    produces="the x of each point",
    **CLOSER,
)
