"""`gpukit bench FAMILY` as data: what is right is timed, what is wrong is not, and what is concluded from it."""

import dataclasses
import io
import itertools
import json
import sys
import types

import numpy as np
import pytest
from rich.console import Console

from gpukit import cuda, timing
from gpukit.bench import family as bench
from gpukit.bench import figures, log, memory, recorded, running, table
from gpukit.devices import CpuMachine
from gpukit.errors import GpukitError
from gpukit.registry import Family, Launch, Plan, Problem, Sweep, find_family, find_rung

SIZE = 512


# --- a family with everything that can go wrong ----------------------------------------------------------------------


@cuda.jit
def twice(x, y):
    """Each thread stores twice: once too often."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 0
        y[i] = x[i ^ 1] if i ^ 1 < x.size else x[i]


@cuda.jit
def once(x, y):
    """Each thread stores once."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i ^ 1] if i ^ 1 < x.size else x[i]


@cuda.jit
def unchanged(x, y):
    """Nothing changes places, which is wrong."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i]


@cuda.jit
def hurried(x, y):
    """Through shared memory, without a barrier between writing and reading."""
    tile = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
        y[i] = tile[t ^ 1] if i ^ 1 < x.size else x[i]


@cuda.jit
def divided(x, y):
    """A barrier in each branch, where one for all threads has to be."""
    i = cuda.grid(1)
    if i % 2 == 0:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    if i < x.size:
        y[i] = x[i ^ 1] if i ^ 1 < x.size else x[i]


@cuda.jit
def endless(x, y):
    """A loop that ends for no thread."""
    i = cuda.grid(1)
    while x.size >= 0:
        if i < x.size:
            y[i] = x[i]


def problem(n, kind, rng, device):
    """n numbers whose neighbours change places."""
    x = device.xp.arange(n, dtype=np.float32) if kind == "arange" else device.xp.asarray(rng.random(n, np.float32))
    expected = device.to_host(x)
    pairs = expected[: n // 2 * 2].reshape(-1, 2)
    pairs[:] = pairs[:, ::-1].copy()
    return Problem(n, kind, {"x": x}, expected)


def plan(kernel, problem, block, device, blocks=None):
    x = problem.arrays["x"]
    y = device.xp.empty_like(x)
    launch = Launch(kernel, blocks or max(1, -(-problem.n // block)), block, (x, y))
    return Plan(lambda: device.to_host(y), (launch,), outputs=(y,), bytes_moved=2 * x.nbytes, flops=problem.n)


def on_host(function, problem, block, device):
    x, kept = device.to_host(problem.arrays["x"]), []
    return Plan(lambda: kept[-1], call=lambda: kept.append(function(x)), bytes_moved=2 * x.nbytes)


def then_on_host(function, problem, block, device):
    made = plan(once, problem, block, device)
    return Plan(made.answer, call=lambda: device.launch(made.launches[0]), outputs=made.outputs, bytes_moved=8)


@pytest.fixture
def swaps(monkeypatch):
    """Family "swaps": neighbours change places."""
    monkeypatch.setitem(sys.modules, "swaps", types.ModuleType("swaps", "Neighbours change places, by pairs.\n\nMore."))
    made = Family(
        "swaps",
        problem,
        kinds=("arange", "random"),
        lengths=(0, 1, 33, 300),
        blocks=(64, 128),
        block=64,
        counters=("global_store_requests", "global_load_requests"),
        cpu_n=SIZE,
        gpu_n=2 * SIZE,
    )
    made.kernel(plan, produces="pairs")(twice)
    made.kernel(plan, against="twice", falls=("global_store_requests",), produces="pairs")(once)
    return made


class Gpu(CpuMachine):
    """The CPU machine under the name of a GPU, with as much memory as a test wants."""

    memory_bytes: int | None = None

    def __init__(self, memory_bytes=1 << 30):
        super().__init__()
        self.name = "gpu"
        self.memory_bytes = memory_bytes


class ScriptedClock:
    """A GPU's clock that shows the times it was given, over and over."""

    machine = "gpu"
    resolution_seconds = 1e-7

    def __init__(self, seconds, peak_gb_s):
        self.shown = itertools.cycle(seconds)
        self.peak_gb_s = peak_gb_s
        self.now = itertools.count()

    def host_seconds(self):
        return 1e-6 * next(self.now)

    def record(self):
        return None

    def elapsed(self, start, stop):
        return next(self.shown)

    def hold(self, seconds):
        return True

    def flush(self):
        return True

    def synchronize(self):
        pass


@pytest.fixture
def on_gpu(monkeypatch):
    """measure(family, times) on a GPU that needs these seconds for each rung; copies take 4,000 GB/s, reads 4,400."""

    def measure(family, times, peak_gb_s=4800, **options):
        real = timing.benchmark

        def scripted(fn, name, machine, **given):
            if machine == "cpu":
                return real(fn, name=name, machine="cpu", **given)
            return real(fn, name=name, clock=ScriptedClock(times[name], peak_gb_s), **given)

        def ceiling(speed):
            return lambda device: timing.Timing((1.0,), "gpu", 0.0, bytes_moved=speed * 10**9)

        monkeypatch.setattr(bench.timing, "benchmark", scripted)
        monkeypatch.setattr(bench.timing, "copy_ceiling", ceiling(4000))
        monkeypatch.setattr(bench.timing, "read_ceiling", ceiling(4400))
        monkeypatch.setattr(
            bench.provenance, "provenance", lambda command, device: {"gpu": "Test", "date": "2026-01-01"}
        )
        return bench.measure(family, Gpu(), **options)

    return measure


def rows(result):
    return {entry["key"]: entry for entry in result["rungs"]}


def shown(result, width=100):
    text = io.StringIO()
    table.show(result, Console(file=text, width=width))
    return text.getvalue()


# --- right and wrong -------------------------------------------------------------------------------------------------


def test_rungs_that_are_right_are_checked_counted_and_timed(swaps):
    result = bench.measure(swaps, CpuMachine())
    assert json.loads(json.dumps(result)) == result
    for entry in result["rungs"]:
        assert entry["status"] == "right"
        # The counted run, 2 kinds x 4 lengths x 2 blocks, and 2 kinds at the measured size.
        assert entry["check"] == {"cases": 1 + 16 + 2, "failures": []}
        assert entry["timing"]["n"] >= 1 and entry["timing"]["median_s"] > 0
        assert entry["clock"] == "the CPU machine's, not a GPU's"
        assert entry["bandwidth_gb_s"] is entry["fraction_of_copy"] is entry["fraction_of_read"] is None
        assert (entry["counters"]["n"], entry["counters"]["level"], entry["hazards"]) == (SIZE, "source", [])
    first, second = (entry["counters"]["values"]["global_store_requests"] for entry in result["rungs"])
    assert (first, second) == (2 * SIZE // 32, SIZE // 32)
    assert {"date", "python", "numpy"} <= result["machine"].keys()
    assert (result["family"], result["about"]) == ("swaps", "Neighbours change places, by pairs.")


def test_a_wrong_rung_is_named_with_its_first_failure_and_not_timed(swaps):
    swaps.kernel(plan, against="once", falls=("branches",), produces="pairs")(unchanged)
    swaps.kernel(plan, against="unchanged", falls=("branches",), name="after", produces="pairs")(once)
    result = bench.measure(swaps, CpuMachine())
    entry = rows(result)["unchanged"]
    assert entry["status"] == "WRONG"
    assert entry["timing"] is None and entry["clock"] is None
    assert f"n = {SIZE}, random, 64 threads a block: got" in entry["reason"]
    assert entry["check"]["failures"][0] == entry["reason"]
    assert (entry["log"]["decision"], entry["log"]["why"]) == ("wrong", entry["reason"])
    assert rows(result)["once"]["status"] == "right"  # the others go on
    assert (
        rows(result)["after"]["log"] | {"decision": None, "why": "unchanged, which it is compared with, is wrong"}
        == (rows(result)["after"]["log"])
    )
    text = shown(result)
    assert "unchanged is WRONG: n = 512" in " ".join(text.split())


def test_a_rung_that_is_wrong_for_one_length_only_is_found(swaps):
    def short(kernel, problem, block, device):
        made = plan(kernel, problem, block, device)
        launch = made.launches[0]
        return Plan(
            made.answer, (Launch(kernel, max(1, problem.n // block), block, launch.args),), outputs=made.outputs
        )

    swaps.kernel(short, name="no_tail", produces="pairs")(once)
    entry = rows(bench.measure(swaps, CpuMachine()))["no_tail"]
    assert entry["status"] == "WRONG" and entry["timing"] is None
    assert "n = 300, arange, 64 threads a block: got nan at index 256, expected 257.0" in entry["reason"]


def test_a_hazard_that_a_rung_does_not_declare_makes_it_wrong(swaps):
    swaps.kernel(plan, produces="pairs")(hurried)
    entry = rows(bench.measure(swaps, CpuMachine()))["hurried"]
    assert entry["hazards"][0]["kind"] == "race_shared"
    assert entry["status"] == "WRONG" and entry["timing"] is None
    assert entry["reason"].startswith("race_shared, line ") and "does not declare" in entry["reason"]
    assert entry["log"]["decision"] == "wrong"


def test_a_hazard_that_a_rung_is_there_to_show_is_a_race_with_a_right_answer(swaps):
    swaps.kernel(plan, against="once", rises=("shared_load_requests",), hazard="race_shared", produces="pairs")(hurried)
    result = bench.measure(swaps, CpuMachine())
    entry = rows(result)["hurried"]
    assert entry["status"] == "race" and not entry["check"]["failures"]
    assert entry["timing"] is not None
    assert entry["log"]["decision"] == "revert"
    assert "a race, although the answer is right here: race_shared" in entry["log"]["why"]
    assert "hurried is a race: race_shared" in shown(result)


def test_another_hazard_is_not_called_a_race(swaps):
    swaps.kernel(plan, hazard="barrier_divergence", produces="pairs")(divided)
    entry = rows(bench.measure(swaps, CpuMachine()))["divided"]
    assert entry["status"] == "hazard"
    assert "barrier_divergence" in entry["reason"] and "a hazard, although" in entry["log"]["why"]


def test_an_error_in_one_rung_leaves_the_others(swaps, monkeypatch):
    monkeypatch.setenv("GPUKIT_MAX_STEPS", "5000")
    swaps.kernel(plan, produces="pairs")(endless)
    result = rows(bench.measure(swaps, CpuMachine()))
    assert result["endless"]["status"] == "WRONG"
    assert "while" in result["endless"]["reason"] or "end" in result["endless"]["reason"]
    assert result["once"]["status"] == "right"


def test_a_rung_that_writes_to_its_input_is_wrong(swaps):
    def in_place(kernel, problem, block, device):
        x = problem.arrays["x"]
        made = Launch(kernel, max(1, -(-problem.n // block)), block, (device.xp.copy(x), x))
        return Plan(lambda: device.to_host(x), (made,))

    swaps.kernel(in_place, name="in_place", produces="pairs")(once)
    entry = rows(bench.measure(swaps, CpuMachine()))["in_place"]
    assert entry["status"] == "WRONG" and "wrote to its input `x`" in " ".join(entry["check"]["failures"])


def test_what_cannot_run_here_says_why(swaps):
    def reverse(x):
        """A library that is nowhere."""

    swaps.host(on_host, produces="pairs", needs=("no_such_library",))(reverse)

    def gpu_only(kernel, problem, block, device):
        raise AssertionError("planned, though it does not run here")

    swaps.kernel(gpu_only, name="only", machines=("gpu",), produces="pairs")(once)

    def small_blocks(kernel, problem, block, device):
        if block > 32:
            raise GpukitError("at most 32 threads")
        return plan(kernel, problem, block, device)

    swaps.kernel(small_blocks, name="small", produces="pairs")(once)
    result = bench.measure(swaps, CpuMachine())
    found = {key: (entry["status"], entry["reason"]) for key, entry in rows(result).items()}
    assert found["reverse"] == ("not run", "needs no_such_library: python -m pip install no_such_library")
    assert found["only"] == ("not run", "runs on an NVIDIA GPU only")
    assert found["small"] == ("not run", "at most 32 threads")
    assert all(rows(result)[key]["log"]["decision"] is None for key in ("reverse", "only", "small"))
    text = shown(result)
    assert "needs a GPU" in text and "Not run here: only: runs on an NVIDIA GPU only." in text


def test_cpp_without_its_compiler_says_what_is_missing(monkeypatch):
    monkeypatch.setattr("gpukit.compilers.toolkit.why_no_nvrtc", lambda: "NVRTC is not installed")
    rung = find_rung(find_family("reduction"), "vectorized")
    assert running.why_not(rung, CpuMachine()) == ("NVRTC is not installed", "needs NVRTC")
    assert running.why_not(rung, Gpu()).text == ""


# --- what is measured ------------------------------------------------------------------------------------------------


def test_rungs_are_chosen_with_those_they_are_compared_with(swaps):
    swaps.kernel(plan, name="another", produces="pairs")(once)
    assert list(rows(bench.measure(swaps, CpuMachine(), rungs=["once"]))) == ["twice", "once"]
    with pytest.raises(GpukitError, match="has no rung 'onse'; did you mean once"):
        bench.measure(swaps, CpuMachine(), rungs=["onse"])


def test_size_block_seed_and_repeats_are_used(swaps):
    result = bench.measure(swaps, CpuMachine(), n=100, block=128, seed=5, repeats=2)
    entry = rows(result)["once"]
    assert (result["n"], result["block"], result["seed"]) == (100, 128, 5)
    assert (entry["counters"]["n"], entry["counters"]["block"], entry["timing"]["n"]) == (100, 128, 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "leave nothing to measure"),
        ({"n": -4}, "leave nothing"),
        ({"block": 0}, "1 to 1,024"),
        ({"block": 4096}, "4,096 threads"),
        ({"n": 10**15}, r"elements need about 12,\d{3}.\d TB of memory and this computer has"),
    ],
)
def test_sizes_that_cannot_be_are_sentences(swaps, options, words):
    with pytest.raises(GpukitError, match=words):
        bench.measure(swaps, CpuMachine(), **options)


def test_the_host_is_timed_by_its_own_clock_unless_it_launches(swaps):
    def numpy_swap(x):
        """NumPy."""
        y = x.copy()
        pairs = y[: x.size // 2 * 2].reshape(-1, 2)
        pairs[:] = pairs[:, ::-1].copy()
        return y

    def launching(x):
        """A kernel, from the host."""

    swaps.host(on_host, produces="pairs")(numpy_swap)
    swaps.host(then_on_host, produces="pairs")(launching)
    found = rows(bench.measure(swaps, CpuMachine()))
    assert found["numpy_swap"]["clock"] == "host" and found["numpy_swap"]["bandwidth_gb_s"] > 0
    assert found["launching"]["clock"] == "the CPU machine's, not a GPU's"
    assert found["numpy_swap"]["counters"] == {"missing": "what the host does is not counted"}


def test_a_sweep_counts_every_grid(swaps):
    swaps.sweep = Sweep(plan, ("once",), blocks=(4, 8, 16))  # 512 elements need 8 blocks of 64
    result = bench.measure(swaps, CpuMachine())
    found = {row["blocks"]: row for row in result["sweep"]["rows"]}
    assert "got nan at index 256" in found[4]["failure"]
    assert not found[8]["failure"]
    assert found[8]["counters"]["warp_instructions"] < found[16]["counters"]["warp_instructions"]
    assert "WRONG" in shown(result)


def test_progress_is_told(swaps):
    said = []
    bench.measure(swaps, CpuMachine(), say=lambda what, done, total: said.append((what, done, total)))
    assert any(what.startswith("once: right for n = 33") for what, *_ in said)
    assert all(done <= total for _, done, total in said)
    assert said[0][1] == 0


# --- on a GPU --------------------------------------------------------------------------------------------------------

BYTES = 2 * 4 * 2 * SIZE  # read and written at the size for a GPU


def test_fractions_are_of_the_ceilings_measured_in_the_same_process(swaps, on_gpu):
    second = BYTES / 2000e9  # 2,000 GB/s
    result = on_gpu(swaps, {"twice": [2 * second], "once": [second]})
    entry = rows(result)["once"]
    assert entry["clock"] == "GPU events"
    assert entry["bandwidth_gb_s"] == pytest.approx(2000)
    assert entry["fraction_of_copy"] == pytest.approx(0.5)
    assert entry["fraction_of_read"] == pytest.approx(2000 / 4400)
    assert entry["counters"]["n"] == SIZE and result["n"] == 2 * SIZE  # counted where the CPU machine can
    text = shown(result)
    assert "50.0" in text and "GB/s" in text and "copy 4,000 GB/s" in text and "CPU\u00a0machine" not in text


@pytest.mark.parametrize(
    ("new", "decision", "words"),
    [
        ([4e-6, 4.1e-6, 3.9e-6, 4e-6], "keep", "faster by 6.00 us, more than the spread of both"),
        ([9.9e-6, 10.4e-6, 9.5e-6, 9.9e-6], "revert", "no faster: 100 ns apart, within the spread of both"),
        ([15e-6], "revert", "slower by 5.00 us"),
    ],
)
def test_the_clock_decides_on_a_gpu(swaps, on_gpu, new, decision, words):
    made = rows(on_gpu(swaps, {"twice": [10e-6], "once": new}))["once"]["log"]
    assert made["decision"] == decision
    assert words in made["why"]
    assert made["speed_up"] == pytest.approx(10e-6 / np.median(new), rel=0.05)
    assert made["result"].startswith("10.0 us -> ")


def test_more_than_the_memory_can_give_is_cached_or_miscounted(swaps, on_gpu):
    result = on_gpu(swaps, {"twice": [1e-6], "once": [1e-9 * 2000]}, peak_gb_s=5)
    (remark,) = (r for r in rows(result)["twice"]["timing"]["remarks"] if "cached" in r)
    assert "miscounted" in remark
    assert f"twice: {remark}" in " ".join(shown(result).split())


def test_a_race_is_reverted_however_fast(swaps, on_gpu):
    swaps.kernel(plan, against="once", rises=("shared_load_requests",), hazard="race_shared", produces="pairs")(hurried)
    made = rows(on_gpu(swaps, {"twice": [9e-6], "once": [8e-6], "hurried": [1e-6]}))["hurried"]
    assert (made["status"], made["log"]["decision"]) == ("race", "revert")


def test_what_a_race_does_to_the_answer_on_a_gpu_is_shown_and_not_timed(swaps, on_gpu, monkeypatch):
    def raced(kernel, problem, block, device):
        made = plan(kernel, problem, block, device)
        lost = lambda: made.answer() + (device.name == "gpu")  # noqa: E731  # on a GPU the other thread was faster
        return dataclasses.replace(made, answer=lost)

    swaps.kernel(raced, against="once", rises=("shared_load_requests",), hazard="race_shared", produces="x")(hurried)
    result = on_gpu(swaps, {"twice": [9e-6], "once": [8e-6], "hurried": [1e-6]})
    made = rows(result)["hurried"]
    assert (made["status"], made["log"]["decision"], made["timing"]) == ("race", "revert", None)
    assert "and the answer is wrong" in made["log"]["why"]
    text = " ".join(shown(result).split())
    assert "race, WRONG" in text and "It shows: hurried is wrong here: n = " in text


def test_different_clocks_are_not_compared(swaps, on_gpu):
    def slow_host(kernel, problem, block, device):
        made = plan(kernel, problem, block, device)
        return Plan(made.answer, made.launches, outputs=made.outputs, bytes_moved=made.bytes_moved, clock="host")

    swaps.kernel(slow_host, name="by_host", against="once", stays=("branches",), produces="pairs")(once)
    made = rows(on_gpu(swaps, {"twice": [9e-6], "once": [8e-6]}))["by_host"]
    assert made["clock"] == "host" and made["fraction_of_copy"] is None
    assert made["log"]["decision"] is None and "another clock" in made["log"]["why"]


def test_what_does_not_fit_is_refused_before_it_is_made(swaps):
    made = []
    honest = swaps.problem
    swaps.problem = lambda n, *rest: made.append(n) or honest(n, *rest)
    with pytest.raises(
        GpukitError, match=r"n = 1,000,000 elements need about 12\.\d MB of memory and the GPU has 5\.0 MB"
    ):
        bench.measure(swaps, Gpu(memory_bytes=5_000_000), n=1_000_000)
    assert max(made) <= memory.DOUBLE


def test_memory_that_runs_out_is_a_sentence(swaps, monkeypatch):
    class OutOfMemoryError(MemoryError):
        """As CuPy's."""

    def full(n, kind, rng, device):
        raise OutOfMemoryError("Out of memory allocating 4 bytes")

    honest = swaps.problem
    swaps.problem = lambda n, *rest: full(n, *rest) if n == SIZE + 1 else honest(n, *rest)
    with pytest.raises(GpukitError, match="do not fit into the memory of this computer"):
        bench.measure(swaps, CpuMachine(), n=SIZE + 1)


# --- the log on the CPU machine --------------------------------------------------------------------------------------


def test_counters_decide_on_the_cpu_machine(swaps):
    swaps.kernel(plan, against="twice", falls=("barriers",), name="hopeful", produces="pairs")(once)
    swaps.kernel(plan, against="once", rises=("global_store_requests",), name="worse", produces="pairs")(twice)
    found = {key: entry["log"] for key, entry in rows(bench.measure(swaps, CpuMachine())).items()}
    assert (found["once"]["decision"], found["once"]["why"]) == ("keep", "counters only: they moved as expected")
    assert found["once"]["result"] == "global store requests 32 -> 16"
    assert found["once"]["speed_up"] is None
    assert found["hopeful"]["decision"] == "revert"
    assert found["hopeful"]["why"] == "counters only: barriers was to fall, and did not"
    assert found["worse"]["decision"] == "revert" and "nothing costs less" in found["worse"]["why"]
    assert found["twice"]["decision"] is None


def test_rungs_that_leave_different_things_are_not_compared_silently(swaps):
    swaps.kernel(plan, against="once", falls=("barriers",), name="half", produces="half of the pairs")(once)
    found = rows(bench.measure(swaps, CpuMachine()))["half"]["log"]["result"]
    assert found == "unchanged: barriers (was to fall); it leaves half of the pairs, once pairs"


def test_more_lanes_at_work_are_a_gain():
    assert log.is_gain("active_lanes_per_instruction", 5, 20)
    assert not log.is_gain("global_load_sectors", 5, 20)


def test_the_racing_rung_of_the_reductions_is_reverted():
    result = rows(
        bench.measure(find_family("reduction"), CpuMachine(), n=4096, rungs=["last_warp_volatile", "compact"])
    )
    assert result["compact"]["log"]["decision"] == "keep"
    volatile = result["last_warp_volatile"]
    assert (volatile["status"], volatile["log"]["decision"]) == ("race", "revert")
    assert volatile["hazards"][0]["kind"] == "race_shared"


# --- in a terminal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_table_fits_and_never_calls_the_cpus_time_a_gpus(swaps, width):
    text = shown(bench.measure(swaps, CpuMachine()), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert "machine" in text and "GB/s" not in text and "% of" not in text
    assert "say nothing about a GPU" in " ".join(text.split())
    assert "once, against twice" in text and "-> keep (counters only: they moved as expected)" in text


def test_many_counters_stand_in_a_table_of_their_own(swaps):
    swaps.counters = ("global_store_requests", "global_load_requests", "shared_load_requests", "warp_instructions")
    result = bench.measure(swaps, CpuMachine())

    def headings(width):
        text = shown(result, width)
        assert max(map(len, text.splitlines())) <= width and "…" not in text
        return sum("rung" in line.split() for line in text.splitlines())

    assert headings(100) == 1
    assert headings(60) == 2


# --- what was measured elsewhere -------------------------------------------------------------------------------------


def test_a_recording_is_found_by_family_and_is_the_newest(tmp_path, monkeypatch):
    for name, family, device, date in (
        ("a", "transfer", "gpu", "2026-01-01"),
        ("b", "transfer", "gpu", "2026-03-01"),
        ("c", "transfer", "cpu", "2026-05-01"),
        ("d", "reduction", "gpu", "2026-06-01"),
    ):
        text = json.dumps({"family": family, "device": device, "machine": {"date": date}})
        (tmp_path / f"bench_{name}.json").write_text(text)
    monkeypatch.setattr(recorded, "data_files", lambda pattern: sorted(tmp_path.glob(pattern.rpartition("/")[2])))
    assert recorded.newest("transfer")["file"] == "bench_b.json"
    assert recorded.newest("coalescing") is None


def test_a_family_for_gpus_alone_shows_what_was_recorded(swaps, on_gpu, tmp_path, monkeypatch):
    made = on_gpu(swaps, {"twice": [10e-6], "once": [5e-6]})
    (tmp_path / "bench_swaps.json").write_text(json.dumps(made))
    monkeypatch.setattr(recorded, "data_files", lambda pattern: sorted(tmp_path.glob(pattern.rpartition("/")[2])))
    alone = Family("swaps", problem, ("random",), (33,), (64,), ("branches",), block=64)
    alone.kernel(plan, machines=("gpu",), produces="pairs")(once)
    result = bench.measure(alone, CpuMachine())
    assert result["rungs"][0]["status"] == "not run"
    assert result["recorded"]["rungs"] == made["rungs"]
    text = io.StringIO()
    table.show_recorded(result["recorded"], "swaps", Console(file=text, width=100))
    assert "Recorded, not measured here: Test, 2026-01-01 (data/results/bench_swaps.json)" in text.getvalue()
    assert "5.00 us" in text.getvalue()
    text = io.StringIO()
    table.show_recorded(None, "swaps", Console(file=text, width=100))
    assert "no recording of it comes with gpukit" in text.getvalue()


def test_published_figures_name_their_gpu():
    ladders = recorded.published("reduction")
    assert ladders and all(ladder["gpu"] and ladder["source"] and ladder["n"] for ladder in ladders)
    keys = find_family("reduction").rungs
    assert all(key in keys for ladder in ladders for key in ladder["values"])
    assert recorded.published("no_such_family") == []
    entries = [{"key": key, "bandwidth_gb_s": None} for key in keys]
    text = io.StringIO()
    table.show_published(
        {"family": "reduction", "device": "cpu", "rungs": entries}, ladders, Console(file=text, width=100)
    )
    assert "T4, n = 16,777,216" in " ".join(text.getvalue().split()) and "1.635" in text.getvalue()


def test_figures_of_a_gpu(swaps, on_gpu, tmp_path, monkeypatch):
    swaps.sweep = Sweep(plan, ("once",), blocks=(32, 64))
    times = {"twice": [10e-6], "once": [5e-6], "once, 32 blocks": [6e-6], "once, 64 blocks": [5e-6]}
    result = on_gpu(swaps, times)
    assert [row["bandwidth_gb_s"] for row in result["sweep"]["rows"]] == pytest.approx([BYTES / 6e3, BYTES / 5e3])
    said = []
    result["machine"] |= {"gpu": "NVIDIA H200", "sms": 132}
    made = figures.draw(result, swaps, tmp_path, said.append)
    assert {path.name for path in made} >= {"ladder.png", "roofline.png", "sweep.png", "lanes.png", "sectors_once.png"}
    assert not said
    result["machine"]["gpu"] = "Voodoo"
    made = figures.draw(result, swaps, tmp_path, said.append)
    assert said == ["no roofline: gpukit has no specifications of Voodoo"]
