"""From which size on a GPU is faster than the CPU beside it: c = a + b, a polynomial, and a sum to one number.

On a machine with an NVIDIA GPU, CuPy, numba-cuda and Numba, from the top of a checkout:

    PYTHONPATH=. python data/probes/crossover.py > data/results/h200_crossover.json

The GPU's time is taken three ways: `kernel_s`, the kernel alone between two events; `called_s`, by the host's clock
from the launch until the GPU has finished, with the data on the GPU already (`library_s`: the same with CuPy's kernel,
whose launch costs the host less); `end_to_end_*_s`, by the host's clock from arrays on the host to the result on the
host, in ordinary (pageable) and in pinned memory. The CPU's is NumPy's, and that of a loop compiled by Numba on all
cores, `cores_s`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import cupy
import numba
import numpy as np
from cupyx import empty_pinned

from gpukit import cuda, devices, gpu, registry
from gpukit.clocks import CpuClock, GpuClock
from gpukit.provenance import provenance
from gpukit.registry import Launch
from gpukit.timing import benchmark

SIZES = tuple(1 << k for k in range(8, 28, 2))
DEGREE = 128
BLOCK = 256
SUM_SIZE = 1 << 24  # int32: 64 MiB


@numba.njit(parallel=True)
def add_on_cores(a, b, c):
    for i in numba.prange(a.size):
        c[i] = a[i] + b[i]


@numba.njit(parallel=True)
def polynomial_on_cores(x, y, degree):
    for i in numba.prange(x.size):
        v = np.float32(1)
        for _ in range(degree):
            v = v * x[i] + np.float32(1)
        y[i] = v


@numba.njit
def sum_in_a_loop(x):
    total = np.int64(0)
    for i in range(x.size):
        total += x[i]
    return total


@cuda.jit
def polynomial(x, y, degree):
    """As in labs/01_execution/given.py."""
    i = cuda.grid(1)
    if i < x.size:
        at = x[i]
        v = x.dtype.type(1)
        for _ in range(degree):
            v = v * at + x.dtype.type(1)
        y[i] = v


def polynomial_by_numpy(x: np.ndarray, y: np.ndarray) -> None:
    y[...] = 1
    for _ in range(DEGREE):
        np.multiply(y, x, out=y)
        np.add(y, np.float32(1), out=y)


def host(call: Callable[[], Any]) -> float:
    """Seconds by the host's clock, the median."""
    return benchmark(call, clock=CpuClock(), max_seconds=1.5).median


def on_gpu(call: Callable[[], Any]) -> float:
    """Seconds between two events, the median."""
    return benchmark(call, clock=GpuClock(), max_seconds=1.5).median


def compared(
    device: Any, inputs: list[np.ndarray], by_numpy: Any, on_cores: Any, launch: Any, library: Any = None
) -> dict[str, Any]:
    """The times of one problem. by_numpy, on_cores and library write their last argument; launch gives a Launch."""
    out = np.empty_like(inputs[0])
    numpy_s, cores_s = host(lambda: by_numpy(*inputs, out)), host(lambda: on_cores(*inputs, out))
    there, result = [cupy.asarray(x) for x in inputs], cupy.empty_like(cupy.asarray(inputs[0]))
    made = launch(*there, result)

    def called() -> None:
        device.launch(made)
        device.synchronize()

    row = {
        "numpy_s": numpy_s,
        "cores_s": cores_s,
        "kernel_s": on_gpu(lambda: device.launch(made)),
        "called_s": host(called),
    }
    if library is not None:

        def library_called() -> None:
            library(*there, result)
            device.synchronize()

        row["library_s"] = host(library_called)
    for name, place in (("pageable", np.empty_like), ("pinned", lambda x: empty_pinned(x.shape, x.dtype))):
        here, back = [place(x) for x in inputs], place(out)
        for mine, x in zip(here, inputs, strict=True):
            mine[...] = x

        def end_to_end(here: list = here, back: np.ndarray = back) -> None:
            for mine, x in zip(here, there, strict=True):
                x.set(mine)
            device.launch(made)
            result.get(out=back, blocking=False)
            device.synchronize()

        row[f"end_to_end_{name}_s"] = host(end_to_end)
        assert np.allclose(back, out, rtol=1e-3), name
    return row


def sum_of_64_mib(device: Any) -> dict[str, Any]:
    """A sum to one number: the parts of the way there and back, and the CPU's times."""
    x = np.ones(SUM_SIZE, np.int32)
    family = registry.find_family("reduction")
    problem = family.problem(SUM_SIZE, "ones", np.random.default_rng(0), device)
    plan = family.rungs["finish_atomic"].plan(problem, family.block, device)
    there, one = cupy.empty(SUM_SIZE, np.int32), cupy.zeros(1, np.int64)
    pinned = empty_pinned(x.shape, x.dtype)
    pinned[...] = x

    def copy_in(source: np.ndarray) -> Callable[[], None]:
        def copy() -> None:
            there.set(source)
            device.synchronize()

        return copy

    return {
        "n": SUM_SIZE,
        "rung": "finish_atomic",
        "bytes": x.nbytes,
        "loop_s": host(lambda: sum_in_a_loop(x)),
        "numpy_s": host(lambda: x.sum(dtype=np.int64)),
        "copy_in_pageable_s": host(copy_in(x)),
        "copy_in_pinned_s": host(copy_in(pinned)),
        "kernel_s": on_gpu(lambda: devices.run(plan, device)),
        "copy_out_s": host(lambda: one.get()),
    }


def main() -> None:
    """What the text at the top says."""
    device = gpu.Gpu()
    rng = np.random.default_rng(0)
    add = registry.find_family("execution").rungs["vector_add"].kernel
    rows: dict[str, list[dict[str, Any]]] = {"add": [], "polynomial": []}
    for n in SIZES:
        blocks = -(-n // BLOCK)
        a, b = (rng.random(n, dtype=np.float32) for _ in range(2))
        times = compared(device, [a, b], np.add, add_on_cores, lambda *x, g=blocks: Launch(add, g, BLOCK, x), cupy.add)
        rows["add"].append({"n": n, **times})
        print(rows["add"][-1], file=sys.stderr)
        times = compared(
            device,
            [a],
            polynomial_by_numpy,
            lambda x, y: polynomial_on_cores(x, y, DEGREE),
            lambda *x, g=blocks: Launch(polynomial, g, BLOCK, (*x, np.int32(DEGREE))),
        )
        rows["polynomial"].append({"n": n, **times})
        print(rows["polynomial"][-1], file=sys.stderr)
    machine = provenance("python data/probes/crossover.py > h200_crossover.json", device)
    result = {
        "machine": machine,
        "dtype": "float32",
        "block": BLOCK,
        "degree": DEGREE,
        **rows,
        "sum": sum_of_64_mib(device),
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
