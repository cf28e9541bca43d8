"""Timing: a scripted GPU says in which order things must happen; real sleeps and real arrays on the CPU; and the two
kernels of the GPU part run on the CPU machine."""

import doctest
import itertools
import json
import math
import subprocess
import sys
import time
import types
from types import SimpleNamespace

import numpy as np
import pytest

import gpukit
from gpukit import clocks, timing
from gpukit.clocks import CpuClock, GpuClock
from gpukit.compilers import toolkit
from gpukit.devices import CpuMachine
from gpukit.errors import GpukitError, InternalError
from gpukit.timing import Timing, benchmark, copy_ceiling, in_units, needed_repeats, read_ceiling

nvrtc = pytest.mark.skipif(bool(toolkit.why_no_nvrtc()), reason=toolkit.why_no_nvrtc() or "NVRTC is there")


class FakeGpu:
    """A GPU whose times are scripted; `log` is what was asked of it, in order.

    The host's clock stands still but in a call, which takes `host`; the GPU's times are `script`, over and over.
    """

    machine = "gpu"
    resolution_seconds = 0.5e-6

    def __init__(self, script=(1e-3,), host=70e-6, peak_gb_s=None):
        self.peak_gb_s = peak_gb_s
        self.script = itertools.cycle(script)
        self.host = host
        self.log = []
        self.now = 0.0
        self.held = []

    def call(self, *args):
        self.log.append("call")
        self.now += self.host
        return args

    def restore(self):
        self.log.append("restore")

    def flush(self):
        self.log.append("flush")
        return True

    def hold(self, seconds):
        self.log.append("hold")
        self.held.append(seconds)
        return True

    def record(self):
        self.log.append("record")
        return len(self.log)

    def synchronize(self):
        self.log.append("synchronize")

    def elapsed(self, start, stop):
        assert set(self.log[start : stop - 1]) <= {"call"}  # nothing else between the two events
        seconds = next(self.script)
        self.now += seconds
        return seconds

    def host_seconds(self):
        return self.now


def measure(gpu, **options):
    return benchmark(gpu.call, clock=gpu, **options)


# --- the order of things ---------------------------------------------------------------------------------------------


def test_every_repeat_restores_flushes_holds_and_waits_once():
    gpu = FakeGpu()
    measure(gpu, warmup=0, repeats=2, restore=gpu.restore, flush_l2=True)
    assert gpu.log == ["restore", "flush", "hold", "record", "call", "record", "synchronize"] * 2


def test_warm_up_restores_and_is_not_timed():
    gpu = FakeGpu()
    result = measure(gpu, warmup=2, repeats=1, restore=gpu.restore)
    warm = ["restore", "synchronize", "call", "synchronize"] * 2
    assert gpu.log == [*warm, "restore", "hold", "record", "call", "record", "synchronize"]
    assert result.n == 1


def test_no_flush_where_none_is_asked_for():
    gpu = FakeGpu()
    measure(gpu, repeats=3)
    assert "flush" not in gpu.log and "restore" not in gpu.log


def test_the_seconds_are_those_of_the_events_and_the_hosts_stand_beside():
    gpu = FakeGpu(script=(1e-3, 3e-3, 2e-3, 4e-3, 5e-3), host=70e-6)
    result = measure(gpu, repeats=5)
    assert result.seconds == (1e-3, 3e-3, 2e-3, 4e-3, 5e-3)
    assert result.median == 3e-3 and result.minimum == 1e-3
    assert result.host_seconds == pytest.approx(70e-6)
    assert result.machine == "gpu"


def test_arguments_are_passed():
    seen = []
    benchmark(lambda *args: seen.append(args), 1, "two", clock=FakeGpu(), repeats=1, warmup=0)
    assert seen == [(1, "two")]


# --- the hold --------------------------------------------------------------------------------------------------------


def held(host, **options):
    gpu = FakeGpu(host=host)
    result = measure(gpu, repeats=5, **options)
    (seconds,) = set(gpu.held)
    return seconds, result


def test_a_hold_lasts_as_long_as_four_calls_take_on_the_host():
    assert held(100e-6)[0] == pytest.approx(400e-6)


def test_a_hold_has_bounds():
    assert held(1e-6)[0] == timing.SHORTEST_HOLD_SECONDS
    assert held(1.0)[0] == timing.LONGEST_HOLD_SECONDS


def test_the_first_call_compiles_and_says_nothing_of_the_hold():
    gpu = FakeGpu(host=1.0)

    def compiles_first():
        gpu.call()
        gpu.host = 100e-6

    benchmark(compiles_first, clock=gpu, repeats=5)
    assert gpu.held == pytest.approx([400e-6] * 5)


def test_a_single_warm_up_call_may_have_compiled_and_does_not_count():
    assert held(5e-3, warmup=1)[0] == timing.SHORTEST_HOLD_SECONDS
    assert held(4e-3, warmup=2)[0] == pytest.approx(16e-3)


def test_a_call_that_waits_for_the_gpu_is_found():
    seconds, result = held(1.0)
    assert any("kept the host for 1.00 s" in remark and "20.0 ms" in remark for remark in result.remarks)
    assert seconds < 1.0
    assert not any("kept the host" in remark for remark in held(100e-6)[1].remarks)


def test_a_call_that_synchronises_is_found_even_if_it_is_short():
    """It took the host 50 us in the warm-up, and waits for the whole hold after it."""
    gpu = FakeGpu(host=50e-6)
    plain = gpu.hold

    def hold(seconds):
        gpu.host = seconds
        return plain(seconds)

    gpu.hold = hold
    assert any("synchronises" in remark for remark in measure(gpu, repeats=5).remarks)


# --- how many repeats ------------------------------------------------------------------------------------------------


def test_steady_times_need_few_repeats():
    result = measure(FakeGpu())
    assert result.n == timing.FEWEST and result.remarks == ()


def test_unsteady_times_get_more_until_the_median_is_known():
    result = measure(FakeGpu(script=(0.97e-3, 1e-3, 1.03e-3)))
    assert timing.FEWEST < result.n < timing.MOST
    assert result.n >= needed_repeats(result.seconds)
    assert needed_repeats(result.seconds[:-1]) > result.n - 1  # and it did not go on for longer
    assert result.remarks == ()


def test_hopeless_times_end_and_say_how_many_it_would_take():
    result = measure(FakeGpu(script=(1e-3, 2e-3)))
    assert result.n == timing.MOST
    needed = needed_repeats(result.seconds)
    assert needed > timing.MOST
    assert any(f"known to 1% after {needed:,}" in remark for remark in result.remarks)


def test_max_seconds_ends_it_and_says_so():
    gpu = FakeGpu(script=(1.0,))
    result = measure(gpu, max_seconds=4.5, warmup=0)
    assert result.n == 5
    assert any("5 of 11 repeats fitted into max_seconds=4.5" in remark for remark in result.remarks)
    result = measure(FakeGpu(script=(1.0,)), max_seconds=2.5, repeats=10)
    assert result.n == 3 and any("3 of 10 repeats" in remark for remark in result.remarks)


def test_one_repeat_is_made_however_long_it_takes():
    gpu = FakeGpu(script=(100.0,), host=50.0)
    result = measure(gpu, max_seconds=1.0)
    assert result.seconds == (100.0,)
    assert gpu.log.count("call") == 2  # the warm-up ended after its first call, too


def test_the_number_asked_for_is_made():
    assert measure(FakeGpu(script=(1e-3, 2e-3)), repeats=30).n == 30
    assert measure(FakeGpu(), repeats=1).n == 1


def test_the_stated_formula():
    seconds = [0.96, 0.98, 1.0, 1.02, 1.04]
    assert needed_repeats(seconds) == math.ceil((1.25 * 0.04 / 1.349 / 0.01) ** 2)
    assert needed_repeats(seconds, 0.1) == 1
    assert needed_repeats([1.0] * 4) == 1
    assert needed_repeats([1.0, 2.0, 3.0]) is None and needed_repeats([]) is None
    assert needed_repeats([0.0] * 5) == 1


def test_the_formula_against_normal_times():
    """With as many repeats as it asks for, the medians of many tries have a standard deviation of 1 %."""
    rng = np.random.default_rng(5)
    n = needed_repeats(rng.normal(1.0, 0.05, 100_000))
    assert n == pytest.approx((1.25 * 0.05 / 0.01) ** 2, rel=0.05)
    medians = np.median(rng.normal(1.0, 0.05, (20_000, n)), axis=1)
    assert np.std(medians) == pytest.approx(0.01, rel=0.05)


# --- remarks ---------------------------------------------------------------------------------------------------------


def test_a_bandwidth_above_the_peak_is_refused():
    result = measure(FakeGpu(script=(1e-3,), peak_gb_s=4800), bytes_moved=10**10)
    assert result.bandwidth_gb_s == pytest.approx(10_000) and result.above_peak
    (remark,) = result.remarks
    assert remark == (
        "10,000 GB/s are more than the 4,800 GB/s of the memory: the data was cached, or the 10,000,000,000 bytes are "
        "miscounted."
    )
    below = measure(FakeGpu(script=(1e-3,), peak_gb_s=4800), bytes_moved=4 * 10**9)
    assert below.remarks == () and not below.above_peak
    assert "4,000.0 GB/s, 83.3% of 4,800" in str(below)


def test_the_callers_peak_goes_before_the_clocks():
    result = measure(FakeGpu(script=(1e-3,), peak_gb_s=4800), bytes_moved=10**9, peak_gb_s=900)
    assert result.above_peak and result.peak_gb_s == 900


def test_no_peak_no_verdict():
    result = measure(FakeGpu(script=(1e-3,)), bytes_moved=10**12)
    assert not result.above_peak and result.remarks == ()


def test_times_near_the_clocks_resolution_are_doubted():
    (remark,) = measure(FakeGpu(script=(2e-6,))).remarks
    assert "2.00 us is close to what the clock can tell apart (500 ns), or nothing ran on the GPU" in remark
    assert measure(FakeGpu(script=(6e-6,))).remarks == ()


def test_no_time_at_all_is_no_bandwidth():
    result = measure(FakeGpu(script=(0.0,)), bytes_moved=8)
    assert result.bandwidth_gb_s is None and result.spread == 0 and not result.above_peak
    assert any("close to what the clock" in remark for remark in result.remarks)
    json.dumps(result.to_dict())


def test_too_little_warm_up_is_said():
    assert any("no warm-up" in remark for remark in measure(FakeGpu(), warmup=0).remarks)
    assert any("One warm-up call" in remark for remark in measure(FakeGpu(), warmup=1).remarks)
    assert measure(FakeGpu(), warmup=2).remarks == ()
    assert benchmark(time.sleep, 1e-3, machine="cpu", warmup=1, repeats=4, name="x").n == 4


def test_few_repeats_have_no_spread():
    assert any("1 repeat says nothing" in remark for remark in measure(FakeGpu(), repeats=1).remarks)
    assert any("3 repeats say nothing" in remark for remark in measure(FakeGpu(), repeats=3).remarks)
    assert measure(FakeGpu(), repeats=4).remarks == ()


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"repeats": 0}, "0 repeats measure nothing"),
        ({"repeats": -3}, "-3 repeats"),
        ({"warmup": -1}, "-1 warm-up calls"),
        ({"max_seconds": 0}, "max_seconds=0"),
        ({"max_seconds": float("nan")}, "max_seconds=nan"),
        ({"bytes_moved": -8}, "cannot move -8 bytes"),
        ({"peak_gb_s": 0}, "peak of 0 GB/s"),
        ({"restore": 5}, "not 5"),
    ],
)
def test_numbers_that_make_no_sense(options, said):
    gpu = FakeGpu()
    with pytest.raises(GpukitError, match=said):
        measure(gpu, **options)
    assert gpu.log == []


def test_what_cannot_be_called():
    with pytest.raises(GpukitError, match=r"benchmark times a function, and 3\.5 is none"):
        benchmark(3.5, clock=FakeGpu())
    with pytest.raises(GpukitError, match=r"array\(.*\.\.\. is none"):
        benchmark(np.zeros(1000), clock=FakeGpu())


def test_an_unknown_machine():
    with pytest.raises(GpukitError, match='"auto", "cpu" or "gpu"'):
        benchmark(len, (), machine="tpu")


def test_an_exception_of_the_function_passes_through():
    error = ZeroDivisionError("mine")

    def fails():
        raise error

    with pytest.raises(ZeroDivisionError) as caught:
        benchmark(fails, machine="cpu")
    assert caught.value is error

    gpu = FakeGpu()
    with pytest.raises(ZeroDivisionError) as caught:
        benchmark(fails, clock=gpu, warmup=0)
    assert caught.value is error


# --- a timing --------------------------------------------------------------------------------------------------------


def of(*seconds, **more):
    return Timing(seconds=seconds, machine="gpu", host_seconds=1e-5, **more)


def test_statistics():
    result = of(4.0, 1.0, 2.0, 3.0, 5.0, bytes_moved=6 * 10**9)
    assert (result.n, result.median, result.minimum, result.quartiles) == (5, 3.0, 1.0, (2.0, 4.0))
    assert result.spread == pytest.approx(2 / 3)
    assert result.bandwidth_gb_s == pytest.approx(2.0)
    assert of(1.0).spread == 0
    with pytest.raises(GpukitError, match="at least one repeat"):
        of()


def test_speed_up_and_difference():
    fast, slow, wide = of(1.0, 1.1, 1.2, 1.3), of(2.0, 2.2, 2.4, 2.6), of(1.0, 1.5, 2.5, 3.0)
    assert fast.speedup_over(slow) == pytest.approx(2.0)
    assert slow.speedup_over(fast) == pytest.approx(0.5)
    assert fast.differs_from(slow) and slow.differs_from(fast)
    assert not slow.differs_from(wide) and not wide.differs_from(slow)
    assert not fast.differs_from(fast)
    assert not of(1.0).differs_from(of(2.0)) and not fast.differs_from(of(9.0, 9.0, 9.0))
    assert of(0.0).speedup_over(fast) == math.inf


def test_a_timing_is_frozen_plain_data():
    result = measure(FakeGpu(peak_gb_s=4800), bytes_moved=10**9, name="copy")
    with pytest.raises(AttributeError):
        result.machine = "cpu"
    written = json.loads(json.dumps(result.to_dict()))
    assert written["seconds"] == [1e-3] * 11 and written["n"] == 11
    assert written["median_s"] == 1e-3 and written["host_s"] == pytest.approx(70e-6)
    assert written["bandwidth_gb_s"] == pytest.approx(1000) and written["remarks"] == []
    assert (written["name"], written["machine"], written["above_peak"]) == ("copy", "gpu", False)


def test_what_is_printed():
    result = measure(FakeGpu(script=(1.6349e-3,)), name="naive", repeats=20)
    assert str(result) == "naive: 1.63 ms on the GPU (20 repeats, spread 0.0%, fastest 1.63 ms), 70.0 us on the host"
    doubtful = str(measure(FakeGpu(), repeats=1))
    assert doubtful.splitlines()[0].startswith("call: 1.00 ms on the GPU (1 repeat, fastest")
    assert doubtful.splitlines()[1].startswith("  1 repeat says nothing")


def test_examples_in_the_documentation():
    done = doctest.testmod(timing)
    assert done.attempted >= 2 and done.failed == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.99e-6, "990 ns"),
        (9.994e-3, "9.99 ms"),
        (9.996e-3, "10.0 ms"),
        (0.1, "100 ms"),
        (1, "1.00 s"),
        (1e-9, "1.00 ns"),
    ],
)
def test_units(seconds, text):
    assert in_units(seconds) == text


# --- the CPU ---------------------------------------------------------------------------------------------------------


def test_a_sleep_takes_as_long_as_it_sleeps():
    result = benchmark(time.sleep, 5e-3, machine="cpu", repeats=7)
    assert result.machine == "cpu" and result.name == "sleep"
    assert 5e-3 <= result.minimum <= result.median < 50e-3
    assert result.host_seconds == pytest.approx(result.median, rel=0.01)


def test_restoring_is_not_timed_and_undoes_what_a_call_destroys():
    x = np.zeros(4)
    seen = []

    def destroy():
        seen.append(x.copy())
        x[:] = -1

    def restore():
        time.sleep(5e-3)
        x[:] = 7

    result = benchmark(destroy, machine="cpu", repeats=5, restore=restore)
    assert result.median < 2.5e-3
    assert len(seen) == 5 + timing.WARMUP and all((was == 7).all() for was in seen)


def test_flushing_on_a_cpu_is_said_to_do_nothing():
    result = benchmark(time.sleep, 1e-3, machine="cpu", repeats=4, flush_l2=True)
    assert any("flush_l2 did nothing" in remark for remark in result.remarks)


def test_an_empty_function_is_below_the_resolution():
    assert any("close to what the clock" in r for r in benchmark(lambda: None, machine="cpu", repeats=20).remarks)


def test_auto_asks_the_devices(monkeypatch):
    gpu = FakeGpu()
    monkeypatch.setattr("gpukit.devices.device", lambda machine: SimpleNamespace(name="gpu"))
    monkeypatch.setattr(timing, "_gpu_clock", lambda: gpu)
    assert benchmark(gpu.call, repeats=4).machine == "gpu"
    monkeypatch.setattr("gpukit.devices.device", lambda machine: SimpleNamespace(name="cpu"))
    assert benchmark(time.sleep, 1e-4, repeats=4).machine == "cpu"


def test_the_public_names_cost_nothing_until_they_are_used():
    assert gpukit.benchmark is benchmark and gpukit.Timing is Timing
    program = (
        "import gpukit, sys; print('gpukit.timing' in sys.modules); gpukit.benchmark; print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]


# --- ceilings --------------------------------------------------------------------------------------------------------


def test_a_copy_counts_what_it_reads_and_writes(monkeypatch):
    copied = []
    plain = np.copyto
    monkeypatch.setattr(np, "copyto", lambda to, source: (copied.append(to.size), plain(to, source)))
    result = copy_ceiling(CpuMachine(), 1 << 20, repeats=4)
    assert result.bytes_moved == 2 << 20 and result.name == "copy" and result.machine == "cpu"
    assert sum(copied) == (4 + timing.WARMUP) * (1 << 18)  # every element, every time
    assert result.bandwidth_gb_s > 0.01


def test_reading_counts_what_it_reads():
    result = read_ceiling(CpuMachine(), 1 << 20, repeats=4)
    assert result.bytes_moved == 1 << 20 and result.name == "read" and result.bandwidth_gb_s > 0.01


def test_sizes_are_whole_tiles_that_fit(monkeypatch):
    assert read_ceiling(CpuMachine(), (1 << 20) + 5, repeats=1).bytes_moved == 1 << 20
    monkeypatch.setattr(CpuMachine, "memory_bytes", 1 << 22)
    assert read_ceiling(CpuMachine(), repeats=1).bytes_moved == 1 << 21
    assert copy_ceiling(CpuMachine(), repeats=1).bytes_moved == 2 << 20
    with pytest.raises(GpukitError, match=r"2 x 4,194,304 bytes do not fit into the 4,194,304 that are free"):
        copy_ceiling(CpuMachine(), 1 << 22)
    with pytest.raises(GpukitError, match="100 bytes are too few"):
        read_ceiling(CpuMachine(), 100)
    monkeypatch.setattr(CpuMachine, "memory_bytes", None)
    assert timing._size(CpuMachine(), None, 1) == timing.CPU_SIZE_BYTES


def test_free_memory_is_what_the_system_says():
    free = CpuMachine().memory_bytes
    assert free is None or 1 << 20 < free < 1 << 50


def test_ceilings_on_a_gpu(monkeypatch):
    """A GPU made of NumPy and the CPU machine: the kernel runs, and its sum is right."""
    if toolkit.why_no_nvrtc():
        pytest.skip(toolkit.why_no_nvrtc())
    gpu = FakeGpu(script=(1e-6,), peak_gb_s=4800)
    monkeypatch.setattr(timing, "_gpu_clock", lambda: gpu)
    monkeypatch.setattr("gpukit.devices.device", lambda machine: SimpleNamespace(name=machine))
    kernels = []

    def raw(code, name):
        kernel = gpukit.RawKernel(code, name)
        kernels.append(name)
        return lambda grid, block, args: gpukit.launch(kernel, grid, block, *args, machine="cpu")

    xp = SimpleNamespace(
        **{name: getattr(np, name) for name in ("ones", "empty", "zeros", "copyto")},
        RawKernel=raw,
    )
    device = SimpleNamespace(name="gpu", xp=xp, sms=1, memory_bytes=1 << 30, to_host=np.array)
    result = read_ceiling(device, 5 * timing.TILE_BYTES, repeats=4)
    assert result.bytes_moved == 5 * timing.TILE_BYTES and kernels == ["read_all"] and result.machine == "gpu"
    result = copy_ceiling(device, 1 << 20, repeats=4)
    assert result.bandwidth_gb_s == pytest.approx(2 * 2**20 / 1e-6 / 1e9) and result.machine == "gpu"
    assert timing._size(device, None, 2) == 1 << 28  # a quarter of what is free, not 2 GiB

    class Lossy(np.ndarray):
        def sum(self, *args, **options):
            return np.float64(1)

    device.to_host = lambda array: array.view(Lossy)
    with pytest.raises(InternalError, match="summed 20,480 ones to 1"):
        read_ceiling(device, 5 * timing.TILE_BYTES, repeats=1)


# --- the kernels of the GPU part, on the CPU machine -----------------------------------------------------------------


@nvrtc
def test_the_reading_kernel_reads_every_element_once_in_whole_sectors():
    kernel = gpukit.RawKernel(timing.READ_SOURCE, "read_all")
    tiles = 7
    x = np.random.default_rng(1).integers(0, 100, tiles * timing.TILE_BYTES // 4).astype(np.float32)
    for blocks in (1, 3, 16):
        sums = np.full(blocks * timing.READ_THREADS, np.nan, np.float32)
        report = gpukit.profile(kernel, blocks, timing.READ_THREADS, x, np.int64(tiles), sums)
        assert sums.sum(dtype=float) == x.sum(dtype=float)
        assert report.counters["global_load_sectors"] == x.nbytes // 32
        assert report.counters["global_load_requests"] == x.nbytes // (32 * 16)
        assert report.hazards == []


@nvrtc
def test_the_draining_kernel_reads_all_and_writes_nothing():
    kernel = gpukit.RawKernel(clocks.DRAIN_SOURCE, "drain")
    x, never = np.zeros(4 * 1000, np.int32), np.full(4, 7, np.int32)
    report = gpukit.profile(kernel, 3, clocks.DRAIN_THREADS, x, np.int64(1000), never)
    assert report.counters["global_load_sectors"] == x.nbytes // 32
    assert report.counters["global_store_sectors"] == 0 and report.hazards == []
    assert never.tolist() == [7, 7, 7, 7]


@nvrtc
def test_the_holding_kernel_ends_and_lasts_longer_when_asked():
    kernel = gpukit.RawKernel(clocks.HOLD_SOURCE, "hold")
    counts = [
        gpukit.profile(kernel, 1, 1, np.uint64(nanoseconds)).counters["warp_instructions"]
        for nanoseconds in (0, 1_000, 10_000)
    ]
    assert counts[0] < counts[1] < counts[2]


# --- the clocks ------------------------------------------------------------------------------------------------------


def test_the_cpus_clock():
    clock = CpuClock()
    start = clock.record()
    time.sleep(2e-3)
    assert clock.elapsed(start, clock.record()) >= 2e-3
    assert clock.flush() is False and clock.hold(1.0) is False and clock.peak_gb_s is None
    assert 0 < clock.resolution_seconds < 1e-3


@pytest.fixture
def cupy(monkeypatch):
    """A CuPy that writes down what it is told."""
    log = []
    stream = SimpleNamespace(synchronize=lambda: log.append("synchronize"))

    class Event:
        def record(self):
            log.append("record")

    class Buffer:
        def __init__(self, shape, dtype):
            self.nbytes = shape
            self.data = SimpleNamespace(memset_async=lambda value, size, on: log.append(("memset", size, on is stream)))

    def raw(code, name):
        return lambda grid, block, args: log.append((name, grid, block, args))

    module = types.ModuleType("cupy")
    module.cuda = SimpleNamespace(
        Event=Event,
        get_current_stream=lambda: stream,
        get_elapsed_time=lambda start, stop: 2.5,
        Device=lambda: SimpleNamespace(id=0),
        runtime=SimpleNamespace(getDeviceProperties=lambda device: {"l2CacheSize": 60 << 20}),
    )
    module.RawKernel, module.empty, module.zeros, module.uint8 = raw, Buffer, Buffer, np.uint8
    module.log = log
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_the_gpus_clock(cupy):
    clock = GpuClock()
    assert clock.flush() and clock.hold(0.3e-3)
    assert [entry[0] for entry in cupy.log] == ["memset", "drain", "hold"]
    assert cupy.log[0] == ("memset", 120 << 20, True)
    read, count, written = cupy.log[1][3]
    assert read is not written and read.nbytes == 16 * count == 120 << 20
    assert cupy.log[2] == ("hold", (1,), (1,), (300_000,))
    assert cupy.log[2][3][0].dtype == np.uint64  # the type of the kernel's parameter
    assert clock.elapsed(clock.record(), clock.record()) == pytest.approx(2.5e-3)  # CuPy tells milliseconds
    clock.synchronize()
    assert cupy.log[3:] == ["record", "record", "synchronize"]


def test_a_benchmark_through_the_gpus_clock(cupy):
    result = benchmark(
        lambda: cupy.log.append("call"), clock=GpuClock(), warmup=1, repeats=1, flush_l2=True, peak_gb_s=1
    )
    assert [entry if isinstance(entry, str) else entry[0] for entry in cupy.log] == [
        "synchronize", "call", "synchronize",
        "memset", "drain", "hold", "record", "call", "record", "synchronize",
    ]  # fmt: skip
    assert result.seconds == (2.5e-3,)


@pytest.mark.parametrize(
    ("facts", "peak"),
    [
        ({"gpu": "NVIDIA H200", "sms": 132, "memory_mhz_max": 3201, "memory_bus_bits": 6016}, 4814.3),
        ({"gpu": "NVIDIA H200", "sms": 132}, 4800),  # a driver that tells no clock
        ({"gpu": "Tesla T4", "sms": 40, "memory_mhz_max": 405, "memory_bus_bits": 256}, 320),  # a clock at rest
        ({"gpu": "NVIDIA H200", "sms": 16}, None),  # a slice of one
        ({"gpu": "NVIDIA Voodoo", "sms": 8, "memory_mhz_max": 1000, "memory_bus_bits": 64}, 16),
        ({"gpu": "NVIDIA Voodoo", "sms": 8}, None),
        ({}, None),
    ],
)
def test_the_peak_of_a_gpu(cupy, monkeypatch, facts, peak):
    monkeypatch.setattr("gpukit.provenance.cuda_facts", lambda: facts)
    found = GpuClock().peak_gb_s
    assert found == (None if peak is None else pytest.approx(peak, rel=1e-4))


# --- by turns --------------------------------------------------------------------------------------------------------


def in_turns(gpu, **options):
    calls = {name: lambda name=name: gpu.log.append(name) or gpu.call() for name in ("first", "second")}
    return timing.benchmark_in_turns(calls, clock=gpu, **options)


def test_calls_are_timed_by_turns_each_with_its_own_restore_and_flush():
    gpu = FakeGpu()
    gpu.elapsed = lambda start, stop: next(gpu.script)
    in_turns(gpu, warmup=0, repeats=2, restore=gpu.restore, flush_l2=True)
    once = ["restore", "flush", "hold", "record", "NAME", "call", "record", "synchronize"]
    turns = [[name if word == "NAME" else word for word in once] for name in ("first", "second")] * 2
    assert gpu.log == list(itertools.chain(*turns))


def test_a_clock_that_drifts_drifts_for_all():
    gpu = FakeGpu(script=[1e-3 * (1 + 0.01 * repeat) for repeat in range(40)])
    gpu.elapsed = lambda start, stop: next(gpu.script)
    made = in_turns(gpu, repeats=20)
    assert made["second"].speedup_over(made["first"]) == pytest.approx(1, abs=0.02)
    assert [made[name].n for name in made] == [20, 20] and made["first"].name == "first"


def test_a_call_with_enough_repeats_waits_for_no_other():
    gpu = FakeGpu()

    def elapsed(start, stop):
        seconds = 5e-3 if gpu.log[-4] == "second" else 1e-3
        gpu.now += seconds
        return seconds

    gpu.elapsed = elapsed
    made = in_turns(gpu, max_seconds=0.1, repeats=50, bytes_moved={"first": 4_000_000})
    assert made["second"].n < 21 and set(made["second"].seconds) == {5e-3} and made["second"].remarks
    assert made["first"].n == 50 and set(made["first"].seconds) == {1e-3}
    assert made["first"].bandwidth_gb_s == pytest.approx(4) and made["second"].bandwidth_gb_s is None


def test_what_is_timed_by_turns_is_refused_as_by_itself():
    with pytest.raises(GpukitError, match="benchmark times a function"):
        timing.benchmark_in_turns({"none": 3}, clock=FakeGpu())
