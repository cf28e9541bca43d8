"""The grade of lab 8. Whole numbers are compared exactly; what rounds has a bound that float32 keeps with ease."""

import itertools

import numpy as np

from gpukit.labs import points

HOST = (
    *("encode", "offsets_of", "first_bad", "log_counts", "segments", "forward", "loss", "train", "split", "history"),
    *("auc", "calibration", "normalized_entropy", "speed_up"),
)

THREADS = 128  # of a block
SHOWN = 8  # an array of no more elements is shown in a message as it is


def whole_numbers(lab, *shape):
    """Small enough for every sum here to be exact, in whatever order."""
    return lab.rng.integers(-4, 5, shape).astype(np.float32)


def blocks(threads):
    return max(1, -(-threads // THREADS))


def call_of(name, call):
    def told(argument):
        if not isinstance(argument, np.ndarray):
            return str(argument)
        sizes = ", ".join(map(str, argument.shape))
        return f"{argument.dtype}[{sizes}]" + (f" {argument.tolist()}" if 0 < argument.size <= SHOWN else "")

    return f"{name}({', '.join(map(told, call))})"


def of_kinds(lab, call, got, kinds):
    """Fail unless a host function returned these: types of arrays, or the names of Python's own types."""
    parts = got if isinstance(got, tuple | list) else (got,)
    plain = [part.item() if isinstance(part, np.generic) else part for part in parts]  # NumPy's numbers are numbers
    found = [str(part.dtype) if isinstance(part, np.ndarray) else type(part).__name__ for part in plain]
    lab.expect(call, f"returned {', '.join(found)}", f"returned {', '.join(kinds)}")
    return parts


# --- samples, and what they look up ----------------------------------------------------------------------------------


class Batch:
    """Samples with ids, and a table for them: each field has 3 rows or more, and some ids are frequent."""

    def __init__(self, lab, samples, dim, rows=(40, 3, 17)):
        self.rows = np.array(rows, np.int64)
        self.offsets = np.cumsum(self.rows) - self.rows
        some = lab.rng.integers(0, self.rows, (samples, len(rows)))
        often = lab.rng.random((samples, len(rows))) < 0.3
        self.ids = np.where(often, self.rows - 1, some).astype(np.int32)
        self.at = self.ids + self.offsets
        self.table = whole_numbers(lab, int(self.rows.sum()), dim)
        self.samples, self.fields, self.dim = samples, len(rows), dim
        self.about = f"samples: {samples}, fields of {', '.join(map(str, rows))} rows, dim {dim}"

    @property
    def gathered(self):
        return self.table[self.at].reshape(self.samples, -1)


# --- 8.1 -------------------------------------------------------------------------------------------------------------


@points(2)
def test_8_1_rows(lab):
    """How many bytes has a row, and how few can memory move? What stands in the table before the second field?"""
    for dim in (4, 8, 32):
        step = 64 // min(dim * 4, 64)
        table, out = whole_numbers(lab, 64 * step, dim), np.zeros((64, dim), np.float32)
        report = lab.given("read_rows", blocks(64 * dim), THREADS, table, out, np.int32(step))
        sectors = report.counters["global_load_sectors"] // 64
        lab.quiz(f"SECTORS_OF_{dim}", sectors, about=f"a row of {dim} float32, alone")
    offsets = np.cumsum([0, 5, 4])
    lab.quiz("ROW_OF_ID", int(offsets[1]) + 3, about="fields of 5, 4 and 3 rows, id 3 of the second one")


@points(2)
def test_8_1_bytes(lab):
    """How many numbers does one sample gather? Which arrays are as large as the table, and who reads or writes them?"""
    lab.quiz("GATHERED_BYTES", 6 * 32 * 4, about="6 fields, dim 32, float32")
    bytes_each = (4 + 3) * 4
    lab.quiz("ADAM_BYTES", bytes_each, about="4 numbers read and 3 written, float32")
    moved = 10_000_000 * 32 * bytes_each
    lab.quiz("ADAM_MEGABYTES", moved // 10**6, about="10 million rows of 32, in millions of bytes")
    lab.quiz("ADAM_MICROSECONDS", round(moved / 4.8e12 * 1e6), about="at 4.8 * 10^12 bytes a second, rounded")


# --- 8.2 -------------------------------------------------------------------------------------------------------------


def fields_to_encode(lab):
    """(what is special, values of the training rows, values to encode)."""
    small = np.array([70, 20, 70, 90, 20]), np.array([20, 110, 90, 20])
    yield "training has 20, 70 and 90; nobody knows 110", *small
    yield "values below, between and above those of training", np.array([5, 3]), np.array([-7, 2, 3, 4, 5, 6, 10**12])
    large = 2**53 + np.arange(1, 5)
    yield "values that float64 cannot tell apart", large[[2, 0]], large
    yield "no training rows", np.zeros(0), np.array([1, 0])
    hashed = lab.rng.integers(-(2**62), 2**62, 30)
    yield "hashed values, half of them known", hashed[lab.rng.integers(0, 15, 25)], lab.rng.permutation(hashed)


@points(1)
def test_8_2_encode(lab):
    """Whose values may the vocabulary hold, if the future is to be a surprise? Which id do other values get?"""
    given = [(about, train.astype(np.int64), raw.astype(np.int64)) for about, train, raw in fields_to_encode(lab)]
    calls = [(train, raw) for _, train, raw in given]
    results = lab.host("encode", calls) if lab.language == "Python" else [None] * len(calls)
    for (about, train, raw), got in zip(given, results, strict=True):
        known = {int(value): k for k, value in enumerate(np.unique(train), 1)}
        ids, rows = np.array([known.get(int(value), 0) for value in raw]), len(known) + 1
        if lab.language == "Python":
            call = call_of("encode", (train, raw))
            found = of_kinds(lab, call, got, ("int32", "int"))
            lab.expect(f"ids of {call}", found[0], ids, about=about)
            lab.expect(f"rows of {call}", found[1], rows, about=about)
        else:
            args = {"trained": train, "raw": raw, "ids": np.empty(raw.size, np.int32), "rows": np.empty(1, np.int32)}
            sizes = (train.size, raw.size)
            lab.check("encode", 1, 64, args, {"ids": ids, "rows": np.array([rows])}, sizes=sizes, about=about)


@points(1)
def test_8_2_one_table(lab):
    """Where does a field begin, if those before it are full? Which is the largest id that a field of 3 rows has?"""
    fields = [np.array(rows, np.int64) for rows in ((5, 4, 3), (1,), (2**31 - 1, 2**31 - 1, 7))]
    wanted = [np.array([sum(map(int, rows[:f])) for f in range(rows.size)]) for rows in fields]
    about = "rows of each field"
    if lab.language == "Python":
        for rows, got, offsets in zip(fields, lab.host("offsets_of", [(r,) for r in fields]), wanted, strict=True):
            call = call_of("offsets_of", (rows,))
            of_kinds(lab, call, got, ("int64",))
            lab.expect(call, got, offsets, about=about)
    else:
        for rows, offsets in zip(fields, wanted, strict=True):
            args = {"rows": rows, "offsets": np.empty(rows.size, np.int64)}
            lab.check("offsets_of", 1, 1, args, {"offsets": offsets}, sizes=(rows.size,), about=about)
    rows = np.array([40, 3, 17], np.int64)
    good = lab.rng.integers(0, rows, (50, 3)).astype(np.int32)
    given = [(good, (-1, -1), "all ids are good")]
    for about, sample, field, bad in (
        ("the largest id is one too large", 20, 1, 3),
        ("an id below 0", 0, 0, -1),
        ("the last id of all", 49, 2, 17),
        ("an id that another field has room for", 30, 2, 39),
    ):
        ids = good.copy()
        ids[sample, field] = bad
        if sample < 49:
            ids[-1, 0] = 2**31 - 1
        given.append((ids, (sample, field), f"rows of each field: 40, 3, 17; {about}, in sample {sample}"))
    if lab.language == "Python":
        for (_, place, about), got in zip(given, lab.host("first_bad", [(i, rows) for i, *_ in given]), strict=True):
            lab.expect("first_bad(int32[50, 3], rows)", got, place, about=about)
    else:
        for ids, place, about in given:
            args = {"ids": ids, "rows": rows, "place": np.empty(2, np.int32)}
            lab.check("first_bad", 1, 1, args, {"place": np.array(place)}, sizes=ids.shape, about=about)


@points(1)
def test_8_2_log_counts(lab):
    """What is the logarithm of 0, and of -1? Which of the two functions for log(1 + x) does 10^-8 survive?"""
    given = [
        ("-3, -2 and -1 stand for what was not counted, NaN for what is missing", np.array([[-3, -1], [np.nan, -2]])),
        ("counts", np.array([[0, 1, 2, 7, 1000, 2**24]])),
        ("a rate of one in a hundred million", np.array([[1e-8, 1e-8]])),
        ("random counts", lab.rng.integers(-3, 400, (40, 13))),
    ]
    given = [(about, x.astype(np.float32)) for about, x in given]
    results = lab.host("log_counts", [(x,) for _, x in given]) if lab.language == "Python" else [None] * len(given)
    for (about, x), got in zip(given, results, strict=True):
        expected = np.log1p(np.where(x > 0, x, 0).astype(np.float64))
        bound = 1e-6 * expected + 1e-15
        if lab.language == "Python":
            call = call_of("log_counts", (x,))
            of_kinds(lab, call, got, ("float32",))
            lab.expect(call, got, expected, bound=bound, about=about)
        else:
            args = {"x": x, "y": np.empty_like(x)}
            answers = {"y": expected}
            lab.check("log_counts", blocks(x.size), THREADS, args, answers, sizes=(x.size,), bound=bound, about=about)


# --- 8.3 -------------------------------------------------------------------------------------------------------------


def gather_launch(batch):
    out = np.empty((batch.samples, batch.fields * batch.dim), np.float32)
    return {
        "grid": blocks(out.size),
        "block": THREADS,
        "args": {"ids": batch.ids, "offsets": batch.offsets, "table": batch.table, "out": out},
        "answers": {"out": batch.gathered},
        "sizes": (batch.samples, batch.fields, batch.dim),
    }


@points(1)
def test_8_3_locate(lab):
    """How large is the product at most, and in which type is it made? What stands before field f?"""
    for samples, rows, dim in ((70, (40, 3, 17), 20), (33, (150_000_000, 50_000_000, 9), 64), (5, (2**31 - 1, 9), 3)):
        ids = lab.rng.integers(np.array(rows) // 2, rows, (samples, len(rows))).astype(np.int32)
        offsets = np.cumsum(rows) - np.array(rows, np.int64)
        args = {"ids": ids, "offsets": offsets, "dim": np.int32(dim), "place": np.empty(ids.shape, np.int64)}
        about = f"samples: {samples}, fields of {', '.join(f'{n:,}' for n in rows)} rows, dim {dim}"
        answers = {"place": (offsets + ids) * dim}
        lab.check("locate", blocks(ids.size), THREADS, args, answers, sizes=ids.shape, about=about)


@points(2)
def test_8_3_right(lab):
    """Which sample, which field, which number of a row does thread 100 have, if dim is 20? Who has none?"""
    for samples, dim in ((1, 1), (5, 32), (33, 20), (31, 7), (64, 8), (17, 33), (3, 64)):
        batch = Batch(lab, samples, dim)
        lab.check("gather", **gather_launch(batch), about=batch.about)
    batch = Batch(lab, 40, 16, (9,))
    lab.check("gather", **gather_launch(batch), about=f"one field; {batch.about}")


@points(1)
def test_8_3_cost(lab):
    """When lane 0 reads number 0 of a row, what does lane 1 read? How many rows has a warp, if a row is 8 numbers?"""
    for samples, dim in ((24, 32), (60, 8), (40, 20)):
        batch = Batch(lab, samples, dim, (900, 3, 170))
        lab.cost(
            "gather",
            **gather_launch(batch),
            about=batch.about,
            at_most={
                "global_load_requests": 1.4,
                "global_load_sectors": 1.2,
                "global_store_requests": 1.0,
                "global_store_sectors": 1.1,
            },
        )


# --- 8.4 -------------------------------------------------------------------------------------------------------------


def far_apart(lab):
    """32 ids, at least 8 apart, in random order."""
    return lab.rng.permutation(np.cumsum(lab.rng.integers(8, 20, 32))).astype(np.int32)


def sectors_by_id(lab, kernel, ids, dim):
    """Sectors of all requests that the last loading line of a given kernel makes: those for what the ids lead to."""
    shape = () if dim == 1 else (dim,)
    table, out = whole_numbers(lab, 32 * 20, *shape), np.zeros((ids.size, *shape), np.float32)
    report = lab.given(kernel, -(-ids.size * dim // 32), 32, ids, table, out)
    return [line.counters["global_load_sectors"] for line in report.lines if "global_load_sectors" in line.counters][-1]


@points(1)
def test_8_4_order(lab):
    """Does memory care which lane asks for a sector? How many of 32 different ids, 8 apart, can share one?"""
    ids = far_apart(lab)
    for name, given, about in (
        ("SECTORS_FAR_APART", ids, "32 ids, at least 8 apart, in random order"),
        ("SECTORS_FAR_APART_SORTED", np.sort(ids), "32 ids, at least 8 apart, sorted"),
        ("SECTORS_NEIGHBOURS", lab.rng.permutation(32).astype(np.int32), "the ids 0 to 31, in random order"),
    ):
        lab.quiz(name, sectors_by_id(lab, "look_up", given, 1), about=f"look_up, one warp: {about}")


@points(1)
def test_8_4_repeats(lab):
    """How many different ids has a warp, before and after sorting? How many rows does a warp of copy_rows read?"""
    ids = far_apart(lab)
    for end, given, about in (
        ("IN_TURN", np.tile(ids, 8), "8 warps, each with all 32 ids"),
        ("SORTED", np.repeat(np.sort(ids), 8), "32 ids, each 8 times, sorted"),
    ):
        lab.quiz(f"SECTORS_{end}", sectors_by_id(lab, "look_up", given, 1), about=f"look_up: {about}")
        lab.quiz(f"ROW_SECTORS_{end}", sectors_by_id(lab, "copy_rows", given, 32), about=f"copy_rows: {about}")
        report = lab.given("count_ids", 8, 32, given, np.zeros(32 * 20, np.int32))
        lab.quiz(f"LANES_{end}", report.counters["atomic_max_contention"], about=f"count_ids: {about}")


# --- 8.5 -------------------------------------------------------------------------------------------------------------


def scatter_launch(lab, batch):
    grad = whole_numbers(lab, batch.samples, batch.fields * batch.dim)
    total = batch.table.astype(np.float64)
    np.add.at(total, batch.at.ravel(), grad.reshape(-1, batch.dim))
    return {
        "grid": blocks(grad.size),
        "block": THREADS,
        "args": {"ids": batch.ids, "offsets": batch.offsets, "grad": grad, "total": batch.table},
        "answers": {"total": total},
        "accumulates": ("total",),
        "sizes": (batch.samples, batch.fields, batch.dim),
    }


@points(2)
def test_8_5_right(lab):
    """Which element of `total` does thread 100 add to, if dim is 20? What if two samples have the same id?"""
    for samples, dim in ((1, 1), (5, 32), (33, 20), (64, 8), (17, 33)):
        batch = Batch(lab, samples, dim)
        lab.check("scatter_add", **scatter_launch(lab, batch), about=f"whole numbers: exact; {batch.about}")
    batch = Batch(lab, 80, 8, (1, 2))
    about = f"all samples have id 0 of the first field; {batch.about}"
    lab.check("scatter_add", **scatter_launch(lab, batch), about=about)


@points(1)
def test_8_5_cost(lab):
    """Which numbers of which rows do the 32 lanes of a warp add at once, and how many of them to one address?"""
    batch = Batch(lab, 24, 32, (900, 3, 170))
    lab.cost(
        "scatter_add",
        **scatter_launch(lab, batch),
        about=batch.about,
        at_most={
            "global_atomics": 1.0,
            "atomic_max_contention": 1.0,
            "global_atomic_sectors": 1.0,
            "global_load_requests": 1.4,
            "global_load_sectors": 1.2,
        },
    )


# --- 8.6 -------------------------------------------------------------------------------------------------------------


def segments_of(rows):
    touched, counts = np.unique(rows, return_counts=True)
    order = np.argsort(rows, kind="stable").astype(np.int32)
    return order, np.concatenate(([0], np.cumsum(counts))).astype(np.int32), touched


@points(1)
def test_8_6_segments(lab):
    """Which lookups belong to the smallest row, and in what order? Where does the last segment end?"""
    given = [("rows 7, 2, 7, 7, 0", np.array([7, 2, 7, 7, 0])), ("one lookup", np.array([2**40]))]
    given += [("one row", np.full(40, 5)), ("all rows differ", lab.rng.permutation(33))]
    given.append(("60 lookups of 12 rows", lab.rng.integers(0, 12, 60)))
    calls = [(rows.astype(np.int64),) for _, rows in given]
    results = lab.host("segments", calls) if lab.language == "Python" else [None] * len(calls)
    for (about, _), call, got in zip(given, calls, results, strict=True):
        wanted = dict(zip(("order", "starts", "touched"), segments_of(*call), strict=True))
        if lab.language == "Python":
            what = call_of("segments", call)
            found = of_kinds(lab, what, got, ("int32", "int32", "int64"))
            for (name, expected), array in zip(wanted.items(), found, strict=True):
                lab.expect(f"{name} of {what}", array, expected, about=about)
        else:
            args = {"rows": call[0], **{name: np.empty_like(array) for name, array in wanted.items()}}
            lab.check("segments", 1, 1, args, wanted, sizes=(call[0].size,), about=about)


def update_launch(lab, rows, dim, grad=None, lr=0.5, eps=0.25, state=None):
    """A launch for lookups of these rows of 90. eps is large, so that it is seen where it stands."""
    order, starts, touched = segments_of(np.asarray(rows, np.int64))
    grad = whole_numbers(lab, len(rows), dim) if grad is None else grad
    table = whole_numbers(lab, 90, dim)
    state = lab.rng.integers(0, 9, 90).astype(np.float32) if state is None else np.full(90, state, np.float32)
    g = np.zeros((touched.size, dim), np.float32)
    for segment in range(touched.size):
        for lookup in order[starts[segment] : starts[segment + 1]]:
            g[segment] += grad[lookup]
    expected, now = table.astype(np.float64), state.astype(np.float64)
    now[touched] += (g.astype(np.float64) ** 2).mean(1)
    expected[touched] -= lr * g / (np.sqrt(now[touched]) + eps)[:, None]
    return {
        "grid": blocks(32 * touched.size),
        "block": THREADS,
        "args": {"order": order, "starts": starts, "touched": touched, "grad": grad, "table": table, "state": state}
        | {"lr": np.float32(lr), "eps": np.float32(eps)},
        "answers": {"table": expected, "state": now},
        "accumulates": ("table", "state"),
        "sizes": (touched.size, dim),
        "bound": 1e-5 + 1e-6 * float(now.max()),
    }


@points(2)
def test_8_6_right(lab):
    """What is g, before it is squared? Which lanes know the sum of the squares, and who must know the state?"""
    grad = np.array([[3, 1], [1, 3]], np.float32)
    about = "gradients (3, 1) and (1, 3) of one row; state 9, lr 2, eps 3: state 25, and a step of 1 for both numbers"
    lab.check("update", **update_launch(lab, [5, 5], 2, grad, lr=2, eps=3, state=9), about=about)
    for lookups, dim in ((1, 32), (5, 1), (60, 32), (61, 20), (40, 7), (100, 31)):
        rows = np.where(lab.rng.random(lookups) < 0.3, 89, lab.rng.integers(0, 89, lookups))
        about = f"lookups: {lookups}, of 90 rows, the last row often, dim {dim}"
        lab.check("update", **update_launch(lab, rows, dim), about=about)
    grad = np.array([2.0**24, 1, 1, -(2.0**24)], np.float32)[:, None]
    about = "gradients 2^24, 1, 1, -2^24 of one row, in this order: their sum is 0 in float32"
    lab.check("update", **update_launch(lab, [3, 3, 3, 3], 1, grad), about=about)
    launch = update_launch(lab, [4, 8], 32, np.zeros((2, 32), np.float32), eps=1e-8, state=0)
    lab.check("update", **launch, about="gradients of 0, states of 0: nothing changes, and nothing becomes NaN")


@points(2)
def test_8_6_cost(lab):
    """How many threads add to one row, if a warp has it alone? How often is a row read, and how often written?"""
    rows = np.where(lab.rng.random(200) < 0.3, 89, lab.rng.integers(0, 89, 200))
    lab.cost(
        "update",
        **update_launch(lab, rows, 32),
        about="lookups: 200, of 90 rows, the last row often, dim 32",
        at_most={
            "global_atomics": 1.0,
            "shared_load_requests": 1.0,
            "global_load_requests": 1.3,
            "global_load_sectors": 1.2,
            "global_store_requests": 1.0,
            "global_store_sectors": 1.0,
        },
    )


# --- 8.7 -------------------------------------------------------------------------------------------------------------


def network(lab, batch, numbers, *hidden, make=whole_numbers):
    """Weights and biases for a batch and its dense numbers, layer by layer, down to one logit."""
    sizes = (batch.fields * batch.dim + numbers, *hidden, 1)
    layers = []
    for before, after in itertools.pairwise(sizes):
        layers += [make(lab, after, before), make(lab, after)]
    return layers


def logits_of(batch, dense, layers):
    """In float64."""
    x = np.concatenate((batch.gathered, dense), axis=1).astype(np.float64)
    for w, b in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        x = np.maximum(x @ w.T + b, 0)
    return (x @ layers[-2].T + layers[-1])[:, 0]


def gaussian(lab, *shape):
    return (0.3 * lab.rng.standard_normal(shape)).astype(np.float32)


def are_probabilities(got, logits):
    """Whether these are the sigmoids of the logits that are expected."""
    if not isinstance(got, np.ndarray) or got.shape != logits.shape or got.dtype.kind != "f":
        return False
    return np.allclose(got, np.exp(-np.logaddexp(0, -logits)), atol=1e-3)


@points(2)
def test_8_7_forward(lab):
    """Which numbers does x begin with? What shape has the last layer's output, for 5 samples and for one?"""
    given = []
    for samples, dim, numbers, *hidden in ((5, 4, 3, 8, 6), (1, 3, 2, 4, 4), (33, 5, 13, 16, 8), (20, 4, 2, 9, 5)):
        batch = Batch(lab, samples, dim)
        make = whole_numbers if samples != 20 else gaussian
        dense, layers = make(lab, samples, numbers), network(lab, batch, numbers, *hidden, make=make)
        exact = "whole numbers: exact" if make is whole_numbers else "random numbers"
        about = f"{exact}; {batch.about}, {numbers} dense numbers, hidden layers of {hidden[0]} and {hidden[1]}"
        given.append((about, batch, dense, layers, 0.0 if make is whole_numbers else 1e-5))
    names = ("w1", "b1", "w2", "b2", "w3", "b3")
    calls = [(batch.ids, dense, batch.offsets, batch.table, *layers) for _, batch, dense, layers, _ in given]
    results = lab.host("forward", calls) if lab.language == "Python" else [None] * len(calls)
    wanted = [logits_of(batch, dense, layers) for _, batch, dense, layers, _ in given]
    if lab.language == "Python" and all(map(are_probabilities, results, wanted)):
        lab.expect(
            "forward(...)", "probabilities", "logits: the loss has the sigmoid", about="samples: 5, 1, 33 and 20"
        )
    for (about, batch, dense, layers, bound), expected, got in zip(given, wanted, results, strict=True):
        if lab.language == "Python":
            what = f"forward(ids: int32[{batch.samples}, {batch.fields}], ...)"
            of_kinds(lab, what, got, ("float32",))
            pairs = f"labels: {batch.samples}; logits of another shape make a loss of other pairs, or none; {about}"
            lab.expect(f"the shape of {what}", got.shape, expected.shape, about=pairs)
            lab.expect(what, got, expected, bound=bound, about=about)
        else:
            args = {"ids": batch.ids, "dense": dense, "offsets": batch.offsets, "table": batch.table}
            args |= dict(zip(names, layers, strict=True)) | {"logits": np.empty(batch.samples, np.float32)}
            sizes = (*batch.ids.shape, batch.dim, dense.shape[1], layers[0].shape[0], layers[2].shape[0])
            answers = {"logits": expected}
            lab.check("forward", blocks(batch.samples), THREADS, args, answers, sizes=sizes, bound=bound, about=about)


def log_loss(logits, labels):
    """Of each sample, in float64."""
    return np.logaddexp(0, np.where(labels == 1, -1, 1) * logits.astype(np.float64))


@points(1)
def test_8_7_loss(lab):
    """What is sigmoid(1000) in float32, what is one less that, and its logarithm? What is -1 in a uint8?"""
    given = [
        ("logits of 0: half of each, ln 2", np.zeros(4), np.array([0, 1, 1, 0])),
        ("right, and very sure", np.array([1000, -1000, 50]), np.array([1, 0, 1])),
        ("wrong, and very sure", np.array([1000, -1000, 0]), np.array([0, 1, 0])),
        ("one sample", np.array([0.25]), np.array([1])),
        ("random logits", 3 * lab.rng.standard_normal(100), lab.rng.integers(0, 2, 100)),
    ]
    given = [(about, logits.astype(np.float32), labels.astype(np.uint8)) for about, logits, labels in given]
    calls = [(logits, labels) for _, logits, labels in given]
    results = lab.host("loss", calls) if lab.language == "Python" else [None] * len(calls)
    for (about, logits, labels), got in zip(given, results, strict=True):
        expected = float(log_loss(logits, labels).mean())
        bound = 1e-5 * expected + 1e-7
        if lab.language == "Python":
            call = call_of("loss", (logits, labels))
            of_kinds(lab, call, got, ("float",))
            lab.expect(call, got, expected, bound=bound, about=about)
        else:
            args = {"logits": logits, "labels": labels, "mean": np.empty(1, np.float32)}
            answers = {"mean": np.array([expected])}
            lab.check("loss", 1, 1, args, answers, sizes=(labels.size,), bound=bound, about=about)


# --- 8.8 -------------------------------------------------------------------------------------------------------------

# Of the reference: 24 launches a step; 6 reads, where results are handed over; 9 arrays that become tensors.
OPERATIONS_A_STEP, FEWEST_A_STEP = 45, 8
HOST_READS, UPLOADS = 8, 12


def trained(batch, dense, labels, layers, size, lr):
    """What `train` should return, in float64."""
    table, layers = batch.table.astype(np.float64), [layer.astype(np.float64) for layer in layers]
    losses = []
    for start in range(0, batch.samples - size + 1, size):
        now = slice(start, start + size)
        x = np.concatenate((table[batch.at[now]].reshape(size, -1), dense[now]), axis=1)
        w1, b1, w2, b2 = layers
        hidden = np.maximum(x @ w1.T + b1, 0)
        logits = (hidden @ w2.T + b2)[:, 0]
        losses.append(log_loss(logits, labels[now]).mean())
        down = ((1 / (1 + np.exp(-logits)) - labels[now]) / size)[:, None]
        back = (down @ w2) * (hidden > 0)
        rows = (back @ w1)[:, : batch.fields * batch.dim].reshape(-1, batch.dim)
        steps = (back.T @ x, back.sum(0), down.T @ hidden, down.sum(0))
        layers = [layer - lr * step for layer, step in zip(layers, steps, strict=True)]
        np.subtract.at(table, batch.at[now].ravel(), lr * rows)
    return np.array(losses), table, *layers


def to_train(lab, samples, size, rows=(40, 3, 17)):
    """(arguments of `train`, what it should return)."""
    batch = Batch(lab, samples, 4, rows)
    batch.table = gaussian(lab, *batch.table.shape)
    dense, layers = gaussian(lab, samples, 3), network(lab, batch, 3, 8, make=gaussian)
    labels, lr = lab.rng.integers(0, 2, samples).astype(np.uint8), 0.5
    call = (batch.ids, dense, labels, batch.offsets, batch.table, *layers, size, lr)
    return call, trained(batch, dense, labels, layers, size, lr)


@points(2)
def test_8_8_right(lab):
    """When is the loss of a batch taken, before its step or after? What happens to a row that two samples touch?"""
    if lab.language != "Python":
        return in_one_launch(lab)
    given = [(70, 16), (64, 16), (5, 1), (18, 9)]
    made = [to_train(lab, *each) for each in given]
    results = lab.host("train", [call for call, _ in made])
    names = ("losses", "table", "w1", "b1", "w2", "b2")
    for (samples, size), (_, wanted), got in zip(given, made, results, strict=True):
        what = f"train(...) of {samples} samples in batches of {size}"
        found = of_kinds(lab, what, got, ["float32"] * len(names))
        for name, array, expected in zip(names, found, wanted, strict=True):
            about = f"{samples // size} steps; some rows are touched by several samples of a batch"
            lab.expect(f"{name} of {what}", array, expected, bound=1e-4, about=about)
    return None


def linear_launch(lab, samples, size, rows=(40, 3, 17)):
    """A launch of `train` in CUDA C++, which trains one number for each id."""
    batch = Batch(lab, samples, 1, rows)
    start = gaussian(lab, int(batch.rows.sum()))
    labels, lr = lab.rng.integers(0, 2, samples).astype(np.uint8), 2.0
    weights, losses = start.astype(np.float64), np.zeros(samples)
    for first in range(0, samples - size + 1, size):
        now = slice(first, first + size)
        logits = weights[batch.at[now]].sum(1)
        losses[now] = log_loss(logits, labels[now])
        down = (1 / (1 + np.exp(-logits)) - labels[now]) / size
        np.subtract.at(weights, batch.at[now].ravel(), lr * np.repeat(down, batch.fields))
    args = {"ids": batch.ids, "offsets": batch.offsets, "labels": labels, "weights": start}
    args |= {"losses": np.empty(samples, np.float32), "lr": np.float32(lr)}
    return {
        "grid": 1,
        "block": size,
        "args": args,
        "answers": {"weights": weights, "losses": losses},
        "accumulates": ("weights",),
        "sizes": batch.ids.shape,
        "bound": 1e-4,
    }


def in_one_launch(lab):
    for samples, size in ((300, 64), (256, 64), (32, 32), (20, 32)):
        about = f"{samples} samples in batches of {size}: {samples // size} steps"
        lab.check("train", **linear_launch(lab, samples, size), about=about)


@points(2)
def test_8_8_busy(lab):
    """Which lines must know a number on the host before they go on? Which array of a step is as large as the table?"""
    if lab.language != "Python":
        about, run = "256 samples in batches of 64: 4 steps", linear_launch(lab, 256, 64)
        at_most = {"barriers": 1.0, "global_atomics": 1.0, "global_load_requests": 1.4}
        lab.cost("train", **run, about=about, at_most=at_most)
        return
    steps, size = 24, 8
    call, wanted = to_train(lab, steps * size, size, rows=(4000, 3, 170))
    what = f"train(...) of {steps * size} samples in batches of {size}"
    (run,) = lab.host_counted("train", [call])
    (losses, *_) = of_kinds(lab, what, run.value, ["float32"] * 6)
    lab.expect(f"losses of {what}", losses, wanted[0], bound=1e-4, about=f"{steps} steps, a table of 4,173 rows")
    at_most = {"host_reads": HOST_READS, "uploads": UPLOADS, "dense_gradient_bytes": 0}
    # A third of what it takes to write the whole table in each step.
    at_most |= {"operations": OPERATIONS_A_STEP * steps, "written_bytes": steps * call[4].nbytes // 3}
    lab.within(what, run, at_most=at_most, at_least={"operations": FEWEST_A_STEP * steps}, about=f"{steps} steps")


# --- 8.9 -------------------------------------------------------------------------------------------------------------


def in_time(lab, samples, seconds):
    """(times, ids, labels) of samples in no order."""
    times = lab.rng.integers(0, seconds, samples).astype(np.int64)
    ids = lab.rng.integers(0, 6, samples).astype(np.int32)
    return times, ids, lab.rng.integers(0, 2, samples).astype(np.uint8)


@points(1)
def test_8_9_split(lab):
    """What do you know of a click that comes after it? On which side are two samples of one second?"""
    given = [
        ("the last 2 of seconds 10, 40, 20, 30", np.array([10, 40, 20, 30]), 2),
        ("the last 2 of seconds 5, 7, 7, 7, 9: three of them are one second", np.array([5, 7, 7, 7, 9]), 2),
        ("all of them", np.array([3, 1, 2]), 3),
        ("200 samples in 1000 seconds", in_time(lab, 200, 1000)[0], 20),
    ]
    given = [(about, times.astype(np.int64), count) for about, times, count in given]
    results = lab.host("split", [each[1:] for each in given]) if lab.language == "Python" else [None] * len(given)
    for (about, times, count), got in zip(given, results, strict=True):
        expected = times >= np.sort(times)[times.size - count]
        if lab.language == "Python":
            call = call_of("split", (times, count))
            of_kinds(lab, call, got, ("bool",))
            lab.expect(call, got, expected, about=about)
        else:
            args = {"times": times, "count": np.int32(count), "test": np.empty(times.size, np.uint8)}
            answers = {"test": expected.astype(np.uint8)}
            lab.check("split", blocks(times.size), THREADS, args, answers, sizes=(times.size,), about=about)


def rates_before(times, ids, labels, bucket, prior, k):
    earlier = (times[:, None] // bucket > times // bucket) & (ids[:, None] == ids)
    return (earlier @ labels.astype(np.float64) + k * prior) / (earlier.sum(1) + k)


@points(2)
def test_8_9_history(lab):
    """When is it known whether a sample is clicked? Which samples may the rate of one in bucket 3 look at?"""
    small = np.array([0, 5, 12, 14, 25]), np.array([1, 1, 1, 1, 1]), np.array([1, 0, 1, 1, 0])
    given = [("one id; seconds 0, 5, 12, 14 and 25 in buckets of 10", small, (10, 0.25, 4.0))]
    given += [(f"200 samples of 6 ids, buckets of {n}", in_time(lab, 200, 1000), (n, 0.1, 20.0)) for n in (1, 100)]
    given.append(("one bucket: nobody has a past", in_time(lab, 40, 99), (100, 0.05, 0.5)))
    turned = given[2][1]
    late = turned[0] >= 500
    future = turned[0], turned[1], np.where(late, 1 - turned[2], turned[2])
    given.append(("", future, given[2][2]))
    arrays = (np.int64, np.int32, np.uint8)
    calls = [(*(a.astype(t) for a, t in zip(log, arrays, strict=True)), *rest) for _, log, rest in given]
    results = lab.host("history", calls) if lab.language == "Python" else [None] * len(calls)
    if lab.language == "Python":
        for call, got in zip(calls, results, strict=True):
            of_kinds(lab, call_of("history", call), got, ("float64",))
        about = "every label from second 500 on was turned, buckets of 100: rates before 600 cannot know"
        known = turned[0] < 600
        lab.expect("the shape of history(...)", [results[2].shape, results[4].shape], [(200,)] * 2)
        lab.expect("history(...) before second 600", results[4][known], results[2][known], about=about)
    for (about, *_), call, got in zip(given[:-1], calls, results, strict=False):
        expected = rates_before(*call)
        if lab.language == "Python":
            lab.expect(call_of("history", call), got, expected, bound=1e-12, about=about)
        else:
            names = ("times", "ids", "labels", "bucket", "prior", "k")
            args = dict(zip(names, call, strict=True))
            args |= {"bucket": np.int32(call[3]), "prior": np.float64(call[4]), "k": np.float64(call[5])}
            args["rates"] = np.empty(expected.size)
            sizes = (expected.size,)
            answers = {"rates": expected}
            lab.check("history", blocks(expected.size), THREADS, args, answers, sizes=sizes, bound=1e-12, about=about)


def score(lab, name, given, expected):
    """Checks a metric: given is a list of (what is special, labels, scores)."""
    given = [(about, labels.astype(np.uint8), scores.astype(np.float64)) for about, labels, scores in given]
    calls = [(labels, scores) for _, labels, scores in given]
    results = lab.host(name, calls) if lab.language == "Python" else [None] * len(calls)
    second = "scores" if name == "auc" else "p"
    for (about, labels, scores), got in zip(given, results, strict=True):
        wanted = expected(labels, scores)
        if lab.language == "Python":
            call = call_of(name, (labels, scores))
            of_kinds(lab, call, got, ("float",))
            lab.expect(call, got, wanted, bound=1e-9 * abs(wanted), about=about)
        else:
            args = {"labels": labels, second: scores, "result": np.empty(1)}
            answers = {"result": np.array([wanted])}
            lab.check(name, 1, 1, args, answers, sizes=(labels.size,), bound=1e-9 * abs(wanted), about=about)


@points(1)
def test_8_9_auc(lab):
    """Of how many pairs is the clicked one higher, and what is a pair with equal scores worth?"""
    some = lab.rng.integers(0, 2, 60)
    some[:2] = 0, 1

    def expected(labels, scores):
        clicked, others = scores[labels == 1][:, None], scores[labels == 0]
        return float(((clicked > others) + 0.5 * (clicked == others)).mean())

    score(
        lab,
        "auc",
        [
            ("two pairs of four are right, one is a tie", np.array([1, 0, 1, 0]), np.array([0.3, 0.3, 0.9, 0.5])),
            ("all scores are the same", np.array([1, 0, 0, 1]), np.full(4, 0.1)),
            ("all pairs are right", np.array([0, 0, 1]), np.array([-2.0, 0, 5])),
            ("60 samples, many ties", some, lab.rng.integers(0, 9, 60) / 7),
            ("60 samples, logits", some, lab.rng.standard_normal(60)),
        ],
        expected,
    )


@points(1)
def test_8_9_calibrated(lab):
    """How many clicks do these probabilities predict? What would you predict, if you knew the click rate alone?"""
    labels = (lab.rng.random(90) < 0.3).astype(np.uint8)
    labels[:2] = 0, 1
    p = lab.rng.uniform(0.01, 0.9, 90)
    given = [
        ("4 samples, 1 click", np.array([0, 0, 1, 0]), np.array([0.1, 0.2, 0.5, 0.4])),
        ("the click rate for everyone", labels, np.full(90, labels.mean())),
        ("random probabilities", labels, p),
        ("very unlikely clicks", labels, p * 1e-9),
    ]

    def entropy(labels, p):
        rate = labels.mean()
        best = -(rate * np.log(rate) + (1 - rate) * np.log1p(-rate))
        return float(-np.log(np.where(labels == 1, p, 1 - p)).mean() / best)

    score(lab, "calibration", given, lambda labels, p: float(p.sum() / labels.sum()))
    score(lab, "normalized_entropy", given, entropy)


# --- 8.10 ------------------------------------------------------------------------------------------------------------

TERMS = ("bytes", "FLOPs", "launches", "microseconds", "term")
H200 = (4.8e12, 67e12, 989e12, 5e-6)
CHOICES = (1, 2, 3, 4)


def step_of(model, gpu, choice):
    """(samples, what a step is): after the speed-up of this number, before any of them for 0."""
    rows, fields, dim, weights, batch, launches = model
    samples = 8 * batch if choice == 4 else batch
    numbers = samples * fields * dim
    table = 8 * numbers + 8 * samples * fields if choice == 1 else 28 * rows * dim
    counts = 12 * numbers + table, 6 * weights * samples, 1 if choice == 3 else launches
    reading, computing, launching = counts[0] / gpu[0], counts[1] / gpu[2 if choice == 2 else 1], counts[2] * gpu[3]
    on_gpu = reading + computing
    return samples, (*counts, 1e6 * max(on_gpu, launching), 2 if launching > on_gpu else int(computing > reading))


@points(2)
def test_8_10_roofline(lab):
    """Who takes longer before, GPU or host, and with what? Is it what your choice makes shorter?"""
    given = [
        ("the model of README.md on an H200", (11_101_260, 6, 32, 85_376, 8192, 80), H200),
        ("a small table", (20_000, 6, 16, 57_000, 512, 80), H200),
        ("a large network", (50_000, 6, 64, 40_000_000, 16384, 60), H200),
        ("a slow memory", (1_000_000, 20, 10, 90_000, 4096, 50), (2e11, 5e12, 2e13, 8e-6)),
    ]
    calls = [(tuple(model), tuple(gpu)) for _, model, gpu in given]
    if lab.language == "Python":
        results = lab.host("speed_up", calls)
    else:
        results = [stored_by_kernel(lab, *call) for call in calls]
    chosen = None
    for (about, model, gpu), got in zip(given, results, strict=True):
        call = f"speed_up({model}, {gpu})"
        if not is_plan(got):
            form = "(choice, before, after, gain), with five numbers each in before and after"
            lab.expect(call, str(got)[:200], form, about=about)
        if got[0] not in CHOICES:
            lab.expect(f"the choice of {call}", got[0], "1, 2, 3 or 4", about=about)
        chosen = got[0] if chosen is None else chosen
        lab.expect(f"the choice of {call}", got[0], chosen, about="the same in every call")
        speeds = []
        for when, choice, found in (("before", 0, got[1]), ("after", chosen, got[2])):
            samples, wanted = step_of(model, gpu, choice)
            speeds.append(samples / wanted[3])
            for name, value, expected in zip(TERMS, found, wanted, strict=True):
                what = f"{name} {when} of {call}, choice {chosen}"
                lab.expect(what, value, expected, bound=1e-9 * expected * (name == "microseconds"), about=about)
        gain = speeds[1] / speeds[0]
        lab.expect(f"the gain of {call}, choice {chosen}", got[3], gain, bound=1e-9 * gain, about=about)


def is_plan(got):
    """Whether this has the form of what `speed_up` returns."""

    def number(value):
        return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)

    if not (isinstance(got, tuple | list) and len(got) == 4 and number(got[0]) and number(got[3])):
        return False
    return all(isinstance(part, tuple | list) and len(part) == 5 and all(map(number, part)) for part in got[1:3])


def stored_by_kernel(lab, model, gpu):
    """What `speed_up` in CUDA C++ stores."""
    found = []

    def kept(result):
        found[:] = result.tolist()
        return 0

    args = {"model": np.array(model, np.int64), "gpu": np.array(gpu), "result": np.empty(12)}
    lab.check("speed_up", 1, 1, args, {"result": (kept, 0)})
    return found[0], tuple(found[1:6]), tuple(found[6:11]), found[11]


# --- times on a GPU, for information ----------------------------------------------------------------------------------


def large(lab):
    """65,536 samples of 6 fields, 3 million rows of 32, ids where small ones are frequent."""
    rows = np.array([2_000_000, 900_000, 100_000, 10, 250, 1000], np.int64)
    ids = (rows ** lab.rng.random((1 << 16, rows.size))).astype(np.int32)
    return ids, np.cumsum(rows) - rows, lab.rng.standard_normal((int(rows.sum()), 32)).astype(np.float32)


def time_8_3_gather(lab):
    """65,536 samples of 6 fields, 3 million rows of 32."""
    ids, offsets, table = large(lab)
    out = table[ids + offsets].reshape(len(ids), -1)
    args = {"ids": ids, "offsets": offsets, "table": table, "out": np.empty_like(out)}
    sizes = (*ids.shape, 32)
    bytes_moved = 2 * out.nbytes + ids.nbytes
    lab.time("gather", blocks(out.size), THREADS, args, {"out": out}, sizes=sizes, bytes_moved=bytes_moved)


def time_8_6_update(lab):
    """The rows that 65,536 samples of 6 fields touch, 3 million rows of 32."""
    ids, offsets, table = large(lab)
    order, starts, touched = segments_of((ids + offsets).ravel())
    grad = whole_numbers(lab, order.size, 32)
    g = np.add.reduceat(grad[order].astype(np.float64), starts[:-1])
    state, lr, eps = np.ones(len(table), np.float32), 0.01, 1e-8
    now, expected = state.astype(np.float64), table.astype(np.float64)
    now[touched] += (g**2).mean(1)
    expected[touched] -= lr * g / (np.sqrt(now[touched]) + eps)[:, None]
    args = {"order": order, "starts": starts, "touched": touched, "grad": grad, "table": table, "state": state}
    args |= {"lr": np.float32(lr), "eps": np.float32(eps)}
    answers = {"table": expected, "state": now}
    bytes_moved = grad.nbytes + order.nbytes + touched.size * (8 + 4 + 2 * 4 * 32 + 2 * 4)
    sizes = (touched.size, 32)
    lab.time(
        *("update", blocks(32 * touched.size), THREADS, args, answers),
        sizes=sizes,
        bytes_moved=bytes_moved,
        bound=1e-3 + 1e-6 * float(now.max()),
        accumulates=("table", "state"),
    )
