"""The grade of lab 7. Whole numbers are compared exactly; what rounds has a bound that follows from a row's length."""

import numpy as np

from gpukit.labs import points

HOST = ("to_ell", "order_rows", "to_sliced_ell", "choose")

ROWS = (1, 31, 32, 33, 100, 257)
THREADS = 128  # of a block
PADDING = -1
# Who writes columns[...] again where it is used loads it twice at source level; a compiler loads it once.
ONCE = {"global_load_requests": 1.6, "global_load_sectors": 1.4, "global_store_requests": 1.0}


# --- matrices, and what they make of x -------------------------------------------------------------------------------


def whole_numbers(lab, n):
    """Small enough for every sum here to be exact, in whatever order."""
    return lab.rng.integers(-4, 5, n).astype(np.float32)


def csr(lab, lengths, columns, make=whole_numbers):
    """indptr, indices, data with rows of these lengths: columns in no order, and repeated where it happens."""
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    indices = lab.rng.integers(0, max(columns, 1), indptr[-1]).astype(np.int32)
    return indptr, indices, make(lab, indptr[-1])


def times(matrix, x):
    """A x in float64."""
    indptr, indices, data = matrix
    row = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    with np.errstate(invalid="ignore"):
        products = data * x[indices].astype(np.float64)
    return np.bincount(row, products, indptr.size - 1)


def mixed_lengths(lab, rows):
    """Lengths round those of a warp, and empty rows among them: the first, one in the middle, the last."""
    lengths = lab.rng.choice([0, 1, 2, 5, 31, 32, 33], rows)
    if rows > 2:
        lengths[[0, rows // 2, -1]] = 0
    lengths[lab.rng.integers(1, rows - 1) if rows > 2 else 0] = 70
    return lengths


def launch(matrix, x, lanes=1):
    """Grid, block and the arguments of all kernels for CSR, with `lanes` threads per row."""
    rows = matrix[0].size - 1
    args = dict(zip(("indptr", "indices", "data"), matrix, strict=True))
    return {
        "grid": max(1, -(-rows * lanes // THREADS)),
        "block": THREADS,
        "args": {**args, "x": x, "y": np.empty(rows, np.float32)},
        "answers": {"y": times(matrix, x)},
        "sizes": (rows,),
    }


def scaled(run, alpha, beta, y0=None):
    """The same launch with alpha and beta; y starts with y0, or with NaN."""
    run["args"] |= {"alpha": np.float32(alpha), "beta": np.float32(beta)}
    run["answers"] = {"y": alpha * run["answers"]["y"]}
    if y0 is not None:
        run["args"]["y"] = y0
        run["answers"]["y"] = run["answers"]["y"] + np.float64(beta) * y0
        run["accumulates"] = ("y",)
    return run


def edges(lab):
    """(what is special, matrix, x) of small matrices at the edge of what is a matrix."""
    for rows, width, lengths, about in (
        (5, 4, [0, 0, 0, 0, 0], "no entry at all"),
        (3, 0, [0, 0, 0], "no column"),
        (1, 300, [300], "one row"),
        (300, 1, [1] * 300, "one column"),
        (40, 90, [0] * 20 + [90] + [0] * 19, "one row has all entries"),
        (34, 7, [3] * 33 + [40], "the last row is long, and has every column several times"),
    ):
        matrix = csr(lab, np.array(lengths), width)
        yield f"{rows} x {width}: {about}", matrix, whole_numbers(lab, width)


def with_inf(lab):
    """A matrix, and an x that is NaN in a column that one row uses, and inf in the first and the last, used by none."""
    matrix = csr(lab, lab.rng.integers(0, 6, 70), 28)
    matrix[1][:] += 1
    matrix[1][matrix[1] == 13] = 14
    matrix[2][:] = np.abs(matrix[2]) + 1
    matrix[1][matrix[0][-1] // 2] = 13
    x = whole_numbers(lab, 30)
    x[[0, 13, -1]] = np.inf, np.nan, np.inf
    return "x has inf in columns 0 and 29, which no row uses, and NaN in column 13, which one row uses", matrix, x


def gaussian(lab, n):
    return lab.rng.standard_normal(n).astype(np.float32)


def rounding(matrix, x):
    """What a row of n entries may be off by: n roundings in a row, each by 2^-24 of the sum of magnitudes at most."""
    indptr, indices, data = matrix
    n = np.diff(indptr) + 2
    return n * 2.0**-24 / (1 - n * 2.0**-24) * times((indptr, indices, np.abs(data)), np.abs(x))


# --- 7.1 -------------------------------------------------------------------------------------------------------------


@points(2)
def test_7_1_by_hand(lab):
    """Where does row 2 begin in `data`, where does it end, and which element of x does each of its entries meet?"""
    data, indices = np.array([10, 2, 3, 4, 5, 7], np.float32), np.array([0, 3, 1, 0, 2, 3], np.int32)
    indptr, x = np.array([0, 2, 3, 5, 6], np.int32), np.array([1, 2, 3, 4], np.float32)
    about = "the matrix of 4 rows and 4 columns"
    lab.quiz("ROW_2", int(times((indptr, indices, data), x)[2]), about=about)
    lab.quiz("CSR_BYTES", data.nbytes + indices.nbytes + indptr.nbytes, about=f"{about}: float32 and int32")
    lab.quiz("BYTES_PER_ENTRY", data.itemsize + indices.itemsize, about="a float32 and an int32")


@points(2)
def test_7_1_reading(lab):
    """How far apart is what two neighbouring lanes ask for? And how many lanes does a short row keep busy?"""
    for length, counter, name in (
        (64, "load_sectors_per_request", "SECTORS"),
        (3, "global_load_requests", "REQUESTS"),
    ):
        values = whole_numbers(lab, 32 * length).reshape(32, length)
        about = f"32 rows of {length} values"
        by_thread = lab.given("by_thread", 1, 32, values, np.zeros(32, np.float32))
        lab.quiz(f"{name}_BY_THREAD", by_thread.counters[counter], about=f"{about}, given.by_thread")
        by_warp = lab.given("by_warp", 8, 128, values, np.zeros((32, 32), np.float32))
        lab.quiz(f"{name}_BY_WARP", by_warp.counters[counter], about=f"{about}, given.by_warp")


# --- 7.2 -------------------------------------------------------------------------------------------------------------


def plain(matrix, x):
    """A launch for y = A x, which overwrites numbers: who reads y all the same fails where it matters, in `scaled`."""
    return scaled(launch(matrix, x), 1, 0, np.full(matrix[0].size - 1, 7, np.float32))


@points(2)
def test_7_2_right(lab):
    """Which entries belong to row i? And which threads have no row?"""
    for rows in ROWS:
        columns = int(lab.rng.integers(20, 300))
        matrix = csr(lab, mixed_lengths(lab, rows), columns)
        about = f"{rows} x {columns}, rows of 0 to 70 entries, whole numbers: exact"
        lab.check("csr_thread", **plain(matrix, whole_numbers(lab, columns)), about=about)
    matrix, x = csr(lab, mixed_lengths(lab, 64), 50, gaussian), gaussian(lab, 50)
    about = "a row of n entries is off by (n + 2) * 2^-24 of its sum of magnitudes at most"
    lab.check("csr_thread", **plain(matrix, x), bound=rounding(matrix, x), about=about)


@points(1)
def test_7_2_edges(lab):
    """What is the sum of nothing, and does your kernel say so? What may x hold where no row looks?"""
    for about, matrix, x in (*edges(lab), with_inf(lab)):
        lab.check("csr_thread", **plain(matrix, x), about=about)


@points(2)
def test_7_2_scaled(lab):
    """What is 0 * NaN? What does y hold before anybody has written to it? Which of the two factors scales what?"""
    matrix, x = csr(lab, mixed_lengths(lab, 50), 40), whole_numbers(lab, 40)
    for alpha, beta in ((1, 0), (-3, 0), (0, 0), (1, 1), (2, -1), (0, 2), (-1, 0.5), (2.5, 1)):
        y0 = None if beta == 0 else whole_numbers(lab, 50)
        about = f"alpha = {alpha}, beta = {beta}" + (": y holds NaN before" if y0 is None else "")
        lab.check("csr_thread", **scaled(launch(matrix, x), alpha, beta, y0), about=about)


@points(1)
def test_7_2_cost(lab):
    """Where does the sum live while it grows? And how often has a thread to ask where its row ends?"""
    matrix, x = csr(lab, lab.rng.integers(4, 9, 256), 100), whole_numbers(lab, 100)
    lab.cost(
        "csr_thread",
        **plain(matrix, x),
        about="256 rows of 4 to 8 entries",
        at_most={"global_load_requests": 1.2, "global_store_requests": 1.0, "global_atomics": 1.0},
    )


# --- 7.3 -------------------------------------------------------------------------------------------------------------


@points(2)
def test_7_3_right(lab):
    """Which entries of its row does lane 5 take, of a row of 33, of 70, of none? Who stores, and for which rows?"""
    for rows in ROWS:
        matrix, x = csr(lab, mixed_lengths(lab, rows), 90), whole_numbers(lab, 90)
        lab.check(
            "csr_warp", **launch(matrix, x, 32), about=f"{rows} x 90, rows of 0 to 70 entries, whole numbers: exact"
        )
    for about, matrix, x in (*edges(lab), with_inf(lab)):
        lab.check("csr_warp", **launch(matrix, x, 32), about=about)


@points(1)
def test_7_3_cost(lab):
    """When lane 0 reads entry 0, which one should lane 1 read? And through what do 32 lanes add up?"""
    matrix, x = csr(lab, lab.rng.integers(120, 200, 32), 100), whole_numbers(lab, 100)
    lab.cost(
        "csr_warp",
        **launch(matrix, x, 32),
        about="32 rows of 120 to 199 entries",
        at_most={
            "global_load_requests": 1.2,
            "global_load_sectors": 1.2,
            "shared_load_requests": 1.0,
            "global_atomics": 1.0,
            "warp_synchronisations": 1.3,
        },
    )


# --- 7.4 -------------------------------------------------------------------------------------------------------------


def with_lanes(run, lanes):
    run["args"]["lanes"] = np.int32(lanes)
    return run


@points(2)
def test_7_4_right(lab):
    """With 8 lanes a row, which lanes add up, over which distances? Who shuffles where a row is missing?"""
    for lanes in (2, 4, 8, 16, 32):
        for rows in (1, 33, 101):
            matrix, x = csr(lab, mixed_lengths(lab, rows), 90), whole_numbers(lab, 90)
            about = f"{lanes} lanes a row; {rows} x 90, rows of 0 to 70 entries, whole numbers: exact"
            lab.check("csr_subwarp", **with_lanes(launch(matrix, x, lanes), lanes), about=about)
    for about, matrix, x in (*edges(lab), with_inf(lab)):
        lab.check("csr_subwarp", **with_lanes(launch(matrix, x, 4), 4), about=f"4 lanes a row; {about}")


@points(1)
def test_7_4_cost(lab):
    """How many shuffles add up 4 lanes? And which entries do the lanes of neighbouring rows read together?"""
    matrix, x = csr(lab, lab.rng.integers(5, 9, 256), 100), whole_numbers(lab, 100)
    lab.cost(
        "csr_subwarp",
        **with_lanes(launch(matrix, x, 4), 4),
        about="256 rows of 5 to 8 entries, 4 lanes each",
        at_most={
            "global_load_requests": 1.2,
            "global_load_sectors": 1.1,
            "shared_load_requests": 1.0,
            "global_atomics": 1.0,
            "warp_synchronisations": 1.0,
        },
    )


# --- 7.5 -------------------------------------------------------------------------------------------------------------


def two_long_rows():
    lengths = np.full(64, 4)
    lengths[[10, 40]] = 64
    return lengths


@points(2)
def test_7_5_slots(lab):
    """How wide is each slice, and how many rows pay for its longest one? Where are the two long rows once sorted?"""
    lengths, about = two_long_rows(), "64 rows: rows 10 and 40 have 64 entries, the others 4"
    lab.quiz("ELL_SLOTS", lengths.size * lengths.max(), about=about)
    for name, order in (("SLICED_SLOTS", lengths), ("SORTED_SLOTS", np.sort(lengths))):
        lab.quiz(name, 8 * order.reshape(8, 8).max(axis=1).sum(), about=f"{about}; slices of 8 rows")


@points(1)
def test_7_5_lanes(lab):
    """How long does a warp stay in its loop, and what do the lanes do whose rows have ended?"""
    lengths, about = two_long_rows(), "64 rows: rows 10 and 40 have 64 entries, the others 4"
    lab.quiz("TURNS_BY_THREAD", lengths.reshape(2, 32).max(axis=1).sum(), about=about)
    lab.quiz("BUSY_LANES", np.sum(lengths[:32] >= 10), about=about)
    lab.quiz("TURNS_BY_WARP", np.sum(-(-lengths // 32)), about=about)


# --- 7.6 -------------------------------------------------------------------------------------------------------------


SHOWN = 8  # an array of no more elements is shown in a message as it is


def call_of(name, call):
    def told(argument):
        if not isinstance(argument, np.ndarray):
            return str(argument)
        return f"{argument.dtype}[{argument.size}]" + (f" {argument.tolist()}" if 0 < argument.size <= SHOWN else "")

    return f"{name}({', '.join(map(told, call))})"


def of_types(lab, name, call, got, types):
    """Fail unless a host function returned arrays of these types."""
    found = got if isinstance(got, tuple | list) else (got,)
    kinds = [str(part.dtype) if isinstance(part, np.ndarray) else type(part).__name__ for part in found]
    lab.expect(call_of(name, call), f"arrays of {', '.join(kinds)}", f"arrays of {', '.join(types)}")
    return found


def read_by_rows(array, indptr, first, step):
    """What stands in the slots first[i], first[i] + step, ... of every row i, and then what is left: the padding."""
    slots = [first[i] + step * np.arange(n) for i, n in enumerate(np.diff(indptr))]
    slots = np.concatenate([np.zeros(0, int), *slots]).astype(int)
    return np.append(array[slots], np.delete(array, slots))


def matrices_to_convert(lab):
    """(what is special, matrix): first those that can be followed by hand."""
    small = np.array([0, 2, 2, 5, 6], np.int32), np.array([0, 3, 1, 2, 3, 0], np.int32)
    found = [("rows of 2, 0, 3 and 1 entries, as in README.md", (*small, np.array([1, 2, 3, 4, 5, 6], np.float32)))]
    repeated = np.array([0, 3, 3, 5], np.int32), np.array([2, 0, 2, 1, 1], np.int32)
    found.append(("columns repeat, in no order", (*repeated, np.array([1, 5, 10, 4, 3], np.float32))))
    zeros = np.array([0, 2, 3], np.int32), np.array([1, 0, 0], np.int32), np.array([0, 6, 0], np.float32)
    found.append(("entries that are 0 are entries", zeros))
    found.append(("the longest row is not the last one", csr(lab, np.array([1, 9, 0, 2]), 5)))
    found.append(("no row", csr(lab, np.zeros(0, int), 3)))
    found += [(about, matrix) for about, matrix, _ in edges(lab)]
    found += [(f"{rows} x 30", csr(lab, lab.rng.integers(0, 8, rows), 30)) for rows in (1, 31, 33, 100)]
    return found


@points(2)
def test_7_6_convert(lab):
    """How wide is it, also without any row? Where in memory is slot k of row i, and where that of its neighbour?"""
    given = matrices_to_convert(lab)
    calls = [matrix for _, matrix in given]
    results = lab.host("to_ell", calls) if lab.language == "Python" else [None] * len(calls)
    for (about, call), got in zip(given, results, strict=True):
        indptr, indices, data = call
        rows = indptr.size - 1
        width = int(np.diff(indptr).max(initial=0))

        def by_rows(array, indptr=indptr, rows=rows):
            return read_by_rows(array.ravel(), indptr, np.arange(rows), rows)

        padding = np.full(width * rows - indices.size, PADDING)
        expected = np.append(indices, padding), np.append(data, np.zeros(padding.size))
        if lab.language == "Python":
            got = of_types(lab, "to_ell", call, got, ("int32", "float32"))
            lab.expect(f"shapes of {call_of('to_ell', call)}", [a.shape for a in got], [(width, rows)] * 2, about=about)
            for name, array, wanted in zip(("columns", "values"), got, expected, strict=True):
                what = f"{name} of {call_of('to_ell', call)}, row by row, and then the padding"
                lab.expect(what, by_rows(array), wanted, about=about)
        else:
            args = dict(zip(("indptr", "indices", "data"), call, strict=True))
            args |= {"columns": np.empty((width, rows), np.int32), "values": np.empty((width, rows), np.float32)}
            answers = {name: (by_rows, wanted) for name, wanted in zip(("columns", "values"), expected, strict=True)}
            lab.check("to_ell", 1, 1, args, answers, sizes=(rows, width), about=f"{about}; row by row, then padding")


def padded(lab, lengths, columns):
    """Columns and values of one row for each length, column by column as in ELL."""
    width = int(np.max(lengths, initial=0))
    empty = np.arange(width)[:, None] >= lengths
    where = lab.rng.integers(0, max(columns, 1), empty.shape).astype(np.int32)
    values = whole_numbers(lab, empty.size).reshape(empty.shape)
    where[empty], values[empty] = PADDING, 0
    return where, values


def padded_times(columns, values, x):
    """A x of one block of padded rows."""
    x = np.append(x, 0.0)  # for the padding
    with np.errstate(invalid="ignore"):
        return np.sum(values * x[columns], axis=0)


def ell_launch(columns, values, x):
    width, rows = columns.shape
    return {
        "grid": max(1, -(-rows // THREADS)),
        "block": THREADS,
        "args": {"columns": columns, "values": values, "x": x, "y": np.empty(rows, np.float32)},
        "answers": {"y": padded_times(columns, values, x)},
        "sizes": (rows, width),
    }


def unused_inf(lab, *arrays):
    """x for 30 columns with inf in the first and the last, which these arrays of columns do not use any more."""
    for columns in arrays:
        columns[columns == 0] = 1
        columns[columns == 29] = 28
    x = whole_numbers(lab, 30)
    x[[0, -1]] = np.inf
    return x


@points(2)
def test_7_6_right(lab):
    """What would padding read of x, and what is 0 times that?"""
    for rows in ROWS:
        columns, values = padded(lab, lab.rng.integers(0, 9, rows), 30)
        about = f"{rows} x 30, rows of 0 to 8 entries, whole numbers: exact"
        lab.check("ell", **ell_launch(columns, values, whole_numbers(lab, 30)), about=about)
    columns, values = padded(lab, np.zeros(40, int), 30)
    lab.check("ell", **ell_launch(columns, values, whole_numbers(lab, 30)), about="40 rows without entries: width 0")
    columns, values = padded(lab, lab.rng.integers(0, 9, 70), 30)
    x = unused_inf(lab, columns)
    about = "x has inf in its first and in its last element, which no row uses"
    lab.check("ell", **ell_launch(columns, values, x), about=about)


@points(1)
def test_7_6_cost(lab):
    """Where does the sum live while it grows? And what is there to do for a slot without an entry?"""
    columns, values = padded(lab, lab.rng.integers(1, 9, 256), 100)
    lab.cost(
        "ell",
        **ell_launch(columns, values, whole_numbers(lab, 100)),
        about="256 rows of 1 to 8 entries",
        at_most=ONCE,
    )


# --- 7.7 -------------------------------------------------------------------------------------------------------------


@points(1)
def test_7_7_order(lab):
    """Which rows may change places with row 0? And with the last one, if sigma does not divide the rows?"""
    calls = [(lab.rng.integers(0, 9, rows).astype(np.int32), sigma) for rows, sigma in ((1, 4), (12, 4), (50, 16))]
    calls += [(lab.rng.integers(0, 9, rows).astype(np.int32), sigma) for rows, sigma in ((33, 32), (40, 1), (60, 100))]
    calls.append((np.zeros(0, np.int32), 8))
    results = lab.host("order_rows", calls) if lab.language == "Python" else [None] * len(calls)
    for (lengths, sigma), got in zip(calls, results, strict=True):
        rows = lengths.size
        windows = [lengths[start : start + sigma] for start in range(0, rows, sigma)]
        expected = np.concatenate([np.zeros(0, int), *(np.sort(window)[::-1] for window in windows)])

        def lengths_in_this_order(permutation, lengths=lengths, rows=rows, sigma=sigma):
            """-1 for a row that is not one of its window, or stands there twice."""
            home = np.arange(rows) // sigma
            if permutation.shape != (rows,):
                return np.asarray(permutation)
            rows_there = np.clip(permutation, 0, max(rows - 1, 0))
            once = np.bincount(rows_there, minlength=rows)[rows_there] == 1
            good = (rows_there == permutation) & once & (home[rows_there] == home)
            return np.where(good, lengths[rows_there], -1)

        about = f"rows: {rows}, windows of {sigma}; -1 marks a row that is not of this window, or is there twice"
        if lab.language == "Python":
            (permutation,) = of_types(lab, "order_rows", (lengths, sigma), got, ("int32",))
            what = f"lengths in the order of {call_of('order_rows', (lengths, sigma))}"
            lab.expect(what, lengths_in_this_order(permutation), expected, about=about)
        else:
            args = {"lengths": lengths, "sigma": np.int32(sigma), "permutation": np.empty(rows, np.int32)}
            answers = {"permutation": (lengths_in_this_order, expected)}
            lab.check("order_rows", 1, 1, args, answers, sizes=(rows,), about=about)


def slices_of(lab, matrix, permutation, height):
    """What `to_sliced_ell` should return: offsets, and for columns and values what they are, read back row by row."""
    indptr, indices, data = matrix
    lengths = np.diff(indptr)
    rows = permutation.size
    longest = [lengths[permutation[start : start + height]].max() for start in range(0, rows, height)]
    offsets = np.array([height * sum(longest[:slice_]) for slice_ in range(len(longest) + 1)])
    place = np.empty(rows, int)
    place[permutation] = np.arange(rows)

    def by_rows(array):
        return read_by_rows(array, indptr, offsets[place // height] + place % height, height)

    padding = np.full(offsets[-1] - indices.size, PADDING)
    return offsets, by_rows, (np.append(indices, padding), np.append(data, np.zeros(padding.size)))


@points(2)
def test_7_7_slices(lab):
    """Where does a slice begin: what is before it? And how many places has the last one, if rows run out?"""
    given = [(about, matrix, 4) for about, matrix in matrices_to_convert(lab)]
    given.insert(0, (*given[0][:2], 2))
    lengths = np.array([1, 1, 0, 1, 3, 2, 1, 0, 2, 1])
    given.append(("slices of 1, 3 and 2 wide, the last one with 2 rows of 4", csr(lab, lengths, 12), 4))
    given.append(("slices of 32", csr(lab, lab.rng.integers(0, 12, 70), 30), 32))
    given.append(("slices of 1 row", csr(lab, lab.rng.integers(0, 5, 9), 30), 1))
    # rows in any order: how they were sorted is another question
    orders = [lab.rng.permutation(matrix[0].size - 1).astype(np.int32) for _, matrix, _ in given]
    orders[0] = np.arange(4, dtype=np.int32)  # the slices in README.md
    orders[-3] = np.arange(10, dtype=np.int32)
    calls = [(*matrix, order, height) for (_, matrix, height), order in zip(given, orders, strict=True)]
    results = lab.host("to_sliced_ell", calls) if lab.language == "Python" else [None] * len(calls)
    for (about, matrix, height), call, got in zip(given, calls, results, strict=True):
        rows = call[3].size
        offsets, by_rows, expected = slices_of(lab, matrix, call[3], height)
        about = f"{about}; rows: {rows}, slices of {height}"
        if lab.language == "Python":
            got = of_types(lab, "to_sliced_ell", call, got, ("int32", "int32", "float32"))
            lab.expect(f"offsets of {call_of('to_sliced_ell', call)}", got[0], offsets, about=about)
            shapes = [a.shape for a in got[1:]]
            lab.expect(f"shapes of {call_of('to_sliced_ell', call)}", shapes, [(offsets[-1],)] * 2, about=about)
            for name, array, wanted in zip(("columns", "values"), got[1:], expected, strict=True):
                what = f"{name} of {call_of('to_sliced_ell', call)}, row by row, and then the padding"
                lab.expect(what, by_rows(array), wanted, about=about)
        else:
            args = dict(zip(("indptr", "indices", "data"), matrix, strict=True))
            args |= {"permutation": call[3], "height": np.int32(height), "offsets": np.empty(offsets.size, np.int32)}
            args |= {"columns": np.empty(offsets[-1], np.int32), "values": np.empty(offsets[-1], np.float32)}
            answers = {name: (by_rows, wanted) for name, wanted in zip(("columns", "values"), expected, strict=True)}
            answers = {"offsets": offsets, **answers}
            lab.check("to_sliced_ell", 1, 1, args, answers, sizes=(rows,), about=f"{about}; row by row, then padding")


# --- 7.8 -------------------------------------------------------------------------------------------------------------


def slices(lab, rows, height, longest=9):
    """A list of slices, each with columns and values column by column, of a matrix of so many rows."""
    made = []
    for start in range(0, rows, height):
        lengths = lab.rng.integers(0, lab.rng.integers(1, longest + 1), height)
        lengths[rows - start :] = 0  # places without a row
        made.append(padded(lab, lengths, 30))
    return made


def sliced_launch(lab, made, rows, height, x):
    """A launch on slices whose places are rows in a random order."""
    sizes = [columns.size for columns, _ in made]
    permutation = lab.rng.permutation(rows).astype(np.int32)
    y = np.empty(rows)
    y[permutation] = np.concatenate([padded_times(columns, values, x) for columns, values in made])[:rows]
    return {
        "grid": max(1, -(-rows // THREADS)),
        "block": THREADS,
        "args": {
            "offsets": np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
            "columns": np.concatenate([columns.ravel() for columns, _ in made]),
            "values": np.concatenate([values.ravel() for _, values in made]),
            "permutation": permutation,
            "x": x,
            "y": np.empty(rows, np.float32),
            "height": np.int32(height),
        },
        "answers": {"y": y},
        "sizes": (rows,),
    }


@points(2)
def test_7_8_right(lab):
    """Which slice is place 70 in, how wide is that one, and which row stands there? How do you know the last slot?"""
    for rows, height in ((1, 32), (31, 8), (33, 32), (100, 32), (257, 64), (130, 5)):
        about = f"rows: {rows}, slices of {height}, whole numbers: exact"
        run = sliced_launch(lab, slices(lab, rows, height), rows, height, whole_numbers(lab, 30))
        lab.check("sliced_ell", **run, about=about)
    made = slices(lab, 90, 32)
    x = unused_inf(lab, *(columns for columns, _ in made))
    about = "x has inf in its first and in its last element, which no row uses"
    lab.check("sliced_ell", **sliced_launch(lab, made, 90, 32, x), about=about)
    made = slices(lab, 40, 32, longest=1)
    about = "40 rows without entries: slices of width 0"
    lab.check("sliced_ell", **sliced_launch(lab, made, 40, 32, whole_numbers(lab, 30)), about=about)


@points(1)
def test_7_8_cost(lab):
    """Whose slots does a thread have to look at? When lane 0 reads slot 0 of its place, where is lane 1?"""
    made = [padded(lab, np.full(32, width), 100) for width in (20, 9, 5, 3, 2, 2, 1, 1)]
    lab.cost(
        "sliced_ell",
        **sliced_launch(lab, made, 256, 32, whole_numbers(lab, 100)),
        about="8 slices of 32 rows, 20 to 1 slots wide",
        at_most=ONCE,
    )


# --- 7.9 -------------------------------------------------------------------------------------------------------------

LANES = (1, 2, 4, 8, 16, 32)
FACTOR = 2.5


def csr_price(lengths, lanes):
    """Load requests for the columns of CSR, and the sectors that they touch, with so many lanes per row."""
    row = np.repeat(np.arange(lengths.size), lengths)
    entry = np.arange(row.size)
    turn = (entry - (np.cumsum(lengths) - lengths)[row]) // lanes
    request = row * lanes // 32 * (int(turn.max(initial=0)) + 1) + turn
    sectors = request * (row.size // 8 + 1) + entry // 8
    return np.unique(request).size + np.unique(sectors).size


def sliced_price(lengths, sigma):
    """The same of sliced ELL, 32 rows a slice: a request is 32 slots, which are 4 sectors."""
    slots = np.zeros(-(-lengths.size // 32) * 32, int)
    for start in range(0, lengths.size, sigma):
        slots[start : min(start + sigma, lengths.size)] = np.sort(lengths[start : start + sigma])[::-1]
    return (1 + 4) * int(slots.reshape(-1, 32).max(axis=1).sum())


def price(lengths, lanes, sigma):
    return sliced_price(lengths, sigma) if lanes == 0 else csr_price(lengths, lanes)


def is_offer(got):
    """Whether this is something that `choose` may return."""
    if not (isinstance(got, tuple | list) and len(got) == 2 and isinstance(got[0], int | np.integer)):
        return False
    return got[0] in LANES or (got[0] == 0 and isinstance(got[1], int | np.integer) and got[1] >= 1)


def clear_cases(lab):
    """(what is special, lengths) of matrices for which some offers are much dearer than others."""
    rng = lab.rng
    skewed = np.where(np.arange(256) % 4 == 0, 101, 2)
    lonely = rng.integers(2, 5, 512)
    lonely[rng.integers(512)] = 6000
    few = rng.permutation(np.where(np.arange(512) < 4, 20, 1))
    return (
        ("one entry in every row", np.ones(512, int)),
        ("1 or 2 entries in every row", rng.integers(1, 3, 512)),
        ("180 to 200 entries in every row", rng.integers(180, 201, 64)),
        ("every fourth row has 101 entries, the others 2, in any order", rng.permutation(skewed)),
        ("one row of 6,000 entries among rows of 2 to 4", lonely),
        ("4 rows have 20 entries, the other 508 have one", few),
    )


@points(2)
def test_7_9_choice(lab):
    """How many lanes does a row of this length keep busy? How many slots would its neighbours be padded to?"""
    given = [(about, lengths.astype(np.int32)) for about, lengths in clear_cases(lab)]
    given += [("no row", np.zeros(0, np.int32)), ("33 rows without entries", np.zeros(33, np.int32))]
    if lab.language == "Python":
        results = lab.host("choose", [(lengths,) for _, lengths in given])
    else:
        results = [chosen_by_kernel(lab, lengths) for _, lengths in given]
    for (about, lengths), got in zip(given, results, strict=True):
        call = call_of("choose", (lengths,))
        if not is_offer(got):
            lab.expect(call, str(got), "(1, 2, 4, 8, 16 or 32, any) or (0, 1 or more)", about=about)
        cheapest = min(price(lengths, *offer) for offer in (*((n, 1) for n in LANES), (0, max(1, lengths.size))))
        paid, most = price(lengths, *got), int(FACTOR * cheapest)
        if paid > most:
            what = f"the price of {call} = {tuple(got)}: load requests and sectors of the columns"
            about = f"{about}; the cheapest offer costs {cheapest:,}"
            lab.expect(what, f"{paid:,}", f"{most:,} at most", about=about)


def chosen_by_kernel(lab, lengths):
    """What `choose` in CUDA C++ stores."""
    found = []

    def kept(choice):
        found[:] = choice.tolist()
        return 0

    args = {"lengths": lengths, "choice": np.empty(2, np.int32)}
    lab.check("choose", 1, 1, args, {"choice": (kept, 0)}, sizes=(lengths.size,))
    return tuple(found)


# --- times on a GPU, for information ----------------------------------------------------------------------------------


def time_7_4_csr_subwarp(lab):
    """2^20 rows of 27 entries round the diagonal, 16 lanes each."""
    rows, length = 1 << 20, 27
    indptr = np.arange(0, rows * length + 1, length, dtype=np.int32)
    indices = np.add.outer(np.arange(rows, dtype=np.int32), np.arange(length, dtype=np.int32)).ravel() % rows
    matrix, x = (indptr, indices, whole_numbers(lab, rows * length)), whole_numbers(lab, rows)
    bytes_moved = 8 * rows * length + 4 * (rows + 1) + 8 * rows
    lab.time("csr_subwarp", **with_lanes(launch(matrix, x, 16), 16), bytes_moved=bytes_moved)


def time_7_8_sliced_ell(lab):
    """2^20 rows of 1 to 31 entries near the diagonal, sorted within windows of 8,192 rows."""
    rows, height, window = 1 << 20, 32, 8192
    width = np.tile(np.linspace(31, 1, window // height).astype(np.int64), rows // window)
    offsets = np.concatenate(([0], np.cumsum(width * height))).astype(np.int32)
    slots = int(offsets[-1])
    place = np.repeat(np.arange(rows // height), width * height) * height + np.arange(slots) % height
    permutation = lab.rng.permuted(np.arange(rows, dtype=np.int32).reshape(-1, window), axis=1).ravel()
    columns = ((permutation[place] + lab.rng.integers(0, 64, slots)) % rows).astype(np.int32)
    values, x = whole_numbers(lab, slots), whole_numbers(lab, rows)
    y = np.bincount(permutation[place], values * x[columns].astype(np.float64), rows)
    args = {"offsets": offsets, "columns": columns, "values": values, "permutation": permutation}
    args |= {"x": x, "y": np.empty(rows, np.float32), "height": np.int32(height)}
    bytes_moved = 8 * slots + 4 * offsets.size + 12 * rows
    lab.time("sliced_ell", rows // THREADS, THREADS, args, {"y": y}, sizes=(rows,), bytes_moved=bytes_moved)
