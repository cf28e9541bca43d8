"""What lab 7 says, shown by the machine's counters on its solution: why one thread per row loses on long rows, one warp
per row on short ones, ELL on skewed ones, and what sliced ELL costs. And the price of task 7.9 is what is counted."""

from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit.labs.answers import Answer
from gpukit.labs.folders import Lab
from gpukit.sandbox import host

ROOT = Path(__file__).parents[1]
LAB = Lab(ROOT / "labs" / "07_spmv")
SOLUTION = Answer(LAB.file("solution"), LAB.host)
TESTS = LAB.module
THREADS = 128
RNG = np.random.default_rng(7)


def matrix(lengths, columns=4096):
    """CSR with rows of these lengths, its columns anywhere."""
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    indices = RNG.integers(0, columns, indptr[-1]).astype(np.int32)
    return indptr, indices, RNG.integers(1, 5, indptr[-1]).astype(np.float32), np.ones(columns, np.float32)


def of_host(function, *arguments):
    """What a host function of the solution returns."""
    (result,) = host.call(SOLUTION.text, SOLUTION.file, function, [arguments], names=LAB.host)
    assert not result.error
    return result.value


def profile(kernel, threads, *args):
    return gpukit.profile(SOLUTION.kernels[kernel], -(-threads // THREADS), THREADS, *args)


def by_csr(csr, lanes):
    """The report of CSR with so many lanes a row, and y."""
    y = np.empty(csr[0].size - 1, np.float32)
    if lanes == 1:
        return profile("csr_thread", y.size, *csr, y, np.float32(1), np.float32(0)), y
    if lanes == 32:
        return profile("csr_warp", 32 * y.size, *csr, y), y
    return profile("csr_subwarp", lanes * y.size, *csr, y, np.int32(lanes)), y


def by_ell(csr):
    columns, values = of_host("to_ell", *csr[:3])
    y = np.empty(columns.shape[1], np.float32)
    return profile("ell", y.size, columns, values, csr[3], y), y


def by_slices(csr, sigma, height=32):
    """The report of sliced ELL, the number of slots, and y."""
    permutation = of_host("order_rows", np.diff(csr[0]), sigma)
    offsets, columns, values = of_host("to_sliced_ell", *csr[:3], permutation, height)
    y = np.empty(permutation.size, np.float32)
    args = offsets, columns, values, permutation, csr[3], y, np.int32(height)
    return profile("sliced_ell", y.size, *args), int(offsets[-1]), y


def of_line(report, text):
    """The counters of the one line that holds this text."""
    (line,) = [line for line in report.lines if text in line.text]
    return line


MULTIPLIES = {1: "x[indices[k]]", 32: "x[indices[k]]", 4: "x[column]"}


def sectors_per_entry(report, csr):
    return report.counters["global_load_sectors"] / csr[1].size


# --- the four claims -------------------------------------------------------------------------------------------------


def test_one_thread_per_row_loses_on_long_rows():
    """Its lanes are a row apart: the longer the row, the fewer entries a sector brings that is touched."""
    ratios = []
    for length in (2, 8, 64, 200):
        csr = matrix(np.full(256, length))
        (thread, y), (warp, same) = by_csr(csr, 1), by_csr(csr, 32)
        assert np.array_equal(y, same)
        ratios.append(sectors_per_entry(thread, csr) / sectors_per_entry(warp, csr))
        if length >= 8:  # a lane's value, its column and its element of x: a sector each
            assert sectors_per_entry(thread, csr) == pytest.approx(3, rel=0.1)
    assert ratios == sorted(ratios)
    assert ratios[0] < 0.6 and ratios[-1] > 2.2
    # the warp's floor: 4 + 4 bytes an entry in whole sectors, and the gather
    assert sectors_per_entry(warp, csr) == pytest.approx(1 + 2 / 8, rel=0.1)


def test_one_thread_per_row_waits_for_the_longest_row_of_its_warp():
    lengths = np.full(512, 4)
    lengths[::32] = 128
    even, uneven = (by_csr(matrix(of), 1)[0] for of in (np.full(512, lengths.sum() // 512), lengths))
    assert even.counters["active_lanes_per_instruction"] > 31
    assert uneven.counters["active_lanes_per_instruction"] < 4
    assert uneven.counters["warp_instructions"] > 10 * even.counters["warp_instructions"]


def test_one_warp_per_row_loses_on_short_rows():
    """A row of 3 keeps 3 of 32 lanes busy, and five shuffles add them up."""
    csr = matrix(np.full(1024, 3))
    reports = {lanes: by_csr(csr, lanes)[0] for lanes in (1, 4, 32)}
    busy = {lanes: of_line(report, MULTIPLIES[lanes]).active_lanes for lanes, report in reports.items()}
    assert busy[1] > 31 and busy[4] == pytest.approx(24, abs=1) and busy[32] == pytest.approx(3, abs=0.1)
    work = {lanes: report.counters["warp_instructions"] for lanes, report in reports.items()}
    assert work[32] > 10 * work[1] and work[32] > 5 * work[4]
    # long rows pay for the shuffles, and keep the lanes busy
    long = matrix(np.full(64, 320))
    thread, warp = (by_csr(long, lanes)[0] for lanes in (1, 32))
    assert of_line(warp, MULTIPLIES[32]).active_lanes == 32
    assert warp.counters["warp_instructions"] < 2 * thread.counters["warp_instructions"]


def test_ell_loses_on_skewed_rows():
    """Every row is as long as the longest: one row of 500 among rows of 4 makes 92 slots of each entry."""
    even, skewed = np.full(1024, 4), np.full(1024, 4)
    skewed[500] = 500
    found = {}
    for name, lengths in (("even", even), ("skewed", skewed)):
        csr = matrix(lengths)
        (report, y), (warp, same) = by_ell(csr), by_csr(csr, 4)
        assert np.array_equal(y, same)
        found[name] = sectors_per_entry(report, csr), sectors_per_entry(warp, csr)
        slots = lengths.max() * lengths.size
        assert of_line(report, "column = columns[k, row]").counters["global_load_requests"] == slots / 32
    assert found["even"][0] < found["even"][1]
    assert found["skewed"][0] > 10 * found["skewed"][1]
    assert skewed.max() * skewed.size / skewed.sum() == pytest.approx(111.4, abs=0.1)


def test_what_sliced_ell_saves_and_what_it_costs():
    """Slices pad to their own longest row, sorted ones hardly at all; the price is a map, and stores that lie apart."""
    rows = 1024
    lengths = RNG.permutation(np.where(np.arange(rows) % 16 == 0, 96, 4))
    csr = matrix(lengths)
    entries = int(lengths.sum())
    assert rows * 96 / entries > 9  # ELL
    padding, stores, loads, answers = {}, {}, {}, []
    for sigma in (1, 256, rows):
        report, slots, y = by_slices(csr, sigma)
        padding[sigma] = slots / entries
        stores[sigma] = report.counters["global_store_sectors"]
        loads[sigma] = report.counters["global_load_sectors"]
        answers.append(y)
    assert all(np.array_equal(answers[0], y) for y in answers[1:])
    assert padding[1] > 8 and padding[256] > padding[rows] and padding[rows] == 1
    assert loads[1] > 2 * loads[rows]
    # 8 neighbouring rows share a sector of y, until they are sorted away from each other
    assert stores[1] == rows // 8 and stores[rows] > 1.5 * stores[1]
    # the map: a load of 4 bytes a row, one request a warp
    assert of_line(report, "y[permutation[place]]").counters["global_load_requests"] == rows // 32


def test_one_long_row_fills_its_slice_with_padding_however_the_rows_are_sorted():
    lengths = np.full(1024, 4)
    lengths[77] = 4000
    _, slots, _ = by_slices(matrix(lengths), 1024)
    assert slots == 32 * 4000 + 31 * 32 * 4
    assert slots > 15 * lengths.sum()


# --- the quiz --------------------------------------------------------------------------------------------------------


def answer(name):
    return SOLUTION.constant(name)


def test_the_answers_of_7_5_are_what_the_solution_makes_and_the_machine_counts():
    lengths = TESTS.two_long_rows()
    csr = matrix(lengths)
    assert of_host("to_ell", *csr[:3])[0].size == answer("ELL_SLOTS")
    assert by_slices(csr, 1, 8)[1] == answer("SLICED_SLOTS")
    assert by_slices(csr, 64, 8)[1] == answer("SORTED_SLOTS")
    loads = 3  # of the line in each turn
    for name, lanes in (("TURNS_BY_THREAD", 1), ("TURNS_BY_WARP", 32)):
        line = of_line(by_csr(csr, lanes)[0], MULTIPLIES[lanes])
        assert line.counters["global_load_requests"] == loads * answer(name)


# --- the price of 7.9 ------------------------------------------------------------------------------------------------


class _Rng:
    """What the clear cases of the lab are made with."""

    rng = np.random.default_rng(79)


CLEAR = dict(TESTS.clear_cases(_Rng))
OFFERS = (*((lanes, 1) for lanes in TESTS.LANES), (0, 1), (0, 128), (0, 100_000))


@pytest.mark.parametrize("lengths", CLEAR.values(), ids=list(CLEAR))
def test_the_price_is_what_the_machine_counts(lengths):
    csr = matrix(lengths)
    for lanes, sigma in OFFERS:
        if lanes:
            y = np.empty(lengths.size, np.float32)
            report = profile("csr_subwarp", lanes * y.size, *csr, y, np.int32(lanes))
            counted = of_line(report, "column = indices[k]").counters
        else:
            counted = of_line(by_slices(csr, sigma)[0], "column = columns[slot]").counters
        paid = counted["global_load_requests"] + counted["global_load_sectors"]
        assert paid == TESTS.price(lengths, lanes, sigma), (lanes, sigma)


def passes(choose):
    """Whether a rule never pays more than the lab allows, on other matrices of the same kinds each time."""
    for seed in range(5):
        _Rng.rng = np.random.default_rng(seed)
        for _, lengths in TESTS.clear_cases(_Rng):
            cheapest = min(TESTS.price(lengths, *offer) for offer in OFFERS)
            if TESTS.price(lengths, *choose(lengths)) > TESTS.FACTOR * cheapest:
                return False
    return True


def power_of_two(number):
    """The lanes next to this number from above."""
    return min(32, max(1, 2 ** int(np.ceil(np.log2(max(number, 1))))))


RULES = {
    "the mean, rounded up": lambda lengths: (power_of_two(lengths.mean()), 1),
    # thresholds as CUSP has them
    "2, 4, 8, 16 or 32 lanes": lambda lengths: (power_of_two(min(max(2, lengths.mean()), 17)), 1),
    # as Kokkos Kernels has it: 6 entries a lane
    "6 entries a lane": lambda lengths: (power_of_two(lengths.mean() / 6), 1),
    "a thread for short rows": lambda lengths: (1 if lengths.mean() <= 4 else power_of_two(lengths.mean()), 1),
    "slices unless one row is long": lambda lengths: (
        (0, 100_000) if lengths.max() < 20 * lengths.mean() else (power_of_two(lengths.mean()), 1)
    ),
    "the cheapest": lambda lengths: min(OFFERS, key=lambda offer: TESTS.price(lengths, *offer)),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_any_sensible_rule_passes(rule):
    assert passes(rule)


@pytest.mark.parametrize("offer", OFFERS, ids=str)
def test_no_offer_is_always_good_enough(offer):
    assert not passes(lambda lengths: offer)
