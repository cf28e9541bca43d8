"""Transfers without a GPU: on a stand-in for CuPy that does as late as it may what it is asked to do, in any order.

A GPU may run what is in different streams in any order. The stand-in queues everything, and when someone waits, it runs
the youngest stream first: what the code relies on without having asked for it comes out wrong.
"""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from gpukit import checking, devices, registry
from gpukit.kernels import transfer
from gpukit.registry import Launch, Rung

FAMILY = registry.find_family("transfer")
LENGTHS = (1, 31, 1000, 10_007)


class Stream:
    """A queue of work: (what is done, a callable or an Event to wait for)."""

    made: ClassVar[list[Stream]] = []
    current: ClassVar[list[Stream]] = []

    def __init__(self, non_blocking=False):
        self.non_blocking = non_blocking
        self.queue, self.log = [], []
        Stream.made.append(self)

    def put(self, what, work):
        self.queue.append(work)
        self.log.append(what)

    def record(self):
        return SimpleNamespace(stream=self, after=len(self.log))

    def wait_event(self, event):
        self.put("wait", event)

    def synchronize(self):
        self.run(len(self.log))

    def run(self, until):
        """Do everything up to this place in the log."""
        while len(self.log) - len(self.queue) < until:
            work = self.queue.pop(0)
            if callable(work):
                work()
            else:
                work.stream.run(work.after)

    @contextlib.contextmanager
    def _active(self):
        Stream.current.append(self)
        yield
        Stream.current.pop()

    def __enter__(self):
        self.entered = self._active()
        self.entered.__enter__()
        return self

    def __exit__(self, *error):
        return self.entered.__exit__(*error)


class Array(np.ndarray):
    """An array of the device: what is done to it is queued."""

    def set(self, host, stream=None):
        assert host.shape == self.shape and host.flags.c_contiguous and type(host) is np.ndarray
        stream.put("in", lambda: np.copyto(self.view(np.ndarray), host))

    def get(self, stream=None, out=None, blocking=True):
        assert out.shape == self.shape and not blocking
        stream.put("out", lambda: np.copyto(out, self.view(np.ndarray)))

    def __setitem__(self, key, value):
        part = self.view(np.ndarray)[key]
        Stream.current[-1].put("set", lambda: np.copyto(part, value))


class Gpu:
    """A device with the stand-in's arrays; kernels are computed by NumPy, when their stream gets to them."""

    name, sms = "gpu", 132

    def __init__(self):
        self.launched = []
        cuda = SimpleNamespace(Stream=Stream, get_current_stream=lambda: Stream.current[-1])
        self.xp = SimpleNamespace(
            cuda=cuda,
            arange=lambda n, dtype: np.arange(n, dtype=dtype).view(Array),
            empty_like=lambda x: np.full(x.shape, -7, x.dtype).view(Array),
        )

    def launch(self, launch: Launch):
        assert launch.kernel is transfer.scaled
        x, y, factor, summand = launch.args
        assert launch.grid * launch.block >= y.size
        self.launched.append(y.size)
        x, y = x.view(np.ndarray), y.view(np.ndarray)
        Stream.current[-1].put("kernel", lambda: np.copyto(y, factor * x + summand))

    def synchronize(self):
        for stream in reversed(Stream.made):
            stream.synchronize()

    def to_host(self, array):
        Stream.current[-1].synchronize()
        return np.array(array.view(np.ndarray))


@pytest.fixture
def gpu(monkeypatch):
    default = Stream()
    monkeypatch.setattr(Stream, "made", [default])
    monkeypatch.setattr(Stream, "current", [default])
    cupyx = ModuleType("cupyx")
    cupyx.empty_pinned = lambda shape, dtype: np.full(shape, -9, dtype)
    monkeypatch.setitem(sys.modules, "cupyx", cupyx)
    return Gpu()


def failure(rung, n, gpu):
    problem = FAMILY.problem(n, "whole numbers", np.random.default_rng(0), gpu)
    plan = rung.plan(problem, 256, gpu)
    return checking.compare(rung, problem, 256, checking.answer_of(plan, gpu))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("rung", FAMILY.rungs.values(), ids=FAMILY.rungs)
def test_every_rung_is_right_in_the_worst_order(rung, n, gpu):
    assert failure(rung, n, gpu) is None


def test_all_need_a_gpu():
    assert len(FAMILY.rungs) == 10
    assert {rung.machines for rung in FAMILY.rungs.values()} == {("gpu",)}


@pytest.mark.parametrize("rung", FAMILY.rungs.values(), ids=FAMILY.rungs)
def test_bytes_and_clock(rung, gpu):
    n = 1000
    problem = FAMILY.problem(n, "whole numbers", np.random.default_rng(0), gpu)
    plan = rung.plan(problem, 256, gpu)
    assert plan.clock == ("" if rung.name == "scaled" else "host")  # "": a kernel's own, which events time
    ways = {"to": 1, "scaled": 2, "end": 2, "overlapped": 2, "round": 8, "resident": 2}[rung.name.split("_")[0]]
    assert plan.bytes_moved == 4 * n * ways


def work_of(name, n, gpu):
    """What each stream but the default one was given, and the default one after the preparations."""
    problem = FAMILY.problem(n, "whole numbers", np.random.default_rng(0), gpu)
    plan = FAMILY.rungs[name].plan(problem, 256, gpu)
    before = len(Stream.made[0].log)
    plan.call()
    gpu.synchronize()
    return [Stream.made[0].log[before:], *(stream.log for stream in Stream.made[1:])]


def test_one_stream_from_end_to_end(gpu):
    assert work_of("end_to_end_pinned", 1000, gpu) == [["in", "kernel", "out"]]


def test_chunks_are_dealt_out_to_streams_that_keep_their_order(gpu):
    default, *streams = work_of("overlapped", 12_000, gpu)
    assert default == []
    assert streams == [["wait", *["in", "kernel", "out"] * 4]] * 3
    assert gpu.launched == [1000] * 12
    assert all(stream.non_blocking for stream in Stream.made[1:])


def test_round_trips_copy_four_times_what_stays_copies_once(gpu):
    assert work_of("round_trips", 1000, gpu) == [["in", "kernel", "out"] * 4]


def test_what_stays_copies_once(gpu):
    assert work_of("resident", 1000, gpu) == [["in", *["kernel"] * 4, "out"]]


def test_the_kernel_and_the_chain_on_the_cpu_machine():
    x = np.arange(1000, dtype=np.float32)
    y = x
    for factor, summand in transfer.CHAIN:
        source, y = y, np.zeros_like(x)
        launch = transfer._launch(4, 256, source, y, factor, summand)
        devices.device("cpu").launch(launch)
    assert (y == 2 * x + 1).all()


# --- what must fail --------------------------------------------------------------------------------------------------


def without_order(buffers):
    """Copies in, kernels and copies out in a stream each, and nothing that orders them."""
    into, compute, out = (buffers.device.xp.cuda.Stream(non_blocking=True) for _ in range(3))
    buffers.copy_in(into)
    with compute:
        buffers.launch(buffers.device_x, buffers.device_y)
    buffers.copy_out(out)


def without_waiting(buffers):
    """The host does not wait for what it reads."""
    buffers.copy_in(buffers.stream())
    buffers.launch(buffers.device_x, buffers.device_y)
    buffers.y[...] = buffers.device_y.view(np.ndarray)


def last_element_left_out(buffers):
    part = slice(0, len(buffers.x) - 1)
    buffers.copy_in(buffers.stream(), part)
    buffers.launch(buffers.device_x, buffers.device_y)
    buffers.copy_out(buffers.stream())


def before_what_was_there(buffers):
    """As `overlapped`, with a stream that does not wait for what was put into the default one before it."""
    stream = buffers.device.xp.cuda.Stream(non_blocking=True)
    buffers.copy_in(stream)
    with stream:
        buffers.launch(buffers.device_x, buffers.device_y)
    buffers.device.synchronize()
    buffers.copy_out(stream)


@pytest.mark.parametrize("function", [without_order, without_waiting, last_element_left_out, before_what_was_there])
def test_a_transfer_without_order_fails(function, gpu):
    plan = transfer.both_ways(transfer.pinned)
    rung = Rung("transfer", function.__name__, registry.HOST, lambda _, *rest: plan(function, *rest), "")
    assert failure(rung, 1000, gpu) is not None
