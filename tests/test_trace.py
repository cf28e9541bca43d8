"""Traces: what is recorded is what ran, lane by lane, and adds up to the counters of the report."""

import json

import numpy as np
import pytest

import gpukit
from gpukit import cuda, tracing
from gpukit.errors import LaunchError
from gpukit.kernels import barriers, coalescing, divergence, reduction, spmv
from gpukit.machine import executor
from gpukit.machine.codegen import compile_program

FULL = 0xFFFFFFFF


@cuda.jit
def banks(out, stride):
    first = cuda.shared.array(8, np.int32)
    tile = cuda.shared.array(1024, np.float32)
    tid = cuda.threadIdx.x
    if tid < 8:
        first[tid] = tid
    tile[tid * stride] = tid
    cuda.syncthreads()
    out[tid] = tile[tid * stride] + first[tid % 8]


@cuda.jit
def either(a, b, out):
    i = cuda.grid(1)
    source = a if i % 2 == 0 else b
    out[i] = source[i]


@cuda.jit
def count(bins, x):
    i = cuda.grid(1)
    if i >= x.size:
        return
    cuda.atomic.add(bins, x[i], 1)
    cuda.atomic.add(bins, 0, 1)


@cuda.jit
def pairs(x, y):
    i = cuda.grid(1)
    y[i] = x[i] * x[i]


@cuda.jit
def first_warp(x):
    tid = cuda.threadIdx.x
    if tid >= 40:
        return
    if tid < 32:
        x[tid] += 1
    cuda.syncthreads()
    x[tid] += 1


@cuda.jit
def threads_2d(x):
    x[cuda.threadIdx.y, cuda.threadIdx.x] = 1


# fmt: off
@cuda.jit
def pieces(x, y):
    i = cuda.grid(1)
    total = x[i]
    offset = 16
    while offset > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset) * np.float32(2)
        offset //= 2
    for k in range(3): total += x[k]  # noqa: E701
    y[i] = total
# fmt: on


def lines_of(trace, *text):
    """Steps whose source line contains one of the texts."""
    return [step for step in trace.steps if any(t in trace.lines[step.line].text for t in text)]


def bits(lanes):
    return sum(1 << lane for lane in lanes)


def ints(n, high=10):
    return np.random.default_rng(5).integers(0, high, n).astype(np.int32)


# --- steps -----------------------------------------------------------------------------------------------------------


def test_naive_masks_are_the_threads_that_the_stride_divides():
    data, partial = ints(512), np.zeros(1, np.int32)
    expect = data.sum()
    trace = gpukit.trace(reduction.naive, 1, 256, data, partial)
    assert partial[0] == expect and not trace.truncated
    body = lines_of(trace, "data[start + 2 * tid] +=")
    assert len(body) == 9
    for turn, step in enumerate(body):
        active = [t for t in range(256) if t % 2**turn == 0]
        wanted = {w: m for w in range(8) if (m := bits(t % 32 for t in active if t // 32 == w))}
        assert step.active == wanted
        idle = {w: FULL ^ wanted.get(w, 0) for w in range(8) if wanted.get(w, 0) != FULL}
        assert step.waiting == idle and not step.done  # the others stand at the barrier
    barrier = lines_of(trace, "syncthreads")
    assert [step.active for step in barrier] == [dict.fromkeys(range(8), FULL)] * 9
    assert [step.step for step in trace.steps] == list(range(len(trace.steps)))


def test_the_steps_of_a_turn_are_the_lines_in_the_order_they_run():
    trace = gpukit.trace(reduction.sequential, 1, 32, ints(64), np.zeros(1, np.int32))
    texts = [trace.lines[step.line].text.strip().split(" ")[0] for step in trace.steps]
    assert texts == ["tid", "start", "stride"] + ["while", "if", "data[start", "cuda.syncthreads()", "stride"] * 6 + [
        "while",
        "if",
        "partial[cuda.blockIdx.x]",
    ]
    source = [line.text for line in trace.lines]
    assert source[0].startswith(("def sequential", "@cuda.jit")) and trace.lines[0].file.endswith("reduction.py")


def test_a_line_that_the_machine_runs_in_pieces_is_one_step_and_each_turn_of_a_loop_is_its_own():
    x = np.arange(32, dtype=np.float32)
    trace = gpukit.trace(pieces, 1, 32, x, np.zeros(32, np.float32))
    assert len(lines_of(trace, "shfl_down_sync")) == 5
    assert len(lines_of(trace, "for k in range(3)")) == 4  # the last look ends the loop
    loads = [r.step for r in trace.requests if r.kind == "load"]
    assert len(set(loads)) == len(loads) == 4  # one of x[i], three of x[k]
    assert [trace.steps[step].line for step in loads] == [r.line for r in trace.requests if r.kind == "load"]
    assert [step.step for step in trace.steps] == list(range(len(trace.steps)))
    rows = np.array([0, 3, 5], np.int32), np.zeros(5, np.int32), np.ones(5, np.float32)
    trace = gpukit.trace(spmv.row_per_thread, 1, 2, *rows, np.ones(1, np.float32), np.zeros(2, np.float32))
    heads, bodies = lines_of(trace, "for k in range"), lines_of(trace, "total += ")
    assert [step.active for step in bodies] == [{0: 3}, {0: 3}, {0: 1}]
    assert [step.active for step in heads] == [{0: 3}, {0: 3}, {0: 3}, {0: 1}]  # counting on and looking are one


def test_a_branch_per_lane_runs_both_sides_half_empty_and_one_per_warp_one_side_full():
    def sides(kernel):
        trace = gpukit.trace(kernel, 1, 64, np.arange(64, dtype=np.int32), np.zeros(64, np.int32))
        return [step.active for step in lines_of(trace, "y[i] =")]

    assert sides(divergence.by_lane) == [{0: 0x55555555, 1: 0x55555555}, {0: 0xAAAAAAAA, 1: 0xAAAAAAAA}]
    assert sides(divergence.by_warp) == [{0: FULL}, {1: FULL}]


def test_lanes_that_wait_and_lanes_that_have_left():
    trace = gpukit.trace(first_warp, 1, 64, np.zeros(64, np.int32))
    body, after = lines_of(trace, "x[tid] += 1")
    assert body.active == {0: FULL} and body.waiting == {1: 0xFF} and body.done == {1: 0xFFFFFF00}
    assert after.active == {0: FULL, 1: 0xFF} and after.waiting == {} and after.done == {1: 0xFFFFFF00}


def test_blocks_that_run_together_share_step_numbers_and_blocks_of_other_waves_come_later():
    x, y = np.arange(1 << 18, dtype=np.int32), np.zeros(1 << 18, np.int32)
    trace = gpukit.trace(divergence.by_lane, 1024, 256, x, y, blocks=(1, 0, 1000, 1))
    assert trace.blocks == (1, 0, 1000)
    numbers = {block: [s.step for s in trace.steps if s.block == block] for block in trace.blocks}
    assert numbers[0] == numbers[1] and len(numbers[1000]) == len(numbers[0])
    assert min(numbers[1000]) > max(numbers[0])
    offsets = {b: next(r.offsets[0] for r in trace.requests if r.block == b and r.warp == 0) for b in trace.blocks}
    assert offsets == {0: 0, 1: 1024, 1000: 1024_000}
    assert (y == np.where(x % 2 == 0, 3 * x + 1, x // 2)).all()


def test_a_partial_warp_and_threads_in_two_dimensions():
    trace = gpukit.trace(threads_2d, 1, (16, 3), np.zeros((3, 16), np.float64), blocks=0)
    assert trace.threads_per_block == 48 and trace.warps_per_block == 2
    assert trace.steps[-1].active == {0: FULL, 1: 0xFFFF}
    assert [r.offsets for r in trace.requests] == [tuple(range(0, 256, 8)), tuple(range(256, 384, 8))]


# --- requests --------------------------------------------------------------------------------------------------------


def test_addresses_are_those_of_the_index():
    x, y = np.zeros(4096, np.float32), np.zeros(64, np.float32)
    index = ints(64, 4096)
    trace = gpukit.trace(coalescing.gather, 1, 64, x, index, y)
    names = [(trace.arrays[r.array].name, r.kind, r.warp) for r in trace.requests]
    assert names == [(n, k, w) for n, k in (("index", "load"), ("x", "load"), ("y", "store")) for w in (0, 1)]
    for request in trace.requests[2:4]:
        own = index[32 * request.warp : 32 * request.warp + 32]
        assert request.offsets == tuple(4 * own) and request.mask == FULL and request.width == 4
        assert request.cost == np.unique(own // 8).size
        assert request.line == trace.steps[request.step].line and "x[k]" in trace.lines[request.line].text


@pytest.mark.parametrize("stride", [1, 2, 8, 32])
def test_shared_requests_say_where_in_the_blocks_memory_and_how_many_wavefronts(stride):
    trace = gpukit.trace(banks, 1, 32, np.zeros(32, np.float32), stride)
    first, tile = (next(a for a in trace.arrays if a.name == name) for name in ("first", "tile"))
    assert (first.start, first.nbytes, tile.nbytes, tile.dtype) == (0, 32, 4096, "float32") and tile.start >= 32
    loads = [r for r in trace.requests if trace.arrays[r.array].name == "tile" and r.kind == "load"]
    (load,) = loads
    assert load.space == "shared" and load.offsets == tuple(4 * stride * lane for lane in range(32))
    assert load.cost == stride
    in_banks = np.bincount([(tile.start + offset) // 4 % 32 for offset in load.offsets])
    assert in_banks.max() == load.cost  # the documented way from an offset to its bank


def test_an_array_that_does_not_begin_at_a_line_says_so():
    x = cuda.to_device(np.zeros(64, np.int32))[3:35]
    trace = gpukit.trace(threads_2d, 1, (8, 4), x.reshape(4, 8))
    (request,), (array,) = trace.requests, trace.arrays
    positions = [array.start + offset for offset in request.offsets]
    assert len({position // 32 for position in positions}) == request.cost == 5


def test_a_choice_of_arrays_is_one_request_in_two_parts():
    a, b, out = np.ones(32, np.int32), np.ones(32, np.int32), np.zeros(32, np.int32)
    trace = gpukit.trace(either, 1, 32, a, b, out)
    loads = [r for r in trace.requests if r.kind == "load"]
    assert [(trace.arrays[r.array].name, r.mask, r.part) for r in loads] == [("a", 0x55555555, 0), ("b", 0xAAAAAAAA, 1)]
    assert gpukit.profile(either, 1, 32, a, b, out).counters["global_load_requests"] == 1


LAUNCHES = {
    "naive": lambda: (reduction.naive, 3, 128, (ints(768), np.zeros(3, np.int32))),
    "gather": lambda: (coalescing.gather, 2, 96, (np.zeros(999), ints(192, 999), np.zeros(192))),
    "strided": lambda: (coalescing.strided, 2, 64, (np.zeros(999, np.float32), np.zeros(100, np.float32), 33)),
    "block_sum": lambda: (barriers.block_sum, 2, 256, (ints(512), np.zeros(2, np.int32))),
    "banks": lambda: (banks, 2, 32, (np.zeros(32, np.float32), 6)),
    "either": lambda: (either, 2, 32, (np.ones(64), np.ones(64), np.zeros(64))),
    "atomics": lambda: (count, 2, 64, (np.zeros(16, np.int32), ints(100, 16))),
    "complex": lambda: (pairs, 1, 32, (np.ones(32, np.complex64), np.ones(32, np.complex64))),
}


@pytest.mark.parametrize("level", ["source", "compiled"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_a_trace_of_every_block_adds_up_to_the_report(name, level):
    if level == "compiled":
        pytest.importorskip("numba_cuda")
    kernel, grid, block, args = LAUNCHES[name]()
    trace = gpukit.trace(kernel, grid, block, *args, level=level, blocks=range(grid))
    kernel, grid, block, args = LAUNCHES[name]()
    counters = gpukit.profile(kernel, grid, block, *args, level=level, hazards=False).counters
    found = {
        key: 0
        for key in counters
        if key.endswith(("_requests", "_sectors", "_wavefronts", "_bytes", "_atomics"))
        and not key.startswith(("local", "constant"))
    }
    for r in trace.requests:
        key = f"{r.space}_{r.kind}"
        plain = r.kind != "atomic"
        found[f"{key}_requests" if plain else f"{key}s"] += r.part == 0
        if plain and r.space == "global":
            found[f"{key}_bytes"] += r.width * r.mask.bit_count()
        if r.space == "global" or plain:
            found[f"{key}_{'sectors' if r.space == 'global' else 'wavefronts'}"] += r.cost
        assert len(r.offsets) == r.mask.bit_count()
    assert found == {key: counters[key] for key in found}
    assert sum(found.values()) > 0


def test_cuda_cpp_is_traced_too():
    pytest.importorskip("cuda.bindings")
    code = """extern "C" __global__ void twice(const float4* x, float4* y) {
        float4 v = x[threadIdx.x];
        v.x *= 2; v.y *= 2; v.z *= 2; v.w *= 2;
        y[threadIdx.x] = v;
    }"""
    x, y = np.ones(128, np.float32), np.zeros(128, np.float32)
    trace = gpukit.trace(gpukit.RawKernel(code, "twice"), 1, 32, x, y)
    assert (y == 2).all() and trace.level == "compiled"
    assert [(r.kind, r.width, r.cost, r.offsets[1]) for r in trace.requests] == [
        ("load", 16, 16, 16),
        ("store", 16, 16, 16),
    ]
    assert "x[threadIdx.x]" in trace.lines[trace.requests[0].line].text


# --- plain data, bounds, errors --------------------------------------------------------------------------------------


def test_the_data_survive_json():
    trace = gpukit.trace(barriers.block_sum, 2, 256, ints(512), np.zeros(2, np.int32), blocks=(1,))
    data = trace.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert data["blocks"] == [1] and data["warps_per_block"] == 8
    step = data["steps"][0]
    assert step["active"] == {str(warp): FULL for warp in range(8)} and "done" not in step
    spaces = {request["space"]: request for request in data["requests"]}
    assert "sectors" in spaces["global"] and "wavefronts" in spaces["shared"] and "part" not in spaces["shared"]
    assert {r["step"] for r in data["requests"]} <= {s["step"] for s in data["steps"]}


def test_a_long_run_is_cut_off_and_still_ends_right(monkeypatch):
    def run(**bound):
        data, partial = ints(512), np.zeros(1, np.int32)
        expect = data.sum()
        trace = gpukit.trace(reduction.naive, 1, 256, data, partial, **bound)
        assert partial[0] == expect
        return trace

    whole, cut = run(), run(max_steps=20)
    assert cut.truncated and cut.to_dict()["truncated"] and not whole.truncated
    assert 15 < len(cut.steps) <= 20
    assert cut.steps == whole.steps[: len(cut.steps)]
    assert cut.requests == whole.requests[: len(cut.requests)]
    assert run(max_steps=len(whole.steps)).to_dict() == whole.to_dict()
    monkeypatch.setattr(gpukit.machine.trace, "MAX_REQUESTS", 30)
    few = run()
    assert few.truncated and 30 <= len(few.requests) < 30 + 3 * 8  # the step that came to the bound is whole


def test_a_profile_and_its_trace_come_of_one_run():
    x, partial = np.arange(256, dtype=np.int32), np.zeros(2, np.int32)
    args = barriers.block_sum_without_barrier, 2, 128, x, partial
    plain, alone = gpukit.profile(*args), gpukit.trace(*args, blocks=[0, 1])
    report, trace = tracing.profile_and_trace(*args)
    assert partial.tolist() == [x[:128].sum(), x[128:].sum()]
    assert report.counters == plain.counters
    assert [hazard.to_dict() for hazard in report.hazards] == [hazard.to_dict() for hazard in plain.hazards] != []
    assert trace.to_dict() == alone.to_dict()
    unchecked, short = tracing.profile_and_trace(*args, hazards=False, blocks=1, trace_steps=3)
    assert (unchecked.hazards_checked, short.blocks, len(short.steps), short.truncated) == (False, (1,), 3, True)


def test_a_trace_leaves_no_trace_in_the_program():
    args = ints(512), np.zeros(1, np.int32)
    made = gpukit.tracing.prepare(reduction.naive, 1, 256, args, 0, None)
    before = list(compile_program(made.program, False).functions)
    gpukit.machine.trace.record(made, (0,), 5)
    assert compile_program(made.program, False).functions == before
    seen = []

    class Seen(executor.WaveRun):
        def __init__(self, *rest):
            seen.append(type(self).__mro__[1])
            super().__init__(*rest)

    executor.run(made, hazards=False, wave_run=Seen)
    assert seen == [executor.WaveRun]  # what records is not what runs without a trace


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"blocks": (2,)}, "from 0 to 1"),
        ({"blocks": (-1,)}, "from 0 to 1"),
        ({"blocks": (0.0,)}, "from 0 to 1"),
        ({"blocks": ()}, "at least one thread block"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": 1.5}, "max_steps"),
        ({"level": "assembly"}, "level"),
    ],
)
def test_wrong_wishes_are_one_sentence(wrong, sentence):
    with pytest.raises(LaunchError, match=sentence):
        gpukit.trace(pairs, 2, 32, np.ones(64), np.ones(64), **wrong)
