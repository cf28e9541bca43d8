"""Sectors, wavefronts and bank conflicts: the vectorised formulas against brute force, and golden numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpukit.machine.counters import count_sectors, count_wavefronts
from gpukit.machine.lanes import Geometry, LaneSet, Wave
from gpukit.machine.program import GLOBAL_BASE

WARP = 32


def lane_set(threads: int, active: list[int] | None = None, blocks: int = 1) -> LaneSet:
    """Lanes of `blocks` blocks of `threads` threads; `active` picks lanes by number, None means everyone."""
    wave = Wave(Geometry((blocks, 1, 1), (threads, 1, 1)), 0, blocks)
    return wave.everyone if active is None else LaneSet(wave, np.array(active, np.int64))


# --- brute force: one lane after another, straight from the definitions of semantics.md ----------------------------


def by_warp(address, lanes: LaneSet) -> dict[int, list[tuple[int, int]]]:
    """Warp number -> [(place in the warp, address)] of its active lanes."""
    each = [int(address)] * lanes.n if np.ndim(address) == 0 else [int(a) for a in address]
    warps: dict[int, list[tuple[int, int]]] = {}
    for lane, where in zip(lanes.lanes.tolist(), each, strict=True):
        warps.setdefault(lane // WARP, []).append((lane % WARP, where))
    return warps


def sectors_one_by_one(address, width: int, lanes: LaneSet) -> int:
    total = 0
    for accesses in by_warp(address, lanes).values():
        total += len({byte // 32 for _, where in accesses for byte in range(where, where + width)})
    return total


def wavefronts_one_by_one(address, width: int, lanes: LaneSet, load: bool = True) -> tuple[int, int]:
    wavefronts = phases = 0
    for accesses in by_warp(address, lanes).values():
        lanes_per_phase = {8: 16, 16: 8}.get(width, 32)
        where_is = dict(accesses)
        for apart in (1, 2):  # a wide load whose neighbours all want the same takes half the phases
            pairs = [(where, where_is.get(place ^ apart, where)) for place, where in accesses]
            if load and width in (8, 16) and all(mine == its for mine, its in pairs):
                lanes_per_phase = {8: 32, 16: 16}[width]
        for first in range(0, WARP, lanes_per_phase):
            words_of_bank: dict[int, set[int]] = {}
            for place, where in accesses:
                if first <= place < first + lanes_per_phase:
                    for byte in range(where, where + width):
                        words_of_bank.setdefault(byte // 4 % 32, set()).add(byte // 4)
            if words_of_bank:
                phases += 1
                wavefronts += max(len(words) for words in words_of_bank.values())
    return wavefronts, phases


@st.composite
def accesses(draw, widths, aligned: bool, base: int):
    """(address, width, lanes): several blocks, whole or partial warps, any active lanes, any pattern of addresses."""
    threads = draw(st.sampled_from([1, 5, 31, 32, 33, 64, 70, 96]))
    blocks = draw(st.integers(1, 3))
    everyone = lane_set(threads, None, blocks)
    if draw(st.booleans()):
        lanes = everyone
    else:
        keep = draw(st.lists(st.booleans(), min_size=everyone.n, max_size=everyone.n))
        active = everyone.lanes[np.array(keep)]
        lanes = LaneSet(everyone.wave, active if active.size else everyone.lanes[:1])
    width = draw(st.sampled_from(widths))
    unit = width if aligned else 1
    start = base + unit * draw(st.integers(0, 64))
    shape = draw(st.sampled_from(["scalar", "stride", "repeats", "near", "far"]))
    if shape == "scalar":
        return np.int64(start), width, lanes
    if shape == "stride":
        return start + unit * draw(st.integers(-40, 40)) * lanes.lanes + (unit * 40 * lanes.wave.n_lanes), width, lanes
    if shape == "repeats":
        group = draw(st.sampled_from([2, 4, 8]))
        return start + unit * draw(st.integers(0, 9)) * (lanes.lanes // group), width, lanes
    reach = 60 if shape == "near" else 1 << 30
    offsets = draw(st.lists(st.integers(0, reach), min_size=lanes.n, max_size=lanes.n))
    return start + unit * np.array(offsets, np.int64), width, lanes


@given(accesses(widths=list(range(1, 17)), aligned=False, base=GLOBAL_BASE))
def test_sectors_at_any_address_agree_with_brute_force(access):
    assert count_sectors(*access) == sectors_one_by_one(*access)


@given(accesses(widths=[1, 2, 4, 8, 16], aligned=True, base=GLOBAL_BASE))
def test_sectors_of_aligned_elements_agree_with_brute_force(access):
    assert count_sectors(*access) == sectors_one_by_one(*access)


@given(accesses(widths=[1, 2, 4, 8, 16], aligned=True, base=0), st.booleans())
def test_wavefronts_of_aligned_elements_agree_with_brute_force(access, load):
    assert count_wavefronts(*access, load=load) == wavefronts_one_by_one(*access, load)


@given(accesses(widths=[3, 5, 6, 7, 9, 10, 12], aligned=False, base=0))
def test_wavefronts_of_odd_sized_records_agree_with_brute_force(access):
    assert count_wavefronts(*access) == wavefronts_one_by_one(*access)


# --- golden numbers ------------------------------------------------------------------------------------------------

LANES = np.arange(32)


@pytest.mark.parametrize(("width", "sectors"), [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)])
def test_neighbouring_lanes_touch_the_ideal_number_of_sectors(width, sectors):
    assert count_sectors(GLOBAL_BASE + width * LANES, width, lane_set(32)) == sectors


@pytest.mark.parametrize(
    ("what", "address", "sectors"),
    [
        ("misaligned by one element", 4 + 4 * LANES, 5),
        ("stride 2", 8 * LANES, 8),
        ("stride 8", 32 * LANES, 32),
        ("stride 33", 132 * LANES, 32),
        ("one place", np.int64(0), 1),
        ("one place, as a vector", 0 * LANES, 1),
        ("backwards", 4 * LANES[::-1], 4),
        ("even lanes low, odd lanes high", 4 * LANES + 4096 * (LANES % 2), 8),
    ],
)
def test_sectors_of_known_patterns(what, address, sectors):
    assert count_sectors(GLOBAL_BASE + address, 4, lane_set(32)) == sectors


def test_a_warp_with_one_lane_left_touches_one_sector():
    assert count_sectors(np.array([GLOBAL_BASE + 12]), 4, lane_set(32, [7])) == 1


def test_sectors_are_not_shared_between_warps():
    lanes = lane_set(64)
    assert count_sectors(np.full(64, GLOBAL_BASE), 4, lanes) == 2
    assert count_sectors(np.int64(GLOBAL_BASE), 4, lanes) == 2


@pytest.mark.parametrize("stride", range(1, 34))
def test_conflicts_of_a_stride_are_its_common_divisor_with_32(stride):
    assert count_wavefronts(4 * stride * LANES, 4, lane_set(32)) == (np.gcd(stride, 32), 1)


@pytest.mark.parametrize(("width", "phases"), [(8, 2), (16, 4)])
def test_wide_loads_take_more_phases_and_no_conflicts(width, phases):
    assert count_wavefronts(width * LANES, width, lane_set(32)) == (phases, phases)


def test_phases_without_an_active_lane_cost_nothing():
    assert count_wavefronts(16 * np.arange(8), 16, lane_set(32, list(range(8)))) == (1, 1)
    assert count_wavefronts(8 * np.arange(16), 8, lane_set(32, list(range(16, 32)))) == (1, 1)


@pytest.mark.parametrize("address", [np.int64(64), np.full(32, 64)])
def test_a_broadcast_is_one_wavefront(address):
    assert count_wavefronts(address, 4, lane_set(32)) == (1, 1)


def test_two_words_of_one_bank_are_two_wavefronts():
    assert count_wavefronts(128 * (LANES % 2), 4, lane_set(32)) == (2, 1)


def test_bytes_of_one_word_share_it():
    assert count_wavefronts(LANES.astype(np.int64), 1, lane_set(32)) == (1, 1)


def test_a_column_of_doubles_conflicts_within_each_half_warp():
    assert count_wavefronts(8 * 32 * LANES, 8, lane_set(32)) == (32, 2)
