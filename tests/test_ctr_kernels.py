"""Lab 8's kernels in both languages on the CPU machine: right against NumPy, without hazards, and able to fail."""

import functools
import importlib

import numpy as np
import pytest

import gpukit
from gpukit import plugins
from gpukit.compilers import toolkit

plugins.load("ctr")
numba_kernels = importlib.import_module("gpukit_labs.ctr.kernels")
SOURCE = importlib.import_module("gpukit_labs.ctr.family").SOURCE
CODE = SOURCE.read_text(encoding="utf-8")

NUMBA, CPP = "numba", "cpp"
NO_COMPILER = toolkit.why_no_nvrtc()
NEEDS_COMPILER = pytest.mark.skipif(bool(NO_COMPILER), reason=str(NO_COMPILER))
LANGUAGES = [pytest.param(NUMBA, id="numba"), pytest.param(CPP, id="cpp", marks=NEEDS_COMPILER)]
GATHERS = [
    *((NUMBA, name) for name in ("gather_thread", "gather_lane")),
    *(pytest.param(CPP, name, marks=NEEDS_COMPILER) for name in ("gather_thread", "gather_lane", "gather_vector")),
]
SIZES = (1, 31, 32, 33, 3_073)  # 3,073: where capturing nn.Embedding's backward pass fails
DIMS = (4, 8, 16, 32)
OF_UPDATE = {NUMBA: (4, 32), CPP: (32, 128)}
WARP, THREADS = 32, 256
SPANS = {NUMBA: numba_kernels.SPAN, CPP: 8}
SPAN = 16  # a multiple of both
RATE, EPS = np.float32(0.02), np.float32(1e-8)


@functools.cache
def program(*names):
    """The kernels: those that are not generic, and those of these names."""
    return gpukit.RawModule(code=CODE, name_expressions=names).get_function


def changed(before, after, dim):
    """The kernels with one change, the update for rows of this dim alone."""
    assert CODE.count(before) == 1, "these lines of kernels.cu have changed"
    return gpukit.RawModule(code=CODE.replace(before, after), name_expressions=update_of(dim)).get_function


def update_of(dim, x_type="float"):
    return f"rowwise_adagrad<{x_type}, {dim // 4}>", f"rowwise_adagrad_finish<{dim // 4}>"


def launch(kernel, threads, *args, clean=True):
    """Runs a kernel with every check of the machine, or (clean=False) with none."""
    grid = -(-threads // THREADS)
    if not clean:
        gpukit.profile(kernel, grid, THREADS, *args, hazards=False)
        return
    report = gpukit.check(kernel, grid, THREADS, *args, raise_=False)
    found = [f"{hazard.kind}: {hazard.message}" for hazard in (*report.errors, *report.warnings)]
    assert not found, found


# --- ids that are awkward --------------------------------------------------------------------------------------------


def some_ids(kind, n, rows, seed=0):
    """(n,) int32: "random" with repeats, "hot" nearly all one row, "one" all one row, "ends" the first and last row."""
    rng = np.random.default_rng(seed)
    if kind == "random":
        return rng.integers(0, rows, n, dtype=np.int32)
    if kind == "ends":
        return rng.choice(np.array([0, rows - 1], np.int32), n)
    ids = np.full(n, rows // 2, np.int32)
    if kind == "hot":
        ids[:: max(n // 40, 2)] = rng.integers(0, rows, len(ids[:: max(n // 40, 2)]))
    return ids


CASES = [
    *((n, 8, "random") for n in SIZES),
    *((33, dim, "ends") for dim in DIMS if dim != 8),
    *((257, 16, kind) for kind in ("hot", "one")),
]


# --- the gather ------------------------------------------------------------------------------------------------------


def gathered(language, name, ids, table, clean=True):
    out = np.full((len(ids), table.shape[1]), np.nan, np.float32)
    per_row = {"gather_thread": 1, "gather_lane": table.shape[1], "gather_vector": table.shape[1] // 4}[name]
    if language == NUMBA:
        launch(getattr(numba_kernels, name), len(ids) * per_row, ids, table, out, clean=clean)
    else:
        sizes = np.int32(len(ids)), np.int32(table.shape[1])
        launch(program()(name), len(ids) * per_row, ids, table, out, *sizes, clean=clean)
    return out


@pytest.mark.parametrize(("n", "dim", "kind"), CASES)
@pytest.mark.parametrize(("language", "name"), GATHERS)
def test_a_gather_copies_the_rows_of_its_ids(language, name, n, dim, kind):
    rows = 501
    table = np.random.default_rng(1).standard_normal((rows, dim)).astype(np.float32)
    ids = some_ids(kind, n, rows)
    assert np.array_equal(gathered(language, name, ids, table), table[ids])


# --- the whole batch -------------------------------------------------------------------------------------------------


def to_bf16(values):
    """The upper halves of float32, rounded to the nearest and then to even, by looking at both neighbours."""
    bits = values.view(np.uint32)
    below = bits >> np.uint32(16)
    middle = (below << np.uint32(16)) | np.uint32(0x8000)
    up = (bits > middle) | ((bits == middle) & (below & 1 == 1))
    return np.where(np.isnan(values), below | np.uint32(0x40), below + up).astype(np.uint16)


def from_bf16(halves):
    return (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)


def batch(n, dim, kind, x_type, first=5, numbers=13, fields=3, dense=None):
    """(x, y, keys) of impressions first to first + n - 1, and what they must be."""
    rng = np.random.default_rng(2)
    rows_of_table, impressions, width = 211, first + n + 3, -(-(fields * dim + numbers) // 16) * 16
    rows = some_ids(kind, impressions * fields, rows_of_table).reshape(impressions, fields)
    if dense is None:
        dense = rng.standard_normal((impressions, numbers)).astype(np.float32)
    labels = rng.integers(0, 2, impressions).astype(np.float32)
    table = rng.standard_normal((rows_of_table, dim)).astype(np.float32)
    x = np.full((n, width), 0x7FC1, np.uint16) if x_type == "Bf16" else np.full((n, width), np.nan, np.float32)
    y, keys = np.full(n, np.nan, np.float32), np.full((n, fields), -1, np.int32)
    sizes = (np.int32(value) for value in (n, fields, numbers, width, dim))
    place = np.array([first], np.int64)
    launch(
        program("batch<float>", "batch<Bf16>")(f"batch<{x_type}>"),
        n * width // 4,
        rows,
        dense,
        labels,
        table,
        place,
        x,
        y,
        keys,
        *sizes,
    )
    these = slice(first, first + n)
    expected = np.zeros((n, width), np.float32)
    expected[:, : fields * dim] = table[rows[these]].reshape(n, -1)
    expected[:, fields * dim : fields * dim + numbers] = dense[these]
    expected = to_bf16(expected) if x_type == "Bf16" else expected
    return (x, y, keys), (expected, labels[these], rows[these])


@NEEDS_COMPILER
@pytest.mark.parametrize("x_type", ["float", "Bf16"])
@pytest.mark.parametrize(
    ("n", "dim", "kind"), [*((n, 4, "random") for n in SIZES[:4]), (40, 32, "ends"), (9, 16, "one")]
)
def test_a_batch_is_embeddings_numbers_and_zeros_side_by_side(n, dim, kind, x_type):
    found, expected = batch(n, dim, kind, x_type)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one, other)


@NEEDS_COMPILER
@pytest.mark.parametrize("numbers", [1, 4, 7])
def test_numbers_that_fill_no_group_of_four(numbers):
    found, expected = batch(33, 8, "random", "float", numbers=numbers)
    assert np.array_equal(found[0], expected[0])


@NEEDS_COMPILER
def test_bfloat16_is_rounded_to_the_nearest_and_then_to_even():
    exact = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x80000001, 0x7F800000, 0x7FC00000], np.uint32)
    assert to_bf16(exact.view(np.float32)).tolist() == [0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x8000, 0x7F80, 0x7FC0]
    dense = np.zeros((9, 7), np.float32)
    dense[5] = exact.view(np.float32)
    (x, _, _), (expected, _, _) = batch(1, 4, "random", "Bf16", numbers=7, dense=dense)
    assert x.tolist() == expected.tolist()


# --- the update ------------------------------------------------------------------------------------------------------


class Update:
    """One row-wise Adagrad step of ids, from a table and a state that are not zero."""

    def __init__(self, n, dim, kind, fields=1, rows=97, seed=3, bf16=False):
        rng = np.random.default_rng(seed)
        self.n, self.dim, self.fields, self.bf16 = n - n % fields, dim, fields, bf16
        self.ids = some_ids(kind, self.n, rows)
        width = fields * dim + 4
        gradient = rng.standard_normal((self.n // fields, width)).astype(np.float32)
        self.given = to_bf16(gradient) if bf16 else gradient
        self.gradient = from_bf16(self.given) if bf16 else gradient
        self.table = rng.standard_normal((rows, dim)).astype(np.float32)
        self.state = rng.random(rows, dtype=np.float32)

    def expected(self):
        """(table, state) in float64, and the largest sum of absolute gradients, which bounds what rounding does."""
        each = self.gradient[:, : self.fields * self.dim].reshape(self.n, self.dim).astype(np.float64)
        sums, sizes = np.zeros(self.table.shape), np.zeros(self.table.shape)
        np.add.at(sums, self.ids, each)
        np.add.at(sizes, self.ids, abs(each))
        state = self.state + (sums**2).mean(1)
        touched = np.unique(self.ids)
        table = self.table.astype(np.float64)
        table[touched] -= RATE * sums[touched] / (np.sqrt(state[touched]) + EPS)[:, None]
        return table, state, float(sizes.max(initial=1.0))

    def run(self, language, get=None, clean=True):
        """(table, state) as the kernels leave them; scratch memory begins as NaN."""
        order = np.argsort(self.ids, kind="stable")
        keys, spans = self.ids[order], -(-self.n // SPANS[language])
        table, state = self.table.copy(), self.state.copy()
        heads, tails = (np.full((spans, self.dim), np.nan, np.float32) for _ in range(2))
        arrays = keys, order, self.given, table, state, heads, tails
        finishing = keys, heads, tails, table, state
        if language == NUMBA:
            step, finish = numba_kernels.rowwise_adagrad, numba_kernels.rowwise_adagrad_finish
            launch(step, spans * WARP, *arrays, np.int32(self.fields), RATE, EPS, clean=clean)
            launch(finish, spans * WARP, *finishing, RATE, EPS, clean=clean)
            return table, state
        names = update_of(self.dim, "Bf16" if self.bf16 else "float")
        step, finish = map(get or program(*names), names)
        threads, ids = spans * self.dim // 4, np.int32(self.n)
        sizes = ids, np.int32(self.fields), np.int32(self.given.shape[1])
        launch(step, threads, *arrays, *sizes, RATE, EPS, clean=clean)
        launch(finish, threads, *finishing, ids, RATE, EPS, clean=clean)
        return table, state

    def faults(self, language, get=None, clean=True):
        """What is wrong with what the kernels leave, in words; [] where it is right."""
        table, state = self.run(language, get, clean)
        expected_table, expected_state, size = self.expected()
        touched = np.unique(self.ids)
        others = np.setdiff1d(np.arange(len(self.table)), touched)
        found = []
        if not np.allclose(table, expected_table, rtol=1e-5, atol=1e-6 * size):
            found.append("weights")
        if not np.allclose(state, expected_state, rtol=1e-4, atol=1e-5):
            found.append("state")
        if not (
            np.array_equal(table[others], self.table[others]) and np.array_equal(state[others], self.state[others])
        ):
            found.append("rows that no id names")
        return found


@pytest.mark.parametrize(("n", "kind"), [*((n, "random") for n in SIZES), (257, "hot"), (257, "one")])
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_update_steps_the_rows_of_its_ids_by_their_summed_gradients(language, n, kind):
    assert Update(n, 8, kind).faults(language) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_of_every_width_are_stepped(language):
    for dim in OF_UPDATE[language]:
        assert Update(99, dim, "hot").faults(language) == [], dim


@pytest.mark.parametrize("language", LANGUAGES)
def test_gradients_of_several_fields_lie_side_by_side(language):
    assert Update(99, 8, "random", fields=3).faults(language) == []


@NEEDS_COMPILER
def test_gradients_in_bfloat16_are_added_up_in_float32():
    assert Update(257, 32, "hot", bf16=True).faults(CPP) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_run_of_many_spans(language):
    """In C++ the lanes of a row look 1, 2, 4, 8, ... spans apart."""
    assert Update(700 * SPAN + 5, 8, "hot").faults(language, clean=False) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("length", [7, SPAN, SPAN + 1, 9 * SPAN, 33 * SPAN])
def test_runs_that_end_at_edges_of_spans(language, length):
    """Runs of one length each, one after the other, and ids of their own between them."""
    update = Update(3 * length + 7, 8, "random", rows=60)
    update.ids = np.sort(np.repeat(np.arange(3, dtype=np.int32) * 7 + 2, length).tolist() + list(range(30, 37)))
    update.ids = update.ids.astype(np.int32)
    assert update.faults(language, clean=length < 2 * SPAN) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_update_leaves_the_same_bits_every_time(language):
    update = Update(3_073, 16, "hot")
    once, again = (update.run(language, clean=False) for _ in range(2))
    assert [array.tobytes() for array in once] == [array.tobytes() for array in again]


@NEEDS_COMPILER
def test_both_languages_differ_by_rounding_alone():
    update = Update(257, 32, "random")
    for one, other in zip(update.run(NUMBA), update.run(CPP), strict=True):
        np.testing.assert_allclose(one, other, rtol=3e-6, atol=3e-7)


# --- by atomics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "dim", "kind"), CASES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_atomics_add_up_whole_numbers_exactly(language, n, dim, kind):
    fields, rows = 1, 97
    ids = some_ids(kind, n, rows)
    gradient = np.random.default_rng(4).integers(-9, 10, (n, dim + 2)).astype(np.float32)
    out, expected = np.zeros((rows, dim), np.float32), np.zeros((rows, dim), np.float32)
    np.add.at(expected, ids, gradient[:, :dim])
    if language == NUMBA:
        launch(numba_kernels.scatter_atomic, n * dim, ids, gradient, out, np.int32(fields))
    else:
        sizes = (np.int32(value) for value in (n, fields, dim + 2, dim))
        launch(program("scatter_atomic<float>")("scatter_atomic<float>"), n * dim, ids, gradient, out, *sizes)
    assert np.array_equal(out, expected)


# --- more than 2^31 --------------------------------------------------------------------------------------------------
# A table of that size is a file that is all holes: it takes memory and disk only where it is written.

FAR = 2**26 + 3  # rows of 32 numbers before the last: their places pass 2^31


@pytest.fixture
def far_table(tmp_path):
    table = np.asarray(np.memmap(tmp_path / "table", np.float32, "w+", shape=(FAR + 1, 32)))
    table[FAR] = np.arange(1, 33)
    return table


@pytest.mark.parametrize(("language", "name"), GATHERS)
def test_a_row_whose_place_passes_32_bits_is_gathered(language, name, far_table):
    found = gathered(language, name, np.array([0, FAR], np.int32), far_table, clean=False)
    assert found[1].tolist() == list(range(1, 33)) and not found[0].any()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", ["within a span", "over an edge"])
def test_a_row_whose_place_passes_32_bits_is_stepped(language, kind, far_table, tmp_path):
    update = Update(2 if kind == "within a span" else 50, 32, "one", rows=3)
    update.ids[:] = 2
    expected, _, size = update.expected()
    far_table[FAR] = update.table[2]
    state = np.asarray(np.memmap(tmp_path / "state", np.float32, "w+", shape=(FAR + 1,)))
    state[FAR] = update.state[2]
    update.ids[:] = FAR

    class Same:  # the arrays as they are, and no copies of 8 GB
        def __init__(self, array):
            self.array = array

        def copy(self):
            return self.array

    update.table, update.state = Same(far_table), Same(state)
    table, _ = update.run(language, clean=False)
    np.testing.assert_allclose(table[FAR], expected[2], rtol=1e-5, atol=1e-6 * size)
    assert not table[FAR - 1].any()


# --- wrong kernels are caught ----------------------------------------------------------------------------------------

ZERO = "total = make_float4(0.0f, 0.0f, 0.0f, 0.0f);"
WRONG = {
    "places are not mapped back": ("(unsigned)order[begin + j]", "(unsigned)(begin + j)"),
    "the sum of squares in place of their mean": ("sum += squares / (float)(4 * LANES);", "sum += squares;"),
    "the state is not kept": ("if (lane == 0) state[row] = sum;", ""),
    "no root": ("rate / (sqrtf(sum) + eps)", "rate / (sum + eps)"),
    "runs begin anew in every span": ("bool begins = begin == 0 || keys[begin - 1] != key[0];", "bool begins = true;"),
    "the next row's sum begins with this one's": (f"        {ZERO}\n        begun", "        begun"),
    "one head less": ("j <= spans; j += step", "j < spans; j += step"),
    "the tail is forgotten": ("        total = load4(tails + ((long long)span * LANES + lane) * 4);\n", ""),
    "long runs are left alone": ("if (lengths[run] <= SHORT) continue;", "if (true) continue;"),
    "a run that fills a span begins there": ("keys[next] == key && !earlier", "keys[next] == key"),
}  # fmt: skip


@NEEDS_COMPILER
@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_update_is_caught(what):
    wrong = changed(*WRONG[what], 8)
    cases = (Update(450, 8, "one"), Update(99, 8, "random", fields=3))
    assert any(case.faults(CPP, wrong, clean=False) for case in cases)


@NEEDS_COMPILER
def test_a_missing_wait_for_the_sums_of_others_is_a_race():
    before = "sums[threadIdx.x] = sum_of_heads<LANES>(heads, first + run, 1 + mine, lengths[run], rows);\n"
    wrong = changed(f"{before}        __syncthreads();", before, 8)
    with pytest.raises(AssertionError, match="race"):
        Update(450, 8, "one").run(CPP, wrong)


@NEEDS_COMPILER
def test_a_place_in_32_bits_misses_a_far_row(far_table):
    before = "const float* from = table + (long long)rows[id] * dim;"
    wrong = changed(before, "const float* from = table + rows[id] * dim;", 8)
    out = np.zeros((1, 32), np.float32)
    with pytest.raises(AssertionError, match="element -2,147,483,552 of table"):
        launch(wrong("gather_thread"), 1, np.array([FAR], np.int32), far_table, out, np.int32(1), np.int32(32))
