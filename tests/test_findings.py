"""Findings from hand-made counters: each kind where it belongs, none for kernels that do what they should."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gpukit.machine.counters import Work
from gpukit.machine.hazards import findings
from gpukit.machine.hazards.findings import find
from gpukit.machine.program import (
    GLOBAL,
    GLOBAL_BASE,
    SHARED,
    SHARED_BASE,
    Alu,
    BasicBlock,
    Branch,
    Const,
    Element,
    Exit,
    Jump,
    Launch,
    Load,
    Program,
    Root,
    SourceLine,
    Store,
)

F32 = np.dtype(np.float32)
GUARD, HEAD, BODY, READ, WRITE, AFTER = range(1, 7)  # lines; shown 10 higher
H200 = {"name": "NVIDIA H200", "fp32_tflops": 66.9, "bandwidth_gb_s": 4800.0}


def const(n: int) -> Const:
    return Const(np.int64(n))


def element(name: str, base: int, shape: tuple[int, ...]) -> Element:
    strides = tuple(const(4 * int(np.prod(shape[axis + 1 :]))) for axis in range(len(shape)))
    return Element(const(base), tuple(const(0) for _ in shape), tuple(map(const, shape)), strides, name)


def program(tile_shape=(32, 32)) -> Program:
    """A guard, a loop with a body, then a shared read and a global write."""
    load = Load((0,), element("x", GLOBAL_BASE, (1024,)), GLOBAL, F32, BODY, 0)
    read = Load((0,), element("tile", SHARED_BASE, tile_shape), SHARED, F32, READ, 1)
    write = Store((const(0),), element("y", GLOBAL_BASE + 8192, (1024,)), GLOBAL, F32, WRITE, 2)
    blocks = [
        BasicBlock([], Branch(0, 1, 4, GUARD)),
        BasicBlock([], Branch(0, 2, 3, HEAD)),
        BasicBlock([load, Alu(0, (), "0", BODY)], Jump(1)),
        BasicBlock([read, write, Alu(0, (), "0", AFTER)], Jump(4)),
        BasicBlock([], Exit()),
    ]
    lines = [SourceLine("k.py", n + 10, "") for n in range(8)]
    roots = [Root("x", GLOBAL, F32, 4), Root("tile", SHARED, F32, 4), Root("y", GLOBAL, F32, 4)]
    return Program("k", "k.py", blocks, [], lines, roots)


def run(by_line, total=None, block=(256, 1, 1), grid=(64, 1, 1), tile_shape=(32, 32), **more):
    made = program(tile_shape)
    if total is None:
        names = {name for counters in by_line.values() for name in counters}
        total = {name: sum(counters.get(name, 0) for counters in by_line.values()) for name in names}
    return find(made, Launch(made, grid, block, {}, []), total, by_line, **more)


def kinds(found):
    return [(f.kind, f.line) for f in found]


def global_access(way, requests, sectors_each, lanes=32, width=4):
    return {
        f"global_{way}_requests": requests,
        f"global_{way}_sectors": requests * sectors_each,
        f"global_{way}_bytes": requests * lanes * width,
    }


# --- coalescing ----------------------------------------------------------------------------------------------------


def test_a_coalesced_copy_has_no_finding():
    assert not run({BODY: global_access("load", 8192, 4), WRITE: global_access("store", 8192, 4)})
    assert not run({BODY: global_access("load", 8192, 8, width=8)})


def test_misaligned_uniform_and_partial_accesses_are_fine():
    assert not run({BODY: global_access("load", 8192, 5)})
    assert not run({BODY: global_access("load", 8192, 1)})
    assert not run({BODY: global_access("load", 8192, 1, lanes=1)})


def test_stride_two_is_named():
    (finding,) = run({BODY: global_access("load", 8192, 8)})
    assert (finding.kind, finding.line, finding.severity, finding.array) == ("uncoalesced", 10 + BODY, "note", "x")
    assert finding.details["stride_elements"] == 2
    assert finding.details["ideal_sectors_per_request"] == 4
    assert "8.0 sectors" in finding.message and "4.0 would do" in finding.message


def test_a_column_is_uncoalesced_and_loads_and_stores_are_told_apart():
    found = run({BODY: global_access("load", 8192, 4), WRITE: global_access("store", 8192, 32)})
    assert kinds(found) == [("uncoalesced", 10 + WRITE)]
    assert found[0].details["way"] == "store" and found[0].details["stride_elements"] is None


def test_a_bad_access_that_hardly_counts_is_left_out():
    rare = global_access("load", 10, 32)
    assert not run({BODY: global_access("load", 100_000, 4), AFTER: rare})
    assert not run({AFTER: global_access("load", findings.SEEN_OFTEN - 1, 32)})
    assert run({AFTER: rare})


# --- banks ---------------------------------------------------------------------------------------------------------


def shared_load(requests, ways):
    return {
        "shared_load_requests": requests,
        "shared_load_wavefronts": requests * ways,
        "shared_load_bank_conflicts": requests * (ways - 1),
    }


def test_bank_conflicts_with_padding():
    (finding,) = run({READ: shared_load(8192, 32)})
    assert (finding.kind, finding.line, finding.array) == ("bank_conflicts", 10 + READ, "tile")
    assert finding.details["ways"] == 32 and finding.details["padded_shape"] == (32, 33)
    assert "32-way" in finding.message and "(32, 33)" in finding.advice


def test_one_dimensional_conflicts_get_other_advice():
    (finding,) = run({READ: shared_load(8192, 2)}, tile_shape=(1024,))
    assert finding.details["padded_shape"] is None and "odd stride" in finding.advice


def test_few_conflicts_are_fine():
    assert not run({READ: shared_load(8192, 1)})
    assert not run({READ: {"shared_load_wavefronts": 4002, "shared_load_bank_conflicts": 2}})


# --- lanes ---------------------------------------------------------------------------------------------------------


def work(warps, lanes, branches=0, divergent=0):
    return {
        "warp_instructions": warps,
        "thread_instructions": warps * lanes,
        "branches": branches,
        "divergent_branches": divergent,
    }


def test_a_loop_of_different_lengths():
    (finding,) = run({GUARD: work(100, 32), HEAD: work(1000, 8, 1000, 90), BODY: work(2000, 7)})
    assert (finding.kind, finding.line) == ("low_lane_utilisation", 10 + HEAD)
    assert finding.details["cause"] == "loop" and finding.details["worst_line"] == 10 + BODY


def test_a_branch_that_splits_every_warp():
    (finding,) = run({GUARD: work(1000, 32, 1000, 1000), HEAD: work(1000, 4, 1000, 0), BODY: work(2000, 4)})
    assert (finding.kind, finding.line, finding.count) == ("divergence", 10 + GUARD, 1000)
    assert finding.details["cause"] == "branch" and finding.lines == (10 + GUARD, 10 + BODY)


def test_launch_shape():
    (finding,) = run({GUARD: work(1000, 8), BODY: work(2000, 8)}, block=(8, 1, 1))
    assert (finding.kind, finding.details["cause"]) == ("low_lane_utilisation", "launch")
    assert "8 threads a block" in finding.message


def test_boundaries_are_no_divergence():
    full = work(10_000, 32, 2000, 0)
    assert not run({GUARD: work(1000, 32, 1000, 1), BODY: work(10, 5), AFTER: full})
    # The last steps of a reduction tree: few lanes, but one warp of eight.
    assert not run({GUARD: work(10_000, 32, 72, 5), BODY: work(1900, 15), AFTER: full})
    # One thread per warp writes the warp's result.
    assert not run({GUARD: work(8000, 32, 1000, 1000), BODY: work(1000, 1), AFTER: full})


def test_full_warps_have_no_finding_and_nothing_is_no_error():
    assert not run({GUARD: work(1000, 32, 1000, 0), BODY: work(1000, 30)})
    assert not run({})


# --- the whole launch ----------------------------------------------------------------------------------------------


def spread(*blocks):
    total = Work()
    for warps in blocks:
        total.add(np.asarray(warps, np.int64), len(warps))
    return total


def test_load_imbalance():
    by_line = {BODY: work(1000, 32), AFTER: work(10, 32)}
    (finding,) = run(by_line, work=spread(*[[10, 10]] * 30, [300, 300]))
    assert (finding.kind, finding.line) == ("load_imbalance", 10 + BODY)
    assert finding.details["unit"] == "block" and finding.details["factor"] == pytest.approx(600 * 31 / 1200)
    (finding,) = run(by_line, work=spread(*[[10, 10, 10, 10, 10, 10, 10, 200]] * 4))
    assert finding.details["unit"] == "warp"
    assert not run(by_line, work=spread(*[[20, 10, 10, 10]] * 4))
    assert not run(by_line, work=Work())


def test_roofline():
    traffic = {"global_load_sectors": 1000, "global_store_sectors": 0}
    (finding,) = run({}, {**traffic, "float_operations": 8000}, gpu=H200)
    assert finding.kind == "memory_bound_hint"
    assert finding.details["intensity"] == 0.25
    assert finding.details["ridge"] == pytest.approx(66.9e12 / 4.8e12)
    (finding,) = run({}, {**traffic, "float_operations": 32_000 * 20}, gpu=H200)
    assert finding.kind == "compute_bound_hint" and "NVIDIA H200" in finding.message
    assert not run({}, traffic)
    assert not run({}, {"float_operations": 5}, gpu=H200)
    assert not run({}, traffic, gpu={"name": "unknown"})


def test_findings_are_plain_ordered_and_notes():
    by_line = {WRITE: global_access("store", 100, 32), BODY: global_access("load", 100, 32)}
    found = run(by_line)
    assert [f.line for f in found] == [10 + BODY, 10 + WRITE]
    assert all(f.severity == "note" and f.advice in f.message for f in found)
    json.dumps([f.to_dict() for f in found])
