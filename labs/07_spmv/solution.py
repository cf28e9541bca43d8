"""Lab 7: Sparse matrix times vector. Most of a matrix is zero, and only the rest is stored.

CSR, compressed sparse rows: row i has the entries indptr[i] up to, not including, indptr[i + 1]; indptr is the row
pointer. Entry k is the number data[k] in column indices[k]. A row may have no entry. The columns of a row need no
order, one may occur twice (its entries add up), and an entry may be 0. Indices are int32, numbers float32.

Blocks are whole warps. A grid has enough threads for all rows, and more.
"""

import numpy as np
from numba import cuda

from gpukit.warp import warp_sum

FULL = 0xFFFFFFFF  # the mask of a whole warp

# --- 7.1: answer on paper --------------------------------------------------------------------------------------------
#
# A has 4 rows and 4 columns: data = 10 2 3 4 5 7, indices = 0 3 1 0 2 3, indptr = 0 2 3 5 6; x = 1 2 3 4.
# Row 0 of y = A x is 10 * 1 + 2 * 4 = 18.

# Row 2 of y.
# BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
ROW_2 = 19
# END SOLUTION

# The bytes of the three arrays of A.
# BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
CSR_BYTES = 68
# END SOLUTION

# The bytes that an entry of a large matrix takes, its value and its column.
# BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
BYTES_PER_ENTRY = 8
# END SOLUTION

# 32 rows of 64 values in given.py: how many sectors does one load request of a warp touch, with a thread a row ...
# BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
SECTORS_BY_THREAD = 32
# END SOLUTION

# ... and with a warp a row?
# BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
SECTORS_BY_WARP = 4
# END SOLUTION

# 32 rows of 3 values: how many load requests do all warps together make, with a thread a row ...
# BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
REQUESTS_BY_THREAD = 3
# END SOLUTION

# ... and with a warp a row?
# BEGIN SOLUTION 7.1: work through a small matrix by hand, and predict what reading rows costs
REQUESTS_BY_WARP = 32
# END SOLUTION


# --- 7.2: a thread a row ---------------------------------------------------------------------------------------------


@cuda.jit
def csr_thread(indptr, indices, data, x, y, alpha, beta):
    """y = alpha A x + beta y, one thread per row.

    With beta = 0, y is written and not read: what stands there may be NaN.

    Args:
        indptr: int32 (rows + 1,). indices: int32 (entries,). data: float32 (entries,). All as above, not changed.
        x: float32 (columns,), not changed.
        y: float32 (rows,), set.
        alpha, beta: float32.

    Cost: a row is added up in a variable; y is written once, and the row pointer is read before
        the loop, not in it.
    """
    # BEGIN SOLUTION 7.2: multiply, one thread per row, and scale what is there
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        total *= alpha
        if beta != 0:
            total += beta * y[row]
        y[row] = total
    # END SOLUTION


# --- 7.3: a warp a row -----------------------------------------------------------------------------------------------


@cuda.jit
def csr_warp(indptr, indices, data, x, y):
    """y = A x, one warp per row: its 32 lanes take the entries in turn and add up their parts by shuffles.

    gpukit.warp.warp_sum gives the sum to lane 0, if all 32 lanes call it; or write it, as in lab 6.

    Args: as in csr_thread.
    Cost: 32 neighbours a request, as far as a row goes; no shared memory, and 5 shuffles a row.
    """
    # BEGIN SOLUTION 7.3: multiply, one warp per row
    row = cuda.grid(1) // 32
    lane = cuda.grid(1) % 32
    total = np.float32(0)
    if row < y.size:
        for k in range(indptr[row] + lane, indptr[row + 1], 32):
            total += data[k] * x[indices[k]]
    total = warp_sum(total)
    if row < y.size and lane == 0:
        y[row] = total
    # END SOLUTION


# --- 7.4: a part of a warp -------------------------------------------------------------------------------------------


@cuda.jit
def csr_subwarp(indptr, indices, data, x, y, lanes):
    """y = A x, with `lanes` threads per row: a warp has 32 / lanes rows, which may be of different length.

    Args:
        indptr, indices, data, x, y: as in csr_thread.
        lanes: int32, 2, 4, 8, 16 or 32.

    Cost: no shared memory, and log2(lanes) shuffles.
    """
    # BEGIN SOLUTION 7.4: share a warp among rows, with 2 to 32 lanes each
    row = cuda.grid(1) // lanes
    lane = cuda.grid(1) % lanes
    total = np.float32(0)
    if row < y.size:
        for k in range(indptr[row] + lane, indptr[row + 1], lanes):
            column = indices[k]
            total += data[k] * x[column]
    offset = lanes // 2
    while offset > 0:
        total += cuda.shfl_xor_sync(FULL, total, offset)
        offset //= 2
    if row < y.size and lane == 0:
        y[row] = total
    # END SOLUTION


# --- 7.5: answer on paper, before you write 7.6 to 7.8 ---------------------------------------------------------------
#
# A matrix of 64 rows: rows 10 and 40 have 64 entries each, every other row has 4. README.md says what a slot is.

# The slots of ELL.
# BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
ELL_SLOTS = 4096
# END SOLUTION

# The slots of sliced ELL: slices of 8 rows, in the order of the matrix.
# BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
SLICED_SLOTS = 1216
# END SOLUTION

# The slots of sliced ELL: slices of 8 rows, after all rows are sorted by their length, longest first.
# BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
SORTED_SLOTS = 736
# END SOLUTION

# CSR, one thread per row, 2 warps: how many turns of the loop do both together make?
# A warp goes on while any of its lanes does.
# BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
TURNS_BY_THREAD = 128
# END SOLUTION

# In the tenth turn of the first of these warps: how many of its 32 lanes have an entry?
# BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
BUSY_LANES = 1
# END SOLUTION

# CSR, one warp per row, 64 warps: how many turns do all together make?
# BEGIN SOLUTION 7.5: predict what padding costs, and how many lanes have work
TURNS_BY_WARP = 66
# END SOLUTION


# --- 7.6: ELL --------------------------------------------------------------------------------------------------------


def to_ell(indptr, indices, data):
    """A CSR matrix as ELL: every row padded to the length of the longest one, the width.

    Entry k of row i stands at [k, i], in the order of CSR; where a row has ended, the column is -1 and the value 0. A
    matrix may have no entry, or no row: then the width is 0.

    Args: the three arrays of CSR.
    Returns: (columns, values), int32 and float32, both (width, rows).
    """
    # BEGIN SOLUTION 7.6: convert CSR to ELL, and multiply without touching the padding
    rows = indptr.size - 1
    width = int(max(np.diff(indptr), default=0))
    columns = np.full((width, rows), -1, np.int32)
    values = np.zeros((width, rows), np.float32)
    for row in range(rows):
        start, end = indptr[row], indptr[row + 1]
        columns[: end - start, row] = indices[start:end]
        values[: end - start, row] = data[start:end]
    return columns, values
    # END SOLUTION


@cuda.jit
def ell(columns, values, x, y):
    """y = A x, one thread per row; A in ELL, as `to_ell` makes it.

    x may hold inf, and 0 * inf is NaN: padding must not be multiplied by anything.

    Args:
        columns: int32 (width, rows), not changed. values: float32 (width, rows), not changed.
        x: float32 (columns,), not changed.
        y: float32 (rows,), set.

    Cost: a row is added up in a variable; neighbouring lanes read neighbouring slots.
    """
    # BEGIN SOLUTION 7.6: convert CSR to ELL, and multiply without touching the padding
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for k in range(columns.shape[0]):
            column = columns[k, row]
            if column >= 0:
                total += values[k, row] * x[column]
        y[row] = total
    # END SOLUTION


# --- 7.7: sliced ELL -------------------------------------------------------------------------------------------------


def order_rows(lengths, sigma):
    """The order in which rows go into the slices: sorted by length, longest first, within windows of sigma rows.

    The first sigma rows are a window, the next sigma rows are the next one, and the last one may have fewer. Rows of
    equal length may go in any order.

    Args: lengths: int32 (rows,), the entries of each row. sigma: int, 1 or more; it need not divide the rows.
    Returns: permutation, int32 (rows,): permutation[p] is the row that stands at place p.
    """
    # BEGIN SOLUTION 7.7: sort rows within windows, and cut them into slices of their own width
    permutation = np.arange(lengths.size, dtype=np.int32)
    for start in range(0, lengths.size, sigma):
        window = lengths[start : start + sigma]
        permutation[start : start + sigma] = start + np.argsort(-window, kind="stable")
    return permutation
    # END SOLUTION


def to_sliced_ell(indptr, indices, data, permutation, height):
    """A CSR matrix as sliced ELL: every `height` places in a row of the permutation are a slice of its own width.

    The width of a slice is the length of its longest row. Slot k of place p of slice s stands at
    offsets[s] + k * height + p: as in ELL, but for each slice alone. The last slice has as many places as the others,
    also where there are no rows left for them. Padding as in ELL.

    Args: the three arrays of CSR; permutation: int32 (rows,), place -> row; height: int, 1 or more.
    Returns: (offsets, columns, values), int32 (slices + 1,), int32 and float32 (slots,). offsets begins with 0 and ends
        with the number of slots.
    """
    # BEGIN SOLUTION 7.7: sort rows within windows, and cut them into slices of their own width
    lengths = np.diff(indptr)[permutation]
    slices = -(-permutation.size // height)
    widths = [max(lengths[s * height : (s + 1) * height]) for s in range(slices)]
    offsets = np.zeros(slices + 1, np.int32)
    offsets[1:] = np.cumsum(widths) * height
    columns = np.full(offsets[-1], -1, np.int32)
    values = np.zeros(offsets[-1], np.float32)
    for place, row in enumerate(permutation):
        first = offsets[place // height] + place % height
        for k in range(lengths[place]):
            columns[first + k * height] = indices[indptr[row] + k]
            values[first + k * height] = data[indptr[row] + k]
    return offsets, columns, values
    # END SOLUTION


# --- 7.8: sliced ELL, the kernel -------------------------------------------------------------------------------------


@cuda.jit
def sliced_ell(offsets, columns, values, permutation, x, y, height):
    """y = A x, one thread per place; A in sliced ELL, as `to_sliced_ell` makes it. y is in the order of the matrix.

    Args:
        offsets: int32 (slices + 1,), columns: int32 (slots,), values: float32 (slots,). Not changed.
        permutation: int32 (rows,), place -> row, not changed.
        x: float32 (columns,), not changed; it may hold inf.
        y: float32 (rows,), set.
        height: int32, the places of a slice.

    Cost: a thread reads the slots of its own slice and no others.
    """
    # BEGIN SOLUTION 7.8: multiply slice by slice, and bring each sum to its row
    place = cuda.grid(1)
    if place < y.size:
        current = place // height
        total = np.float32(0)
        for slot in range(offsets[current] + place % height, offsets[current + 1], height):
            column = columns[slot]
            if column >= 0:
                total += values[slot] * x[column]
        y[permutation[place]] = total
    # END SOLUTION


# --- 7.9: which one --------------------------------------------------------------------------------------------------


def choose(lengths):
    """How to multiply with a matrix, from the lengths of its rows alone.

    There are two offers: CSR with 1, 2, 4, 8, 16 or 32 lanes per row; or sliced ELL with slices of 32 rows, sorted
    within windows of sigma rows. The price of an offer is what reading the columns takes: the load requests, and the
    sectors that they touch. In CSR a request reads `lanes` entries of each of its rows, and a warp is done with its
    longest row; in sliced ELL padding is read like the rest. Yours may cost 2.5 times the cheapest offer.

    Args: lengths: int32 (rows,). There may be no row, and rows without entries.
    Returns: (lanes, sigma): (1, 2, 4, 8, 16 or 32, any) for CSR, (0, 1 or more) for sliced ELL.
    """
    # BEGIN SOLUTION 7.9: choose a format and the lanes per row from the lengths of the rows
    entries = int(np.sum(lengths))
    longest = int(max(lengths, default=0))
    # All rows sorted, a slice pads its rows to at most the length of the slice before: to 32 * longest in all.
    if 32 * longest <= entries / 2:
        return 0, max(1, lengths.size)
    lanes = 1
    while lanes < 32 and lanes * lengths.size < entries:
        lanes *= 2
    return lanes, 1
    # END SOLUTION
