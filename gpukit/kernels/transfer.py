"""Transfers between host and GPU: pageable and pinned memory, end to end, overlapped copies, data that stays.

A GPU next to a slow road: its own memory moves terabytes a second, the bus to the host tens of gigabytes. So what
counts is the time from data on the host to the answer on the host, and how much of it is copying.

All rungs come to y = 2x + 1 for n float32. Those that only copy leave the arithmetic to what the answer is made of, on
the host, which shows that every byte arrived. They run on a GPU alone, and the host's clock times them, from the call
until the device is synchronized: their work is in several streams, or on the host itself. `bytes_moved` is what crosses
the bus, except for `kernel_alone`, where it is global memory.

Source: M. Harris, "How to Optimize Data Transfers in CUDA C/C++" and "How to Overlap Data Transfers in CUDA C/C++"
    (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpukit import cuda
from gpukit.devices import Device
from gpukit.inputs import ramp
from gpukit.registry import Array, Family, Launch, Plan, PlanOf, Problem

ON_GPU = ("gpu",)
STREAMS = 3  # one copies in, one computes, one copies out
CHUNKS = 12
WHOLE = 1 << 23  # 2x + 1 is exact in float32 for whole numbers below it
# Factor and summand of each kernel of a chain, which together come to 2x + 1; each step is exact.
CHAIN = ((2.0, 4.0), (0.5, 1.0), (2.0, -4.0), (1.0, -1.0))


def problem(n: int, kind: str, rng: np.random.Generator, device: Device) -> Problem:
    """`x` float32 (n,), whole numbers from 0 to 2^23 - 1 in turn; y = 2x + 1 is exact."""
    x = (ramp(n, device) % WHOLE).astype(np.float32)
    return Problem(n, kind, {"x": x}, 2 * device.to_host(x) + 1)


FAMILY = Family(
    __name__,
    problem,
    kinds=("whole numbers",),
    lengths=(1, 31, 1000, 10_007, (1 << 20) + 3),
    blocks=(256,),
    counters=("global_load_sectors", "global_store_sectors"),
    cpu_n=1 << 16,
    gpu_n=1 << 26,  # 256 MiB each way
)


# --- arrays and streams ----------------------------------------------------------------------------------------------


def pageable(x: np.ndarray) -> np.ndarray:
    """A copy in ordinary memory of the host, which the operating system may move: the driver copies it twice, by way of
    a pinned buffer of its own."""
    return x.copy()


def pinned(x: np.ndarray) -> np.ndarray:
    """A copy in page-locked memory of the host, which the copy engine of the GPU reads and writes by itself."""
    from cupyx import empty_pinned

    made: np.ndarray = empty_pinned(x.shape, x.dtype)
    made[...] = x
    return made


@dataclass(frozen=True)
class Buffers:
    """What the rungs work with: the host's input and output, the device's, and how to launch on a part of them."""

    device: Device
    x: np.ndarray  # on the host
    y: np.ndarray  # on the host
    device_x: Array
    device_y: Array
    block: int

    def stream(self) -> Any:
        """The stream that work goes to when nothing else is said."""
        return self.device.xp.cuda.get_current_stream()

    def copy_in(self, stream: Any, part: slice = slice(None)) -> None:
        """Start the copy of a part of x to the device; from pinned memory, the host goes on at once."""
        self.device_x[part].set(self.x[part], stream=stream)

    def copy_out(self, stream: Any, part: slice = slice(None)) -> None:
        """Start the copy of a part of y to the host; to pinned memory, the host goes on at once."""
        self.device_y[part].get(stream=stream, out=self.y[part], blocking=False)

    def launch(self, source: Array, target: Array, factor: float = 2.0, summand: float = 1.0) -> None:
        """target = factor * source + summand, in the current stream."""
        blocks = max(1, -(-target.size // self.block))
        self.device.launch(_launch(blocks, self.block, source, target, factor, summand))


def _launch(blocks: int, block: int, source: Array, target: Array, factor: float, summand: float) -> Launch:
    args = (source, target, np.float32(factor), np.float32(summand))
    return Launch(scaled, blocks, block, args)


def buffers_of(place: Callable[[np.ndarray], np.ndarray], problem: Problem, block: int, device: Device) -> Buffers:
    """Host arrays in pageable or pinned memory, and device arrays; the device's x is not the problem's."""
    x = device.xp.empty_like(problem.arrays["x"])
    host_x = place(device.to_host(problem.arrays["x"]))
    return Buffers(device, host_x, place(np.zeros_like(host_x)), x, device.xp.empty_like(x), block)


def to_device(place: Callable[[np.ndarray], np.ndarray]) -> PlanOf:
    """The plan of a copy to the device: the answer is made of what arrived there."""

    def plan(function: Any, problem: Problem, block: int, device: Device) -> Plan:
        buffers = buffers_of(place, problem, block, device)
        return Plan(
            answer=lambda: 2 * device.to_host(buffers.device_x) + 1,
            call=lambda: function(buffers),
            outputs=(buffers.device_x,),
            bytes_moved=buffers.x.nbytes,
            clock="host",
        )

    return plan


def to_host(place: Callable[[np.ndarray], np.ndarray]) -> PlanOf:
    """The plan of a copy to the host of a y that is x: the answer is made of what arrived."""

    def plan(function: Any, problem: Problem, block: int, device: Device) -> Plan:
        buffers = buffers_of(place, problem, block, device)
        buffers.device_y[...] = problem.arrays["x"]
        return Plan(
            answer=lambda: 2 * buffers.y + 1,
            call=lambda: function(buffers),
            outputs=(buffers.y,),
            bytes_moved=buffers.y.nbytes,
            clock="host",
        )

    return plan


def both_ways(place: Callable[[np.ndarray], np.ndarray], copies: int = 1, kernels: int = 1) -> PlanOf:
    """The plan of `copies` copies each way and some kernels: the answer is what is in the host's y."""

    def plan(function: Any, problem: Problem, block: int, device: Device) -> Plan:
        buffers = buffers_of(place, problem, block, device)
        return Plan(
            answer=lambda: buffers.y.copy(),
            call=lambda: function(buffers),
            outputs=(buffers.y, buffers.device_x, buffers.device_y),
            bytes_moved=copies * (buffers.x.nbytes + buffers.y.nbytes),
            flops=2 * kernels * problem.n,
            clock="host",
        )

    return plan


def stays_on_device(kernel: Any, problem: Problem, block: int, device: Device) -> Plan:
    """One launch on data that is there already."""
    x = problem.arrays["x"]
    y = device.xp.empty_like(x)
    return Plan(
        answer=lambda: device.to_host(y),
        launches=(_launch(max(1, -(-problem.n // block)), block, x, y, 2.0, 1.0),),
        outputs=(y,),
        bytes_moved=x.nbytes + y.nbytes,
        flops=2 * problem.n,
    )


# --- one way ---------------------------------------------------------------------------------------------------------


@FAMILY.host(to_device(pageable), machines=ON_GPU, produces="x on the GPU")
def to_gpu_pageable(buffers: Buffers) -> None:
    """Host to GPU, from ordinary memory: the driver copies each piece to a pinned buffer first.

    Expect: a fraction of what the bus can do, and a host that has to wait.
    """
    buffers.copy_in(buffers.stream())


@FAMILY.host(to_device(pinned), against="to_gpu_pageable", machines=ON_GPU, produces="x on the GPU")
def to_gpu_pinned(buffers: Buffers) -> None:
    """Host to GPU, from pinned memory: the GPU's copy engine fetches it.

    Versus: to_gpu_pageable: the host's array is page-locked, made once by cupyx.empty_pinned.
    Expect: near the bandwidth of the bus; the host is free while it runs.
    """
    buffers.copy_in(buffers.stream())


@FAMILY.host(to_host(pageable), machines=ON_GPU, produces="y on the host")
def to_host_pageable(buffers: Buffers) -> None:
    """GPU to host, into ordinary memory.

    Expect: as slow as the other way.
    """
    buffers.copy_out(buffers.stream())


@FAMILY.host(to_host(pinned), against="to_host_pageable", machines=ON_GPU, produces="y on the host")
def to_host_pinned(buffers: Buffers) -> None:
    """GPU to host, into pinned memory.

    Versus: to_host_pageable: the host's array is page-locked.
    Expect: near the bandwidth of the bus.
    """
    buffers.copy_out(buffers.stream())


# --- a kernel, and what it costs to get there ------------------------------------------------------------------------


@FAMILY.kernel(stays_on_device, machines=ON_GPU, produces="y on the GPU")
@cuda.jit
def scaled(x, y, factor, summand):
    """The kernel alone, on data that is on the GPU already.

    Expect: the bandwidth of global memory, many times that of the bus: what a benchmark shows that leaves the copies
        out.

    Args:
        x: float32 (n,). Not changed.
        y: float32 (n,), factor * x + summand.
        factor, summand: float32.
    """
    i = cuda.grid(1)
    if i < y.size:
        y[i] = factor * x[i] + summand


def _end_to_end(buffers: Buffers) -> None:
    """Copy in, kernel, copy out, one after the other in one stream."""
    buffers.copy_in(buffers.stream())
    buffers.launch(buffers.device_x, buffers.device_y)
    buffers.copy_out(buffers.stream())


@FAMILY.host(both_ways(pageable), against="scaled", machines=ON_GPU, produces="y on the host")
def end_to_end_pageable(buffers: Buffers) -> None:
    """From host to host: copy in, kernel, copy out, with ordinary memory.

    Versus: scaled: x comes from the host and y goes back.
    Expect: nearly all of the time goes into the two copies, however fast the kernel is.
    """
    _end_to_end(buffers)


@FAMILY.host(both_ways(pinned), against="end_to_end_pageable", machines=ON_GPU, produces="y on the host")
def end_to_end_pinned(buffers: Buffers) -> None:
    """From host to host, with pinned memory.

    Versus: end_to_end_pageable: both arrays of the host are page-locked.
    Expect: a few times faster; still the sum of copy in, kernel and copy out.
    """
    _end_to_end(buffers)


@FAMILY.host(both_ways(pinned), against="end_to_end_pinned", machines=ON_GPU, produces="y on the host")
def overlapped(buffers: Buffers) -> None:
    """Chunks in several streams: while one is copied in, one is computed and one is copied out.

    Versus: end_to_end_pinned: 12 chunks, dealt out to 3 streams. Each chunk's copy in, kernel and copy out are in one
        stream, so they keep their order; different streams do not wait for each other.
    Expect: near the time of one copy in place of two, since the bus carries both directions at once. Without pinned
        memory nothing would overlap.
    """
    made = [buffers.device.xp.cuda.Stream(non_blocking=True) for _ in range(STREAMS)]
    before = buffers.stream().record()
    for stream in made:
        stream.wait_event(before)  # such streams do not wait for the default one by themselves
    length = max(1, -(-len(buffers.x) // CHUNKS))
    for number, start in enumerate(range(0, len(buffers.x), length)):
        stream, part = made[number % STREAMS], slice(start, start + length)
        buffers.copy_in(stream, part)
        with stream:
            buffers.launch(buffers.device_x[part], buffers.device_y[part])
        buffers.copy_out(stream, part)
    for stream in made:
        stream.synchronize()


# --- several kernels in a row ----------------------------------------------------------------------------------------


@FAMILY.host(both_ways(pinned, copies=len(CHAIN), kernels=len(CHAIN)), machines=ON_GPU, produces="y on the host")
def round_trips(buffers: Buffers) -> None:
    """Four kernels in a row, and after each of them the data go to the host and back.

    Expect: four times the copies of one kernel: what a library call costs that takes and gives arrays of the host.
    """
    source = buffers.x
    for factor, summand in CHAIN:
        buffers.device_x.set(source, stream=buffers.stream())
        buffers.launch(buffers.device_x, buffers.device_y, factor, summand)
        buffers.copy_out(buffers.stream())
        buffers.stream().synchronize()  # the host has all before it goes back
        source = buffers.y


@FAMILY.host(both_ways(pinned, kernels=len(CHAIN)), against="round_trips", machines=ON_GPU, produces="y on the host")
def resident(buffers: Buffers) -> None:
    """Four kernels in a row on data that stay on the GPU: one copy in, one copy out.

    Versus: round_trips: the copies between the kernels are left out.
    Expect: hardly more than with one kernel, and near a fourth of the time of the round trips.
    """
    buffers.copy_in(buffers.stream())
    source, target = buffers.device_x, buffers.device_y
    for factor, summand in CHAIN:
        buffers.launch(source, target, factor, summand)
        source = target  # the rest works in place
    buffers.copy_out(buffers.stream())
