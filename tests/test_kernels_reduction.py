"""The reduction ladder: exact figures of every rung, what each lesson claims, and what must be refused or found."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit import checking, cuda, devices, registry
from gpukit.compilers import toolkit
from gpukit.errors import GpukitError
from gpukit.kernels import reduction
from gpukit.kernels.reduction import FAMILY, down_to_64, two_of

CPU = devices.device("cpu")
NO_COMPILER = toolkit.why_no_nvrtc()
N = 1 << 20
KERNELS = [rung for rung in FAMILY.rungs.values() if rung.kernel is not None]
NUMBA = [rung for rung in KERNELS if rung.language == registry.NUMBA]

needs_compiler = pytest.mark.skipif(bool(NO_COMPILER), reason=NO_COMPILER or "")


def rungs(of):
    """The rungs as pytest parameters, those in C++ skipped where there is no compiler."""
    marks = {registry.CPP: [needs_compiler]}
    return [pytest.param(rung, id=rung.key, marks=marks.get(rung.language, [])) for rung in of]


@functools.cache
def problem(n=N, kind="random"):
    return FAMILY.problem(n, kind, np.random.default_rng(0), CPU)


def given(data, expected=None):
    """A problem of these very numbers, of an exact sum."""
    total = data.sum(dtype=np.int64 if data.dtype.kind == "i" else np.float64) if expected is None else expected
    return registry.Problem(data.size, "given", {"data": data}, np.asarray(total))


def run(plan, level=None, hazards=False):
    """(counters of all launches together, reports) of a plan run once at a level."""
    devices.poison(plan)
    devices.restore(plan)
    reports = [
        gpukit.profile(
            *(one.kernel, one.grid, one.block, *one.args),
            shared_bytes=one.shared_bytes,
            hazards=hazards,
            level=level,
        )
        for one in plan.launches
    ]
    names = {name for report in reports for name in report.counters}
    return {name: sum(report.counters[name] for report in reports) for name in names}, reports


@functools.cache
def counters(key, level=None, block=256, n=N):
    """The counters of a rung on n random floats, whose sum is checked."""
    rung = FAMILY.rungs[key]
    plan = rung.plan(problem(n), block, CPU)
    found, _ = run(plan, level)
    wrong = checking.compare(rung, problem(n), block, np.asarray(plan.answer()))
    assert wrong is None, str(wrong)
    return found


# --- exact figures ---------------------------------------------------------------------------------------------------

COLUMNS = (
    *("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors"),
    *("shared_load_requests", "shared_store_requests", "shared_load_wavefronts", "shared_load_bank_conflicts"),
    *("barriers", "divergent_branches", "warp_synchronisations", "global_atomics", "branches", "warp_instructions"),
)
# 2^20 random floats, blocks of 256; numba rungs at source level, C++ as compiled.
TABLE = """
naive                    227328 1046528 114688 524288      0      0      0      0 18432  98304     0  0 163840 2148352
compact                   83968 1046528  43008 524288      0      0      0      0 18432  12288     0  0 163840 1585152
sequential                83968  272384  43008 137216      0      0      0      0 18432  12288     0  0 163840 1273856
shared_interleaved        32768  131072   4096   4096 389120 225280 389120      0 36864 196608     0  0 327680 3395584
shared_strided            32768  131072   4096   4096 102400  81920 389120 286720 36864  24576     0  0 327680 2678784
shared_sequential         32768  131072   4096   4096 102400  81920 102400      0 36864  24576     0  0 327680 2187264
first_add                 32768  131072   2048   2048  51200  40960  51200      0 18432  12288     0  0 180224 1241088
last_warp_volatile        32768  131072   2048   2048  51200  40960  51200      0  6144   2048     0  0  98304  684032
last_warp_syncwarp        32768  131072   2048   2048  40960  40960  40960      0  6144   2048 24576  0  98304  739328
last_warp_shuffle         32768  131072   2048   2048  28672  28672  28672      0  6144   2048 10240  0  83968  655360
unrolled                  32768  131072   2048   2048  28672  28672  28672      0  6144   2048 10240  0  83968  473088
shuffle                   32768  131072   2048   2048   2048  16384   2048      0  2048  20480 92160  0  83968  884736
grid_stride               32768  131072     64     64     64    512     64      0    64    640  2880  0  34880  219136
coarsened                 32768  131072     64     64     64    512     64      0    64    640  2880  0   1600  174592
cpp:first_add             32768  131072   2048   2048  51200  40960  51200      0 18432  12288     0  0 180224 1318912
cpp:last_warp_volatile    32768  131072   2048   2048  51200  40960  51200      0  6144   2048     0  0  98304  720896
cpp:last_warp_syncwarp    32768  131072   2048   2048  40960  40960  40960      0  6144   2048 24576  0  98304  735232
cpp:last_warp_shuffle     32768  131072   2048   2048  28672  28672  28672      0  6144   2048 10240  0  83968  667648
cpp:unrolled              32768  131072   2048   2048  14336  28672  14336      0  6144   2048 10240  0  98304  526336
cpp:shuffle               32768  131072   2048   2048   2048  16384   2048      0  2048  20480 92160  0  83968  628736
cpp:grid_stride           32768  131072     64     64     64    512     64      0    64    640  2880  0  34880  243904
cpp:grid_stride_signed    32768  131072     64     64     64    512     64      0    64    640  2880  0  11840  176832
cpp:vectorized             8192  131072     64     64     64    512     64      0    64    640  2880  0  10816   98496
cpp:vectorized_unrolled    8192  131072     64     64     64    512     64      0    64    640  2880  0   5696   96960
finish_second_launch      32770  131080     65     65     65    520     65      0    65    650  2925  0  34915  219500
finish_atomic             32768  131072      0      0     64    512     64      0    64    640  2880 64  34880  219136
finish_last_block         32770  131080     65     65    577    584    577      0   129    650  2925 64  34979  221994
finish_grid_sync          32770  131080     65     65     65    520     65      0   129    650  2925  0  34915  221026
cpp:finish_second_launch  32770  131080     65     65     65    520     65      0    65    650  2925  0  34915  244127
cpp:finish_atomic         32768  131072      0      0     64    512     64      0    64    640  2880 64  34880  243776
cpp:finish_last_block     32770  131080     65     65    577    584    577      0   129    650  2925 64  34915  247917
cpp:finish_grid_sync      32834  131144     65     65     65    520     65      0   193    714  2925 64  35491  253008
"""
FIGURES = {
    key: dict(zip(COLUMNS, map(int, figures), strict=True))
    for key, *figures in (line.split() for line in TABLE.strip().splitlines())
}

# Why the compiled level of a numba rung counts something else than its source.
IN_32_BITS = "a remainder of 64 bits is computed in 32 where both numbers are small: one more branch for each"
IN_A_REGISTER = "a lane's own sum stays in a register instead of being read back: 5 loads fewer a block"
UNROLLED = "the assembler unrolls the loop over the data by four: fewer tests"

# Rung -> (counters that differ, reason).
COMPILED = {
    "naive": ({"branches": 311296}, IN_32_BITS),
    "shared_interleaved": ({"branches": 589824}, IN_32_BITS),
    "last_warp_volatile": ({"shared_load_requests": 40960, "shared_load_wavefronts": 40960}, IN_A_REGISTER),
    "grid_stride": ({"branches": 11840}, UNROLLED),
    "finish_second_launch": ({"branches": 11881}, UNROLLED),
    "finish_atomic": ({"branches": 11840}, UNROLLED),
    "finish_last_block": ({"branches": 11875}, UNROLLED),
    "finish_grid_sync": ({"branches": 11875}, UNROLLED),
}

# Instructions of the numba rungs when compiled. They are more than the operations of the source, about twice as many
# in the trees: the compiler spells out addresses, and numba's indices may be negative and wrap round.
INSTRUCTIONS = {
    "naive": 4528128,
    "compact": 4442112,
    "sequential": 2451456,
    "shared_interleaved": 8445952,
    "shared_strided": 3588096,
    "shared_sequential": 3276800,
    "first_add": 1835008,
    "last_warp_volatile": 1267712,
    "last_warp_syncwarp": 1292288,
    "last_warp_shuffle": 1163264,
    "unrolled": 854016,
    "shuffle": 1050624,
    "grid_stride": 312384,
    "coarsened": 311360,
    "finish_second_launch": 312803,
    "finish_atomic": 312000,
    "finish_last_block": 320061,
    "finish_grid_sync": 314869,
}


def nearly(figures):
    """The figures as expected of a compiler: the next version of it may choose some other instructions."""
    return figures | {"warp_instructions": pytest.approx(figures["warp_instructions"], rel=0.03)}


@pytest.mark.parametrize("rung", rungs(KERNELS))
def test_the_figures_of_every_rung(rung):
    found = counters(rung.key)
    expected = FIGURES[rung.key] if rung.language == registry.NUMBA else nearly(FIGURES[rung.key])
    assert {name: found[name] for name in COLUMNS} == expected


@needs_compiler
@pytest.mark.parametrize("rung", rungs(NUMBA))
def test_the_compiled_level_differs_only_where_there_is_a_reason(rung):
    found = counters(rung.key, "compiled")
    differs, _ = COMPILED.get(rung.key, ({}, ""))
    expected = nearly(FIGURES[rung.key] | differs | {"warp_instructions": INSTRUCTIONS[rung.key]})
    assert {name: found[name] for name in COLUMNS} == expected


@needs_compiler
@pytest.mark.parametrize("rung", rungs(r for r in NUMBA if "warp_instructions" in r.falls))
def test_instructions_fall_when_compiled_too(rung):
    new, old = counters(rung.key, "compiled"), counters(rung.against, "compiled")
    assert new["warp_instructions"] < old["warp_instructions"]


# --- right everywhere ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rung", rungs(FAMILY.rungs.values()))
def test_a_long_and_awkward_length(rung):
    if "cpu" not in rung.machines:
        pytest.skip("needs a GPU")
    failures = checking.check(FAMILY, [rung], CPU, [N + 3], [FAMILY.block])[rung.key]
    assert not failures, str(failures[0])


@needs_compiler
@pytest.mark.parametrize("rung", rungs(NUMBA))
def test_the_compiled_level_is_right_too(rung):
    for n in (0, 1, 31, 32, 33, 511, 513, 5000):
        for kind in FAMILY.kinds:
            for block in (64, 256, 1024):
                plan = rung.plan(problem(n, kind), block, CPU)
                run(plan, "compiled")
                wrong = checking.compare(rung, problem(n, kind), block, np.asarray(plan.answer()))
                assert wrong is None, str(wrong)


@pytest.mark.parametrize("rung", rungs(KERNELS))
def test_one_element_more_or_less_than_a_tile(rung):
    """Nothing is read past the end either, which would not change a sum of the CPU machine's: it reads 0 there."""
    for n in (2047, 2048, 2049, 4095, 4097, 12_287, 12_289):
        plan = rung.plan(problem(n, "ones"), 256, CPU)
        _, reports = run(plan, hazards=True)
        assert plan.answer() == n
        assert {hazard.kind for report in reports for hazard in report.hazards} <= {rung.hazard}


@pytest.mark.parametrize("rung", rungs(r for r in KERNELS if not r.name.startswith(("last_warp", "unrolled"))))
def test_blocks_of_one_warp(rung):
    for n in (0, 1, 33, 1000):
        assert checking.check_case(rung, problem(n, "ones"), 32, CPU) is None


@pytest.mark.parametrize("rung", rungs(KERNELS))
@pytest.mark.parametrize("block", [16, 48, 96, 2048])
def test_blocks_that_cannot_be_halved_are_refused(rung, block):
    with pytest.raises(GpukitError, match=rf"^{rung.name}.* {block} threads per block.* power of two from (32|64) to"):
        rung.plan(problem(1000), block, CPU)


@pytest.mark.parametrize("key", ["last_warp_shuffle", "cpp:last_warp_volatile", "unrolled", "cpp:unrolled"])
def test_a_tail_of_64_values_needs_64_threads(key):
    with pytest.raises(GpukitError, match=r"32 threads per block.* power of two from 64 to 1024"):
        FAMILY.rungs[key].plan(problem(1000), 32, CPU)


def test_more_elements_than_an_int32_counts_are_refused():
    with pytest.raises(GpukitError, match="2,147,483,648 ones does not fit in an int32"):
        FAMILY.problem(1 << 31, "ones", np.random.default_rng(0), CPU)


@needs_compiler
@pytest.mark.parametrize("rung", rungs(NUMBA))
def test_numba_rungs_compute_every_index_in_64_bits(rung):
    """So that 2^29 elements and more are no matter: no product of 32 bits is left but that of a small division."""
    from gpukit.compilers import numba_ptx

    plan = rung.plan(problem(5000), 256, CPU)
    for launch in plan.launches:
        text = numba_ptx.compile_numba(launch.kernel, launch.args).text
        assert re.search(r"(mul|mad)\.(wide\.[su]32|lo\.[su]64)", text)
        # compact divides the block size by the stride, in 32 bits where both are small, and multiplies back.
        assert re.findall(r"(?:mul|mad)\.lo\.[su]32", text) == ["mul.lo.s32"] * (rung.name == "compact")


# --- what a check can see --------------------------------------------------------------------------------------------


def test_one_dropped_element_in_2_to_the_26_fails():
    n = 1 << 26
    rung = FAMILY.rungs["coarsened"]
    ones = FAMILY.problem(n, "ones", np.random.default_rng(0), CPU)
    plan = rung.plan(ones, 256, CPU)
    assert checking.compare(rung, ones, 256, checking.answer_of(plan, CPU)) is None
    ones.arrays["data"][n // 3] = 0  # what a kernel that skips an element would answer
    failure = checking.compare(rung, ones, 256, checking.answer_of(plan, CPU))
    assert failure is not None and (failure.got, failure.expected) == (n - 1, n)


@pytest.mark.parametrize("rung", rungs(KERNELS))
def test_a_dropped_block_fails_on_random_numbers(rung):
    plan = rung.plan(problem(), 256, CPU)
    share = problem().expected / max(launch.grid for launch in plan.launches)
    answer = checking.answer_of(plan, CPU)
    assert checking.compare(rung, problem(), 256, answer) is None
    assert checking.compare(rung, problem(), 256, answer - share) is not None


def test_the_bound_holds_for_the_longest_chain_of_additions():
    """Each addition rounds to half a unit in the last place; 336 additions in a row are the most at 2^20."""
    bound = reduction.relative_bound(N, CPU)
    assert 336 * 2.0**-24 <= bound < 400 * 2.0**-24


def test_in_place_rungs_work_on_a_copy():
    rung = FAMILY.rungs["sequential"]
    before = problem().arrays["data"].copy()
    plan = rung.plan(problem(), 256, CPU)
    for _ in range(2):  # the second run needs the first one's damage undone
        assert checking.compare(rung, problem(), 256, checking.answer_of(plan, CPU)) is None
    assert (problem().arrays["data"] == before).all()
    (scratch,) = [array for array, _ in plan.restores]
    assert (scratch[:N] != before).any()


# --- lessons ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["source", pytest.param("compiled", marks=needs_compiler)])
def test_the_last_64_values_by_barriers_and_by_shuffles(level):
    """One block of 64: lane 0 makes 18 shared accesses and 6 barriers, or 2 reads and 5 exchanges."""
    tree, tail = counters("first_add", level, 64, 128), counters("last_warp_shuffle", level, 64, 128)
    # Besides the 6 steps: every warp stores what it loaded, all wait once, thread 0 reads the sum.
    accesses = tree["shared_load_requests"] - 1 + tree["shared_store_requests"] - 2
    assert (accesses, tree["barriers"] - 1, tree["warp_synchronisations"]) == (18, 6, 0)
    assert tail["shared_load_requests"] == 2 and tail["warp_synchronisations"] == 5
    assert (tail["shared_store_requests"] - 2, tail["barriers"] - 1) == (0, 0)


@pytest.mark.parametrize("level", ["source", pytest.param("compiled", marks=needs_compiler)])
def test_256_elements_a_thread_make_the_fold_128_times_cheaper(level):
    blocks = N // (256 * 256)
    plan = reduction.plan_with_grid(reduction.grid_stride, problem(), 256, CPU, blocks)
    cascade, _ = run(plan, level)
    two = counters("shuffle", level)
    for name in ("barriers", "warp_synchronisations", "shared_load_requests", "shared_store_requests"):
        assert two[name] == 128 * cascade[name]
    assert two["global_load_requests"] == cascade["global_load_requests"]


@pytest.mark.parametrize("level", ["source", pytest.param("compiled", marks=needs_compiler)])
def test_bank_conflicts_of_each_stride(level):
    """One block of 1,024: stride 1 is a 2-way conflict, 2 a 4-way one, up to 32; a way more is a wavefront more."""
    found = counters("shared_strided", level, 1024, 1024)
    # (loads of a step: two a warp) x (ways - 1); from stride 16 on one warp or less is left.
    ways = [(16, 2), (8, 4), (4, 8), (2, 16), (1, 32), (1, 16), (1, 8), (1, 4), (1, 2), (1, 1)]
    assert found["shared_load_bank_conflicts"] == sum(2 * warps * (way - 1) for warps, way in ways)


@cuda.jit
def tail_with_unsigned_index(data, partial):
    tile = cuda.shared.array(0, data.dtype)
    tid = np.uint32(cuda.threadIdx.x)
    tile[tid] = two_of(data)
    cuda.syncthreads()
    down_to_64(tile)
    if tid < 32:
        tile[tid] += tile[tid + 32]
        tile[tid] += tile[tid + 16]
        tile[tid] += tile[tid + 8]
        tile[tid] += tile[tid + 4]
        tile[tid] += tile[tid + 2]
        tile[tid] += tile[tid + 1]
    if tid == 0:
        partial[cuda.blockIdx.x] = tile[0]


@needs_compiler
def test_without_volatile_the_tail_is_right_by_luck():
    """Once the compiler knows that the elements differ, it stores only the last of six sums: nobody sees the others."""
    answers, stores = {}, {}
    for kernel in (reduction.last_warp_volatile, tail_with_unsigned_index):
        ones = problem(5120, "ones")
        plan = reduction.last_warp(kernel, ones, 256, CPU)
        for level in ("source", "compiled"):
            found, reports = run(plan, level, hazards=True)
            assert {hazard.kind for hazard in reports[0].errors} == {"race_shared"}
            answers[kernel, level] = int(plan.answer())
            stores[kernel, level] = found["shared_store_requests"]
    right = reduction.last_warp_volatile
    assert answers[right, "source"] == answers[right, "compiled"] == 5120
    assert stores[right, "source"] == stores[right, "compiled"] == 20 * 10
    assert answers[tail_with_unsigned_index, "source"] == 5120
    assert answers[tail_with_unsigned_index, "compiled"] < 5120
    assert stores[tail_with_unsigned_index, "source"] - stores[tail_with_unsigned_index, "compiled"] == 5 * 10


@needs_compiler
@pytest.mark.parametrize("key", ["last_warp_volatile", "last_warp_syncwarp", "last_warp_shuffle"])
def test_the_tails_at_the_compiled_level(key):
    rung = FAMILY.rungs[key]
    _, (report,) = run(rung.plan(problem(5000), 256, CPU), "compiled", hazards=True)
    assert {hazard.kind for hazard in report.errors} == ({rung.hazard} if rung.hazard else set())


@needs_compiler
@pytest.mark.parametrize("n", [0, 1, 3, 5, 16, 31, 66, 1000, 4099, 20_003])
@pytest.mark.parametrize("begin", [0, 1, 2, 3])
def test_wide_loads_of_a_view_that_begins_anywhere(n, begin):
    data = np.arange(1, n + begin + 1, dtype=np.int32)[begin:] % 1000
    whole = np.zeros(n + begin, np.int32)
    view = whole[begin:]
    view[:] = data
    rung = FAMILY.rungs["cpp:vectorized_unrolled"]
    for block in (32, 256):
        plan = rung.plan(given(view), block, CPU)
        _, (report,) = run(plan, hazards=True)
        assert not report.hazards
        assert plan.answer() == view.sum()


@needs_compiler
def test_wide_loads_that_are_not_aligned_are_refused_and_found():
    rung = FAMILY.rungs["cpp:vectorized"]
    view = np.ones(4097, np.int32)[1:]
    with pytest.raises(GpukitError, match=r"begins 4 bytes past a multiple of 16.*vectorized_unrolled"):
        rung.plan(given(view), 256, CPU)
    partial = np.zeros(4, np.int32)
    kernel = rung.kernel.compiled()
    report = gpukit.check(kernel, 4, 256, view, partial, np.uint32(view.size), raise_=False)
    assert {hazard.kind for hazard in report.errors} == {"misaligned_access"}


@needs_compiler
def test_wide_loads_of_floats_add_every_element_once():
    rung = FAMILY.rungs["cpp:vectorized_unrolled"]
    data = np.zeros(20_003 + 1, np.float32)[1:]
    for where in (0, 2, 3, 8190, 8195, 16_383, 20_000, 20_002):
        data[:] = 0
        data[where] = 1
        assert checking.answer_of(rung.plan(given(data), 256, CPU), CPU) == 1


@needs_compiler
def test_an_index_that_may_wrap_round_is_not_unrolled():
    """64 elements a thread in 8 x 64 warps: a test for each, or for four together after up to three single ones."""
    unsigned, signed = counters("cpp:grid_stride"), counters("cpp:grid_stride_signed")
    warps, rest = 64 * 8, counters("cpp:vectorized_unrolled")["branches"] - 64 * 8 * 4
    assert rest > 0
    assert unsigned["branches"] - signed["branches"] == warps * (64 - 64 // 4 - 3)
    for name in ("global_load_requests", "global_load_sectors"):
        assert unsigned[name] == signed[name]


def test_finishes_leave_one_number_and_the_others_partial_sums():
    for rung in FAMILY.rungs.values():
        if rung.kernel is None or rung.language == registry.CPP:
            continue
        plan = rung.plan(problem(), 256, CPU)
        written = min(array.size for array in plan.outputs)
        assert (written == 1) == rung.name.startswith("finish_") == (rung.produces == reduction.TOTAL)


# --- the exercise of the grid size -----------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", FAMILY.sweep.blocks)
@pytest.mark.parametrize("rung", rungs(FAMILY.rungs[key] for key in FAMILY.sweep.rungs))
def test_any_grid_gives_the_sum(rung, blocks):
    plan = FAMILY.sweep.plan(rung.kernel, problem(), 256, CPU, blocks)
    (launch,) = plan.launches
    assert launch.grid == blocks
    found, _ = run(plan)
    assert checking.compare(rung, problem(), 256, np.asarray(plan.answer())) is None
    assert found["global_load_sectors"] == 131_072  # what is read does not depend on the grid
    assert found["barriers"] == blocks  # what a block costs does


def test_a_grid_without_blocks_is_refused():
    with pytest.raises(GpukitError, match="cannot run with 0 blocks"):
        reduction.plan_with_grid(reduction.coarsened, problem(), 256, CPU, 0)


def test_the_grids_of_a_gpu_and_of_the_cpu_machine():
    assert reduction.fixed_grid(1 << 29, 256, CPU) == 1056  # 132 SMs x 8
    assert reduction.coarse_grid(1 << 29, 256) == 16_384
    assert reduction.fixed_grid(N, 256, CPU) == reduction.coarse_grid(N, 256) == 64  # 64 elements a thread
    assert reduction.fixed_grid(0, 256, CPU) == 4


# --- figures of others -----------------------------------------------------------------------------------------------


def test_published_ladders_name_our_rungs_and_their_gpus():
    from gpukit.gpus import find_gpu

    path = Path(__file__).parents[1] / "data/results/published_reductions.json"
    ladders = json.loads(path.read_text(encoding="utf-8"))["ladders"]
    assert len(ladders) == 3
    for ladder in ladders:
        assert find_gpu(ladder["gpu"]) and ladder["source"] == "published course material"
        assert ladder["unit"] in ("milliseconds", "gb_s", "share_of_peak")
        assert set(ladder["values"]) <= set(FAMILY.rungs)
        assert set(ladder["published_names"]) <= set(ladder["values"])
