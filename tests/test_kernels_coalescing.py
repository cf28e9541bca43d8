"""Sectors per request of every access pattern, at both levels, and what must be found or refused."""

import numpy as np
import pytest
from family_runs import CPU, at_levels, counters, each, made, needs_compiler

import gpukit
from gpukit import checking, cuda
from gpukit.errors import GpukitError
from gpukit.kernels import coalescing, layout, rows_and_columns, width
from gpukit.kernels.coalescing import FAMILY

WARPS = FAMILY.cpu_n // 32
SECTORS = {
    **{"contiguous": 4, "misaligned": 5, "shifted_by_a_sector": 4, "backward": 4},
    **{"stride_2": 8, "stride_3": 12, "stride_8": 32, "stride_32": 32, "stride_33": 32},
    **{"cpp:contiguous": 4, "cpp:every_nth": 32},
}


def sectors_of(stride: int, first: int = 0) -> int:
    """Sectors of 32 bytes that 32 lanes touch with elements of 4 bytes."""
    return len({(first + lane * stride) * 4 // 32 for lane in range(32)})


# --- one array -------------------------------------------------------------------------------------------------------


def test_every_rung_that_is_not_random_is_in_the_table():
    kernels = {rung.key for rung in FAMILY.rungs.values() if rung.kernel is not None}
    assert kernels - set(SECTORS) == {"gather", "cpp:gather"}


@pytest.mark.parametrize(("key", "level"), at_levels(*SECTORS))
def test_sectors_per_load_request(key, level):
    found = counters(FAMILY, key, level)
    assert found["load_sectors_per_request"] == SECTORS[key]
    assert (found["global_load_requests"], found["global_store_requests"]) == (WARPS, WARPS)
    assert found["store_sectors_per_request"] == 4


@pytest.mark.parametrize(("key", "level"), at_levels("gather", "cpp:gather"))
def test_a_random_gather_has_nearly_a_sector_for_every_lane(key, level):
    """A request for the index, of 4 sectors, and one for the elements; the same element on both levels."""
    problem = made(FAMILY)
    lanes = problem.arrays["shuffle"].reshape(-1, 32) // 8
    exact = sum(len(set(warp)) for warp in lanes.tolist())
    found = counters(FAMILY, key, level)
    assert found["global_load_requests"] == 2 * WARPS
    assert found["global_load_sectors"] == exact + 4 * WARPS
    assert 31.9 < exact / WARPS < 32
    assert 17.9 < found["load_sectors_per_request"] < 18


@pytest.mark.parametrize("stride", range(1, 41))
def test_the_sectors_of_any_stride(stride):
    plan = coalescing.apart(stride)(coalescing.every_nth, made(FAMILY, 1024), 256, CPU)
    (one,) = plan.launches
    found = gpukit.profile(one.kernel, one.grid, one.block, *one.args, hazards=False).counters
    assert found["load_sectors_per_request"] == sectors_of(stride) == min(32, 4 * stride)


def test_the_documentation_gives_those_figures():
    for stride, (sectors, _) in coalescing.STRIDES.items():
        assert sectors == sectors_of(stride)
        assert f"{sectors} sectors per load request" in FAMILY.rungs[f"stride_{stride}"].sections["expect"]


@pytest.mark.parametrize("offset", range(1, 17))
def test_the_sectors_of_any_offset(offset):
    plan = coalescing.behind(offset)(coalescing.shifted, made(FAMILY, 1024), 256, CPU)
    (one,) = plan.launches
    found = gpukit.profile(one.kernel, one.grid, one.block, *one.args, hazards=False).counters
    assert found["load_sectors_per_request"] == (4 if offset % 8 == 0 else 5)


def test_backwards_is_as_good_as_forwards_where_the_end_is_that_of_a_sector():
    assert counters(FAMILY, "backward", "source", 1024)["load_sectors_per_request"] == 4
    assert counters(FAMILY, "backward", "source", 1024 + 4)["load_sectors_per_request"] > 4.8


def test_a_copy_of_the_wrong_elements_is_found():
    """Neighbours exchanged, which no sum would tell."""
    problem = made(FAMILY, 512, "ramp")
    shuffle = problem.arrays["shuffle"].copy()
    shuffle[:2] = shuffle[1::-1]
    rung = FAMILY.rungs["gather"]
    source = np.empty_like(problem.arrays["x"])
    source[problem.arrays["shuffle"]] = problem.arrays["x"]
    plan = coalescing.copied(problem, 256, CPU, rung.kernel, source, shuffle)
    failure = checking.compare(rung, problem, 256, checking.answer_of(plan, CPU))
    assert failure is not None
    assert (failure.where, failure.wrong) == ((0,), 2)


def test_a_stride_past_the_end_is_found():
    x, y = np.zeros(63, np.float32), np.zeros(32, np.float32)
    assert not gpukit.check(coalescing.every_nth, 1, 32, x, np.int32(2), y, raise_=False).errors
    found = gpukit.check(coalescing.every_nth, 1, 32, x, np.int32(3), y, raise_=False)
    assert {hazard.kind for hazard in found.errors} == {"oob_global_read"}


# --- structures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "level"), at_levels(*(rung.key for rung in layout.FAMILY.rungs.values() if rung.kernel is not None))
)
def test_a_field_of_structures_moves_all_four(key, level):
    found = counters(layout.FAMILY, key, level)
    apart = key.endswith("array_of_structures")
    assert found["load_sectors_per_request"] == (16 if apart else 4)
    assert found["load_efficiency"] == (0.25 if apart else 1)
    assert found["store_sectors_per_request"] == 4


@cuda.jit
def all_fields(points, fields, sums):
    i = cuda.grid(1)
    if i < sums.size:
        sums[i] = points[i, 0] + points[i, 1] + points[i, 2] + points[i, 3]
        sums[i] += fields[0, i] + fields[1, i] + fields[2, i] + fields[3, i]


def test_all_fields_of_structures_are_in_the_sectors_that_one_brings():
    """Four requests touch the same 16 sectors, where four arrays have 4 each: as many different ones, more requests'
    worth."""
    points = np.ones((32, 4), np.float32)
    sums = np.zeros(32, np.float32)
    found = gpukit.profile(all_fields, 1, 32, points, np.ascontiguousarray(points.T), sums, hazards=False)
    assert (sums == 8).all()
    structures, arrays = (next(line for line in found.lines if text in line.text) for text in ("points[i", "fields[0"))
    assert structures.counters["global_load_sectors"] == 4 * 16
    assert arrays.counters["global_load_sectors"] == 4 * 4 + 4  # and the sum itself


# --- rows and columns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "level"), at_levels(*rows_and_columns.FAMILY.rungs))
def test_lanes_along_what_lies_side_by_side(key, level):
    found = counters(rows_and_columns.FAMILY, key, level)
    sectors = 32 if key.endswith("down_columns") else 4
    assert found["load_sectors_per_request"] == sectors
    assert found["store_sectors_per_request"] == sectors


def test_a_matrix_that_an_index_does_not_reach_is_refused():
    with pytest.raises(GpukitError, match=r"46,341 rows has more elements than an int32 counts: use at most 46,340"):
        rows_and_columns.problem(46_341, "ramp", np.random.default_rng(0), CPU)


def test_a_transposed_copy_is_found():
    family = rows_and_columns.FAMILY
    rung, problem = family.rungs["along_rows"], made(family, 33, "ramp")
    a, b = problem.arrays["a"], np.zeros((33, 33), np.int32)
    plan = rows_and_columns.copied(rung.kernel, problem, 256, CPU, a.T, b)
    failure = checking.compare(rung, problem, 256, checking.answer_of(plan, CPU))
    assert failure is not None
    assert failure.wrong == 33 * 32


# --- bytes per lane --------------------------------------------------------------------------------------------------

BYTES = {"one_byte": 1, "four_bytes": 4, "eight_bytes": 8, "cpp:one_byte": 1, "cpp:four_bytes": 4}
BYTES |= {"cpp:eight_bytes": 8, "cpp:sixteen_bytes": 16}


@pytest.mark.parametrize(("key", "level"), at_levels(*BYTES))
def test_sectors_per_request_are_the_bytes_per_lane(key, level):
    found, nbytes = counters(width.FAMILY, key, level), BYTES[key]
    assert found["load_sectors_per_request"] == found["store_sectors_per_request"] == nbytes
    assert found["global_load_requests"] == width.FAMILY.cpu_n * 4 // (32 * nbytes)
    assert found["load_efficiency"] == 1


@pytest.mark.parametrize(("key", "level"), at_levels("sixteen_bytes_in_two"))
def test_a_complex_number_is_loaded_in_two(key, level):
    found = counters(width.FAMILY, key, level)
    assert found["global_load_requests"] == width.FAMILY.cpu_n * 4 // (32 * 8)
    assert (found["load_sectors_per_request"], found["load_efficiency"]) == (16, 0.5)


@pytest.mark.parametrize("key", each(*(k for k, r in width.FAMILY.rungs.items() if r.kernel is not None)))
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 257])
def test_no_element_of_the_tail_is_lost_or_copied_past_the_end(key, n):
    plan = width.FAMILY.rungs[key].plan(made(width.FAMILY, n, "ramp"), 32, CPU)
    (one,) = plan.launches
    assert checking.answer_of(plan, CPU).tolist() == list(range(n))
    assert not gpukit.check(one.kernel, one.grid, one.block, *one.args, raise_=False).errors


def test_a_forgotten_tail_is_found():
    """The wide part alone, as when n is divided by 4 and the remainder forgotten."""
    problem = made(width.FAMILY, 515, "ramp")
    plan = width.with_tail(np.float64)(width.four_bytes, problem, 256, CPU)
    (one,) = plan.launches
    gpukit.launch(width.four_bytes, one.grid, one.block, *one.args[:2], machine="cpu")
    plan.outputs[0][514:] = -1
    failure = checking.compare(width.FAMILY.rungs["eight_bytes"], problem, 256, plan.answer())
    assert failure is not None
    assert (failure.where, failure.wrong) == ((514,), 1)


@needs_compiler
def test_a_float4_at_an_address_that_is_none_is_found():
    x, y = np.zeros(513, np.float32), np.zeros(512, np.float32)
    kernel = width.FAMILY.rungs["cpp:sixteen_bytes"].kernel.compiled()
    assert not gpukit.check(kernel, 1, 128, x[4:512], y[4:], np.int32(508), raise_=False).errors
    found = gpukit.check(kernel, 1, 128, x[1:], y, np.int32(512), raise_=False)
    assert {hazard.kind for hazard in found.errors} == {"misaligned_access"}
