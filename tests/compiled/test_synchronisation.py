"""Barriers, shuffles, votes, matches and reductions of PTX."""

from __future__ import annotations

import numpy as np
import pytest
from compiled.launches import kernel, launch, per_thread

LANES = np.arange(64, dtype=np.int32)


def values(body: str, x: np.ndarray = LANES, dtype=np.int32, declare: str = "") -> list:
    """%r5 of a body for %r1 = x, one block of a thread per element; no hazard may be found."""
    out = np.zeros(x.size, dtype)
    outcome = per_thread(f"ld.global.b32 %r1, [%q3]; {body} st.global.b32 [%q4], %r5;", x, out, declare=declare)
    assert not outcome.kinds, outcome.hazards
    return out.tolist()


# --- shuffles ------------------------------------------------------------------------------------------------------


def shuffled(way: str, value: list[int], b: int, c: int) -> list[int]:
    """The PTX ISA's pseudo-code of shfl, lane by lane."""
    result = []
    for t in range(len(value)):
        lane, warp = t % 32, t - t % 32
        bval, cval, mask = b & 31, c & 31, c >> 8 & 31
        most = (lane & mask) | (cval & ~mask & 31)
        least = lane & mask
        if way == "up":
            j = lane - bval
            inside = j >= most
        elif way == "down":
            j = lane + bval
            inside = j <= most
        elif way == "bfly":
            j = lane ^ bval
            inside = j <= most
        else:
            j = least | (bval & ~mask & 31)
            inside = j <= most
        result.append(value[warp + (j if inside else lane)])
    return result


@pytest.mark.parametrize("way", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 8, 2])
@pytest.mark.parametrize("b", [0, 1, 5, 31])
def test_shuffles_follow_the_manual(way, width, b):
    c = (32 - width) << 8 | (0 if way == "up" else 31)
    expected = shuffled(way, (LANES * 10).tolist(), b, c)
    assert values(f"shfl.sync.{way}.b32 %r5, %r1, {b}, {c}, -1;", LANES * 10) == expected


def test_a_shuffle_says_whether_its_source_was_in_range():
    body = "shfl.sync.down.b32 %r2|%p1, %r1, 4, 31, 0xffffffff; selp.b32 %r5, %r2, -1, %p1;"
    assert values(body) == [t + 4 if t % 32 < 28 else -1 for t in range(64)]
    only = "shfl.sync.down.b32 _|%p1, %r1, 4, 31, 0xffffffff; selp.b32 %r5, 1, 0, %p1;"
    assert values(only) == [int(t % 32 < 28) for t in range(64)]


def test_lane_and_control_may_come_from_registers():
    body = "sub.s32 %r2, 31, %r0; mov.b32 %r3, 31; mov.b32 %r4, -1; shfl.sync.idx.b32 %r5, %r1, %r2, %r3, %r4;"
    assert values(body) == [t - t % 32 + 31 - t % 32 for t in range(64)]


def test_floats_are_shuffled_by_their_bits():
    x, out = np.linspace(-1, 1, 32, dtype=np.float32), np.zeros(32, np.float32)
    body = "ld.global.f32 %f1, [%q3]; shfl.sync.bfly.b32 %f2, %f1, 1, 31, -1; st.global.f32 [%q4], %f2;"
    assert not per_thread(body, x, out).kinds
    assert out.tolist() == [x[t ^ 1] for t in range(32)]


# --- votes ---------------------------------------------------------------------------------------------------------


def test_votes():
    odd = "and.b32 %r2, %r1, 1; setp.ne.s32 %p1, %r2, 0; setp.lt.s32 %p3, %r1, 40;"
    assert values(f"{odd} vote.sync.ballot.b32 %r5, %p1, -1;", dtype=np.uint32) == [0xAAAAAAAA] * 64
    for how, expected in {"any": [1, 1], "all": [1, 0], "uni": [1, 0]}.items():
        body = f"{odd} vote.sync.{how}.pred %p2, %p3, -1; selp.b32 %r5, 1, 0, %p2;"
        assert values(body) == [expected[0]] * 32 + [expected[1]] * 32, how
    assert values(f"{odd} vote.sync.any.pred %p2, !%p3, -1; selp.b32 %r5, 1, 0, %p2;") == [0] * 32 + [1] * 32


def test_matches():
    key = "and.b32 %r2, %r1, 3;"
    same = [sum(1 << lane for lane in range(32) if lane % 4 == t % 4) for t in range(64)]
    assert values(f"{key} match.any.sync.b32 %r5, %r2, -1;", dtype=np.uint32) == same
    body = "shr.u32 %r2, %r1, 5; match.all.sync.b32 %r3|%p1, %r2, -1; selp.b32 %r5, %r3, 7, %p1;"
    assert values(body, dtype=np.uint32) == [0xFFFFFFFF] * 64
    body = f"{key} match.all.sync.b32 %r3|%p1, %r2, -1; selp.b32 %r5, %r3, 7, %p1;"
    assert values(body) == [7] * 64


@pytest.mark.parametrize(
    ("how", "kind", "reduce"),
    [
        ("add", "s32", lambda v: int(np.array(v).sum())),
        ("min", "s32", min),
        ("max", "s32", max),
        ("min", "u32", lambda v: min(v, key=lambda i: i & 0xFFFFFFFF)),
        ("max", "u32", lambda v: max(v, key=lambda i: i & 0xFFFFFFFF)),
        ("and", "b32", lambda v: int(np.bitwise_and.reduce(np.array(v)))),
        ("or", "b32", lambda v: int(np.bitwise_or.reduce(np.array(v)))),
        ("xor", "b32", lambda v: int(np.bitwise_xor.reduce(np.array(v)))),
    ],
)
def test_warp_reductions(how, kind, reduce):
    x = (LANES * 37 % 50 - 25).astype(np.int32)
    parts = [reduce(x[:32].tolist()), reduce(x[32:].tolist())]
    assert values(f"redux.sync.{how}.{kind} %r5, %r1, -1;", x) == [parts[0]] * 32 + [parts[1]] * 32


def test_activemask_and_elect():
    body = """
        mov.b32 %r5, 0; setp.lt.s32 %p1, %r0, 5; @!%p1 bra OUT; activemask.b32 %r5; OUT:
    """
    assert values(body) == [31] * 5 + [0] * 59
    body = "elect.sync %r2|%p1, -1; selp.b32 %r5, 1, %r2, %p1;"
    assert values(body) == [1 if t % 32 == 0 else 0 for t in range(64)]


def test_masks_that_do_not_fit_are_errors():
    x, out = LANES.copy(), np.zeros(64, np.int32)
    absent = "setp.lt.s32 %p1, %r0, 16; @!%p1 bra OUT; shfl.sync.down.b32 %r5, %r0, 1, 31, -1; OUT:"
    assert "shuffle_inactive_source" in per_thread(f"{absent} st.global.b32 [%q4], %r5;", x, out).kinds
    excluded = "bar.warp.sync 1;"
    assert "warp_mask_excludes_caller" in per_thread(excluded, x, out).kinds


# --- barriers ------------------------------------------------------------------------------------------------------

TILE = ".shared .align 4 .b8 tile[256];"
MINE = "mov.u32 %r2, tile; mad.lo.s32 %r3, %r0, 4, %r2; st.shared.b32 [%r3], %r0;"
OTHER = "sub.s32 %r4, 63, %r0; mad.lo.s32 %r4, %r4, 4, %r2; ld.shared.b32 %r5, [%r4]; st.global.b32 [%q4], %r5;"


@pytest.mark.parametrize("barrier", ["bar.sync 0;", "barrier.sync 0;", "bar.sync 3;", "barrier.sync 1, 64;"])
def test_a_barrier_orders_its_threads(barrier):
    out = np.zeros(64, np.int32)
    outcome = per_thread(f"{MINE} {barrier} {OTHER}", LANES.copy(), out, declare=TILE)
    assert out.tolist() == LANES[::-1].tolist() and not outcome.kinds
    assert outcome.counters["barriers"] == 1


def test_without_it_they_race():
    outcome = per_thread(f"{MINE} {OTHER}", LANES.copy(), np.zeros(64, np.int32), declare=TILE)
    assert outcome.kinds == ["race_shared"]
    assert "tile" in outcome.hazards[0].message


def test_a_warp_barrier_orders_a_warp_only():
    neighbour = "xor.b32 %r4, %r0, 1; mad.lo.s32 %r4, %r4, 4, %r2; ld.shared.b32 %r5, [%r4]; st.global.b32 [%q4], %r5;"
    assert not per_thread(f"{MINE} bar.warp.sync -1; {neighbour}", LANES.copy(), LANES * 0, declare=TILE).kinds
    outcome = per_thread(f"{MINE} bar.warp.sync -1; {OTHER}", LANES.copy(), LANES * 0, declare=TILE)
    assert outcome.kinds == ["race_shared"]


def test_barriers_that_count_and_vote():
    odd = "and.b32 %r2, %r1, 1; setp.ne.s32 %p1, %r2, 0;"
    assert values(f"{odd} bar.red.popc.u32 %r5, 0, %p1;") == [32] * 64
    assert values(f"{odd} bar.red.popc.u32 %r5, 0, !%p1;") == [32] * 64
    for how, expected in {"and": 0, "or": 1}.items():
        assert values(f"{odd} bar.red.{how}.pred %p2, 0, %p1; selp.b32 %r5, 1, 0, %p2;") == [expected] * 64


def test_a_named_barrier_of_one_warp_does_not_wait_for_the_others():
    body = """
        setp.lt.s32 %p1, %r0, 32; @!%p1 bra OUT;
        bar.sync 2, 32; OUT: st.global.b32 [%q4], 1;
    """
    out = np.zeros(64, np.int32)
    assert not per_thread(body, LANES.copy(), out).kinds
    assert out.all()


def test_producers_may_arrive_without_waiting():
    body = f"""
        setp.lt.s32 %p1, %r0, 32; @!%p1 bra CONSUMER;
        {MINE} bar.arrive 1, 64; bra OUT;
        CONSUMER: bar.sync 1, 64; mov.u32 %r2, tile; sub.s32 %r4, %r0, 32; mad.lo.s32 %r4, %r4, 4, %r2;
        ld.shared.b32 %r5, [%r4]; st.global.b32 [%q4], %r5;
        OUT:
    """
    out = np.zeros(64, np.int32)
    assert not per_thread(body, LANES.copy(), out, declare=TILE).kinds
    assert out.tolist() == [0] * 32 + list(range(32))


def test_a_barrier_that_a_part_of_a_warp_skips_is_divergent():
    body = "setp.lt.s32 %p1, %r0, 16; @!%p1 bra OUT; bar.sync 0; OUT: st.global.b32 [%q4], 1; bar.sync 0;"
    assert "barrier_divergence" in per_thread(body, LANES.copy(), np.zeros(64, np.int32)).kinds


def test_the_grid_barrier_of_cooperative_groups():
    # What the header's grid.sync() compiles to: an atomic on a counter in the driver's memory, and a loop that polls.
    body = """
        ld.param.u64 %q1, [a0]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;
        setp.ne.s32 %p1, %r0, 0; @%p1 bra FIRST; mul.wide.u32 %q2, %r1, 4; add.s64 %q2, %q1, %q2;
        st.global.b32 [%q2], 7;
        FIRST:
        mov.u32 %r2, %envreg2; cvt.u64.u32 %q3, %r2; mov.u32 %r3, %envreg1; cvt.u64.u32 %q4, %r3;
        bfi.b64 %q5, %q4, %q3, 32, 32; add.s64 %q6, %q5, 4;
        barrier.sync 0;
        @%p1 bra WAITED;
        mov.u32 %r4, %nctaid.x; setp.eq.s32 %p2, %r1, 0; mov.b32 %r5, -2147483647; sub.s32 %r6, %r5, %r4;
        selp.b32 %r7, %r6, 1, %p2;
        atom.add.release.gpu.u32 %r8, [%q6], %r7;
        POLL: ld.acquire.gpu.u32 %r9, [%q6]; xor.b32 %r10, %r9, %r8; setp.gt.s32 %p3, %r10, -1; @%p3 bra POLL;
        WAITED: barrier.sync 0;
        setp.ne.s32 %p4, %r0, 0; @%p4 bra OUT;
        add.s32 %r11, %r1, 1; rem.s32 %r11, %r11, %r4; mul.wide.u32 %q7, %r11, 4; add.s64 %q7, %q1, %q7;
        ld.global.b32 %r12, [%q7]; mul.wide.u32 %q2, %r1, 4; add.s64 %q2, %q1, %q2; st.global.b32 [%q2+256], %r12;
        OUT:
    """
    for blocks in (1, 2, 33):
        x = np.zeros(128, np.int32)
        outcome = launch(kernel(body, "u64", names=["x"]), 64, x, blocks=blocks)
        assert x[64 : 64 + blocks].tolist() == [7] * blocks
        assert not outcome.kinds, outcome.hazards
