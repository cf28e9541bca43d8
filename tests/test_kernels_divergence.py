"""Divergent branches, k-way branches and loops of different length: exact figures, and mistakes that must be found."""

from dataclasses import replace

import numpy as np
import pytest
from family_runs import CPU, at_levels, counters, made, needs_compiler

import gpukit
from gpukit import checking, cuda
from gpukit.errors import GpukitError
from gpukit.kernels import divergence, purchases, switch

N = 1 << 20
WARPS = N // 32

# --- two sides -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "level"), at_levels("by_lane", "cpp:by_lane"))
def test_a_branch_by_lane_diverges_in_all_8_warps_of_a_block(key, level):
    found = counters(divergence.FAMILY, key, level)
    assert found["divergent_branches"] == WARPS == 8 * (N // 256)
    assert found["branches"] == 2 * WARPS  # the guard's and this one
    assert found["global_store_requests"] == 2 * WARPS
    # Each side loads for itself; a compiler loads once, in front of the branch.
    assert found["global_load_requests"] == (2 if level == "source" else 1) * WARPS


@pytest.mark.parametrize(("key", "level"), at_levels("by_warp", "cpp:by_warp"))
def test_a_branch_by_warp_diverges_in_none(key, level):
    found = counters(divergence.FAMILY, key, level)
    assert (found["divergent_branches"], found["branches"]) == (0, 2 * WARPS)
    assert found["active_lanes_per_instruction"] == 32
    assert (found["global_load_requests"], found["global_store_requests"]) == (WARPS, WARPS)


@pytest.mark.parametrize(("key", "level"), at_levels("selected", "cpp:selected"))
def test_a_selection_is_no_branch(key, level):
    found = counters(divergence.FAMILY, key, level)
    assert (found["divergent_branches"], found["branches"]) == (0, WARPS)
    assert found["active_lanes_per_instruction"] == 32
    assert (found["global_load_requests"], found["global_store_requests"]) == (WARPS, WARPS)


@cuda.jit
def conditional(x, y):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        y[i] = 3 * v + 1 if i % 2 == 0 else v // 2


@pytest.mark.parametrize("level", ["source", pytest.param("compiled", marks=needs_compiler)])
def test_a_conditional_expression_may_still_be_a_branch(level):
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    found = gpukit.profile(conditional, 1, 256, x, y, hazards=False, level=level).counters
    assert found["divergent_branches"] == 8


@pytest.mark.parametrize("kinds", [2, 8, 32])
def test_the_order_puts_as_many_kinds_into_each_warp_as_it_says(kinds):
    for per_warp in (1, 2, kinds):
        order = divergence.order_of_kinds(kinds, per_warp)
        assert sorted(order) == list(range(32 * kinds))
        warps = (order % kinds).reshape(-1, 32)
        for warp in warps:
            values, counts = np.unique(warp, return_counts=True)
            assert (len(values), set(counts)) == (per_warp, {32 // per_warp})
    assert (divergence.order_of_kinds(kinds, kinds) == np.arange(32 * kinds)).all()


def test_what_is_regrouped_comes_back():
    x = np.arange(1, 78, dtype=np.int32)
    order = divergence.order_of_kinds(2, 1)
    moved = divergence.regroup(x, order, np)
    assert moved.size == 128
    assert moved[:4].tolist() == [1, 3, 5, 7]
    assert moved[32:36].tolist() == [2, 4, 6, 8]
    assert (divergence.put_back(moved, order, x.size, np) == x).all()


def test_an_answer_that_is_not_put_back_in_order_is_found():
    family = divergence.FAMILY
    rung, problem = family.rungs["by_warp"], made(family, 128)
    plan = rung.plan(problem, 64, CPU)
    assert checking.compare(rung, problem, 64, checking.answer_of(plan, CPU)) is None
    (y,) = plan.outputs
    failure = checking.compare(rung, problem, 64, y)
    assert failure is not None
    assert failure.where == (1,)


# --- k-way -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["source", pytest.param("compiled", marks=needs_compiler)])
def test_a_warp_has_a_divergent_branch_for_each_kind_that_meets_in_it(level):
    found = {k: counters(switch.FAMILY, f"kinds_{k}", level) for k in (1, 2, 4, 8, 32)}
    warps = switch.FAMILY.cpu_n // 32
    assert {k: one["divergent_branches"] / warps for k, one in found.items()} == {1: 0, 2: 2, 4: 4, 8: 8, 32: 32}
    lanes = [one["active_lanes_per_instruction"] for one in found.values()]
    assert lanes == sorted(lanes, reverse=True)
    assert lanes[0] == 32
    assert lanes[-1] < 2
    # A warp pays for each kind: its instructions are a constant and k times as many more.
    cost = {k: one["warp_instructions"] / warps for k, one in found.items()}
    each = (cost[32] - cost[2]) / 30
    assert cost[8] == pytest.approx(cost[2] + 6 * each)
    assert cost[4] == pytest.approx(cost[2] + 2 * each)
    assert each > 300  # 64 rounds of the operation


def test_a_wrong_operation_is_found():
    """The sides differ from each other: a lane that took its neighbour's is wrong."""
    rung, problem = switch.FAMILY.rungs["kinds_32"], made(switch.FAMILY, 1024, "ramp")
    mixed_up = {"x": problem.arrays["x"], "kind": (problem.arrays["kind"] + 1) % 32}
    plan = rung.plan(replace(problem, arrays=mixed_up), 256, CPU)
    failure = checking.compare(rung, problem, 256, checking.answer_of(plan, CPU))
    assert failure is not None
    assert failure.wrong > 1000


# --- loops of different length ---------------------------------------------------------------------------------------


def offsets_of(n=purchases.FAMILY.cpu_n):
    return made(purchases.FAMILY, n).arrays["offsets"]


def test_customers_are_those_of_the_course_and_of_all_groups():
    lengths = np.diff(offsets_of())
    assert lengths[:5].tolist() == [2, 5, 20, 100, 4]
    assert (lengths.min(), lengths.max()) == (0, 128)
    shares = [np.mean((low <= lengths) & (lengths <= high)) for low, high in purchases.GROUPS]
    assert sum(shares) == pytest.approx(1)
    assert shares == pytest.approx(purchases.SHARES, abs=0.01)
    assert lengths.mean() == pytest.approx(15, abs=0.5)


@pytest.mark.parametrize("key", ["customer_per_thread", "grouped", "grouped_copy"])
def test_a_warp_goes_on_for_as_long_as_its_longest_lane(key):
    """One load request per round of the loop, as written, besides the offsets' and the order's."""
    offsets = offsets_of()
    lengths = np.diff(offsets)
    others = 2
    if key != "customer_per_thread":
        lengths, others = lengths[purchases.order_of_groups(offsets)], 3
    rounds = lengths.reshape(-1, 32).max(axis=1)
    found = counters(purchases.FAMILY, key, "source")
    assert found["global_load_requests"] == rounds.sum() + others * rounds.size


@pytest.mark.parametrize(
    ("level", "before", "after"),
    [("source", 5.3, 20.6), pytest.param("compiled", 5.5, 19.1, marks=needs_compiler)],
)
def test_grouping_brings_four_times_the_lanes_to_work(level, before, after):
    found = {key: counters(purchases.FAMILY, key, level) for key in ("customer_per_thread", "grouped", "grouped_copy")}
    lanes = {key: one["active_lanes_per_instruction"] for key, one in found.items()}
    assert lanes == pytest.approx({"customer_per_thread": before, "grouped": after, "grouped_copy": after}, abs=0.1)
    instructions = {key: one["warp_instructions"] for key, one in found.items()}
    assert instructions["grouped"] < instructions["customer_per_thread"] / 3
    assert instructions["grouped_copy"] == pytest.approx(instructions["grouped"], rel=0.01)
    sectors = {key: one["global_load_sectors"] for key, one in found.items()}
    assert sectors["grouped"] == pytest.approx(1.05 * sectors["customer_per_thread"], rel=0.01)
    assert sectors["grouped_copy"] < sectors["grouped"]


@needs_compiler
def test_grouping_in_cpp():
    before, after = (counters(purchases.FAMILY, f"cpp:{key}") for key in ("customer_per_thread", "grouped"))
    assert before["active_lanes_per_instruction"] == pytest.approx(7.3, abs=0.1)
    assert after["active_lanes_per_instruction"] == pytest.approx(18.7, abs=0.1)
    assert after["warp_instructions"] < before["warp_instructions"] / 2


def test_the_order_keeps_groups_together_and_customers_in_order():
    lengths = np.array([2, 5, 20, 100, 4, 8, 9, 32, 33, 0, 128])
    order = purchases.order_of_groups(np.concatenate(([0], np.cumsum(lengths))))
    assert order.dtype == np.int32
    assert order.tolist() == [0, 1, 4, 5, 9, 2, 6, 7, 3, 8, 10]


def test_the_copy_holds_each_customers_purchases_in_order():
    offsets, amounts = np.array([0, 2, 2, 5]), np.array([1, 2, 30, 40, 50])
    moved, copy = purchases.in_that_order(offsets, amounts, np.array([2, 1, 0]))
    assert moved.tolist() == [0, 3, 3, 5]
    assert copy.tolist() == [30, 40, 50, 1, 2]


def test_totals_that_do_not_go_back_to_their_customers_are_found():
    family = purchases.FAMILY
    rung, problem = family.rungs["grouped_copy"], made(family, 513, "cents")
    offsets, amounts = problem.arrays["offsets"], problem.arrays["amounts"]
    order = purchases.order_of_groups(offsets)
    moved = purchases.in_that_order(offsets, amounts, order)
    kept = np.arange(513, dtype=np.int32)
    for where, right in ((order, True), (kept, False)):
        plan = purchases.totalled(rung.kernel, problem, 256, CPU, *moved, where)
        assert (checking.compare(rung, problem, 256, checking.answer_of(plan, CPU)) is None) == right


@pytest.mark.parametrize("kind", purchases.FAMILY.kinds)
def test_one_purchase_left_out_is_found(kind):
    """Of a customer with 100 of them, in whatever kind of numbers: the bound has no room for one."""
    family = purchases.FAMILY
    rung, problem = family.rungs["customer_per_thread"], made(family, 513, kind)
    offsets, amounts = problem.arrays["offsets"], problem.arrays["amounts"].copy()
    amounts[offsets[3]] = 0
    plan = purchases.totalled(rung.kernel, problem, 256, CPU, offsets, amounts)
    failure = checking.compare(rung, problem, 256, checking.answer_of(plan, CPU))
    assert failure is not None
    assert failure.where == (3,)


def test_more_purchases_than_an_offset_reaches_are_refused(monkeypatch):
    monkeypatch.setattr(purchases, "lengths_of", lambda n, rng: np.full(n, 1 << 30))
    with pytest.raises(GpukitError, match=r"2 customers have 2,147,483,648 purchases.*use a smaller n"):
        purchases.problem(2, "cents", np.random.default_rng(0), CPU)
