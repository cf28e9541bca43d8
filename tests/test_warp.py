"""Shuffles, votes, matches and reductions against a loop over lanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpukit.machine import warp
from gpukit.machine.lanes import Geometry, LaneSet, Wave

I32, U32, BOOL = np.dtype(np.int32), np.dtype(np.uint32), np.dtype(bool)


def lanes_of(active: np.ndarray) -> LaneSet:
    n_warps = active.size // 32
    return LaneSet(Wave(Geometry((1, 1, 1), (32 * n_warps, 1, 1)), 0, 1), np.flatnonzero(active))


active_sets = st.lists(st.booleans(), min_size=96, max_size=96).map(np.array).filter(lambda a: a.any())


def group(lanes: LaneSet, mask: np.ndarray, i: int) -> list[int]:
    """Positions of the lanes that share lane i's warp and mask."""
    here = lanes.lanes
    return [j for j in range(lanes.n) if here[j] // 32 == here[i] // 32 and mask[j] == mask[i]]


@pytest.mark.parametrize("way", ["idx", "up", "down", "xor"])
@given(active=active_sets, data=st.data())
def test_shuffle(way, active, data):
    lanes = lanes_of(active)
    value = np.arange(lanes.n, dtype=np.int32) * 10 + 7
    amount = np.array(data.draw(st.lists(st.integers(0, 31), min_size=lanes.n, max_size=lanes.n)), np.int32)
    done = warp.exchange("shfl_" + way, lanes, (np.uint32(0xFFFFFFFF), value, amount), (I32,))
    position = {int(lane): i for i, lane in enumerate(lanes.lanes)}
    for i, lane in enumerate(lanes.lanes.tolist()):
        own = lane % 32
        source = {"idx": amount[i], "up": own - amount[i], "down": own + amount[i], "xor": own ^ amount[i]}[way]
        if not 0 <= source <= 31:
            source = own
        target = lane - own + int(source)
        missing = done.missing is not None and done.missing[i]
        assert missing == (target not in position)
        if not missing:
            assert done.results[0][i] == value[position[target]]
        else:
            assert done.results[0][i] == warp.poison_value(I32)


@given(active=active_sets, data=st.data())
def test_votes_and_matches(active, data):
    lanes = lanes_of(active)
    n = lanes.n
    yes = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    mask = np.array(data.draw(st.lists(st.sampled_from([0xFFFFFFFF, 0x0F0F0F0F]), min_size=n, max_size=n)), np.uint32)
    key = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), np.int64)
    ballot = warp.exchange("ballot", lanes, (mask, yes), (I32,)).results[0]
    any_, all_, eq = (warp.exchange(k, lanes, (mask, yes), (BOOL,)).results[0] for k in ("any", "all", "eq"))
    match = warp.exchange("match_any", lanes, (mask, key), (U32,)).results[0]
    match_all, agreed = warp.exchange("match_all", lanes, (mask, key), (U32, BOOL)).results
    total = warp.exchange("redux_add", lanes, (mask, key), (np.dtype(np.int64),)).results[0]
    for i in range(n):
        peers = group(lanes, mask, i)
        bits = {j: 1 << int(lanes.lanes[j]) % 32 for j in peers}
        assert int(ballot[i]) & 0xFFFFFFFF == sum(bits[j] for j in peers if yes[j])
        assert any_[i] == any(yes[j] for j in peers)
        assert all_[i] == all(yes[j] for j in peers)
        assert eq[i] == (len({bool(yes[j]) for j in peers}) == 1)
        assert match[i] == sum(bits[j] for j in peers if key[j] == key[i])
        same = all(key[j] == key[i] for j in peers)
        assert agreed[i] == same
        assert match_all[i] == (sum(bits.values()) if same else 0)
        assert total[i] == sum(key[j] for j in peers)


def test_ballot_of_a_full_warp_is_minus_one():
    """numba types ballot_sync as signed int32."""
    lanes = lanes_of(np.ones(32, bool))
    ballot = warp.exchange("ballot", lanes, (np.uint32(0xFFFFFFFF), np.True_), (I32,)).results[0]
    assert ballot.dtype == I32
    assert (ballot == -1).all()


def test_a_source_outside_the_mask_is_missing():
    lanes = lanes_of(np.ones(32, bool))
    value = np.arange(32, dtype=np.int32)
    mask = np.where(np.arange(32) < 16, np.uint32(0xFFFF), np.uint32(0xFFFF0000)).astype(np.uint32)
    done = warp.exchange("shfl_down", lanes, (mask, value, np.int32(8)), (I32,))
    assert np.flatnonzero(done.missing).tolist() == list(range(8, 16))


@pytest.mark.parametrize("width", [2, 8, 16])
def test_segments_of_a_ptx_shuffle(width):
    """PTX's c operand splits the warp: __shfl_down_sync(mask, v, 1, width)."""
    lanes = lanes_of(np.ones(32, bool))
    value = np.arange(32, dtype=np.int32)
    control = np.int32((32 - width) << 8 | 31)
    result, inside = warp.exchange(
        "shfl_down", lanes, (np.uint32(0xFFFFFFFF), value, np.int32(1), control), (I32, BOOL)
    ).results
    last = np.arange(32) % width == width - 1
    assert result.tolist() == np.where(last, value, value + 1).tolist()
    assert inside.tolist() == (~last).tolist()
