"""Every way to multiply, in both languages, on the CPU machine: right at every edge, by all gates, and without hazards.

A way that is new in `products.WAYS` is tested here without another word.
"""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpukit
from gpukit import cuda, plugins
from gpukit.devices import CpuMachine
from gpukit.machine import executor
from gpukit.registry import CPP, NUMBA, Launch

plugins.load("spmv")
bugs = importlib.import_module("gpukit_labs.spmv.bugs")
checks = importlib.import_module("gpukit_labs.spmv.checks")
edges = importlib.import_module("gpukit_labs.spmv.matrices.edges")
formats = importlib.import_module("gpukit_labs.spmv.formats")
hybrid = importlib.import_module("gpukit_labs.spmv.formats.hybrid")
products = importlib.import_module("gpukit_labs.spmv.products")
MatrixError = importlib.import_module("gpukit_labs.spmv.errors").MatrixError
WAYS, product = products.WAYS, products.product

BOTH = [(way, language) for way in WAYS for language in (NUMBA, CPP)]
NAMES = [f"{way}-{'cpp' if language == CPP else 'numba'}" for way, language in BOTH]
FACTORS = 0, 1, -1, 2.5

every_way = pytest.mark.parametrize(("way", "language"), BOTH, ids=NAMES)


class Watched(CpuMachine):
    """The CPU machine, which keeps the hazards of what it runs."""

    def __init__(self):
        super().__init__()
        self.hazards = []

    def launch(self, launch):
        report = gpukit.profile(
            launch.kernel, launch.grid, launch.block, *launch.args, shared_bytes=launch.shared_bytes
        )
        self.hazards += report.hazards

    @property
    def wrong(self):
        return [
            f"{hazard.kind}: {hazard.message}" for hazard in self.hazards if hazard.severity in ("error", "warning")
        ]


def by(way, language, device, **options):
    """How a way multiplies, as the gates ask for it."""

    def multiply(csr, x, y, alpha, beta):
        product(way, csr, x, y, alpha, beta, language=language, device=device, **options).run(device)

    return multiply


def faults(way, language, csr, alpha=1, beta=0, **options):
    """What the gates and the machine have against a way."""
    device = Watched()
    return checks.faults_of(by(way, language, device, **options), csr, alpha, beta) + device.wrong


# --- right at every edge ---------------------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize("name", edges.EDGES)
def test_every_way_is_right_on_every_edge(way, language, name):
    assert faults(way, language, edges.EDGES[name]()) == []


@every_way
@pytest.mark.parametrize("name", ["ragged", "no_entries", "no_columns", "empty_rows_between"])
def test_alpha_and_beta(way, language, name):
    csr = edges.EDGES[name]()
    assert [found for alpha in FACTORS for beta in FACTORS for found in faults(way, language, csr, alpha, beta)] == []


@every_way
@pytest.mark.parametrize(("dtype", "pointer"), [(np.float64, np.int32), (np.float32, np.int64), (np.float64, np.int64)])
@pytest.mark.parametrize("name", ["imbalanced", "slices_of_every_width", "unsorted_and_repeated", "unused_columns"])
def test_doubles_and_64_bit_row_pointers(way, language, dtype, pointer, name):
    csr = edges.EDGES[name]().astype(dtype, pointer)
    assert faults(way, language, csr, 2.5, -1) == []


@every_way
@pytest.mark.parametrize("block", [32, 96, 256, 1024])
def test_blocks_of_any_size(way, language, block):
    assert faults(way, language, edges.imbalanced(), block=block) == []


OPTIONS = [
    *[("csr_subwarp", {"lanes": lanes}) for lanes in (2, 4, 8, 16, 32)],
    *[
        ("hybrid", {"steps": steps, "sigma": sigma})
        for steps, sigma in ((1, 1), (1, 50), (2, 7), (3, 10**6), (8, 32), (100, 5))
    ],
    *[("merge_path", {"items": items}) for items in (1, 2, 5, 100, 400)],
    *[
        ("sliced_ell", {"height": height, "sigma": sigma})
        for height, sigma in ((1, 1), (2, 7), (8, 32), (32, 97), (33, 10), (64, 10**6), (128, 5), (500, 1))
    ],
]


@pytest.mark.parametrize(("way", "options"), OPTIONS, ids=lambda value: str(value))
@pytest.mark.parametrize("language", [NUMBA, CPP])
def test_options(way, options, language):
    for name in ("one_row_past_a_slice", "long_and_short_by_turns", "unused_columns", "no_entries"):
        assert faults(way, language, edges.EDGES[name](), 2.5, -1, **options) == []


@pytest.mark.parametrize(("way", "options"), [("merge_path", {"items": 1}), ("hybrid", {"steps": 1})])
@pytest.mark.parametrize("language", [NUMBA, CPP])
def test_a_row_of_more_warps_than_a_warp_adds_up_at_once(way, options, language):
    """Rows of 3,072 entries in parts of 32: a warp that adds them up takes more than two rounds."""
    assert faults(way, language, edges.around_the_sizes_of_groups(), **options) == []


@every_way
def test_a_product_has_the_same_bits_every_time(way, language):
    """No kernel adds by atomics, whose order is another in every run on a GPU."""
    device, csr = Watched(), edges.imbalanced()
    trial, answers = checks.as_stored(csr), []
    for _ in range(2):
        y = np.full(csr.rows, np.nan, np.float32)
        by(way, language, device)(csr, trial.x, y, 1, 0)
        answers.append(y.tobytes())
    assert answers[0] == answers[1]
    assert [hazard.message for hazard in device.hazards if hazard.kind == "nonassociative_atomics"] == []


@every_way
def test_products_share_no_memory(way, language):
    """Made one after the other and run in the other order, twice: what one leaves behind is nothing to the next."""
    device = Watched()
    made = []
    for name in ("around_the_sizes_of_groups", "slices_of_every_width"):
        trial = checks.integers(edges.EDGES[name]())
        y = np.full(trial.csr.rows, np.nan, np.float32)
        made.append((trial, y, product(way, trial.csr, trial.x, y, language=language, device=device)))
    for trial, y, one in (*reversed(made), *made):
        y.fill(np.nan)
        one.run(device)
        assert checks.faults(trial.csr, trial.x, y) == []
    assert device.wrong == []


@every_way
def test_vectors_with_gaps_are_refused_or_right(way, language):
    csr = edges.ragged()
    trial = checks.integers(csr)
    for gaps in ("x", "y"):
        x, y = trial.x, np.full(csr.rows, np.nan, np.float32)
        if gaps == "x":
            x = np.repeat(x, 2)[::2]
        else:
            y = np.full(2 * csr.rows, 7, np.float32)[::2]
        with pytest.raises(MatrixError, match=f"the elements of {gaps} do not lie side by side"):
            product(way, csr, x, y, language=language)
        if gaps == "y":
            assert (y.base == 7).all()


@every_way
def test_rows_are_on_x_of_the_grid(way, language):
    """y and z of a grid end at 65,535."""
    rows = 10**6
    csr = formats.Csr((rows, 1), np.zeros(rows + 1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))
    made = product(way, csr, np.ones(1, np.float32), np.zeros(rows, np.float32), language=language, block=32)
    for launch in made.launches:
        x, *rest = launch.grid if isinstance(launch.grid, tuple) else (launch.grid,)
        assert 1 <= x < 2**31 and set(rest) <= {1}
    assert max(np.prod(launch.grid) for launch in made.launches) > 3000


@every_way
def test_a_grid_is_never_empty_and_no_rows_are_no_launch(way, language):
    for name, make in edges.EDGES.items():
        csr = make()
        x, y = np.zeros(csr.columns, np.float32), np.zeros(csr.rows, np.float32)
        launches = product(way, csr, x, y, language=language).launches
        assert bool(launches) == (csr.rows > 0), name
        assert all(np.prod(launch.grid) > 0 for launch in launches), name


# --- more than 2^31 --------------------------------------------------------------------------------------------------
# Arrays of that size are files that are all holes, and the machine runs the few blocks that come near their ends.


@pytest.fixture
def holes(tmp_path):
    """Makes an array of zeros that takes memory and disk only where it is written."""

    def make(size, dtype):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        return np.asarray(np.memmap(path, dtype, "w+", shape=(size,)))

    return make


def run(launches, monkeypatch, last=None):
    """Run launches without looking for hazards, which would take memory for each byte; of each grid the `last` blocks
    alone, or all."""
    waves = executor._waves
    if last is not None:
        monkeypatch.setattr(
            executor, "_waves", lambda launch, compiled, geometry: [(max(geometry.n_blocks - last, 0), last)]
        )
    for launch in launches:
        shared = launch.shared_bytes
        gpukit.profile(launch.kernel, launch.grid, launch.block, *launch.args, shared_bytes=shared, hazards=False)
    monkeypatch.setattr(executor, "_waves", waves)


COLUMNS, VALUES = [4, 0, 2, 2, 1], [1, 2, 3, 1, 2]
X = np.float32([1, 2, 3, 1, 2])
ANSWER = 20  # of the row with these columns and values


def past_the_start(way, language, start, pointer, holes, monkeypatch, **options):
    """(1,) y of one row whose entries begin at `start`."""
    indices, data = holes(start + 5, np.int32), holes(start + 5, np.float32)
    indices[start:], data[start:] = COLUMNS, VALUES
    csr = formats.Csr((1, 5), np.array([start, start + 5], pointer), indices, data)
    y = np.full(1, np.nan, np.float32)
    run(product(way, csr, X, y, language=language, **options).launches, monkeypatch)
    return y.tolist()


STARTS = [(2**31 + 3, np.int64), (2**32 + 1, np.int64), (2**31 - 6, np.int32)]


@pytest.mark.parametrize(("way", "options"), [("csr_thread", {}), ("csr_warp", {}), ("csr_subwarp", {"lanes": 8})])
@pytest.mark.parametrize("language", [NUMBA, CPP])
@pytest.mark.parametrize(("start", "pointer"), STARTS)
def test_row_pointers_past_32_bits(way, options, language, start, pointer, holes, monkeypatch):
    """A row begins past 2^31, or past 2^32, or ends at 2^31 - 1, where a lane's next step does not fit an int32."""
    assert past_the_start(way, language, start, pointer, holes, monkeypatch, **options) == [ANSWER]


def many_rows(way, language, holes, monkeypatch, **options):
    """The last six of 2^27 + 4 rows, whose 32 lanes each are more threads than 32 bits count."""
    rows = 2**27 + 4
    indptr, y = holes(rows + 1, np.int32), holes(rows, np.float32)
    indptr[-4:] = 5, 10, 15, 20
    csr = formats.Csr((rows, 5), indptr, np.int32(COLUMNS * 4), np.float32(VALUES * 4))
    run(product(way, csr, X, y, language=language, **options).launches, monkeypatch, last=2)
    return y[-6:].tolist()


@pytest.mark.parametrize(("way", "options"), [("csr_warp", {}), ("csr_subwarp", {"lanes": 32})])
@pytest.mark.parametrize("language", [NUMBA, CPP])
def test_numbers_of_threads_are_64_bits_wide(way, options, language, holes, monkeypatch):
    assert many_rows(way, language, holes, monkeypatch, **options) == [0, 0] + [ANSWER] * 4


def many_slots(language, holes, monkeypatch):
    """The last three of 2^28 rows of nine slots in ELL; the last slot of the last row is past 2^31."""
    rows, width = 2**28, 9
    columns, values, y = holes(width * rows, np.int32), holes(width * rows, np.float32), holes(rows, np.float32)
    columns, values = columns.reshape(width, rows), values.reshape(width, rows)
    columns[:, -1], values[:, -1] = [*COLUMNS, -1, -1, -1, 1], [*VALUES, 0, 0, 0, 50]
    form = formats.Ell((rows, 5), columns, values, 6)
    where = {"language": language, "block": 128, "device": CpuMachine()}
    run(WAYS["ell"].launches(form, X, y, np.float32(1), np.float32(0), **where), monkeypatch, last=1)
    return y[-3:].tolist()


@pytest.mark.parametrize("language", [NUMBA, CPP])
def test_slots_of_ell_past_32_bits(language, holes, monkeypatch):
    assert many_slots(language, holes, monkeypatch) == [0, 0, ANSWER + 100]


def far_slices(language, holes, monkeypatch):
    """(3,) y of a slice that begins past 2^31, whose third place has the entries; the map is 1, 0, 2."""
    start, height = 2**31 + 7, 4
    columns, values = holes(start + 5 * height, np.int32), holes(start + 5 * height, np.float32)
    columns[start:] = np.where(np.arange(5 * height) % height == 2, np.repeat(COLUMNS, height), formats.PADDING)
    values[start:] = np.repeat(VALUES, height)
    y = np.full(3, np.nan, np.float32)
    offsets, places = np.array([start, start + 5 * height]), np.int32([1, 0, 2])
    form = formats.SlicedEll((3, 5), height, 4, offsets, columns, values, places, 5)
    where = {"language": language, "block": 32, "device": CpuMachine()}
    run(WAYS["sliced_ell"].launches(form, X, y, np.float32(1), np.float32(0), **where), monkeypatch)
    return y.tolist()


def far_hybrid(language, columns, holes, monkeypatch):
    """Faults in y of a hybrid whose lines begin 2^26, and whose columns 2^27 units of 32, further back: past 2^31."""
    trial = checks.integers(edges.of_lengths([40, 0, 3, 100, 7, 1], columns))
    form = hybrid.Hybrid.from_csr(trial.csr, steps=2)
    lines, units = 2**26, 2**27
    slices = form.slices.copy()
    slices[:, hybrid.LINE] += lines
    slices[:, hybrid.COLUMN] += units
    moved = {"slices": slices}
    for name, before in (("values", 32 * lines), ("bases", lines), ("columns", 32 * units)):
        part = getattr(form, name)
        moved[name] = holes(before + part.size, part.dtype)
        moved[name][before:] = part
    y, (one, zero) = np.full(trial.csr.rows, np.nan, np.float32), np.float32([1, 0])
    where = {"language": language, "block": 64, "device": CpuMachine()}
    run(WAYS["hybrid"].launches(replace(form, **moved), trial.x, y, one, zero, **where), monkeypatch)
    assert bool(form.slices[:, hybrid.WIDE].any()) == (columns > 2**16)
    return checks.faults(trial.csr, trial.x, y)


@pytest.mark.parametrize("columns", [200, 10**6])
@pytest.mark.parametrize("language", [NUMBA, CPP])
def test_slots_of_the_hybrid_past_32_bits(language, columns, holes, monkeypatch):
    assert far_hybrid(language, columns, holes, monkeypatch) == []


@pytest.mark.parametrize("language", [NUMBA, CPP])
def test_slots_of_slices_past_32_bits(language, holes, monkeypatch):
    assert far_slices(language, holes, monkeypatch) == [0, 0, ANSWER]


# --- kernels that are wrong ------------------------------------------------------------------------------------------
# What is wrong with them is found by a gate, by the machine, or by both.


def csr_thread_skips_empty_rows(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size and indptr[row] < indptr[row + 1]:
        total = data.dtype.type(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = alpha * total


def csr_thread_multiplies_nan(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = data.dtype.type(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = alpha * total + beta * y[row]


def csr_thread_without_a_guard(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    total = data.dtype.type(0)
    for k in range(indptr[row], indptr[row + 1]):
        total += data[k] * x[indices[k]]
    y[row] = alpha * total


def csr_warp_without_a_sum(indptr, indices, data, x, y, alpha, beta):
    """Every lane writes what it has, as if it had the row to itself."""
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row < y.size:
        total = data.dtype.type(0)
        for k in range(indptr[row] + lane, indptr[row + 1], 32):
            total += data[k] * x[indices[k]]
        y[row] = alpha * total


def csr_warp_in_one_step(indptr, indices, data, x, y, alpha, beta):
    """Right for rows up to 32 entries."""
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row < y.size:
        k = indptr[row] + lane
        total = data.dtype.type(0)
        if k < indptr[row + 1]:
            total = data[k] * x[indices[k]]
        for distance in (16, 8, 4, 2, 1):
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, distance)
        if lane == 0:
            y[row] = alpha * total


def ell_multiplies_padding(columns, values, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = values.dtype.type(0)
        for k in range(columns.shape[0]):
            total += values[k, row] * x[columns[k, row]]
        y[row] = alpha * total


def csr_thread_of_32_bits(indptr, indices, data, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = data.dtype.type(0)
        for k in range(np.int32(indptr[row]), np.int32(indptr[row + 1])):
            total += data[k] * x[indices[k]]
        y[row] = alpha * total


def csr_warp_of_32_bits(indptr, indices, data, x, y, alpha, beta):
    thread = np.int32(cuda.grid(1))
    row, lane = thread // 32, cuda.threadIdx.x % 32
    if row < y.size and lane == 0:
        total = data.dtype.type(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = alpha * total


def ell_of_32_bits(columns, values, x, y, alpha, beta):
    row = cuda.grid(1)
    if row < y.size:
        total = values.dtype.type(0)
        flat_columns, flat_values = columns.reshape(columns.size), values.reshape(values.size)
        for k in range(columns.shape[0]):
            slot = np.int32(k * columns.shape[1] + row)
            if flat_columns[slot] >= 0:
                total += flat_values[slot] * x[flat_columns[slot]]
        y[row] = alpha * total


def sliced_ell_of_32_bits(offsets, columns, values, permutation, x, y, alpha, beta, height):
    place = cuda.grid(1)
    if place < y.size:
        slot, end = np.int32(offsets[place // height]) + place % height, np.int32(offsets[place // height + 1])
        total = values.dtype.type(0)
        while slot < end:
            if columns[slot] >= 0:
                total += values[slot] * x[columns[slot]]
            slot += height
        y[permutation[place]] = alpha * total


def sliced_ell_without_the_map(offsets, columns, values, permutation, x, y, alpha, beta, height):
    place = cuda.grid(1)
    if place < y.size:
        slot, end = offsets[place // height] + place % height, offsets[place // height + 1]
        total = values.dtype.type(0)
        while slot < end:
            if columns[slot] >= 0:
                total += values[slot] * x[columns[slot]]
            slot += height
        y[place] = alpha * total


def sliced_ell_as_wide_as_the_first(offsets, columns, values, permutation, x, y, alpha, beta, height):
    place = cuda.grid(1)
    if place < y.size:
        total = values.dtype.type(0)
        for k in range((offsets[1] - offsets[0]) // height):
            slot = offsets[place // height] + k * height + place % height
            if columns[slot] >= 0:
                total += values[slot] * x[columns[slot]]
        y[permutation[place]] = alpha * total


WRONG = {  # kernel -> its way, an edge that shows it, what is said
    csr_thread_skips_empty_rows: ("csr_thread", "empty_rows_between", f"[{checks.EMPTY}]"),
    csr_thread_multiplies_nan: ("csr_thread", "ragged", f"[{checks.MASK}]"),
    csr_thread_without_a_guard: ("csr_thread", "ragged", "oob_global_write: "),
    csr_warp_without_a_sum: ("csr_warp", "fifty_each", f"[{checks.EXACT}]"),
    csr_warp_in_one_step: ("csr_warp", "fifty_each", f"[{checks.EXACT}]"),
    ell_multiplies_padding: ("ell", "unused_columns", f"[{checks.MASK}]"),
    sliced_ell_without_the_map: ("sliced_ell", "one_row_past_a_slice", f"[{checks.EXACT}]"),
    sliced_ell_as_wide_as_the_first: ("sliced_ell", "slices_of_every_width", f"[{checks.EMPTY}]"),
}


def swap(way, kernel, monkeypatch):
    """Give a way another kernel."""
    launches = WAYS[way].launches

    def swapped(*args, **where):
        return tuple(replace(launch, kernel=cuda.jit(kernel)) for launch in launches(*args, **where))

    monkeypatch.setitem(WAYS, way, replace(WAYS[way], launches=swapped))


@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.__name__)
def test_a_wrong_kernel_is_found_out(kernel, monkeypatch):
    way, name, says = WRONG[kernel]
    options = {"sigma": 64} if way == "sliced_ell" else {}
    assert faults(way, NUMBA, edges.EDGES[name](), **options) == []
    swap(way, kernel, monkeypatch)
    found = faults(way, NUMBA, edges.EDGES[name](), **options)
    assert any(says in fault for fault in found), found


def test_kernels_of_32_bits_are_found_out(holes, monkeypatch):
    swap("csr_thread", csr_thread_of_32_bits, monkeypatch)
    found = [past_the_start("csr_thread", NUMBA, *start, holes, monkeypatch) for start in STARTS]
    assert [y == [ANSWER] for y in found] == [False, False, True]
    swap("csr_warp", csr_warp_of_32_bits, monkeypatch)
    assert many_rows("csr_warp", NUMBA, holes, monkeypatch) != [0, 0] + [ANSWER] * 4
    swap("ell", ell_of_32_bits, monkeypatch)
    assert many_slots(NUMBA, holes, monkeypatch) != [0, 0, ANSWER + 100]
    swap("sliced_ell", sliced_ell_of_32_bits, monkeypatch)
    assert far_slices(NUMBA, holes, monkeypatch) != [0, 0, ANSWER]


def test_some_wrong_kernels_are_right_elsewhere():
    """The edges differ in what they show: rows of 32 entries and less are no proof of a warp's loop."""
    device = Watched()

    def multiply(csr, x, y, alpha, beta):
        args = csr.indptr, csr.indices, csr.data, x, y, np.float32(alpha), np.float32(beta)
        device.launch(Launch(cuda.jit(csr_warp_in_one_step), csr.rows, 32, args))

    assert checks.faults_of(multiply, edges.ragged()) + device.wrong == []
    assert checks.faults_of(multiply, edges.fifty_each()) != []


# --- the table of mistakes -------------------------------------------------------------------------------------------


def test_every_mistake_of_the_table_is_covered_or_cannot_be_made():
    assert sorted(bugs.BUGS) == list(range(1, 36))
    here = Path(__file__).parent
    for number, bug in bugs.BUGS.items():
        assert bug.what and bug.where, number
        assert bool(bug.tests) != bool(bug.not_ours), f"{number} needs tests or a reason why it cannot happen"
        assert set(bug.edges) <= set(edges.EDGES), number
        for test in bug.tests:
            file, _, name = test.partition("::")
            text = (here / file).read_text(encoding="utf-8")
            assert f"\ndef {name}(" in text, f"{number} names {test}, which is not there"


def test_edges_are_small_enough_for_every_way():
    for name, make in edges.EDGES.items():
        csr = make().checked()
        assert (csr.dtype, csr.indptr.dtype) == (np.float32, np.int32)
        assert csr.rows <= 1000 and csr.nnz <= 20_000, name
