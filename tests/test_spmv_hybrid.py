"""The hybrid format: what lies where, and what it costs; which way choose_format takes, and why."""

import importlib

import numpy as np
import pytest

from gpukit import plugins

plugins.load("spmv")
formats, hybrid, choosing, products, errors = (
    importlib.import_module(f"gpukit_labs.spmv.{name}")
    for name in ("formats", "formats.hybrid", "choosing", "products", "errors")
)
LINES, WIDE, COUNT, SHIFT = hybrid.LINES, hybrid.WIDE, hybrid.COUNT, hybrid.SHIFT


def with_lengths(lengths, columns=1000, seed=0):
    """A matrix with rows of these lengths and the values 1, 2, 3, ... in the order of the entries."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    nnz = int(indptr[-1])
    indices = rng.integers(0, columns, nnz).astype(np.int32)
    return formats.Csr((len(lengths), columns), indptr, indices, np.arange(1, nnz + 1, dtype=np.float64)).checked()


def entries_of(made):
    """(row, column, value) of every slot that is no padding, found by what the docstring of Hybrid says."""
    found = []
    for piece in made.slices.tolist():
        line, lines, column, wide, first, count, shift = piece[:7]
        for k in range(lines):
            for lane in range(32):
                if wide:
                    at = int(made.far[column * 16 + 32 * k + lane])
                    empty = at == -1
                else:
                    distance = int(made.columns[32 * (column + k) + lane])
                    at, empty = int(made.bases[line + k]) + distance, distance == 0xFFFF
                value = float(made.values[32 * (line + k) + lane])
                # 2^-shift rows of a lane take lines by turns; 2^shift lanes of a row are neighbours
                place = lane + 32 * (k % (1 << -shift)) if shift < 0 else lane >> shift
                if empty:
                    assert value == 0
                    continue
                assert place < count
                target = int(made.rows[first + place]) if made.rows.size else first + place
                if target < 0:
                    owner = int(made.owners[~target])
                    row, part, parts = made.split[owner].tolist()
                    assert part <= ~target < part + parts
                    target = row
                found.append((target, at, value))
    return sorted(found)


def stored(csr):
    rows = np.repeat(np.arange(csr.rows), csr.lengths)
    return sorted(zip(rows.tolist(), csr.indices.tolist(), csr.data.tolist(), strict=True))


@pytest.mark.parametrize("steps", [1, 2, 8, 32])
@pytest.mark.parametrize("sigma", [1, 7, 64, 1000])
@pytest.mark.parametrize(
    "lengths",
    [[], [0], [0, 0, 0], [5] * 100, [0, 3, 0, 1, 40, 0], list(range(70)), [2000, *[1] * 40, 33, 32, 31]],
    ids=["no rows", "one empty", "empty", "even", "gaps", "ramp", "one long"],
)
@pytest.mark.parametrize("columns", [50, 200_000], ids=["near", "far"])
def test_every_entry_lies_once_where_the_slices_say(lengths, sigma, steps, columns):
    csr = with_lengths(lengths, columns)
    made = hybrid.Hybrid.from_csr(csr, steps=steps, sigma=sigma)
    assert entries_of(made) == stored(csr)
    assert made.slots == hybrid.slots_of(csr.lengths, steps, sigma, hybrid.least_share(csr, sigma))
    assert (made.slices[:, LINES] <= steps).all()


def test_a_row_gets_the_lanes_that_keep_it_within_the_steps():
    made = hybrid.Hybrid.from_csr(with_lengths([1, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 256]), steps=8)
    assert made.slices[:, SHIFT].tolist() == [5, 5, 4, 3, 2, 1, 0]  # most lanes first
    assert made.slices[:, COUNT].tolist() == [1, 1, 2, 2, 2, 2, 2]
    # Within the same lanes rows keep their order, but those that have a warp for themselves begin with the longest.
    assert made.rows.tolist() == [11, 10, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1]


def test_short_rows_share_a_lane():
    made = hybrid.Hybrid.from_csr(with_lengths([4] * 10 + [2] * 200 + [1, 8]), steps=8, sigma=1000, least=-2)
    assert made.slices[:, SHIFT].tolist() == [0, -1, -2, -2]
    assert made.slices[:, COUNT].tolist() == [1, 10, 128, 73]
    assert made.slices[:, LINES].tolist() == [8, 8, 8, 8]  # 1 x 8, 2 x 4, 4 x 2 entries of a lane


def test_where_nothing_is_sorted_short_rows_stay_with_their_neighbours():
    lengths = [5] * 1000
    lengths[0] = lengths[300] = lengths[-1] = 3
    assert not hybrid.Hybrid.from_csr(with_lengths(lengths), steps=16).rows.size
    assert hybrid.Hybrid.from_csr(with_lengths(lengths), steps=16, sigma=1000).rows.size


def test_a_long_row_is_cut_and_owned_by_all_its_pieces():
    made = hybrid.Hybrid.from_csr(with_lengths([3, 32 * 8 * 3 + 1, 5, 32 * 8, 32 * 8 + 1]), steps=8)
    assert made.split.tolist() == [[1, 0, 4], [4, 4, 2]]
    assert made.owners.tolist() == [0, 0, 0, 0, 1, 1]
    assert sorted(made.rows.tolist()) == [-6, -5, -4, -3, -2, -1, 0, 2, 3]


def test_rows_in_their_order_need_no_map():
    assert not hybrid.Hybrid.from_csr(with_lengths([5] * 100)).rows.size
    assert hybrid.Hybrid.from_csr(with_lengths([5, 6] * 50), sigma=100).rows.size


def test_columns_that_lie_close_take_two_bytes():
    near = hybrid.Hybrid.from_csr(with_lengths([16] * 320, columns=60_000))
    far = hybrid.Hybrid.from_csr(with_lengths([16] * 320, columns=2_000_000))
    assert not near.slices[:, WIDE].any() and far.slices[:, WIDE].all()
    assert far.columns.nbytes == 2 * near.columns.nbytes
    # 65,534 is the largest distance: 65,535 stands for padding.
    indptr = np.array([0, 2], np.int32)
    for right, wide in ((65_534, 0), (65_535, 1)):
        csr = formats.Csr((1, 70_000), indptr, np.array([0, right], np.int32), np.ones(2))
        assert hybrid.Hybrid.from_csr(csr, steps=1).slices[0, WIDE] == wide


def test_sorting_saves_padding():
    lengths = np.random.default_rng(0).integers(1, 30, 4096)
    slots = [hybrid.slots_of(lengths, 32, sigma) for sigma in (1, 256, 4096)]
    assert slots[0] > 1.5 * slots[1] > 1.5 * slots[2] >= 1.5 * lengths.sum()


def test_the_least_share_is_what_the_columns_and_the_order_allow():
    grid = formats.Csr((320, 320), np.arange(321, dtype=np.int32), np.arange(320, dtype=np.int32), np.ones(320))
    assert hybrid.least_share(grid, 1) == -2 and hybrid.least_share(grid, 64) == -1
    assert hybrid.least_share(with_lengths([3] * 320, columns=10**6), 1) == 0
    assert hybrid.least_share(with_lengths([16] * 320, columns=10**6), 1) == 1
    assert hybrid.least_share(with_lengths([0] * 320), 1) == -2 and hybrid.least_share(with_lengths([]), 1) == -2


def test_a_share_that_there_is_not_is_refused():
    for least in (-3, 6):
        with pytest.raises(errors.MatrixError, match="a row gets"):
            hybrid.Hybrid.from_csr(with_lengths([1]), least=least)


def test_a_window_may_be_of_any_size():
    made = hybrid.Hybrid.from_csr(with_lengths([1, 2, 3]), sigma=10**30)
    assert made.rows.tolist() == [2, 1, 0]


@pytest.mark.parametrize(("steps", "sigma"), [(0, 1), (8, 0)])
def test_no_steps_and_no_window_are_refused(steps, sigma):
    with pytest.raises(errors.MatrixError, match="both must be 1 or more"):
        hybrid.Hybrid.from_csr(with_lengths([1]), steps=steps, sigma=sigma)


# --- choose_format ---------------------------------------------------------------------------------------------------


def choose(lengths, products=None):
    return choosing.choose_format(with_lengths(lengths), products)


def test_even_rows_are_not_sorted_and_uneven_ones_are():
    even, uneven = choose([5] * 10_000), choose(np.random.default_rng(0).integers(0, 60, 10_000))
    assert (even.way, even.options["sigma"]) == ("hybrid", 1)
    assert uneven.way == "hybrid" and uneven.options["sigma"] > 1
    assert "0% padding" in even.why or "1% padding" in even.why
    assert "sorted together" in uneven.why


def test_few_products_do_not_pay_a_conversion():
    assert choose([3] * 1000, products=1).way == "csr_thread"
    assert choose([60] * 1000, products=1).options == {"lanes": 8}
    assert choose([2] * 999 + [5000], products=1).way == "merge_path"
    assert choose([3] * 1000, products=10**6).way == "hybrid"
    skewed = [2] * 999 + [5000]
    assert [choose(skewed, products=count).way for count in (299, 300)] == ["merge_path", "hybrid"]
    assert [choose([3] * 1000, products=count).way for count in (999, 1000)] == ["csr_thread", "hybrid"]


def test_a_small_matrix_gets_more_lanes_per_row():
    assert choose([64] * 1000).options["steps"] == 8


def test_an_empty_matrix_has_nothing_to_choose():
    for lengths in ([], [0, 0]):
        assert choose(lengths).way == "csr_thread"


def test_every_way_that_is_not_chosen_has_its_reason():
    for products_ in (None, 1):
        found = choose(list(range(200)), products_)
        assert {found.way, *found.rejected} == set(products.WAYS)
        assert all(found.rejected.values())


def test_what_is_said_against_the_others_is_against_them():
    even = choose([5] * 1024).rejected
    assert even["csr_thread"] == "neighbouring lanes read 5.0 entries apart"
    assert even["ell"].startswith(
        "fits, with 1.00 slots for each entry, but a slot takes 12 bytes, and 10 in the hybrid"
    )
    assert even["sliced_ell"].startswith("fits, with 1.00 slots for each entry, but a slot takes 12 bytes")
    assert choose([1] * 1024).rejected["csr_thread"] == "reads a row pointer and 4 bytes a column"
    skewed = choose([1] * 1023 + [1024]).rejected
    assert skewed["csr_thread"].endswith("and 6% of the lanes are at work")
    assert skewed["ell"] == "512.3 slots for each entry: every row is as wide as the longest, 1,024"
    assert choose([1024] * 64).rejected["csr_warp"].endswith("and one warp takes 32 steps for the longest row")
    few = choose([3] * 1024, products=1).rejected
    assert few["csr_subwarp"] == "rows of 3.0 entries are too short to share among lanes"
    assert few["ell"] == "fits, with 1.00 slots for each entry, but has to be converted to first"
    assert choose([1024] * 64, products=1).rejected["csr_warp"] == "does what csr_subwarp does with 32 lanes"


def test_rows_that_do_not_fill_a_slice_are_not_sorted():
    found = choose([1, 13, 5, 20, 2] * 10)
    assert found.options["sigma"] == 1 and found.why.endswith("since so few rows do not fill a slice")


def test_a_choice_can_be_multiplied_as_it_is():
    csr = with_lengths(np.random.default_rng(1).integers(0, 90, 200))
    for count in (None, 1):
        found = choosing.choose_format(csr, count)
        x, y = np.ones(csr.columns), np.full(csr.rows, np.nan)
        products.product(found.way, csr, x, y, **found.options).run(products.CPU)
        np.testing.assert_allclose(y, np.add.reduceat(np.append(csr.data, 0), csr.indptr[:-1]) * (csr.lengths > 0))
